/* SPDX-License-Identifier: GPL-3.0-only */
/* snapshot_walk.h - how a walk through a folder writes what it finds. */
#ifndef IOT_SNAPSHOT_WALK_H
#define IOT_SNAPSHOT_WALK_H

#include "tracer.h"

/* One entry in the stream of a walk, with `len` bytes of its path behind it. The last one has type
 * 0 and no path: its counts are those of the walk. */
struct snapshot_entry {
	u64 size, allocated, ino, links;
	s64 mtime_ns;
	u64 unread;             /* of the last one: folders that could not be read */
	u32 depth, len;
	char type;              /* f, d, l, b, c, p, s */
	bool cut;               /* of the last one: there are more entries */
};

/* Walks a folder by levels and writes its entries to a descriptor. Returns 0 or an errno. */
int snapshot_walk(const char *path, u32 depth, int to);

#endif
