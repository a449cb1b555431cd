/* SPDX-License-Identifier: GPL-3.0-only */
/* aio_table.bpf.h - libaio requests in flight, and the position up to which each ring of events was
 * read. Used by aio.bpf.h.
 */
#ifndef IOT_AIO_TABLE_BPF_H
#define IOT_AIO_TABLE_BPF_H

#include "aio_times.bpf.h"
#include "call.bpf.h"
#include <linux/aio_abi.h>

/* The ring at the address that io_setup() returns (fs/aio.c): part of the user interface, without a
 * header. */
struct user_aio_ring {
	u32 id, nr, head, tail;
};
#define AIO_RING_HEADER 32

struct aio_key {
	u64 iocb;
	u32 pid, pad;
};

/* A request in flight or, early, an event whose request is not known yet. */
struct aio {
	u64 ts_ns;             /* of its io_submit(); early: when it was read */
	u64 offset, size;
	u64 host, ino;         /* the inode that holds the pages; its number */
	u64 ring;
	u64 copied_ns;         /* when its data were in the page cache; 0: not reported */
	s64 res;               /* early: its result */
	u64 number;            /* early: number of the event in its ring */
	u64 comm[2];           /* name of the thread that asked */
	u32 file, dev, flags, proc, tid;
	u16 block;
	u8 kind, type, early;
	/* 1: asked for with O_DIRECT, whether or not it fell back to the page cache */
	u8 direct;
	u8 pad[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aio_key);
	__type(value, struct aio);
} aios SEC(".maps");

struct aio_ring_key {
	u64 ring;
	u32 pid, pad;
};

/* The position up to which a ring was read. */
struct aio_ring_state {
	u64 context;           /* struct kioctx */
	u64 number;            /* events that were read so far */
	u32 next, pad;         /* index of the next event */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct aio_ring_key);
	__type(value, struct aio_ring_state);
} aio_rings SEC(".maps");

/* A walk over events or control blocks. */
struct aio_walk {
	u64 ring, context, list;
	u64 number;            /* events of the ring that were read */
	u64 number_before;     /* the same before the call that returned */
	u64 not_taken;         /* the number of events that were not taken yet */
	u64 since_ns;          /* an early event is no older than this; 0: not known */
	u64 begin_ns;          /* of the io_submit(); 0: not known */
	/* of an io_submit() of a single request: when it first dirtied something, if something was
	 * submitted before; 0: not reported */
	u64 dirtied_ns;
	u64 ts_ns;
	u32 nr, head, tail, next;
	u32 proc, pid;
	/* number of events that calls took, and that are not readable in the ring */
	u32 unread;
	u32 from;              /* index in the caller's buffer from which on these are */
	/* control blocks of one io_submit(), processed from the last to the first: appends to one
	 * file end where the next begins */
	u64 append_host, append_at;
	u32 taken, pad;
	struct io_event event; /* the current event */
};

/* The context of bpf_loop(), which takes only pointers to the stack. */
struct aio_ref {
	struct task_ctx *c;
};

#endif
