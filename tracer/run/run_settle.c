// SPDX-License-Identifier: GPL-3.0-only
/* run_settle.c - the end of a run waits until what is dirty is written, as the options say. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "file.h"
#include "run_parts.h"
#include "stop.h"

#define CALM_NS (NSEC / 10)           /* nobody's device requests for so long: writeback is over */
#define CALM_LIMIT_NS (5 * NSEC)
#define STALL_NS (10 * NSEC)          /* so long is waited for one that does not answer, for all together that others serve */
#define STEADY_NS (30 * NSEC)         /* and so long while everything is synced, and others go on, for less to be dirty than ever before */
#define SIGNAL_NS NSEC                /* what is synced has that long to end when a signal asks for it */
#define MAX_DEVICES 64
#define MAX_PLACES (2 * MAX_DEVICES)
#define MAX_DEPTH 16                  /* of devices upon devices */

static bool wait_over(struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->calm_begun >= r->opts->settle_ns;
}

/* sync() waits for one file system after the other, and does not say which: some of them may never answer, and requests of others complete. */
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

/* A number that changes while requests complete: on the disk, partition or volume, by the kernel's count, or, where a file system has none of
 * its own or everything is synced, on any, by ours. */
static u64 ops_now(struct run *r, u32 dev)
{
	char path[64], text[512];
	u64 reads, writes;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", dev >> 20, dev & 0xfffff);
	if (dev && read_file(path, text, sizeof(text)) > 0 && sscanf(text, "%" SCNu64 " %*u %*u %*u %" SCNu64, &reads, &writes) == 2)
		return reads + writes;
	run_read_aggregates(r);
	return aggregate_device_ops(r->aggregates);
}

/* A file system may never answer: its server is gone, or a stranger's. Where somebody else serves the files, or its device completes no request,
 * for long, what is synced is given up; behind a signal all is. */
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
		settle_skip(r->job, true); /* those that are left are served by others, too */
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
		r->horizon = r->opts->settle == SETTLE_CHECKPOINT && !checkpoint_err && !r->hidden ? "after_checkpoint" : "after_sync";
	return true;
}

/* sync returns when the data is out; journal tails and the completion of the last requests come shortly after. */
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

/* What was changed without a byte of a call: names, modes, attributes. */
static void add_changed(void *arg, const struct iot_put_key *k, const struct iot_put *v)
{
	aggregate_add_device(arg, k->owner, v->fs);
}

struct places {
	struct devices *devices;
	char **mounts;
	u32 *devs;
	bool *remote;
	size_t n, depth;
};

static void add_place(struct places *p, char *at, u32 dev, bool remote)
{
	if (!at)
		return;
	p->mounts[p->n] = at;
	p->remote[p->n] = remote;
	p->devs[p->n++] = dev;
}

/* The file of a loop device stands for the file system that holds it: what the device's writers made dirty there is settled behind what
 * they made dirty above, however deep loop devices lie. One that was there already goes behind those that lie on it. */
static void add_below(void *arg, const struct rec_level *l)
{
	struct places *p = arg;
	size_t i = 0;

	if (p->depth == MAX_DEPTH)
		return;
	if (!strcmp(l->how, "loop") && l->name) {
		while (i < p->n && strcmp(p->mounts[i], l->name))
			i++;
		if (i < p->n) {
			free(p->mounts[i]);
			memmove(&p->mounts[i], &p->mounts[i + 1], (p->n - i - 1) * sizeof(*p->mounts));
			memmove(&p->devs[i], &p->devs[i + 1], (p->n - i - 1) * sizeof(*p->devs));
			memmove(&p->remote[i], &p->remote[i + 1], (p->n - i - 1) * sizeof(*p->remote));
			p->n--;
		}
		if (p->n < MAX_PLACES)
			add_place(p, strdup(l->name), l->below, devices_mount(p->devices, l->below) && devices_mount_is_remote(p->devices));
	}
	p->depth++;
	devices_levels(l->below, add_below, p);
	p->depth--;
}

/* What is to be settled: the places where what was traced is mounted, and everything when a device was written past the file
 * systems, or is not mounted where we see it (r->hidden). The strings are the caller's. */
static struct settle_what find_mounts(struct run *r, struct places *p)
{
	struct settle_what w = { .mounts = p->mounts, .devs = p->devs, .remote = p->remote, .checkpoint = r->opts->settle == SETTLE_CHECKPOINT };
	u32 devs[MAX_DEVICES];
	struct aggregate_devices used = { .devs = devs, .room = MAX_DEVICES };

	run_read_aggregates(r);
	aggregate_devices(r->aggregates, &used);
	take_error(r, probes_puts(r->probes, add_changed, &used));
	r->hidden = used.n == MAX_DEVICES;
	for (size_t i = 0; i < used.n; i++) {
		const char *at = devices_mount(r->devices, devs[i]);

		if (at)
			add_place(p, strdup(at), devs[i], devices_mount_is_remote(r->devices));
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
	char *mounts[MAX_PLACES];
	u32 devs[MAX_PLACES];
	bool remote[MAX_PLACES];
	struct settle_what what = find_mounts(r, &(struct places){ r->devices, mounts, devs, remote });

	if (!what.n && !what.all) {
		r->horizon = what.checkpoint ? "after_checkpoint" : "after_sync"; /* nothing was written, nothing is dirty */
		return;
	}
	take_error(r, settle_start(&r->job, &what));
	while (what.n)
		free(mounts[--what.n]);
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
