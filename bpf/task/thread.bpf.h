/* SPDX-License-Identifier: GPL-3.0-only */
/* thread.bpf.h - a table of threads by number, and what the fast path needs to count a call. A call
 * takes the fast path when it is like an earlier one of its thread: the same call on the same file,
 * which reads, or moves bytes on a file that is no storage, or writes a file with a single writer.
 * The entry is found by thread and descriptor, without a search, and with no helper call but the
 * one for the current task. Most calls of busy programs are such calls. The fast path has the same
 * effect as exit_rw().
 */
#ifndef IOT_THREAD_BPF_H
#define IOT_THREAD_BPF_H

#include "process.bpf.h"

/* Entries of the table of threads. The entry is found by the low bits of the thread's number, and
 * the clock of a call keeps the others: numbers have 22 bits. */
#define THREAD_SLOTS (1 << 16)
#define LIGHT_THREAD_SLOTS (1 << 15)
#define CLOCK_SHIFT (cfg.light ? 57 : 58)

struct thread {
	u64 task;              /* struct task_struct of the thread; 0: free */
	u64 rchar;             /* as task_ctx.rchar, for calls on the fast path */
	/* begin of its call: the bits of its number beyond the index << CLOCK_SHIFT | ns; 0: the
	 * call is not timed */
	u64 clock;
	/* state of is_drawn(): stays with the entry, whatever thread has it; 0: not seeded yet */
	u32 dice;
	u32 stamp;             /* generation of its entries in `quicks` that are valid */
	/* a regular file with its process as the single writer: inode and its number, ... */
	u64 single, single_ino;
	/* ... its generation, since the memory of an inode is reused, ... */
	u32 single_gen;
	u32 sole_epoch;        /* ... valid while iot_state.sole_epoch has this value, ... */
	/* ... and iot_state.second, so that the entry of its writer is refreshed */
	u32 single_second;
	u32 proc;              /* its process; 0: not looked up yet */
	u32 dirty_cell;        /* aggregate of dirtied folios of `single` */
	/* when the call in progress first dirtied something, or its begin, when nothing was
	 * submitted in between */
	u64 dirtied_ns;
	/* when the call got the lock of its inode, if it dirtied nothing that has a tracepoint */
	u64 locked_ns;
	/* dirtied in its call in progress, one that writes one file from memory */
	struct fresh fresh;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_SLOTS);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

#define QUICK_SLOTS (1 << 15)
#define LIGHT_QUICK_SLOTS (1 << 13)
#define QUICK_NO_SUM (~0U)     /* the file has no sums */

struct fast_call {
	u64 inode, ino;        /* of the open file */
	/* the inode that holds its pages, when it is read through the page cache; else 0 */
	u64 host;
	u32 tid, stamp;        /* the thread; 0: free */
	u32 gen, open_flags;   /* generation of the inode; f_flags of the open file */
	/* as task_ctx.sum.epoch: names and paths are looked up again when it changes */
	u32 epoch;
	u32 cell, sum;         /* aggregate, and slot of the sums by file */
	/* of a write: the block size, in units of which the file is dirtied */
	u32 block;
	u32 proc, file, dev, flags;
	u16 nr;
	u8 shape, kind, write, type;
	u16 learned;           /* incremented when the entry changes */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUICK_SLOTS);
	__type(key, u32);
	__type(value, struct fast_call);
} quicks SEC(".maps");

static __always_inline struct thread *thread_of(u32 tid)
{
	u32 slot = cfg.light ? INDEX(tid, LIGHT_THREAD_SLOTS) : INDEX(tid, THREAD_SLOTS);

	return bpf_map_lookup_elem(&threads, &slot);
}

/* The bits of a thread's number that its entry does not tell. */
static __always_inline u64 thread_above(u32 tid)
{
	return tid / (cfg.light ? LIGHT_THREAD_SLOTS : THREAD_SLOTS);
}

static __always_inline struct fast_call *fast_call_of(u32 tid, u32 fd, u8 write)
{
	u32 of = tid * 40503 + (fd << 1 | write),
		slot = cfg.light ? INDEX(of, LIGHT_QUICK_SLOTS) : INDEX(of, QUICK_SLOTS);

	return bpf_map_lookup_elem(&quicks, &slot);
}

/* When the thread's call in progress began; 0: it is not timed. */
static __always_inline u64 clock_begin(const struct thread *th)
{
	return th->clock & ((1ULL << CLOCK_SHIFT) - 1);
}

/* Notes that the call in progress dirties something. A call waits for the lock of its inode, and of
 * each folio, and dirties in the order in which it gets the locks: that it began before a
 * submission does not mean that it dirtied before that. Returns true when the call had dirtied
 * something before, and file data were submitted since then. */
static __always_inline bool dirtied_note(struct thread *th)
{
	struct iot_state *s = cfg.events ? run_state() : NULL;
	u64 begin, carried;

	if (!s)
		return false;
	begin = clock_begin(th);
	carried = *(volatile u64 *)&s->carried_ns;
	if (th->dirtied_ns && th->dirtied_ns >= begin)
		return carried >= th->dirtied_ns;
	th->dirtied_ns = carried >= begin ? bpf_ktime_get_ns() : begin;
	return false;
}

/* The call that began at *begin_ns is over: the time until it dirtied something. *begin_ns is 0
 * when the call was not timed, and is set to that time then. */
static __always_inline u64 dirtied_when(struct thread *th, u64 *begin_ns)
{
	u64 at = th->dirtied_ns && th->dirtied_ns >= *begin_ns ? th->dirtied_ns : th->locked_ns;

	th->dirtied_ns = th->locked_ns = 0;
	if (!*begin_ns)
		*begin_ns = at;
	return at > *begin_ns ? at - *begin_ns : 0;
}

/* Takes the entry of a thread. NULL: another thread has it, whose call in progress dirtied
 * something. */
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

/* As proc_current(), with the result cached in the thread's entry. */
static __always_inline u32 proc_cached(void)
{
	struct task_struct *t = current_task();
	struct thread *th = thread_of(TASK(t, pid));
	u32 proc;

	/* twins: core__exec can be skipped */
	if (!cfg.twins && th && th->task == (u64)t && th->proc)
		return th->proc;
	proc = proc_current(ctx_make());
	th = proc ? thread_take(t) : NULL;
	if (th)
		th->proc = proc;
	return proc;
}

/* Invalidates the entry of a thread that ended, executes another program, or has another name. */
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

/* ioac.rchar of the thread when its last reading call returned. pid: its number then. */
static __always_inline u64 thread_rchar(struct task_struct *t, u32 pid, u64 rchar)
{
	struct thread *th = thread_of(pid);

	return th && th->task == (u64)t && th->rchar > rchar ? th->rchar : rchar;
}

#endif
