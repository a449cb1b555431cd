/* SPDX-License-Identifier: GPL-3.0-only */
/* aio_table.bpf.h - libaio requests in flight, and the position up to which each ring of events was
 * read. Used by aio.bpf.h.
 */
#ifndef IOT_AIO_TABLE_BPF_H
#define IOT_AIO_TABLE_BPF_H

#include "aio_times.bpf.h"
#include "call.bpf.h"

/* The ring at the address that io_setup() returns (fs/aio.c): part of the user interface, without a
 * header. */
struct user_aio_ring {
	u32 id, nr, head, tail;
};
#define AIO_RING_HEADER 32

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aio_key);
	__type(value, struct aio);
} aios SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct aio_ring_key);
	__type(value, struct aio_ring_state);
} aio_rings SEC(".maps");

/* The context of bpf_loop(), which takes only pointers to the stack. */
struct aio_ref {
	struct task_ctx *c;
};

#endif
