/* SPDX-License-Identifier: GPL-3.0-only */
/* truth.h - counters that the kernel keeps for itself, read at both ends of a run (INTERNALS section 7). */
#ifndef IOT_TRUTH_H
#define IOT_TRUTH_H

#include "probe.h"
#include "stream.h"

struct truth;

/* Says who answers what is asked about processes (ask.h). */
void truth_serve(void);

/* Reads everything at the start, the gate still closed. The probes tell what completes between a reading and the gate; they
 * live until the end. Returns 0 or a negative errno after a message. */
int truth_begin(struct truth **out, const struct probes *);

/* Reads the devices and file systems at the end, the gate closed again. */
int truth_end(struct truth *);

/* Gives what both ends have of devices and file systems as records. A device that was not there at the start was created
 * inside the run and began at 0; one that is gone at the end has no record. */
void truth_devices(const struct truth *, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Gives what both ends have of a process that runs since before the start, once a process; it is read now. */
void truth_process(struct truth *, u32 pid, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Waits until no disk has a request under way and none completes within 2 ms, at most `limit_ns`. */
void truth_calm(u64 limit_ns);

/* Bytes that are dirty in the whole machine. */
int truth_dirty(u64 *bytes);

void truth_free(struct truth *);

#endif
