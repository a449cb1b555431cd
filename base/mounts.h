/* SPDX-License-Identifier: GPL-3.0-only */
/* mounts.h - what is mounted where, from mountinfo (proc(5)). */
#ifndef IOT_MOUNTS_H
#define IOT_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct mount {
	uint32_t dev;           /* major << 20 | minor */
	const char *root;       /* which folder of the file system it shows */
	const char *at;         /* whatever its name holds */
	const char *fs;         /* the type */
	const char *source;     /* what is mounted: the node of a block device, or any word */
	const char *options;    /* of the file system, not of this mount */
};

#define MOUNTS_OURS "/proc/self/mountinfo"

/* Gives the mounts of an open mountinfo until one is what is looked for: returns true then. Its strings live inside the callback.
 * Silently false when it cannot be read. */
bool mounts_find(int fd, bool (*is_it)(void *arg, const struct mount *), void *arg);

/* The same of our own mounts. */
bool mounts_find_ours(bool (*is_it)(void *arg, const struct mount *), void *arg);

/* Is it a type of which somebody else serves the files, who may not answer: another machine, or a process? */
bool mounts_is_remote(const char *fs);

#endif
