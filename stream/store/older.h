/* SPDX-License-Identifier: GPL-3.0-only */
/* older.h - stores that an older version made, read as those of this one. Not for other folders. */
#ifndef IOT_STREAM_OLDER_H
#define IOT_STREAM_OLDER_H

#include <sqlite3.h>
#include <stddef.h>

/* The first format that can be read. Those before it counted otherwise. */
#define OLDER_SCHEMA 3

/* Makes temporary tables and views in place of what a store of format `version` does not have, so that every column of this version
 * can be asked for: what was not recorded is NULL, or no row. Returns an SQLite code; SQLITE_MISMATCH with what cannot be read in
 * `which`. */
int older_fill(sqlite3 *db, unsigned int version, char *which, size_t size);

#endif
