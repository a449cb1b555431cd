/* SPDX-License-Identifier: GPL-3.0-only */
/* group_io.h - I/O that the kernel charged to control groups during a run: io.stat of version 2. */
#ifndef IOT_GROUP_IO_H
#define IOT_GROUP_IO_H

#include "wire.h"
#include "stream.h"

struct group_io;

/* Reads the counters of all existing control groups. Returns 0 or a negative errno after a
 * message. */
int group_io_begin(struct group_io **out);

/* Reports that a process of the run is in the group of that path (as in process.cgroup) and id (0:
 * not known). The counters of this group and of all its ancestors but the root are wanted. */
void group_io_about(struct group_io *, const char *path, u64 id);

/* Reads the counters at the end, the gate closed. Groups that become wanted later are read then. */
void group_io_end(struct group_io *);

/* Gives a record for each device and direction of each wanted group, or one that says why there are
 * none. Its strings live until the callback returns. */
void group_io_give(const struct group_io *, void (*give)(void *arg, const struct rec_truth *),
	void *arg);

void group_io_free(struct group_io *);

#endif
