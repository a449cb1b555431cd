/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_op.bpf.h - io_uring: the table of operations, the requests in flight, and whether the
 * current task executes one that writes.
 */
#ifndef IOT_URING_OP_BPF_H
#define IOT_URING_OP_BPF_H

#include <linux/io_uring.h>
#include "call.bpf.h"
#include "kernel_uring.h"
#include "thread.bpf.h"

/* Operations that the installed header may lack. The numbers are part of the user interface, and
 * never change. */
enum uring_op_later {
	OP_READ_MULTISHOT = 49, /* 6.7 */
	OP_READV_FIXED = 60,    /* 6.15 */
	OP_WRITEV_FIXED = 61,   /* 6.15 */
	OP_RECV_ZC = 58,        /* 6.15 */
};

#define URING_OPS 64

enum uring_op_flag {
	OP_MOVES = 1,          /* its result is a number of bytes of a file */
	OP_VECTOR = 2,         /* its length counts vectors */
	OP_SPLICE = 4,         /* a second file is the source */
	OP_BYTES = 8,          /* its result is a number of bytes that another layer counts */
	OP_OPENS = 16,         /* its result is a new descriptor */
	OP_FD = 32,            /* it has a descriptor whose file the ring does not look up */
	OP_LENGTH = 64,        /* its mode or operation is in `len`, not in the word of flags */
	OP_BUFFER = 128,       /* of a registered buffer */
};

/* To add an operation: its row. net: its kind on a socket. Operations without a row are
 * KIND_URING_OTHER. */
static const struct uring_op {
	u8 kind, flags;
	u16 net;
} uring_ops[URING_OPS] = {
	[IORING_OP_READV] = { KIND_URING_READ, OP_MOVES | OP_VECTOR, KIND_NET_RECV },
	[IORING_OP_READ_FIXED] = { KIND_URING_READ, OP_MOVES | OP_BUFFER, KIND_NET_RECV },
	[IORING_OP_READ] = { KIND_URING_READ, OP_MOVES, KIND_NET_RECV },
	[OP_READ_MULTISHOT] = { KIND_URING_READ, OP_MOVES, KIND_NET_RECV },
	[OP_READV_FIXED] = { KIND_URING_READ, OP_MOVES | OP_VECTOR | OP_BUFFER, KIND_NET_RECV },
	[IORING_OP_WRITEV] = { KIND_URING_WRITE, OP_MOVES | OP_VECTOR, KIND_NET_SEND },
	[IORING_OP_WRITE_FIXED] = { KIND_URING_WRITE, OP_MOVES | OP_BUFFER, KIND_NET_SEND },
	[IORING_OP_WRITE] = { KIND_URING_WRITE, OP_MOVES, KIND_NET_SEND },
	[OP_WRITEV_FIXED] = { KIND_URING_WRITE, OP_MOVES | OP_VECTOR | OP_BUFFER, KIND_NET_SEND },
	[IORING_OP_SPLICE] = { KIND_URING_WRITE, OP_MOVES | OP_SPLICE },
	[IORING_OP_FSYNC] = { KIND_URING_FSYNC },
	[IORING_OP_SYNC_FILE_RANGE] = { KIND_URING_FSYNC },
	[IORING_OP_SENDMSG] = { 0, OP_BYTES, KIND_NET_SEND },
	[IORING_OP_SEND] = { 0, OP_BYTES, KIND_NET_SEND },
	[IORING_OP_SEND_ZC] = { 0, OP_BYTES, KIND_NET_SEND },
	[IORING_OP_SENDMSG_ZC] = { 0, OP_BYTES, KIND_NET_SEND },
	[IORING_OP_RECVMSG] = { 0, OP_BYTES, KIND_NET_RECV },
	[IORING_OP_RECV] = { 0, OP_BYTES, KIND_NET_RECV },
	[OP_RECV_ZC] = { 0, OP_BYTES },
	[IORING_OP_TEE] = { 0, OP_BYTES },
	[IORING_OP_OPENAT] = { 0, OP_OPENS },
	[IORING_OP_OPENAT2] = { 0, OP_OPENS },
	[IORING_OP_ACCEPT] = { 0, OP_OPENS },
	[IORING_OP_SOCKET] = { 0, OP_OPENS },
	[IORING_OP_CLOSE] = { 0, OP_FD },
	[IORING_OP_EPOLL_CTL] = { 0, OP_FD | OP_LENGTH },
	[IORING_OP_FALLOCATE] = { 0, OP_LENGTH },
	[IORING_OP_MKDIRAT] = { 0, OP_LENGTH },
	[IORING_OP_SHUTDOWN] = { 0, OP_LENGTH },
};

/* Each operation is recorded in full, not only those that move bytes of files. */
static __always_inline bool uring_whole(void) { return cfg.whole & 1 << LAYER_URING; }

static __always_inline const struct uring_op *uring_op(u32 opcode)
{
	return &uring_ops[INDEX(opcode, URING_OPS)];
}

static __always_inline u8 uring_kind(u32 opcode)
{
	return opcode < URING_OPS &&
	       uring_op(opcode)->kind ? uring_op(opcode)->kind : KIND_URING_OTHER;
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

/* The request that an io-wq worker executes, or 0. */
static __always_inline u64 uring_worker_request(struct task_struct *t)
{
	u64 worker, work;

	if (!HAS_WORKER_PRIVATE || !HAS_IO_WORKER)
		return 0;
	worker = POINTER_AT(t, struct task_struct, worker_private);
	if (!worker)
		return 0;
	work = POINTER_AT(worker, struct io_worker, cur_work);
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* A file that a request uses. */
struct uring_file {
	u64 file;              /* struct file; 0: not known */
	u64 host, ino;         /* the inode that holds its pages; its number */
	u64 offset;
	u32 dev, id, flags;
	u16 block;
	u8 type;
	/* 1: at the file position or the end of the file: `offset` is where that was at
	 * submission */
	u8 moving : 1;
	u8 memory : 1;         /* 1: /proc/PID/mem */
};

/* A request, in flight or ended. */
struct uring_request {
	u64 ts_ns;             /* when it was submitted; 0: it has ended */
	u64 size;
	/* of a write with O_SYNC or the like: when its data were in the page cache; 0: not
	 * reported */
	u64 copied_ns;
	u64 comm[2];           /* name of the thread that asked */
	/* dirtied by a worker: the completion runs in the submitter, which does not see the
	 * worker's context */
	struct fresh fresh;
	u64 fresh_ns;          /* when the worker began to dirty; 0: no worker did */
	u64 direct_ns;         /* of a worker: as task_ctx.direct.ns */
	/* of a worker: when the first folio was dirtied, where blocks are not reported */
	u64 dirtied_ns;
	/* of a worker: when it got the lock of the inode, where that is reported */
	u64 locked_ns;
	struct uring_file to, from; /* from: source of a splice */
	u32 proc, tid, flags;
	u32 arg;               /* as in struct iot_event; only where the layer is traced whole */
	/* number + 1 of the registered file that it opens or closes; ~0: the kernel chooses; 0:
	 * none */
	u32 slot;
	u64 user_data;         /* of the submitter, where it is `multi` */
	u8 opcode;
	/* 1: it has no completion when it succeeds (IOSQE_CQE_SKIP_SUCCESS) */
	u8 skip;
	/* 1: it is linked to an earlier request, and may begin long after its submission */
	u8 waits;
	u8 fell : 1;           /* 1: of a worker: as task_ctx.direct.fell */
	/* 1: it may have several completions, which are reported by user_data alone (map
	 * `uring_multi`) */
	u8 multi : 1;
	/* 1: the offset of an append, or of a write at the file position, is known: a worker
	 * dirtied pages there */
	u8 placed : 1;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_URINGS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);      /* request */
	__type(value, struct uring_request);
} urings SEC(".maps");

/* A request in flight; NULL: it was not traced, or has ended. */
static __always_inline struct uring_request *uring_find(u64 req)
{
	struct uring_request *u = bpf_map_lookup_elem(&urings, &req);

	return u && u->ts_ns ? u : NULL;
}

static __always_inline struct uring_request *uring_of_worker(struct task_struct *t, u64 *req)
{
	*req = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;
	return *req ? uring_find(*req) : NULL;
}

/* A worker dirties a page: the offset is known by then, also where the completion is not
 * reported. */
static __always_inline void uring_placed(struct uring_request *u, u64 req)
{
	if (!u->to.moving || u->placed)
		return;
	u->to.offset = uring_pos(req);
	u->placed = 1;
}

/* As uring_placed(), where a folio is reported to be dirtied. */
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

/* A worker's direct write falls back to the page cache. The completion runs in the submitter, which
 * does not see the worker's context. */
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

/* A direct write falls back to the page cache from now on: what others had dirtied there is written
 * back. */
static __always_inline void direct_falls(struct task_ctx *c)
{
	c->direct.ns = bpf_ktime_get_ns();
	uring_falls(c->direct.ns, 0);
}

/* The kind of the request that the current task executes: a write, if it is not known. One that
 * reads or receives dirties only pages of a mapped file; one that truncates or allocates zeroes the
 * rest of a block. It is not known for requests that were not traced, and for linked requests,
 * which begin when the last of them is submitted. */
static __always_inline u8 uring_does(struct task_struct *t)
{
	u64 req = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;
	struct task_ctx *c = req ? NULL : ctx_find();

	if (c && !c->uring.waits)
		req = c->uring.req;
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

/* True when the submitter executes the request itself, as far as is known: a request has its file
 * from its begin on. */
static __always_inline bool is_begun(u64 req)
{
	struct uring_request *u = uring_find(req);

	return u && !(u->flags & FLAG_WORKER) && POINTER_AT(req, struct io_kiocb, file);
}

static long chain_one(u32 n, struct chain_walk *w)
{
	u64 req = w->c->uring.chain[INDEX(w->c->uring.chained - 1 - n, URING_CHAIN)];

	if (!req || !is_begun(req))
		return 0;
	w->req = req;
	return 1;
}

/* The request that the current thread executes inline. An unlinked request is executed when it is
 * submitted; linked ones when the last of them is submitted, or later, and then it is the one that
 * began last. */
static __always_inline u64 uring_inline(struct task_ctx *c)
{
	struct chain_walk w = { c };
	u64 req = c->uring.req;

	if (req && !c->uring.waits && is_begun(req))
		return req;
	if (c->uring.chained)
		bpf_loop(URING_CHAIN, chain_one, &w, 0);
	return w.req;
}

/* True when the current thread executes a linked request that writes the inode. The thread may be
 * in no call by then. */
__noinline int chain_writes(u64 inode)
{
	struct task_ctx *c = ctx_find();
	u64 req = c ? uring_inline(c) : 0;
	struct uring_request *u = req ? uring_find(req) : NULL;

	return u && u->to.host == inode && uring_kind(u->opcode) == KIND_URING_WRITE;
}

/* True when the call of the current thread may execute several requests before the completion of
 * the first is reported. A polling thread always may. */
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
	return shape == SHAPE_AIO_SUBMIT ? regs_arg1(regs) > 1 : shape == SHAPE_URING &&
	       (regs_arg1(regs) != 1 || c->uring.waits);
}

/* True in a call that writes one file from memory. regs: the saved registers of the thread. */
static __always_inline bool writes_by_call(struct task_struct *t, const struct pt_regs *regs)
{
	return !(t->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) &&
	       regs_in_call(regs) && regs_nr(regs) < IOT_MAX_SYSCALL &&
	       writes_simply(call_row(regs_nr(regs)));
}

static __always_inline bool in_simple_write(struct task_struct *t)
{
	return writes_by_call(t, current_regs());
}

#endif
