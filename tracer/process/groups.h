/* SPDX-License-Identifier: GPL-3.0-only */
/* groups.h - control groups that are asked for: by path, by the container that runs in them, by the unit of systemd. */
#ifndef IOT_GROUPS_H
#define IOT_GROUPS_H

#include <limits.h>
#include <stddef.h>
#include "wire.h"

#define MAX_GROUPS 64           /* folders: a container has one of each version, and may have more */

struct wanted_group {
	u64 id;                 /* with IOT_GROUP_1 where it is of version 1 */
	char path[PATH_MAX];    /* inside its hierarchy, as the kernel says it */
};

struct groups {
	struct wanted_group *list;     /* ours */
	size_t n;
};

enum group_kind { GROUP_PATH, GROUP_CONTAINER, GROUP_UNIT };

/* Adds all control groups that `name` says: a path below the root of version 2, or of the memory controller of version 1; the name or the
 * first digits of the id of a container; a unit, of which ".service" may be left out. Returns 0, or the status of a usage error, which
 * was printed with what there is instead. */
int groups_add(struct groups *, enum group_kind, const char *name);

/* The path of a process's control group by the ids of those that it is in (version 2, memory controller; 0 none): that of version 2, or that of
 * version 1 where only this says anything. It lies in `text`, which has room for `size` bytes. NULL: not known, or none of them exists any more. */
const char *groups_path(uint64_t id, uint64_t memory_id, char *text, size_t size);

#endif
