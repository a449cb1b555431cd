/* SPDX-License-Identifier: GPL-3.0-only */
/* aggregate.h - the kernel side's aggregates, cut into seconds, and given back when their owners are over. */
#ifndef IOT_AGGREGATE_H
#define IOT_AGGREGATE_H

#include "probe.h"
#include "stream.h"

struct aggregates;

/* Whose the sums of an owner are; AGGREGATE_WAIT: that is not known yet, they are given in a later round. */
#define AGGREGATE_WAIT (~0U)
typedef u32 aggregate_owner(void *arg, u32 owner);
/* What gets the changes; returns 0 or a negative errno, which ends the reading. */
typedef int aggregate_give(void *arg, const struct rec_agg *);

/* Numbers of devices, each once; at most `room`. */
struct aggregate_devices {
	u32 *devs;
	size_t n, room;
	bool raw;               /* a block device was used as a file */
};

/* Adds the number `dev` (major << 20 | minor; 0: none) that process.id `owner` used. Those of nobody who is traced, and those beyond the
 * room, are left out: a full list may be too short. */
void aggregate_add_device(struct aggregate_devices *, u32 owner, u32 dev);

/* by_disk: what was used is known by the requests of its disks alone. Returns 0 or a negative errno after a message. */
int aggregate_new(struct aggregates **out, bool by_disk);
void aggregate_free(struct aggregates *);

/* A round: what is read of all aggregates, from probes_cells() and after aggregate_begin(), is kept; */
void aggregate_begin(struct aggregates *);
probes_cell aggregate_keep; /* arg: struct aggregates */
/* says how many bytes were added since the last round for whom, once for each aggregate that changed, */
void aggregate_bytes(const struct aggregates *, void (*owner)(void *arg, u32 owner, u64 bytes), void *arg);
/* gives what was added as aggregates of second `sec`, */
int aggregate_take(struct aggregates *, u64 sec, aggregate_owner *owner, aggregate_give *give, void *arg);
/* and gives back those whose owner is over. quiet: nothing was added in this round. One that was closed is read for some rounds more. */
void aggregate_collect(struct aggregates *, struct probes *, bool (*over)(void *arg, u32 owner, bool quiet), void *arg);

/* Of what was read last: the number of operations that file systems and disks did so far for the traced processes, or for nobody
 * known. */
u64 aggregate_device_ops(const struct aggregates *);

/* Adds the file systems in which traced processes used files, or the disks that they used (by_disk). */
void aggregate_devices(const struct aggregates *, struct aggregate_devices *);

#endif
