/* SPDX-License-Identifier: GPL-3.0-only */
/* run_parts.h - one run, as the files run*.c share it. */
#ifndef IOT_RUN_PARTS_H
#define IOT_RUN_PARTS_H

#include <time.h>
#include "aggregate.h"
#include "command.h"
#include "detect.h"
#include "devices.h"
#include "filesums.h"
#include "flows.h"
#include "group_io.h"
#include "process_table.h"
#include "names.h"
#include "outputs.h"
#include "ready.h"
#include "run.h"
#include "settle.h"
#include "id_table.h"
#include "kernel_counters.h"

/* The end of a process of which not all threads may have said what they did. */
struct unsure_end {
	struct iot_proc proc;
	u64 since_ns;                 /* CLOCK_MONOTONIC: when it was looked at last */
	bool gone;                    /* they have by now: what they said is in the ring, or was taken from it */
};

struct run {
	const struct options *opts;
	struct outputs outputs;
	struct ready ready;
	struct sink *sink;
	struct probes *probes;
	struct detect *detect;
	struct names *names;
	struct process_table *processes;
	struct devices *devices;
	struct kernel_counters *counters;
	struct group_io *group_io;
	struct aggregates *aggregates;
	struct filesums *filesums;
	struct flows *flows;
	struct id_table files, held;    /* with --system (run_files.c): numbers of those that its processes used, elements of no size; and others */
	size_t n_held;
	struct iot_event *early;      /* with --system (run_early.c): of those who are not wanted, as far as is known; a ring */
	size_t first_early, n_early;
	struct rec_file_io *early_sums; /* and sums by file */
	size_t n_early_sums, early_sums_room;
	bool recognised;              /* somebody was since they were looked at */
	struct command command;
	struct settle_job *job;
	bool hidden;                  /* something that was used is not mounted where we see it */
	u32 unserved[64];             /* FUSE mounts of which the daemon was not known when they were learned */
	size_t n_unserved;
	sigset_t before;              /* the mask that the command gets */
	u64 start_ns, stop_ns;        /* CLOCK_MONOTONIC */
	u64 settle_ns;                /* when syncing began, since the start; 0: it did not */
	u64 sec, next_ns;             /* the second that is being recorded, and when it ends, since the start */
	u64 round_ns;                 /* when the aggregates were read last */
	u64 names_lost;               /* records of processes, by then */
	bool scanned;                 /* the table of processes was read in this round */
	u64 calm_ops, calm_since, calm_begun;
	u64 least_dirty, least_ns;    /* of the machine while everything is synced, and when it was so little first */
	u64 events;
	struct iot_event *batch;
	size_t n_batch;
	struct iot_proc *ends;        /* processes that ended; the first n_due are given after the next look into the ring */
	size_t n_ends, n_due, ends_room;
	struct unsure_end *unsure;    /* in the order in which they came */
	size_t n_unsure, unsure_room;
	int err;                      /* the first error, of the run itself or because no output is left; ends the run */
	const char *horizon;
	bool short_of;                /* it is whole, and lacks programs that the kernel refused during the run */
	bool progress;
};

static inline void take_error(struct run *r, int err)
{
	if (err && !r->err)
		r->err = err;
}

static inline u64 since_start(const struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->start_ns;
}

/* --- the beginning (run_begin.c) --- */

/* Everything that can be refused is refused here, before anything is recorded or overwritten. Returns an exit status. */
int run_prepare(struct run *);
/* Wants the processes of --pid and their present descendants. */
int run_want_families(struct run *);
int run_start_command(struct run *);

/* --- events that are given (run_events.c) --- */

/* Gives an event to the outputs, with the batch that it fills. */
void run_give(struct run *, const struct iot_event *);
/* Gives the batch that is not full. */
void run_flush(struct run *);
/* Was the layer of this kind of operation asked for? Programs of other layers run too, where owners need them; their sums are
 * not recorded. */
bool run_keeps(const struct run *, u32 kind);

/* --- records from the ring (run_ring.c) --- */

/* Gives what is in the ring now; true when there is more. */
bool run_drain(struct run *);
/* Gives the first n ends of processes. */
void run_give_ends(struct run *, size_t n);
/* Gives all ends, also those that may be told again: where what they did is given. */
void run_give_all_ends(struct run *);
/* Processes of which more is known by now: a later record replaces an earlier one. */
void run_give_changed(struct run *);
/* A process of the kernel side's table, which the ring may not have carried. */
void run_known(void *run, const struct iot_proc *);
void run_learn_device(void *run, u32 dev);
/* What was not known of devices when they were learned. */
void run_end_devices(struct run *);
/* A row of a process, for process_table.h. */
void run_row(void *run, const struct iot_proc *, const struct rec_process *);

/* --- which events are given, with --system (run_early.c) --- */

/* Is the event given now? It may be changed; else it waits. */
bool run_choose(struct run *, struct iot_event *);
/* A process is wanted from now on: what waits is looked at again. */
void run_recognise(struct run *, u32 id);
/* Gives what waits and is wanted by now; all: nothing waits any longer. */
void run_give_early(struct run *, bool all);
/* Gives all events that wait, and the last batch: no process is recognised after that. */
void run_give_all_events(struct run *);

/* --- which files are named (run_files.c) --- */

void run_files_begin(struct run *);
void run_files_free(struct run *);
/* Gives what is known of a file, now or when somebody who is asked for uses it. */
void run_file(struct run *, const struct rec_file *);
/* What goes to the outputs names this file; 0: none. */
void run_use(struct run *, u32 file);
/* With --system only: something did. */
bool run_uses(const struct run *, u32 file);

/* --- sums, once a second (run_round.c) --- */

/* Reads all aggregates into r->aggregates. */
void run_read_aggregates(struct run *);
void run_end_second(struct run *);
/* Gives what was added to the aggregates since the last round, when their table fills up. */
void run_end_round(struct run *);
void run_flow(void *run, const struct iot_flow_key *, const struct iot_flow *);

/* --- the loop (run_loop.c), and what it waits for in the end (run_settle.c) --- */

/* Keeps recording until `over` says so, an output fails, or a second signal asks to end at once. */
void run_record_until(struct run *, bool (*over)(struct run *));
/* Waits for what is dirty to be written, as the options say. */
void run_settle(struct run *);

#endif
