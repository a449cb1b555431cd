/* SPDX-License-Identifier: GPL-3.0-only */
/* batch.h - events on their way into a store: rows of table event that are put there at once. Not for other folders. */
#ifndef IOT_STREAM_BATCH_H
#define IOT_STREAM_BATCH_H

#include <sqlite3.h>
#include <stddef.h>
#include "wire.h"

struct batch;

/* For a connection to a store that has its tables; outside of a transaction. Returns an SQLite code; *out is freed by batch_close(),
 * after the connection was closed, which uses it; also after an error. */
int batch_open(struct batch **out, sqlite3 *db);

/* Takes the first of n events of a run, as many as there is room for, and says how many. */
size_t batch_add(struct batch *, s64 run, const struct iot_event *, size_t n);

/* Puts what was taken into the table, in the transaction that is open: once in each. Returns an SQLite code;
 * behind SQLITE_NOMEM nothing may be prepared any more. */
int batch_store(struct batch *);

void batch_close(struct batch *);

#endif
