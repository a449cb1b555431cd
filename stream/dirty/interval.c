/* SPDX-License-Identifier: GPL-3.0-only */
/* interval.c - ranges of a file as a treap: a search tree by position, a heap by priority. */
#include <errno.h>
#include <stdlib.h>
#include "interval.h"

struct interval {
	u64 from, to;
	struct interval *left, *right;
	u32 owner, priority;
};

static size_t count;

size_t interval_count(void)
{
	return count;
}

static void drop(struct interval *n)
{
	count--;
	free(n);
}

static u32 random_u32(void)
{
	static u64 state = 0x2545f4914f6cdd1dULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

static struct interval *node(u64 from, u64 to, u32 owner)
{
	struct interval *n = malloc(sizeof(*n));

	count += n != NULL;
	if (n)
		*n = (struct interval){
			.from = from, .to = to, .owner = owner, .priority = random_u32(),
		};
	return n;
}

/* Joins two trees, of which `a` lies before `b` as a whole. */
static struct interval *merge(struct interval *a, struct interval *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		a->right = merge(a->right, b);
		return a;
	}
	b->left = merge(a, b->left);
	return b;
}

/* Splits a tree into the nodes that begin before `at`, and the rest. */
static void split(struct interval *t, u64 at, struct interval **before, struct interval **rest)
{
	while (t) {
		if (t->from < at) {
			*before = t;
			before = &t->right;
			t = t->right;
		} else {
			*rest = t;
			rest = &t->left;
			t = t->left;
		}
	}
	*before = *rest = NULL;
}

static struct interval **last_of(struct interval **t)
{
	while (*t && (*t)->right)
		t = &(*t)->right;
	return t;
}

static struct interval **first_of(struct interval **t)
{
	while (*t && (*t)->left)
		t = &(*t)->left;
	return t;
}

/* Splits the range that spans `at`, if there is one. Returns 0 or -ENOMEM. */
static int border(struct interval **set, u64 at)
{
	struct interval *t = *set, *span = NULL, *tail, *before, *rest;

	while (t) {
		if (t->from < at) {
			span = t;
			t = t->right;
		} else {
			t = t->left;
		}
	}
	if (!span || span->to <= at)
		return 0;
	tail = node(at, span->to, span->owner);
	if (!tail)
		return -ENOMEM;
	span->to = at;
	split(*set, at, &before, &rest);
	*set = merge(merge(before, tail), rest);
	return 0;
}

/* Appends n to a set that ends before n. Joins it with the last range where both touch and have the
 * same owner; then n is freed. */
static void append(struct interval **set, struct interval *n)
{
	struct interval **last = last_of(set);

	if (*last && (*last)->to == n->from && (*last)->owner == n->owner) {
		(*last)->to = n->to;
		drop(n);
		return;
	}
	*set = merge(*set, n);
}

/* Appends the nodes of `old` to `set` in order, and before each a range of `owner` that fills the
 * gap from *at on. *at is then the end of the last node. */
static int fill(struct interval **set, struct interval *old, u64 *at, u32 owner, u64 *fresh)
{
	struct interval *right, *gap;
	int err = 0;

	if (!old)
		return 0;
	if (fill(set, old->left, at, owner, fresh))
		err = -ENOMEM;
	right = old->right;
	old->left = old->right = NULL;
	if (old->from > *at) {
		gap = node(*at, old->from, owner);
		if (gap)
			append(set, gap);
		else
			err = -ENOMEM;
		*fresh += old->from - *at;
	}
	*at = old->to;
	append(set, old);
	return fill(set, right, at, owner, fresh) ? -ENOMEM : err;
}

/* Appends all of `rest`. Only its first range can touch the last one of the set. */
static void append_rest(struct interval **set, struct interval *rest)
{
	struct interval **first = first_of(&rest), *n = *first;

	if (!n)
		return;
	*first = n->right;
	n->right = NULL;
	append(set, n);
	*set = merge(*set, rest);
}

int interval_add(struct interval **set, u64 from, u64 to, u32 owner, u64 *fresh)
{
	struct interval *before, *inside, *rest, *gap;
	u64 at = from;
	int err = 0;

	*fresh = 0;
	if (from >= to)
		return 0;
	if (border(set, from) || border(set, to))
		return -ENOMEM;
	split(*set, from, &before, &rest);
	split(rest, to, &inside, &rest);
	err = fill(&before, inside, &at, owner, fresh);
	if (at < to) {
		gap = node(at, to, owner);
		if (gap)
			append(&before, gap);
		else
			err = -ENOMEM;
		*fresh += to - at;
	}
	append_rest(&before, rest);
	*set = before;
	return err;
}

static void give(struct interval *t, void (*given)(void *arg, u32 owner, u64 bytes), void *arg)
{
	if (!t)
		return;
	give(t->left, given, arg);
	given(arg, t->owner, t->to - t->from);
	give(t->right, given, arg);
	drop(t);
}

int interval_take(struct interval **set, u64 from, u64 to,
		  void (*given)(void *arg, u32 owner, u64 bytes), void *arg)
{
	struct interval *before, *inside, *rest;

	if (from >= to || !*set)
		return 0;
	if (border(set, from) || border(set, to))
		return -ENOMEM;
	split(*set, from, &before, &rest);
	split(rest, to, &inside, &rest);
	give(inside, given, arg);
	*set = merge(before, rest);
	return 0;
}

void interval_look(const struct interval *t, u64 from, u64 to,
		   void (*given)(void *arg, u32 owner, u64 bytes), void *arg)
{
	u64 low, high;

	if (!t)
		return;
	low = from > t->from ? from : t->from;
	high = to < t->to ? to : t->to;
	if (from < t->from)
		interval_look(t->left, from, to, given, arg);
	if (low < high)
		given(arg, t->owner, high - low);
	if (to > t->to)
		interval_look(t->right, from, to, given, arg);
}
