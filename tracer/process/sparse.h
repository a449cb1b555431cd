/* SPDX-License-Identifier: GPL-3.0-only */
/* sparse.h - an array whose elements come and go, by numbers that only grow: memory is held for those that are there. */
#ifndef IOT_SPARSE_H
#define IOT_SPARSE_H

#include "tracer.h"

struct sparse_part;

/* All zero is an empty one, but for the size of an element. */
struct sparse {
	size_t size;
	struct sparse_part **parts;
	size_t room;
};

/* The element of a number; NULL when it is not there. */
void *sparse_find(const struct sparse *, u32 number);
/* The same, made and zeroed when it is not there; NULL: no memory. */
void *sparse_make(struct sparse *, u32 number);
void sparse_drop(struct sparse *, u32 number);
/* Drops them all; each is given to `body` before, unless that is NULL. */
void sparse_free(struct sparse *, void (*body)(void *element));

#endif
