/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_now.bpf.h - the io_uring request that the current task executes, for every program that
 * determines an owner.
 */
#ifndef IOT_URING_NOW_BPF_H
#define IOT_URING_NOW_BPF_H

#include "range.bpf.h"
#include "uring_op.bpf.h"

/* The request that the current task executes. */
struct uring_io {
	u64 req;               /* struct io_kiocb */
	u64 file;              /* struct file, or 0 */
	u64 node, host;        /* inode of the file; the inode that holds its pages */
	u64 offset, len;       /* bytes that the request asks for */
	u8 opcode, write, direct, worker;
	u32 pad;
};

/* True when the current thread is in a call that writes the inode itself, and not through a ring,
 * whatever rings the thread has. range_look() was called. */
static __always_inline bool call_writes(const struct task_ctx *c, u64 number)
{
	if (!c->call || c->shape == SHAPE_AIO_SUBMIT)
		return c->call;
	return c->write && c->target.inode &&
	       inode_number((struct inode *)c->target.inode) == number;
}

/* Finds the request that the current task executes: in io_uring_enter(), in a polling thread, or at
 * the end of any call that runs the task work of a ring; of a worker, its current work. number:
 * number of the inode in question. Workers and polling threads belong to the process of the ring,
 * so the owner is the current process. False: there is none, and the caller looks at the system
 * call (range_look()). Offset and length are those of the kernel's current call, with O_APPEND and
 * the file position resolved: they hold for the pages that it dirties and for the requests that it
 * submits. */
__noinline int uring_found(struct task_ctx *c, struct uring_io *io, u64 number)
{
	struct task_struct *t = current_task();
	u64 len;
	s32 res;

	if (!c || !io)
		return 0;
	if (t->flags & PF_IO_WORKER) {
		io->req = uring_worker_request(t);
		io->worker = !!io->req;
	}
	if (!io->req) {
		if (!c->uring.req || call_writes(c, number))
			return 0;
		io->req = uring_inline(c);
		if (!io->req)
			return 0;
	}
	io->opcode = NUMBER_AT(io->req, struct io_kiocb, opcode);
	if (!(uring_op(io->opcode)->flags & OP_MOVES))
		return 0;
	io->file = POINTER_AT(io->req, struct io_kiocb, file);
	if (!io->file)
		return 0;
	io->node = POINTER_AT(io->file, struct file, f_inode);
	io->host = (u64)data_inode((struct file *)io->file);
	io->write = uring_kind(io->opcode) == KIND_URING_WRITE;
	io->direct = !!(NUMBER_AT(io->file, struct file, f_flags) & O_DIRECT);
	if (uring_op(io->opcode)->flags & OP_SPLICE) {
		io->offset = NUMBER_AT(uring_cmd(io->req), struct io_splice, off_out);
		if ((s64)io->offset == -1)
			io->offset = NUMBER_AT(io->file, struct file, f_pos);
		io->len = NUMBER_AT(uring_cmd(io->req), struct io_splice, len);
		return 1;
	}
	io->offset = uring_pos(io->req);
	len = NUMBER_AT(uring_cmd(io->req), struct io_rw, len);
	/* set to the whole length, of vectors too, before the file is called */
	res = uring_result(io->req);
	io->len = res > 0 ? res : uring_op(io->opcode)->flags & OP_VECTOR ? 0 : len;
	return 1;
}

static __always_inline bool uring_current(struct task_ctx *c, struct uring_io *io, u64 number)
{
	range_look(c); /* called here, since uring_found() has no stack left for it */
	return uring_found(c, io, number);
}

/* The request has copied all that it writes, and is written back before it completes. */
static __always_inline void uring_copied(u64 req)
{
	struct uring_request *u = uring_find(req);

	if (u && !u->copied_ns)
		u->copied_ns = bpf_ktime_get_ns();
}

#endif
