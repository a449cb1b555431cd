/* SPDX-License-Identifier: GPL-3.0-only */
/* roots.h - the data roots that folders are, as whoever uses a path sees it. Made by sys_cache_new(). */
#ifndef IOT_SYSTEMS_ROOTS_H
#define IOT_SYSTEMS_ROOTS_H

#include <sys/types.h>
#include "rules.h"

#define PATH_BYTES 4096

/* What one folder is: a root of a system, of an engine, of both or of none. */
struct dir {
	char *path;
	const struct sys_entry *system, *engine;
	dev_t dev;
	ino_t ino;
	uint64_t until_ms;
};

/* Where the paths of a file's user begin. */
struct way {
	enum { WAY_HOME, WAY_AWAY, WAY_NONE } to;   /* our root; the root of a process; it cannot be looked at */
	bool same_mounts;                           /* AWAY: only its root is another (chroot) */
	uint32_t pid;                               /* AWAY: who is looked through; 0: nobody is left, and only what is remembered counts */
	uint64_t space;                             /* AWAY: tells this namespace and root from others */
	char jail[PATH_BYTES];                      /* of same_mounts: its root as we name it */
};

/* Where the paths of a file's user begin; refreshes what is known of the mounts there. */
void way_find(struct sys_cache *, struct sys_view, struct way *);

/* Did somebody end since, through whom was looked? Then ways are to be found again. */
bool way_is_over(struct sys_cache *);

/* What a folder is, `inside` as its user names it; never NULL, lives until the next call. */
const struct dir *roots_lookup(const struct systems *, const struct way *, const char *inside);

/* For each of n paths, each ended by a NUL, together `len` bytes: is it a regular file? False for what must not be touched, which the
 * first of them says for all. */
void roots_are_files(const struct systems *, const struct way *, const char *paths, size_t len, bool *file, size_t n);

/* Remembers a folder for a while, among others that are remembered. */
void roots_remember(struct sys_cache *, const char *path, size_t len);
bool roots_is_remembered(const struct sys_cache *, const char *path, size_t len);

#endif
