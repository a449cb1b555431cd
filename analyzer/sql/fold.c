// SPDX-License-Identifier: GPL-3.0-only
/* fold.c - two functions for grouping.
 *
 * fold(N, K1..KN, S1..SM, X): rows that have the same N keys become one; their S are summed, and
 * of their X the largest is kept. unfold(ROWS): these rows as a table with the columns c0, c1, ...
 * in that order.
 *
 * SQLite sorts rows to group them, and reports begin by folding a run's aggregates, which may be a
 * million: a hash table is more than twice as fast. It is for results of few rows, because all of
 * them are one value, whose length the opener limits. Keys and sums are integers or NULL. ROWS
 * holds for each row a number whose bits say which values are not NULL, then these values, all
 * with seven bits a byte, the lowest first. As in SUM(), NULL is not summed, a sum of nothing is
 * NULL, and one beyond 64 bits is an error. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fold.h"
#include "hash.h"
#include "memory.h"

#define FOLD_MAX 24 /* keys and sums */

/* Rows of one fold() have the same number of values. The key of the table is what `value` begins
 * with: the bits of the keys that are there, and the keys; NULL is 0 there. */
struct row {
	UT_hash_handle hh;
	uint64_t there;         /* a bit a value that is not NULL, keys first */
	int64_t value[];        /* bits of keys, keys, sums */
};

struct fold {
	int keys, width;        /* values in a row, without the bits */
	struct row *rows;       /* in the order in which they came */
};

/* Adds `n` to a sum, which is value number `i` of the row; false: beyond 64 bits. */
static bool add(struct row *row, int i, int64_t n)
{
	row->there |= 1ULL << i;
	return !__builtin_add_overflow(row->value[i + 1], n, &row->value[i + 1]);
}

static const char *fold_row(struct fold *f, uint64_t there, const int64_t *value)
{
	size_t key = (f->keys + 1) * sizeof(*value), size = (f->width + 1) * sizeof(*value);
	int i, last = f->width - 1;
	struct row *row;

	HASH_FIND(hh, f->rows, value, key, row);
	if (!row) {
		row = malloc(sizeof(*row) + size);
		if (row) {
			row->there = there;
			memcpy(row->value, value, size);
		}
		HASH_PUT(f->rows, value[0], key, row);
		return row ? NULL : "no memory";
	}
	for (i = f->keys; i < last; i++)
		if (there >> i & 1 && !add(row, i, value[i + 1]))
			return "integer overflow";
	if (there >> last & 1 && (!(row->there >> last & 1) || value[last + 1] > row->value[last + 1])) {
		row->there |= 1ULL << last;
		row->value[last + 1] = value[last + 1];
	}
	return NULL;
}

static void fold_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct fold *f = sqlite3_aggregate_context(ctx, sizeof(*f));
	int64_t value[FOLD_MAX + 1];
	uint64_t there = 0;
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
		bool is_there = sqlite3_value_type(argv[i + 1]) != SQLITE_NULL;

		there |= (uint64_t)is_there << i;
		value[i + 1] = is_there ? sqlite3_value_int64(argv[i + 1]) : 0;
	}
	value[0] = there & ((1ULL << f->keys) - 1);
	wrong = fold_row(f, there, value);
	if (wrong)
		sqlite3_result_error(ctx, wrong, -1);
}

static void put_number(FILE *out, uint64_t n)
{
	for (; n > 127; n >>= 7)
		putc_unlocked((n & 127) | 128, out);
	putc_unlocked(n, out);
}

static void put_row(FILE *out, const struct row *row, int width)
{
	int i;

	put_number(out, row->there);
	for (i = 0; i < width; i++) {
		uint64_t n = row->value[i + 1];

		if (row->there >> i & 1)
			put_number(out, n << 1 ^ -(n >> 63)); /* so that -1 is short too */
	}
}

static void fold_final(sqlite3_context *ctx)
{
	struct fold *f = sqlite3_aggregate_context(ctx, 0), none = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = memory_open(&text, &size);
	struct row *row;

	f = f ? f : &none;
	for (row = f->rows; out && row; row = row->hh.next)
		put_row(out, row, f->width);
	HASH_FREE(f->rows);
	f->rows = NULL;
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
	uint64_t there;          /* a bit a value of the row that is not NULL */
	int64_t value[FOLD_MAX];
	bool over;
};

static int unfold_connect(sqlite3 *db, void *arg, int argc, const char *const *argv,
			  sqlite3_vtab **out, char **error)
{
	int rc = sqlite3_declare_vtab(
		db,
		"CREATE TABLE x(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,folded HIDDEN)");

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

/* Uses the constraint on its argument, and no other. */
static int unfold_best(sqlite3_vtab *t, sqlite3_index_info *info)
{
	int i;

	for (i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != FOLD_MAX ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
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
	uint64_t n;
	int i;

	c->over = c->at >= c->size;
	if (c->over)
		return SQLITE_OK;
	c->there = take_number(c);
	for (i = 0; i < FOLD_MAX; i++) {
		n = c->there >> i & 1 ? take_number(c) : 0;
		c->value[i] = (int64_t)(n >> 1 ^ -(n & 1));
	}
	c->number++;
	return SQLITE_OK;
}

static int unfold_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
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

	if (col < FOLD_MAX && c->there >> col & 1)
		sqlite3_result_int64(ctx, c->value[col]);
	return SQLITE_OK;
}

static int unfold_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module unfold = {
	.xConnect = unfold_connect,
	.xBestIndex = unfold_best,
	.xDisconnect = unfold_disconnect,
	.xOpen = unfold_open,
	.xClose = unfold_close,
	.xFilter = unfold_filter,
	.xNext = unfold_next,
	.xEof = unfold_eof,
	.xColumn = unfold_column,
	.xRowid = unfold_rowid,
};

int fold_register(sqlite3 *db)
{
	return sqlite3_create_function(db, "fold", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, fold_step, fold_final) ?:
		       sqlite3_create_module(db, "unfold", &unfold, NULL);
}
