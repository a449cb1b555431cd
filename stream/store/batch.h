/* SPDX-License-Identifier: GPL-3.0-only */
/* batch.h - events that wait for a commit: rows of table event that are inserted all at once. */
#ifndef IOT_STREAM_BATCH_H
#define IOT_STREAM_BATCH_H

#include <sqlite3.h>
#include <stddef.h>
#include "wire.h"

struct batch;

/* Makes a batch for a connection to a store that has its tables, outside of a transaction. Returns
 * an SQLite code. *out is freed by batch_close(), also after an error, and after the connection
 * that uses it is closed. */
int batch_open(struct batch **out, sqlite3 *db);

/* Takes the first of n events of a run, as many as there is room for. Returns how many. */
size_t batch_add(struct batch *, s64 run, const struct iot_event *, size_t n);

/* Inserts the events into the table, in the open transaction: at most once in each transaction.
 * Returns an SQLite code; after SQLITE_NOMEM no statement may be prepared on the connection. */
int batch_store(struct batch *);

void batch_close(struct batch *);

#endif
