/* SPDX-License-Identifier: GPL-3.0-only */
/* sectors.c - a bit a sector: an open hash table of 64 sectors each. */
#include <stdlib.h>
#include <string.h>
#include "hash_table.h"
#include "sectors.h"

#define SECTOR 512ULL
#define PART (64 * SECTOR)
#define ROOM_MAX (1u << 20)       /* 16 MiB: 24 GiB of data that lies together, or 780,000 small files */
#define RANGE_MAX (1ULL << 30)    /* no request is as long */

struct sectors_part {
	u32 file, at;             /* the key; file 0: free */
	u64 bits;
};

static struct sectors_part *slot_of(const struct sectors *s, u32 file, u32 at)
{
	const u32 key[] = { file, at };
	size_t i = hash_words(key, sizeof(key)) & (s->room - 1);

	while (s->part[i].file && (s->part[i].file != file || s->part[i].at != at))
		i = (i + 1) & (s->room - 1);
	return &s->part[i];
}

static bool enlarge(struct sectors *s)
{
	struct sectors more = { .n = s->n, .room = s->room ? 2 * s->room : 1024 };

	if (more.room > ROOM_MAX || !(more.part = calloc(more.room, sizeof(*more.part))))
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->part[i].file)
			*slot_of(&more, s->part[i].file, s->part[i].at) = s->part[i];
	free(s->part);
	*s = more;
	return true;
}

static struct sectors_part *part_of(struct sectors *s, u32 file, u32 at)
{
	struct sectors_part *p = s->room ? slot_of(s, file, at) : NULL;

	if (p && p->file)
		return p;
	if (s->n >= s->room / 4 * 3) {
		if (!enlarge(s))
			return NULL;
		p = slot_of(s, file, at);
	}
	s->n++;
	p->file = file;
	p->at = at;
	return p;
}

bool sectors_add(struct sectors *s, u32 file, u64 from, u64 to, u64 *fresh)
{
	*fresh = 0;
	if (!file || to - from > RANGE_MAX || to / PART >= UINT32_MAX)
		return false;
	for (u64 at = from / PART; at * PART < to; at++) {
		u64 first = from > at * PART ? from % PART / SECTOR : 0, end = to < (at + 1) * PART ? (to % PART + SECTOR - 1) / SECTOR : 64;
		u64 bits = (end < 64 ? (1ULL << end) - 1 : ~0ULL) & ~0ULL << first;
		struct sectors_part *p = part_of(s, file, at);

		if (!p)
			return false;
		*fresh += SECTOR * __builtin_popcountll(bits & ~p->bits);
		p->bits |= bits;
	}
	return true;
}

void sectors_free(struct sectors *s)
{
	free(s->part);
	memset(s, 0, sizeof(*s));
}
