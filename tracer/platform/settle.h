/* SPDX-License-Identifier: GPL-3.0-only */
/* settle.h - writes dirty bytes out at the end of a run, while the tracer keeps recording. */
#ifndef IOT_SETTLE_H
#define IOT_SETTLE_H

#include "tracer.h"

struct settle_job;

/* A file system to settle. */
struct settle_place {
	char *mount;
	u32 dev;                /* its device number; 0: it is not known */
	bool remote; /* another machine or process serves the files, and may not answer */
};

struct settle_what {
	const struct settle_place *places;
	size_t n;
	bool all;               /* sync everything before these places */
	bool checkpoint;        /* also write the contents of their journals to the final place */
};

/* Registers the helper's answer (ask.h). The helper is abandoned where a file system does not
 * answer. */
void settle_serve(void);

/* Begins to sync. The strings are copied. Returns 0 or a negative errno after a message. */
int settle_start(struct settle_job **out, const struct settle_what *);

/* True when everything is synced. Each error is 0, or the negative errno of the first file system
 * that could not be synced or checkpointed, after a message. */
bool settle_over(struct settle_job *, int *err, int *checkpoint_err);

/* About the file system that is being synced: is it remote (those come last); its device (0: all
 * file systems); and when its sync began (CLOCK_MONOTONIC), for remote ones when that of the first
 * remote one began. */
bool settle_is_remote(const struct settle_job *);
u32 settle_dev(const struct settle_job *);
u64 settle_since_ns(const struct settle_job *);

/* Abandons the current sync, with a message, and goes on with the next file system; all: with
 * none. */
void settle_skip(struct settle_job *, bool all);

/* Abandons an unfinished sync and frees the job. */
void settle_free(struct settle_job *);

#endif
