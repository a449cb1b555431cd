/* SPDX-License-Identifier: GPL-3.0-only */
/* arch.h - the registers that a thread saved when it entered the kernel. No other file names
 * registers of a processor.
 *
 * To add an architecture: its struct pt_regs and the functions below.
 */
#ifndef IOT_ARCH_H
#define IOT_ARCH_H

#include "task.bpf.h"

#define ENOSYS 38

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_arm64)

struct user_pt_regs {
	u64 regs[31];
	u64 sp;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	u64 orig_x0;
	s32 syscallno;
};

struct thread_info {
	unsigned long flags;
	u64 preempt_count;
};

struct task_struct___arm64 {
	struct thread_info thread_info;
};

#else

struct pt_regs {
	unsigned long di, si, dx, cx, r10, r8, r9, ax, orig_ax, bx, sp;
};

struct thread_info {
	u32 status;
};

struct task_struct___x86 {
	struct thread_info thread_info;
};

#endif

#pragma clang attribute pop

#if defined(__TARGET_ARCH_arm64)

/* larger than any number where the thread is in no call */
static __always_inline u64 regs_nr(const struct pt_regs *r) { return (u32)r->syscallno; }
static __always_inline u64 regs_arg0(const struct pt_regs *r) { return r->orig_x0; }
static __always_inline u64 regs_arg1(const struct pt_regs *r) { return r->user_regs.regs[1]; }
static __always_inline u64 regs_arg2(const struct pt_regs *r) { return r->user_regs.regs[2]; }
static __always_inline u64 regs_arg3(const struct pt_regs *r) { return r->user_regs.regs[3]; }
static __always_inline u64 regs_arg4(const struct pt_regs *r) { return r->user_regs.regs[4]; }
static __always_inline u64 regs_arg5(const struct pt_regs *r) { return r->user_regs.regs[5]; }

/* Of the registers at the entry of a kernel function: argument n, from 0, of its first four, and
 * the stack pointer; at its return: its result. By helper calls: compilers join loads from a
 * context, and the verifier refuses those from an address that was computed. */
static __always_inline u64 function_arg(const struct pt_regs *r, u32 n)
{
	switch (n) {
	case 0:
		return BPF_CORE_READ(r, user_regs.regs[0]);
	case 1:
		return BPF_CORE_READ(r, user_regs.regs[1]);
	case 2:
		return BPF_CORE_READ(r, user_regs.regs[2]);
	}
	return BPF_CORE_READ(r, user_regs.regs[3]);
}

static __always_inline u64 function_stack(const struct pt_regs *r)
{
	return BPF_CORE_READ(r, user_regs.sp);
}

static __always_inline u64 function_result(const struct pt_regs *r)
{
	return BPF_CORE_READ(r, user_regs.regs[0]);
}

/* True when the thread entered the kernel by a system call, not by a fault or an interrupt. */
static __always_inline bool regs_in_call(const struct pt_regs *r)
{
	return r->syscallno >= 0;
}

/* The preemption count of the current thread, with the bits of include/linux/preempt.h. */
static __always_inline u32 preempt_count(void)
{
	return NUMBER_AT(CURRENT_TASK, struct task_struct___arm64, thread_info.preempt_count);
}

#define TIF_32BIT (1UL << 22) /* thread_info.flags: a 32-bit program */

static __always_inline bool task_is_compat(struct task_struct *t)
{
	return TASK((struct task_struct___arm64 *)t, thread_info.flags) & TIF_32BIT;
}

/* 32-bit calls have other numbers. These read and write. */
static __always_inline bool compat_moves(u64 nr)
{
	switch (nr) {
	case 3: case 4: case 145: case 146: case 180: case 181: case 187: case 239:
	case 340: case 361: case 362: case 391: case 392: case 393:
		return true;
	}
	return false;
}

/* These may write the memory of a process. */
#define COMPAT_PTRACE 26
#define COMPAT_VM_WRITEV 377
/* reads a directory, or a symbolic link */
#define READS_NAMES(nr) ((nr) == 61 || (nr) == 78)
static __always_inline u32 compat_arg0(const struct pt_regs *r) { return r->orig_x0; }

/* The number is not known on arm64; see the function for x86 below. */
static __always_inline u64 page_memory(u64 pages) { return 0; }

/* Stores a number, ordered after all stores before it and before all stores after it, as other
 * processors see them. */
static __always_inline void publish(u64 *at, u64 n)
{
	__sync_lock_test_and_set(at, n);
}

#else

static __always_inline void publish(u64 *at, u64 n)
{
	barrier();
	*(volatile u64 *)at = n; /* x86 keeps stores in order */
	barrier();
}

static __always_inline u64 regs_nr(const struct pt_regs *r) { return r->orig_ax; }
static __always_inline u64 regs_arg0(const struct pt_regs *r) { return r->di; }
static __always_inline u64 regs_arg1(const struct pt_regs *r) { return r->si; }
static __always_inline u64 regs_arg2(const struct pt_regs *r) { return r->dx; }
static __always_inline u64 regs_arg3(const struct pt_regs *r) { return r->r10; }
static __always_inline u64 regs_arg4(const struct pt_regs *r) { return r->r8; }
static __always_inline u64 regs_arg5(const struct pt_regs *r) { return r->r9; }

/* As those for arm64 above. */
static __always_inline u64 function_arg(const struct pt_regs *r, u32 n)
{
	switch (n) {
	case 0:
		return BPF_CORE_READ(r, di);
	case 1:
		return BPF_CORE_READ(r, si);
	case 2:
		return BPF_CORE_READ(r, dx);
	}
	return BPF_CORE_READ(r, cx);
}

static __always_inline u64 function_stack(const struct pt_regs *r) { return BPF_CORE_READ(r, sp); }
static __always_inline u64 function_result(const struct pt_regs *r) { return BPF_CORE_READ(r, ax); }

/* A fault saves its error code where a system call saves its number, and 20 (a fault on an
 * instruction) is the number of writev. Only a call that has not returned yet has -ENOSYS as its
 * result. */
static __always_inline bool regs_in_call(const struct pt_regs *r)
{
	return (s32)r->ax == -ENOSYS;
}

#define TS_COMPAT 2 /* thread_info.status: in a 32-bit system call */

static __always_inline bool task_is_compat(struct task_struct *t)
{
	return TASK((struct task_struct___x86 *)t, thread_info.status) & TS_COMPAT;
}

/* The preemption count of the current thread, with the bits of include/linux/preempt.h. It is a
 * per-CPU variable since 6.15. It is not declared as a __ksym: every object would be refused where
 * the kernel hides addresses of variables, and libbpf would read all symbols once more. */
static __always_inline u32 preempt_count(void)
{
	u64 offset = 0;
	u32 count = 0;

	bpf_probe_read_kernel(&offset, sizeof(offset),
			      (void *)(cfg.per_cpu_offset + bpf_get_smp_processor_id() *
				       sizeof(offset)));
	bpf_probe_read_kernel(&count, sizeof(count), (void *)(cfg.preempt_count + offset));
	return count;
}

/* Begin of the array of struct page, and of the memory that it describes, with 4 levels of page
 * tables. With KASLR both are variables, whose addresses not every kernel exports. */
#define PAGES_BEGIN 0xffffea0000000000ULL
#define MEMORY_BEGINS 0xffff888000000000ULL

/* The number to add to the address of a struct page, times the bytes of memory that each of its
 * bytes stands for, to get the address of its contents. 0: not known. The result may be wrong, and
 * callers check it. */
static __always_inline u64 page_memory(u64 times)
{
	u64 pages = PAGES_BEGIN, memory = MEMORY_BEGINS;

	if (cfg.vmemmap_base && cfg.page_offset_base) {
		bpf_probe_read_kernel(&pages, sizeof(pages), (void *)cfg.vmemmap_base);
		bpf_probe_read_kernel(&memory, sizeof(memory), (void *)cfg.page_offset_base);
	}
	return memory - pages * times;
}

/* 32-bit calls have other numbers. These read and write. */
static __always_inline bool compat_moves(u64 nr)
{
	switch (nr) {
	case 3: case 4: case 145: case 146: case 180: case 181: case 187: case 239:
	case 313: case 333: case 334: case 377: case 378: case 379:
		return true;
	}
	return false;
}

/* These may write the memory of a process. */
#define COMPAT_PTRACE 26
#define COMPAT_VM_WRITEV 348
/* reads a directory, or a symbolic link */
#define READS_NAMES(nr) ((nr) == 78 || (nr) == 217 || (nr) == 89 || (nr) == 267)
static __always_inline u32 compat_arg0(const struct pt_regs *r) { return r->bx; }

#endif

static __always_inline void call_of_regs(struct call *c, const struct pt_regs *r)
{
	c->nr = regs_nr(r);
	c->arg[0] = regs_arg0(r);
	c->arg[1] = regs_arg1(r);
	c->arg[2] = regs_arg2(r);
	c->arg[3] = regs_arg3(r);
	c->arg[4] = regs_arg4(r);
	c->arg[5] = regs_arg5(r);
}

/* The saved registers of a task, for callers that have CURRENT_TASK. Those of kernel threads mean
 * nothing. */
static __always_inline const struct pt_regs *regs_of(struct task_struct *t)
{
	return (const struct pt_regs *)bpf_task_pt_regs(t);
}

static __always_inline const struct pt_regs *current_regs(void)
{
	return regs_of(CURRENT_TASK);
}

#endif
