/* SPDX-License-Identifier: GPL-3.0-only */
/* reduced.bpf.h - replacements for what kernels before 5.17 lack.
 *
 * The legacy objects reduced_*.bpf.c are the same programs compiled with IOT_REDUCED, for kernels
 * from 5.10 on: calls and requests are counted, and owners are not looked up. What such a kernel
 * lacks is named here and in task.bpf.h only. REDUCED is a constant, so that dead branches are not
 * compiled.
 */
#ifndef IOT_REDUCED_BPF_H
#define IOT_REDUCED_BPF_H

#ifdef IOT_REDUCED

#define REDUCED 1

/* Global functions take pointers since 5.12 (e5069b9c23b3). Here all are static, and verified
 * wherever they are called, except those that take numbers and find the thread's context
 * themselves. */
#pragma clang diagnostic ignored "-Wduplicate-decl-specifier"
#undef __noinline
#define __noinline static __attribute__((noinline))
#ifndef __by_numbers
#define __by_numbers __attribute__((noinline))
#endif

/* A field of a task: until 5.11 (3ca1032ab7ab) the current task is an untyped address. */
#define TASK(task, field) BPF_CORE_READ(task, field)
#define CURRENT_TASK ((struct task_struct *)bpf_get_current_task())

/* A call of a function that the kernel does not know is refused, even where it is never reached. */
#define HAS_CAST 0

/* bpf_loop() exists since 5.17 (e6f2dd0f8067). Without it the verifier walks through each round of
 * a loop, and gives up after a million instructions. */
#define LOOP_ROUNDS 64
#define LOOP(most, n, call) ({ \
	for (u32 __round = 0; __round < (most) && __round < (n); __round++) \
		if (call) \
			break; })
#define bpf_loop(n, body, context, flags) LOOP(LOOP_ROUNDS, n, body(__round, context))

/* Atomic operations that return the old value exist since 5.12 (5ca419f2864a). Here a table decides
 * who gets a number: of all that insert it one succeeds. Old numbers are evicted, and no longer
 * needed. */
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
/* for kernels before 6.2, in an object of its own: the verifier spends time on dead branches at
 * each place */
#ifdef IOT_NO_CAST
#define HAS_CAST 0
#else
#define HAS_CAST 1
#endif

/* Takes number `n` of a counter; false when it was taken before. id: identifies the counter, for
 * older kernels. */
static __always_inline bool number_take(u32 *counter, u32 n, u32 id)
{
	return __sync_val_compare_and_swap(counter, n, n + 1) == n;
}

/* The next number of a counter, which no other caller gets. */
static __always_inline u32 number_next(u32 *counter, u32 id)
{
	return __sync_fetch_and_add(counter, 1);
}

#endif

/* The next number of a field of struct iot_state. */
#define NEXT_NUMBER(state, field) number_next(&(state)->field, offsetof(struct iot_state, field))

#endif
