/* SPDX-License-Identifier: GPL-3.0-only */
/* cells.h - the kernel side's aggregates, cut into seconds, and given back when their owners are over. */
#ifndef IOT_CELLS_H
#define IOT_CELLS_H

#include "probe.h"
#include "stream.h"

struct cells;

/* Whose the sums of an owner are; CELLS_WAIT: that is not known yet, they are given in a later round. */
#define CELLS_WAIT (~0U)
typedef u32 cells_owner(void *arg, u32 owner);
/* What gets the changes; returns 0 or a negative errno, which ends the reading. */
typedef int cells_give(void *arg, const struct rec_agg *);

/* Numbers of devices, each once; at most `room`. */
struct cells_devices {
	u32 *devs;
	size_t n, room;
	bool raw;               /* a block device was used as a file */
};

/* Adds the number `dev` (major << 20 | minor; 0: none) that process.id `owner` used. Those of nobody who is traced, and those beyond the
 * room, are left out: a full list may be too short. */
void cells_add_device(struct cells_devices *, u32 owner, u32 dev);

/* by_disk: what was used is known by the requests of its disks alone. Returns 0 or a negative errno after a message. */
int cells_new(struct cells **out, bool by_disk);
void cells_free(struct cells *);

/* A round: what is read of all aggregates, from probes_cells() and after cells_begin(), is kept; */
void cells_begin(struct cells *);
probes_cell cells_keep; /* arg: struct cells */
/* says how many bytes were added since the last round for whom, once for each aggregate that changed, */
void cells_bytes(const struct cells *, void (*owner)(void *arg, u32 owner, u64 bytes), void *arg);
/* gives what was added as aggregates of second `sec`, */
int cells_take(struct cells *, u64 sec, cells_owner *owner, cells_give *give, void *arg);
/* and gives back those whose owner is over. quiet: nothing was added in this round. One that was closed is read for some rounds more. */
void cells_collect(struct cells *, struct probes *, bool (*over)(void *arg, u32 owner, bool quiet), void *arg);

/* Of what was read last: the number of operations that file systems and disks did so far for the traced processes, or for nobody
 * known. */
u64 cells_device_ops(const struct cells *);

/* Adds the file systems in which traced processes used files, or the disks that they used (by_disk). */
void cells_devices(const struct cells *, struct cells_devices *);

#endif
