/* SPDX-License-Identifier: GPL-3.0-only */
/* aio_table.bpf.h - requests of libaio on their way, and how far each ring of events was read. Used by aio.bpf.h.
 */
#ifndef IOT_AIO_TABLE_BPF_H
#define IOT_AIO_TABLE_BPF_H

#include "aio_times.bpf.h"
#include "call.bpf.h"
#include <linux/aio_abi.h>

/* The ring at the address that io_setup gives (fs/aio.c): part of the user interface, without a header. */
struct user_aio_ring {
	u32 id, nr, head, tail;
};
#define AIO_RING_HEADER 32

struct aio_key {
	u64 iocb;
	u32 pid, pad;
};

/* A request on its way; or, early, an event whose request is not known yet. */
struct aio {
	u64 ts_ns;             /* of its io_submit; early: when it was seen */
	u64 offset, size;
	u64 host, ino;         /* the inode that holds the pages; its number */
	u64 ring;
	u64 copied_ns;         /* when what it wrote was in the page cache; 0 not told */
	s64 res;               /* early: its result */
	u64 number;            /* early: which event of its ring */
	u64 comm[2];           /* name of the thread that asked */
	u32 file, dev, flags, proc, tid;
	u16 block;
	u8 kind, type, early;
	u8 direct;             /* 1: asked for with O_DIRECT, whatever became of it */
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

/* How far a ring was read. */
struct aio_ring_state {
	u64 context;           /* struct kioctx */
	u64 number;            /* events that were read so far */
	u32 next, pad;         /* place of the next one */
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
	u64 number_before;     /* the same when the call returned */
	u64 not_taken;         /* the newest ones of those that nobody took yet */
	u64 since_ns;          /* an early event is no older than this; 0 not known */
	u64 begin_ns;          /* of the io_submit; 0 not known */
	u64 dirtied_ns;         /* of a single request that io_submit took: when it made something dirty, if something was submitted before; 0 */
	u64 ts_ns;
	u32 nr, head, tail, next;
	u32 proc, pid;
	u32 unread;            /* how many events were taken by calls and could not be read in the ring */
	u32 from;              /* events of the caller's buffer from here on are those */
	/* control blocks that one io_submit took, looked at from the last to the first: appends to one file end where the next begins */
	u64 append_host, append_at;
	u32 taken, pad;
	struct io_event event; /* that is looked at */
};

/* The context of bpf_loop(), which takes nothing but pointers to the stack. */
struct aio_ref {
	struct task_ctx *c;
};

#endif
