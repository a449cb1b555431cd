// SPDX-License-Identifier: GPL-3.0-only
/* fold.c - fold(N, K1..KN, S1..SM, X): rows that have the same N keys become one, their S are summed and of their X the largest is kept.
 *
 * SQLite sorts rows to group them, and reports begin by folding a run's aggregates, which may be a million: a hash table is
 * more than twice as fast. It is for results of few rows: they are one value, whose length the opener limits. Keys and sums
 * are integers or NULL. The result is a JSON array of arrays [K1, .., KN, S1, .., SM, X]: json_each() makes rows of it again.
 * As in SUM(), NULL is not summed, a sum of nothing is NULL, and one beyond 64 bits is an error.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fold.h"
#include "memory.h"

#define FOLD_MAX 24 /* keys and sums */

/* One value; NULL has its own mark, so that 0 is not NULL. */
struct value {
	int64_t n;
	bool there;
};

struct fold {
	int keys, width;        /* values in a row, keys first */
	struct value *rows;
	size_t n, room;         /* rows */
	uint32_t *slot;         /* number of a row + 1, 0: free; open addressing, twice `room` */
};

static uint64_t hash(const struct value *v, int keys)
{
	uint64_t h = keys;

	for (; keys; v++, keys--)
		h = (h ^ (v->there ? (uint64_t)v->n + 1 : 0)) * 0x9e3779b97f4a7c15ULL, h ^= h >> 32;
	return h;
}

static bool same(const struct value *a, const struct value *b, int keys)
{
	for (; keys; a++, b++, keys--)
		if (a->n != b->n || a->there != b->there)
			return false;
	return true;
}

static uint32_t *slot_of(struct fold *f, const struct value *v)
{
	size_t mask = 2 * f->room - 1, i = hash(v, f->keys) & mask;

	while (f->slot[i] && !same(&f->rows[(f->slot[i] - 1) * f->width], v, f->keys))
		i = (i + 1) & mask;
	return &f->slot[i];
}

static bool enlarge(struct fold *f)
{
	size_t room = f->room ? 2 * f->room : 256, i;
	struct value *rows = reallocarray(f->rows, room * f->width, sizeof(*rows));
	uint32_t *slot = rows ? calloc(2 * room, sizeof(*slot)) : NULL;

	f->rows = rows ? rows : f->rows;
	if (!slot)
		return false;
	free(f->slot);
	f->slot = slot;
	f->room = room;
	for (i = 0; i < f->n; i++)
		*slot_of(f, &f->rows[i * f->width]) = i + 1;
	return true;
}

/* Adds `from` to `to`; false: beyond 64 bits. */
static bool add(struct value *to, const struct value *from)
{
	if (!from->there)
		return true;
	to->there = true;
	return !__builtin_add_overflow(to->n, from->n, &to->n);
}

static const char *fold_row(struct fold *f, const struct value *v)
{
	struct value *row;
	uint32_t *slot;
	int i;

	if (f->n == f->room && !enlarge(f))
		return "no memory";
	slot = slot_of(f, v);
	if (!*slot) {
		memcpy(&f->rows[f->n * f->width], v, f->width * sizeof(*v));
		*slot = ++f->n;
		return NULL;
	}
	row = &f->rows[(*slot - 1) * f->width];
	for (i = f->keys; i < f->width - 1; i++)
		if (!add(&row[i], &v[i]))
			return "integer overflow";
	if (v[i].there && (!row[i].there || v[i].n > row[i].n))
		row[i] = v[i];
	return NULL;
}

static void fold_free(struct fold *f)
{
	free(f->rows);
	free(f->slot);
	memset(f, 0, sizeof(*f));
}

static void fold_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct fold *f = sqlite3_aggregate_context(ctx, sizeof(*f));
	struct value v[FOLD_MAX];
	const char *wrong;
	int i;

	if (!f)
		return sqlite3_result_error_nomem(ctx);
	if (!f->width) {
		f->keys = sqlite3_value_int(argv[0]);
		f->width = argc - 1;
	}
	if (f->width > FOLD_MAX || f->keys < 1 || f->keys >= f->width)
		return sqlite3_result_error(ctx, "fold() wants 1 to 22 keys, and what is folded", -1);
	for (i = 0; i < f->width; i++) {
		v[i].there = sqlite3_value_type(argv[i + 1]) != SQLITE_NULL;
		v[i].n = v[i].there ? sqlite3_value_int64(argv[i + 1]) : 0;
	}
	wrong = fold_row(f, v);
	if (wrong)
		sqlite3_result_error(ctx, wrong, -1);
}

static void print_row(FILE *out, const struct value *v, int width)
{
	int i;

	for (i = 0; i < width; i++)
		v[i].there ? fprintf(out, "%c%lld", i ? ',' : '[', (long long)v[i].n) : fprintf(out, "%cnull", i ? ',' : '[');
	fputc(']', out);
}

static void fold_final(sqlite3_context *ctx)
{
	struct fold *f = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL;
	size_t size, i;
	FILE *out = memory_open(&text, &size);

	f = f ? f : &none;
	if (out) {
		for (i = 0; i < f->n; i++) {
			fputc(i ? ',' : '[', out);
			print_row(out, &f->rows[i * f->width], f->width);
		}
		fputs(f->n ? "]" : "[]", out);
	}
	fold_free(f);
	if (!out || fclose(out))
		return sqlite3_result_error_nomem(ctx);
	sqlite3_result_text64(ctx, text, size, free, SQLITE_UTF8);
}

int fold_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "fold", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, fold_step, fold_final);
}
