// SPDX-License-Identifier: GPL-3.0-only
/* order.c - access_order(MAP, KIND, DEV, OWNER, FILE, TID, TS, OFFSET, BYTES, SUB, CAUSE):
 * accesses that begin where one before them ended.
 *
 * Each row is an event, classified by MAP (access_map.h). Rows come in the order of completion,
 * which is nearly that of time: the last HELD are sorted by when they began (those of the same
 * time by offset). A stream is PLACE 1 (calls), 2 (VFS): the accesses of one owner in one
 * direction to one file. An access is sequential when it begins where the stream's previous access
 * ended, or where that of the same thread ended: threads that share a file each have their own
 * order, and threads that share the work have one. PLACE 3 (block): the requests of a device of
 * one direction and class; and, as PLACE 4 (device), all requests of the device, as its head or
 * its firmware sees them. The first access of a stream, those of no known file, and those older
 * than one that was judged are not judged. SQLite's own window functions sort all events; this
 * takes each once, in memory that grows with the streams. The result is a JSON array of arrays
 * [place, way, class, dev, owner, file, accesses, bytes, sequential, bytes of these, not judged];
 * files beyond the FILES_MAX rows with most bytes are file -1. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access_map.h"
#include "hash.h"
#include "memory.h"
#include "order.h"

#define HELD (1 << 14)
#define FILES_MAX 20000
#define ANY UINT32_MAX

enum { STREAM = 99 };    /* a place that is in no answer */

struct key {
	uint32_t place, way, class, dev, owner, file;
};

struct row {
	UT_hash_handle hh;
	struct key key;
	uint32_t number;                 /* of the rows, in the order in which they were made */
	uint32_t n, sequential, unjudged;
	struct row
		*stream; /* holds where the stream of this row is: itself, or that of its class */
	struct row *head, *head_row;     /* of requests: the stream of the device, and the row that
					    counts for it */
	uint32_t tid;                    /* thread of the last access */
	bool begun, shared;              /* shared: several threads, whose ends are in `threads` */
	uint64_t bytes, sequential_bytes, end, ts;
};

struct access {
	uint64_t ts, offset, bytes;
	struct row *row;
	uint32_t tid;
};

/* The end of a thread's last access in a stream. */
struct thread {
	UT_hash_handle hh;
	struct { uint32_t row, tid; } key;
	uint64_t end;
};

struct order {
	struct access_map map;
	struct row *rows;
	struct thread *threads;
	struct access *held;             /* a ring, oldest first */
	size_t first, nheld;
	bool failed;
};

/* The row of that key, made where it is new; linked_row() sets what it refers to. NULL: no memory. */
static struct row *row_of(struct order *o, const struct key *k, bool *fresh)
{
	struct row *r;

	HASH_FIND(hh, o->rows, k, sizeof(*k), r);
	*fresh = !r;
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->key = *k;
		r->number = HASH_COUNT(o->rows);
		r->stream = r;
	}
	HASH_PUT(o->rows, key, sizeof(r->key), r);
	o->failed |= !r;
	return r;
}

/* A row of requests has the stream of its class, and the device's. */
static struct row *linked_row(struct order *o, const struct key *k)
{
	bool fresh, ignored;
	struct row *row = row_of(o, k, &fresh);

	if (!row || !fresh || k->place != PLACE_BLOCK)
		return row;
	row->stream = row_of(o, &(struct key){ STREAM, k->way, k->class, k->dev, ANY, ANY }, &ignored);
	row->head = row_of(o, &(struct key){ STREAM, ANY, ANY, k->dev, ANY, ANY }, &ignored);
	row->head_row = row_of(o, &(struct key){ PLACE_DEVICE, k->way, 0, k->dev, 0, 0 }, &ignored);
	return o->failed ? NULL : row;
}

/* Sets the end of the thread's last access in the stream, and *before to the end of the one
 * before; false: there is none. */
static bool thread_end(struct order *o, const struct row *row, uint32_t tid, uint64_t end,
		       uint64_t *before)
{
	struct thread *t, new = { .key = { row->number, tid } };
	bool known;

	HASH_FIND(hh, o->threads, &new.key, sizeof(new.key), t);
	known = t;
	if (!t) {
		t = malloc(sizeof(*t));
		if (t)
			*t = new;
		HASH_PUT(o->threads, key, sizeof(t->key), t);
		o->failed |= !t;
		if (!t)
			return false;
	}
	*before = t->end;
	t->end = end;
	return known;
}

/* Does the access begin where the stream ended? The stream then ends where the access does. -1:
 * not known. */
static int follow(struct order *o, struct row *s, const struct access *a)
{
	uint64_t end = a->offset + a->bytes, own = 0;
	bool first = !s->begun, here = s->end == a->offset, known = false;

	if (!first && a->ts < s->ts)
		return -1;
	if (a->tid && !first && s->tid && s->tid != a->tid && !s->shared) {
		thread_end(o, s, s->tid, s->end, &own);
		s->shared = true;
	}
	if (s->shared && a->tid)
		known = thread_end(o, s, a->tid, end, &own);
	s->begun = true;
	s->end = end;
	s->ts = a->ts;
	s->tid = a->tid;
	return first ? -1 : here || (known && own == a->offset);
}

static void count(struct row *r, const struct access *a, int verdict)
{
	r->n++;
	r->bytes += a->bytes;
	r->unjudged += verdict < 0;
	if (verdict > 0) {
		r->sequential++;
		r->sequential_bytes += a->bytes;
	}
}

static void judge(struct order *o, const struct access *a)
{
	struct row *r = a->row;
	struct access all = *a;

	all.tid = r->key.place == PLACE_BLOCK ? 0 : a->tid;
	count(r, a, r->key.place != PLACE_BLOCK && !r->key.file ? -1 : follow(o, r->stream, &all));
	if (r->head)
		count(r->head_row, a, follow(o, r->head, &all));
}

/* Puts an access behind those that began before it. */
static void hold(struct order *o, const struct access *a)
{
	size_t i, at, before;

	if (o->nheld == HELD) {
		judge(o, &o->held[o->first]);
		o->first = (o->first + 1) % HELD;
		o->nheld--;
	}
	for (i = o->nheld++; i; i--) {
		at = (o->first + i) % HELD;
		before = (o->first + i - 1) % HELD;
		if (o->held[before].ts < a->ts ||
		    (o->held[before].ts == a->ts && o->held[before].offset <= a->offset))
			break;
		o->held[at] = o->held[before];
	}
	o->held[(o->first + i) % HELD] = *a;
}

static void order_free(struct order *o)
{
	HASH_FREE(o->rows);
	HASH_FREE(o->threads);
	free(o->held);
	access_map_free(&o->map);
	memset(o, 0, sizeof(*o));
}

/* Classifies an event; false: it is not looked at. *bad: a number is beyond its field. */
static bool take_key(const struct access_map *m, sqlite3_value **argv, struct key *k, bool *bad)
{
	uint8_t kind = access_index(sqlite3_value_int64(argv[1]));
	sqlite3_int64 dev, owner = sqlite3_value_int64(argv[3]), file = sqlite3_value_int64(argv[4]);

	if (!m->place[kind] || m->place[kind] > PLACE_BLOCK)
		return false;
	if (m->place[kind] == PLACE_CALLS && !m->on_file[access_index(sqlite3_value_int64(argv[9]))])
		return false;
	dev = m->place[kind] == PLACE_BLOCK ? sqlite3_value_int64(argv[2]) : 0;
	*bad = dev < 0 || dev >= ANY || owner < 0 || owner >= ANY || file < 0 || file >= ANY;
	*k = (struct key){ .place = m->place[kind],
			   .way = m->way[kind],
			   .dev = dev,
			   .owner = owner,
			   .file = file };
	if (k->place == PLACE_BLOCK)
		k->class = m->class[access_index(sqlite3_value_int64(argv[10]))];
	return true;
}

static void order_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct order *o = sqlite3_aggregate_context(ctx, sizeof(*o));
	sqlite3_int64 bytes = sqlite3_value_int64(argv[8]);
	struct access a = { .bytes = bytes };
	bool bad = false;
	struct key k;

	if (!o)
		return sqlite3_result_error_nomem(ctx);
	if (bytes <= 0 || o->failed)
		return;
	if (!o->held) {
		o->held = calloc(HELD, sizeof(*o->held));
		o->failed |= !o->held ||
			     access_map_read(&o->map,
					     (const char *)sqlite3_value_text(argv[0]) ?: "");
	}
	if (o->failed || !take_key(&o->map, argv, &k, &bad))
		return;
	if (bad)
		return sqlite3_result_error(ctx, "a number of an event is beyond its field", -1);
	a.tid = sqlite3_value_int64(argv[5]);
	a.ts = sqlite3_value_int64(argv[6]);
	a.offset = sqlite3_value_int64(argv[7]);
	a.row = linked_row(o, &k);
	if (!o->failed)
		hold(o, &a);
}

static int larger(const struct row *x, const struct row *y)
{
	return x->bytes != y->bytes ? x->bytes < y->bytes ? 1 : -1 :
				      memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Files beyond the largest become one for each of the other keys. */
static void fold_files(struct order *o)
{
	struct row *all = o->rows, *from, *r;
	bool fresh;

	HASH_SRT(hh, all, larger);
	o->rows = NULL;
	for (from = all; from && !o->failed; from = from->hh.next) {
		if (from->key.place == STREAM)
			continue;
		if (HASH_COUNT(o->rows) >= FILES_MAX && from->key.place != PLACE_DEVICE)
			from->key.file = ANY;
		r = row_of(o, &from->key, &fresh);
		if (!r)
			break;
		r->n += from->n;
		r->bytes += from->bytes;
		r->sequential += from->sequential;
		r->sequential_bytes += from->sequential_bytes;
		r->unjudged += from->unjudged;
	}
	HASH_FREE(all);
}

static void print_row(FILE *out, const struct row *r, char before)
{
	const struct key *k = &r->key;

	fprintf(out, "%c[%u,%u,%u,%u,%u,%lld,%u,%llu,%u,%llu,%u]", before, k->place, k->way,
		k->class, k->dev, k->owner, k->file == ANY ? -1LL : k->file, r->n,
		(unsigned long long)r->bytes, r->sequential,
		(unsigned long long)r->sequential_bytes, r->unjudged);
}

static void order_final(sqlite3_context *ctx)
{
	struct order *o = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	struct row *row;
	char *text = NULL;
	size_t size;
	FILE *out = memory_open(&text, &size);

	o = o ? o : &none;
	for (; o->nheld && !o->failed; o->nheld--, o->first = (o->first + 1) % HELD)
		judge(o, &o->held[o->first]);
	fold_files(o);
	for (row = o->rows; out && row; row = row->hh.next)
		print_row(out, row, row == o->rows ? '[' : ',');
	if (out)
		fputs(o->rows ? "]" : "[]", out);
	if (!out || fclose(out) || o->failed)
		sqlite3_result_error_nomem(ctx), free(text);
	else
		sqlite3_result_text64(ctx, text, size, free, SQLITE_UTF8);
	order_free(o);
}

int order_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "access_order", 11, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       NULL, NULL, order_step, order_final);
}
