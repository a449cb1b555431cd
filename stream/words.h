/* SPDX-License-Identifier: GPL-3.0-only */
/* words.h - the dictionaries of kinds.def and components.def as data: each table is expanded once.
 *
 * To add a dictionary: a row in enum dictionary, its table in record/words.c, and its table in the
 * store (store/schema.c).
 */
#ifndef IOT_STREAM_WORDS_H
#define IOT_STREAM_WORDS_H

#include "stream.h"

struct word {
	u32 id;                 /* number in the store; of a flag, the value of its bit */
	const char *name;       /* in JSON, in reports and on command lines */
	const char *doc;        /* NULL: the word is not in the store */
	const char *label;      /* of layers and kinds, in the text trace; else NULL */
	const char *symbol;     /* of layers, in the text trace; else NULL */
	u8 layer;               /* of kinds: enum iot_layer */
	char dir;               /* of kinds: r, w, s, m or o; else 0 */
};

enum dictionary {
	WORDS_LAYER, WORDS_KIND, WORDS_CAUSE, WORDS_HOW, WORDS_SUB, WORDS_COMPONENT, WORDS_CARRIER,
	WORDS_FLAG, WORDS_MAX
};

/* One dictionary: its table in the store, and its rows. Except for flags a row's index is its
 * id. */
struct words {
	const char *table;
	const struct word *row;
	unsigned int n;
};
extern const struct words dictionary[WORDS_MAX];

#endif
