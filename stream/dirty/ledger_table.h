/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger_table.h - the state of the ledger: operations that wait, files, rows, aliases of files. */
#ifndef IOT_STREAM_LEDGER_TABLE_H
#define IOT_STREAM_LEDGER_TABLE_H

#include <sqlite3.h>
#include "dirty.h"
#include "hash.h"
#include "interval.h"
#include "sectors.h"
#include "table.h"

#define BLOCK_BYTES 4096U          /* block size of files whose record names none */
#define PARTED_MAX 16              /* recent calls that write back part by part */

/* The sums of a row of table `ledger`, in its order. */
#define LEDGER_SUMS "touched, dirtied, absorbed, written, direct, submitted, cancelled," \
	" dirty_end, dirty_late, dirty_start, unexpected, covered"

enum op_what {
	OP_NONE, OP_WRITE, OP_DIRECT, OP_MMAP, OP_BIO, OP_BIO_DIRECT, OP_BIO_ZEROED, OP_CUT, OP_PUNCH,
	OP_EVICT
};

/* One operation that changes the ledger. */
struct op {
	u64 ts, seq;
	u64 from, to;           /* bytes, not rounded */
	u64 may;                /* DIRTY_MMAP: end of what may be dirty, behind what surely is */
	u64 end;                /* of a call that writes back part by part: time of its return; else 0 */
	u32 file, owner, task;
	u32 dev;                /* of a bio: the disk */
	u8 what;
};

/* One row of table `ledger`. */
struct row {
	u32 file, owner, dev;   /* the key; dev: the disk of bytes that were dirty at the start, else 0 */
	u64 touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late;
	u64 dirty_start, unexpected, covered;
	bool uncovered;         /* covered is unknown */
	UT_hash_handle hh;
};

struct file {
	u32 id;                 /* the key */
	u32 block;
	struct interval *dirty;
	struct interval *may;   /* dirty only if a bio carries it: a failed call began it behind EOF */
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
	struct sectors sectors; /* submitted so far */
	struct op parted[PARTED_MAX]; /* a ring of the last calls that write back part by part */
	u32 parted_n;
	struct op *ops;
	size_t n;
	u64 seq, applied;       /* number of operations read; largest ts that was applied */
	u64 settle;             /* time at which settling began; ~0: it did not, or is not known yet */
	u32 file_applied;       /* largest file id of the operations that were applied */
	bool failed;            /* the simulation is of no use: out of order, or too large */
	bool overflow;          /* a sum left 64 bits */
	bool spilled;           /* the temporary table has rows */
	int err;
};

/* Reports SQLite's message and returns the errno, which is also put into g->err. */
int ledger_sql_error(struct ledger *);

/* Returns NULL when there is no room, with the reason in g->err. Valid until the next call. */
struct row *ledger_row(struct ledger *, u32 file, u32 owner);

/* Returns the row of one disk only. The disk is the only thing known of a file without a record. */
struct row *ledger_row_on(struct ledger *, u32 file, u32 owner, u32 dev);

/* Adds up the rows of a file and owner in the temporary table: dev becomes 0. Returns g->err. */
int ledger_join(struct ledger *);

/* Adds the rows in memory to those in the temporary table `ledger_part`, and frees them. A sum that
 * leaves 64 bits becomes a real there. Returns g->err. */
int ledger_spill(struct ledger *);

/* Returns the file, which is made if needed, or NULL when there is no memory (g->err). Valid until
 * it is dropped. */
struct file *ledger_file_of(struct ledger *, u32 id);
struct file *ledger_file_find(struct ledger *, u32 id);

/* Frees a file that has no dirty ranges and the usual block size. */
void ledger_file_drop(struct ledger *, struct file *);

/* Returns the id under which a file with several ids is held: the smallest. */
u32 ledger_first_id(const struct ledger *, u32 id);

#endif
