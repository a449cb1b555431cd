// SPDX-License-Identifier: GPL-3.0-only
/* sparse.c - parts of some elements each, made when the first is there and freed with the last. */
#include <stdlib.h>
#include <string.h>
#include "sparse.h"

#define PART 64 /* elements */

struct sparse_part {
	u64 used; /* bits */
	char element[];
};

void *sparse_find(const struct sparse *s, u32 number)
{
	struct sparse_part *p = number / PART < s->room ? s->parts[number / PART] : NULL;

	return p && p->used >> number % PART & 1 ? p->element + number % PART * s->size : NULL;
}

void *sparse_make(struct sparse *s, u32 number)
{
	size_t at = number / PART, old;
	struct sparse_part *p;

	while (at >= s->room) {
		old = s->room;
		if (grow((void **)&s->parts, old, &s->room, sizeof(*s->parts)))
			return NULL;
		memset(s->parts + old, 0, (s->room - old) * sizeof(*s->parts));
	}
	p = s->parts[at];
	if (!p)
		p = s->parts[at] = calloc(1, sizeof(*p) + PART * s->size);
	if (!p)
		return NULL;
	p->used |= 1ull << number % PART;
	return p->element + number % PART * s->size;
}

void sparse_drop(struct sparse *s, u32 number)
{
	char *element = sparse_find(s, number);
	struct sparse_part *p;

	if (!element)
		return;
	p = s->parts[number / PART];
	memset(element, 0, s->size);
	p->used &= ~(1ull << number % PART);
	if (p->used)
		return;
	free(p);
	s->parts[number / PART] = NULL;
}

void sparse_free(struct sparse *s, void (*body)(void *element))
{
	for (size_t at = 0; at < s->room; at++) {
		struct sparse_part *p = s->parts[at];

		for (size_t i = 0; p && body && i < PART; i++)
			if (p->used >> i & 1)
				body(p->element + i * s->size);
		free(p);
	}
	free(s->parts);
	s->parts = NULL;
	s->room = 0;
}
