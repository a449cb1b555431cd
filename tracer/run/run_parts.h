/* SPDX-License-Identifier: GPL-3.0-only */
/* run_parts.h - the state of a run, shared by the files run*.c. */
#ifndef IOT_RUN_PARTS_H
#define IOT_RUN_PARTS_H

#include <time.h>
#include "aggregate.h"
#include "anonymous.h"
#include "command.h"
#include "detect.h"
#include "devices.h"
#include "filesums.h"
#include "flows.h"
#include "group_io.h"
#include "machine.h"
#include "process_table.h"
#include "names.h"
#include "outputs.h"
#include "ready.h"
#include "samples.h"
#include "snapshot.h"
#include "snapshot_again.h"
#include "run.h"
#include "settle.h"
#include "id_table.h"
#include "kernel_counters.h"

/* End of a process some of whose threads may not have reported their last operations. */
struct unsure_end {
	struct iot_proc proc;
	u64 since_ns;                 /* CLOCK_MONOTONIC, of the last look */
	bool gone; /* they have by now: their records are in the ring, or were taken from it */
};

struct run {
	const struct options *opts;
	struct outputs outputs;
	struct ready ready;
	struct sink *sink;            /* that of outputs, or `anonymous` in front of it */
	struct sink *anonymous;
	struct anonymizer *anonymizer;
	struct probes *probes;
	struct detect *detect;
	struct names *names;
	struct process_table *processes;
	struct devices *devices;
	struct machine *machine;
	struct snapshot *snapshots[MAX_SNAPSHOTS];
	struct samples *samples;      /* NULL: none were asked for */
	struct again *again;          /* NULL: folders are walked once */
	struct kernel_counters *counters;
	struct group_io *group_io;
	struct aggregates *aggregates;
	struct filesums *filesums;
	struct flows *flows;
	/* with --system (run_files.c): files that its processes used, elements without contents;
	 * and other files */
	struct id_table files, held;
	size_t n_held;
	/* with --only: of each file whether it is chosen; events whose file has no record yet, of
	 * which the first n_waited were judged once */
	struct id_table chosen;
	struct iot_event *waiting;
	size_t n_waiting, n_waited, waiting_room;
	/* with --system (run_early.c): events of processes that are not known to be wanted; a
	 * ring */
	struct iot_event *early;
	size_t first_early, n_early;
	struct rec_file_io *early_sums; /* sums by file that wait for their process, too */
	size_t n_early_sums, early_sums_room;
	bool recognised; /* a process was recognised since the waiting events were examined */
	struct command command;
	struct settle_job *job;
	bool hidden; /* a used file system is not mounted in this mount namespace */
	u32 unserved[64]; /* FUSE mounts whose daemon was not known when they were first seen */
	size_t n_unserved;
	sigset_t before;              /* the signal mask for the command */
	u64 start_ns, stop_ns;        /* CLOCK_MONOTONIC */
	u64 settle_ns; /* start of the sync, since the start of the run; 0: there was none */
	u64 sec, next_ns; /* the current second, and its end since the start of the run */
	u64 round_ns;                 /* time of the last reading of aggregates */
	u64 names_lost;               /* lost records of processes by then */
	bool loss_told;               /* the first events that were lost were reported */
	bool named[256];              /* opcodes of io_uring whose name was given */
	bool scanned;                 /* the table of processes was read in this round */
	u64 calm_ops, calm_since, calm_begun;
	/* lowest number of dirty bytes of the machine while everything is synced, and its time */
	u64 least_dirty, least_ns;
	u64 events;
	struct call_path *call_paths; /* run_paths.c */
	struct path_ops *path_ops;
	struct iot_event *batch;
	size_t n_batch;
	/* ended processes; the first n_due are given after the next look into the ring */
	struct iot_proc *ends;
	size_t n_ends, n_due, ends_room;
	struct unsure_end *unsure;    /* in order of arrival */
	size_t n_unsure, unsure_room;
	int err; /* first error, of the run itself or because no output is left; ends the run */
	const char *horizon;
	bool short_of; /* complete, but without programs that the kernel refused during the run */
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

/* Refuses here what can be refused, before anything is recorded or overwritten. Returns an exit
 * status. */
int run_prepare(struct run *);
/* Wants the processes of --pid and their present descendants. */
int run_want_families(struct run *);
int run_start_command(struct run *);

/* --- events that are given (run_events.c) --- */

/* Gives an event to the outputs, in a batch. */
void run_give(struct run *, const struct iot_event *);
/* Gives the incomplete batch. */
void run_flush(struct run *);
/* True when the filters of events (--only) choose an event. *later: its file is not known yet. */
bool run_chooses(const struct run *, const struct iot_event *, bool *later);
/* Keeps an event whose file is not known yet; gives those whose file is known by now, and drops
 * those that had waited before. */
void run_wait_file(struct run *, const struct iot_event *);
void run_give_waiting(struct run *);
/* Notes whether the filters choose a file, by its inode and its present path. */
void run_judge_file(struct run *, const struct rec_file *);
/* Was the layer of this kind of operation asked for? Programs of other layers run too, where owners
 * need them; their sums are not recorded. */
bool run_keeps(const struct run *, u32 kind);

/* --- records from the ring (run_ring.c) --- */

/* Gives the present contents of the ring. Returns true when there is more. */
bool run_drain(struct run *);
/* Gives the first n ends of processes. */
void run_give_ends(struct run *, size_t n);
/* Gives all ends, also those that may still be replaced. Call it where sums are complete. */
void run_give_all_ends(struct run *);
/* Gives processes of which more is known by now: a later record replaces an earlier one. */
void run_give_changed(struct run *);
/* Takes a process from the kernel side's table, which the ring may not have delivered. */
void run_known(void *run, const struct iot_proc *);
void run_learn_device(void *run, u32 dev);
/* Completes the records of devices about which more is known by now. */
void run_end_devices(struct run *);
/* Gives the row of a process, for process_table.h. */
void run_row(void *run, const struct iot_proc *, const struct rec_process *);

/* --- paths of calls (run_paths.c) --- */

/* Takes one path of a call from the ring. */
void run_call_path(void *run, const struct iot_call_path *);
/* Notes an event: a measured operation of the VFS gets the paths of its call. */
void run_path_op(struct run *, const struct iot_event *);
void run_free_paths(struct run *);

/* --- which events are given, with --system (run_early.c) --- */

/* True when the event is given now; it may be changed. Otherwise it waits. */
bool run_choose(struct run *, struct iot_event *);
/* Notes that a process became wanted, so that waiting events are examined again. */
void run_recognise(struct run *, u32 id);
/* Gives waiting events that are wanted by now; all: none waits any longer. */
void run_give_early(struct run *, bool all);
/* Gives all events that wait, and the last batch: no process is recognised after that. */
void run_give_all_events(struct run *);

/* --- which files are named (run_files.c) --- */

void run_files_begin(struct run *);
void run_files_free(struct run *);
/* Gives the record of a file, now or when a wanted process uses it. */
void run_file(struct run *, const struct rec_file *);
/* Notes that a record names this file; 0: none. */
void run_use(struct run *, u32 file);
/* True when one did; with --system only. */
bool run_uses(const struct run *, u32 file);

/* --- sums, once a second (run_round.c) --- */

/* Reads all aggregates into r->aggregates. */
void run_read_aggregates(struct run *);
void run_end_second(struct run *);
/* Gives the additions to the aggregates since the last round, when their table fills up. */
void run_end_round(struct run *);
/* Walks the folders of --snapshot-fs. Returns 0 or a negative errno after a message. */
int run_snapshot(struct run *);
/* Gives what was found, and frees it. */
void run_give_snapshots(struct run *);
/* Walks them again, where that is due, or at the end of the run. */
void run_walk_again(struct run *, bool end);
/* Takes samples of processes, if they are due, or at the end of the run. */
void run_sample(struct run *, bool end);
/* Samples a process that was seen for the first time. */
void run_sample_new(struct run *, const struct iot_proc *);
void run_flow(void *run, const struct iot_flow_key *, const struct iot_flow *);

/* --- the loop (run_loop.c), and what it waits for in the end (run_settle.c) --- */

/* Records until `over` returns true, an output fails, or a second signal asks to end at once. */
void run_record_until(struct run *, bool (*over)(struct run *));
/* Waits until dirty data is written, as the options say. */
void run_settle(struct run *);

#endif
