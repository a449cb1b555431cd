/* SPDX-License-Identifier: GPL-3.0-only */
/* thread.bpf.h - a call that is like an earlier one of its thread: the same call on the same file, which reads, or moves bytes on what
 * is no storage, or writes a file that nobody else dirties. All that is needed to count it lies in one slot, found by thread and
 * descriptor: nothing is searched, and no helper is called but for the current task. Most calls of busy programs are such calls. What it
 * does is what exit_rw() does for them.
 */
#ifndef IOT_QUICK_BPF_H
#define IOT_QUICK_BPF_H

#include "process.bpf.h"

/* What is known of a thread by its number. */
#define THREAD_SLOTS (1 << 16)
#define CLOCK_SHIFT 58

struct thread {
	u64 task;              /* address of who is here; 0 nobody */
	u64 rchar;             /* as task_ctx.rchar, for quick calls */
	u64 clock;             /* when its call began: the bits of its number beyond the slots << CLOCK_SHIFT | ns; 0: it is not timed */
	u32 dice;              /* of is_drawn(): stays with the slot, whoever has it; 0 not thrown yet */
	u32 stamp;             /* of its quick calls that are valid */
	u64 single, single_ino;    /* a regular file that nobody but its process dirties: inode and its number, ... */
	u32 single_gen;          /* ... its generation: the memory of an inode is used again for another file, ... */
	u32 sole_epoch;        /* ... as long as iot_state.sole_epoch is this, ... */
	u32 single_second;       /* ... and iot_state.second: its writer has to be seen as living */
	u32 proc;              /* its process, 0: not looked at */
	u32 dirty_cell;        /* where folios of `sole` that turn dirty are counted */
	u64 dirtied_ns;         /* when the call in progress made something dirty first, or its begin, where nothing was submitted in between */
	u64 locked_ns;         /* when it had the lock of its inode: where it made nothing dirty that the kernel tells of */
	struct fresh fresh;    /* what turned dirty in its call in progress, one that writes one file from memory */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_SLOTS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

#define QUICK_SLOTS (1 << 15)
#define QUICK_NO_SUM (~0U)     /* its file has no sums */

struct fast_call {
	u64 inode, ino;        /* of the open file */
	u64 host;              /* the inode that holds its pages, where it is read through the page cache; else 0 */
	u32 tid, stamp;        /* whose; 0 nobody's */
	u32 gen, open_flags;   /* of inode; of the open file */
	u32 epoch;             /* as task_ctx.sum_epoch: names and paths are looked at again when it moves */
	u32 cell, sum;         /* where it is counted */
	u32 block;             /* of a write: the unit that turns dirty */
	u32 proc, file, dev, flags;
	u16 nr;
	u8 shape, kind, write, type;
	u16 learned;           /* moves whenever something else is known */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUICK_SLOTS);
	__type(key, u32);
	__type(value, struct fast_call);
} quicks SEC(".maps");

static __always_inline struct thread *thread_of(u32 tid)
{
	u32 slot = INDEX(tid, THREAD_SLOTS);

	return bpf_map_lookup_elem(&threads, &slot);
}

static __always_inline struct fast_call *fast_call_of(u32 tid, u32 fd, u8 write)
{
	u32 slot = INDEX(tid * 40503 + (fd << 1 | write), QUICK_SLOTS);

	return bpf_map_lookup_elem(&quicks, &slot);
}

/* When the thread's call in progress began; 0: it is not timed. */
static __always_inline u64 clock_begin(const struct thread *th)
{
	return th->clock & ((1ULL << CLOCK_SHIFT) - 1);
}

/* A call waits for the lock of its inode, and for that of each folio. What it writes becomes dirty in the order in which it gets them: that it
 * began before something was submitted does not say that it was dirty by then. Returns whether the call had made something dirty before, and
 * file data were submitted since. */
static __always_inline bool dirtied_note(struct thread *th)
{
	u64 begin = clock_begin(th), carried;
	struct iot_state *s = run_state();

	if (!s || !cfg.events)
		return false;
	carried = *(volatile u64 *)&s->carried_ns;
	if (th->dirtied_ns && th->dirtied_ns >= begin)
		return carried >= th->dirtied_ns;
	th->dirtied_ns = carried >= begin ? bpf_ktime_get_ns() : begin;
	return false;
}

/* The call is over that began then: how long after that it made something dirty. *begin_ns 0, it was not timed: that is put there. */
static __always_inline u64 dirtied_when(struct thread *th, u64 *begin_ns)
{
	u64 at = th->dirtied_ns && th->dirtied_ns >= *begin_ns ? th->dirtied_ns : th->locked_ns;

	th->dirtied_ns = th->locked_ns = 0;
	if (!*begin_ns)
		*begin_ns = at;
	return at > *begin_ns ? at - *begin_ns : 0;
}

/* Makes the slot of a thread its own. NULL: another has it, in whose call in progress something turned dirty. */
static __always_inline struct thread *thread_take(struct task_struct *t)
{
	struct thread *th = thread_of(TASK(t, pid));

	if (th && th->task != (u64)t) {
		if (th->task && th->fresh.inode)
			return NULL;
		th->task = (u64)t;
		th->rchar = th->single = th->fresh.inode = 0;
		th->proc = 0;
		th->stamp++;
	}
	return th;
}

/* As proc_current(), of a thread that is looked at again and again. */
static __always_inline u32 proc_cached(void)
{
	struct task_struct *t = current_task();
	struct thread *th = thread_of(TASK(t, pid));
	u32 proc;

	if (!cfg.twins && th && th->task == (u64)t && th->proc) /* twins: an exec can be skipped */
		return th->proc;
	proc = proc_current(ctx_make());
	th = proc ? thread_take(t) : NULL;
	if (th)
		th->proc = proc;
	return proc;
}

/* The thread's next calls are looked at from the ground up: it ended, or is another program, or has another name. */
static __always_inline void thread_drop_at(u64 task, u32 tid)
{
	struct thread *th = thread_of(tid);

	if (th && th->task == task) {
		th->task = 0;
		th->stamp++;
	}
}

static __always_inline void thread_drop(struct task_struct *t)
{
	thread_drop_at((u64)t, TASK(t, pid));
}

/* What the task accounting of the thread said when its last reading call returned. pid: its number then. */
static __always_inline u64 thread_rchar(struct task_struct *t, u32 pid, u64 rchar)
{
	struct thread *th = thread_of(pid);

	return th && th->task == (u64)t && th->rchar > rchar ? th->rchar : rchar;
}

#endif
