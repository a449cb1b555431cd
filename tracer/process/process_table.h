/* SPDX-License-Identifier: GPL-3.0-only */
/* process_table.h - live and ended processes, and stand-ins for small processes that ended.
 *
 * A run may see a million processes that each do next to nothing. The first ones, every process
 * that moved PROCESS_TABLE_BYTES, and every process that was alive when sums were given have a row
 * and sums of their own. Of the others, those that are alike (storage system, instance, container,
 * name and parent) share the row of the first of them that ended. That row has the sums of all, and
 * their number.
 */
#ifndef IOT_PROCESS_TABLE_H
#define IOT_PROCESS_TABLE_H

#include "detect.h"
#include "names.h"
#include "probe.h"

#define PROCESS_TABLE_TOLD 4096 /* processes that have rows of their own whatever they did */
/* a process that moved as many bytes has a row of its own */
#define PROCESS_TABLE_BYTES (1ull << 20)

struct process_table;

struct process_table_opts {
	struct probes *probes;
	struct names *names;
	struct detect *detect;
	u32 told;               /* 0: PROCESS_TABLE_TOLD */
	/* events name their processes, so each has a row, even if its sums are another's */
	bool events;
	/* Receives the row of a process. */
	void (*row)(void *arg, const struct iot_proc *, const struct rec_process *);
	void *arg;
};

/* Returns 0 or a negative errno after a message. */
int process_table_new(struct process_table **out, const struct process_table_opts *);
void process_table_free(struct process_table *);

/* Notes a process that was seen, or seen again. */
void process_table_see(struct process_table *, const struct iot_proc *);
/* Notes the end of a process; called once. */
void process_table_end(struct process_table *, const struct iot_proc *);
/* Gives the row again: more is known about the process. */
void process_table_change(struct process_table *, const struct iot_proc *);

/* True when the process is wanted (detect_wanted()), or was while it lived. */
bool process_table_wants(const struct process_table *, u32 id);

/* A round, which goes with that of aggregate.h. Counts bytes for a process; false: it was never
 * seen. */
bool process_table_count(struct process_table *, u32 owner, u64 bytes);
/* Decides which of the ended processes get a row, and which are folded. */
void process_table_settle(struct process_table *);
/* True when the sums of a process wait, because it lives and may still be recognised as wanted. */
bool process_table_waits(struct process_table *, u32 owner);
/* Process that the sums of an owner are given to; it has a row by then. */
u32 process_table_owner(struct process_table *, u32 owner);
/* True when the owner has ended and its aggregates can be given back. */
bool process_table_is_over(struct process_table *, u32 owner, bool quiet);
/* Forgets processes that ended some seconds ago. */
void process_table_forget(struct process_table *);

/* Notes that an event of the process was dropped which would have been given, were it wanted. */
void process_table_lose_event(struct process_table *, u32 owner);
/* Ends the waiting of sums. */
void process_table_end_waits(struct process_table *);
/* Number of dropped events, and of rounds whose sums went to others, since the last call. */
u64 process_table_lost_events(struct process_table *, u32 owner);

#endif
