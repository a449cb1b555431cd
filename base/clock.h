/* SPDX-License-Identifier: GPL-3.0-only */
/* clock.h - time in nanoseconds. */
#ifndef IOT_BASE_CLOCK_H
#define IOT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC 1000000000ull

/* Returns the time of a clock in ns. clock: CLOCK_MONOTONIC, ... */
static inline uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

/* Returns CLOCK_MONOTONIC in seconds, as of the last tick: cheap. */
static inline time_t clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

/* Returns the wall clock's time at CLOCK_MONOTONIC's time monotonic_ns: ns since 1970, with an
 * error of about 100 ns. Two clocks cannot be read at once: of several readings, the one that was
 * interrupted least is used. */
static inline uint64_t clock_wall(uint64_t monotonic_ns)
{
	uint64_t least = UINT64_MAX, wall = 0;
	int i;

	for (i = 0; i < 9; i++) {
		uint64_t before = clock_now(CLOCK_MONOTONIC), real = clock_now(CLOCK_REALTIME);
		uint64_t took = clock_now(CLOCK_MONOTONIC) - before;

		if (took < least) {
			least = took;
			wall = real - (before + took / 2 - monotonic_ns);
		}
	}
	return wall;
}

#endif
