/* SPDX-License-Identifier: GPL-3.0-only */
/* filesums.h - sums by file of the kernel side, divided into seconds, with the components of their
 * threads.
 */
#ifndef IOT_FILESUMS_H
#define IOT_FILESUMS_H

#include "detect.h"
#include "probe.h"
#include "stream.h"

struct filesums;

/* Receives the additions. Returns 0 or a negative errno, which ends the reading. */
typedef int filesums_give(void *arg, const struct rec_file_io *);

/* The detection remains the caller's. Returns 0 or a negative errno after a message. */
int filesums_new(struct filesums **out, struct detect *);
void filesums_free(struct filesums *);

/* Reads all sums and takes back unused slots. Call it every second. */
int filesums_take(struct filesums *, struct probes *);
/* Gives the additions. Look at the paths that were sent before, between the two calls: they decide
 * what a thread did. */
int filesums_tell(struct filesums *, filesums_give *give, void *arg);

/* Notes that more is known of a process, whose thread names may tell something now. */
void filesums_changed(struct filesums *, struct probes *, u32 proc);

/* Notes that the path of a file was given. */
void filesums_named(struct filesums *, u32 file);
bool filesums_is_named(const struct filesums *, u32 file);

/* Calls back for files that have sums, no path, and are open now; the path is that of a descriptor.
 * For the end of a run. */
void filesums_unnamed(struct filesums *, struct probes *,
	void (*found)(void *arg, const struct iot_path *, const char *path), void *arg);

#endif
