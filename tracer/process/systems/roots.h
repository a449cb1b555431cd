/* SPDX-License-Identifier: GPL-3.0-only */
/* roots.h - data roots among directories, as the user of a path sees them. sys_cache_new() makes
 * the cache.
 */
#ifndef IOT_SYSTEMS_ROOTS_H
#define IOT_SYSTEMS_ROOTS_H

#include <sys/types.h>
#include "rules.h"

#define PATH_BYTES 4096

/* A directory: root of a system, of an engine, of both or of none. */
struct dir {
	char *path;
	const struct sys_entry *system, *engine;
	dev_t dev;
	ino_t ino;
	uint64_t until_ms;
};

/* Beginning of the paths of a file's user. */
struct way {
	/* this process's root; the root of another process; cannot be examined */
	enum { WAY_HOME, WAY_AWAY, WAY_NONE } to;
	bool same_mounts;                           /* AWAY: only its root differs (chroot) */
	bool last;                                  /* as in struct sys_view */
	/* AWAY: the process to look through; 0: none is left, and only remembered answers count */
	uint32_t pid;
	uint64_t space;                             /* AWAY: number of this namespace and root */
	char jail[PATH_BYTES]; /* with same_mounts: its root as seen from here */
};

/* Finds the beginning of the paths of a file's user, and refreshes the mounts there. */
void way_find(struct sys_cache *, struct sys_view, struct way *);

/* True when a process that was looked through has ended since, so that ways must be found again. */
bool way_is_over(struct sys_cache *);

/* Looks up a directory, `inside` as its user names it. Never NULL; lives until the next call. */
const struct dir *roots_lookup(const struct systems *, const struct way *, const char *inside);

/* Sets for each of n paths, NUL-terminated, `len` bytes together, whether it is a regular file.
 * False for paths that must not be touched, which the first one decides for all. */
void roots_are_files(const struct systems *, const struct way *, const char *paths, size_t len,
	bool *file, size_t n);

/* Remembers a directory for a while. */
void roots_remember(struct sys_cache *, const char *path, size_t len);
bool roots_is_remembered(const struct sys_cache *, const char *path, size_t len);

#endif
