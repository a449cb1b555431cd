/* SPDX-License-Identifier: GPL-3.0-only */
/* aggregate.bpf.h - what probes count: aggregates and histograms. */
#ifndef IOT_RECORD_BPF_H
#define IOT_RECORD_BPF_H

#include "process.bpf.h"
#include "hist.h"

/* What a call does to the bytes of a file. */
enum moves {
	MOVES_FROM_FILE,
	MOVES_TO_FILE,
	MOVES_NOTHING,
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_cell_key);
	__type(value, u32);
} cell_index SEC(".maps");

/* Sums, those of each processor behind each other's: the tracer multiplies the size by the number of processors. Elements of an array of the
 * kernel's own for processors are allocated one by one, which took a tenth of the time until a run could begin. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_cell);
} cells SEC(".maps");

struct hist {
	u64 n[HIST_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_HISTS);
	__type(key, u32);
	__type(value, struct hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_cell_slot);
} cell_keys SEC(".maps");

/* Aggregates by a hash of their keys, each that which was looked for last: an array is looked into without a call, and the usual call
 * is cheaper than a return from one. What it says is true where the number has this key and is open (cell_keys). */
#define RECENT_CELLS (1 << IOT_RECENT_BITS)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_CELLS);
	__type(key, u32);
	__type(value, u32);
} recent_cells SEC(".maps");

/* Numbers of aggregates that were given back, a ring: from state.free_begin, where programs take them, to state.free_end, where
 * the tracer puts them. (Sleepable programs, such as block__sweep, may use no map of type queue before 6.4.) */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} free_cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_FOLDS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_fold);
} folds SEC(".maps");

/* Histogram group of a process, written by the tracer at place `id` modulo IOT_MAX_GROUPED; who is not there is in group 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_GROUPED);
	__type(key, u32);
	__type(value, u32);
} groups SEC(".maps");

/* Whose sums the bytes of a process belong to: its own, or those of the row that stands for it since it ended. */
static __always_inline u32 owner_of_sums(u32 owner)
{
	u32 at = INDEX(owner, IOT_MAX_FOLDS);
	struct iot_fold *f = bpf_map_lookup_elem(&folds, &at);

	return f && f->id == owner ? f->to : owner;
}

#define CELL_TRIES 8           /* to take a number that other processors want too */

/* A number for a new aggregate: one that was given back, or the next. IOT_NO_CELL: there is none. */
static __always_inline u32 cell_number(struct iot_state *s)
{
	u32 n, begin, at;
	u64 *given_back;

	for (int i = 0; i < CELL_TRIES; i++) {
		begin = *(volatile u32 *)&s->free_begin;
		if (begin == *(volatile u32 *)&s->free_end)
			break;
		at = begin % cfg.max_cells;
		given_back = bpf_map_lookup_elem(&free_cells, &at);
		if (!given_back)
			break;
		n = *given_back;
		if (number_take(&s->free_begin, begin, offsetof(struct iot_state, free_begin)))
			return n;
	}
	if (s->next_cell >= cfg.max_cells)
		return IOT_NO_CELL;
	n = NEXT_NUMBER(s, next_cell);
	return n < cfg.max_cells ? n : IOT_NO_CELL;
}

/* Unless the tracer has closed it. Before 5.12 there is no such operation, and it stays found by its key alone. */
static __always_inline void cell_open(struct iot_cell_slot *slot)
{
	if (!REDUCED)
		__sync_val_compare_and_swap(&slot->used, IOT_CELL_NEW, IOT_CELL_OPEN);
}

/* Gives an aggregate to a key. The tracer reads the key by the number: it is there before anybody can add. */
static __always_inline u32 cell_insert(struct iot_state *s, struct iot_cell_key *key)
{
	u32 n = cell_number(s), *other;
	struct iot_cell_slot *slot = bpf_map_lookup_elem(&cell_keys, &n);

	if (!slot)
		return IOT_NO_CELL;
	slot->key = *key;
	slot->used = IOT_CELL_NEW;
	__sync_fetch_and_add(&s->used_cells, 1);
	if (!bpf_map_update_elem(&cell_index, key, &n, BPF_NOEXIST)) {
		cell_open(slot);
		return n;
	}
	slot->used = IOT_CELL_LOST; /* another processor was first */
	other = bpf_map_lookup_elem(&cell_index, key);
	return other ? *other : IOT_NO_CELL;
}

/* Finds or makes the aggregate of a key that is not among the recent ones, which becomes that of whom its sums belong to. Returns its
 * number, or IOT_NO_CELL when there is no room; when only the reserve is left it is nobody's, and so is the key then. Global: the
 * verifier looks at it once. */
__noinline u32 cell_make(struct iot_cell_key *key)
{
	struct iot_state *s = run_state();
	struct iot_cell_key k;
	u32 *n, owner;

	if (!s || !key)
		return IOT_NO_CELL;
	k = *key; /* until 6.2 a key must be on the stack of the function that looks it up */
	n = REDUCED ? NULL : bpf_map_lookup_elem(&cell_index, &k);
	if (n)
		return *n;
	owner = owner_of_sums(k.owner);
	if (owner != k.owner) {
		k.owner = key->owner = owner;
		n = bpf_map_lookup_elem(&cell_index, &k);
		if (n)
			return *n;
	}
	if (s->used_cells >= cfg.max_cells - IOT_CELL_RESERVE(cfg.max_cells)) {
		lose(LOSS_CELL_TABLE);
		k.owner = key->owner = PROC_NONE;
		n = bpf_map_lookup_elem(&cell_index, &k);
		if (n)
			return *n;
	}
	return cell_insert(s, &k);
}

#ifdef IOT_REDUCED
__by_numbers int cell_made(u32 owner, u32 dev, u32 what, u32 flags)
{
	struct iot_cell_key k = { .owner = owner, .dev = dev, .flags = flags };

	*(u32 *)&k.kind = what;
	return cell_make(&k);
}
#define cell_make(k) ((k)->owner = owner_of_sums((k)->owner), cell_made((k)->owner, (k)->dev, *(u32 *)&(k)->kind, (k)->flags))
#endif

/* For those who are called where the stack is nearly full (6.1): a frame of theirs would take 32 bytes more. */
static __always_inline u32 cell_seek(struct iot_cell_key *k)
{
	u32 *n = REDUCED ? bpf_map_lookup_elem(&cell_index, k) : NULL;

	return n ? *n : cell_make(k);
}

static __always_inline u32 cell_find(struct iot_cell_key *k)
{
	u32 what = *(u32 *)&k->kind, *recent;
	u32 at = (k->owner * 0x9e3779b1 ^ k->dev * 0x85ebca6b ^ what * 0xc2b2ae35 ^ k->flags * 0x27d4eb2f) >> (32 - IOT_RECENT_BITS);
	struct iot_cell_slot *slot;

	recent = REDUCED ? NULL : bpf_map_lookup_elem(&recent_cells, &at);
	at = recent ? *(volatile u32 *)recent : 0; /* one variable for both: 6.1 has no more room on the stack */
	slot = recent ? bpf_map_lookup_elem(&cell_keys, &at) : NULL;
	if (slot && slot->used == IOT_CELL_OPEN && slot->key.owner == k->owner && slot->key.dev == k->dev && *(u32 *)&slot->key.kind == what &&
	    slot->key.flags == k->flags)
		return at;
	asm volatile("" : "+r"(recent)); /* one call, not one for each thing that may be the reason for it: the verifier goes each way */
	at = cell_seek(k);
	if (recent)
		*recent = at;
	return at;
}

/* The sums of an aggregate on this processor; NULL: of IOT_NO_CELL, whatever processor it is. */
static __always_inline struct iot_cell *cell_here(u32 n)
{
	u32 at, first;

	*(volatile u32 *)&at = n; /* not in a register meanwhile, for which there would be no room on the stack of 6.1 */
	first = bpf_get_smp_processor_id() * cfg.max_cells;
	*(volatile u32 *)&at += first;
	return bpf_map_lookup_elem(&cells, &at);
}

/* lat_ns is 0 when the operations were not timed. */
static __always_inline void cell_add(u32 n, u64 ops, u64 bytes, u64 touched, u64 lat_ns, bool error)
{
	struct iot_cell *v = cell_here(n);

	if (!v) {
		lose(LOSS_CELL_BYTES);
		return;
	}
	sum_add(&v->ops, ops);
	sum_add(&v->bytes, bytes);
	sum_add(&v->touched, touched);
	if (lat_ns) {
		sum_add(&v->timed, ops);
		sum_add(&v->lat_ns, lat_ns);
	}
	if (error)
		sum_add(&v->errors, 1);
	if (lat_ns > v->max_ns)
		v->max_ns = lat_ns;
}

/* Global: the verifier looks at it once, not on every path that comes here. */
__noinline int hist_put(u32 owner, u32 kind, u32 type, u64 ns)
{
	u32 b = hist_bucket(ns), at = INDEX(owner, IOT_MAX_GROUPED), *group, n;
	struct hist *h;

	group = bpf_map_lookup_elem(&groups, &at);
	n = IOT_HIST(kind, group && *group >> IOT_GROUP_BITS == owner ? *group & (IOT_HIST_GROUPS - 1) : 0, type >= SUB_FT_SOCK && type <= SUB_FT_OTHER);
	h = bpf_map_lookup_elem(&hists, &n);

	if (h && b < HIST_BUCKETS)
		sum_add(&h->n[b], 1);
	return 0;
}

/* One duration of an operation of `owner`; the tracer and what the filters exclude have no part in latencies. `type` is that
 * of the file, for a call: waiting on a socket or a pipe is no file I/O. */
static __always_inline void hist_add(u32 owner, u32 kind, u8 type, u64 ns)
{
	if (ns && owner != PROC_SELF && owner != PROC_OTHER && (owner || !filtered()))
		hist_put(owner, kind, type, ns);
}

/* Adds one operation to the aggregate of `k`, and its duration to the histogram when it has one. */
static __always_inline void count(struct iot_cell_key *k, u64 ops, u64 bytes, u64 lat_ns, bool error)
{
	cell_add(cell_find(k), ops, bytes, 0, lat_ns, error);
	hist_add(k->owner, k->kind, SUB_NONE, lat_ns);
}

/* The same out of line. Global: the verifier looks at it once, not on every path that comes here. */
__noinline int count_apart(struct iot_cell_key *key, u64 ops, u64 bytes, u64 lat_ns, u32 error)
{
	struct iot_cell_key k;

	if (!key)
		return 0;
	k = *key; /* whoever's sums it belongs to: the caller's key stays the owner's, for events */
	cell_add(cell_find(&k), ops, bytes, 0, lat_ns, error);
	hist_add(k.owner, k.kind, SUB_NONE, lat_ns);
	return 0;
}

/* The same for those who are called where the stack is nearly full: no duration. */
__noinline int count_deep(struct iot_cell_key *key, u64 ops, u64 bytes)
{
	struct iot_cell_key k;

	if (!key)
		return 0;
	k = *key;
	cell_add(cell_seek(&k), ops, bytes, 0, 0, false);
	return 0;
}

#endif
