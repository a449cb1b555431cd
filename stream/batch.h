/* SPDX-License-Identifier: GPL-3.0-only */
/* batch.h - a batch of events as a table that SQL can read. Not for other folders. */
#ifndef IOT_STREAM_BATCH_H
#define IOT_STREAM_BATCH_H

#include <sqlite3.h>
#include <stddef.h>
#include "event.h"

/* What `SELECT ... FROM iot_batch` reads; changed by the owner between statements. */
struct batch {
	const struct iot_event *events;
	size_t n;
};

/* Adds the table iot_batch to a connection; `b` lives as long as it. Its columns are the fields of fields.def; an OPT field
 * that is 0 is NULL. Returns an SQLite code. */
int batch_register(sqlite3 *db, struct batch *b);

#endif
