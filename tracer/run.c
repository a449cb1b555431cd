// SPDX-License-Identifier: GPL-3.0-only
/* run.c - the run loop: attach everything, open one gate, record, settle, close the gate, read what was summed.
 *
 * One thread does it all but the syncing. It wakes up every few milliseconds to empty the ring, because programs never
 * wake it: a wake-up an event costs more than the event (facts measured in OVERHEAD of iot-trace(8)).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cells.h"
#include "command.h"
#include "describe.h"
#include "detect.h"
#include "devices.h"
#include "filesums.h"
#include "flows.h"
#include "hist.h"
#include "lives.h"
#include "names.h"
#include "outputs.h"
#include "privilege.h"
#include "procfs.h"
#include "run.h"
#include "settle.h"
#include "stop.h"
#include "systems/systems.h"
#include "truth.h"

#define POLL_NS (5 * NSEC / 1000)
#define CALM_NS (NSEC / 10)           /* nobody's device requests for so long: writeback is over */
#define CALM_LIMIT_NS (5 * NSEC)
#define COMMAND_GRACE_NS NSEC         /* Ctrl-C reaches the command too: time for it to end */
#define MAX_DEVICES 64
#define ROUND_NS (NSEC / 4)           /* aggregates are read so often when their table fills up */
#define ENDS_LOOK 64                  /* ends that are held back and may be told again */

struct run {
	const struct options *opts;
	struct outputs outputs;
	struct sink *sink;
	struct probes *probes;
	struct detect *detect;
	struct names *names;
	struct lives *lives;
	struct devices *devices;
	struct truth *truth;
	struct cells *cells;
	struct filesums *filesums;
	struct flows *flows;
	struct command command;
	struct settle_job *job;
	sigset_t before;              /* the mask that the command gets */
	u64 start_ns, stop_ns;        /* CLOCK_MONOTONIC */
	u64 settle_ns;                /* when syncing began, since the start; 0: it did not */
	u64 sec, next_ns;             /* the second that is being recorded, and when it ends, since the start */
	u64 round_ns;                 /* when the aggregates were read last */
	u64 names_lost;               /* records of processes, by then */
	bool scanned;                 /* the table of processes was read in this round */
	u64 calm_ops, calm_since, calm_begun;
	u64 events;
	struct iot_event *batch;
	size_t n_batch;
	struct iot_proc *ends;        /* processes that ended; the first n_due are given after the next look into the ring */
	size_t n_ends, n_due, ends_room;
	int err;                      /* the first error, of the run itself or because no output is left; ends the run */
	const char *horizon;
	bool progress;
};

static void take_error(struct run *r, int err)
{
	if (err && !r->err)
		r->err = err;
}

/* --- records from the ring --- */

static void give_batch(struct run *r)
{
	if (!r->n_batch)
		return;
	take_error(r, r->sink->events(r->sink, r->batch, r->n_batch));
	r->events += r->n_batch;
	r->n_batch = 0;
}

/* Takes away what somebody who is wanted may have dirtied. */
static bool is_cut(const struct iot_event *e)
{
	return e->kind == KIND_FS_TRUNCATE || e->kind == KIND_FS_PUNCH || e->kind == KIND_FS_EVICT;
}

static void on_event(void *arg, const struct iot_event *e)
{
	struct run *r = arg;
	struct iot_event *own = &r->batch[r->n_batch];

	*own = *e;
	detect_event(r->detect, own);
	if (r->opts->system && (!e->owner || !lives_wanted(r->lives, e->owner)) && !is_cut(e))
		return;
	r->n_batch++;
	if (r->n_batch == IOT_EVENT_BATCH)
		give_batch(r);
}

static void on_row(void *arg, const struct iot_proc *p, const struct rec_process *rec)
{
	struct run *r = arg;
	u32 group = detect_group(r->detect, p->id);

	if (group)
		take_error(r, probes_set_group(r->probes, p, group));
	if (rec && lives_wanted(r->lives, p->id))
		take_error(r, r->sink->record(r->sink, REC_process, rec));
}

/* Threads that end at once on several processors may all find themselves the last of their process, and each tells of the
 * end: the record that comes last has the bytes of all. */
static bool hold_end(struct run *r, const struct iot_proc *p)
{
	size_t i = r->n_ends, first = i > ENDS_LOOK ? i - ENDS_LOOK : 0;

	while (i-- > first) {
		if (r->ends[i].id != p->id)
			continue;
		r->ends[i] = *p;
		return true;
	}
	if (grow((void **)&r->ends, r->n_ends, &r->ends_room, sizeof(*r->ends)))
		return false;
	r->ends[r->n_ends++] = *p;
	return true;
}

static void on_process(void *arg, const struct iot_proc *p)
{
	struct run *r = arg;

	if (!(p->flags & PROC_EXITED) || !hold_end(r, p))
		lives_seen(r->lives, p);
}

/* Gives the first n ends. */
static void give_ends(struct run *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lives_ended(r->lives, &r->ends[i]);
	r->n_ends -= n;
	if (n)
		memmove(r->ends, r->ends + n, r->n_ends * sizeof(*r->ends));
	r->n_due = r->n_ends;
}

/* Processes of which more is known by now: a later record replaces an earlier one. */
static void give_changed(struct run *r)
{
	const struct iot_proc *p;

	while ((p = detect_changed(r->detect))) {
		filesums_changed(r->filesums, r->probes, p->id);
		lives_changed(r->lives, p);
	}
}

static void learn_device(void *arg, u32 dev)
{
	struct run *r = arg;
	const struct rec_device *rec = devices_learn(r->devices, dev, r->sec);

	if (rec)
		take_error(r, r->sink->record(r->sink, REC_device, rec));
}

static void on_path(void *arg, const struct iot_path *p)
{
	struct run *r = arg;

	const struct rec_file *rec;

	learn_device(r, p->dev);
	rec = names_file(r->names, p);
	if (rec->path)
		filesums_named(r->filesums, rec->id);
	take_error(r, r->sink->record(r->sink, REC_file, rec));
}

/* Returns true when there is more. */
static bool drain(struct run *r)
{
	const struct probe_callbacks callbacks = { r, on_event, on_process, on_path };
	size_t n = probes_consume(r->probes, &callbacks);

	give_batch(r);
	give_ends(r, r->n_due);
	detect_again(r->detect);
	give_changed(r);
	return n >= PROBES_TAKE;
}

/* --- aggregates, once a second --- */

static u32 on_owner(void *arg, u32 owner)
{
	struct run *r = arg;

	return lives_owner(r->lives, owner);
}

static int on_cell(void *arg, const struct rec_agg *rec)
{
	struct run *r = arg;

	learn_device(r, rec->dev);
	return r->sink->record(r->sink, REC_agg, rec);
}

static void on_known(void *arg, const struct iot_proc *p)
{
	if (p->flags & (PROC_WANTED | PROC_KTHREAD))
		on_process(arg, p);
}

/* What the ring could not carry is still in the table of processes. */
static void scan_processes(struct run *r)
{
	if (!r->scanned)
		take_error(r, probes_procs(r->probes, on_known, r));
	r->scanned = true;
	give_ends(r, r->n_ends);
}

static void on_bytes(void *arg, u32 owner, u64 bytes)
{
	struct run *r = arg;

	if (lives_bytes(r->lives, owner, bytes))
		return;
	scan_processes(r);
	lives_bytes(r->lives, owner, bytes);
}

static bool on_over(void *arg, u32 owner, bool quiet)
{
	struct run *r = arg;

	return lives_over(r->lives, owner, quiet);
}

static void on_flow(void *arg, const struct iot_flow_key *key, const struct iot_flow *sums)
{
	struct run *r = arg;
	struct flow_text text;
	struct iot_flow_key own = *key;

	own.owner = lives_owner(r->lives, key->owner);
	take_error(r, r->sink->record(r->sink, REC_flow, flow_describe(&own, sums, &text)));
}

static bool flow_over(void *arg, u32 owner)
{
	return on_over(arg, owner, false);
}

/* Unlike an aggregate, what a process that is not asked for did to a file is left out. */
static int on_filesum(void *arg, const struct rec_file_io *rec)
{
	struct run *r = arg;
	struct rec_file_io own = *rec;

	own.owner = lives_owner(r->lives, rec->owner);
	return own.owner == PROC_OTHER ? 0 : r->sink->record(r->sink, REC_file_io, &own);
}

/* Gives what was added to the aggregates since the last round, and gives back those of processes that ended. files: sums by file
 * were taken for it; they are given when it is decided who stands for whom. */
static void end_round(struct run *r, bool files)
{
	u64 lost[LOSS_MAX] = { 0 };

	r->scanned = false;
	if (!probes_losses(r->probes, lost) && lost[LOSS_EVENT_OTHER] != r->names_lost)
		scan_processes(r);
	r->names_lost = lost[LOSS_EVENT_OTHER];
	take_error(r, cells_read(r->cells, r->probes));
	r->scanned = false; /* among a storm of forks it takes a while: who began meanwhile is in what was read */
	cells_bytes(r->cells, on_bytes, r);
	lives_settle(r->lives);
	if (files)
		take_error(r, filesums_tell(r->filesums, on_filesum, r));
	take_error(r, cells_take(r->cells, r->sec, on_owner, on_cell, r));
	cells_collect(r->cells, r->probes, on_over, r);
	flows_collect(r->flows, r->probes, flow_over, on_flow, r);
	lives_forget(r->lives);
	r->round_ns = clock_now(CLOCK_MONOTONIC);
}

static u64 since_start(const struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->start_ns;
}

static void show_progress(const struct run *r)
{
	u64 n[LOSS_MAX], lost = 0;

	if (!r->progress || probes_losses(r->probes, n))
		return;
	for (size_t i = 0; i < LOSS_MAX; i++)
		lost += n[i];
	note_progress("\r%llu s, %llu events, %llu lost ", (unsigned long long)(since_start(r) / NSEC),
		(unsigned long long)r->events, (unsigned long long)lost);
}

/* Gives what was added to the aggregates in this second, and makes the second durable. A late call gives more than a
 * second's worth to the second in which it began. */
static void end_second(struct run *r)
{
	const struct rec_file *late;
	u64 now = since_start(r);

	while ((late = detect_late(r->detect)))
		take_error(r, r->sink->record(r->sink, REC_file, late));
	give_changed(r);
	take_error(r, filesums_take(r->filesums, r->probes));
	drain(r);
	end_round(r, true);
	give_changed(r);
	take_error(r, r->sink->commit(r->sink));
	probes_second(r->probes);
	r->sec = now / NSEC > r->sec ? now / NSEC : r->sec + 1;
	r->next_ns = (r->sec + 1) * NSEC;
	show_progress(r);
}

/* --- the loop --- */

/* Keeps recording until `over` says so, an output fails, or a second signal asks to end at once. */
static void record_until(struct run *r, bool (*over)(struct run *))
{
	u64 deadline = r->opts->duration_ns;

	while (!r->err && !stop_again()) {
		u64 now, wait = drain(r) ? 0 : POLL_NS;

		now = since_start(r);
		if (now >= r->next_ns)
			end_second(r);
		else if (probes_cells_scarce(r->probes) && clock_now(CLOCK_MONOTONIC) - r->round_ns >= ROUND_NS)
			end_round(r, false);
		if (over(r))
			return;
		if (deadline > now && deadline - now < wait)
			wait = deadline - now;
		stop_wait(wait);
	}
}

static bool recording_over(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC);

	if (command_ended(&r->command))
		return true;
	if (r->opts->duration_ns && now - r->start_ns >= r->opts->duration_ns)
		return true;
	return stop_asked() && (!r->command.pid || now - stop_asked_ns() >= COMMAND_GRACE_NS);
}

static bool wait_over(struct run *r)
{
	return clock_now(CLOCK_MONOTONIC) - r->calm_begun >= r->opts->settle_ns;
}

static bool sync_over(struct run *r)
{
	int err = 0;

	if (!settle_over(r->job, &err))
		return false;
	if (!err)
		r->horizon = "after_sync";
	return true;
}

/* sync returns when the data is out; journal tails and the completion of the last requests come shortly after. */
static bool writeback_over(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC), ops = cells_device_ops(r->cells, r->probes);

	if (ops != r->calm_ops) {
		r->calm_ops = ops;
		r->calm_since = now;
	}
	return now - r->calm_since >= CALM_NS || now - r->calm_begun >= CALM_LIMIT_NS;
}

/* --- settling --- */

/* The places where what was traced is mounted. None, for everything, when a device was written past the file systems, or
 * is not mounted where we see it. Returns false when nothing was used at all. */
static bool find_mounts(struct run *r, char *mounts[MAX_DEVICES], size_t *n)
{
	u32 devs[MAX_DEVICES];
	bool raw = false, hidden = false;
	size_t n_devs = cells_devices(r->cells, r->probes, devs, MAX_DEVICES, &raw);

	*n = 0;
	for (size_t i = 0; i < n_devs; i++) {
		const char *at = devices_mount(r->devices, devs[i]);

		if (at && (mounts[*n] = strdup(at)))
			(*n)++;
		else
			hidden |= devs[i] >> 20 != 0;
	}
	if (!raw && !hidden && n_devs < MAX_DEVICES)
		return *n > 0;
	while (*n)
		free(mounts[--*n]);
	return true;
}

static void settle_sync(struct run *r)
{
	char *mounts[MAX_DEVICES];
	size_t n;

	if (!find_mounts(r, mounts, &n)) {
		r->horizon = "after_sync"; /* nothing was written, nothing is dirty */
		return;
	}
	take_error(r, settle_start(&r->job, (const char *const *)mounts, n));
	while (n)
		free(mounts[--n]);
	if (r->err)
		return;
	r->settle_ns = since_start(r);
	record_until(r, sync_over);
	if (r->err || stop_again())
		return; /* the job may hang in the kernel: it is left behind */
	settle_free(r->job);
	r->calm_begun = r->calm_since = clock_now(CLOCK_MONOTONIC);
	record_until(r, writeback_over);
}

static void settle(struct run *r)
{
	r->horizon = "at_ack";
	if (r->err || stop_again())
		return;
	if (r->progress && r->opts->settle != SETTLE_NONE)
		note_progress("\rwriting out dirty bytes ");
	if (r->opts->settle == SETTLE_SYNC)
		settle_sync(r);
	if (r->opts->settle != SETTLE_WAIT)
		return;
	r->calm_begun = clock_now(CLOCK_MONOTONIC);
	record_until(r, wait_over);
}

/* --- the end --- */

static void on_truth(void *arg, const struct rec_truth *rec)
{
	struct run *r = arg;

	take_error(r, r->sink->record(r->sink, REC_truth, rec));
}

/* Disks that nobody used or knows are left out. */
static void on_device_truth(void *arg, const struct rec_truth *rec)
{
	struct run *r = arg;

	if (rec->begin_value != rec->end_value || devices_known(r->devices, rec->dev))
		on_truth(r, rec);
}

static void on_proc(void *arg, const struct iot_proc *p)
{
	struct run *r = arg;

	on_known(r, p);
	if ((p->flags & (PROC_WANTED | PROC_KTHREAD | PROC_BORN | PROC_EXITED)) == PROC_WANTED && detect_wanted(r->detect, p->id))
		truth_process(r->truth, p->pid, on_truth, r);
}

static void on_hist(void *arg, u8 kind, u32 group, bool other, u32 bucket, u64 n)
{
	struct run *r = arg;
	struct rec_hist rec = { .kind = kind, .system = detect_group_name(r->detect, group), .bucket = bucket, .n = n };

	if (!detect_wanted_system(r->detect, rec.system))
		return;
	if (other)
		rec_set(&rec, hist, other, 1);
	rec.low_ns = hist_low_ns(bucket);
	rec.high_ns = hist_low_ns(bucket + 1);
	take_error(r, r->sink->record(r->sink, REC_hist, &rec));
}

static void hold_device(void *arg, u32 dev)
{
	struct run *r = arg;
	u32 volume;

	if (!devices_holder(dev, &volume))
		probes_hold(r->probes, dev, volume);
}

/* The counters of the kernel cannot be read in the moment in which the gate opens or closes, and a server that is never idle
 * completes requests in between: they are counted apart (truth.c). */
static int open_gate(struct run *r)
{
	probes_ready(r->probes);
	devices_list(hold_device, r);
	if (truth_begin(&r->truth, r->probes) || probes_start(r->probes, &r->start_ns))
		return STATUS_FAILED;
	return 0;
}

static void close_gate(struct run *r)
{
	truth_calm(CALM_NS / 2);
	take_error(r, probes_stop(r->probes));
	r->stop_ns = clock_now(CLOCK_MONOTONIC);
	take_error(r, truth_end(r->truth));
	while (drain(r))
		;
}

static void on_name(void *arg, const struct iot_path *p, const char *path)
{
	struct run *r = arg;

	learn_device(r, p->dev);
	take_error(r, r->sink->record(r->sink, REC_file, names_file_at(r->names, p, path)));
}

static void note_use(const struct run *r)
{
	struct probe_use u;

	if (!r->opts->verbose)
		return;
	probes_use(r->probes, &u);
	note("tables in use: cells %u, flows %u, procs %u, files %u", u.cells, u.flows, u.procs, u.files);
}

/* Everything that is known only at the end. */
static void give_end(struct run *r)
{
	struct run_end end = { r->stop_ns - r->start_ns, 0, r->command.status, r->horizon, r->settle_ns };

	note_use(r);
	take_error(r, probes_procs(r->probes, on_proc, r));
	give_ends(r, r->n_ends);
	end_second(r);
	filesums_unnamed(r->filesums, r->probes, on_name, r);
	take_error(r, probes_hists(r->probes, on_hist, r));
	take_error(r, probes_flows(r->probes, on_flow, r));
	take_error(r, describe_losses(r->sink, r->probes));
	truth_devices(r->truth, on_device_truth, r);
	end.events = r->events;
	if (!r->err)
		take_error(r, describe_end(r->sink, r->probes, &end));
	if (!r->err)
		take_error(r, r->sink->commit(r->sink));
}

/* --- the beginning --- */

static void fill_probe_opts(const struct options *o, struct probe_opts *p)
{
	*p = (struct probe_opts){
		.layers = o->layers, .events = !o->no_events, .latency = o->latency, .ring_bytes = o->ring_bytes,
		.by_pid = options_by_pid(o), .cgroup = o->cgroup, .dev = o->dev, .verbose = o->verbose,
		.tables = o->tables, .n_tables = o->n_tables,
	};
	memcpy(p->comm, o->comm, sizeof(p->comm));
}

struct family {
	u32 pids[4096];
	size_t n;
	bool more;
};

static void add_child(void *arg, u32 pid, u32 ppid)
{
	struct family *f = arg;
	bool known = false, child = false;

	for (size_t i = 0; i < f->n; i++) {
		known |= f->pids[i] == pid;
		child |= f->pids[i] == ppid;
	}
	if (!child || known || f->n == N_OF(f->pids))
		return;
	f->pids[f->n++] = pid;
	f->more = true;
}

/* Wants the processes of --pid and their present descendants. Children of a process that is wanted already are added by
 * the kernel side, so that looking until nothing new turns up misses nobody. */
static int want_families(struct run *r)
{
	auto_free struct family *f = calloc(1, sizeof(*f));
	size_t wanted = 0;
	int err = 0;

	if (!f)
		return fail(ENOMEM, "processes to follow");
	for (; f->n < r->opts->n_pids; f->n++)
		f->pids[f->n] = r->opts->pids[f->n];
	do {
		for (; wanted < f->n && !err; wanted++)
			err = probes_want_pid(r->probes, f->pids[wanted]);
		f->more = false;
		if (!err && f->n)
			processes_list(add_child, f);
	} while (f->more && !err);
	return err;
}

static int start_command(struct run *r)
{
	int err;

	if (!r->opts->command)
		return 0;
	err = command_start(&r->command, r->opts->command, &r->before, r->outputs.standard);
	if (!err && options_by_pid(r->opts))
		err = probes_want_pid(r->probes, r->command.pid);
	return err;
}

static int open_processes(void)
{
	struct stat own, next;
	const char *why;

	/* after unshare(CLONE_NEWPID) without a fork the kernel makes no threads (copy_process) */
	if (!stat("/proc/self/ns/pid", &own) && (stat("/proc/self/ns/pid_for_children", &next) || own.st_ino != next.st_ino))
		return fail(0, "the command would begin a PID namespace that this process is not in: start iot-trace inside it (unshare --fork)");
	return procfs_open(&why) ? fail(0, "%s", why) : 0;
}

static int fail_unknown_system(const struct options *o)
{
	return fail_usage("unknown storage system '%s' (iot-systems(5) lists them)", o->system);
}

static int prepare_detection(struct run *r)
{
	const struct options *o = r->opts;

	if (detect_new(&r->detect, o->rules, o->n_rules))
		return STATUS_FAILED;
	if (o->system && detect_only(r->detect, o->system))
		return fail_unknown_system(o);
	return 0;
}

/* Rules and outputs may be FIFOs, which wait for their other end: not longer than the run is to last. */
static int open_named(struct run *r)
{
	int status;

	stop_interrupts(r->opts->duration_ns);
	status = prepare_detection(r);
	if (!status && outputs_open(&r->outputs, r->opts))
		status = STATUS_FAILED;
	r->sink = r->outputs.sink;
	if (!stop_uninterrupted() || !status)
		return status;
	note("ended before anything was recorded");
	return stop_asked() ? STATUS_SIGNAL + stop_asked() : status;
}

static int prepare_lives(struct run *r)
{
	return lives_new(&r->lives, &(struct lives_opts){ .probes = r->probes, .names = r->names, .detect = r->detect,
			.told = r->opts->told, .events = !r->opts->no_events, .row = on_row, .arg = r });
}

/* Everything that can be refused is refused here, before anything is recorded or overwritten. Returns an exit status. */
static int prepare(struct run *r)
{
	const struct options *o = r->opts;
	struct probe_opts p;
	int status;

	if (privilege_check() || open_processes())
		return STATUS_FAILED;
	status = o->command ? command_check(o->command[0]) : 0;
	if (status)
		return status;
	status = open_named(r);
	if (status)
		return status;
	r->batch = calloc(IOT_EVENT_BATCH, sizeof(*r->batch));
	if (!r->batch)
		return STATUS_FAILED;
	if (names_new(&r->names, r->detect) || devices_new(&r->devices) || cells_new(&r->cells) ||
	    filesums_new(&r->filesums, r->detect) || flows_new(&r->flows))
		return STATUS_FAILED;
	fill_probe_opts(o, &p);
	return probes_open(&r->probes, &p) || prepare_lives(r) ? STATUS_FAILED : 0;
}

static void describe(struct run *r, u64 attach_ns)
{
	take_error(r, describe_run(r->sink, r->opts, r->probes, r->start_ns, attach_ns));
	if (!r->err)
		take_error(r, describe_probes(r->sink, r->probes, r->opts));
	if (!r->err)
		devices_list(learn_device, r);
}

/* From attached to recording. The command is forked when the gate is open, so that it counts as born inside the run, and
 * before privileges are dropped, so that it has those of the user. */
static int begin(struct run *r, u64 begun_ns)
{
	u64 attach_ns = clock_now(CLOCK_MONOTONIC) - begun_ns;
	const struct probe_info *refused = probes_refused(r->probes);
	int status;

	if (want_families(r) || outputs_begin(&r->outputs) || open_gate(r))
		return STATUS_FAILED;
	r->next_ns = NSEC;
	stop_due(r->opts->duration_ns ? r->start_ns + r->opts->duration_ns : 0);
	describe(r, attach_ns);
	if (start_command(r))
		return STATUS_FAILED;
	if (refused)
		note("tier reduced: %s is not attached: %s; --probes lists all", refused->name, refused->reason);
	if (probes_hidden(r->probes))
		note("tier reduced: the kernel hides the addresses of %s (kernel.kptr_restrict, CAP_SYSLOG): " PROBES_HIDDEN_MEANS, probes_hidden(r->probes));
	note("recording, attached in %.2f s%s", attach_ns / 1e9,
	     r->opts->duration_ns || r->opts->command ? "" : "; Ctrl-C ends it");
	status = r->command.pid ? command_go(&r->command, r->opts->command[0]) : 0;
	if (!status && privilege_drop(&r->outputs))
		status = STATUS_FAILED;
	return status;
}

static void note_command(const struct run *r)
{
	if (r->command.pid)
		note("the command still runs as process %d", (int)r->command.pid);
	else if (r->command.status >= 0)
		note("the command ended with status %d", r->command.status);
}

static int exit_status(const struct run *r)
{
	if (stop_again())
		return STATUS_SIGNAL + stop_again();
	if (r->err == -EPIPE)
		return STATUS_SIGNAL + SIGPIPE;
	if (r->err)
		return STATUS_FAILED;
	return r->command.status > 0 ? r->command.status : STATUS_OK;
}

static int finish(struct run *r)
{
	int status;

	settle(r);
	if (r->progress)
		note_progress("\n");
	if (!stop_again())
		close_gate(r);
	if (!stop_again() && !r->err) {
		give_end(r);
		note_losses(r->probes);
	}
	take_error(r, outputs_close(&r->outputs, !stop_again() && !r->err));
	note_command(r);
	status = exit_status(r);
	if (stop_again())
		note("ended at once: the run is incomplete");
	else if (r->outputs.store && !r->err && outputs_report(&r->outputs))
		status = STATUS_FAILED;
	return status;
}

static void release(struct run *r)
{
	command_cancel(&r->command);
	probes_close(r->probes);
	outputs_free(&r->outputs);
	lives_free(r->lives);
	names_free(r->names);
	detect_free(r->detect);
	devices_free(r->devices);
	cells_free(r->cells);
	filesums_free(r->filesums);
	flows_free(r->flows);
	truth_free(r->truth);
	free(r->batch);
	free(r->ends);
}

int run_trace(const struct options *o, u64 begun_ns)
{
	struct run r = { .opts = o, .command = { .gate = -1, .status = -1 } };
	int status;

	note_quiet(o->quiet);
	r.progress = !o->quiet && isatty(STDERR_FILENO);
	stop_signals(&r.before);
	status = prepare(&r);
	if (!status)
		status = begin(&r, begun_ns);
	if (!status) {
		record_until(&r, recording_over);
		status = finish(&r);
	} else {
		outputs_undo(&r.outputs);
	}
	release(&r);
	return status;
}

int run_systems(const struct options *o)
{
	struct systems *rules = NULL;
	int err = open_processes() ? -ENOENT : systems_open(&rules, o->rules, o->n_rules);
	const char *only = !err && o->system ? systems_name(rules, o->system) : NULL;
	bool unknown = !err && o->system && !only;

	if (!err && !unknown)
		err = systems_list(rules, only, stdout);
	systems_close(rules);
	if (unknown)
		return fail_unknown_system(o);
	if (fflush(stdout))
		err = fail(errno, "cannot write standard output");
	return err ? STATUS_FAILED : STATUS_OK;
}

int run_probes(const struct options *o, u64 begun_ns)
{
	struct probes *probes = NULL;
	struct probe_opts p;
	int err;

	if (privilege_check())
		return STATUS_FAILED;
	fill_probe_opts(o, &p);
	err = probes_open(&probes, &p);
	if (probes)
		print_probes(probes, o, clock_now(CLOCK_MONOTONIC) - begun_ns);
	probes_close(probes);
	if (fflush(stdout))
		err = fail(errno, "cannot write standard output");
	return err ? STATUS_FAILED : STATUS_OK;
}
