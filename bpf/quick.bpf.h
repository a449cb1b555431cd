/* SPDX-License-Identifier: GPL-3.0-only */
/* quick.bpf.h - a call that is like an earlier one of its thread: the same call on the same file, which reads, or moves bytes on what
 * is no storage. All that is needed to count it lies in one slot, found by thread and descriptor: nothing is searched, and no helper is
 * called but for the current task. Most calls of busy programs are such calls. What it does is what exit_rw() does for them.
 */
#ifndef IOT_QUICK_BPF_H
#define IOT_QUICK_BPF_H

#include "record.bpf.h"

/* What is known of a thread by its number. */
#define THREAD_SLOTS (1 << 17)

struct thread {
	u64 task;              /* address of who is here; 0 nobody */
	u64 rchar;             /* as task_ctx.rchar, for quick calls */
	u64 clock;             /* when its call began: the bits of its number beyond the slots << CLOCK_SHIFT | ns. Below IOT_SAMPLE it is
	                          how many calls that move data went by untimed */
	u32 stamp, pad;        /* of its quick calls that are valid */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_SLOTS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

#define QUICK_SLOTS (1 << 16)
#define QUICK_NO_SUM (~0U)     /* its file has no sums */

struct quick {
	u64 inode, ino;        /* of the open file */
	u64 host;              /* the inode that holds its pages, where it is read through the page cache; else 0 */
	u32 tid, stamp;        /* whose; 0 nobody's */
	u32 gen, open_flags;   /* of inode; of the open file */
	u32 epoch;             /* as task_ctx.sum_epoch: names and paths are looked at again when it moves */
	u32 cell, sum;         /* where it is counted */
	u32 proc, file, dev, flags;
	u16 nr;
	u8 shape, kind, write, type;
	u16 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUICK_SLOTS);
	__type(key, u32);
	__type(value, struct quick);
} quicks SEC(".maps");

static __always_inline struct thread *thread_of(u32 tid)
{
	u32 slot = tid & (THREAD_SLOTS - 1);

	return bpf_map_lookup_elem(&threads, &slot);
}

static __always_inline struct quick *quick_of(u32 tid, u32 fd, u8 write)
{
	u32 slot = (tid * 40503 + (fd << 1 | write)) & (QUICK_SLOTS - 1);

	return bpf_map_lookup_elem(&quicks, &slot);
}

/* Makes the slot of a thread its own. */
static __always_inline struct thread *thread_take(struct task_struct *t)
{
	struct thread *th = thread_of(t->pid);

	if (th && th->task != (u64)t) {
		th->task = (u64)t;
		th->rchar = 0;
		th->stamp++;
	}
	return th;
}

/* The thread's next calls are looked at from the ground up: it ended, or is another program, or has another name. */
static __always_inline void thread_drop(struct task_struct *t)
{
	struct thread *th = thread_of(t->pid);

	if (th && th->task == (u64)t) {
		th->task = 0;
		th->stamp++;
	}
}

/* What the task accounting of the thread said when its last reading call returned. pid: its number then. */
static __always_inline u64 thread_rchar(struct task_struct *t, u32 pid, u64 rchar)
{
	struct thread *th = thread_of(pid);

	return th && th->task == (u64)t && th->rchar > rchar ? th->rchar : rchar;
}

#endif
