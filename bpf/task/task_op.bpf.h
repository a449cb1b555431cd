/* SPDX-License-Identifier: GPL-3.0-only */
/* task_op.bpf.h - the operation in which the current thread dirties or drops pages.
 */
#ifndef IOT_TASK_OP_BPF_H
#define IOT_TASK_OP_BPF_H

#include "sync_write.bpf.h"
#include "uring_op.bpf.h"

/* The operation in which the current thread dirties pages. */
enum task_op {
	/* a call that writes one file from memory; pages that were dirty before are overwritten */
	TASK_OP_CALL,
	TASK_OP_WRITE,           /* overwrites, too: another call, a request, or a kernel thread */
	/* copy_file_range(): overwrites, too, but may first write back what was dirty */
	TASK_OP_COPY,
	TASK_OP_AIO,             /* io_submit(): aio_task_op() determines it */
	TASK_OP_STORE,           /* a fault from user mode */
	/* a call that writes back: pages that cannot be written yet are redirtied, and keep their
	 * owner */
	TASK_OP_SYNC,
	/* a call that reads into a mapped file, zeroes the rest of a block (truncate, fallocate),
	 * or copies a file up; a core dump */
	TASK_OP_OTHER,
};

/* The operation of the current task. Global: verified once, and not the rest of each caller once
 * for each of its branches. */
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
		return kind == KIND_URING_WRITE ? TASK_OP_WRITE : kind == KIND_URING_FSYNC ?
		       TASK_OP_SYNC : TASK_OP_OTHER;
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
	return row->write || (row->shape == SHAPE_URING && uring_writes(t)) ? TASK_OP_WRITE :
	       TASK_OP_OTHER;
}

/* True when task_op_current() would return TASK_OP_CALL: the few instructions that the usual case
 * needs. */
static __always_inline bool in_write_call(struct task_struct *t, const struct pt_regs *regs)
{
	return !(t->flags & PF_DUMPCORE) && writes_by_call(t, regs);
}

static __always_inline enum task_op task_op_now(struct task_struct *t)
{
	return task_op_current();
}

/* True in a call or request that only writes back: it has copied nothing. */
static __always_inline bool only_syncs(void)
{
	return task_op_current() == TASK_OP_SYNC;
}

static __always_inline enum task_op aio_task_op(struct task_ctx *c, struct inode *i)
{
	return aio_writes(c, (u64)i) ? TASK_OP_WRITE : TASK_OP_OTHER;
}

/* The operation, as far as the inode determines it: a store from user mode is a write when the
 * interrupted thread continues a linked request. */
static __always_inline enum task_op task_op_on(struct task_ctx *c, struct inode *i,
					       enum task_op task_op)
{
	if (task_op == TASK_OP_AIO)
		return aio_task_op(c, i);
	return task_op == TASK_OP_STORE && c->uring.chained &&
	       chain_writes((u64)i) ? TASK_OP_WRITE : task_op;
}

/* True when writeback redirties a folio (folio_redirty_for_writepage()): of an inode under
 * writeback, or in a call that waits for writeback. It was dirty already; its owner does not
 * change. A fast commit does so to all files that it covers. */
static __always_inline bool is_put_back(const struct task_ctx *c, enum task_op task_op,
					struct inode *i)
{
	return task_op == TASK_OP_SYNC || c->behalf == BEHALF_FASTCOMMIT ||
	       (c->behalf == BEHALF_INODE && c->behalf_id == (u64)i);
}

#endif
