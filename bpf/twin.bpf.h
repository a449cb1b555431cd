/* SPDX-License-Identifier: GPL-3.0-only */
/* twin.bpf.h - copies of programs, for kernels that skip the first.
 *
 * Since 7.0 a thread can be preempted inside a tp_btf program, and the kernel skips the program for every other thread on that processor
 * until the first goes on. There the tracer loads each object several times (cfg.copy). The copies of a program follow each other at
 * their tracepoint, and each that is not skipped says that it was called. The first of them does the work: one that was called before by a
 * later copy, or by itself, is called for something new. All skipped is a loss. With two copies one byte of a device in 200 to 600 had no owner
 * where six processes took turns on an emulated processor: who stands in is preempted, too. So there are three, and more of the programs that
 * say whose bytes are.
 */
#ifndef IOT_TWIN_BPF_H
#define IOT_TWIN_BPF_H

#include "arch.h"

#if defined(IOT_REDUCED)

#define PROBE BPF_PROG

#else

#define MARKED_PROGRAMS 64     /* of an object */

/* By object (cfg.object) and program: the number of the copy that was called last, and 1; 0: none was yet. */
struct marks {
	u8 last[IOT_OBJECTS][MARKED_PROGRAMS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct marks);
} marks SEC(".maps");

/* An interrupt may come between the copies: it has marks of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* soft and hard ones */
	__type(key, u32);
	__type(value, struct marks);
} interrupt_marks SEC(".maps");

/* How often a copy did the work of the first, by object. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_OBJECTS);
	__type(key, u32);
	__type(value, u64);
} stood_in SEC(".maps");

/* include/linux/preempt.h, as it has been since 2.6 */
#define SERVING_SOFTIRQ 0x100
#define HARDIRQ 0xff0000 /* and NMI */

static __always_inline struct marks *marks_here(void)
{
	u32 count = preempt_count(), level;

	if (!(count & (HARDIRQ | SERVING_SOFTIRQ)))
		return bpf_task_storage_get(&marks, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
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

/* Is this the copy that does the work? program: its number in this object. Without memory for a mark it is the second. */
static __always_inline bool copy_works(u32 program)
{
	struct marks *m;
	u8 *last, before;

	if (!cfg.copies)
		return true;
	m = marks_here();
	if (!m) {
		if (!cfg.copy)
			stands_in(-1); /* though nobody skipped this */
		else if (cfg.copy == 1)
			stands_in(1);
		return cfg.copy == 1;
	}
	last = &m->last[cfg.object & (IOT_OBJECTS - 1)][program];
	before = *last;
	*last = cfg.copy + 1;
	if (before && before <= cfg.copy)
		return false;
	if (cfg.copy)
		stands_in(1);
	return true;
}

/* As BPF_PROG, for a program that has copies: all of an object, but what the tracer calls and what is called in another way. */
#define PROBE(name, args...)								\
name(unsigned long long *ctx);								\
static __always_inline int ____##name(unsigned long long *ctx, ##args);			\
int name(unsigned long long *ctx)							\
{											\
	enum { NUMBER = __COUNTER__ };							\
	_Static_assert(NUMBER < MARKED_PROGRAMS, "struct marks has no place for it");	\
	_Pragma("GCC diagnostic push")							\
	_Pragma("GCC diagnostic ignored \"-Wint-conversion\"")				\
	return copy_works(NUMBER) ? ____##name(___bpf_ctx_cast(args)) : 0;		\
	_Pragma("GCC diagnostic pop")							\
}											\
static __always_inline int ____##name(unsigned long long *ctx, ##args)

#endif

#endif
