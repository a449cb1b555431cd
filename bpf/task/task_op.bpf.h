/* SPDX-License-Identifier: GPL-3.0-only */
/* task_op.bpf.h - what the current thread is at while pages turn dirty, or are dropped. */
#ifndef IOT_DOING_BPF_H
#define IOT_DOING_BPF_H

#include "sync_write.bpf.h"
#include "uring_op.bpf.h"

/* What the current thread does that makes pages dirty. */
enum doing {
	DOING_CALL,            /* a call that writes one file from memory; what was dirty before is written over */
	DOING_WRITE,           /* likewise: another call, a request, or a thread that does nothing else */
	DOING_COPY,            /* copy_file_range: likewise, but what was dirty may be written back first */
	DOING_AIO,             /* io_submit: aio_doing() tells */
	DOING_STORE,           /* a fault from user mode */
	DOING_SYNC,            /* a call that has written back: what cannot be written yet is put back, and is whose it was */
	DOING_OTHER,           /* a call that reads into a mapped file, zeroes the rest of a block (truncate, fallocate), or copies a file
				* up; a core dump */
};

/* Of the current task. Global: the verifier looks at it once, and at what follows not once for each of its ends. */
__noinline u32 doing_current(void)
{
	struct task_struct *t = current_task();
	const struct pt_regs *regs;
	const volatile struct iot_syscall *row;
	u8 kind;

	if (t->flags & PF_KTHREAD)
		return DOING_WRITE;
	if (is_worker(t)) {
		kind = uring_does(t);
		return kind == KIND_URING_WRITE ? DOING_WRITE : kind == KIND_URING_FSYNC ? DOING_SYNC : DOING_OTHER;
	}
	if (t->flags & PF_DUMPCORE)
		return DOING_OTHER;
	regs = current_regs();
	if (!regs_in_call(regs))
		return DOING_STORE;
	if (regs_nr(regs) >= IOT_MAX_SYSCALL)
		return DOING_OTHER;
	row = call_row(regs_nr(regs));
	if (row->kind == KIND_COPY_IN)
		return DOING_COPY;
	if (row->shape == SHAPE_AIO_SUBMIT)
		return DOING_AIO;
	if (row->kind >= KIND_FSYNC && row->kind <= KIND_MSYNC)
		return DOING_SYNC;
	if (writes_simply(row))
		return DOING_CALL;
	return row->write || (row->shape == SHAPE_URING && uring_writes(t)) ? DOING_WRITE : DOING_OTHER;
}

static __always_inline enum doing doing_now(struct task_struct *t)
{
	return doing_current();
}

static __always_inline enum doing aio_doing(struct task_ctx *c, struct inode *i)
{
	return aio_writes(c, (u64)i) ? DOING_WRITE : DOING_OTHER;
}

/* The same, of what the inode alone tells: a store from user mode is none, if it is a request that goes on when the thread was interrupted. */
static __always_inline enum doing doing_to(struct task_ctx *c, struct inode *i, enum doing doing)
{
	if (doing == DOING_AIO)
		return aio_doing(c, i);
	return doing == DOING_STORE && c->uring_chained && chain_writes((u64)i) ? DOING_WRITE : doing;
}

#endif
