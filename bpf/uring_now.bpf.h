/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_now.bpf.h - the request of a ring that the current task is at: for every probe that asks whose byte it sees. */
#ifndef IOT_URING_NOW_BPF_H
#define IOT_URING_NOW_BPF_H

#include "uring.bpf.h"

/* The request that the current task is at: the last one that it submitted, where it is in io_uring_enter or is a ring's polling
 * thread; the one that it executes, where it is a worker. Workers and polling threads belong to the ring's process, so the owner
 * is the current process. False: none. Offset and length are those of the call that the kernel is in (O_APPEND and the file
 * position are resolved), so they hold for the pages that it dirties and for the requests that it submits. */
__noinline int uring_current(struct task_ctx *c, struct uring_io *io)
{
	struct task_struct *t = current_task();
	u64 len, req;
	s32 res;

	if (!c || !io)
		return 0;
	if (t->flags & PF_IO_WORKER) {
		io->req = uring_worker_request(t);
		io->worker = !!io->req;
	}
	if (!io->req) {
		io->req = c->uring_req;
		req = io->req; /* a key must be on the stack of the function that looks it up */
		if (!req || !bpf_map_lookup_elem(&urings, &req))
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
	res = uring_result(io->req); /* set to the whole length, of vectors too, before the file is asked */
	io->len = res > 0 ? res : uring_op(io->opcode)->flags & OP_VECTOR ? 0 : len;
	return 1;
}

/* The request has copied all that it writes, and has it written back from now on, before it is over. */
static __always_inline void uring_copied(const struct uring_io *io)
{
	u64 req = io->req;
	struct uring_request *u = bpf_map_lookup_elem(&urings, &req);

	if (u && !u->copied_ns)
		u->copied_ns = bpf_ktime_get_ns();
}

#endif
