/* SPDX-License-Identifier: GPL-3.0-only */
/* id_table.h - an array whose elements come and go, by numbers that only grow: memory is held for those that are there. */
#ifndef IOT_ID_TABLE_H
#define IOT_ID_TABLE_H

#include "tracer.h"

struct id_table_part;

/* All zero is an empty one, but for the size of an element. */
struct id_table {
	size_t size;
	struct id_table_part **parts;
	size_t room;
};

/* The element of a number; NULL when it is not there. */
void *id_table_find(const struct id_table *, u32 number);
/* The same, made and zeroed when it is not there; NULL: no memory. */
void *id_table_make(struct id_table *, u32 number);
void id_table_drop(struct id_table *, u32 number);
/* Drops them all; each is given to `body` before, unless that is NULL. */
void id_table_free(struct id_table *, void (*body)(void *element));

#endif
