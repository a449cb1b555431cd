/* SPDX-License-Identifier: GPL-3.0-only */
/* groups.h - wanted control groups: by path, by the container that runs in them, by systemd unit.
 */
#ifndef IOT_GROUPS_H
#define IOT_GROUPS_H

#include <limits.h>
#include <stddef.h>
#include "wire.h"

#define MAX_GROUPS 64 /* directories: a container has one in each version, and may have more */

struct wanted_group {
	u64 id;                 /* with IOT_GROUP_1 in version 1 */
	char path[PATH_MAX];    /* inside its hierarchy, as the kernel reports it */
};

struct groups {
	struct wanted_group *list;     /* owned by this struct */
	size_t n;
};

enum group_kind { GROUP_PATH, GROUP_CONTAINER, GROUP_UNIT };

/* Adds all control groups that `name` means: a path below the root of version 2, or of the memory
 * controller of version 1; the name, or leading digits of the id, of a container; a unit, with or
 * without ".service". Returns 0, or the status of a usage error after a message that lists what
 * exists instead. */
int groups_add(struct groups *, enum group_kind, const char *name);

/* Path of a process's control group, from the ids of its groups (version 2, memory controller; 0:
 * none): that of version 2, or that of version 1 where only this is below the root. It is written
 * to `text`, of `size` bytes. NULL: not known, or both groups are gone. */
const char *groups_path(uint64_t id, uint64_t memory_id, char *text, size_t size);

#endif
