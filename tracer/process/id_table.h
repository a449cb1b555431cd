/* SPDX-License-Identifier: GPL-3.0-only */
/* id_table.h - a table of elements by id, for ids that only grow while elements come and go: it
 * holds memory only for elements that exist.
 */
#ifndef IOT_ID_TABLE_H
#define IOT_ID_TABLE_H

#include "tracer.h"

struct id_table_part;

/* All zero, but for the size of an element, is an empty table. */
struct id_table {
	size_t size;
	struct id_table_part **parts;
	size_t room;
};

/* Element of an id; NULL: none. */
void *id_table_find(const struct id_table *, u32 number);
/* Element of an id, created and zeroed when there is none; NULL: no memory. */
void *id_table_make(struct id_table *, u32 number);
void id_table_drop(struct id_table *, u32 number);
/* Drops all elements; each is given to `body` before, unless that is NULL. */
void id_table_free(struct id_table *, void (*body)(void *element));

#endif
