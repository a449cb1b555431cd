// SPDX-License-Identifier: GPL-3.0-only
/* run_early.c - chooses the events to give, with --system. The kernel side sends those of all
 * processes. A process may be recognised in the middle of its life, by a file that it opens; until
 * then its events wait here, so that it counts from its first call on, in the events as in the
 * sums.
 */
#include <stdlib.h>
#include "run_parts.h"

/* events that wait: 6 MiB. An event that is pushed out, and whose process is recognised later, is a
 * loss */
#define EARLY_MAX (1u << 16)

static bool is_cut(const struct iot_event *e)
{
	return e->kind == KIND_FS_TRUNCATE || e->kind == KIND_FS_PUNCH || e->kind == KIND_FS_EVICT;
}

/* The event has no known owner: a wanted process may have dirtied the data. */
static bool is_nobodys(const struct iot_event *e)
{
	return !e->owner && (e->kind == KIND_FS_WRITE || e->kind == KIND_FS_PACKED) &&
		(e->cause == CAUSE_DATA || e->cause == CAUSE_DIRECT);
}

/* Writeback for a process that is not wanted, which has overwritten dirty data. */
static bool is_taken(const struct iot_event *e)
{
	return e->kind == KIND_FS_WRITE && e->cause == CAUSE_DATA && e->owner >= PROC_FIRST;
}

/* Returns false for an event without use for the wanted processes. Of other processes, events that
 * remove dirty data matter, since the wanted system may have dirtied it; they are given as
 * PROC_OTHER's. Those of a process that may still be recognised are given only when they cannot
 * wait any longer (last). */
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

/* Removes the first event from the queue. */
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
