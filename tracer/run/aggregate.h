/* SPDX-License-Identifier: GPL-3.0-only */
/* aggregate.h - aggregates of the kernel side, divided into seconds, and given back when their
 * owners have ended.
 */
#ifndef IOT_AGGREGATE_H
#define IOT_AGGREGATE_H

#include "probe.h"
#include "stream.h"

struct aggregates;

/* Returns the process that gets the sums of an owner; AGGREGATE_WAIT: not known yet, they are given
 * in a later round. */
#define AGGREGATE_WAIT (~0U)
typedef u32 aggregate_owner(void *arg, u32 owner);
/* Receives the additions. Returns 0 or a negative errno, which ends the reading. */
typedef int aggregate_give(void *arg, const struct rec_agg *);

/* Device numbers, each once, at most `room`. */
struct aggregate_devices {
	u32 *devs;
	size_t n, room;
	bool raw;               /* a block device was used as a file */
};

/* Adds device `dev` (major << 20 | minor; 0: none) that process.id `owner` used. Devices of
 * untraced processes, and those beyond the room, are left out: a full list may be too short. */
void aggregate_add_device(struct aggregate_devices *, u32 owner, u32 dev);

/* by_disk: only the requests of disks tell what was used. Returns 0 or a negative errno after a
 * message. */
int aggregate_new(struct aggregates **out, bool by_disk);
void aggregate_free(struct aggregates *);

/* Begins a round. probes_cells() then gives all aggregates to aggregate_keep(). */
void aggregate_begin(struct aggregates *);
probes_cell aggregate_keep; /* arg: struct aggregates */
/* Calls back with the owner and the added bytes of each aggregate that changed in this round. */
void aggregate_bytes(const struct aggregates *, void (*owner)(void *arg, u32 owner, u64 bytes),
	void *arg);
/* Gives the additions as aggregates of second `sec`. */
int aggregate_take(struct aggregates *, u64 sec, aggregate_owner *owner, aggregate_give *give,
	void *arg);
/* Gives back aggregates whose owner has ended. quiet: nothing was added in this round. A closed one
 * is read for some more rounds. */
void aggregate_collect(struct aggregates *, struct probes *,
	bool (*over)(void *arg, u32 owner, bool quiet), void *arg);

/* Operations that file systems and disks have done so far, as of the last reading, for traced
 * processes or for an unknown owner. */
u64 aggregate_device_ops(const struct aggregates *);

/* Adds the file systems in which traced processes used files, or the disks that they used
 * (by_disk). */
void aggregate_devices(const struct aggregates *, struct aggregate_devices *);

#endif
