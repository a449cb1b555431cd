/* SPDX-License-Identifier: GPL-3.0-only */
/* program_copies.bpf.h - copies of programs, for kernels that skip the first.
 *
 * Since 7.0 a thread can be preempted inside a tp_btf program, and the kernel skips the program for
 * every other thread on that processor until the first one continues. There the tracer attaches
 * copies of it. The copies of a program run one after the other at their tracepoint, and each that
 * is not skipped notes that it was called. The first of them does the work: a copy that finds
 * itself, or a later copy, noted last is called for a new event. An event that all copies were
 * skipped for is a loss. With two copies one byte of a device in 200 to 600 had no owner where six
 * processes took turns on an emulated processor, since the copy is preempted, too. So there are
 * three, and more of the programs that determine owners.
 *
 * A copy only calls the first program as its tail, which the kernel does not skip: the verifier
 * checks the work once, and the first program may be in progress several times on one processor.
 * Since 6.13 the kernel gives a program without tail calls one stack for each processor. The first
 * program has a tail call that goes nowhere (NOBODY), and so runs on the stack of the thread.
 */
#ifndef IOT_PROGRAM_COPIES_BPF_H
#define IOT_PROGRAM_COPIES_BPF_H

#include "arch.h"

#if defined(IOT_REDUCED)

#define PROBE BPF_PROG

static __always_inline u32 copy_working(void)
{
	return 0;
}

#else

#define MARKED_PROGRAMS 64     /* programs of an object */

/* last: by object (cfg.object) and program, the number of the copy that was called last, plus 1; 0:
 * none yet. working: the copy for which the program runs. handed: 1, it was called as a tail. */
struct marks {
	u8 last[IOT_OBJECTS][MARKED_PROGRAMS];
	u8 working, handed;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct marks);
} marks SEC(".maps");

/* An interrupt may come between two copies: interrupts have marks of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* softirq and hardirq */
	__type(key, u32);
	__type(value, struct marks);
} interrupt_marks SEC(".maps");

/* The number of times that a copy did the work of the first program, by object. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_OBJECTS);
	__type(key, u32);
	__type(value, u64);
} stood_in SEC(".maps");

/* Bits of include/linux/preempt.h, unchanged since 2.6. */
#define SERVING_SOFTIRQ 0x100
#define HARDIRQ 0xff0000 /* and NMI */

static __always_inline struct marks *marks_here(void)
{
	u32 count = preempt_count(), level;

	if (!(count & (HARDIRQ | SERVING_SOFTIRQ)))
		return bpf_task_storage_get(&marks, bpf_get_current_task_btf(), 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	level = count & HARDIRQ ? 1 : 0;
	return bpf_map_lookup_elem(&interrupt_marks, &level);
}

static __always_inline void stands_in(s64 n)
{
	u32 object = cfg.object;
	u64 *sum = bpf_map_lookup_elem(&stood_in, &object);

	if (sum)
		sum_add(sum, n);
}

/* True when this copy does the work. program: its number in this object; copy: 0 for the first.
 * Without memory for a mark no copy does, which is a loss: of two copies that do not know of each
 * other, both might. */
static __always_inline bool copy_works(u32 program, u32 copy)
{
	struct marks *m;
	u8 *last, before;

	if (!cfg.copies)
		return true;
	m = marks_here();
	if (!m) {
		if (!copy)
			stands_in(-1); /* counted as skipped, though the kernel did not skip it */
		return false;
	}
	if (!copy && m->handed) {
		m->handed = 0;
		return true;
	}
	last = &m->last[INDEX(cfg.object, IOT_OBJECTS)][program];
	before = *last;
	*last = copy + 1;
	if (before && before <= copy)
		return false;
	m->working = copy;
	if (copy) {
		m->handed = 1;
		stands_in(1);
	}
	return true;
}

/* The tail call failed: the first program was not there. */
static __always_inline void copy_failed(void)
{
	struct marks *m = marks_here();

	if (m)
		m->handed = 0;
	stands_in(-1);
}

/* The copy for which this program runs, less than IOT_COPIES_MOST: another one may have been
 * preempted at the same work, on the same processor. */
static __always_inline u32 copy_working(void)
{
	struct marks *m = cfg.copies ? marks_here() : NULL;

	return m ? m->working : 0;
}

#define NOBODY 1

/* A program that is attached as a copy, at the tracepoint of the first. */
#define COPY(number, name)								\
SEC("tp_btf")										\
int copy##number##_##name(unsigned long long *ctx)					\
{											\
	if (copy_works(NUMBER_##name, number)) {					\
		bpf_tail_call(ctx, &work_##name, 0);					\
		copy_failed();								\
	}										\
	return 0;									\
}

_Static_assert(IOT_COPIES_MOST == 6, "PROBE has one COPY for each but the first");

/* As BPF_PROG, for a program that has copies: all programs of an object except those that the
 * tracer calls, and those that are attached in another way. */
#define PROBE(name, args...)								\
name(unsigned long long *ctx);								\
static __always_inline int ____##name(unsigned long long *ctx, ##args);			\
enum { NUMBER_##name = __COUNTER__ };							\
_Static_assert(NUMBER_##name < MARKED_PROGRAMS, "struct marks has no place for it");	\
struct {										\
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);						\
	__uint(max_entries, 1);								\
	__type(key, u32);								\
	__type(value, u32);								\
} work_##name SEC(".maps");								\
COPY(1, name) COPY(2, name) COPY(3, name) COPY(4, name) COPY(5, name)			\
int name(unsigned long long *ctx)							\
{											\
	if (!copy_works(NUMBER_##name, 0)) {						\
		if (cfg.copies)								\
			bpf_tail_call(ctx, &work_##name, NOBODY);			\
		return 0;								\
	}										\
	_Pragma("GCC diagnostic push")							\
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")				\
	return ____##name(___bpf_ctx_cast(args));					\
	_Pragma("GCC diagnostic pop")							\
}											\
static __always_inline int ____##name(unsigned long long *ctx, ##args)

#endif

#endif
