/* SPDX-License-Identifier: GPL-3.0-only */
/* batch.c - a batch of events as a virtual table: one INSERT ... SELECT stores thousands of events, twice as fast as
 * binding and stepping a statement for each. */
#include "batch.h"

struct batch_table {
	sqlite3_vtab base;
	struct batch *batch;
};

struct batch_cursor {
	sqlite3_vtab_cursor base;
	const struct iot_event *at, *end;
};

static int batch_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **err)
{
	static const char declaration[] = "CREATE TABLE x("
#define FIELD(type, name, presence, unit, doc) #name " INTEGER,"
#include "fields.def"
		"last HIDDEN)";
	struct batch_table *t = sqlite3_malloc(sizeof(*t));

	*out = &t->base;
	if (!t)
		return SQLITE_NOMEM;
	*t = (struct batch_table){ .batch = aux };
	return sqlite3_declare_vtab(db, declaration);
}

static int batch_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int batch_best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	info->estimatedCost = 1;
	return SQLITE_OK;
}

static int batch_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	struct batch_cursor *c = sqlite3_malloc(sizeof(*c));

	*out = &c->base;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct batch_cursor){ 0 };
	return SQLITE_OK;
}

static int batch_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int batch_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct batch_cursor *c = (struct batch_cursor *)cursor;
	const struct batch *b = ((struct batch_table *)cursor->pVtab)->batch;

	c->at = b->events;
	c->end = b->events + b->n;
	return SQLITE_OK;
}

static int batch_next(sqlite3_vtab_cursor *cursor)
{
	((struct batch_cursor *)cursor)->at++;
	return SQLITE_OK;
}

static int batch_eof(sqlite3_vtab_cursor *cursor)
{
	const struct batch_cursor *c = (const struct batch_cursor *)cursor;

	return c->at == c->end;
}

#define IS_REQ 1
#define IS_OPT 0
#define IS_ZERO 0

static int batch_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
	const struct iot_event *e = ((struct batch_cursor *)cursor)->at;
	enum {
#define FIELD(type, name, presence, unit, doc) AT_##name,
#include "fields.def"
	};

	switch (column) {
#define FIELD(type, name, presence, unit, doc) \
	case AT_##name: \
		if (IS_##presence || e->name) \
			sqlite3_result_int64(ctx, e->name); \
		break;
#include "fields.def"
	}
	return SQLITE_OK;
}

static int batch_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = (sqlite3_int64)((struct batch_cursor *)cursor)->at;
	return SQLITE_OK;
}

int batch_register(sqlite3 *db, struct batch *b)
{
	static const sqlite3_module module = {
		.xConnect = batch_connect, /* no xCreate: the table is there without being made */
		.xBestIndex = batch_best_index,
		.xDisconnect = batch_disconnect,
		.xOpen = batch_open,
		.xClose = batch_close,
		.xFilter = batch_filter,
		.xNext = batch_next,
		.xEof = batch_eof,
		.xColumn = batch_column,
		.xRowid = batch_rowid,
	};

	return sqlite3_create_module(db, "iot_batch", &module, b);
}
