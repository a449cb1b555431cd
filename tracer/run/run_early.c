// SPDX-License-Identifier: GPL-3.0-only
/* run_early.c - which events are given. With --system the kernel side tells of everybody, and a process may be recognised in its middle, by a file
 * that it opens then. Until that it is a stranger, whose events wait here: it counts from its first call on, in the events as in the sums. */
#include <stdlib.h>
#include "run_parts.h"

#define EARLY_MAX (1u << 16) /* events that wait: 6 MiB. What is pushed out of one who is recognised later is a loss */

static bool is_cut(const struct iot_event *e)
{
	return e->kind == KIND_FS_TRUNCATE || e->kind == KIND_FS_PUNCH || e->kind == KIND_FS_EVICT;
}

/* Whoever is wanted may have dirtied it. */
static bool is_nobodys(const struct iot_event *e)
{
	return !e->owner && (e->kind == KIND_FS_WRITE || e->kind == KIND_FS_PACKED) && (e->cause == CAUSE_DATA || e->cause == CAUSE_DIRECT);
}

/* Written for who is not wanted: he has written over what was dirty. */
static bool is_taken(const struct iot_event *e)
{
	return e->kind == KIND_FS_WRITE && e->cause == CAUSE_DATA && e->owner >= PROC_FIRST;
}

/* False for what is of no use to those who are wanted. Of others that is what takes away data that the system may have dirtied, as nobody's in
 * particular: of one who may still be recognised only when it can wait no longer (last). */
static bool choose(struct run *r, struct iot_event *e, bool last)
{
	if (e->owner && process_table_wants(r->processes, e->owner)) {
		run_use(r, e->file);
		return true;
	}
	if (!run_uses(r, e->file))
		return false;
	if (is_nobodys(e))
		return true;
	if (is_taken(e)) {
		if (!last)
			return false;
		e->kind = KIND_FS_TAKEN;
		e->bytes = 0;
	} else if (!is_cut(e)) {
		return false;
	}
	e->owner = PROC_OTHER;
	return true;
}

static struct iot_event *early_at(struct run *r, size_t i)
{
	return &r->early[(r->first_early + i) % EARLY_MAX];
}

/* Takes the first out of the line. */
static void push_out(struct run *r)
{
	struct iot_event e = *early_at(r, 0);

	r->first_early = (r->first_early + 1) % EARLY_MAX;
	r->n_early--;
	if (choose(r, &e, true))
		run_give(r, &e);
	else
		process_table_lose_event(r->processes, e.owner);
}

bool run_choose(struct run *r, struct iot_event *e)
{
	struct iot_event own = *e;

	if (choose(r, e, false))
		return true;
	if (!r->early && !(r->early = malloc(EARLY_MAX * sizeof(*r->early)))) {
		process_table_lose_event(r->processes, e->owner);
		return choose(r, e, true);
	}
	if (r->n_early == EARLY_MAX)
		push_out(r);
	*early_at(r, r->n_early++) = own;
	return false;
}

void run_recognise(struct run *r, u32 id)
{
	r->recognised = true;
	probes_lose_late(r->probes, process_table_lost_events(r->processes, id));
}

void run_give_early(struct run *r, bool all)
{
	size_t kept = 0, n = r->n_early;

	for (size_t i = 0; i < n && r->recognised; i++) {
		struct iot_event e = *early_at(r, i);

		if (choose(r, &e, false))
			run_give(r, &e);
		else
			*early_at(r, kept++) = e;
	}
	if (r->recognised)
		r->n_early = kept;
	r->recognised = false;
	while (all && r->n_early)
		push_out(r);
}

void run_give_all_events(struct run *r)
{
	run_give_early(r, true);
	run_flush(r);
}
