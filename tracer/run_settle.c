// SPDX-License-Identifier: GPL-3.0-only
/* run_settle.c - the end of a run waits until what is dirty is written, as the options say. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "run_parts.h"
#include "stop.h"

#define CALM_NS (NSEC / 10)           /* nobody's device requests for so long: writeback is over */
#define CALM_LIMIT_NS (5 * NSEC)
#define MAX_DEVICES 64

static bool wait_over(struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->calm_begun >= r->opts->settle_ns;
}

static bool sync_over(struct run *r)
{
	int err = 0;

	if (!settle_over(r->job, &err))
		return false;
	if (!err)
		r->horizon = "after_sync";
	return true;
}

/* sync returns when the data is out; journal tails and the completion of the last requests come shortly after. */
static bool writeback_over(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC), ops;

	run_read_cells(r);
	ops = cells_device_ops(r->cells);
	if (ops != r->calm_ops) {
		r->calm_ops = ops;
		r->calm_since = now;
	}
	return now - r->calm_since >= CALM_NS || now - r->calm_begun >= CALM_LIMIT_NS;
}

/* The places where what was traced is mounted. None, for everything, when a device was written past the file systems, or
 * is not mounted where we see it. Returns false when nothing was used at all. */
static bool find_mounts(struct run *r, char *mounts[MAX_DEVICES], size_t *n)
{
	u32 devs[MAX_DEVICES];
	bool raw = false, hidden = false;
	size_t n_devs;

	run_read_cells(r);
	n_devs = cells_devices(r->cells, devs, MAX_DEVICES, &raw);
	*n = 0;
	for (size_t i = 0; i < n_devs; i++) {
		const char *at = devices_mount(r->devices, devs[i]);

		if (at && (mounts[*n] = strdup(at)))
			(*n)++;
		else
			hidden |= devs[i] >> 20 != 0;
	}
	if (!raw && !hidden && n_devs < MAX_DEVICES)
		return *n > 0;
	while (*n)
		free(mounts[--*n]);
	return true;
}

static void settle_sync(struct run *r)
{
	char *mounts[MAX_DEVICES];
	size_t n;

	if (!find_mounts(r, mounts, &n)) {
		r->horizon = "after_sync"; /* nothing was written, nothing is dirty */
		return;
	}
	take_error(r, settle_start(&r->job, (const char *const *)mounts, n));
	while (n)
		free(mounts[--n]);
	if (r->err)
		return;
	r->settle_ns = since_start(r);
	run_record_until(r, sync_over);
	if (r->err || stop_again())
		return; /* the job may hang in the kernel: it is left behind */
	settle_free(r->job);
	r->calm_begun = r->calm_since = clock_now(CLOCK_MONOTONIC);
	run_record_until(r, writeback_over);
}

void run_settle(struct run *r)
{
	r->horizon = "at_ack";
	if (r->err || stop_again())
		return;
	if (r->progress && r->opts->settle != SETTLE_NONE)
		note_progress("\rwriting out dirty bytes ");
	if (r->opts->settle == SETTLE_SYNC)
		settle_sync(r);
	if (r->opts->settle != SETTLE_WAIT)
		return;
	r->calm_begun = clock_now(CLOCK_MONOTONIC);
	run_record_until(r, wait_over);
}
