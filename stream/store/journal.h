/* SPDX-License-Identifier: GPL-3.0-only */
/* journal.h - how a store is kept while a run is written (a log beside it), and when it was (one
 * file). Not for other folders. */
#ifndef IOT_STREAM_JOURNAL_H
#define IOT_STREAM_JOURNAL_H

#include "opener.h"

/* From here on what is committed goes to the log of the store, STORE-wal. A store that has one
 * already keeps it. Returns 0 or a negative errno, after having reported the error. */
int journal_begin(struct opener *o);

/* Opens what lies beside the store, for journal_join(): later it may not be allowed to. */
void journal_keep(struct opener *o);

/* Puts the log into the store and removes it. Where another program has the store open, the log
 * stays, which is said: returns 0. Where it cannot be put in, for want of room or another
 * reason, it stays too: returns a negative errno, after having reported the error. */
int journal_join(struct opener *o);

/* As journal_join(), of a store that is about to be replaced: whoever has it open is an error. */
int journal_join_to_replace(struct opener *o);

#endif
