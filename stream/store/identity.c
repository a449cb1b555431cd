/* SPDX-License-Identifier: GPL-3.0-only */
/* identity.c - compares a file's header, tables and dictionaries (kind, cause, ...) with those that
 * iot makes. */
#include <errno.h>
#include <stdio.h>
#include "identity.h"
#include "older.h"
#include "schema.h"

/* Reads the first column of the first row of a query. Returns SQLITE_OK, or another SQLite code;
 * SQLITE_CORRUPT when there is no row. */
static int query_number(sqlite3 *db, const char *sql, s64 *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

/* Checks that the tables which every report reads are not damaged. A quick_check of the whole store
 * would read all events. */
static int check_pages(struct opener *o)
{
	static const char *const tables[] = { "run", "run_end", "process", "agg_total", "kind" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sqlite3_stmt *st = NULL;
		char sql[64];
		int rc, err = 0;

		snprintf(sql, sizeof(sql), "PRAGMA quick_check('%s')", tables[i]);
		rc = sqlite3_prepare_v2(o->db, sql, -1, &st, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(st);
		if (rc != SQLITE_ROW)
			err = opener_fail(o, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "cannot be checked");
		else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok"))
			err = fail_as(-EUCLEAN, 0, "%s is damaged: table %s: %s", o->path, tables[i],
				      sqlite3_column_text(st, 0));
		sqlite3_finalize(st);
		if (err)
			return err;
	}
	return 0;
}

/* Reports that a store is refused because of its format. */
static int fail_format(const struct opener *o, s64 version, const char *by, const char *cure)
{
	return fail_as(-ENOTSUP, 0, "%s was written by %s version of iot (format %lld, this is %u): %s",
		       o->path, by, (long long)version, IOT_SCHEMA, cure);
}

/* Checks the header and the format. *fresh: the file is empty. */
static int check_header(struct opener *o, bool *fresh)
{
	s64 id = 0, version = 0, objects = 0, is_other = 0;
	int rc = query_number(o->db, "PRAGMA application_id", &id);

	if (rc == SQLITE_OK)
		rc = query_number(o->db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = query_number(o->db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (rc == SQLITE_OK)
		rc = query_number(o->db, "SELECT encoding <> 'UTF-8' FROM pragma_encoding", &is_other);
	if (rc != SQLITE_OK)
		return opener_fail(o, rc, "cannot be read");
	/* of a UTF-16 store SQLite 3.40 misreads the text in temporary views, which reports use */
	if (is_other)
		return fail_as(-EINVAL, 0, "%s is not a store of iot: its text is in UTF-16", o->path);
	o->version = version;
	*fresh = !id && !version && !objects;
	if (*fresh)
		return o->to_write ? 0 :
		       fail_as(-EINVAL, 0, "%s is not a store of iot: nothing is in it", o->path);
	if (id != IOT_APPLICATION_ID)
		return fail_as(-EINVAL, 0, "%s is not a store of iot: another program made this SQLite file",
			       o->path);
	if (version > IOT_SCHEMA)
		return fail_format(o, version, "a newer",
				   o->to_write && !o->to_replace ? "give a new file" : "update iot-analyze");
	if (version < OLDER_SCHEMA)
		return fail_format(o, version, "an older",
				   "read it with that version, or record it again");
	if (o->to_write && !o->to_replace && version < IOT_SCHEMA)
		return fail_format(o, version, "an older",
				   "`iot-analyze migrate` brings it to this one, or give a new file");
	return check_pages(o);
}

/* Adds the tables and columns that an older format lacks as temporary views. Then compares the
 * dictionaries. */
static int fill_older(struct opener *o)
{
	char which[128] = "";
	int rc = o->version == IOT_SCHEMA ? schema_check_objects(o->db, which, sizeof(which)) :
					    SQLITE_MISMATCH;

	if (rc == SQLITE_MISMATCH)
		rc = older_fill(o->db, which, sizeof(which));
	if (rc == SQLITE_OK)
		rc = schema_check_words(o->db, which, sizeof(which));
	if (rc == SQLITE_MISMATCH)
		return fail_as(-EUCLEAN, 0, "%s is not as a version of iot made it: %s", o->path, which);
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be read");
}

/* Checks the tables of a store that is only read. A virtual table is refused, because reading it
 * would run code. Views of the store need no check: nothing uses them. */
static int check_tables(struct opener *o)
{
	static const char sql[] = "SELECT name FROM sqlite_schema WHERE type = 'table' AND NOT rootpage";
	sqlite3_stmt *st = NULL;
	int err = 0, rc = sqlite3_prepare_v2(o->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		err = fail_as(-EINVAL, 0, "%s is not as iot made it: '%s' is a virtual table", o->path,
			      sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	if (!err && rc != SQLITE_DONE)
		err = opener_fail(o, rc, "cannot be read");
	return err ?: fill_older(o);
}

/* Checks a store that is written to: all its tables, indexes, triggers and views must be those that
 * this version makes, and so must its dictionaries, which say what the numbers mean. */
static int check_schema(struct opener *o)
{
	char which[128] = "";
	int rc = schema_check_objects(o->db, which, sizeof(which)) ?:
		 schema_check_words(o->db, which, sizeof(which));

	if (rc == SQLITE_MISMATCH)
		return fail_as(-ENOTSUP, 0, "%s was written by another version of iot, or changed: %s differs; "
			       "`iot-analyze migrate` brings it to this one, or use a new store", o->path, which);
	return rc == SQLITE_OK ? 0 : opener_fail(o, rc, "cannot be read");
}

int identity_check(struct opener *o, bool *fresh)
{
	int err = check_header(o, fresh);

	if (err || *fresh)
		return err;
	return o->to_write && !o->to_replace ? check_schema(o) : check_tables(o);
}
