/* SPDX-License-Identifier: GPL-3.0-only */
/* addr_table.bpf.h - tables of what is looked for by its address several times while it is under way: bios and requests. An address belongs to
 * a set of places, which are looked through for it. With a hash map each program at a request took about a third more time: calls of helpers, a
 * lock for each change, an entry that is copied and moved. There is no room when all places of a set are taken.
 */
#ifndef IOT_PLACE_BPF_H
#define IOT_PLACE_BPF_H

#include "task.bpf.h"

#define NO_ADDR (~0U)

struct addr_set {
	u64 key[IOT_PLACE_WAYS];   /* 0: free */
};

/* The set that an address belongs to. Those of one page of memory are neighbours, and so are their places: what is under way at a time is in few
 * pages of the kernel, and is then in few of ours. */
static __always_inline u32 addr_set_of(u64 key, u32 sets)
{
	u32 at = ((key >> 12) * 0x9e3779b97f4a7c15ULL >> 32) * sets >> 32;

	return (at + (key >> 7 & 31)) % sets;
}

/* Where an address is; NO_ADDR: nowhere. sets: an array of struct addr_set; places: in all of them. */
static __always_inline u32 addr_find(void *sets, u32 places, u64 key)
{
	u32 n = places / IOT_PLACE_WAYS, at = addr_set_of(key, n);
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key) /* what is free has none */
		return NO_ADDR;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at + i * n;
	return NO_ADDR;
}

/* The same, and it has a place from now on unless there is none. */
static __always_inline u32 addr_take(void *sets, u32 places, u64 key)
{
	u32 n = places / IOT_PLACE_WAYS, at = addr_set_of(key, n);
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key)
		return NO_ADDR;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at + i * n;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (!*(volatile u64 *)&s->key[i] && !__sync_val_compare_and_swap(&s->key[i], 0, key))
			return at + i * n;
	return NO_ADDR;
}

/* Gives a place back. */
static __always_inline void addr_drop(void *sets, u32 places, u32 place)
{
	u32 n = places / IOT_PLACE_WAYS, at = place % n;
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (s && place < places)
		*(volatile u64 *)&s->key[INDEX(place / n, IOT_PLACE_WAYS)] = 0;
}

#endif
