/* SPDX-License-Identifier: GPL-3.0-only */
/* filesums.h - the kernel side's sums by file, cut into seconds, with the components of their threads. */
#ifndef IOT_FILESUMS_H
#define IOT_FILESUMS_H

#include "detect.h"
#include "probe.h"
#include "stream.h"

struct filesums;

/* What gets the changes; returns 0 or a negative errno, which ends the reading. */
typedef int filesums_give(void *arg, const struct rec_file_io *);

/* The detection stays the caller's. Returns 0 or a negative errno after a message. */
int filesums_new(struct filesums **out, struct detect *);
void filesums_free(struct filesums *);

/* Reads all sums and takes back the slots that nobody uses. To be called every second. */
int filesums_take(struct filesums *, struct probes *);
/* Gives what was added. Between the two, the paths that were sent before must be looked at: they say what a thread did. */
int filesums_tell(struct filesums *, filesums_give *give, void *arg);

/* More is known of a process: its threads may tell something now. */
void filesums_changed(struct filesums *, struct probes *, u32 proc);

/* The path of a file was given. */
void filesums_named(struct filesums *, u32 file);
bool filesums_is_named(const struct filesums *, u32 file);

/* Calls back for files that have sums and no path, but are open now: the path is that of a descriptor. For the end of a run. */
void filesums_unnamed(struct filesums *, struct probes *, void (*found)(void *arg, const struct iot_path *, const char *path), void *arg);

#endif
