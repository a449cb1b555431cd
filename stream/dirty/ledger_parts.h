/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger_parts.h - what the parts of the ledger share: ledger.c simulates, ledger_table.c holds, ledger_store.c reads and writes. */
#ifndef IOT_STREAM_LEDGER_PARTS_H
#define IOT_STREAM_LEDGER_PARTS_H

#include <sqlite3.h>
#include "hash_table.h"
#include "interval.h"
#include "ledger.h"
#include "sectors.h"
#include "table.h"

#define BLOCK_BYTES 4096U          /* of files of which nothing is said */
#define PARTED_MAX 16              /* calls that write back part by part, remembered */

enum op_what { OP_NONE, OP_WRITE, OP_DIRECT, OP_MMAP, OP_BIO, OP_BIO_DIRECT, OP_BIO_ZEROED, OP_CUT, OP_PUNCH, OP_EVICT };

struct op {
	u64 ts, seq;
	u64 from, to;           /* bytes, not rounded */
	u64 may;                /* what turned dirty beside a call: end of what may be dirty too */
	u64 end;                /* of a call that writes back part by part: when it returned; else 0 */
	u32 file, owner, task;
	u32 dev;                /* of a bio: the disk */
	u8 what;
};

/* One row of the table. */
struct row {
	u32 file, owner, dev;   /* the key; dev: of what was dirty at the start the disk, else 0 */
	u64 touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected, covered;
	bool uncovered;         /* covered is not known */
	UT_hash_handle hh;
};

struct file {
	u32 id;                 /* the key */
	u32 block;
	struct interval *dirty;
	struct interval *may;   /* dirty if a bio carries it: what a call that failed began behind the end of the file */
	UT_hash_handle hh;
};

/* Another id of the same (dev, ino, gen). */
struct alias {
	u32 id, first;
};

struct ledger {
	sqlite3 *db;
	s64 run;
	struct row *rows;       /* hash tables */
	struct file *files;
	struct alias *aliases;  /* sorted by id */
	size_t alias_n;
	struct sectors sectors; /* that were submitted */
	struct op parted[PARTED_MAX]; /* the last calls that write back part by part */
	u32 parted_n;
	struct op *ops;
	size_t n;
	u64 seq, applied;       /* operations read; largest ts that was applied */
	u64 settle;             /* when settling began; ~0: it did not, or that is not known yet */
	u32 file_applied;       /* largest number of a file with an operation that was applied */
	bool failed;            /* what it holds is of no use: out of order, or too much */
	bool overflow;          /* a sum left 64 bits */
	bool spilled;           /* there are rows in the temporary table */
	int err;
};

/* Says what SQLite says, and returns it as g->err. */
int ledger_sql_error(struct ledger *);

/* ---- ledger_table.c ---- */

/* NULL when there is no room; g->err says why. Valid until the next call. */
struct row *ledger_row(struct ledger *, u32 file, u32 owner);
/* The same, of one disk alone: a file that has no record is on none that is known otherwise. */
struct row *ledger_row_on(struct ledger *, u32 file, u32 owner, u32 dev);
/* Adds up the rows of a file and an owner in the temporary table: from then on dev is 0. Returns g->err. */
int ledger_join(struct ledger *);
/* Adds the rows in memory to those in the temporary table `ledger_part`, and forgets them. A sum that leaves 64 bits becomes a
 * real there. Returns g->err. */
int ledger_spill(struct ledger *);
/* Makes the file, or NULL when there is no memory (g->err). Valid until it is dropped. */
struct file *ledger_file_of(struct ledger *, u32 id);
struct file *ledger_file_find(struct ledger *, u32 id);
/* Forgets a file of which nothing is to be remembered. */
void ledger_file_drop(struct ledger *, struct file *);
/* The number under which a file that has several is held. */
u32 ledger_first_id(const struct ledger *, u32 id);

/* ---- ledger.c ---- */

/* Does a kind of event change the ledger? */
bool ledger_wants(u32 kind);
/* False when the event changes nothing. */
bool ledger_op(const struct iot_event *, struct op *);
void ledger_push(struct ledger *, const struct op *);
/* Applies all that waits. */
void ledger_flush(struct ledger *);
/* What is dirty is dirty at the end. Frees the sets. */
void ledger_count_end(struct ledger *);
/* Back to the beginning; only the file aliases stay. */
void ledger_forget(struct ledger *);

/* ---- ledger_store.c ---- */

/* The rows of the run, from what was simulated or, where that failed, from the events of the store. Returns g->err. */
int ledger_write_all(struct ledger *);

#endif
