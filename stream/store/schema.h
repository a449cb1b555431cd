/* SPDX-License-Identifier: GPL-3.0-only */
/* schema.h - the tables of a store. Not for other folders. */
#ifndef IOT_STREAM_SCHEMA_H
#define IOT_STREAM_SCHEMA_H

#include <sqlite3.h>
#include <stdio.h>
#include "table.h"

/* Makes every table and view of a new store. The caller has begun a transaction. Returns an SQLite code. */
int schema_create(sqlite3 *db);

/* Prints what makes table event in a database: "batch.", or "" for the first one. strict: its values have types. */
void schema_event(FILE *, const char *database, bool strict);

/* Whether an existing store has what schema_create() makes, whole and nothing else, but for comments and blanks; and whether its numbers
 * mean what they mean here. Return an SQLite code; SQLITE_MISMATCH with what differs in `which`. */
int schema_check_objects(sqlite3 *db, char *which, size_t size);
int schema_check_words(sqlite3 *db, char *which, size_t size);

/* Fills the dictionaries with the rows of kinds.def that are not there yet. Returns an SQLite code. */
int schema_dictionaries(sqlite3 *db);

/* Prints what tells one row of agg_total from another, for an index; the other columns of agg, but sec, are its sums. */
void schema_agg_key(FILE *);

/* The table of a record. */
static inline const char *schema_table(unsigned int type)
{
	return type == REC_end ? "run_end" : table_of(type)->name; /* END is a keyword */
}

#endif
