/* SPDX-License-Identifier: GPL-3.0-only */
/* kernel_counters.h - counters that the kernel keeps for itself, read at both ends of a run (DESIGN section 1.1). */
#ifndef IOT_KERNEL_COUNTERS_H
#define IOT_KERNEL_COUNTERS_H

#include "probe.h"
#include "stream.h"

struct kernel_counters;

/* Says who answers what is asked about processes (ask.h). */
void kernel_counters_serve(void);

/* Reads everything at the start, the gate still closed. The probes tell what completes between a reading and the gate; they
 * live until the end. Returns 0 or a negative errno after a message. */
int kernel_counters_begin(struct kernel_counters **out, const struct probes *);

/* Reads the devices and file systems at the end, the gate closed again. */
int kernel_counters_end(struct kernel_counters *);

/* Gives what both ends have of devices and file systems as records. A device that was not there at the start was created
 * inside the run and began at 0; one that is gone at the end has no record. */
void kernel_counters_devices(const struct kernel_counters *, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Gives what both ends have of a process that runs since before the start, once a process; it is read now. */
void kernel_counters_process(struct kernel_counters *, u32 pid, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Waits until no disk has a request under way and none completes within 2 ms, at most `limit_ns`. */
void kernel_counters_wait_idle(u64 limit_ns);

/* Bytes that are dirty in the whole machine. */
int kernel_counters_dirty(u64 *bytes);

void kernel_counters_free(struct kernel_counters *);

#endif
