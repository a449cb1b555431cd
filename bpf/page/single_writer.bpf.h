/* SPDX-License-Identifier: GPL-3.0-only */
/* single_writer.bpf.h - files with a single writer: no page of them needs to be claimed.
 */
#ifndef IOT_SINGLE_WRITER_BPF_H
#define IOT_SINGLE_WRITER_BPF_H

#include "page_owner.bpf.h"
#include "thread.bpf.h"

/* True when the thread dirtied the inode as its single writer, some time ago. */
static __always_inline bool was_single_writer(const struct thread *th, struct task_struct *t,
					      u64 inode)
{
	return th->single == inode && th->task == (u64)t &&
	       th->single_ino == inode_number((struct inode *)inode) &&
	       th->single_gen == inode_generation((struct inode *)inode);
}

/* True when the thread's process is the single writer of the inode. s: run_state(). */
static __always_inline bool is_single_writer_now(const struct iot_state *s,
						 const struct thread *th, struct task_struct *t,
						 u64 inode)
{
	return s && th && inode && th->sole_epoch == s->sole_epoch &&
	       th->single_second == s->second && was_single_writer(th, t, inode);
}

static __always_inline bool is_single_writer(const struct thread *th, struct task_struct *t,
					     u64 inode)
{
	return is_single_writer_now(run_state(), th, t, inode);
}

/* As is_single_writer(), for a call that has written: what it wrote may have been dirty before, so
 * that no folio was reported. The entry of the file's writer is looked up and refreshed, once a
 * second. Out of line: most calls do not come here. */
static __noinline bool single_writer_renew(struct thread *th, struct task_struct *t, u64 inode)
{
	struct iot_state *s = run_state();
	u32 epoch = s ? *(volatile u32 *)&s->sole_epoch : 0;
	struct writer *w;

	if (!s || !th || !inode || !was_single_writer(th, t, inode))
		return false;
	w = writer_find((struct inode *)inode);
	if (!w || w->many || !th->proc || w->first != th->proc)
		return false;
	w->second = s->second;
	th->sole_epoch = epoch;
	th->single_second = w->second;
	return true;
}

/* The thread has dirtied a folio of a regular file, which was counted in aggregate `cell`: its
 * process may be the single writer. */
static __always_inline void single_writer_learn(struct task_struct *t, struct inode *i, u32 proc,
						u32 cell)
{
	struct iot_state *s = run_state();
	u32 epoch = s ? *(volatile u32 *)&s->sole_epoch : 0;
	struct writer *w = writer_find(i);
	struct thread *th;

	if (!s || !w || w->many || w->first != proc || cell == IOT_NO_CELL)
		return;
	th = thread_take(t);
	if (!th)
		return;
	th->single = (u64)i;
	th->single_ino = inode_number(i);
	th->single_gen = inode_generation(i);
	th->sole_epoch = epoch;
	th->single_second = w->second;
	th->proc = proc;
	th->dirty_cell = cell;
}

#endif
