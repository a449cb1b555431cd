/* SPDX-License-Identifier: GPL-3.0-only */
/* carrier.bpf.h - the carrier of a bio: the process itself, or the kernel thread that submits it.
 * Used by block.bpf.c.
 *
 * The owner is found elsewhere. A kernel thread is identified by its name, a kworker by the name of
 * the work queue that its current work is on (struct worker of kernel/workqueue.c), which is read
 * for each bio: a kworker serves many queues.
 */
#ifndef IOT_CARRIER_BPF_H
#define IOT_CARRIER_BPF_H

#include "task.bpf.h"
#include "workqueue.h"

/* The first eight bytes of a name as a number, the first byte lowest, and a mask of the bytes that
 * count. */
#define NAME_BYTE(name, i) \
	((u64)(u8)(sizeof(name) > (i) + 1 ? (name)[(i) % sizeof(name)] : 0) << 8 * (i))
#define NAME_BITS(name) (NAME_BYTE(name, 0) | NAME_BYTE(name, 1) | NAME_BYTE(name, 2) | \
			 NAME_BYTE(name, 3) | NAME_BYTE(name, 4) | NAME_BYTE(name, 5) | \
			 NAME_BYTE(name, 6) | NAME_BYTE(name, 7))
#define NAME_MASK(name) (sizeof(name) > 8 ? ~0ULL : (1ULL << 8 * (sizeof(name) - 1) % 64) - 1)

static __always_inline u32 carrier_named(u64 name, u32 other)
{
	u32 carrier = other;

	/* without a jump: else the verifier follows both branches of each */
#define CARRIED(sym, prefix) \
	carrier = (name & NAME_MASK(prefix)) == NAME_BITS(prefix) ? CARRIER_##sym : carrier;
#include "kinds.def"
	return carrier;
}

/* The name of the work queue of a kworker's current work; 0: none, or this kernel lacks the
 * fields. */
static __always_inline u64 queue_name(struct task_struct *t)
{
	u64 thread, worker, pool;

	if (!HAS_WORKER_PRIVATE ||
	    !HAS_CURRENT_PWQ)
		return 0;
	thread = POINTER_AT(t, struct task_struct, worker_private);
	worker = thread ? POINTER_AT(thread, struct kthread, data) : 0;
	pool = worker ? POINTER_AT(worker, struct worker, current_pwq) : 0;
	pool = pool ? POINTER_AT(pool, struct pool_workqueue, wq) : 0;
	return pool ? POINTER_AT(pool, struct workqueue_struct, name) : 0;
}

/* The carrier that the current thread is. Global: verified once. */
__noinline u32 carrier_now(void)
{
	struct task_struct *t = current_task();
	u32 flags = TASK(t, flags);

	if (flags & PF_IO_WORKER)
		return CARRIER_IO_WORKER;
	if (!(flags & PF_KTHREAD))
		return flags & PF_MEMALLOC ? CARRIER_RECLAIM : CARRIER_SELF;
	if (flags & PF_WQ_WORKER)
		return carrier_named(queue_name(t), CARRIER_KWORKER);
	return carrier_named(POINTER_AT(t, struct task_struct, comm), CARRIER_KTHREAD);
}

#endif
