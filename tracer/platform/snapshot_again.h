/* SPDX-License-Identifier: GPL-3.0-only */
/* snapshot_again.h - the folders of --snapshot-fs once more, at intervals and at the end of the run
 * (--snapshot-every). A helper walks one after the other, so that a file system that does not
 * answer delays nobody. */
#ifndef IOT_SNAPSHOT_AGAIN_H
#define IOT_SNAPSHOT_AGAIN_H

#include "snapshot.h"

struct again;

/* Makes the memory in which the helper leaves what it finds, and registers its answer. Before
 * helpers_start(). Returns a descriptor for helpers_opts, or a negative errno after a message. */
int again_serve(void);

int again_new(struct again **out, u64 every_ns);
/* A folder, by its absolute path. Both return 0 or a negative errno after a message. */
int again_add(struct again *, const char *path, u32 depth, bool answers);
void again_free(struct again *);

/* To be called every second. Begins the walks that are due, and gives a part of what was found: an
 * output that is busy with a large folder reads no events meanwhile. now_ns: since the start of the
 * run. Returns 0 or the callback's error. */
int again_second(struct again *, u64 now_ns, snapshot_record *give, void *arg);
/* Ends what was begun, and walks all folders once more: waits for each, for at most
 * SNAPSHOT_LIMIT_NS. Returns as again_second(). */
int again_end(struct again *, u64 now_ns, snapshot_record *give, void *arg);

#endif
