/* SPDX-License-Identifier: GPL-3.0-only */
/* aio_times.bpf.h - the time at which libaio requests with O_SYNC or the like had copied what they
 * write. One io_submit() executes many requests, one after the other, and each may find pages clean
 * that the one before had written back.
 */
#ifndef IOT_AIO_TIMES_BPF_H
#define IOT_AIO_TIMES_BPF_H

#include "task.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	/* requests that can exist at one time, unless aio-max-nr was raised */
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aio_time_key);
	__type(value, u64);    /* ns */
} aio_times SEC(".maps");

#endif
