/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger.h - the simulation of the ledger, for ledger_store.c. */
#ifndef IOT_STREAM_LEDGER_H
#define IOT_STREAM_LEDGER_H

#include "ledger_table.h"

/* Does a kind of event change the ledger? */
bool ledger_wants(u32 kind);

/* Makes an operation of an event. Returns false when the event changes nothing. */
bool ledger_op(const struct iot_event *, struct op *);
void ledger_push(struct ledger *, const struct op *);

/* Applies all operations that wait. */
void ledger_flush(struct ledger *);

/* Counts what is dirty now as dirty at the end, and frees the sets. */
void ledger_count_end(struct ledger *);

/* Resets the simulation; only the aliases of files stay. */
void ledger_forget(struct ledger *);

#endif
