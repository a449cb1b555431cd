/* SPDX-License-Identifier: GPL-3.0-only */
/* dirty.h - the only door to dirty/, which replays the events of a run: which blocks of which file
 * were dirty, and who had written them.
 *
 * The ledger sums that up for each file and owner (METRICS section 3); `fileio` tells which
 * component of a storage system wrote the bytes that writeback submits.
 */
#ifndef IOT_STREAM_DIRTY_H
#define IOT_STREAM_DIRTY_H

#include "stream.h"

/* ---- the ledger ---- */

struct ledger;

/* db: a struct sqlite3 *, the store. Returns NULL when there is no memory. The other functions
 * accept NULL; ledger_write() then reads the events from the store. */
struct ledger *ledger_open(void *db, long long run);

/* Sets the block size of a file, in bytes; 0: unknown. */
void ledger_file(struct ledger *, u32 id, u64 block);
void ledger_events(struct ledger *, const struct iot_event *, size_t n);

/* Writes the rows of a run whose records are all in the store, like ledger_build(). The events are
 * read again from the store when one came too late for the window, when two ids turned out to be
 * one file, or when the simulation needed too much memory. Returns 0 or a negative errno. */
int ledger_write(struct ledger *, void *db, long long run);
void ledger_close(struct ledger *);

/* Computes the ledger of one run from the events in the store and writes table `ledger`.
 * db: a struct sqlite3 *. Returns 0 or a negative errno. */
int ledger_build(void *db, long long run);

/* ---- bytes by file ---- */

struct fileio;

/* Returns NULL when there is no memory. The other functions accept NULL and then do nothing. */
struct fileio *fileio_open(void);

/* Sets the component of writeback events whose bytes were written by threads of one component. */
void fileio_events(struct fileio *, struct iot_event *, size_t n);

/* Splits the rows `shared` of table `file_io`, of a run whose records are all in the store, by
 * component as far as the events tell. A row stays `shared` when events were lost or memory ran
 * out. db: a struct sqlite3 *. Returns 0 or a negative errno. */
int fileio_write(struct fileio *, void *db, long long run);
void fileio_close(struct fileio *);

#endif
