/* SPDX-License-Identifier: GPL-3.0-only */
/* task_op.bpf.h - what the current thread is at while pages turn dirty, or are dropped. */
#ifndef IOT_DOING_BPF_H
#define IOT_DOING_BPF_H

#include "sync_write.bpf.h"
#include "uring_op.bpf.h"

/* What the current thread does that makes pages dirty. */
enum task_op {
	TASK_OP_CALL,            /* a call that writes one file from memory; what was dirty before is written over */
	TASK_OP_WRITE,           /* likewise: another call, a request, or a thread that does nothing else */
	TASK_OP_COPY,            /* copy_file_range: likewise, but what was dirty may be written back first */
	TASK_OP_AIO,             /* io_submit: aio_task_op() tells */
	TASK_OP_STORE,           /* a fault from user mode */
	TASK_OP_SYNC,            /* a call that has written back: what cannot be written yet is put back, and is whose it was */
	TASK_OP_OTHER,           /* a call that reads into a mapped file, zeroes the rest of a block (truncate, fallocate), or copies a file
				* up; a core dump */
};

/* Of the current task. Global: the verifier looks at it once, and at what follows not once for each of its ends. */
__noinline u32 task_op_current(void)
{
	struct task_struct *t = current_task();
	const struct pt_regs *regs;
	const volatile struct iot_syscall *row;
	u8 kind;

	if (t->flags & PF_KTHREAD)
		return TASK_OP_WRITE;
	if (is_worker(t)) {
		kind = uring_does(t);
		return kind == KIND_URING_WRITE ? TASK_OP_WRITE : kind == KIND_URING_FSYNC ? TASK_OP_SYNC : TASK_OP_OTHER;
	}
	if (t->flags & PF_DUMPCORE)
		return TASK_OP_OTHER;
	regs = current_regs();
	if (!regs_in_call(regs))
		return TASK_OP_STORE;
	if (regs_nr(regs) >= IOT_MAX_SYSCALL)
		return TASK_OP_OTHER;
	row = call_row(regs_nr(regs));
	if (row->kind == KIND_COPY_IN)
		return TASK_OP_COPY;
	if (row->shape == SHAPE_AIO_SUBMIT)
		return TASK_OP_AIO;
	if (row->kind >= KIND_FSYNC && row->kind <= KIND_MSYNC)
		return TASK_OP_SYNC;
	if (writes_simply(row))
		return TASK_OP_CALL;
	return row->write || (row->shape == SHAPE_URING && uring_writes(t)) ? TASK_OP_WRITE : TASK_OP_OTHER;
}

static __always_inline enum task_op task_op_now(struct task_struct *t)
{
	return task_op_current();
}

static __always_inline enum task_op aio_task_op(struct task_ctx *c, struct inode *i)
{
	return aio_writes(c, (u64)i) ? TASK_OP_WRITE : TASK_OP_OTHER;
}

/* The same, of what the inode alone tells: a store from user mode is none, if it is a request that goes on when the thread was interrupted. */
static __always_inline enum task_op task_op_on(struct task_ctx *c, struct inode *i, enum task_op task_op)
{
	if (task_op == TASK_OP_AIO)
		return aio_task_op(c, i);
	return task_op == TASK_OP_STORE && c->uring_chained && chain_writes((u64)i) ? TASK_OP_WRITE : task_op;
}

#endif
