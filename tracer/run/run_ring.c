// SPDX-License-Identifier: GPL-3.0-only
/* run_ring.c - passes a run's events, processes and paths from the ring to the outputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "fuse.h"
#include "procfs.h"
#include "run_parts.h"

#define ENDS_LOOK 64 /* latest held-back ends that are searched for a replaced one */
#define UNSURE_NS NSEC                /* interval of looking at an unsure end */

static void on_event(void *arg, const struct iot_event *e)
{
	struct run *r = arg;
	struct iot_event *own = &r->batch[r->n_batch];
	bool later = false;

	*own = *e;
	own->ts_ns = e->ts_ns > r->start_ns ? e->ts_ns - r->start_ns : 0;
	detect_event(r->detect, own);
	if (!run_keeps(r, own->kind))
		return;
	run_path_op(r, own);
	if (only_some_events(&r->opts->only) && !run_chooses(r, own, &later)) {
		if (later)
			run_wait_file(r, own);
		return;
	}
	if (r->opts->system) {
		struct iot_event chosen = *own; /* a waiting event may be given first */

		if (run_choose(r, &chosen))
			run_give(r, &chosen);
		return;
	}
	r->n_batch++;
	if (r->n_batch == IOT_EVENT_BATCH)
		run_flush(r);
}

void run_row(void *arg, const struct iot_proc *p, const struct rec_process *rec)
{
	struct run *r = arg;
	u32 group = detect_group(r->detect, p->id);

	if (group)
		take_error(r, probes_set_group(r->probes, p, group));
	if (!rec || !process_table_wants(r->processes, p->id))
		return;
	take_error(r, r->sink->record(r->sink, REC_process, rec));
	if (rec->cgroup)
		group_io_about(r->group_io, rec->cgroup, p->cgroup);
	run_sample_new(r, p);
	if (r->opts->system)
		run_recognise(r, p->id);
}

/* Threads that exit at the same time on several processors may all see themselves as the last one
 * of their process, and each reports the end. The last record has the bytes of all. */
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

/* An end that is reported again replaces the earlier report; a sure one is treated like any other.
 * Until then the process counts as alive. */
static bool hold_unsure(struct run *r, const struct iot_proc *p)
{
	bool unsure = p->flags & PROC_UNSURE;
	struct iot_proc living = *p;

	if (unsure && process_table_is_over(r->processes, p->id, false))
		return true; /* it was given, and is reported again because a record was lost */
	living.flags &= ~PROC_EXITED;
	if (unsure)
		process_table_see(r->processes, &living);
	for (size_t i = r->n_unsure; i-- > 0;) {
		if (r->unsure[i].proc.id != p->id)
			continue;
		if (unsure) {
			r->unsure[i].proc = *p;
			return true;
		}
		r->n_unsure--;
		memmove(r->unsure + i, r->unsure + i + 1, (r->n_unsure - i) * sizeof(*r->unsure));
		return false;
	}
	if (!unsure || grow((void **)&r->unsure, r->n_unsure, &r->unsure_room, sizeof(*r->unsure)))
		return false;
	r->unsure[r->n_unsure++] = (struct unsure_end){ .proc = *p,
		.since_ns = clock_now(CLOCK_MONOTONIC) };
	return true;
}

static void on_process(void *arg, const struct iot_proc *p)
{
	struct run *r = arg;

	if (!(p->flags & PROC_EXITED) || (!hold_unsure(r, p) && !hold_end(r, p)))
		process_table_see(r->processes, p);
}

/* True when a thread may still have to report its operations. A thread that cannot end may hang for
 * long. A leader that has exited and is alone has reported them, even if nobody waits for it. */
static bool is_there(const struct iot_proc *p)
{
	struct procfs_stat s;

	return !procfs_stat(p->pid, &s) && procfs_began(s.start_ticks, p->start_ns) &&
		(s.threads > 1 || !s.over);
}

/* Gives unsure ends that are final by now; all: every one. */
static void give_unsure(struct run *r, bool all)
{
	u64 now_ns = r->n_unsure ? clock_now(CLOCK_MONOTONIC) : 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->n_unsure; i++) {
		struct unsure_end *u = &r->unsure[i];

		if (all || u->gone) {
			process_table_end(r->processes, &u->proc);
			continue;
		}
		if (now_ns - u->since_ns >= UNSURE_NS) {
			u->gone = !is_there(&u->proc);
			u->since_ns = now_ns;
		}
		r->unsure[kept++] = *u;
	}
	r->n_unsure = kept;
}

/* - */
void run_give_ends(struct run *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		process_table_end(r->processes, &r->ends[i]);
	r->n_ends -= n;
	if (n)
		memmove(r->ends, r->ends + n, r->n_ends * sizeof(*r->ends));
	r->n_due = r->n_ends;
}

void run_give_all_ends(struct run *r)
{
	give_unsure(r, true);
	run_give_ends(r, r->n_ends);
}

/* - */
void run_give_changed(struct run *r)
{
	const struct iot_proc *p;

	while ((p = detect_changed(r->detect))) {
		filesums_changed(r->filesums, r->probes, p->id);
		process_table_change(r->processes, p);
	}
}

struct by_pid {
	u32 pid, id;
};

static void find_pid(void *arg, const struct iot_proc *p)
{
	struct by_pid *b = arg;

	/* of the program that it executed last */
	if (p->pid == b->pid && p->flags & PROC_WANTED && p->id > b->id)
		b->id = p->id;
}

/* Gives the record of a device, with the process that serves it. Returns false when that is not
 * known yet. */
static bool give_device(struct run *r, const struct rec_device *of)
{
	struct rec_device rec = *of;
	struct by_pid daemon = { fuse_is_mount(of) ? fuse_server(of->dev) : 0 };

	if (daemon.pid)
		take_error(r, probes_procs(r->probes, find_pid, &daemon));
	if (daemon.id)
		rec_set(&rec, device, server, daemon.id);
	take_error(r, r->sink->record(r->sink, REC_device, &rec));
	return daemon.id || !fuse_is_mount(of);
}

static void give_level(void *arg, const struct rec_level *rec)
{
	struct run *r = arg;

	take_error(r, r->sink->record(r->sink, REC_level, rec));
}

void run_learn_device(void *arg, u32 dev)
{
	struct run *r = arg;
	bool known = devices_known(r->devices, dev);
	const struct rec_device *rec = devices_learn(r->devices, dev, r->sec);

	if (rec && !known && (dev >> 20 || (rec->fs && !strcmp(rec->fs, "btrfs"))))
		devices_levels(dev, give_level, r);
	if (rec && !give_device(r, rec) && r->n_unserved < N_OF(r->unserved))
		r->unserved[r->n_unserved++] = dev;
}

void run_end_devices(struct run *r)
{
	for (size_t i = 0; i < r->n_unserved; i++) {
		const struct rec_device *rec = devices_again(r->devices, r->unserved[i]);

		if (fuse_is_mount(rec)) /* it is still mounted */
			give_device(r, rec);
	}
}

static void on_path(void *arg, const struct iot_path *p)
{
	struct run *r = arg;

	const struct rec_file *rec;

	run_learn_device(r, p->dev);
	rec = names_file(r->names, p, p->whole == PATH_INSIDE ? devices_mount(r->devices, p->dev) :
		NULL);
	if (rec->path)
		filesums_named(r->filesums, rec->id);
	else if (filesums_is_named(r->filesums, rec->id))
		return; /* named by the other ring, which was read before */
	run_file(r, rec);
	rec = detect_told(r->detect);
	if (rec)
		run_file(r, rec);
}

/* - */
bool run_drain(struct run *r)
{
	const struct probe_callbacks callbacks = { r, on_event, on_process, on_path, run_call_path };
	size_t n = probes_consume(r->probes, &callbacks);

	run_give_waiting(r);
	run_flush(r);
	run_give_ends(r, r->n_due);
	if (n < PROBES_TAKE)
		give_unsure(r, false);
	detect_again(r->detect);
	run_give_changed(r);
	run_give_early(r, false);
	return n >= PROBES_TAKE;
}

void run_known(void *arg, const struct iot_proc *p)
{
	if (p->flags & (PROC_WANTED | PROC_KTHREAD))
		on_process(arg, p);
}
