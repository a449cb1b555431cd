/* SPDX-License-Identifier: GPL-3.0-only */
/* second.h - sums by second, for timelines. */
#ifndef IOT_STREAM_SECOND_H
#define IOT_STREAM_SECOND_H

#include <sqlite3.h>
#include "stream.h"

/* Fills table `agg_second` for a run whose records are all in the store. first: the smallest rowid
 * that a row of the run may have in table agg. Returns an SQLite code. */
int second_write(sqlite3 *db, s64 run, s64 first);

/* Returns the rowid that the next row of table agg will have in *next. Returns an SQLite code. */
int second_next(sqlite3 *db, s64 *next);

#endif
