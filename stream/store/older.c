/* SPDX-License-Identifier: GPL-3.0-only */
/* older.c - fills what an older store lacks, by comparing its tables with those of this version.
 *
 * A temporary table or view hides the table of the same name, so that queries are the same for all
 * stores. Where an older version counted differently, reports have a condition on run.schema, which
 * `iot-analyze migrate` keeps.
 */
#include <stdio.h>
#include "memory.h"
#include "older.h"
#include "schema.h"

/* Tables of both formats: a store without one of them is damaged. */
static const char first_tables[] =
	" run probe device process file agg agg_total hist flow lost truth load run_end event"
	" ledger file_io"
	" layer kind cause how sub component flag ";

/* The value of a column that must not be NULL and that the older format lacks. To add one: a
 * row. */
static const struct { const char *table, *column, *was; } fills[] = {
	{ "arg_name", "op", "-1" },
	{ "event", "size_if_not_bytes", "CASE WHEN size IS bytes THEN NULL ELSE ifnull(size, 0) END" },
};

struct older {
	sqlite3 *db, *ours;
	sqlite3_stmt *column;   /* does main.?1 have column ?2, or any? */
	FILE *sql;
	char *which;
	size_t size;
};

static const char *fill_of(const char *table, const char *column)
{
	size_t i;

	for (i = 0; i < sizeof(fills) / sizeof(*fills); i++)
		if (!strcmp(fills[i].table, table) && !strcmp(fills[i].column, column))
			return fills[i].was;
	return NULL;
}

/* Sets whether a table of the store has a column; column NULL: any. A read that fails is no answer.
 * Returns an SQLite code. */
static int has_column(struct older *o, const char *table, const char *column, bool *has)
{
	sqlite3_bind_text(o->column, 1, table, -1, SQLITE_STATIC);
	sqlite3_bind_text(o->column, 2, column, -1, SQLITE_STATIC);
	*has = sqlite3_step(o->column) == SQLITE_ROW;
	return sqlite3_reset(o->column);
}

static int prepare(sqlite3 *db, const char *sql, const char *text, sqlite3_stmt **out)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);

	return rc == SQLITE_OK && text ? sqlite3_bind_text(*out, 1, text, -1, SQLITE_STATIC) : rc;
}

/* Columns of one of our tables: name, and whether it must not be NULL. */
#define COLUMNS "SELECT name, \"notnull\" FROM pragma_table_xinfo(?1)"

/* Makes an empty table with all columns. */
static int hide_table(struct older *o, const char *table)
{
	sqlite3_stmt *st = NULL;
	const char *separator = "";
	int rc = prepare(o->ours, COLUMNS, table, &st);

	fprintf(o->sql, "CREATE TEMP TABLE %s(", table);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		fprintf(o->sql, "%s%s", separator, sqlite3_column_text(st, 0));
		separator = ", ";
		rc = SQLITE_OK;
	}
	fprintf(o->sql, ");\n");
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Writes a view that has the columns of the store's table, and NULL for those that it lacks. */
static int cover_table(struct older *o, const char *table, bool rowid, unsigned int *missing,
		       FILE *f)
{
	sqlite3_stmt *st = NULL;
	const char *separator = rowid ? "rowid AS rowid, " : "";
	int rc = prepare(o->ours, COLUMNS, table, &st);

	fprintf(f, "CREATE TEMP VIEW %s AS SELECT ", table);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0), *was = fill_of(table, name);
		bool has;

		rc = has_column(o, table, name, &has);
		if (rc != SQLITE_OK)
			break;
		fputs(separator, f);
		separator = ", ";
		if (has) {
			fputs(name, f);
			continue;
		}
		if (!was && sqlite3_column_int(st, 1)) {
			snprintf(o->which, o->size, "its table '%s' has no column '%s'", table, name);
			rc = SQLITE_MISMATCH;
		}
		fprintf(f, "%s AS %s", was ?: "NULL", name);
		++*missing;
	}
	fprintf(f, " FROM main.%s;\n", table);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int look_at(struct older *o, const char *table, bool rowid)
{
	auto_free char *view = NULL, *word = NULL;
	unsigned int missing = 0;
	bool there;
	FILE *f;
	int rc = has_column(o, table, NULL, &there);

	if (rc != SQLITE_OK)
		return rc;
	if (there) {
		f = memory_open(&view, NULL);
		if (!f)
			return SQLITE_NOMEM;
		rc = cover_table(o, table, rowid, &missing, f);
		if (fclose(f))
			return SQLITE_NOMEM;
		if (rc == SQLITE_OK && missing)
			fputs(view, o->sql);
		return rc;
	}
	if (asprintf(&word, " %s ", table) > 0 && strstr(first_tables, word)) {
		snprintf(o->which, o->size, "no such table: %s", table);
		return SQLITE_MISMATCH;
	}
	return hide_table(o, table);
}

static int look_at_all(struct older *o)
{
	static const char tables[] = "SELECT name, sql NOT LIKE '%WITHOUT ROWID' FROM sqlite_schema"
		" WHERE type = 'table' ORDER BY name";
	static const char column[] =
		"SELECT 1 FROM pragma_table_xinfo(?1, 'main') WHERE name = ?2 OR ?2 IS NULL";
	sqlite3_stmt *st = NULL;
	int rc = prepare(o->db, column, NULL, &o->column) ?: prepare(o->ours, tables, NULL, &st);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
		rc = look_at(o, (const char *)sqlite3_column_text(st, 0), sqlite3_column_int(st, 1));
	sqlite3_finalize(st);
	sqlite3_finalize(o->column);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int older_fill(sqlite3 *db, char *which, size_t size)
{
	struct older o = { .db = db, .which = which, .size = size };
	auto_free char *sql = NULL;
	int rc = sqlite3_open_v2(":memory:", &o.ours,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = schema_create(o.ours);
	o.sql = memory_open(&sql, NULL);
	if (rc == SQLITE_OK)
		rc = o.sql ? look_at_all(&o) : SQLITE_NOMEM;
	if (o.sql && fclose(o.sql))
		rc = rc ?: SQLITE_NOMEM;
	sqlite3_close(o.ours);
	return rc == SQLITE_OK && sql && *sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : rc;
}
