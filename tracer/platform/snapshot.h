/* SPDX-License-Identifier: GPL-3.0-only */
/* snapshot.h - names, sizes and times in a folder, before the run (--snapshot-fs) and at intervals
 * (--snapshot-every). */
#ifndef IOT_SNAPSHOT_H
#define IOT_SNAPSHOT_H

#include "stream.h"

#define SNAPSHOT_DEPTH 3       /* levels below the folder, where none are given */
#define SNAPSHOT_DEPTH_MAX 32
#define SNAPSHOT_ENTRIES 65536 /* of one folder; beyond, the snapshot is cut */

#define SNAPSHOT_LIMIT_NS (10 * NSEC) /* longest time of one walk */

struct snapshot;

/* A record fs_entry or fs_snapshot, whose strings live until the function returns. Returns 0 or an
 * error, which ends snapshot_give(). */
typedef int snapshot_record(void *arg, enum rec_type, const void *rec);

/* Walks a folder in a process of its own, since a file system may not answer. Links are not
 * followed, other file systems not entered. walk: number of the walk. Returns 0 or a negative errno
 * after a message. */
int snapshot_new(struct snapshot **out, const char *path, u32 depth, u64 walk);

/* A walk during the run, by a helper. */
struct snapshot_later {
	const char *path;
	u32 depth;
	u64 walk, ts_ns;        /* ts_ns: when it began, since the start of the run */
	int from;               /* descriptor that has its entries; -1: it did not end */
	int err;                /* positive errno: the folder could not be opened */
};
/* Takes what it found. Returns as snapshot_new(). */
int snapshot_read(struct snapshot **out, const struct snapshot_later *);
void snapshot_free(struct snapshot *);

/* The folder; once snapshot_give() has returned 1, its absolute path, if it answered. */
const char *snapshot_path(const struct snapshot *, u32 *depth);
/* False when the walk did not end. To be asked then, too. */
bool snapshot_answers(const struct snapshot *);

/* Calls back with at most `most` records fs_entry, and at the end with one fs_snapshot. Returns 1
 * after that, 0 when there are more, or the callback's error. */
int snapshot_give(struct snapshot *, u64 most, snapshot_record *give, void *arg);

#endif
