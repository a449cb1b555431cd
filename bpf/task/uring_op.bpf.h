/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_op.bpf.h - io_uring: the table of operations, the requests on their way, and whether the current task is at one that writes. */
#ifndef IOT_URING_OP_BPF_H
#define IOT_URING_OP_BPF_H

#include <linux/io_uring.h>
#include "call.bpf.h"
#include "thread.bpf.h"

/* Operations that an installed header may be too old for. The numbers are part of the user interface and never change. */
enum uring_op_later {
	OP_READ_MULTISHOT = 49, /* 6.7 */
	OP_READV_FIXED = 60,    /* 6.15 */
	OP_WRITEV_FIXED = 61,   /* 6.15 */
};

#define URING_OPS 64

enum uring_op_flag {
	OP_MOVES = 1,          /* its result is a number of bytes of a file */
	OP_VECTOR = 2,         /* its length counts vectors */
	OP_SPLICE = 4,         /* a second file is its source */
};

/* To add an operation: its row. net: what it does on a socket. What is not here is KIND_URING_OTHER. */
static const struct uring_op {
	u8 kind, flags;
	u16 net;
} uring_ops[URING_OPS] = {
	[IORING_OP_READV] = { KIND_URING_READ, OP_MOVES | OP_VECTOR, KIND_NET_RECV },
	[IORING_OP_READ_FIXED] = { KIND_URING_READ, OP_MOVES, KIND_NET_RECV },
	[IORING_OP_READ] = { KIND_URING_READ, OP_MOVES, KIND_NET_RECV },
	[OP_READ_MULTISHOT] = { KIND_URING_READ, OP_MOVES, KIND_NET_RECV },
	[OP_READV_FIXED] = { KIND_URING_READ, OP_MOVES | OP_VECTOR, KIND_NET_RECV },
	[IORING_OP_WRITEV] = { KIND_URING_WRITE, OP_MOVES | OP_VECTOR, KIND_NET_SEND },
	[IORING_OP_WRITE_FIXED] = { KIND_URING_WRITE, OP_MOVES, KIND_NET_SEND },
	[IORING_OP_WRITE] = { KIND_URING_WRITE, OP_MOVES, KIND_NET_SEND },
	[OP_WRITEV_FIXED] = { KIND_URING_WRITE, OP_MOVES | OP_VECTOR, KIND_NET_SEND },
	[IORING_OP_SPLICE] = { KIND_URING_WRITE, OP_MOVES | OP_SPLICE },
	[IORING_OP_FSYNC] = { KIND_URING_FSYNC },
	[IORING_OP_SYNC_FILE_RANGE] = { KIND_URING_FSYNC },
	[IORING_OP_SENDMSG] = { 0, 0, KIND_NET_SEND },
	[IORING_OP_SEND] = { 0, 0, KIND_NET_SEND },
	[IORING_OP_SEND_ZC] = { 0, 0, KIND_NET_SEND },
	[IORING_OP_SENDMSG_ZC] = { 0, 0, KIND_NET_SEND },
	[IORING_OP_RECVMSG] = { 0, 0, KIND_NET_RECV },
	[IORING_OP_RECV] = { 0, 0, KIND_NET_RECV },
};

static __always_inline const struct uring_op *uring_op(u32 opcode)
{
	return &uring_ops[INDEX(opcode, URING_OPS)];
}

static __always_inline u8 uring_kind(u32 opcode)
{
	return opcode < URING_OPS && uring_op(opcode)->kind ? uring_op(opcode)->kind : KIND_URING_OTHER;
}

static __always_inline u64 uring_cmd(u64 req)
{
	return req + bpf_core_field_offset(struct io_kiocb, cmd);
}

static __always_inline u64 uring_pos(u64 req)
{
	return NUMBER_AT(uring_cmd(req), struct io_rw, kiocb.ki_pos);
}

static __always_inline s32 uring_result(u64 req)
{
	return NUMBER_AT(req, struct io_kiocb, cqe.res);
}

/* The request that a worker of io_uring executes, or 0. */
static __always_inline u64 uring_worker_request(struct task_struct *t)
{
	u64 worker, work;

	if (!bpf_core_field_exists(t->worker_private) || !bpf_core_type_exists(struct io_worker))
		return 0;
	worker = POINTER_AT(t, struct task_struct, worker_private);
	if (!worker)
		return 0;
	work = POINTER_AT(worker, struct io_worker, cur_work);
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* A file that a request uses. */
struct uring_file {
	u64 file;              /* struct file, 0 not known */
	u64 host, ino;         /* the inode that holds its pages; its number */
	u64 offset;
	u32 dev, id, flags;
	u16 block;
	u8 type;
	u8 moving : 1;         /* 1: at the file position or the end: `offset` is where that was at submission */
	u8 memory : 1;         /* 1: /proc/PID/mem */
};

/* A request on its way. */
struct uring_request {
	u64 ts_ns, size;
	u64 copied_ns;         /* when what it writes through was in the page cache; 0 not told */
	u64 comm[2];           /* name of the thread that asked */
	struct fresh fresh;    /* by a worker, whose memory the end of the request, told in its submitter, does not find */
	u64 fresh_ns;          /* since when; 0 no worker did */
	u64 direct_ns;         /* of a worker: as task_ctx.direct_ns */
	u64 dirtied_ns;         /* of a worker: when the first folio turned dirty, where that is all that is told */
	u64 locked_ns;         /* of a worker: when it had the lock of the inode, where that is told */
	struct uring_file to, from; /* from: source of a splice */
	u32 proc, tid, flags;
	u8 opcode;
	u8 skip;               /* 1: nobody is told when it succeeds */
	u8 waits;              /* 1: it may begin long after it was submitted, when those before it are over */
	u8 fell : 1;           /* 1: of a worker: as task_ctx.fell_inode */
	u8 placed : 1;         /* 1: where it appends, or the file position was, is known: a worker made pages dirty there */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);      /* request */
	__type(value, struct uring_request);
} urings SEC(".maps");

static __always_inline struct uring_request *uring_of_worker(struct task_struct *t, u64 *req)
{
	*req = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;
	return *req ? bpf_map_lookup_elem(&urings, req) : NULL;
}

/* A worker makes a page dirty: where it writes is known by then, also where the end of the request is not told. */
static __always_inline void uring_placed(struct uring_request *u, u64 req)
{
	if (!u->to.moving || u->placed)
		return;
	u->to.offset = uring_pos(req);
	u->placed = 1;
}

/* The same, where it is told that a folio turns dirty. */
__noinline int uring_dirtied(u64 now)
{
	u64 req;
	struct uring_request *u = uring_of_worker(current_task(), &req);

	if (!u)
		return 0;
	uring_placed(u, req);
	if (!u->dirtied_ns)
		u->dirtied_ns = now;
	return 0;
}

/* A worker's direct write goes through the page cache: the end of the request, told in its submitter, does not find the worker's memory. */
__noinline int uring_falls(u64 direct_ns, u32 fell)
{
	u64 req;
	struct uring_request *u = uring_of_worker(current_task(), &req);

	if (!u)
		return 0;
	u->direct_ns = direct_ns;
	u->fell |= !!fell;
	return 0;
}

/* A direct write goes through the page cache, from now on: what others had dirty there is written back. */
static __always_inline void direct_falls(struct task_ctx *c)
{
	c->direct_ns = bpf_ktime_get_ns();
	uring_falls(c->direct_ns, 0);
}

/* What the request does that the current task is at: a write, where that is not known. One that reads, or receives, makes only pages of a mapped
 * file dirty; one that cuts a file or makes room in it zeroes the rest of a block. Of one that was not seen nobody knows, nor of several that
 * wait for each other: they begin when the last is submitted. */
static __always_inline u8 uring_does(struct task_struct *t)
{
	u64 req = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;
	struct task_ctx *c = req ? NULL : ctx_find();

	if (c && !c->uring_waits)
		req = c->uring_req;
	return req ? uring_kind(NUMBER_AT(req, struct io_kiocb, opcode)) : KIND_URING_WRITE;
}

static __always_inline bool uring_writes(struct task_struct *t)
{
	return uring_does(t) == KIND_URING_WRITE;
}

struct chain_walk {
	struct task_ctx *c;
	u64 req;
};

/* Does the thread that submitted a request execute it, as far as is known? It has its file from its begin on. */
static __always_inline bool is_begun(u64 req)
{
	struct uring_request *u = bpf_map_lookup_elem(&urings, &req);

	return u && !(u->flags & FLAG_WORKER) && POINTER_AT(req, struct io_kiocb, file);
}

static long chain_one(u32 n, struct chain_walk *w)
{
	u64 req = w->c->uring_chain[INDEX(w->c->uring_chained - 1 - n, URING_CHAIN)];

	if (!req || !is_begun(req))
		return 0;
	w->req = req;
	return 1;
}

/* The request that the current thread executes itself. One that waits for no other is executed as soon as it was submitted; the others when
 * the last of them was, or later, and the one that began last is it. */
static __always_inline u64 uring_inline(struct task_ctx *c)
{
	struct chain_walk w = { c };
	u64 req = c->uring_req;

	if (req && !c->uring_waits && is_begun(req))
		return req;
	if (c->uring_chained)
		bpf_loop(URING_CHAIN, chain_one, &w, 0);
	return w.req;
}

/* Does the current thread execute a request that waited for another, and writes the inode? It may be in no call by then. */
__noinline int chain_writes(u64 inode)
{
	struct task_ctx *c = ctx_find();
	u64 req = c ? uring_inline(c) : 0;
	struct uring_request *u = req ? bpf_map_lookup_elem(&urings, &req) : NULL;

	return u && u->to.host == inode && uring_kind(u->opcode) == KIND_URING_WRITE;
}

/* May the call that the current thread is in execute several requests before it tells the end of one? A polling thread may always. */
static __always_inline bool executes_several(const struct task_ctx *c, struct task_struct *t)
{
	const struct pt_regs *regs;
	u8 shape;

	if (is_worker(t))
		return true;
	regs = current_regs();
	if (!regs_in_call(regs) || regs_nr(regs) >= IOT_MAX_SYSCALL)
		return false;
	shape = call_row(regs_nr(regs))->shape;
	return shape == SHAPE_AIO_SUBMIT ? regs_arg1(regs) > 1 : shape == SHAPE_URING && (regs_arg1(regs) != 1 || c->uring_waits);
}

/* Is the current thread in a call that writes one file from memory? */
static __always_inline bool in_simple_write(struct task_struct *t)
{
	const struct pt_regs *regs;

	if (t->flags & PF_KTHREAD || is_worker(t))
		return false;
	regs = current_regs();
	return regs_in_call(regs) && regs_nr(regs) < IOT_MAX_SYSCALL && writes_simply(call_row(regs_nr(regs)));
}

#endif
