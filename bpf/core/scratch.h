/* SPDX-License-Identifier: GPL-3.0-only */
/* scratch.h - scratch memory of the program in progress: objects that are too large for the stack.
 * They are in the context of the thread (struct task_ctx).
 *
 * To add an object: its type, and a member of union scratch. While a program uses one member it
 * calls no function that uses another.
 */
#ifndef IOT_SCRATCH_H
#define IOT_SCRATCH_H

#include <linux/aio_abi.h>
#include "kernel.h"
#include "state.h"

/* A system call: its number and arguments. */
struct call {
	u64 nr, arg[6];
};

/* One operation as it is recorded. */
struct op {
	u64 ts_ns, dur_ns, queue_ns, offset, size;
	s64 ret;
	u32 flags, tid;        /* tid: the thread that asked for it; 0: the current one */
	u8 kind, write;        /* write: enum moves */
	u8 op, pad;
	u32 arg;               /* op and arg: as in struct iot_event */
};

/* A range that was dirtied. */
struct dirtied {
	u64 off, bytes;
	u64 ts_ns;             /* when, at the latest; 0: now */
	u32 proc;
	u16 how;
	u8 unsure;             /* 1: a part of the range, which part is not known */
	/* 1: also beyond the end of the file, where the bytes are written only if it grows */
	u8 beyond;
};

/* The range that a finished call or request has written: bytes [off, off + len). */
struct wrote_at {
	u64 off, len, block;   /* block: a power of two */
	u64 ts_ns;             /* when it began; 0: not known */
	u32 proc, pad;
};

/* A vector in the memory of a process. */
struct user_iovec {
	u64 base, len;
};

/* ---- libaio: aio.bpf.h ---- */

/* The key of map `aio_times`. */
struct aio_time_key {
	u64 iocb;
	u32 pid, pad;
};

/* The key of map `aios`. */
struct aio_key {
	u64 iocb;
	u32 pid, pad;
};

/* A request in flight or, early, an event whose request is not known yet: a value of map `aios`. */
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

/* The key of map `aio_rings`. */
struct aio_ring_key {
	u64 ring;
	u32 pid, pad;
};

/* The position up to which a ring was read: a value of map `aio_rings`. */
struct aio_ring_state {
	u64 context;           /* struct kioctx */
	u64 number;            /* events that were read so far */
	u32 next, pad;         /* index of the next event */
};

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

/* The objects of one libaio call. */
struct aio_scratch {
	struct aio_walk w;
	struct aio new;
	struct op op;
	struct iocb iocb;
	struct aio_ring_key key;
	struct aio_ring_state state;
	struct aio_time_key time;
};

/* ---- the request that an io_submit() executes: sync_write.bpf.h ---- */

#define AIO_VECTORS 16         /* vectors of one control block that are read at once */

/* A control block and its vectors. */
struct aio_block {
	struct iocb iocb;
	struct user_iovec vector[AIO_VECTORS];
};

/* ---- direct reads into mapped files: direct_read.bpf.h ---- */

/* The pieces of a bio's memory: each is in one folio. Pieces that are adjacent in a file are joined
 * to one range. */
struct direct_memory {
	/* the next struct bio_vec; the next struct page of the one before, and the bytes that are
	 * left there */
	u64 vec, page, left;
	u64 inode, from, to;   /* the range so far; inode 0: none */
	/* bytes of the bio that are left; bytes of the next bio_vec that do not belong to the
	 * bio */
	u32 size, done;
	u32 proc, pad;
};

/* ---- areas of memory (vm_area.bpf.h), and calls that write them (remote_write.bpf.h) ---- */

#define NODE_WORDS 32          /* a node of a maple tree has 256 bytes */

/* The rest of a call that writes the memory of a process. */
struct remote_write {
	u64 mm;                /* struct mm_struct of the memory */
	u64 vectors, n;        /* the next vectors */
	u64 at, len;           /* the next bytes, of the vector before */
	u64 left;              /* bytes that are left of all that was written */
	struct user_iovec next;
	u32 proc;
};

struct area_scratch {
	u64 node[NODE_WORDS];  /* the node that area_in() has read */
	struct remote_write remote; /* the call whose memory areas area_in() looks up */
	/* makes this the largest member of the union: clang 14 addresses fields of any other with
	 * one register more, and the stack of 6.1 has no room to save that */
	u64 unused[19];
};

/* One operation on sockets (net_op.bpf.h). `place` is a SUB row, and 0 where no single socket is
 * known. */
struct net_op {
	u64 sock;              /* address of struct sock; only compared */
	u64 ts_ns, dur_ns, size, bytes;
	u64 setup_ns;          /* time until the connection was there; 0: not known */
	u32 proc, arg, tid;
	u32 ops;               /* that it stands for */
	u16 err;
	u8 kind, op, place, pad[3];
	struct iot_flow_key key;
};

/* ---- the page cache, where its layer is traced whole: cache_event.bpf.h ---- */

/* One operation on pages [index, index + pages) of an inode. */
struct cache_op {
	struct iot_cell_key key;
	u64 inode, index, pages;
	u64 bytes;
	u32 task, file;        /* process.id of who runs it, and file.id */
	u32 uncounted;         /* 1: the sums have it already, only the event is sent */
	u32 pad;
};

union scratch {
	struct aio_scratch aio;
	struct aio_block aio_block;
	struct direct_memory direct;
	struct area_scratch area;
	struct net_op net;
	u64 vma;               /* the struct vm_area_struct that bpf_find_vma() found */
};

#endif
