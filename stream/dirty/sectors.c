/* SPDX-License-Identifier: GPL-3.0-only */
/* sectors.c - one bit for each sector of a file: rows of 64 bits in a hash table. */
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "sectors.h"

#define SECTOR 512ULL
#define PART (64 * SECTOR)        /* bytes of the file that a row is for: 32 KiB */
/* Rows of the table at its largest, 16 MiB. Six eighths of them can be in use: enough for 24 GiB of
 * contiguous data, or for 780,000 files of at most 32 KiB. */
#define ROOM_MAX (1u << 20)
#define RANGE_MAX (1ULL << 30)    /* longer than any request */

struct sectors_part {
	u32 file, at;             /* the key; at: offset / PART */
	u64 bits;                 /* one a sector, the lowest for the first */
};

/* The row of a part of a file, made if needed; NULL: the table is full, or no memory. */
static struct sectors_part *part_of(struct sectors *s, u32 file, u32 at)
{
	const u32 key[] = { file, at };

	return hash_array_put(&s->parts, key, 2, sizeof(struct sectors_part), ROOM_MAX, 6);
}

bool sectors_add(struct sectors *s, u32 file, u64 from, u64 to, u64 *fresh)
{
	*fresh = 0;
	if (!file || to - from > RANGE_MAX || to / PART >= UINT32_MAX)
		return false;
	for (u64 at = from / PART; at * PART < to; at++) {
		u64 first = from > at * PART ? from % PART / SECTOR : 0;
		u64 end = to < (at + 1) * PART ? (to % PART + SECTOR - 1) / SECTOR : 64;
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
	free(s->parts.row);
	memset(s, 0, sizeof(*s));
}
