/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger_table.c - the tables of the ledger: rows, files, and aliases of files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ledger_table.h"

#define ROWS_MAX (1u << 15)       /* rows in memory: 6 MiB */

int ledger_sql_error(struct ledger *g)
{
	return g->err = fail_as(-EIO, 0, "the ledger of run %lld: %s", (long long)g->run,
				sqlite3_errmsg(g->db));
}

/* ---- rows on disk ---- */

static void write_row(struct ledger *g, sqlite3_stmt *st, const struct row *r)
{
	const u64 values[] = { r->file, r->owner, r->dev, r->touched, r->dirtied, r->absorbed, r->written,
			       r->direct, r->submitted, r->cancelled, r->dirty_end, r->dirty_late,
			       r->dirty_start, r->unexpected, r->covered };
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(*values); i++)
		sqlite3_bind_int64(st, i + 1, values[i]);
	if (r->uncovered)
		sqlite3_bind_null(st, i);
	sqlite3_step(st);
	if (sqlite3_reset(st) != SQLITE_OK)
		ledger_sql_error(g);
}

/* Adds the sums to those of a row that is there already. */
#define ADDS " ON CONFLICT(file, owner, dev) DO UPDATE SET touched = touched + excluded.touched," \
	" dirtied = dirtied + excluded.dirtied, absorbed = absorbed + excluded.absorbed," \
	" written = written + excluded.written, direct = direct + excluded.direct," \
	" submitted = submitted + excluded.submitted, cancelled = cancelled + excluded.cancelled," \
	" dirty_end = dirty_end + excluded.dirty_end, dirty_late = dirty_late + excluded.dirty_late," \
	" dirty_start = dirty_start + excluded.dirty_start," \
	" unexpected = unexpected + excluded.unexpected," \
	" covered = covered + excluded.covered"

int ledger_join(struct ledger *g)
{
	static const char sql[] =
		"CREATE TEMP TABLE ledger_on AS SELECT * FROM temp.ledger_part WHERE dev > 0;"
		" DELETE FROM temp.ledger_part WHERE dev > 0;"
		" INSERT INTO temp.ledger_part SELECT file, owner, 0, " LEDGER_SUMS
		" FROM temp.ledger_on WHERE true" ADDS ";"
		" DROP TABLE temp.ledger_on";

	return sqlite3_exec(g->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : ledger_sql_error(g);
}

int ledger_spill(struct ledger *g)
{
	static const char make[] =
		"CREATE TEMP TABLE IF NOT EXISTS ledger_part(file INTEGER, owner INTEGER,"
		" dev INTEGER, " LEDGER_SUMS ","
		" PRIMARY KEY(file, owner, dev)) WITHOUT ROWID";
	static const char sql[] =
		"INSERT INTO temp.ledger_part"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)" ADDS;
	sqlite3_stmt *st = NULL;

	if (sqlite3_exec(g->db, make, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(g->db, sql, -1, &st, NULL) != SQLITE_OK)
		return ledger_sql_error(g);
	g->spilled = true;
	for (const struct row *r = g->rows; !g->err && r; r = r->hh.next)
		write_row(g, st, r);
	sqlite3_finalize(st);
	HASH_FREE(g->rows);
	return g->err;
}

/* ---- tables ---- */

struct row *ledger_row(struct ledger *g, u32 file, u32 owner)
{
	return ledger_row_on(g, file, owner, 0);
}

struct row *ledger_row_on(struct ledger *g, u32 file, u32 owner, u32 dev)
{
	const u32 key[] = { file, owner, dev };
	struct row *r;

	HASH_FIND(hh, g->rows, key, sizeof(key), r);
	if (r)
		return r;
	if (HASH_COUNT(g->rows) >= ROWS_MAX && ledger_spill(g))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->file = file;
		r->owner = owner;
		r->dev = dev;
	}
	HASH_PUT(g->rows, file, sizeof(key), r);
	if (!r)
		g->err = -ENOMEM;
	return r;
}

struct file *ledger_file_of(struct ledger *g, u32 id)
{
	struct file *f;

	HASH_FIND(hh, g->files, &id, sizeof(id), f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (f) {
		f->id = id;
		f->block = BLOCK_BYTES;
	}
	HASH_PUT(g->files, id, sizeof(id), f);
	if (!f)
		g->err = -ENOMEM;
	return f;
}

void ledger_file_drop(struct ledger *g, struct file *f)
{
	if (f->dirty || f->may || f->block != BLOCK_BYTES)
		return;
	HASH_DEL(g->files, f);
	free(f);
}

struct file *ledger_file_find(struct ledger *g, u32 id)
{
	struct file *f = NULL;

	if (id)
		HASH_FIND(hh, g->files, &id, sizeof(id), f);
	return f;
}

static int compare_alias(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

u32 ledger_first_id(const struct ledger *g, u32 id)
{
	struct alias key = { .id = id }, *a;

	if (!g->alias_n)
		return id;
	a = bsearch(&key, g->aliases, g->alias_n, sizeof(key), compare_alias);
	return a ? a->first : id;
}
