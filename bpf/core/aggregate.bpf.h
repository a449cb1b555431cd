/* SPDX-License-Identifier: GPL-3.0-only */
/* aggregate.bpf.h - aggregates and histograms: what programs count.
 */
#ifndef IOT_AGGREGATE_BPF_H
#define IOT_AGGREGATE_BPF_H

#include "process.bpf.h"
#include "hist.h"

/* The direction in which a call moves bytes of a file. */
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

/* Sums of all processors, one after the other: the tracer multiplies the size by the number of
 * processors. A per-CPU array is allocated element by element, which took a tenth of the time until
 * a run could begin. */
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
	__uint(max_entries, IOT_HISTS(KIND_MAX));
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

/* A cache of aggregates, by a hash of their keys: an array lookup is inlined, and this is the path
 * of most calls. An entry is valid when the aggregate of this number has this key and is open
 * (cell_keys). */
#define RECENT_CELLS (1 << IOT_RECENT_BITS)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_CELLS);
	__type(key, u32);
	__type(value, u32);
} recent_cells SEC(".maps");

/* Numbers of aggregates that were freed, a ring: from state.free_begin, where programs take them,
 * to state.free_end, where the tracer puts them. (Sleepable programs, such as block__sweep, may use
 * no map of type queue before 6.4.) */
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

/* The histogram group of a process, written by the tracer at index `id` modulo IOT_MAX_GROUPED. A
 * process without an entry is in group 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_GROUPED);
	__type(key, u32);
	__type(value, u32);
} groups SEC(".maps");

/* The id that the sums of a process are added to: its own, or the one that stands for it since it
 * ended. */
static __always_inline u32 owner_of_sums(u32 owner)
{
	u32 at = INDEX(owner, IOT_MAX_FOLDS);
	struct iot_fold *f = bpf_map_lookup_elem(&folds, &at);

	return f && f->id == owner ? f->to : owner;
}

#define CELL_TRIES 8           /* attempts to take a number that other processors take, too */

/* A number for a new aggregate: a freed one, or the next. IOT_NO_CELL: there is none. */
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

/* Opens an aggregate, unless the tracer has closed it. Before 5.12 there is no compare-and-swap,
 * and it is found by its key alone. */
static __always_inline void cell_open(struct iot_cell_slot *slot)
{
	if (!REDUCED)
		__sync_val_compare_and_swap(&slot->used, IOT_CELL_NEW, IOT_CELL_OPEN);
}

/* Makes the aggregate of a key. The tracer reads the key by the number: it is set before any
 * program can add. The index may refuse it: when it is full, and maybe when a burst of new keys is
 * faster than the kernel refills the processor's stock of elements (bpf_mem_alloc, since 6.1). Then
 * the aggregate is found by the cache alone, until another one of this key is in the index: the
 * tracer adds both. */
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
	other = bpf_map_lookup_elem(&cell_index, key);
	if (!other) {
		cell_open(slot);
		return n;
	}
	slot->used = IOT_CELL_LOST; /* another processor was first */
	return *other;
}

/* Finds or makes the aggregate of a key that is not cached. The key's owner becomes the id that its
 * sums are added to. Returns the number of the aggregate, or IOT_NO_CELL when there is no room;
 * when only the reserve is left it is an aggregate without owner, and so is the key then. Global:
 * verified once. */
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

/* For callers with little stack left (6.1): a frame of its own would take 32 bytes more. */
static __always_inline u32 cell_seek(struct iot_cell_key *k)
{
	u32 *n = REDUCED ? bpf_map_lookup_elem(&cell_index, k) : NULL;

	return n ? *n : cell_make(k);
}

static __always_inline u32 cell_find(struct iot_cell_key *k)
{
	u32 what = *(u32 *)&k->kind, *recent;
	u32 at = (k->owner * 0x9e3779b1 ^ k->dev * 0x85ebca6b ^ what * 0xc2b2ae35 ^ k->flags *
		  0x27d4eb2f) >> (32 - IOT_RECENT_BITS);
	struct iot_cell_slot *slot;

	recent = REDUCED ? NULL : bpf_map_lookup_elem(&recent_cells, &at);
	/* one variable for both: no stack is left on 6.1 */
	at = recent ? *(volatile u32 *)recent : 0;
	slot = recent ? bpf_map_lookup_elem(&cell_keys, &at) : NULL;
	if (slot && slot->used == IOT_CELL_OPEN && slot->key.owner == k->owner &&
	    slot->key.dev == k->dev && *(u32 *)&slot->key.kind == what &&
	    slot->key.flags == k->flags)
		return at;
	/* one call, not one for each condition: the verifier follows each */
	asm volatile("" : "+r"(recent));
	at = cell_seek(k);
	if (recent)
		*recent = at;
	return at;
}

/* The sums of an aggregate on this processor; NULL for IOT_NO_CELL on any processor. */
static __always_inline struct iot_cell *cell_here(u32 n)
{
	u32 at, first;

	*(volatile u32 *)&at = n; /* kept in memory: 6.1 has no stack left to spill a register */
	first = bpf_get_smp_processor_id() * cfg.max_cells;
	*(volatile u32 *)&at += first;
	return bpf_map_lookup_elem(&cells, &at);
}

/* Adds to the sums of an aggregate. lat_ns: 0 when the operations were not timed. */
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

/* Global: verified once, not on every path that leads here. */
__noinline int hist_put(u32 owner, u32 kind, u32 type, u64 ns)
{
	u32 b = hist_bucket(ns), at = INDEX(owner, IOT_MAX_GROUPED), *group, of = 0, n;
	bool other = type >= SUB_FT_SOCK; /* SUB_NET_UNIX, too */
	struct iot_state *s = run_state();
	struct hist *h;

	group = s && s->grouped ? bpf_map_lookup_elem(&groups, &at) : NULL;
	if (group && *group >> IOT_GROUP_BITS == owner)
		of = *group & (IOT_HIST_GROUPS - 1);
	n = kind < cfg.hist_kinds ? IOT_HIST(kind, of, other, cfg.hist_kinds) : ~0u;
	if (cfg.light) {
		n = other ? 0 : IOT_LIGHT_ROW(kind);
		if (!n)
			return 0;
		n += of * IOT_LIGHT_KINDS;
	}
	h = bpf_map_lookup_elem(&hists, &n);

	if (h && b < HIST_BUCKETS)
		sum_add(&h->n[b], 1);
	return 0;
}

/* Adds one duration of an operation of `owner` to a histogram. The tracer and excluded processes
 * have no part in latencies. `type` is that of the file, for a call: waiting on a socket or a pipe
 * is no file I/O. */
static __always_inline void hist_add(u32 owner, u32 kind, u8 type, u64 ns)
{
	if (ns && owner != PROC_SELF && owner != PROC_OTHER && (owner || !filtered()))
		hist_put(owner, kind, type, ns);
}

/* Adds one operation to the aggregate of `k`, and its duration to the histogram when it was
 * timed. */
static __always_inline void count(struct iot_cell_key *k, u64 ops, u64 bytes, u64 lat_ns,
				  bool error)
{
	cell_add(cell_find(k), ops, bytes, 0, lat_ns, error);
	hist_add(k->owner, k->kind, SUB_NONE, lat_ns);
}

/* As count(), out of line. Global: verified once, not on every path that leads here. */
__noinline int count_apart(struct iot_cell_key *key, u64 ops, u64 bytes, u64 lat_ns, u32 error)
{
	struct iot_cell_key k;

	if (!key)
		return 0;
	k = *key; /* cell_find() may change the owner; the caller's key keeps it, for events */
	cell_add(cell_find(&k), ops, bytes, 0, lat_ns, error);
	hist_add(k.owner, k.kind, SUB_NONE, lat_ns);
	return 0;
}

/* As count_apart() without a duration, for callers with little stack left. */
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
