/* SPDX-License-Identifier: GPL-3.0-only */
/* reduced.bpf.h - what kernels before 5.17 do not have, and what serves instead there.
 *
 * The objects reduced_*.bpf.c are the same programs compiled with IOT_REDUCED, for kernels from 5.10 on: calls and requests are
 * counted, and nothing is asked about owners. What such a kernel lacks is named here and in task.bpf.h only; REDUCED is a
 * constant, so that what it leaves out is not compiled.
 */
#ifndef IOT_REDUCED_BPF_H
#define IOT_REDUCED_BPF_H

#ifdef IOT_REDUCED

#define REDUCED 1

/* A global function takes pointers since 5.12 (e5069b9c23b3): here all are looked at wherever they are called, but for those that
 * take numbers and find the thread's context themselves. */
#pragma clang diagnostic ignored "-Wduplicate-decl-specifier"
#undef __noinline
#define __noinline static __attribute__((noinline))
#ifndef __by_numbers
#define __by_numbers __attribute__((noinline))
#endif

/* A field of a task: the current one is an address like any other until 5.11 (3ca1032ab7ab). */
#define TASK(task, field) BPF_CORE_READ(task, field)
#define CURRENT_TASK ((struct task_struct *)bpf_get_current_task())

/* The call of a function that the kernel does not know is refused where it is never reached, too. */
#define HAS_CAST 0

/* bpf_loop() came in 5.17 (e6f2dd0f8067): the verifier walks through each round of a loop, and gives up after a million steps. */
#define LOOP_ROUNDS 64
#define LOOP(most, n, call) ({ \
	for (u32 __round = 0; __round < (most) && __round < (n); __round++) \
		if (call) \
			break; })
#define bpf_loop(n, body, context, flags) LOOP(LOOP_ROUNDS, n, body(__round, context))

/* Atomic operations that answer came in 5.12 (5ca419f2864a). Whose a number is, is said by a table instead: of all who would put it
 * there one succeeds. Old numbers are thrown out, since nobody wants them any more. */
struct number_key {
	u32 counter, number;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct number_key);
	__type(value, u32);
} numbers SEC(".maps");

static __always_inline bool number_take(u32 *counter, u32 n, u32 id)
{
	struct number_key k = { id, n };
	u32 one = 1;

	if (bpf_map_update_elem(&numbers, &k, &one, BPF_NOEXIST))
		return false;
	__sync_fetch_and_add(counter, 1);
	return true;
}

static __always_inline u32 number_next(u32 *counter, u32 id)
{
	u32 n = *(volatile u32 *)counter;

	for (int i = 0; i < LOOP_ROUNDS && !number_take(counter, n, id); i++)
		n++;
	return n;
}

#else

#define REDUCED 0
#define __by_numbers __noinline
#define LOOP_ROUNDS 0
#define TASK(task, field) ((task)->field)
#define CURRENT_TASK bpf_get_current_task_btf()
#ifdef IOT_NO_CAST             /* for kernels before 6.2: an object of its own, since what is dead takes the verifier time at each place */
#define HAS_CAST 0
#else
#define HAS_CAST 1
#endif

/* Takes number `n` of a counter: false when somebody did before. id: tells it from other counters, for older kernels. */
static __always_inline bool number_take(u32 *counter, u32 n, u32 id)
{
	return __sync_val_compare_and_swap(counter, n, n + 1) == n;
}

/* The next number of a counter, which nobody else gets. */
static __always_inline u32 number_next(u32 *counter, u32 id)
{
	return __sync_fetch_and_add(counter, 1);
}

#endif

/* The next number of a field of struct iot_state. */
#define NEXT_NUMBER(state, field) number_next(&(state)->field, offsetof(struct iot_state, field))

#endif
