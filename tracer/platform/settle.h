/* SPDX-License-Identifier: GPL-3.0-only */
/* settle.h - writes dirty bytes out at the end of a run, beside the process that keeps recording. */
#ifndef IOT_SETTLE_H
#define IOT_SETTLE_H

#include "tracer.h"

struct settle_job;

struct settle_what {
	char *const *mounts;
	const uint32_t *devs;   /* numbers of what is mounted there; NULL: without a checkpoint */
	const bool *remote;     /* somebody else serves the files there, who may not answer; NULL: nowhere */
	size_t n;
	bool all;               /* everything, and then what is mounted there */
	bool checkpoint;        /* what the journals of what is mounted there hold is put in place, too */
};

/* Says who answers: a helper syncs (ask.h), and is left behind where a file system does not answer. */
void settle_serve(void);

/* Starts to sync. The strings are copied. Returns 0 or a negative errno after a message. */
int settle_start(struct settle_job **out, const struct settle_what *);

/* Is it over? Each error is 0, or the negative errno of the first file system that could not be synced or checkpointed, reported. */
bool settle_over(struct settle_job *, int *err, int *checkpoint_err);

/* Is what is synced now served by somebody else? Such are synced last. On which device is it (0: all)? And since when (CLOCK_MONOTONIC) is it
 * synced: one of those that others serve since the first of them is? */
bool settle_is_remote(const struct settle_job *);
u32 settle_dev(const struct settle_job *);
u64 settle_since_ns(const struct settle_job *);

/* Waits no longer for what is synced now, which is reported, and goes on with the next; all: with none. */
void settle_skip(struct settle_job *, bool all);

/* Gives up what is under way. */
void settle_free(struct settle_job *);

#endif
