// SPDX-License-Identifier: GPL-3.0-only
/* run_begin.c - prepares a run: rules, outputs, the kernel side, the processes to follow. Also
 * --systems and --probes, which record nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include "ask.h"
#include "describe.h"
#include "errands_helper.h"
#include "fuse.h"
#include "helpers.h"
#include "open_files.h"
#include "procfs.h"
#include "rights.h"
#include "run_parts.h"
#include "stop.h"
#include "systems/systems.h"

static void fill_probe_opts(const struct options *o, struct probe_opts *p)
{
	*p = (struct probe_opts){
		.layers = o->layers, .whole = o->whole, .prefer = o->prefer, .events = !o->no_events,
			.latency = o->latency, .cache_sample = o->cache_sample,
			.light = o->light,
			.ring_bytes = o->ring_bytes, .reduced = o->reduced,
		.by_pid = options_by_pid(o), .by_group = o->groups.n > 0, .dev = o->dev,
		.only = o->only.kernel, .verbose = o->verbose,
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

/* Wants the processes of --pid and their present descendants. The kernel side adds children of a
 * wanted process, so that repeating the look until it finds nothing new misses none. */
int run_want_families(struct run *r)
{
	auto_free struct family *f = calloc(1, sizeof(*f));
	size_t wanted = 0;
	int err = 0;

	if (!f)
		return fail(ENOMEM, "processes to follow");
	for (size_t i = 0; i < r->opts->groups.n && !err; i++)
		err = probes_want_group(r->probes, r->opts->groups.list[i].id,
			r->opts->groups.list[i].path);
	for (; f->n < r->opts->n_pids; f->n++)
		f->pids[f->n] = r->opts->pids[f->n];
	do {
		for (; wanted < f->n && !err; wanted++)
			err = probes_want_pid(r->probes, f->pids[wanted]);
		f->more = false;
		if (!err && f->n)
			procfs_list(add_child, f);
	} while (f->more && !err);
	return err;
}

int run_start_command(struct run *r)
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

	/* after unshare(CLONE_NEWPID) without a fork the kernel creates no threads
	 * (copy_process()) */
	if (!stat("/proc/self/ns/pid", &own) && (stat("/proc/self/ns/pid_for_children", &next) ||
	    own.st_ino != next.st_ino))
		return fail(0,
			"the command would begin a PID namespace that this process is not in: start iot-trace inside it (unshare --fork)");
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

static int fail_ended(int status)
{
	note("ended before anything was recorded");
	return stop_asked() ? STATUS_SIGNAL + stop_asked() : status;
}

/* Puts --anonymize in front of the outputs, after everything that recognises names. */
static int hide_names(struct run *r)
{
	int err;

	r->sink = r->outputs.sink;
	if (!r->opts->anonymize)
		return 0;
	err = anonymizer_new(&r->anonymizer, r->opts->key_file) ?:
		sink_anonymous(&r->anonymous, r->outputs.sink, r->anonymizer);
	r->sink = r->anonymous;
	return err;
}

/* Rules, outputs and --ready may be FIFOs, whose open waits for the other end, but not longer than
 * the run is to last. */
static int open_named(struct run *r)
{
	int status;

	stop_interrupts(r->opts->duration_ns);
	status = prepare_detection(r);
	if (!status && (ready_open(&r->ready, r->opts) || outputs_open(&r->outputs, r->opts) ||
	    hide_names(r)))
		status = STATUS_FAILED;
	return stop_uninterrupted() && (status || stop_asked()) ? fail_ended(status) : status;
}

/* Registers the answers of helpers, then starts the keeper: before the kernel side is opened, which
 * helpers must not hold. */
static int prepare_helpers(struct run *r)
{
	struct helpers_opts o = { .may = { .checkpoint = r->opts->settle == SETTLE_CHECKPOINT,
		.store = r->outputs.has_store },
				  .report = r->outputs.store || r->outputs.streams };

	procfs_serve();
	names_serve();
	kernel_counters_serve();
	devices_serve();
	fuse_serve();
	open_files_serve();
	settle_serve();
	samples_serve();
	o.walked = r->opts->snapshot_ns ? again_serve() : 0;
	if (o.walked < 0)
		return o.walked;
	ask_patience(ASK_AT_EASE);
	memset(o.kept, -1, sizeof(o.kept));
	errands_serve(&r->outputs, o.kept);
	return helpers_start(&o);
}

static int prepare_processes(struct run *r)
{
	return process_table_new(&r->processes, &(struct process_table_opts){ .probes = r->probes,
		.names = r->names, .detect = r->detect,
			.told = r->opts->told, .events = !r->opts->no_events, .row = run_row,
			.arg = r });
}

/* The verifier follows every path of every program: this takes most of the time until a run
 * begins. */
static int open_probes(struct run *r)
{
	struct probe_opts p;
	int err;

	fill_probe_opts(r->opts, &p);
	p.over = stop_interrupted;
	p.keeper = helpers_keeper();
	stop_interrupts(0);
	err = probes_open(&r->probes, &p);
	return stop_uninterrupted() ? fail_ended(STATUS_FAILED) : err ? STATUS_FAILED : 0;
}

#define DENIED_SHOWN 3

/* Reports refused programs. Without --partial they end the run: a screen of n/a answers no
 * question. */
static int check_denied(const struct run *r)
{
	static const char sentence[] = "%sLinux %s refuses program %s of layer %s (made by %s): %s";
	bool partial = r->opts->partial;
	const struct probe_info *one;
	struct utsname u;
	size_t n;

	uname(&u);
	for (n = 0; (one = probes_denied(r->probes, n)); n++) {
		if (n >= DENIED_SHOWN)
			continue;
		if (partial)
			note(sentence, "partial: ", u.release, one->name, one->layer,
				probes_made_by(), one->reason);
		else
			fail(0, sentence, "", u.release, one->name, one->layer, probes_made_by(),
				one->reason);
	}
	if (n > DENIED_SHOWN)
		note("and %zu more: --probes lists all", n - DENIED_SHOWN);
	return n && !partial ? fail_as(STATUS_FAILED, 0,
		"nothing was recorded: %s; or --partial for bounds and n/a",
				       probes_cure(probes_denied(r->probes, 0))) : 0;
}

/* Says so where the VFS is not measured by the mechanism that was asked for. */
static void note_vfs(const struct run *r)
{
	const struct options *o = r->opts;
	const char *why;

	if (o->prefer == PREFER_ANY || o->prefer == PREFER_DERIVED || probes_vfs(r->probes, &why))
		return;
	note("--prefer %s: %s: layer vfs is derived from the calls", option_prefers[o->prefer - 1],
		*why ? why : "--layers does not name vfs");
}

/* True where only the requests of disks tell what was used: without calls, or without the changes
 * that file systems make besides bytes. */
static bool by_disk(const struct run *r)
{
	const u32 both = 1u << LAYER_SYSCALL | 1u << LAYER_FS;

	return probes_lacks(r->probes) || (r->opts->layers && (r->opts->layers & both) != both);
}

/* Refuses here what can be refused, before anything is recorded or overwritten. Returns an exit
 * status. */
int run_prepare(struct run *r)
{
	const struct options *o = r->opts;
	int status;

	if (rights_check() || probes_check() || open_processes())
		return STATUS_FAILED;
	status = o->command ? command_check(o->command[0]) : 0;
	if (status)
		return status;
	status = open_named(r);
	if (status)
		return status;
	rights_raise();
	run_files_begin(r);
	r->batch = calloc(IOT_EVENT_BATCH, sizeof(*r->batch));
	if (!r->batch)
		return fail_as(STATUS_FAILED, ENOMEM, "events");
	if (names_new(&r->names, r->detect) || devices_new(&r->devices) ||
	    machine_new(&r->machine) || filesums_new(&r->filesums, r->detect) ||
	    flows_new(&r->flows) || prepare_helpers(r))
		return STATUS_FAILED;
	if (run_snapshot(r) || (o->snapshot_ns && again_new(&r->again, o->snapshot_ns)) ||
	    (o->sample_ns && samples_new(&r->samples, o->sample_ns)))
		return STATUS_FAILED;
	status = open_probes(r) ?: check_denied(r);
	if (!status)
		note_vfs(r);
	if (!status && (aggregate_new(&r->aggregates, by_disk(r)) || prepare_processes(r)))
		status = STATUS_FAILED;
	stop_wait(0);
	return status ?: stop_asked() ? fail_ended(STATUS_FAILED) : 0;
}

int run_systems(const struct options *o)
{
	static const struct helpers_opts nothing_kept =
		{ .kept = { [0 ... HELPERS_KEPT - 1] = -1 } };
	struct systems *rules = NULL;
	int err = open_processes() ? -ENOENT : systems_open(&rules, o->rules, o->n_rules);
	const char *only = !err && o->system ? systems_name(rules, o->system) : NULL;
	bool unknown = !err && o->system && !only;

	rights_raise();
	if (!err && !unknown)
		err = helpers_start(&nothing_kept);
	ask_patience(ASK_IN_TURN);
	if (!err && !unknown)
		err = systems_list(rules, only, stdout);
	helpers_end();
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

	rights_raise();
	if (rights_check() || probes_check())
		return STATUS_FAILED;
	fill_probe_opts(o, &p);
	p.counts = true;
	err = probes_open(&probes, &p);
	if (probes)
		print_probes(probes, o, clock_now(CLOCK_MONOTONIC) - begun_ns);
	probes_close(probes);
	if (fflush(stdout))
		err = fail(errno, "cannot write standard output");
	return err ? STATUS_FAILED : STATUS_OK;
}
