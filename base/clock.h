/* SPDX-License-Identifier: GPL-3.0-only */
/* clock.h - time in nanoseconds. */
#ifndef IOT_BASE_CLOCK_H
#define IOT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC 1000000000ull

/* Time of a clock in ns. clock: CLOCK_MONOTONIC, ... */
static inline uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

#endif
