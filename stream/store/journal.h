/* SPDX-License-Identifier: GPL-3.0-only */
/* journal.h - the journal mode of a store: with a log while a run is written, one file
 * afterwards. */
#ifndef IOT_STREAM_JOURNAL_H
#define IOT_STREAM_JOURNAL_H

#include "opener.h"

/* Makes commits go to the log of the store, STORE-wal. A store that has a log already keeps it.
 * Returns 0 or a negative errno, after having reported the error. */
int journal_begin(struct opener *o);

/* Opens the companions of the store for journal_join(), which may not be allowed to later. */
void journal_keep(struct opener *o);

/* Writes the log into the store and removes it. When another program has the store open the log
 * stays, with a message: returns 0. When it cannot be written, for want of room or another reason,
 * it stays too: returns a negative errno, after having reported the error. */
int journal_join(struct opener *o);

/* Does the same for a store that is about to be replaced, where another program is an error. */
int journal_join_to_replace(struct opener *o);

#endif
