// SPDX-License-Identifier: GPL-3.0-only
/* run_round.c - sums of a run: once a second, additions go to the outputs, and aggregates of ended
 * processes are given back.
 */
#include <time.h>
#include "ask.h"
#include "describe.h"
#include "run_parts.h"

void run_read_aggregates(struct run *r)
{
	aggregate_begin(r->aggregates);
	take_error(r, probes_cells(r->probes, aggregate_keep, r->aggregates));
}

static u32 on_owner(void *arg, u32 owner)
{
	struct run *r = arg;

	return r->opts->system && process_table_waits(r->processes, owner) ? AGGREGATE_WAIT :
		process_table_owner(r->processes, owner);
}

/* Names an opcode of io_uring when the first request with it is counted, where not all were named
 * at the start. */
static int name_op(struct run *r, const struct rec_agg *rec)
{
	u8 op = rec->op;

	if (rec->kind < KIND_URING_READ || rec->kind > KIND_URING_OTHER || r->named[op] ||
	    r->opts->whole >> LAYER_URING & 1)
		return 0;
	r->named[op] = true;
	return describe_op(r->sink, r->probes, OPS_URING, op);
}

static int on_cell(void *arg, const struct rec_agg *rec)
{
	struct run *r = arg;

	run_learn_device(r, rec->dev);
	if (!run_keeps(r, rec->kind))
		return 0;
	return name_op(r, rec) ?: r->sink->record(r->sink, REC_agg, rec);
}

/* Processes that the ring could not deliver are in the table of processes. */
static void scan_processes(struct run *r)
{
	if (!r->scanned)
		take_error(r, probes_procs(r->probes, run_known, r));
	r->scanned = true;
	run_give_ends(r, r->n_ends);
}

static void on_bytes(void *arg, u32 owner, u64 bytes)
{
	struct run *r = arg;

	if (process_table_count(r->processes, owner, bytes))
		return;
	scan_processes(r);
	process_table_count(r->processes, owner, bytes);
}

static bool on_over(void *arg, u32 owner, bool quiet)
{
	struct run *r = arg;

	return process_table_is_over(r->processes, owner, quiet);
}

void run_flow(void *arg, const struct iot_flow_key *key, const struct iot_flow *sums)
{
	struct run *r = arg;
	struct flow_text text;
	struct iot_flow_key own = *key;

	own.owner = process_table_owner(r->processes, key->owner);
	take_error(r, r->sink->record(r->sink, REC_flow, flow_describe(&own, sums,
		flow_known(r->probes, r->opts->whole), &text)));
}

static bool flow_over(void *arg, u32 owner)
{
	return on_over(arg, owner, false);
}

static bool asked(const struct run *r, u32 layers)
{
	return !r->opts->layers || r->opts->layers & layers;
}

/* Clears the sums of layers that were not asked for. Returns true when others are left. */
static bool keep_asked(const struct run *r, struct rec_file_io *f)
{
	if (!asked(r, 1u << LAYER_SYSCALL | 1u << LAYER_URING))
		f->read_ops = f->read_bytes = f->write_ops = f->write_bytes = f->sync_ops = 0;
	if (!asked(r, 1u << LAYER_FS))
		f->fs_read_bytes = f->fs_write_bytes = 0;
	if (!asked(r, 1u << LAYER_BLOCK))
		f->dev_read_bytes = f->dev_write_bytes = 0;
	return f->read_ops || f->write_ops || f->sync_ops || f->fs_read_bytes ||
		f->fs_write_bytes || f->dev_read_bytes || f->dev_write_bytes;
}

/* sums that wait for the whole run, 8 MiB at most: beyond that, files of others are given too */
#define STRANGERS_MAX 65536

/* True for sums without a known owner, or of a kernel thread, on a file that no wanted process has
 * used. */
static bool is_strangers(struct run *r, const struct rec_file_io *rec)
{
	return rec->file && (rec->owner < PROC_FIRST || detect_is_kthread(r->detect, rec->owner)) &&
		!run_uses(r, rec->file);
}

/* Unlike an aggregate, sums of processes that are not wanted are left out, and so are those without
 * a known owner on files that only such processes used. */
static int on_filesum(void *arg, const struct rec_file_io *rec)
{
	struct run *r = arg;
	struct rec_file_io own = *rec;

	if (r->opts->system && (process_table_waits(r->processes, rec->owner) ||
	    (r->n_early_sums < STRANGERS_MAX && is_strangers(r, rec))) &&
	    !grow((void **)&r->early_sums, r->n_early_sums, &r->early_sums_room, sizeof(own))) {
		r->early_sums[r->n_early_sums++] = own;
		return 0;
	}
	own.owner = process_table_owner(r->processes, rec->owner);
	if (own.owner == PROC_OTHER)
		return 0;
	if (!keep_asked(r, &own))
		return 0;
	run_use(r, own.file);
	return r->sink->record(r->sink, REC_file_io, &own);
}

/* Gives waiting sums by file, or lets them wait on. */
static void tell_early_sums(struct run *r)
{
	size_t n = r->n_early_sums;

	/* no more can wait on than did before: each is read before its position is overwritten */
	r->n_early_sums = 0;
	for (size_t i = 0; i < n; i++) {
		struct rec_file_io own = r->early_sums[i];

		take_error(r, on_filesum(r, &own));
	}
}

/* Gives the additions to the aggregates since the last round, and gives back those of ended
 * processes. files: sums by file were read for it; they are given after it is decided which process
 * stands in for which. */
static void end_round(struct run *r, bool files)
{
	u64 lost[LOSS_MAX] = { 0 };

	r->scanned = false;
	if (!probes_losses(r->probes, lost) && lost[LOSS_EVENT_OTHER] != r->names_lost)
		scan_processes(r);
	r->names_lost = lost[LOSS_EVENT_OTHER];
	if (!r->loss_told && !r->stop_ns) /* at the end all losses are printed */
		r->loss_told = note_first_loss(r->probes, lost, r->progress && r->sec);
	run_read_aggregates(r);
	/* during a storm of forks that takes a while: processes that began meanwhile are in what
	 * was read */
	r->scanned = false;
	aggregate_bytes(r->aggregates, on_bytes, r);
	process_table_settle(r->processes);
	if (files)
		tell_early_sums(r);
	if (files)
		take_error(r, filesums_tell(r->filesums, on_filesum, r));
	take_error(r, aggregate_take(r->aggregates, r->sec, on_owner, on_cell, r));
	aggregate_collect(r->aggregates, r->probes, on_over, r);
	flows_collect(r->flows, r->probes, flow_over, run_flow, r);
	process_table_forget(r->processes);
	r->round_ns = clock_now(CLOCK_MONOTONIC);
}

void run_end_round(struct run *r)
{
	end_round(r, false);
}

static void show_progress(const struct run *r)
{
	u64 n[LOSS_MAX], lost = 0;

	if (!r->progress || probes_losses(r->probes, n))
		return;
	for (size_t i = 0; i < LOSS_MAX; i++)
		lost += n[i];
	note_progress("\r%llu s, %llu events, %llu lost ",
		(unsigned long long)(since_start(r) / NSEC),
		(unsigned long long)r->events, (unsigned long long)lost);
}

/* Gives the additions of this second, and makes the second durable. A late call gives more than a
 * second's worth to the second in which it began. */
void run_end_second(struct run *r)
{
	const struct rec_file *late;
	const struct iot_proc *named;
	u64 now = since_start(r);

	ask_second();
	while ((named = names_retry(r->names)))
		process_table_change(r->processes, named);
	while ((late = detect_late(r->detect)))
		run_file(r, late);
	run_give_changed(r);
	take_error(r, filesums_take(r->filesums, r->probes));
	run_drain(r);
	end_round(r, true);
	run_give_changed(r);
	run_sample(r, false);
	run_walk_again(r, false);
	take_error(r, r->sink->commit(r->sink));
	probes_second(r->probes);
	r->sec = now / NSEC > r->sec ? now / NSEC : r->sec + 1;
	r->next_ns = (r->sec + 1) * NSEC;
	show_progress(r);
}
