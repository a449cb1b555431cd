// SPDX-License-Identifier: GPL-3.0-only
/* run.c - a run from its beginning to its end: attach everything, open one gate, record, settle,
 * close the gate, read the sums.
 *
 * One thread does all of it but the syncing (run_loop.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "ask.h"
#include "describe.h"
#include "helpers.h"
#include "hist.h"
#include "procfs.h"
#include "journal_credit.h"
#include "privilege.h"
#include "rights.h"
#include "run_parts.h"
#include "stop.h"

/* idle time of the disks that is waited for before the gate closes */
#define CALM_BEFORE_NS (NSEC / 20)
#define COMMAND_GRACE_NS NSEC         /* Ctrl-C reaches the command too: time for it to end */
/* the ring must be emptied in time whatever the traced processes do, however many they are */
#define PRIORITY -15

static bool recording_over(struct run *r)
{
	u64 now = clock_now(CLOCK_MONOTONIC);

	if (command_ended(&r->command))
		return true;
	if (r->opts->duration_ns && now - r->start_ns >= r->opts->duration_ns)
		return true;
	return stop_asked() && (!r->command.pid || now - stop_asked_ns() >= COMMAND_GRACE_NS);
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

	run_known(r, p);
	if ((p->flags & (PROC_WANTED | PROC_KTHREAD | PROC_BORN | PROC_EXITED)) == PROC_WANTED &&
	    detect_wanted(r->detect, p->id))
		kernel_counters_process(r->counters, p->pid, on_truth, r);
}

static void on_hist(void *arg, u8 kind, u32 group, bool other, u32 bucket, u64 n)
{
	struct run *r = arg;
	struct rec_hist rec = { .kind = kind, .system = detect_group_name(r->detect, group),
		.bucket = bucket, .n = n };

	if (!detect_wanted_system(r->detect, rec.system) || !run_keeps(r, kind))
		return;
	if (other)
		rec_set(&rec, hist, other, 1);
	rec.low_ns = hist_low_ns(bucket);
	rec.high_ns = hist_low_ns(bucket + 1);
	take_error(r, r->sink->record(r->sink, REC_hist, &rec));
}

static void on_put(void *arg, const struct iot_put_key *k, const struct iot_put *p)
{
	struct run *r = arg;
	char call[24];
	struct rec_put rec = {
		.owner = process_table_owner(r->processes, k->owner), .dev = k->dev,
			.call = journal_credit_call_name(k->call, call, sizeof(call)),
			.file = k->file,
		.sub = k->sub, .txns = p->txns, .weight = p->weight,
	};

	if (!run_keeps(r, KIND_FS_WRITE))
		return;
	if (k->blocks)
		rec_set(&rec, put, blocks, p->blocks);
	run_learn_device(r, k->dev);
	/* a flusher gets credits for files of any process */
	if (rec.owner >= PROC_FIRST && !detect_is_kthread(r->detect, rec.owner))
		run_use(r, k->file);
	take_error(r, r->sink->record(r->sink, REC_put, &rec));
}

static void hold_device(void *arg, u32 dev)
{
	struct run *r = arg;
	u32 logical;

	if (!devices_holder(dev, &logical))
		probes_hold(r->probes, dev, logical, devices_cached(dev, logical));
}

static void want_device(void *arg, u32 dev)
{
	struct run *r = arg;

	probes_want_device(r->probes, dev);
}

/* The kernel's counters cannot be read at the instant at which the gate opens or closes, and a busy
 * server completes requests in between: these are counted separately (kernel_counters.c). */
static int open_gate(struct run *r)
{
	probes_ready(r->probes);
	devices_list(hold_device, r);
	if (r->opts->dev)
		devices_on(r->opts->dev, want_device, r);
	if (group_io_begin(&r->group_io) || kernel_counters_begin(&r->counters, r->probes) ||
	    probes_start(r->probes, &r->start_ns))
		return STATUS_FAILED;
	ask_patience(ASK_IN_PASSING);
	return 0;
}

static void close_gate(struct run *r)
{
	kernel_counters_wait_idle(CALM_BEFORE_NS);
	take_error(r, probes_stop(r->probes));
	ask_patience(ASK_AT_EASE);
	r->stop_ns = clock_now(CLOCK_MONOTONIC);
	take_error(r, kernel_counters_end(r->counters));
	group_io_end(r->group_io);
	probes_skips_end(r->probes);
	while (run_drain(r))
		;
}

static void on_name(void *arg, const struct iot_path *p, const char *path)
{
	struct run *r = arg;

	run_learn_device(r, p->dev);
	run_file(r, names_file_at(r->names, p, path));
}

static void note_time(const char *program, u64 runs, u64 ns)
{
	note("program %s: %llu runs, %llu ns each", program, (unsigned long long)runs,
		(unsigned long long)(ns / runs));
}

static void note_use(const struct run *r)
{
	struct probe_use u;

	if (!r->opts->verbose)
		return;
	probes_use(r->probes, &u);
	note("tables in use: cells %u, flows %u, procs %u, files %u", u.cells, u.flows, u.procs,
		u.files);
	probes_each_time(r->probes, note_time);
}

/* Reports a file system that was mounted during the run and whose programs were refused: its I/O
 * has no owner. */
static void learn_late(struct run *r)
{
	bool ended;
	const struct probe_info *one = probes_denied_late(r->probes, &ended);

	if (one)
		take_error(r, describe_late(r->sink, one));
	r->short_of = (one || ended) && !r->opts->partial;
	if (one && r->short_of)
		fail(0,
			"a file system was mounted during the run, and the kernel refuses %s: %s: what it did has no owner (--partial takes that)",
		     one->name, one->reason);
	if (ended)
		fail(0,
			"the process that attaches programs when a file system is mounted (iot-trace-watch) ended before the run");
}

/* Gives everything that is known only at the end. */
static void give_end(struct run *r)
{
	struct run_end end = { r->stop_ns - r->start_ns, 0, r->command.status, r->horizon,
		r->settle_ns };

	note_use(r);
	learn_late(r);
	take_error(r, probes_procs(r->probes, on_proc, r));
	run_give_all_ends(r);
	run_give_all_events(r);
	process_table_end_waits(r->processes);
	run_end_second(r);
	run_sample(r, true);
	run_walk_again(r, true);
	run_end_devices(r);
	filesums_unnamed(r->filesums, r->probes, on_name, r);
	take_error(r, probes_hists(r->probes, on_hist, r));
	take_error(r, probes_puts(r->probes, on_put, r));
	take_error(r, probes_flows(r->probes, run_flow, r));
	take_error(r, describe_losses(r->sink, r->probes));
	kernel_counters_devices(r->counters, on_device_truth, r);
	group_io_give(r->group_io, on_truth, r);
	end.events = r->events;
	if (!r->err)
		take_error(r, describe_end(r->sink, r->probes, &end));
	if (!r->err)
		take_error(r, r->sink->commit(r->sink));
}

static int on_machine(void *arg, const struct rec_machine *rec)
{
	struct run *r = arg;

	return r->sink->record(r->sink, REC_machine, rec);
}

static void describe(struct run *r, u64 attach_ns)
{
	take_error(r, describe_run(r->sink, r->opts, r->probes, r->start_ns, attach_ns));
	if (!r->err)
		take_error(r, describe_probes(r->sink, r->probes, r->opts));
	if (!r->err)
		take_error(r, describe_ops(r->sink, r->probes, r->opts));
	if (!r->err)
		take_error(r, machine_give(r->machine, on_machine, r));
	run_give_snapshots(r);
	if (!r->err)
		devices_list(run_learn_device, r);
}

/* A long attach is reported even with -q: whoever waits must know that operations before this
 * moment are missing. */
static void say_when(const struct run *r, u64 attach_ns)
{
	(attach_ns < NSEC ? note : note_anyway)("recording, attached in %.2f s%s", attach_ns / 1e9,
		r->opts->duration_ns || r->opts->command ? "" : "; Ctrl-C ends it");
}

/* Goes from attached to recording. The command is forked after the gate opened, so that it counts
 * as born inside the run, and before privileges are dropped, so that it keeps those of the user. */
static int begin(struct run *r, u64 begun_ns)
{
	u64 attach_ns = clock_now(CLOCK_MONOTONIC) - begun_ns;
	const struct probe_info *refused = probes_refused(r->probes);
	int status;

	if (run_want_families(r) || outputs_begin(&r->outputs) || outputs_confine(&r->outputs) ||
	    open_gate(r))
		return STATUS_FAILED;
	r->next_ns = NSEC;
	stop_due(r->opts->duration_ns ? r->start_ns + r->opts->duration_ns : 0);
	describe(r, attach_ns);
	if (probes_watch(r->probes) || run_start_command(r))
		return STATUS_FAILED;
	/* not the command's priority, which was forked before. Where it is refused, only speed is
	 * lost */
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (probes_lacks(r->probes))
		note("tier reduced: %s: calls and devices are measured, without owners; --probes lists all", probes_lacks(r->probes));
	else if (refused && !refused->denied)
		note("tier reduced: %s is not attached: %s; --probes lists all", refused->name,
			refused->reason);
	if (probes_hidden(r->probes))
		note("tier reduced: addresses of kernel functions are hidden (CAP_SYSLOG is missing, or kernel.kptr_restrict is 2): " PROBES_HIDDEN_MEANS);
	rights_note();
	if (ready_tell(&r->ready, attach_ns / 1e9))
		return STATUS_FAILED;
	say_when(r, attach_ns);
	status = r->command.pid ? command_go(&r->command, r->opts->command[0]) : 0;
	if (!status && privilege_drop())
		status = STATUS_FAILED;
	procfs_look();
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
	if (r->err || r->short_of)
		return STATUS_FAILED;
	return r->command.status > 0 ? r->command.status : STATUS_OK;
}

static int finish(struct run *r)
{
	int status;

	run_settle(r);
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
	else if ((r->outputs.store || r->outputs.streams) && !r->err &&
		 outputs_report(&r->outputs))
		status = STATUS_FAILED;
	return status;
}

static void release(struct run *r)
{
	command_cancel(&r->command);
	if (r->anonymous)
		r->anonymous->close(r->anonymous, true);
	anonymizer_free(r->anonymizer);
	probes_close(r->probes);
	outputs_free(&r->outputs);
	helpers_end();
	ready_close(&r->ready);
	process_table_free(r->processes);
	names_free(r->names);
	run_free_paths(r);
	detect_free(r->detect);
	devices_free(r->devices);
	machine_free(r->machine);
	samples_free(r->samples);
	again_free(r->again);
	for (size_t i = 0; i < MAX_SNAPSHOTS; i++)
		snapshot_free(r->snapshots[i]);
	aggregate_free(r->aggregates);
	filesums_free(r->filesums);
	flows_free(r->flows);
	run_files_free(r);
	kernel_counters_free(r->counters);
	group_io_free(r->group_io);
	free(r->batch);
	free(r->early);
	free(r->early_sums);
	free(r->ends);
	free(r->unsure);
}

int run_trace(const struct options *o, u64 begun_ns)
{
	struct run r = { .opts = o, .command = { .gate = -1, .status = -1 },
		.ready = { .fd = -1, .at = { .dir = -1 } } };
	int status;

	note_quiet(o->quiet);
	r.progress = !o->quiet && isatty(STDERR_FILENO);
	stop_signals(&r.before);
	status = run_prepare(&r);
	if (!status)
		status = begin(&r, begun_ns);
	if (!status) {
		run_record_until(&r, recording_over);
		status = finish(&r);
	} else {
		outputs_undo(&r.outputs);
		ready_undo(&r.ready);
	}
	release(&r);
	return status;
}
