/* SPDX-License-Identifier: GPL-3.0-only */
/* snapshot.h - names, sizes and times in a folder before the run (--snapshot-fs). */
#ifndef IOT_SNAPSHOT_H
#define IOT_SNAPSHOT_H

#include "stream.h"

#define SNAPSHOT_DEPTH 3       /* levels below the folder, where none are given */
#define SNAPSHOT_DEPTH_MAX 32
#define SNAPSHOT_ENTRIES 65536 /* of one folder; beyond, the snapshot is cut */

struct snapshot;

/* Walks a folder in a process of its own, since a file system may not answer: for 10 seconds at
 * most. Links are not followed, other file systems not entered. Returns 0 or a negative errno after
 * a message. */
int snapshot_new(struct snapshot **out, const char *path, u32 depth);
void snapshot_free(struct snapshot *);

/* Calls back with the records fs_entry, then with one fs_snapshot; both return 0 or an error, which
 * ends it. The strings live until the callback returns. */
int snapshot_give(const struct snapshot *, int (*give)(void *arg, enum rec_type, const void *rec),
		  void *arg);

#endif
