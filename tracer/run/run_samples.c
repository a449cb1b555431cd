// SPDX-License-Identifier: GPL-3.0-only
/* run_samples.c - samples of processes and walks of folders, where they were asked for. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "run_parts.h"

static void give_sample(void *arg, const struct rec_process_sample *rec)
{
	struct run *r = arg;

	take_error(r, r->sink->record(r->sink, REC_process_sample, rec));
}

void run_sample_new(struct run *r, const struct iot_proc *p)
{
	if (r->samples)
		samples_add(r->samples, p, since_start(r), give_sample, r);
}

void run_sample(struct run *r, bool end)
{
	if (!r->samples)
		return;
	samples_take(r->samples, since_start(r), end, give_sample, r);
	if (end && samples_left_out(r->samples))
		note("%llu processes were not sampled: at most 4096 are",
			(unsigned long long)samples_left_out(r->samples));
}

/* A number of digits behind the last colon is the depth. */
static int snapshot_one(struct snapshot **out, const char *given, u64 walk)
{
	const char *colon = strrchr(given, ':');
	u64 depth = SNAPSHOT_DEPTH;
	bool has = colon && !parse_number(colon + 1, &depth);
	auto_free char *path = has ? strndup(given, colon - given) : strdup(given);

	if (!path)
		return fail(ENOMEM, "snapshot");
	if (depth > SNAPSHOT_DEPTH_MAX)
		return fail(0, "--snapshot-fs %s: a depth of at most %d", given, SNAPSHOT_DEPTH_MAX);
	return snapshot_new(out, path, depth, walk);
}

int run_snapshot(struct run *r)
{
	int err = 0;

	for (size_t i = 0; i < r->opts->n_snapshots && !err; i++)
		err = snapshot_one(&r->snapshots[i], r->opts->snapshots[i], i);
	return err;
}

static int give_snapshot(void *arg, enum rec_type type, const void *rec)
{
	struct run *r = arg;
	const struct rec_fs_snapshot *s = rec;

	if (type == REC_fs_snapshot && s->cut)
		note("--snapshot-fs %s: cut: %s", s->path, s->cut);
	return r->sink->record(r->sink, type, rec);
}

/* A folder is walked again by its absolute path, which the first walk has found. */
static int walk_later(struct run *r, const struct snapshot *s)
{
	u32 depth;
	const char *path = snapshot_path(s, &depth);

	return r->again && path ? again_add(r->again, path, depth, snapshot_answers(s)) : 0;
}

static int give_first(struct run *r, struct snapshot *s)
{
	int err = snapshot_give(s, ULLONG_MAX, give_snapshot, r);

	return err < 0 ? err : walk_later(r, s);
}

void run_give_snapshots(struct run *r)
{
	for (size_t i = 0; i < r->opts->n_snapshots; i++) {
		if (!r->err)
			take_error(r, give_first(r, r->snapshots[i]));
		snapshot_free(r->snapshots[i]);
		r->snapshots[i] = NULL;
	}
}

void run_walk_again(struct run *r, bool end)
{
	u64 now = since_start(r);

	if (!r->again || r->err || (r->stop_ns && !end)) /* the last walk is near */
		return;
	take_error(r, end ? again_end(r->again, now, give_snapshot, r) :
		again_second(r->again, now, give_snapshot, r));
}
