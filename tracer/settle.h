/* SPDX-License-Identifier: GPL-3.0-only */
/* settle.h - writes dirty bytes out at the end of a run, beside the thread that keeps recording. */
#ifndef IOT_SETTLE_H
#define IOT_SETTLE_H

#include "tracer.h"

struct settle_job;

/* Starts to sync the file systems mounted at the n places, or everything when n is 0. The strings are copied.
 * Returns 0 or a negative errno after a message. */
int settle_start(struct settle_job **out, const char *const *mounts, size_t n);

/* Is it over? *err: 0, or the negative errno of the first file system that could not be synced, reported. */
bool settle_over(struct settle_job *, int *err);

/* Only after it is over: a job that hangs in the kernel is left behind. */
void settle_free(struct settle_job *);

#endif
