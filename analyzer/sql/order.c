// SPDX-License-Identifier: GPL-3.0-only
/* order.c - access_order(MAP, KIND, DEV, OWNER, FILE, TID, TS, OFFSET, BYTES, SUB, CAUSE): which accesses begin where one before them ended.
 *
 * One row of it is one event, of which MAP (access_map.h) says what it is, in the order of arrival, which is nearly that of time: the last HELD
 * are sorted by when they began (those of one moment by offset), so that what completes late is in its place. A stream is
 *   PLACE 1 (calls), 2 (VFS): what one owner does in one direction to one file. Sequential: where the stream's previous access ended, or that of
 *     the same thread in it, so that threads that share a file each have their own order, and threads that share the work one.
 *   PLACE 3 (block): the requests of a device of one direction and class; and, as PLACE 4 (device), all requests of the device, as its head
 *     or its firmware sees them.
 * What is first in its stream, of no known file, or older than what was judged already is not judged. SQLite's own window functions sort all
 * events; this takes each once, in memory that grows with the streams. The result is a JSON array of arrays
 * [place, way, class, dev, owner, file, accesses, bytes, sequential, bytes of these, not judged]; files beyond the FILES_MAX rows with most bytes
 * are file -1.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access_map.h"
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
	struct key key;
	uint32_t n, sequential, unjudged;
	uint32_t stream, head, head_row; /* rows that hold where the streams are, and count for the device */
	uint32_t tid;                    /* whose access was the last one */
	bool begun, shared;              /* shared: several threads, whose ends are in `threads` */
	uint64_t bytes, sequential_bytes, end, ts;
};

struct access {
	uint64_t ts, offset, bytes;
	uint32_t row, tid;
};

/* Where a thread's last access of a stream ended. */
struct thread {
	uint32_t row, tid;
	uint64_t end;
};

struct order {
	struct access_map map;
	struct row *rows;
	uint32_t *slot;                  /* number of a row + 1, 0: free; open addressing, twice `room` */
	size_t n, room;
	struct thread *threads;          /* open addressing; tid 0: free */
	size_t nthreads, thread_room;
	struct access *held;             /* a ring, oldest first */
	size_t first, nheld;
	bool failed;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static uint64_t hash(const struct key *k)
{
	return mix(mix(mix(k->place << 16 | k->way << 8 | k->class, k->dev), k->owner), k->file);
}

static uint32_t *slot_of(struct order *o, const struct key *k)
{
	size_t mask = 2 * o->room - 1, i = hash(k) & mask;

	while (o->slot[i] && memcmp(&o->rows[o->slot[i] - 1].key, k, sizeof(*k)))
		i = (i + 1) & mask;
	return &o->slot[i];
}

static bool enlarge(struct order *o)
{
	size_t room = o->room ? 2 * o->room : 256, i;
	struct row *rows = reallocarray(o->rows, room, sizeof(*rows));
	uint32_t *slot = rows ? calloc(2 * room, sizeof(*slot)) : NULL;

	o->rows = rows ? rows : o->rows;
	o->failed |= !slot || room > ANY / 4;
	if (o->failed) {
		free(slot);
		return false;
	}
	free(o->slot);
	o->slot = slot;
	o->room = room;
	for (i = 0; i < o->n; i++)
		*slot_of(o, &o->rows[i].key) = i + 1;
	return true;
}

/* Number of the row, made where it is new; what it refers to is set by link_row(). ANY: no memory. */
static uint32_t row_of(struct order *o, const struct key *k, bool *fresh)
{
	uint32_t *slot;

	if (o->n == o->room && !enlarge(o))
		return ANY;
	slot = slot_of(o, k);
	*fresh = !*slot;
	if (*fresh) {
		o->rows[o->n] = (struct row){ .key = *k, .stream = o->n, .head = ANY, .head_row = ANY };
		*slot = ++o->n;
	}
	return *slot - 1;
}

/* A row of requests has the stream of its class, and the device's. */
static uint32_t linked_row(struct order *o, const struct key *k)
{
	bool fresh, ignored;
	uint32_t row = row_of(o, k, &fresh), stream, head, head_row;

	if (row == ANY || !fresh || k->place != PLACE_BLOCK)
		return row;
	stream = row_of(o, &(struct key){ STREAM, k->way, k->class, k->dev, ANY, ANY }, &ignored);
	head = row_of(o, &(struct key){ STREAM, ANY, ANY, k->dev, ANY, ANY }, &ignored);
	head_row = row_of(o, &(struct key){ PLACE_DEVICE, k->way, 0, k->dev, 0, 0 }, &ignored);
	if (o->failed)
		return ANY;
	o->rows[row].stream = stream;
	o->rows[row].head = head;
	o->rows[row].head_row = head_row;
	return row;
}

static struct thread *thread_slot(struct order *o, uint32_t row, uint32_t tid)
{
	size_t mask = o->thread_room - 1, i = mix(row, tid) & mask;

	while (o->threads[i].tid && (o->threads[i].row != row || o->threads[i].tid != tid))
		i = (i + 1) & mask;
	return &o->threads[i];
}

static bool more_threads(struct order *o)
{
	struct thread *old = o->threads;
	size_t room = o->thread_room, i;

	o->threads = calloc(room ? 2 * room : 256, sizeof(*old));
	o->failed |= !o->threads;
	if (o->failed) {
		o->threads = old;
		return false;
	}
	o->thread_room = room ? 2 * room : 256;
	for (i = 0; i < room; i++)
		if (old[i].tid)
			*thread_slot(o, old[i].row, old[i].tid) = old[i];
	free(old);
	return true;
}

/* Where the thread's last access ended, which is now `end`; false: it is its first one. */
static bool thread_end(struct order *o, uint32_t row, uint32_t tid, uint64_t end, uint64_t *before)
{
	struct thread *t;
	bool known;

	if (2 * o->nthreads >= o->thread_room && !more_threads(o))
		return false;
	t = thread_slot(o, row, tid);
	known = t->tid;
	*before = t->end;
	o->nthreads += !known;
	*t = (struct thread){ row, tid, end };
	return known;
}

/* Does the access begin where the stream is? It then is where the access ends. -1: not known. */
static int follow(struct order *o, uint32_t number, const struct access *a)
{
	struct row *s = &o->rows[number];
	uint64_t end = a->offset + a->bytes, own = 0;
	bool first = !s->begun, here = s->end == a->offset, known = false;

	if (!first && a->ts < s->ts)
		return -1;
	if (a->tid && !first && s->tid && s->tid != a->tid && !s->shared) {
		thread_end(o, number, s->tid, s->end, &own);
		s->shared = true;
	}
	if (s->shared && a->tid)
		known = thread_end(o, number, a->tid, end, &own);
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
	struct row *r = &o->rows[a->row];
	struct access all = *a;

	all.tid = r->key.place == PLACE_BLOCK ? 0 : a->tid;
	count(r, a, r->key.place != PLACE_BLOCK && !r->key.file ? -1 : follow(o, r->stream, &all));
	if (r->head != ANY)
		count(&o->rows[r->head_row], a, follow(o, r->head, &all));
}

/* Behind what began before it. */
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
		if (o->held[before].ts < a->ts || (o->held[before].ts == a->ts && o->held[before].offset <= a->offset))
			break;
		o->held[at] = o->held[before];
	}
	o->held[(o->first + i) % HELD] = *a;
}

static void order_free(struct order *o)
{
	free(o->rows);
	free(o->slot);
	free(o->threads);
	free(o->held);
	access_map_free(&o->map);
	memset(o, 0, sizeof(*o));
}

/* What the event is; false: nothing that is looked at. *bad: a number is beyond its field. */
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
	*k = (struct key){ .place = m->place[kind], .way = m->way[kind], .dev = dev, .owner = owner, .file = file };
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
		o->failed |= !o->held || access_map_read(&o->map, (const char *)sqlite3_value_text(argv[0]) ?: "");
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

static int larger(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->bytes != y->bytes ? x->bytes < y->bytes ? 1 : -1 : memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Files beyond the largest are one for each of the other keys. */
static void fold_files(struct order *o)
{
	struct row *all = o->rows;
	size_t n = o->n, i;

	if (n)
		qsort(all, n, sizeof(*all), larger);
	free(o->slot);
	o->slot = NULL;
	o->rows = NULL;
	o->n = o->room = 0;
	for (i = 0; i < n && !o->failed; i++) {
		struct row *r, *from = &all[i];
		bool fresh;
		uint32_t row;

		if (from->key.place == STREAM)
			continue;
		if (o->n >= FILES_MAX && from->key.place != PLACE_DEVICE)
			from->key.file = ANY;
		row = row_of(o, &from->key, &fresh);
		if (row == ANY)
			break;
		r = &o->rows[row];
		r->n += from->n;
		r->bytes += from->bytes;
		r->sequential += from->sequential;
		r->sequential_bytes += from->sequential_bytes;
		r->unjudged += from->unjudged;
	}
	free(all);
}

static void print_row(FILE *out, const struct row *r, char before)
{
	const struct key *k = &r->key;

	fprintf(out, "%c[%u,%u,%u,%u,%u,%lld,%u,%llu,%u,%llu,%u]", before, k->place, k->way, k->class, k->dev, k->owner, k->file == ANY ? -1LL : k->file,
		r->n, (unsigned long long)r->bytes, r->sequential, (unsigned long long)r->sequential_bytes, r->unjudged);
}

static void order_final(sqlite3_context *ctx)
{
	struct order *o = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL;
	size_t size, i;
	FILE *out = memory_open(&text, &size);

	o = o ? o : &none;
	for (; o->nheld && !o->failed; o->nheld--, o->first = (o->first + 1) % HELD)
		judge(o, &o->held[o->first]);
	fold_files(o);
	for (i = 0; out && i < o->n; i++)
		print_row(out, &o->rows[i], i ? ',' : '[');
	if (out)
		fputs(o->n ? "]" : "[]", out);
	if (!out || fclose(out) || o->failed)
		sqlite3_result_error_nomem(ctx), free(text);
	else
		sqlite3_result_text64(ctx, text, size, free, SQLITE_UTF8);
	order_free(o);
}

int order_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "access_order", 11, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, order_step, order_final);
}
