/* SPDX-License-Identifier: GPL-3.0-only */
/* mounts.h - the mounts of a process, from mountinfo (proc(5)). */
#ifndef IOT_MOUNTS_H
#define IOT_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct mount {
	uint32_t dev;           /* major << 20 | minor */
	const char *root;       /* the folder of the file system that the mount shows */
	const char *at;         /* the mount point, unescaped */
	const char *flags;      /* options of this mount, such as "rw,noatime" */
	const char *fs;         /* the type */
	const char *source;     /* the node of a block device, or any word */
	const char *options;    /* of the file system, not of this mount */
};

#define MOUNTS_OURS "/proc/self/mountinfo"

/* Calls back for each mount of an open mountinfo until the callback returns true. Returns that. The
 * strings live inside the callback. Returns false silently when it cannot be read. */
bool mounts_find(int fd, bool (*is_it)(void *arg, const struct mount *), void *arg);

/* Does so for our own mounts. */
bool mounts_find_ours(bool (*is_it)(void *arg, const struct mount *), void *arg);

/* Is it a type whose files another machine or a process serves, which may not answer? */
bool mounts_is_remote(const char *fs);

#endif
