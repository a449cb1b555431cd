/* SPDX-License-Identifier: GPL-3.0-only */
/* transaction.bpf.h - shares of processes in a journal transaction, or in a checkpoint of a log.
 * Used by the objects of file systems.
 */
#ifndef IOT_TRANSACTION_BPF_H
#define IOT_TRANSACTION_BPF_H

#include "owner.bpf.h"

/* Links a new share into the list of its transaction. Global: verified once. */
__noinline int share_link(struct txn *x, struct txn_share *s, u32 proc)
{
	u64 first;

	/* a share that is not linked after 8 attempts is missing in the sum, which is counted */
	for (int n = 0; x && s && n < 8; n++) {
		first = *(volatile u64 *)&x->shares;
		s->next = first;
		s->place = (first >> 32) + 1;
		if (__sync_val_compare_and_swap(&x->shares, first, (u64)s->place << 32 | proc) ==
		    first)
			break;
	}
	return 0;
}

/* The share of a process, linked in front of the others of its transaction when it is new. NULL:
 * the table is full. */
static __always_inline struct txn_share *share_of(struct txn *x, const struct txn_share_key *k)
{
	struct txn_share *s = bpf_map_lookup_elem(&txn_shares, k), new = {};

	if (s)
		return s;
	if (bpf_map_update_elem(&txn_shares, k, &new, BPF_NOEXIST))
		/* another processor was first, and links it */
		return bpf_map_lookup_elem(&txn_shares, k);
	s = bpf_map_lookup_elem(&txn_shares, k);
	if (s)
		share_link(x, s, k->proc);
	return s;
}

/* Frees an entry: all fields are 0. */
static __always_inline void txn_clear(struct txn *x)
{
	x->id = TXN_FREEING;
	x->total = x->journal_bytes = x->journal_blocks = x->commit_ns = x->shares = 0;
	x->top = x->top_weight = x->first = x->first_weight = x->ended = 0;
	__sync_lock_test_and_set(&x->id, 0);
}

/* Frees the entry for the next transaction of a set: the one behind the entry that was just made,
 * which is the oldest. */
static __always_inline void txn_free_next(struct txn_set *s, u32 made)
{
	struct txn *x = &s->way[INDEX(made + 1, TXN_WAYS)];

	if (txn_in(s, 0))
		return; /* the set has not been full yet */
	if (!x->ended && gate_open())
		lose(LOSS_TXN_TABLE); /* its owners are not known any more */
	txn_clear(x);
}

/* The context of bpf_loop(): a transaction that is being inserted. */
struct txn_entry {
	u64 id;
	u32 done, pad;
};

/* The number of entries of a transaction in a set. Without branches, of which the verifier would
 * follow all combinations. */
static __always_inline u64 txn_entries(struct txn_set *s, u64 id)
{
	u64 n = TXN_WAYS, other;

	for (int i = 0; i < TXN_WAYS; i++) {
		other = *(volatile u64 *)&s->way[i].id ^ id;
		n -= is_negative(other | -other);
	}
	return n;
}

/* Tries one entry of the set. The verifier does not know its index, and so verifies the work
 * once. */
static long txn_try(u32 n, struct txn_entry *e)
{
	struct txn_set *s = txn_set_of(e->id);
	struct txn *x;

	if (!s || txn_in(s, e->id)) {
		e->done = !!s;
		return 1;
	}
	x = &s->way[INDEX(n, TXN_WAYS)];
	if (x->id || __sync_val_compare_and_swap(&x->id, 0, e->id))
		return 0;
	if (txn_entries(s, e->id) > 1) {
		/* a third processor may have found it, and would use it for the next transaction
		 * here */
		txn_clear(x);
		return 0;
	}
	x->ended = !gate_open(); /* the end of a commit that begins before the run is not traced */
	txn_free_next(s, n);
	e->done = 1;
	return 1;
}

#define TXN_TRIES 64           /* attempts: each entry as often as the others */

/* Makes the entry of a transaction, unless it exists; false: no entry is free. There is no lock,
 * whose holder could be preempted: the processor that takes the free entry frees the next one. If
 * two processors take entries for the same transaction, one gives its entry back. Global: verified
 * once. */
__noinline int txn_enter(u64 id)
{
	struct txn_entry e = { .id = id };

	if (id)
		bpf_loop(TXN_TRIES, txn_try, &e, 0);
	return e.done;
}

/* The entry of a transaction, made at its first handle. NULL: no entry is free. */
static __always_inline struct txn *txn_make(u64 id)
{
	struct txn_set *s = txn_set_of(id);
	struct txn *x;

	if (!s || !id)
		return NULL;
	x = txn_in(s, id);
	if (x)
		return x;
	return txn_enter(id) ? txn_in(s, id) : NULL;
}

/* The weight of a process in a transaction. NULL: the table is full. */
static __always_inline u32 *weight_of(struct txn *x, const struct txn_share_key *k)
{
	u32 first = x->first ?: __sync_val_compare_and_swap(&x->first, 0, k->proc);
	struct txn_share *s;

	if (!first || first == k->proc)
		return &x->first_weight;
	s = share_of(x, k);
	if (!s)
		return NULL;
	/* else the compiler computes the address before the NULL check */
	asm volatile("" : "+r"(s));
	return &s->weight;
}

/* Adds `weight` to the share of process `proc` in a transaction. */
static __always_inline void txn_add(u64 owner, u32 proc, u32 weight)
{
	struct txn_share_key k = { .txn = txn_id(owner), .proc = proc };
	struct txn *x = txn_make(k.txn);
	u32 *share = x ? weight_of(x, &k) : NULL, sum;

	if (!share) {
		lose(LOSS_TXN_TABLE);
		return;
	}
	sum = __sync_fetch_and_add(share, weight) + weight;
	/* last, so that a concurrent txn_split() finds all weights of the sum */
	__sync_fetch_and_add(&x->total, weight);
	if (sum > x->top_weight || !x->top) {
		x->top = proc;
		x->top_weight = sum;
	}
}

#endif
