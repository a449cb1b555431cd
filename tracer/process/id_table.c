// SPDX-License-Identifier: GPL-3.0-only
/* id_table.c - a sparse table: parts of some elements each, made with their first element and freed
 * with their last.
 */
#include <stdlib.h>
#include <string.h>
#include "id_table.h"

#define PART 64 /* elements of a part */

struct id_table_part {
	u64 used; /* bits of the elements in use */
	char element[];
};

void *id_table_find(const struct id_table *s, u32 number)
{
	struct id_table_part *p = number / PART < s->room ? s->parts[number / PART] : NULL;

	return p && p->used >> number % PART & 1 ? p->element + number % PART * s->size : NULL;
}

void *id_table_make(struct id_table *s, u32 number)
{
	size_t at = number / PART, old;
	struct id_table_part *p;

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

void id_table_drop(struct id_table *s, u32 number)
{
	char *element = id_table_find(s, number);
	struct id_table_part *p;

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

void id_table_free(struct id_table *s, void (*body)(void *element))
{
	for (size_t at = 0; at < s->room; at++) {
		struct id_table_part *p = s->parts[at];

		for (size_t i = 0; p && body && i < PART; i++)
			if (p->used >> i & 1)
				body(p->element + i * s->size);
		free(p);
	}
	free(s->parts);
	s->parts = NULL;
	s->room = 0;
}
