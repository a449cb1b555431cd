/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger.h - the ledger while the events of a run go by, so that they need not be read again. Not for other folders. */
#ifndef IOT_STREAM_LEDGER_H
#define IOT_STREAM_LEDGER_H

#include "stream.h"

struct ledger;

/* db is a struct sqlite3 *, that of the store. NULL when there is no memory; the other calls take NULL and then work from the store
 * alone. */
struct ledger *ledger_open(void *db, long long run);
/* The block size of a file, in bytes; 0 when it is not known. */
void ledger_file(struct ledger *, u32 id, u64 block);
void ledger_events(struct ledger *, const struct iot_event *, size_t n);

/* Writes the rows of a run whose records are all in the store, as ledger_build() does. It gives up on what it has and reads
 * the events again when an operation came too late for its window, when files turned out to be the same, or when it would
 * have needed too much memory. Returns 0 or a negative errno. */
int ledger_write(struct ledger *, void *db, long long run);
void ledger_close(struct ledger *);

#endif
