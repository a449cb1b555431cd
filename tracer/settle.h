/* SPDX-License-Identifier: GPL-3.0-only */
/* settle.h - writes dirty bytes out at the end of a run, beside the thread that keeps recording. */
#ifndef IOT_SETTLE_H
#define IOT_SETTLE_H

#include "tracer.h"

struct settle_job;

struct settle_what {
	char *const *mounts;
	const uint32_t *devs;   /* numbers of what is mounted there; NULL: without a checkpoint */
	size_t n;
	bool all;               /* everything, and then what is mounted there */
	bool checkpoint;        /* what the journals of what is mounted there hold is put in place, too */
};

/* Starts to sync. The strings are copied. Returns 0 or a negative errno after a message. */
int settle_start(struct settle_job **out, const struct settle_what *);

/* Is it over? Each error is 0, or the negative errno of the first file system that could not be synced or checkpointed, reported. */
bool settle_over(struct settle_job *, int *err, int *checkpoint_err);

/* Opens what is mounted at a place, without obeying what somebody else may have put there. Returns a descriptor or a negative errno. */
int settle_open(const char *mount);

/* Only after it is over: a job that hangs in the kernel is left behind. */
void settle_free(struct settle_job *);

#endif
