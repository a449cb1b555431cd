/* SPDX-License-Identifier: GPL-3.0-only */
/* addr_table.bpf.h - tables of objects that are looked up by address several times while they are
 * in flight: bios and requests. An address belongs to a set of entries, which is searched for it.
 * With a hash map each program at a request took about a third more time: for helper calls, a lock
 * for each change, and an entry that is copied and moved. There is no room when all entries of a
 * set are taken.
 */
#ifndef IOT_ADDR_TABLE_BPF_H
#define IOT_ADDR_TABLE_BPF_H

#include "task.bpf.h"

#define NO_ADDR (~0U)

struct addr_set {
	u64 key[IOT_PLACE_WAYS];   /* 0: free */
};

/* The set that an address belongs to, of 1 << bits. Addresses on one page of memory have
 * neighbouring sets: objects in flight at one time are on few pages of the kernel, and their
 * entries on few of ours. */
static __always_inline u32 addr_set_of(u64 key, u32 bits)
{
	u32 at = ((key >> 12) * 0x9e3779b97f4a7c15ULL >> 32) << bits >> 32;

	return (at + (key >> 7 & 31)) & ((1U << bits) - 1);
}

/* The index of an address: its set, and above `bits` bits the place in that. NO_ADDR: it is not
 * there. sets: an array of 1 << bits struct addr_set. */
static __always_inline u32 addr_find(void *sets, u32 bits, u64 key)
{
	u32 at = addr_set_of(key, bits);
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key) /* a free entry has key 0 */
		return NO_ADDR;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at + (i << bits);
	return NO_ADDR;
}

/* The index of an address, which is inserted if it is not there; NO_ADDR: its set is full. */
static __always_inline u32 addr_take(void *sets, u32 bits, u64 key)
{
	u32 at = addr_set_of(key, bits);
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (!s || !key)
		return NO_ADDR;
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (*(volatile u64 *)&s->key[i] == key)
			return at + (i << bits);
#pragma unroll
	for (u32 i = 0; i < IOT_PLACE_WAYS; i++)
		if (!*(volatile u64 *)&s->key[i] &&
		    !__sync_val_compare_and_swap(&s->key[i], 0, key))
			return at + (i << bits);
	return NO_ADDR;
}

/* Frees an entry. */
static __always_inline void addr_drop(void *sets, u32 bits, u32 place)
{
	u32 at = place & ((1U << bits) - 1);
	struct addr_set *s = bpf_map_lookup_elem(sets, &at);

	if (s && place != NO_ADDR)
		*(volatile u64 *)&s->key[INDEX(place >> bits, IOT_PLACE_WAYS)] = 0;
}

#endif
