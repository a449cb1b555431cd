// SPDX-License-Identifier: GPL-3.0-only
/* sizes.c - sizes of accesses, and their places on devices over time.
 *
 * access_sizes(MAP, KIND, DEV, OWNER, BYTES, SUB, CAUSE): a JSON array of [place, way, class, low,
 * accesses, bytes, largest], where low is the power of two at which the sizes of a row begin.
 * access_cells(MAP, KIND, DEV, OWNER, TS, OFFSET, BYTES): a map of requests. The sides of its
 * cells are powers of two: nanoseconds, the same for all devices, and bytes, by device; a side
 * doubles, and neighbours become one, when requests do not fit into COLUMNS x LINES. In the end a
 * cell is at least as high as the largest request of the device, so that a request that begins in
 * it ends in it or in the next one. The result is
 * {"step_ns", "devices": [[dev, low, high, step]], "cells": [[dev, way, column, offset, requests,
 * bytes]]}. MAP classifies events (access_map.h); requests of stacked devices are left out. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access_map.h"
#include "memory.h"
#include "sizes.h"

#define COLUMNS 128
#define LINES 64
#define DEVICES_MAX 256
#define CLASSES 10
#define BITS 64

struct bucket {
	uint64_t n, bytes, largest;
};

struct sizes {
	struct access_map map;
	struct bucket *bucket;           /* [place][way][class][bits] */
	bool failed;
};

struct cell {
	uint64_t n, bytes;
};

struct disk {
	uint64_t dev, low, high, large;
	uint64_t first;                  /* line of cell[0] */
	int shift;                       /* a line is 1 << shift bytes */
	struct cell *cell;               /* [way - 1][COLUMNS][LINES] */
};

struct cells {
	struct access_map map;
	struct disk *disk;
	size_t disks;
	int shift;                       /* a column is 1 << shift nanoseconds */
	bool failed;
};

/* The place of an event that the report is about, else PLACE_NONE. */
static enum access_place wanted(const struct access_map *m, sqlite3_value **argv)
{
	enum access_place place = m->place[access_index(sqlite3_value_int64(argv[1]))];

	if (!place || access_listed(m->unwanted, m->unwanteds, sqlite3_value_int64(argv[3])))
		return PLACE_NONE;
	if (place == PLACE_BLOCK && access_listed(m->stacked, m->stackeds, sqlite3_value_int64(argv[2])))
		return PLACE_NONE;
	return place;
}

static struct bucket *bucket_of(const struct sizes *s, int place, int way, int class, int bits)
{
	return &s->bucket[((place * 3 + way) * CLASSES + class) * BITS + bits];
}

static void sizes_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct sizes *s = sqlite3_aggregate_context(ctx, sizeof(*s));
	sqlite3_int64 bytes = sqlite3_value_int64(argv[4]);
	enum access_place place;
	struct bucket *b;
	int class = 0;

	if (!s)
		return sqlite3_result_error_nomem(ctx);
	if (!s->bucket && !s->failed) {
		s->bucket = calloc((PLACE_FS + 1) * 3 * CLASSES * BITS, sizeof(*s->bucket));
		s->failed = !s->bucket ||
			    access_map_read(&s->map,
					    (const char *)sqlite3_value_text(argv[0]) ?: "");
	}
	if (s->failed || bytes <= 0)
		return;
	place = wanted(&s->map, argv);
	if (!place || place > PLACE_FS ||
	    (place == PLACE_CALLS && !s->map.on_file[access_index(sqlite3_value_int64(argv[5]))]))
		return;
	if (place == PLACE_BLOCK || place == PLACE_FS)
		class = s->map.class[access_index(sqlite3_value_int64(argv[6]))] % CLASSES;
	b = bucket_of(s, place, s->map.way[access_index(sqlite3_value_int64(argv[1]))], class,
		      63 - __builtin_clzll(bytes));
	b->n++;
	b->bytes += bytes;
	b->largest = (uint64_t)bytes > b->largest ? (uint64_t)bytes : b->largest;
}

static void print_sizes(FILE *out, const struct sizes *s)
{
	int place, way, class, bits;
	char before = '[';

	for (place = 0; s->bucket && place <= PLACE_FS; place++)
		for (way = 0; way < 3; way++)
			for (class = 0; class < CLASSES; class++)
				for (bits = 0; bits < BITS; bits++) {
					const struct bucket *b = bucket_of(s, place, way, class, bits);

					if (!b->n)
						continue;
					fprintf(out, "%c[%d,%d,%d,%llu,%llu,%llu,%llu]", before,
						place, way, class, 1ULL << bits,
						(unsigned long long)b->n,
						(unsigned long long)b->bytes,
						(unsigned long long)b->largest);
					before = ',';
				}
	fputs(before == '[' ? "[]" : "]", out);
}

/* Hands over what was printed; text and size are known when the stream is closed. */
static void answer(sqlite3_context *ctx, FILE *out, char **text, size_t *size, bool failed)
{
	if (!out || fclose(out) || failed)
		sqlite3_result_error_nomem(ctx), free(*text);
	else
		sqlite3_result_text64(ctx, *text, *size, free, SQLITE_UTF8);
}

static void sizes_final(sqlite3_context *ctx)
{
	struct sizes *s = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = memory_open(&text, &size);

	s = s ? s : &none;
	if (out)
		print_sizes(out, s);
	answer(ctx, out, &text, &size, s->failed);
	free(s->bucket);
	access_map_free(&s->map);
	s->bucket = NULL;
}

static struct cell *cell_at(const struct disk *d, int way, int column, int line)
{
	return &d->cell[((way - 1) * COLUMNS + column) * LINES + line];
}

static struct disk *disk_of(struct cells *c, uint64_t dev, uint64_t offset)
{
	struct disk *grown;
	size_t i;

	for (i = 0; i < c->disks; i++)
		if (c->disk[i].dev == dev)
			return &c->disk[i];
	grown = reallocarray(c->disk, c->disks + 1, sizeof(*grown));
	c->disk = grown ? grown : c->disk;
	c->failed |= !grown;
	if (!grown)
		return NULL;
	grown = &c->disk[c->disks];
	*grown = (struct disk){ .dev = dev,
				.low = offset,
				.high = offset,
				.first = offset >> 9,
				.shift = 9,
				.cell = calloc(2 * COLUMNS * LINES, sizeof(*grown->cell)) };
	c->failed |= !grown->cell;
	c->disks += !!grown->cell;
	return c->failed ? NULL : grown;
}

/* Lines from `first` on, of 1 << shift bytes; columns are halved with `narrow`. */
static bool redraw(struct disk *d, uint64_t first, int shift, bool narrow)
{
	struct cell *old = d->cell;
	struct disk next = *d;
	int way, column, line;

	next.cell = calloc(2 * COLUMNS * LINES, sizeof(*next.cell));
	next.first = first;
	next.shift = shift;
	for (way = 1; next.cell && way < 3; way++)
		for (column = 0; column < COLUMNS; column++)
			for (line = 0; line < LINES; line++) {
				const struct cell *from = cell_at(d, way, column, line);
				struct cell *to;

				if (!from->n)
					continue;
				to = cell_at(&next, way, narrow ? column / 2 : column,
					     ((d->first + line) >> (shift - d->shift)) - first);
				to->n += from->n;
				to->bytes += from->bytes;
			}
	if (!next.cell)
		return false;
	free(old);
	*d = next;
	return true;
}

/* Makes room for a request that begins at `offset`. */
static bool widen(struct disk *d, uint64_t offset)
{
	uint64_t low = offset < d->low ? offset : d->low,
		 last = d->low == d->high ? d->low : d->high - 1,
		 high = offset > last ? offset : last;
	int shift = d->shift;

	if (offset >> shift >= d->first && (offset >> shift) - d->first < LINES)
		return true;
	while ((high >> shift) - (low >> shift) >= LINES)
		shift++;
	return redraw(d, low >> shift, shift, false);
}

/* Makes room for a time, in all devices. */
static bool lengthen(struct cells *c, uint64_t ts)
{
	size_t i;

	for (; ts >> c->shift >= COLUMNS; c->shift++)
		for (i = 0; i < c->disks; i++)
			if (!redraw(&c->disk[i], c->disk[i].first, c->disk[i].shift, true))
				return false;
	return true;
}

static void cells_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct cells *c = sqlite3_aggregate_context(ctx, sizeof(*c));
	sqlite3_int64 ts = sqlite3_value_int64(argv[4]), offset = sqlite3_value_int64(argv[5]),
		      bytes = sqlite3_value_int64(argv[6]);
	struct cell *cell;
	struct disk *d;

	if (!c)
		return sqlite3_result_error_nomem(ctx);
	if (!c->map.ready && !c->failed)
		c->failed = access_map_read(&c->map, (const char *)sqlite3_value_text(argv[0]) ?: "");
	if (c->failed || bytes <= 0 || wanted(&c->map, argv) != PLACE_BLOCK)
		return;
	if (ts < 0 || offset < 0 || bytes > INT64_MAX - offset)
		return sqlite3_result_error(ctx, "a request is at no time or place", -1);
	d = disk_of(c, sqlite3_value_int64(argv[2]), offset);
	if (!d)
		return;
	if (c->disks > DEVICES_MAX)
		return sqlite3_result_error(
			ctx, "requests of more than 256 devices: a map has no room for them", -1);
	c->failed |= !widen(d, offset) || !lengthen(c, ts);
	if (c->failed)
		return;
	d->low = (uint64_t)offset < d->low ? (uint64_t)offset : d->low;
	d->high = (uint64_t)(offset + bytes) > d->high ? (uint64_t)(offset + bytes) : d->high;
	d->large = (uint64_t)bytes > d->large ? (uint64_t)bytes : d->large;
	cell = cell_at(d, c->map.way[access_index(sqlite3_value_int64(argv[1]))], ts >> c->shift,
		       (offset >> d->shift) - d->first);
	cell->n++;
	cell->bytes += bytes;
}

static void print_cells(FILE *out, const struct disk *d, char *before)
{
	int way, column, line;

	for (way = 1; way < 3; way++)
		for (column = 0; column < COLUMNS; column++)
			for (line = 0; line < LINES; line++) {
				const struct cell *c = cell_at(d, way, column, line);

				if (!c->n)
					continue;
				fprintf(out, "%c[%llu,%d,%d,%llu,%llu,%llu]", *before,
					(unsigned long long)d->dev, way, column,
					(unsigned long long)((d->first + line) << d->shift),
					(unsigned long long)c->n, (unsigned long long)c->bytes);
				*before = ',';
			}
}

static void cells_final(sqlite3_context *ctx)
{
	struct cells *c = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL, before = ' ';
	size_t size, i;
	FILE *out = memory_open(&text, &size);

	c = c ? c : &none;
	if (out)
		fprintf(out, "{\"step_ns\":%llu,\"devices\":[", 1ULL << c->shift);
	for (i = 0; out && i < c->disks && !c->failed; i++) {
		struct disk *d = &c->disk[i];
		int shift = d->shift;

		while (1ULL << shift < d->large)
			shift++;
		c->failed |= !redraw(d, d->first >> (shift - d->shift), shift, false);
		fprintf(out, "%s[%llu,%llu,%llu,%llu]", i ? "," : "", (unsigned long long)d->dev,
			(unsigned long long)d->low, (unsigned long long)d->high, 1ULL << d->shift);
	}
	if (out)
		fputs("],\"cells\":[", out);
	for (i = 0; out && i < c->disks && !c->failed; i++)
		print_cells(out, &c->disk[i], &before);
	if (out)
		fputs("]}", out);
	answer(ctx, out, &text, &size, c->failed);
	for (i = 0; i < c->disks; i++)
		free(c->disk[i].cell);
	free(c->disk);
	access_map_free(&c->map);
	memset(c, 0, sizeof(*c));
}

int sizes_register(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;

	return sqlite3_create_function(db, "access_sizes", 7, flags, NULL, NULL, sizes_step,
				       sizes_final) ?:
	       sqlite3_create_function(db, "access_cells", 7, flags, NULL, NULL, cells_step,
				       cells_final);
}
