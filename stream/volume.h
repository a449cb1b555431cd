/* SPDX-License-Identifier: GPL-3.0-only */
/* volume.h - the rows of volumes.def, which say what counts as S, T, W, F, B, ... */
#ifndef IOT_STREAM_VOLUME_H
#define IOT_STREAM_VOLUME_H

#include "stream.h"

struct sqlite3;

enum volume_measure { MEASURE_BYTES, MEASURE_OPS, MEASURE_DONE, MEASURE_TOUCHED };
enum volume_place { ANYWHERE, LEAF, STACKED, BOTTOM };

struct volume {
	const char *symbol, *name, *needs, *class, *rest;
	u8 measure, place;      /* enum volume_measure, enum volume_place */
	u8 kind;                /* the one kind that counts; KIND_NONE: */
	char dir;               /* the kinds of this direction and these layers */
	u32 layers, flags, flags_not;
	u64 causes, subs;      /* the last bit of subs stands for that detail and all after it */
	bool unless_vfs, of_load, of_volume;
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

/* Numbers of rows: VOLUME_S is that of S. */
#define ROW_AT_(line) VOLUME_row_##line
#define ROW_AT(line) ROW_AT_(line)
enum volume_row {
#define VOLUME(sym, ...) VOLUME_##sym,
#define ALSO(sym, ...) ROW_AT(__LINE__),
#include "volumes.def"
	VOLUME_MAX
};

/* Do operations of that kind count, whatever their other properties are? */
bool volume_kind(enum volume_row, u8 kind);

/* Does an operation of a kind that counts also have the right cause, detail and flags? The device
 * is not checked. */
static inline bool volume_has(enum volume_row row, u8 cause, u8 sub, u32 flags)
{
	const struct volume *v = &volumes[row];

	return (!v->causes || v->causes >> (cause & 63) & 1) &&
	       (!v->subs || v->subs >> (sub < 63 ? sub : 63) & 1) &&
	       (!v->flags || v->flags & flags) && !(v->flags_not & flags);
}

/* Do that for all rows of a volume: the one of its name, and those that follow it with ALSO. */
bool volume_sums_kind(enum volume_row, u8 kind);
bool volume_sums(enum volume_row, u8 kind, u8 cause, u8 sub, u32 flags);

/* Adds to a connection the temporary table `volume` (the rows, one for each kind that counts), the
 * temporary table `loss` (one row for each class of volumes that a loss spoils), and the function
 * volume_has(row, cause, sub, flags, place), whose place is 1 on a leaf, 2 at the bottom, 3 both.
 * Returns an SQLite code. */
int volume_register(struct sqlite3 *db);

#endif
