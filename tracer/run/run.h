/* SPDX-License-Identifier: GPL-3.0-only */
/* run.h - one run, from opening the outputs to the last record. */
#ifndef IOT_RUN_H
#define IOT_RUN_H

#include "options.h"

/* Records as the options say. begun_ns: start time of the program (CLOCK_MONOTONIC). Returns the
 * exit status. */
int run_trace(const struct options *, u64 begun_ns);

/* Lists the storage systems that run now, with the evidence for each. Returns the exit status. */
int run_systems(const struct options *);

/* Tries every probe and prints the results. Returns the exit status. */
int run_probes(const struct options *, u64 begun_ns);

#endif
