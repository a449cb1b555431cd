/* SPDX-License-Identifier: GPL-3.0-only */
/* group_io.h - what the kernel charged to control groups between the start and the end of a run: io.stat of version 2. */
#ifndef IOT_GROUP_IO_H
#define IOT_GROUP_IO_H

#include "wire.h"
#include "stream.h"

struct group_io;

/* Reads the counters of all control groups that there are. Returns 0 or a negative errno after a message. */
int group_io_begin(struct group_io **out);

/* A process of the run is in the group of that path, as process.cgroup says it, and of that id (0: not known): the counters of it and of
 * all above it, but the root, are wanted. */
void group_io_about(struct group_io *, const char *path, u64 id);

/* Reads them at the end, the gate closed. Those that become wanted later are read then. */
void group_io_end(struct group_io *);

/* Gives a record for each device and direction of each group that is wanted, or one that says why there are none. Its strings live inside the
 * callback. */
void group_io_give(const struct group_io *, void (*give)(void *arg, const struct rec_truth *), void *arg);

void group_io_free(struct group_io *);

#endif
