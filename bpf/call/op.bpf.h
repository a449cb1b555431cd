/* SPDX-License-Identifier: GPL-3.0-only */
/* op.bpf.h - one operation on a file: from a finished call to its aggregate, the sums of its file,
 * its event, and what it dirtied.
 */
#ifndef IOT_OP_BPF_H
#define IOT_OP_BPF_H

#include "hooks.bpf.h"
#include "file.bpf.h"
#include "filesum.bpf.h"
#include "readahead.bpf.h"

/* Sends the event of an operation. Out of line: most runs of the hot path do not come here. */
static __always_inline void op_event(struct task_ctx *c, const struct op *o, u32 proc)
{
	struct iot_cell_key k = { .owner = proc, .dev = c->seen.dev, .kind = o->kind,
				  .how = HOW_EXACT, .sub = c->seen.type };
	struct iot_ring_event *r = event_reserve(LOSS_EVENT_SYSCALL);

	if (!r)
		return;
	event_fill(&r->e, proc, &k);
	r->e.ts_ns = o->ts_ns;
	r->e.tid = o->tid ?: current_thread();
	r->e.file = c->seen.file;
	r->e.dur_ns = o->dur_ns;
	r->e.queue_ns = o->queue_ns;
	r->e.offset = o->offset;
	r->e.size = o->size;
	r->e.flags = o->flags;
	if (cfg.whole) {
		r->e.op = o->op;
		r->e.arg = o->arg;
	}
	if (o->ret < 0)
		r->e.err = -o->ret;
	else if (o->write != MOVES_NOTHING)
		r->e.bytes = o->ret;
	if (r->e.bytes < o->size && o->write != MOVES_NOTHING && o->ret >= 0)
		r->e.flags |= FLAG_SHORT;
	event_submit(r);
}

/* A call read the context's file. */
static __always_inline void read_ends(struct task_ctx *c, const struct op *o, u32 proc, u64 bytes,
				      u32 used)
{
	reads_of(c, c->seen.host, c->seen.dev, c->seen.file, c->seen.type, proc, bytes);
	reads_end(c, o->offset, used, o->kind == KIND_AIO_READ);
}

/* Counts one operation on the file in the context, and sends its event. */
__noinline int op_record(struct task_ctx *c, struct op *o, u32 proc)
{
	struct iot_cell_key k = {};
	u64 bytes = 0, touched = 0;
	u32 what;

	if (!c || !o)
		return 0;
	if (is_off_disk(c->seen.type, c->seen.dev)) {
		/* no later call is like this one (fastpath_learn()) */
		c->cell_key.owner = PROC_NONE;
		return 0;
	}
	k.owner = proc;
	k.dev = c->seen.dev;
	/* the four small fields in one store: loading them right after separate stores stalls */
	what = o->kind | HOW_EXACT << 16 | c->seen.type << 24;
	*(u32 *)&k.kind = what;
	k.flags = o->flags & (o->write == MOVES_TO_FILE ? FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC :
			      FLAG_DIRECT);
	if (o->ret > 0 && o->write != MOVES_NOTHING) {
		bytes = o->ret;
		if (o->write && is_storage(c->seen.type) && !(o->flags & FLAG_SHARED))
			touched = blocks_of(o->offset, bytes, c->seen.block);
	}
	if (c->cell_key.owner != k.owner || c->cell_key.dev != k.dev ||
	    *(u32 *)&c->cell_key.kind != what ||
	    c->cell_key.flags != k.flags || !k.owner) {
		c->cell = cell_find(&k);
		c->cell_key = k;
	}
	cell_add(c->cell, 1, bytes, touched, o->dur_ns, o->ret < 0);
	hist_add(proc, k.kind, k.sub, o->dur_ns);
	if (!REDUCED && !o->write && !(o->flags & FLAG_DIRECT)) {
		u32 used = ra_used(c->seen.host, o->offset, o->ret);

		if (cache_is_whole() && is_storage(c->seen.type))
			read_ends(c, o, proc, bytes, used);
	}
	if (wants_event(proc))
		op_event(c, o, proc);
	return 0;
}

/* As op_record(), for a call of the current thread, and counts it in the sums of its file. */
__noinline int call_record(struct task_ctx *c, struct op *o, u32 proc)
{
	if (!c || !o)
		return 0;
	op_record(c, o, proc);
	if (is_off_disk(c->seen.type, c->seen.dev))
		return 0;
	filesum_call(c, proc, o->kind, o->write, o->ret > 0 &&
		     o->write != MOVES_NOTHING ? o->ret : 0, o->flags);
	return 0;
}

#ifdef IOT_REDUCED
__by_numbers int call_recorded(u32 proc)
{
	struct task_ctx *c = ctx_find();

	return c ? call_record(c, &c->op, proc) : 0;
}
#define call_record(c, o, proc) call_recorded(proc)
#endif

/* The range that an operation wrote in the context's file. */
static __always_inline struct wrote_at *wrote_by(struct task_ctx *c, const struct op *o, u32 proc)
{
	struct wrote_at *w = wrote_of(c);

	w->off = o->offset;
	w->len = o->ret > 0 ? o->ret : 0;
	w->block = c->seen.block ?: PAGE_SIZE;
	w->ts_ns = began_dirtying(w->len, o->flags, o->ts_ns + o->queue_ns);
	w->proc = proc;
	return w;
}

/* Reports what a call dirtied outside the range that it wrote. */
static __always_inline void wrote_beside(struct task_ctx *c, const struct op *o, u32 proc)
{
	if (!REDUCED && c->fresh.inode && c->fresh.inode == c->seen.host)
		fresh_beside(c, wrote_by(c, o, proc));
}

#endif
