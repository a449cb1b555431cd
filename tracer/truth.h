/* SPDX-License-Identifier: GPL-3.0-only */
/* truth.h - counters that the kernel keeps for itself, read at both ends of a run (DESIGN section 1.1). */
#ifndef IOT_TRUTH_H
#define IOT_TRUTH_H

#include "stream.h"

struct truth;

/* Reads everything at the start. Returns 0 or a negative errno after a message. */
int truth_begin(struct truth **out);

/* Corrects the reading of disks that were busy while the gate opened: nothing of them is recorded until now (`recorded` says
 * no), so what they counted until now was before the run. */
void truth_opened(struct truth *, bool (*recorded)(void *arg, u32 dev), void *arg);

/* Reads the devices and file systems at the end, just before the gate is closed. */
int truth_end(struct truth *);

/* Reads them again now that it is closed, where something was recorded since just before truth_end(). */
void truth_closed(struct truth *, bool (*recorded)(void *arg, u32 dev), void *arg);

/* Gives what both ends have of devices and file systems as records. A device that was not there at the start was created
 * inside the run and began at 0; one that is gone at the end has no record. */
void truth_devices(struct truth *, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Gives what both ends have of a process that runs since before the start, once a process; it is read now. */
void truth_process(struct truth *, u32 pid, void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Waits until no disk has a request under way and none completes within 2 ms, at most `limit_ns`. */
void truth_calm(u64 limit_ns);

/* Bytes that are dirty in the whole machine. */
int truth_dirty(u64 *bytes);

void truth_free(struct truth *);

#endif
