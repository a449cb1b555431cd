/* SPDX-License-Identifier: GPL-3.0-only */
/* older.h - reads stores of the format before the present one as if they had the present one. */
#ifndef IOT_STREAM_OLDER_H
#define IOT_STREAM_OLDER_H

#include <sqlite3.h>
#include <stddef.h>

/* The oldest format that can be read: the one before IOT_SCHEMA. */
#define OLDER_SCHEMA 4

/* Makes temporary tables and views for the tables and columns that a store lacks, so that all
 * columns of this version can be read: they are NULL, or the table is empty. Returns an SQLite
 * code; SQLITE_MISMATCH with what cannot be read in `which`. */
int older_fill(sqlite3 *db, char *which, size_t size);

#endif
