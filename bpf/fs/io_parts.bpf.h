/* SPDX-License-Identifier: GPL-3.0-only */
/* io_parts.bpf.h - owners and structures of I/O that a file system is about to submit. A log write
 * holds parts of several checkpoints and kinds, and a buffer those of several owners: their bytes
 * are a list of parts, in no order. Written by the object of the file system, read by block.bpf.c.
 */
#ifndef IOT_IO_PARTS_BPF_H
#define IOT_IO_PARTS_BPF_H

#include "task.bpf.h"

#define MAX_PARTS 32           /* parts of one write */
#define PART_LISTS 1024        /* a power of two */

struct part {
	u64 owner;
	u32 bytes;
	u8 sub, pad[3];
};

/* The list with number n is at index n modulo PART_LISTS, until another one takes it. */
struct part_list {
	u32 number, n;
	struct part part[MAX_PARTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PART_LISTS);
	__type(key, u32);
	__type(value, struct part_list);
} parts SEC(".maps");

/* Owner and structure of a write. One with a list of parts has no sub of its own, and its owner is
 * that of all parts only when `how` is set. */
struct stated {
	u64 owner;
	u32 size;              /* bytes of the whole write */
	u32 parts;             /* part_list.number; 0: none */
	u8 sub, how, pad[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);      /* bi_private of its bios */
	__type(value, struct stated);
} stated SEC(".maps");

static __always_inline struct part_list *parts_find(u32 number)
{
	u32 at = INDEX(number, PART_LISTS);
	struct part_list *l = bpf_map_lookup_elem(&parts, &at);

	return l && l->number == number ? l : NULL;
}

/* A new list, empty. */
static __always_inline struct part_list *parts_make(void)
{
	struct iot_state *s = run_state();
	struct part_list *l;
	u32 number, at;

	if (!s)
		return NULL;
	number = __sync_fetch_and_add(&s->next_parts, 1) + 1;
	at = INDEX(number, PART_LISTS);
	l = number ? bpf_map_lookup_elem(&parts, &at) : NULL;
	if (!l)
		return NULL;
	l->number = number;
	l->n = 0;
	return l;
}

#endif
