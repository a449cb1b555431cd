/* SPDX-License-Identifier: GPL-3.0-only */
/* stacking_stripe.bpf.h - owners of the bios of an array with parity (md's raid4, raid5, raid6).
 *
 * The array reads and writes its members in bios of one page each, which belong to a struct
 * stripe_head. That has a struct r5dev for each member, with the lists of the bios that were queued
 * on the array for the member's page: toread, towrite and, while they are written, written.
 */
#ifndef IOT_STACKING_STRIPE_BPF_H
#define IOT_STACKING_STRIPE_BPF_H

#include "owner.bpf.h"
#include "stacking_clone.bpf.h"

/* The offsets in struct stripe_head. The tracer writes them when the module is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct iot_stripe_layout);
} stripe_layout SEC(".maps");

static __always_inline struct iot_stripe_layout *stripe_layout_of(void)
{
	u32 zero = 0;
	struct iot_stripe_layout *l = bpf_map_lookup_elem(&stripe_layout, &zero);

	return l && l->member_size ? l : NULL;
}

/* True for a bio that transfers a page of a stripe to or from a member. */
static __always_inline bool is_stripe(struct bio *b)
{
	return stripe_layout_of() && function_of(POINTER_AT(b, struct bio, bi_end_io)) == FN_STRIPE;
}

/* A walk over the bios that were queued on the array for the members of a stripe. */
struct stripe_asked {
	/* member: the next struct r5dev. bio: the next bio of the one before it; 0: no more */
	u64 member, bio;
	u64 owner;             /* owner of all bios, unless they differ */
	u32 left, member_size; /* members that are left; the size of a struct r5dev */
	/* n: 1 after the first bio; differ: 1 when two owners were found; write: 1 when a bio
	 * writes */
	u32 array, n, differ, write;
};

/* The first bio that was queued for a member, one that writes if there is any; 0: none. This and
 * the next function are global, so that they are verified once: the step of the walk, which calls
 * them, is verified several times. */
__noinline u64 member_asked(u64 member)
{
	struct iot_stripe_layout *l = stripe_layout_of();

	if (!l)
		return 0;
	return pointer_at(member + l->written) ?: pointer_at(member + l->to_write) ?:
	       pointer_at(member + l->to_read);
}

/* The owner of a bio that was queued on the array, or of the one whose vectors it shares;
 * PROC_NONE: not known, or several. */
__noinline u64 asked_owner(u64 bio, u32 array)
{
	u64 upper;
	struct iot_bio *t = upper_by_vectors((struct bio *)bio, array, &upper);

	return t && !t->many ? t->owner : PROC_NONE;
}

static long asked_step(u32 n, struct stripe_asked *a)
{
	u64 owner;

	if (a->differ)
		return 1;
	if (!a->bio) {
		if (!a->left)
			return 1;
		a->left--;
		a->bio = member_asked(a->member);
		a->member += a->member_size;
		return 0;
	}
	owner = asked_owner(a->bio, a->array);
	if (!a->n)
		a->owner = owner;
	a->n = 1;
	a->differ = owner != a->owner;
	a->write |= op_of(NUMBER_AT(a->bio, struct bio, bi_opf)) != REQ_OP_READ;
	a->bio = POINTER_AT(a->bio, struct bio, bi_next);
	return 0;
}

#define STRIPE_STEPS 256       /* members, and bios that were queued for them, at most */

static __always_inline void owner_of_asked(struct iot_bio *t, struct stripe_asked *a)
{
	bpf_loop(STRIPE_STEPS, asked_step, a, 0);
	t->owner = a->differ || a->left || a->bio ? PROC_NONE : a->owner;
	t->many = 0;
	t->how = t->owner & OWNER_TXN ? HOW_TRANSACTION : t->owner ? HOW_EXACT : HOW_NONE;
}

/* Fills in the tag of a bio that transfers a page of a stripe. That is the tag of the bio that was
 * queued on the array for this page. If there is none, the page is parity or is read to compute
 * parity, and its owner is the writer of the other data of the stripe, unless there are several.
 * Global, so that it is verified once. */
__noinline int stripe_passed(u64 bio, struct iot_bio *t, u32 array)
{
	struct iot_stripe_layout *l = stripe_layout_of();
	u64 stripe = POINTER_AT(bio, struct bio, bi_private), at, asked, from, upper = 0;
	bool write = op_of(NUMBER_AT(bio, struct bio, bi_opf)) != REQ_OP_READ;
	struct stripe_asked a = { .array = array, .bio = some_zero(), .n = some_zero(),
				  .differ = some_zero(), .write = some_zero() };
	struct iot_bio *p;

	if (!t || !l)
		return 0;
	at = (bio - stripe - l->first_member) / l->member_size;
	a.left = number_at(stripe + l->members);
	a.member = stripe + l->first_member;
	a.member_size = l->member_size;
	if (at >= a.left)
		return 0;
	asked = a.member + at * l->member_size;
	from = pointer_at(asked + l->sector);
	asked = write ? pointer_at(asked + l->written) : pointer_at(asked + l->to_read);
	if (!asked) {
		t->cause = CAUSE_METADATA;
		owner_of_asked(t, &a);
		t->sub = !a.n ? SUB_SCRUB : write || !a.write ? SUB_PARITY : SUB_FOR_WRITE;
		return 0;
	}
	p = upper_by_vectors((struct bio *)asked, array, &upper);
	if (!p)
		return 0;
	inherit(t, p, upper, from > p->sector ? from : p->sector,
		NUMBER_AT(bio, struct bio, bi_iter.bi_size));
	if (!POINTER_AT(asked, struct bio, bi_next))
		return 0;
	a.left = 0; /* several bios share the page: only their owners are compared */
	a.bio = asked;
	owner_of_asked(t, &a);
	return 0;
}

#endif
