/* SPDX-License-Identifier: GPL-3.0-only */
/* volume.h - the rows of volumes.def, which say what counts as S, T, W, F, B, ... */
#ifndef IOT_STREAM_VOLUME_H
#define IOT_STREAM_VOLUME_H

#include "stream.h"

struct sqlite3;

enum volume_measure { MEASURE_BYTES, MEASURE_OPS, MEASURE_DONE, MEASURE_TOUCHED };

/* The devices on which a volume counts: all, leaf devices, devices that are no leaf, devices at the
 * bottom of the stack. */
enum volume_place { ANYWHERE, LEAF, STACKED, BOTTOM };

/* Another numbering: bits that say what one device is. Views compute them (column `place` of
 * v_cell) for the SQL function volume_has(). */
enum { IS_LEAF = 1, IS_BOTTOM = 2 };

struct volume {
	const char *symbol, *name, *needs, *class, *rest;
	u8 measure, place;      /* enum volume_measure, enum volume_place */
	u8 kind;                /* the one kind that counts; KIND_NONE: see dir and layers */
	char dir;               /* all kinds of this direction ('r', 'w') ... */
	u32 layers;             /* ... and of these layers, as bits */
	u32 flags, flags_not;   /* one of flags must be set, 0: none need be; none of flags_not */
	u64 causes, subs;       /* masks; 0: any. The last bit of subs stands for SUB 63 and above */
	bool unless_vfs, of_load, of_logical;
};

#define BIT(n) (1ULL << (n))
#define CALLS(d) .layers = BIT(LAYER_SYSCALL) | BIT(LAYER_URING), .dir = (d), .subs = FILES
#define IN(l, d) .layers = BIT(LAYER_##l), .dir = (d)
#define ONE(k) .kind = KIND_##k
#define FILES (BIT(SUB_FT_REG) | BIT(SUB_FT_BLK))
#define FOR_CALL (~(BIT(SUB_FOR_WRITE) | BIT(SUB_FOR_FAULT)))
/* Data that a file system submits once; fs_packed counts the compressed. */
#define ONE_COPY (~(BIT(SUB_COPY) | BIT(SUB_COMPRESSED) | BIT(SUB_COMPRESSED_COPY)))
#define FILE_DATA (BIT(CAUSE_DATA) | BIT(CAUSE_DIRECT))
#define BELOW_LOOP IOT_BELOW_LOOP
#define ONCE (~BELOW_LOOP) /* bytes of a loop device appear again on the device below */

static const struct volume volumes[] = {
#define VOLUME(sym, what, which, ...) \
	{ .symbol = #sym, .measure = MEASURE_##what, which, __VA_ARGS__ },
#include "volumes.def"
};

/* Numbers of rows: VOLUME_S is the first row of S. */
#define ROW_AT_(line) VOLUME_row_##line
#define ROW_AT(line) ROW_AT_(line)
enum volume_row {
#define VOLUME(sym, ...) VOLUME_##sym,
#define ALSO(sym, ...) ROW_AT(__LINE__),
#include "volumes.def"
	VOLUME_MAX
};

/* True when operations of that kind can count in the row, whatever their other properties are. */
bool volume_kind(enum volume_row, u8 kind);

/* True when an operation of a kind that counts has the cause, detail (SUB) and flags that the row
 * wants. Its device is not checked. */
static inline bool volume_has(enum volume_row row, u8 cause, u8 sub, u32 flags)
{
	const struct volume *v = &volumes[row];

	return (!v->causes || v->causes >> (cause & 63) & 1) &&
	       (!v->subs || v->subs >> (sub < 63 ? sub : 63) & 1) &&
	       (!v->flags || v->flags & flags) && !(v->flags_not & flags);
}

/* Check all rows of a volume: `row` is VOLUME_x, its first, and its rows of ALSO follow. True when
 * one of them counts. */
bool volume_sums_kind(enum volume_row, u8 kind);
bool volume_sums(enum volume_row, u8 kind, u8 cause, u8 sub, u32 flags);

/* Adds to a connection the temporary table `volume` (the rows, one for each kind that counts), the
 * temporary table `loss` (one row for each class of volumes that a loss spoils), and the function
 * volume_has(row, cause, sub, flags, place), whose `place` is the sum of IS_LEAF and IS_BOTTOM.
 * Returns an SQLite code. */
int volume_register(struct sqlite3 *db);

#endif
