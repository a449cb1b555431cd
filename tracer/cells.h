/* SPDX-License-Identifier: GPL-3.0-only */
/* cells.h - the kernel side's aggregates, cut into seconds. */
#ifndef IOT_CELLS_H
#define IOT_CELLS_H

#include "probe.h"
#include "stream.h"

struct cells;

/* What gets the changes; returns 0 or a negative errno, which ends the reading. */
typedef int cells_give(void *arg, const struct rec_agg *);

/* Returns 0 or a negative errno after a message. */
int cells_new(struct cells **out);
void cells_free(struct cells *);

/* Reads all aggregates and gives what was added since the last call as aggregates of second `sec`. */
int cells_take(struct cells *, struct probes *, u64 sec, cells_give *give, void *arg);

/* Reads all aggregates and returns the number of operations that file systems and disks did so far for the traced
 * processes, or for nobody known. */
u64 cells_device_ops(struct probes *);

/* The devices that traced processes used, as numbers; at most `room`. *raw: a block device was used as a file. */
size_t cells_devices(struct probes *, u32 *devs, size_t room, bool *raw);

#endif
