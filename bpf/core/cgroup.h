/* SPDX-License-Identifier: GPL-3.0-only */
/* cgroup.h - kernel types of control groups, and of what the threads of a process share; as
 * kernel.h.
 */
#ifndef IOT_CGROUP_H
#define IOT_CGROUP_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct {
	atomic_t live;
	int nr_threads;
	struct list_head thread_head; /* list of its threads, by task_struct.thread_node */
};

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	unsigned int subsys_mask;
	int hierarchy_id;      /* 0: version 2 */
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
	struct cgroup *dfl_cgrp;               /* of version 2 */
};

enum cgroup_subsys_id___iot {
	memory_cgrp_id___iot,
};

#pragma clang attribute pop

#endif
