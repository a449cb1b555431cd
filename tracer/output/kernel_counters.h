/* SPDX-License-Identifier: GPL-3.0-only */
/* kernel_counters.h - independent counters of the kernel, read at both ends of a run: device bytes
 * must equal them.
 */
#ifndef IOT_KERNEL_COUNTERS_H
#define IOT_KERNEL_COUNTERS_H

#include "probe.h"
#include "stream.h"

struct kernel_counters;

/* Registers the helper's answers about processes (ask.h). */
void kernel_counters_serve(void);

/* Reads all counters at the start, the gate still closed. The probes count what completes between a
 * reading and the gate; they must live until the end. Returns 0 or a negative errno after a
 * message. */
int kernel_counters_begin(struct kernel_counters **out, const struct probes *);

/* Reads devices and file systems at the end, the gate closed again. */
int kernel_counters_end(struct kernel_counters *);

/* Gives records of devices and file systems that were read at both ends. A device without a first
 * reading was created inside the run and began at 0; one that is gone at the end has no record. */
void kernel_counters_devices(const struct kernel_counters *,
	void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Reads a process that was running before the start and gives its record, once a process. */
void kernel_counters_process(struct kernel_counters *, u32 pid,
	void (*give)(void *arg, const struct rec_truth *), void *arg);

/* Waits until no disk has a request in flight and none completes within 2 ms, at most
 * `limit_ns`. */
void kernel_counters_wait_idle(u64 limit_ns);

/* Dirty bytes of the whole machine. */
int kernel_counters_dirty(u64 *bytes);

void kernel_counters_free(struct kernel_counters *);

#endif
