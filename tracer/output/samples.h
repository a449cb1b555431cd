/* SPDX-License-Identifier: GPL-3.0-only */
/* samples.h - memory, processor time and I/O of traced processes at intervals, from /proc
 * (--sample-processes). */
#ifndef IOT_SAMPLES_H
#define IOT_SAMPLES_H

#include "stream.h"
#include "wire.h"

struct samples;

/* Registers the helper's answers (ask.h). */
void samples_serve(void);

/* Makes an empty list. every_ns: interval. Returns 0 or a negative errno after a message. */
int samples_new(struct samples **out, u64 every_ns);
void samples_free(struct samples *);

typedef void samples_give(void *arg, const struct rec_process_sample *);

/* Adds a process, once, and takes its first sample. Beyond 4096 processes none is added: they are
 * counted. now_ns: since the start of the run. */
void samples_add(struct samples *, const struct iot_proc *, u64 now_ns, samples_give *, void *arg);

/* Takes a sample of each process that lives, if the interval is over, or at the end of the run. */
void samples_take(struct samples *, u64 now_ns, bool end, samples_give *, void *arg);

/* Returns how many processes were not added. */
u64 samples_left_out(const struct samples *);

#endif
