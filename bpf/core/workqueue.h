/* SPDX-License-Identifier: GPL-3.0-only */
/* workqueue.h - the worker of a work queue and its current work. The types are of kernel/kthread.c
 * and kernel/workqueue.c, not of modules.
 */
#ifndef IOT_WORKQUEUE_H
#define IOT_WORKQUEUE_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kthread {
	void *data;            /* for a worker of a work queue: its struct worker */
};

struct workqueue_struct {
	char name[24];
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct work_struct *current_work;
	void *current_func;
	struct pool_workqueue *current_pwq; /* the queue of its current work */
};

#pragma clang attribute pop

#endif
