// SPDX-License-Identifier: GPL-3.0-only
/* fold.c - fold(N, K1..KN, S1..SM, X): rows that have the same N keys become one, their S are summed and of their X the largest is kept;
 * unfold(ROWS): these rows again, as columns c0, c1, ... in that order.
 *
 * SQLite sorts rows to group them, and reports begin by folding a run's aggregates, which may be a million: a hash table is
 * more than twice as fast. It is for results of few rows: they are one value, whose length the opener limits. Keys and sums
 * are integers or NULL. ROWS has, of each row, the values that are there as bits of a number, then these values, all of them
 * with seven bits a byte, the lowest first. As in SUM(), NULL is not summed, a sum of nothing is NULL, and one beyond 64 bits is an error.
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

static void put_number(FILE *out, uint64_t n)
{
	for (; n > 127; n >>= 7)
		putc_unlocked((n & 127) | 128, out);
	putc_unlocked(n, out);
}

static void put_row(FILE *out, const struct value *v, int width)
{
	uint64_t there = 0;
	int i;

	for (i = 0; i < width; i++)
		there |= (uint64_t)v[i].there << i;
	put_number(out, there);
	for (i = 0; i < width; i++)
		if (v[i].there)
			put_number(out, (uint64_t)v[i].n << 1 ^ (uint64_t)(v[i].n >> 63)); /* so that -1 is short too */
}

static void fold_final(sqlite3_context *ctx)
{
	struct fold *f = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL;
	size_t size, i;
	FILE *out = memory_open(&text, &size);

	f = f ? f : &none;
	for (i = 0; out && i < f->n; i++)
		put_row(out, &f->rows[i * f->width], f->width);
	fold_free(f);
	if (!out || fclose(out))
		return sqlite3_result_error_nomem(ctx);
	sqlite3_result_blob64(ctx, text, size, free);
}

/* ---- unfold() ---- */

struct cursor {
	sqlite3_vtab_cursor base;
	unsigned char *rows;
	size_t at, size;
	sqlite3_int64 number;
	struct value value[FOLD_MAX];
	bool over;
};

static int unfold_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,folded HIDDEN)");

	*out = rc == SQLITE_OK ? calloc(1, sizeof(**out)) : NULL;
	if (!*out)
		return rc ?: SQLITE_NOMEM;
	sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	return SQLITE_OK;
}

static int unfold_disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

/* It wants its argument, and knows nothing else of what is asked for. */
static int unfold_best(sqlite3_vtab *t, sqlite3_index_info *info)
{
	int i;

	for (i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != FOLD_MAX || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = 1;
	}
	info->estimatedRows = 10000;
	info->estimatedCost = 10000;
	return SQLITE_OK;
}

static int unfold_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	*out = &c->base;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static int unfold_close(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	free(c->rows);
	free(c);
	return SQLITE_OK;
}

static uint64_t take_number(struct cursor *c)
{
	uint64_t n = 0, byte = 128;
	int shift;

	for (shift = 0; shift < 64 && (byte & 128) && c->at < c->size; shift += 7) {
		byte = c->rows[c->at++];
		n |= (byte & 127) << shift;
	}
	return n;
}

static int unfold_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	uint64_t there, n;
	int i;

	c->over = c->at >= c->size;
	if (c->over)
		return SQLITE_OK;
	there = take_number(c);
	for (i = 0; i < FOLD_MAX; i++) {
		c->value[i].there = there >> i & 1;
		n = c->value[i].there ? take_number(c) : 0;
		c->value[i].n = (int64_t)(n >> 1 ^ -(n & 1));
	}
	c->number++;
	return SQLITE_OK;
}

static int unfold_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const void *rows = argc ? sqlite3_value_blob(argv[0]) : NULL;

	free(c->rows);
	c->size = rows ? sqlite3_value_bytes(argv[0]) : 0;
	c->rows = malloc(c->size + 1);
	c->at = c->number = 0;
	if (!c->rows)
		return SQLITE_NOMEM;
	if (rows)
		memcpy(c->rows, rows, c->size);
	return unfold_next(base);
}

static int unfold_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->over;
}

static int unfold_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int col)
{
	const struct cursor *c = (struct cursor *)base;

	if (col < FOLD_MAX && c->value[col].there)
		sqlite3_result_int64(ctx, c->value[col].n);
	return SQLITE_OK;
}

static int unfold_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module unfold = {
	.xConnect = unfold_connect, .xBestIndex = unfold_best, .xDisconnect = unfold_disconnect, .xOpen = unfold_open, .xClose = unfold_close,
	.xFilter = unfold_filter, .xNext = unfold_next, .xEof = unfold_eof, .xColumn = unfold_column, .xRowid = unfold_rowid,
};

int fold_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "fold", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, fold_step, fold_final) ?:
	       sqlite3_create_module(db, "unfold", &unfold, NULL);
}
