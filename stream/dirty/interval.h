/* SPDX-License-Identifier: GPL-3.0-only */
/* interval.h - a set of byte ranges of one file that do not overlap. Each range has a number: the
 * process that dirtied it, or the component that wrote it (stream/dirty/fileio.c).
 *
 * The set is a treap with one node a range. A call takes O(log n + the ranges that it changes).
 * Adjacent ranges with the same number are joined, so that a file written sequentially is one node.
 */
#ifndef IOT_STREAM_INTERVAL_H
#define IOT_STREAM_INTERVAL_H

#include <stddef.h>
#include "wire.h"

struct interval;

/* Adds [from, to) with number `owner`. Parts that are in the set already keep their number. Returns
 * 0 and the number of bytes that were not in it before in *fresh, or -ENOMEM. */
int interval_add(struct interval **set, u64 from, u64 to, u32 owner, u64 *fresh);

/* Removes [from, to) from the set and calls given() for each part that was in it.
 * Returns 0 or -ENOMEM. */
int interval_take(struct interval **set, u64 from, u64 to,
		  void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Calls given() for each part of [from, to) that is in the set, and does not change the set. */
void interval_look(const struct interval *set, u64 from, u64 to,
		   void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Returns the number of ranges in all sets of the process. */
size_t interval_count(void);

#endif
