// SPDX-License-Identifier: GPL-3.0-only
/* run_settle.c - waits at the end of a run until dirty data is written, as the options say. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "file.h"
#include "run_parts.h"
#include "stop.h"

#define CALM_NS (NSEC / 10)           /* writeback has ended when the disks are idle for so long */
#define CALM_LIMIT_NS (5 * NSEC)
/* patience with a file system that does not answer, and with all remote ones together */
#define STALL_NS (10 * NSEC)
/* patience while everything is synced and other work goes on, for the amount of dirty data to reach
 * a new minimum */
#define STEADY_NS (30 * NSEC)
#define SIGNAL_NS NSEC                /* time for the current sync to end after a signal */
#define MAX_DEVICES 64
#define MAX_PLACES (2 * MAX_DEVICES)
#define MAX_DEPTH 16                  /* levels of stacked devices */

static bool wait_over(struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->calm_begun >= r->opts->settle_ns;
}

/* sync(2) waits for one file system after the other and does not say which: some may never answer,
 * while requests of others complete. */
static bool is_steady(struct run *r, u64 now)
{
	u64 dirty;

	if (kernel_counters_dirty(&dirty))
		return false;
	if (!r->least_ns || dirty < r->least_dirty) {
		r->least_dirty = dirty;
		r->least_ns = now;
	}
	return now - r->least_ns >= STEADY_NS;
}

/* A number that changes while requests complete: the kernel's count of the disk, partition or
 * logical device. Where a file system has no device, or everything is synced, it is the programs'
 * count of all devices. */
static u64 ops_now(struct run *r, u32 dev)
{
	char path[64], text[512];
	u64 reads, writes;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", dev >> 20, dev & 0xfffff);
	if (dev && read_file(path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%" SCNu64 " %*u %*u %*u %" SCNu64, &reads, &writes) == 2)
		return reads + writes;
	run_read_aggregates(r);
	return aggregate_device_ops(r->aggregates);
}

/* A file system may never answer, because its server is gone or hostile. A sync is abandoned when
 * it takes long and the file system is remote, or its device completes no request. After a signal
 * all are abandoned. */
static void lose_patience(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC), ops;

	if (stop_asked_ns() > r->calm_begun && now - stop_asked_ns() >= SIGNAL_NS)
		settle_skip(r->job, true);
	if (r->calm_since < settle_since_ns(r->job)) { /* the next file system has just begun */
		r->calm_ops = ops_now(r, settle_dev(r->job));
		r->calm_since = now;
		return;
	}
	if (now - settle_since_ns(r->job) < STALL_NS)
		return;
	if (settle_is_remote(r->job)) {
		settle_skip(r->job, true); /* those that are left are remote too */
		return;
	}
	if (now - r->calm_since < STALL_NS)
		return;
	ops = ops_now(r, settle_dev(r->job));
	if (ops == r->calm_ops || (!settle_dev(r->job) && is_steady(r, now)))
		settle_skip(r->job, false);
	r->calm_ops = ops;
	r->calm_since = now;
}

static bool sync_over(struct run *r)
{
	int err = 0, checkpoint_err = 0;

	if (!settle_over(r->job, &err, &checkpoint_err)) {
		lose_patience(r);
		return false;
	}
	if (!err)
		r->horizon = r->opts->settle == SETTLE_CHECKPOINT && !checkpoint_err && !r->hidden ?
			"after_checkpoint" : "after_sync";
	return true;
}

/* sync(2) returns when the data is written; the tails of journals and the completion of the last
 * requests follow shortly after. */
static bool writeback_over(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC), ops;

	run_read_aggregates(r);
	ops = aggregate_device_ops(r->aggregates);
	if (ops != r->calm_ops) {
		r->calm_ops = ops;
		r->calm_since = now;
	}
	return now - r->calm_since >= CALM_NS || now - r->calm_begun >= CALM_LIMIT_NS;
}

/* Adds file systems whose names, modes or attributes were changed without a byte moved by a
 * call. */
static void add_changed(void *arg, const struct iot_put_key *k, const struct iot_put *v)
{
	aggregate_add_device(arg, k->owner, v->fs);
}

struct places {
	struct devices *devices;
	struct settle_place at[MAX_PLACES];
	size_t n, depth;
};

static void add_place(struct places *p, const char *mount, u32 dev, bool remote)
{
	char *own = strdup(mount);

	if (own)
		p->at[p->n++] = (struct settle_place){ own, dev, remote };
}

/* The file of a loop device stands for the file system that contains it: data that the device's
 * writers dirtied there is settled after what they dirtied above, at any depth of loop devices. A
 * file system that was added before moves behind those that lie on it. */
static void add_below(void *arg, const struct rec_level *l)
{
	struct places *p = arg;
	size_t i = 0;

	if (p->depth == MAX_DEPTH)
		return;
	if (!strcmp(l->how, "loop") && l->name) {
		while (i < p->n && strcmp(p->at[i].mount, l->name))
			i++;
		if (i < p->n) {
			free(p->at[i].mount);
			p->n--;
			memmove(&p->at[i], &p->at[i + 1], (p->n - i) * sizeof(*p->at));
		}
		if (p->n < MAX_PLACES)
			add_place(p, l->name, l->below, devices_mount(p->devices, l->below) &&
				devices_mount_is_remote(p->devices));
	}
	p->depth++;
	devices_levels(l->below, add_below, p);
	p->depth--;
}

/* Finds what is to be settled: the mount points of the traced file systems; and everything, when a
 * device was written without a file system, or one is not mounted in this namespace (r->hidden).
 * The strings are the caller's. */
static struct settle_what find_mounts(struct run *r, struct places *p)
{
	struct settle_what w = { .places = p->at,
		.checkpoint = r->opts->settle == SETTLE_CHECKPOINT };
	u32 devs[MAX_DEVICES];
	struct aggregate_devices used = { .devs = devs, .room = MAX_DEVICES };

	run_read_aggregates(r);
	aggregate_devices(r->aggregates, &used);
	take_error(r, probes_puts(r->probes, add_changed, &used));
	r->hidden = used.n == MAX_DEVICES;
	for (size_t i = 0; i < used.n; i++) {
		const char *at = devices_mount(r->devices, devs[i]);

		if (at)
			add_place(p, at, devs[i], devices_mount_is_remote(r->devices));
		else
			r->hidden |= devs[i] >> 20 != 0;
	}
	for (size_t i = 0; i < used.n; i++)
		devices_levels(devs[i], add_below, p);
	w.n = p->n;
	w.all = used.raw || r->hidden;
	if (r->hidden && w.checkpoint)
		note("what was used is not all mounted where it is seen from here: no checkpoint there");
	return w;
}

static void settle_sync(struct run *r)
{
	struct places places = { .devices = r->devices };
	struct settle_what what = find_mounts(r, &places);

	if (!what.n && !what.all) {
		/* nothing was written, so nothing is dirty */
		r->horizon = what.checkpoint ? "after_checkpoint" : "after_sync";
		return;
	}
	take_error(r, settle_start(&r->job, &what));
	while (places.n)
		free(places.at[--places.n].mount);
	if (r->err)
		return;
	r->settle_ns = since_start(r);
	r->calm_begun = clock_now(CLOCK_MONOTONIC);
	r->calm_since = 0;
	run_record_until(r, sync_over);
	settle_free(r->job);
	if (r->err || stop_again())
		return;
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
	if (r->opts->settle == SETTLE_SYNC || r->opts->settle == SETTLE_CHECKPOINT)
		settle_sync(r);
	if (r->opts->settle != SETTLE_WAIT)
		return;
	r->calm_begun = clock_now(CLOCK_MONOTONIC);
	run_record_until(r, wait_over);
}
