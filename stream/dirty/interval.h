/* SPDX-License-Identifier: GPL-3.0-only */
/* interval.h - which byte ranges of one file are dirty, and by whom; or what else each range is. Not for other folders.
 *
 * A set of intervals that do not overlap, each with an owner, kept as a treap: every call is O(log n + what it changes), memory
 * is one node an interval. Neighbours of one owner are joined, so that a file written in sequence is one node.
 */
#ifndef IOT_STREAM_INTERVAL_H
#define IOT_STREAM_INTERVAL_H

#include <stddef.h>
#include "wire.h"

struct interval;

/* Marks [from, to) as dirty by `owner` where it was clean; what was dirty keeps its owner. Returns 0 and the
 * number of bytes that went from clean to dirty in *fresh, or -ENOMEM. */
int interval_add(struct interval **set, u64 from, u64 to, u32 owner, u64 *fresh);

/* Takes [from, to) out of the set; given() is called for each piece that was in it. Returns 0 or -ENOMEM. */
int interval_take(struct interval **set, u64 from, u64 to, void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Calls given() for each piece of [from, to) that is in the set, which stays as it is. */
void interval_look(const struct interval *set, u64 from, u64 to, void (*given)(void *arg, u32 owner, u64 bytes), void *arg);

/* Intervals that exist now, in all sets. */
size_t interval_count(void);

#endif
