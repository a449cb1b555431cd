// SPDX-License-Identifier: GPL-3.0-only
/* overlap.c - overlap(MAP, KIND, DEV, OWNER, TS, DUR, BYTES, FLAGS, CAUSE, ERR): syncs that
 * overlap, and the work done during them.
 *
 * MAP classifies each event (access_map.h): a sync is a wait from TS on, DUR long; work is bytes
 * of write requests, by class (1 to 4: data, journal, metadata, other), commits (5) and flushes
 * (6). All events are kept, 16 bytes each, until all waits are known. Work is divided equally
 * among the waits under way when it was done, so that the parts of all waits, and the work done
 * while nobody waited, sum to the whole. The level of a wait is the average number of waits under
 * way while it lasted, itself included, rounded. The result is a JSON array of arrays [low, high,
 * waits, sum of durations, median, 99th percentile, maximum, amount 1, ...], a row for each level
 * of 1, 2, 3-4, 5-8 and so on that has waits, and one of level 0 for the work done while nobody
 * waited. */
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access_map.h"
#include "memory.h"
#include "overlap.h"

#define AMOUNTS 6
#define LEVELS 34        /* 0, 1, 2, 3-4, ... beyond 2^32 */

struct wait {
	uint64_t ts, dur;
};

/* A piece of work; times are far below 2^60 ns, and bytes of a request below 2^61. */
struct deed {
	uint64_t ts, what : 3, amount : 61;
};

/* The begin or the end of a wait, and the work done from then to the next one. */
struct moment {
	uint64_t ts;
	uint32_t wait;           /* number of the wait */
	int32_t step;            /* 1: it begins; -1 */
	double done[AMOUNTS];    /* in sweep(): what each wait under way since the beginning would have */
};

struct overlap {
	struct access_map map;
	struct wait *wait;
	struct deed *deed;
	struct moment *moment;
	size_t waits, room, deeds, deed_room, moments, near;
	double idle[AMOUNTS];    /* before the first moment, and while nobody waits */
	bool failed;
};

struct level {
	uint64_t n, *dur;
	double sum, part[AMOUNTS];
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->ts != y->ts ? x->ts < y->ts ? -1 : 1 : x->step - y->step;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void add_wait(struct overlap *o, uint64_t ts, uint64_t dur)
{
	if (o->waits == o->room) {
		size_t room = o->room ? 2 * o->room : 256;
		struct wait *grown = room < UINT32_MAX ? reallocarray(o->wait, room, sizeof(*grown)) : NULL;

		o->failed |= !grown;
		if (o->failed)
			return;
		o->wait = grown;
		o->room = room;
	}
	o->wait[o->waits++] = (struct wait){ ts, dur };
}

static void add_deed(struct overlap *o, uint64_t ts, int what, uint64_t amount)
{
	if (o->deeds == o->deed_room) {
		size_t room = o->deed_room ? o->deed_room + o->deed_room / 2 : 256;
		struct deed *grown = reallocarray(o->deed, room, sizeof(*grown));

		o->failed |= !grown;
		if (o->failed)
			return;
		o->deed = grown;
		o->deed_room = room;
	}
	o->deed[o->deeds++] = (struct deed){ .ts = ts, .what = what, .amount = amount };
}

/* The begins and ends of all waits in the order of time. */
static void close_waits(struct overlap *o)
{
	size_t i;

	o->moment = calloc(2 * o->waits + 1, sizeof(*o->moment));
	o->failed |= !o->moment;
	for (i = 0; i < o->waits && !o->failed; i++) {
		o->moment[o->moments++] = (struct moment){ .ts = o->wait[i].ts, .wait = i, .step = 1 };
		o->moment[o->moments++] = (struct moment){ .ts = o->wait[i].ts + o->wait[i].dur,
							   .wait = i,
							   .step = -1 };
	}
	if (o->moments)
		qsort(o->moment, o->moments, sizeof(*o->moment), by_time);
}

/* Counts the begins and ends that are not later than `ts`. Events arrive nearly in the order of
 * time, so the count is near that of the event before: searching from there, in steps that double,
 * costs the same for each event, however many waits there are. */
static size_t moments_until(struct overlap *o, uint64_t ts)
{
	size_t low = o->near, high = o->near, step;

	for (step = 1; low && o->moment[low - 1].ts > ts; step *= 2)
		high = low - 1, low -= step < low ? step : low;
	for (step = 1; high < o->moments && o->moment[high].ts <= ts; step *= 2)
		low = high + 1, high += step < o->moments - high ? step : o->moments - high;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (o->moment[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return o->near = low;
}

/* Adds work to the last begin or end that is not later. */
static void add_amount(struct overlap *o, uint64_t ts, int what, double amount)
{
	size_t n = moments_until(o, ts);

	*(n ? &o->moment[n - 1].done[what] : &o->idle[what]) += amount;
}

static int level_of(double waiting)
{
	double n = round(waiting);
	int level;

	for (level = 1; level < LEVELS - 1 && n > ldexp(1, level - 1); level++)
		;
	return level;
}

/* State when a wait began: the work that a wait since the beginning would have, and the area under
 * the number of waits. */
struct begun {
	double area, done[AMOUNTS];
	int32_t now;
};

static void end_wait(const struct overlap *o, const struct moment *m, const struct begun *b,
		     double area, const double *sum, struct level *levels)
{
	const struct wait *w = &o->wait[m->wait];
	struct level *l = &levels[level_of(w->dur ? (area - b->area) / w->dur : b->now)];
	int i;

	if (l->dur)
		l->dur[l->n] = w->dur;
	l->n++;
	l->sum += w->dur;
	for (i = 0; i < AMOUNTS; i++)
		l->part[i] += sum[i] - b->done[i];
}

/* Goes through all begins and ends once; with `durations`, the levels keep each duration. */
static void sweep(struct overlap *o, struct begun *begun, struct level *levels)
{
	double area = 0, sum[AMOUNTS] = { 0 };
	int32_t now = 0;
	size_t m;
	int i;

	memcpy(levels[0].part, o->idle, sizeof(o->idle));
	for (m = 0; m < o->moments; m++) {
		const struct moment *at = &o->moment[m];

		now += at->step;
		if (at->step > 0) {
			begun[at->wait] = (struct begun){ .area = area, .now = now };
			memcpy(begun[at->wait].done, sum, sizeof(sum));
		} else {
			end_wait(o, at, &begun[at->wait], area, sum, levels);
		}
		for (i = 0; i < AMOUNTS; i++)
			*(now ? &sum[i] : &levels[0].part[i]) += now ? at->done[i] / now : at->done[i];
		if (m + 1 < o->moments)
			area += (double)now * (o->moment[m + 1].ts - at->ts);
	}
}

/* Sweeps twice: the first time only counts the waits of each level. */
static bool find_levels(struct overlap *o, struct level *levels)
{
	struct begun *begun = calloc(o->waits + 1, sizeof(*begun));
	int i;

	if (!begun)
		return false;
	sweep(o, begun, levels);
	for (i = 1; i < LEVELS; i++) {
		uint64_t n = levels[i].n;

		levels[i] = (struct level){ .dur = n ? calloc(n, sizeof(uint64_t)) : NULL };
		o->failed |= n && !levels[i].dur;
	}
	if (!o->failed)
		sweep(o, begun, levels);
	free(begun);
	return !o->failed;
}

static void print_level(FILE *out, const struct level *l, int number, char before)
{
	uint64_t low = number < 3 ? (uint64_t)number : (1ULL << (number - 2)) + 1,
		 high = number < 3 ? (uint64_t)number : 1ULL << (number - 1);
	int i;

	if (l->n)
		qsort(l->dur, l->n, sizeof(*l->dur), by_size);
	fprintf(out, "%c[%llu,%llu,%llu,%.0f", before, (unsigned long long)low,
		(unsigned long long)high, (unsigned long long)l->n, l->sum);
	if (l->n)
		fprintf(out, ",%llu,%llu,%llu", (unsigned long long)l->dur[(l->n - 1) / 2],
			(unsigned long long)l->dur[(l->n * 99 + 99) / 100 - 1],
			(unsigned long long)l->dur[l->n - 1]);
	else
		fputs(",null,null,null", out);
	for (i = 0; i < AMOUNTS; i++)
		fprintf(out, ",%.17g", l->part[i]);
	fputc(']', out);
}

/* Is the event a sync: one of those calls, or a write that is synchronous and did not fail? */
static bool is_sync(const struct access_map *m, uint8_t kind, sqlite3_value **argv)
{
	if (m->place[kind] == PLACE_SYNC)
		return true;
	return m->place[kind] == PLACE_CALLS && m->way[kind] == 2 &&
	       (sqlite3_value_int64(argv[7]) & m->sync_flags) &&
	       sqlite3_value_type(argv[9]) == SQLITE_NULL;
}

/* Returns the number of the amount that the event adds to, or -1, and sets how much it adds. */
static int amount_of(const struct access_map *m, uint8_t kind, sqlite3_value **argv,
		     uint64_t *amount)
{
	uint8_t class;

	if (m->place[kind] != PLACE_COMMIT && m->place[kind] != PLACE_FLUSH &&
	    (m->place[kind] != PLACE_BLOCK || m->way[kind] != 2))
		return -1;
	class = m->class[access_index(sqlite3_value_int64(argv[8]))];
	if (class == CLASS_AGAIN || access_listed(m->stacked, m->stackeds, sqlite3_value_int64(argv[2])))
		return -1;
	*amount = 1;
	if (m->place[kind] == PLACE_COMMIT)
		return 4;
	if (m->place[kind] == PLACE_FLUSH)
		return 5;
	*amount = sqlite3_value_int64(argv[6]) > 0 ? sqlite3_value_int64(argv[6]) : 0;
	return (class && class < 4 ? class : 4) - 1;
}

static void overlap_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct overlap *o = sqlite3_aggregate_context(ctx, sizeof(*o));
	uint8_t kind = access_index(sqlite3_value_int64(argv[1]));
	sqlite3_int64 ts, dur;
	uint64_t amount = 0;
	bool sync;
	int what;

	if (!o)
		return sqlite3_result_error_nomem(ctx);
	if (!o->map.ready && !o->failed)
		o->failed = access_map_read(&o->map, (const char *)sqlite3_value_text(argv[0]) ?: "");
	if (o->failed || !o->map.place[kind])
		return;
	sync = is_sync(&o->map, kind, argv);
	what = amount_of(&o->map, kind, argv, &amount);
	if ((!sync && what < 0) ||
	    access_listed(o->map.unwanted, o->map.unwanteds, sqlite3_value_int64(argv[3])))
		return;
	ts = sqlite3_value_int64(argv[4]);
	dur = sqlite3_value_int64(argv[5]);
	if (ts < 0 || dur < 0 || dur > INT64_MAX - ts || amount >> 61)
		return sqlite3_result_error(
			ctx, "overlap() wants times that are not negative, and fewer bytes", -1);
	if (sync && sqlite3_value_type(argv[5]) != SQLITE_NULL)
		add_wait(o, ts, dur);
	if (what >= 0)
		add_deed(o, ts + (what == 4 ? dur : 0), what, amount); /* a commit is done when it has ended */
}

static void overlap_final(sqlite3_context *ctx)
{
	struct overlap *o = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	struct level levels[LEVELS] = { 0 };
	char *text = NULL, before = '[';
	size_t size, d;
	FILE *out = memory_open(&text, &size);
	int i;

	o = o ? o : &none;
	if (!o->failed)
		close_waits(o);
	for (d = 0; d < o->deeds && !o->failed; d++)
		add_amount(o, o->deed[d].ts, o->deed[d].what, o->deed[d].amount);
	free(o->deed);
	o->failed |= !out || !find_levels(o, levels);
	for (i = 0; i < LEVELS && !o->failed; i++) {
		if (i && !levels[i].n)
			continue;
		print_level(out, &levels[i], i, before);
		before = ',';
	}
	if (out)
		fputc(']', out);
	if ((out && fclose(out)) || o->failed)
		sqlite3_result_error_nomem(ctx), free(text);
	else
		sqlite3_result_text64(ctx, text, size, free, SQLITE_UTF8);
	for (i = 0; i < LEVELS; i++)
		free(levels[i].dur);
	free(o->wait);
	free(o->moment);
	access_map_free(&o->map);
	memset(o, 0, sizeof(*o));
}

int overlap_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "overlap", 10, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
				       NULL, overlap_step, overlap_final);
}
