/* SPDX-License-Identifier: GPL-3.0-only */
/* table.h - records.def and fields.def as data, for the rooms of stream/. */
#ifndef IOT_STREAM_TABLE_H
#define IOT_STREAM_TABLE_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "clean.h"
#include "fail.h"
#include "words.h"

enum col_type {
	TYPE_U64, TYPE_I64, TYPE_STR, TYPE_DEV, TYPE_KIND, TYPE_CAUSE, TYPE_HOW, TYPE_SUB,
	TYPE_COMPONENT, TYPE_CARRIER
};

enum col_total { TOTAL_SUM, TOTAL_KEY, TOTAL_MAX };

/* One column of a record, or one field of an event. */
struct column {
	const char *name, *unit, *doc;
	u8 type;                /* enum col_type */
	u8 size;                /* bytes in the struct */
	bool optional;
	u16 offset;             /* in the struct */
	bool zero;              /* absent means 0 */
	u8 total;               /* enum col_total: what agg_total does with it */
};

struct table {
	const char *name, *doc;
	const struct column *cols;
	size_t n, size;         /* columns; bytes of the struct */
};

/* The number of the event's table: one more record where speed does not matter. */
#define REC_EVENT REC_MAX
const struct table *table_of(unsigned int type);

/* Position of the column, or -1. */
int table_find(const struct table *, const char *name);

/* The type of a field of fields.def, by its name; folded by the compiler. */
static inline __attribute__((always_inline)) enum col_type field_type(const char *name)
{
	return !strcmp(name, "dev") ? TYPE_DEV :
	       !strcmp(name, "kind") ? TYPE_KIND :
	       !strcmp(name, "cause") ? TYPE_CAUSE :
	       !strcmp(name, "how") ? TYPE_HOW :
	       !strcmp(name, "sub") ? TYPE_SUB :
	       !strcmp(name, "component") ? TYPE_COMPONENT :
	       !strcmp(name, "carrier") ? TYPE_CARRIER : TYPE_U64;
}

/* A dictionary, with a hash table of its names. */
struct dict {
	const struct words *words;
	const struct word *row; /* those of `words`, by number */
	u8 slot[256];           /* open addressing: number + 1 by dict_hash() */
	u8 len[256];            /* of each name */
};
extern struct dict stream_dicts[TYPE_CARRIER + 1]; /* by type; filled before main() */

static inline const struct dict *dict_of(enum col_type type)
{
	return type >= TYPE_KIND ? &stream_dicts[type] : NULL;
}

#define DICT_NAME_MAX 32

/* Hash of a name of `len` bytes. Reads 8 bytes from `s` whatever len is. */
static inline unsigned int dict_hash(const char *s, size_t len)
{
	u64 head, tail = 0;

	memcpy(&head, s, 8);
	if (len < 8)
		head &= (1ULL << 8 * len) - 1;
	else
		memcpy(&tail, s + len - 8, 8);
	return ((head ^ tail * 0x9e3779b97f4a7c15ULL ^ len) * 0xff51afd7ed558ccdULL) >> 56;
}

/* Number of a name, or -1. Reads 8 bytes from `s` whatever len is. */
static inline int dict_find(const struct dict *d, const char *s, size_t len)
{
	unsigned int h = dict_hash(s, len);

	for (; d->slot[h & 255]; h++) {
		unsigned int i = d->slot[h & 255] - 1;

		if (d->len[i] == len && !memcmp(d->row[i].name, s, len))
			return i;
	}
	return -1;
}

/* Set by store_interrupt(). */
extern volatile sig_atomic_t stream_interrupted;

/* Report that a file cannot be opened for writing, or reading. err: as of place.h. Return a
 * negative errno. */
int output_fail(const char *path, int err);
int input_fail(const char *path, int err);

/* Whether column i of a record is there. */
static inline bool col_present(const struct table *t, const void *rec, size_t i)
{
	const struct column *c = &t->cols[i];

	if (c->type == TYPE_STR)
		return *(const char *const *)((const char *)rec + c->offset);
	return !c->optional || *(const u64 *)rec >> i & 1;
}

/* A number of a record or an event, whatever its size. */
static inline u64 col_number(const struct column *c, const void *rec)
{
	const char *at = (const char *)rec + c->offset;

	switch (c->size) {
	case 1:
		return *(const u8 *)at;
	case 2:
		return *(const u16 *)at;
	case 4:
		return *(const u32 *)at;
	default:
		return *(const u64 *)at;
	}
}

#endif
