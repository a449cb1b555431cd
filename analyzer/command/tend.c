/* SPDX-License-Identifier: GPL-3.0-only */
/* tend.c - commands that look after stores: merge, prune, migrate, anonymize. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "analyzer.h"
#include "anonymous.h"
#include "functions.h"
#include "query.h"
#include "sets.h"
#include "stream.h"
#include "tend.h"
#include "text.h"

/* ---- merge ---- */

/* STORE, or STORE:RUN; a path that is there goes before one with a colon. */
static int find_part(const char *arg, struct merge_part *p)
{
	const char *colon = access(arg, F_OK) ? strrchr(arg, ':') : NULL;
	struct store *s = NULL;
	int err;

	p->path = colon && colon[1] ? strndup(arg, colon - arg) : strdup(arg);
	if (!p->path)
		return fail_as(EXIT_DATA, ENOMEM, "%s", arg);
	err = store_open(&s, p->path) ?: store_run(s, colon && colon[1] ? colon + 1 : NULL, &p->run);
	store_close(s);
	return err;
}

int tend_merge(const struct options *o)
{
	struct merge_part part[N_OF(o->arg)] = { 0 };
	int i, n = o->args - 2, err = 0;

	for (i = 0; !err && i < n; i++)
		err = find_part(o->arg[i + 2], &part[i]);
	if (!err && store_merge(o->arg[1], part, n))
		err = EXIT_DATA;
	for (i = 0; i < n; i++)
		free((char *)part[i].path);
	return err;
}

/* ---- prune ---- */

/* Runs of a store, the oldest first. */
struct runs {
	s64 *run;
	enum keep *keep;
	bool *named;
	size_t n, chosen;        /* chosen: those that are to go, in front */
};

static void free_runs(struct runs *r)
{
	free(r->run);
	free(r->keep);
	free(r->named);
}

/* named: by RUNS, or all; and ended before --older. */
static int read_runs(const struct options *o, const char *path, const struct sets *sets,
		     struct runs *r)
{
	static const char sql[] =
		"SELECT r.run, r.wall_ns + COALESCE(e.dur_ns, 0) FROM run r LEFT JOIN run_end e ON e.run = r.run ORDER BY r.wall_ns, r.run";
	int64_t until = o->has_older && o->older < 100000 ?
				(time(NULL) - (int64_t)o->older * 86400) * 1000000000 :
			o->has_older ? 0 :
				       INT64_MAX;
	struct store *s = NULL;
	struct grid t = { 0 };
	size_t row, i, k;
	int err = store_open(&s, path) ?: store_query(s, "runs", sql, NULL, &t);

	store_close(s);
	r->run = calloc(t.rows + 1, sizeof(*r->run));
	r->keep = calloc(t.rows + 1, sizeof(*r->keep));
	r->named = calloc(t.rows + 1, sizeof(*r->named));
	if (!err && (!r->run || !r->keep || !r->named))
		err = fail_as(EXIT_DATA, ENOMEM, "%s", path);
	for (row = 0; !err && row < t.rows; row++, r->n++) {
		r->run[row] = grid_cell(&t, row, 0)->i;
		r->named[row] = !sets->n;
		for (i = 0; i < sets->n; i++)
			for (k = 0; k < sets->set[i].runs + sets->set[i].idles; k++)
				r->named[row] |= r->run[row] ==
						 (k < sets->set[i].runs ?
							  sets->set[i].run[k] :
							  sets->set[i].idle[k - sets->set[i].runs])
							 .run;
		r->named[row] &= grid_cell(&t, row, 1)->i < until;
	}
	grid_free(&t);
	return err;
}

/* The first `events` of the named runs lose their events, of these the first `whole` are gone. */
static void plan(struct runs *r, size_t events, size_t whole)
{
	size_t i, at = 0;

	for (i = 0; i < r->n; i++) {
		r->keep[i] = !r->named[i] || at >= events ? KEEP_ALL : at < whole ? KEEP_NONE : KEEP_SUMS;
		at += r->named[i];
	}
}

/* Steps 1 to `named` take the events out of one run more each, the steps after these take one run
 * more out. */
static void plan_step(struct runs *r, size_t named, size_t step)
{
	plan(r, step < named ? step : named, step > named ? step - named : 0);
}

/* Measures the size of the store after that many steps of the plan. */
static int measure(const char *path, struct runs *r, size_t named, size_t step, u64 *after)
{
	u64 before;
	int err;

	plan_step(r, named, step);
	err = store_rewrite(path, r->run, r->keep, r->n, 1, &before, after);
	return err == -EFBIG ? 0 : err;
}

/* Removes as little as is enough, found by bisection: events of the oldest runs, then these runs,
 * but never the last run of the store. */
static int prune_to(const struct options *o, const char *path, struct runs *r, size_t named,
		    u64 *before, u64 *after)
{
	size_t runs = named < r->n || !named ? named : named - 1, low = 0,
	       high = named + (o->events ? 0 : runs);

	if (measure(path, r, named, high, after))
		return EXIT_DATA;
	if (*after > o->to)
		return fail_as(EXIT_DATA, 0,
			"%s: nothing was changed: %llu bytes would be left of it when all that may go is gone",
			path, (unsigned long long)*after);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (measure(path, r, named, middle, after))
			return EXIT_DATA;
		if (*after <= o->to)
			high = middle;
		else
			low = middle + 1;
	}
	plan_step(r, named, low);
	return store_rewrite(path, r->run, r->keep, r->n, 0, before, after) ? EXIT_DATA : 0;
}

static void tell(const char *path, const struct runs *r, u64 before, u64 after)
{
	auto_free char *name = text_terminal(path, strlen(path));
	char was[SIZE_TEXT], is[SIZE_TEXT];
	size_t i, gone = 0, sums = 0;

	for (i = 0; i < r->n; i++) {
		gone += r->keep[i] == KEEP_NONE;
		sums += r->keep[i] == KEEP_SUMS;
	}
	size_text(before, was);
	size_text(after, is);
	printf("%s: %zu runs taken out, events of %zu more; %zu runs are left; %s before, now %s\n",
	       name ?: "", gone, sums, r->n - gone, was, is);
}

int tend_prune(const struct options *o)
{
	const char *arg = o->arg[1], *colon = access(arg, F_OK) ? strrchr(arg, ':') : NULL;
	auto_free char *path = colon ? strndup(arg, colon - arg) : strdup(arg);
	struct runs r = { 0 };
	struct sets sets = { 0 };
	u64 before = 0, after = 0;
	size_t i, named = 0;
	int err;

	if (!path)
		return fail_as(EXIT_DATA, ENOMEM, "%s", arg);
	if (!colon && !o->has_older && !o->has_to && !o->events)
		return fail_as(EXIT_USAGE, 0,
			"prune what? name runs (%s:3-7), or give --older DAYS, --to SIZE or --events",
			arg);
	if (o->has_to && o->to < 2)
		return fail_as(EXIT_USAGE, 0, "--to: a store has more than %llu bytes",
			       (unsigned long long)o->to);
	err = (colon ? sets_find(&sets, &arg, 1) : 0) ?: read_runs(o, path, &sets, &r);
	for (i = 0; !err && i < r.n; i++)
		named += r.named[i];
	if (!err && o->has_to)
		err = prune_to(o, path, &r, named, &before, &after);
	else if (!err) {
		plan(&r, named, o->events ? 0 : named);
		err = store_rewrite(path, r.run, r.keep, r.n, 0, &before, &after) ? EXIT_DATA : 0;
	}
	if (!err)
		tell(path, &r, before, after);
	sets_free(&sets);
	free_runs(&r);
	return err;
}

/* ---- migrate ---- */

int tend_migrate(const struct options *o)
{
	u64 before, after;

	return store_rewrite(o->arg[1], NULL, NULL, 0, 0, &before, &after) ? EXIT_DATA : EXIT_OK;
}

/* ---- anonymize ---- */

int tend_anonymize(const struct options *o)
{
	struct anonymizer *names = NULL;
	int err = anonymizer_new(&names, o->key) ?:
		store_anonymize(o->arg[1], o->arg[2], names);

	anonymizer_free(names);
	return err ? EXIT_DATA : EXIT_OK;
}
