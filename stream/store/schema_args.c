// SPDX-License-Identifier: GPL-3.0-only
/* schema_args.c - the dictionaries of a store that are made from args.def and operations.def. */
#include "args.h"
#include "schema.h"

static int insert_name(sqlite3_stmt *st, const struct arg_name *a)
{
	sqlite3_bind_int(st, 1, a->kind);
	sqlite3_bind_text(st, 2, a->field, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, a->mask);
	sqlite3_bind_int64(st, 4, a->value);
	sqlite3_bind_text(st, 5, a->name, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 6, a->op);
	sqlite3_step(st);
	return sqlite3_reset(st);
}

int schema_args(sqlite3 *db)
{
	static const char sql[] =
		"INSERT OR IGNORE INTO arg_name(kind, field, mask, value, name, op)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
	const struct arg_name *a;
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	for (size_t i = 0; rc == SQLITE_OK && (a = args_row(i)); i++)
		rc = insert_name(st, a);
	sqlite3_finalize(st);
	return rc;
}

#define FLAG_NONE 0

static const struct implied {
	int vfs, kind, op, flag, file;
} implied[] = {
#define IMPLIES(kind, vfs, op, flag, file) { KIND_##vfs, KIND_##kind, op, FLAG_##flag, file },
#include "operations.def"
};

int schema_operations(sqlite3 *db)
{
	static const char sql[] =
		"INSERT OR IGNORE INTO vfs_of(vfs, kind, op, flag, file)"
		" VALUES(?1, ?2, ?3, ?4, ?5)";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	for (size_t i = 0; rc == SQLITE_OK && i < N_OF(implied); i++) {
		const int v[] = { implied[i].vfs, implied[i].kind, implied[i].op, implied[i].flag,
			implied[i].file };

		for (size_t k = 0; k < N_OF(v); k++)
			sqlite3_bind_int(st, k + 1, v[k]);
		sqlite3_step(st);
		rc = sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return rc;
}
