/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger_table.c - the tables of the ledger: rows, files, and other numbers of a file. Open addressing, sizes are powers of two. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ledger_parts.h"

#define ROWS_MAX (1u << 15)       /* rows in memory: 5.5 MiB */

int ledger_sql_error(struct ledger *g)
{
	return g->err = fail_as(-EIO, 0, "the ledger of run %lld: %s", (long long)g->run, sqlite3_errmsg(g->db));
}

/* ---- rows on disk ---- */

static void write_row(struct ledger *g, sqlite3_stmt *st, const struct row *r)
{
	const u64 values[] = { r->file, r->owner, r->touched, r->dirtied, r->absorbed, r->written, r->direct, r->submitted,
			       r->cancelled, r->dirty_end, r->dirty_late, r->dirty_start, r->unexpected };
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(*values); i++)
		sqlite3_bind_int64(st, i + 1, values[i]);
	sqlite3_step(st);
	if (sqlite3_reset(st) != SQLITE_OK)
		ledger_sql_error(g);
}

int ledger_spill(struct ledger *g)
{
	static const char make[] = "CREATE TEMP TABLE IF NOT EXISTS ledger_part(file INTEGER, owner INTEGER, touched, dirtied, absorbed,"
		" written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected, PRIMARY KEY(file, owner)) WITHOUT ROWID";
	static const char sql[] = "INSERT INTO temp.ledger_part VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
		" ON CONFLICT(file, owner) DO UPDATE SET touched = touched + excluded.touched, dirtied = dirtied + excluded.dirtied,"
		" absorbed = absorbed + excluded.absorbed, written = written + excluded.written, direct = direct + excluded.direct,"
		" submitted = submitted + excluded.submitted, cancelled = cancelled + excluded.cancelled,"
		" dirty_end = dirty_end + excluded.dirty_end, dirty_late = dirty_late + excluded.dirty_late,"
		" dirty_start = dirty_start + excluded.dirty_start, unexpected = unexpected + excluded.unexpected";
	sqlite3_stmt *st = NULL;
	size_t i;

	if (sqlite3_exec(g->db, make, NULL, NULL, NULL) != SQLITE_OK || sqlite3_prepare_v2(g->db, sql, -1, &st, NULL) != SQLITE_OK)
		return ledger_sql_error(g);
	g->spilled = true;
	for (i = 0; !g->err && i < g->row_room; i++)
		if (g->rows[i].used)
			write_row(g, st, &g->rows[i]);
	sqlite3_finalize(st);
	memset(g->rows, 0, g->row_room * sizeof(*g->rows));
	g->row_n = 0;
	return g->err;
}

/* ---- tables ---- */

static size_t hash2(u32 a, u32 b)
{
	u64 h = ((u64)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL >> 32;
}

static struct row *row_slot(struct row *rows, size_t room, u32 file, u32 owner)
{
	size_t i = hash2(file, owner) & (room - 1);

	while (rows[i].used && (rows[i].file != file || rows[i].owner != owner))
		i = (i + 1) & (room - 1);
	return &rows[i];
}

static int rows_grow(struct ledger *g)
{
	size_t room = g->row_room ? 2 * g->row_room : 256, i;
	struct row *rows = calloc(room, sizeof(*rows));

	if (!rows)
		return g->err = -ENOMEM;
	for (i = 0; i < g->row_room; i++)
		if (g->rows[i].used)
			*row_slot(rows, room, g->rows[i].file, g->rows[i].owner) = g->rows[i];
	free(g->rows);
	g->rows = rows;
	g->row_room = room;
	return 0;
}

struct row *ledger_row(struct ledger *g, u32 file, u32 owner)
{
	struct row *r;

	if (g->row_n >= ROWS_MAX && ledger_spill(g))
		return NULL;
	if (2 * g->row_n >= g->row_room && rows_grow(g))
		return NULL;
	r = row_slot(g->rows, g->row_room, file, owner);
	if (!r->used) {
		*r = (struct row){ .used = true, .file = file, .owner = owner };
		g->row_n++;
	}
	return r;
}

static struct file *file_slot(struct file *files, size_t room, u32 id)
{
	size_t i = hash2(id, 0) & (room - 1);

	while (files[i].used && files[i].id != id)
		i = (i + 1) & (room - 1);
	return &files[i];
}

static int files_grow(struct ledger *g)
{
	size_t room = g->file_room ? 2 * g->file_room : 256, i;
	struct file *files = calloc(room, sizeof(*files));

	if (!files)
		return g->err = -ENOMEM;
	for (i = 0; i < g->file_room; i++)
		if (g->files[i].used)
			*file_slot(files, room, g->files[i].id) = g->files[i];
	free(g->files);
	g->files = files;
	g->file_room = room;
	return 0;
}

struct file *ledger_file_of(struct ledger *g, u32 id)
{
	struct file *f;

	if (2 * g->file_n >= g->file_room && files_grow(g))
		return NULL;
	f = file_slot(g->files, g->file_room, id);
	if (!f->used) {
		*f = (struct file){ .used = true, .id = id, .block = BLOCK_BYTES };
		g->file_n++;
	}
	return f;
}

/* Those behind it move up (open addressing). */
void ledger_file_drop(struct ledger *g, struct file *f)
{
	size_t i = f - g->files, free_at = i, home;

	if (f->dirty || f->may || f->block != BLOCK_BYTES)
		return;
	for (;;) {
		i = (i + 1) & (g->file_room - 1);
		if (!g->files[i].used)
			break;
		home = hash2(g->files[i].id, 0) & (g->file_room - 1);
		if (((i - home) & (g->file_room - 1)) < ((i - free_at) & (g->file_room - 1)))
			continue;
		g->files[free_at] = g->files[i];
		free_at = i;
	}
	g->files[free_at] = (struct file){ 0 };
	g->file_n--;
}

struct file *ledger_file_find(struct ledger *g, u32 id)
{
	struct file *f = g->file_n && id ? file_slot(g->files, g->file_room, id) : NULL;

	return f && f->used ? f : NULL;
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
