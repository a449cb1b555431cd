/* SPDX-License-Identifier: GPL-3.0-only */
/* process_table.h - which processes live, which ended, and who stands for the small ones that ended.
 *
 * A run may see a million processes that each do next to nothing. The first ones, and everyone who moved PROCESS_TABLE_BYTES or was there when
 * sums were given, have a row and sums of their own. Of the others those that are alike (storage system, instance, container, name and
 * parent) share one row: that of the first of them that ended. It has the sums of all, and says how many they are.
 */
#ifndef IOT_PROCESS_TABLE_H
#define IOT_PROCESS_TABLE_H

#include "detect.h"
#include "names.h"
#include "probe.h"

#define PROCESS_TABLE_TOLD 4096         /* processes that have rows of their own whatever they did */
#define PROCESS_TABLE_BYTES (1ull << 20) /* who moved as much is itself */

struct process_table;

struct process_table_opts {
	struct probes *probes;
	struct names *names;
	struct detect *detect;
	u32 told;               /* 0: PROCESS_TABLE_TOLD */
	bool events;            /* events name their processes: each has a row, though its sums may be another's */
	/* Takes a row of a process. */
	void (*row)(void *arg, const struct iot_proc *, const struct rec_process *);
	void *arg;
};

/* Returns 0 or a negative errno after a message. */
int process_table_new(struct process_table **out, const struct process_table_opts *);
void process_table_free(struct process_table *);

/* A process that was seen, or seen again. */
void process_table_see(struct process_table *, const struct iot_proc *);
/* It ended; once. */
void process_table_end(struct process_table *, const struct iot_proc *);
/* More is known of it by now. */
void process_table_change(struct process_table *, const struct iot_proc *);

/* Is it of those that are asked for (detect_wanted()), or was it while it lived? */
bool process_table_wants(const struct process_table *, u32 id);

/* A round, beside that of aggregate.h: bytes that were counted for a process, false when it was never seen; */
bool process_table_count(struct process_table *, u32 owner, u64 bytes);
/* decides who of those that ended is told and who is folded; */
void process_table_settle(struct process_table *);
/* do its sums wait, because it lives and may still be recognised as one that is asked for; */
bool process_table_waits(struct process_table *, u32 owner);
/* whose row the sums of an owner are given to, which is there by then; */
u32 process_table_owner(struct process_table *, u32 owner);
/* is this owner over, so that its aggregates can be given back; */
bool process_table_is_over(struct process_table *, u32 owner, bool quiet);
/* and forgets those that ended some seconds ago. */
void process_table_forget(struct process_table *);

/* An event of it is gone that would have been given, were it wanted. */
void process_table_lose_event(struct process_table *, u32 owner);
/* From now on no sums wait. */
void process_table_end_waits(struct process_table *);
/* How many that were, and rounds whose sums are with those of others, since this was asked last. */
u64 process_table_lost_events(struct process_table *, u32 owner);

#endif
