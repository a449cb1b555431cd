/* SPDX-License-Identifier: GPL-3.0-only */
/* aio_times.bpf.h - when requests of libaio that are written through had copied what they wrote: one io_submit executes many, one after
 * the other, and each may find clean what the one before had written back.
 */
#ifndef IOT_AIO_TIMES_BPF_H
#define IOT_AIO_TIMES_BPF_H

#include "task.bpf.h"

struct aio_time_key {
	u64 iocb;
	u32 pid, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536); /* requests that there can be at once, unless that is set otherwise (aio-max-nr) */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aio_time_key);
	__type(value, u64);    /* ns */
} aio_times SEC(".maps");

#endif
