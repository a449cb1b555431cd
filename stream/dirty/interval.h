/* SPDX-License-Identifier: GPL-3.0-only */
/* interval.h - the dirty byte ranges of one file, each with its owner or another number.
 *
 * A set of intervals that do not overlap, kept as a treap: each call is O(log n + the intervals
 * that it changes), and an interval takes one node. Adjacent intervals of one owner are joined,
 * so that a file written sequentially is one node.
 */
#ifndef IOT_STREAM_INTERVAL_H
#define IOT_STREAM_INTERVAL_H

#include <stddef.h>
#include "wire.h"

struct interval;

/* Marks [from, to) as dirtied by `owner` where it is clean; ranges that are dirty keep their owner.
 * Returns 0 and the number of bytes that went from clean to dirty in *fresh, or -ENOMEM. */
int interval_add(struct interval **set, u64 from, u64 to, u32 owner, u64 *fresh);

/* Removes [from, to) from the set and calls given() for each part that was in it.
 * Returns 0 or -ENOMEM. */
int interval_take(struct interval **set, u64 from, u64 to,
		  void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Calls given() for each part of [from, to) that is in the set. The set does not change. */
void interval_look(const struct interval *set, u64 from, u64 to,
		   void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Number of intervals in all sets. */
size_t interval_count(void);

#endif
