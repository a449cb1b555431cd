/* SPDX-License-Identifier: GPL-3.0-only */
/* place.bpf.h - tables of what is looked for by its address several times while it is under way: bios and requests. An address belongs to
 * a set of places, which are looked through for it. With a hash map each program at a request took about a third more time: calls of helpers, a
 * lock for each change, an entry that is copied and moved. There is no room when all places of a set are taken.
 */
#ifndef IOT_PLACE_BPF_H
#define IOT_PLACE_BPF_H

#include "task.bpf.h"

#define NO_PLACE (~0U)

struct place_set {
	u64 key[IOT_PLACE_WAYS];   /* 0: free */
};

/* The set that an address belongs to. They are aligned, and those of one cache follow each other. */
static __always_inline u32 set_of(u64 key, u32 places)
{
	return ((key >> 3) * 0x9e3779b97f4a7c15ULL >> 32) * (places / IOT_PLACE_WAYS) >> 32;
}

/* Where an address is; NO_PLACE: nowhere. sets: an array of struct place_set; places: in all of them. */
static __always_inline u32 place_find(void *sets, u32 places, u64 key)
{
	u32 at = set_of(key, places);
	struct place_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key) /* what is free has none */
		return NO_PLACE;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at * IOT_PLACE_WAYS + i;
	return NO_PLACE;
}

/* The same, and it has a place from now on unless there is none. */
static __always_inline u32 place_take(void *sets, u32 places, u64 key)
{
	u32 at = set_of(key, places);
	struct place_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key)
		return NO_PLACE;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at * IOT_PLACE_WAYS + i;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (!*(volatile u64 *)&s->key[i] && !__sync_val_compare_and_swap(&s->key[i], 0, key))
			return at * IOT_PLACE_WAYS + i;
	return NO_PLACE;
}

/* Gives a place back. */
static __always_inline void place_drop(void *sets, u32 place)
{
	u32 at = place / IOT_PLACE_WAYS;
	struct place_set *s = bpf_map_lookup_elem(sets, &at);

	if (s)
		*(volatile u64 *)&s->key[place & (IOT_PLACE_WAYS - 1)] = 0;
}

#endif
