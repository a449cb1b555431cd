/* SPDX-License-Identifier: GPL-3.0-only */
/* schema.h - the tables of a store. */
#ifndef IOT_STREAM_SCHEMA_H
#define IOT_STREAM_SCHEMA_H

#include <sqlite3.h>
#include <stdio.h>
#include "table.h"

/* Makes all tables and views of a new store. The caller has begun a transaction. Returns an SQLite
 * code. */
int schema_create(sqlite3 *db);

/* Prints what makes table event in a database: "batch.", or "" for the first one. strict: its
 * values have types. */
void schema_event(FILE *, const char *database, bool strict);

/* Compare an existing store with what schema_create() makes: its tables, indexes and views, except
 * for comments and blanks; and the names of its dictionaries. Return an SQLite code;
 * SQLITE_MISMATCH with what differs in `which`. */
int schema_check_objects(sqlite3 *db, char *which, size_t size);
int schema_check_words(sqlite3 *db, char *which, size_t size);

/* Adds the rows of kinds.def that the dictionaries lack. Returns an SQLite code. */
int schema_dictionaries(sqlite3 *db);
/* As schema_dictionaries(), of args.def and operations.def. It calls these. */
int schema_args(sqlite3 *db);
int schema_operations(sqlite3 *db);

/* Prints the views of layer storage. temp: "TEMP " for views of a connection alone, else "". */
void schema_storage(FILE *, const char *temp);

/* Prints the key of agg_total, for an index; the other columns of agg, except sec, are its sums. */
void schema_agg_key(FILE *);

/* Returns the name of a record's table. */
static inline const char *schema_table(unsigned int type)
{
	return type == REC_end ? "run_end" : table_of(type)->name; /* END is a keyword */
}

#endif
