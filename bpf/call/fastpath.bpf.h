/* SPDX-License-Identifier: GPL-3.0-only */
/* fastpath.bpf.h - the fast path: counts a call that is like an earlier one of its thread without
 * looking everything up again.
 */
#ifndef IOT_FASTPATH_BPF_H
#define IOT_FASTPATH_BPF_H

#include "op.bpf.h"
#include "single_writer.bpf.h"
#include "thread.bpf.h"

/* The duration and the begin of the call that the current thread returns from; 0: it was not
 * timed. */
static __always_inline u64 clock_stop(struct thread *th, u32 tid, u64 *began_ns)
{
	u64 was;

	if (!th || !th->clock)
		return 0;
	was = th->clock;
	th->clock = 0;
	if (was >> CLOCK_SHIFT != thread_above(tid))
		return 0; /* of another thread */
	*began_ns = was & ((1ULL << CLOCK_SHIFT) - 1);
	return bpf_ktime_get_ns() - *began_ns;
}

/* Stops the clock of a call whose duration is not needed. */
static __always_inline bool clock_drop(struct thread *th)
{
	if (th && th->clock)
		th->clock = 0;
	return true;
}

/* Begin and duration of a call. When it was not timed dur_ns is 0, and ts_ns is when it dirtied
 * something. */
struct timed {
	u64 ts_ns, dur_ns;
	u64 queue_ns;          /* until it dirtied something */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* with events, one a processor */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_packs);
} packs SEC(".maps");

/* Sends 1 to IOT_PACK events. The tracer notices those for which the ring had no room. */
static __always_inline void pack_send(struct iot_ring_pack *p, u64 n)
{
	n = INDEX(n - 1, IOT_PACK) + 1;
	p->n = n;
	bpf_ringbuf_output(&ring, p, offsetof(struct iot_ring_pack, e) + n * sizeof(p->e[0]),
			   BPF_RB_NO_WAKEUP);
}

static __always_inline struct iot_ring_pack *pack_begin(struct iot_packs *all,
							const struct fast_call *q, u32 cpu)
{
	u64 begun = all->begun;
	struct iot_ring_pack *p = &all->pack[INDEX(begun / 2, 2)];

	publish(&all->begun, begun + 1);
	p->type = RING_PACK;
	p->cpu = cpu;
	p->first = all->n;
	p->proc = q->proc;
	p->tid = cfg.pid_level ? current_thread() : q->tid;
	p->file = q->file;
	p->dev = q->dev;
	p->flags = q->flags;
	p->kind = q->kind;
	p->sub = q->type;
	all->quick = (u64)q;
	all->learned = q->learned;
	all->tid = q->tid;
	publish(&all->begun, begun + 2);
	return p;
}

/* Packs the event of a call that writes no file. No other event depends on it, so that it may wait
 * for others like it. Calls on one processor return from sys_exit one after the other, so that
 * nothing comes in between. */
static __noinline void fastpath_pack(const struct fast_call *q, const struct timed *when,
				     u64 offset, u64 size, u64 bytes)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct iot_packs *all = bpf_map_lookup_elem(&packs, &cpu);
	struct iot_ring_pack *p;
	struct iot_moved *e;
	u64 at;

	if (!all) {
		lose(LOSS_EVENT_SYSCALL);
		return;
	}
	p = &all->pack[INDEX(all->begun / 2 - 1, 2)];
	at = all->n - p->first;
	if (all->quick != (u64)q || all->learned != q->learned || all->tid != q->tid ||
	    at >= IOT_PACK) {
		if (at && at < IOT_PACK)
			pack_send(p, at);
		p = pack_begin(all, q, cpu);
		at = 0;
	}
	e = &p->e[INDEX(at, IOT_PACK)];
	e->ts_ns = when->ts_ns ?: bpf_ktime_get_ns();
	e->offset = offset;
	e->dur_ns = when->dur_ns;
	e->size = size;
	e->bytes = bytes;
	publish(&all->n, all->n + 1);
	if (at == IOT_PACK - 1)
		pack_send(p, IOT_PACK);
}

/* Sends the event of a call on the fast path. Out of line: most runs of the hot path do not come
 * here. */
__noinline int fastpath_event(struct fast_call *q, const struct timed *when, u64 offset, u64 size,
			      s64 ret)
{
	struct iot_cell_key k = { .how = HOW_EXACT };
	struct iot_ring_event *r;

	if (!q || !when)
		return 0;
	if (cfg.only.events && !event_chosen(q->kind, size, ret, when->dur_ns))
		return 0;
	if (!q->block && !((when->dur_ns | size) >> 32)) {
		fastpath_pack(q, when, offset, size, ret);
		return 0;
	}
	r = event_reserve(LOSS_EVENT_SYSCALL);
	if (!r)
		return 0;
	k.owner = q->proc;
	k.dev = q->dev;
	k.kind = q->kind;
	k.sub = q->type;
	event_fill(&r->e, q->proc, &k);
	r->e.ts_ns = when->ts_ns ?: bpf_ktime_get_ns();
	r->e.tid = cfg.pid_level ? current_thread() : q->tid;
	r->e.file = q->file;
	r->e.dur_ns = when->dur_ns;
	r->e.queue_ns = when->queue_ns;
	r->e.offset = offset;
	r->e.size = size;
	r->e.bytes = ret;
	r->e.flags = q->flags | (ret < size ? FLAG_SHORT : 0);
	event_submit(r);
	return 0;
}

/* The offset at which a call on the fast path moved its bytes. */
static __always_inline u64 fastpath_offset(const struct fast_call *q, struct file *f,
					   const struct pt_regs *regs, s64 ret)
{
	return q->shape == SHAPE_PRW ? regs_arg3(regs) : NUMBER_AT(f, struct file, f_pos) - ret;
}

/* Moves what the finished call dirtied from the thread's entry to its context, where other calls
 * have it. The context may have some of a time when another thread had the entry. */
static __always_inline void fresh_gather(struct task_ctx *c, struct thread *th,
					 struct task_struct *t)
{
	struct fresh *f;

	if (!th || th->task != (u64)t || !th->fresh.inode)
		return;
	f = &th->fresh;
	fresh_note(&c->fresh, (struct inode *)f->inode, f->from, f->to - f->from);
	c->fresh.bytes -= f->to - f->from - f->bytes;
	c->fresh_ns = 0;
	f->inode = 0;
}

/* True when some of what was dirtied is outside the blocks that were written. */
static __always_inline bool is_beside(const struct fresh *f, u64 off, u64 bytes, u64 block)
{
	return f->from < (off & -block) || f->to > ((off + bytes + block - 1) & -block);
}

/* Counts a call that is like an earlier one of its thread. False: it is not. Out of line, with a
 * stack frame of its own. */
static __noinline bool fastpath_call(struct task_struct *t, struct thread *th,
				     const struct pt_regs *regs, u64 nr, s64 ret)
{
	u8 write = call_row(nr)->write;
	u32 tid = t->pid, fd = regs_arg0(regs);
	struct fast_call *q = fast_call_of(tid, fd, write);
	struct iot_state *s = run_state();
	struct iot_filesum *sum;
	struct timed when = {};
	u64 offset = 0, touched = 0;
	struct task_ctx *c;
	struct inode *i;
	struct file *f;

	if (!q || !s || q->tid != tid || q->stamp != th->stamp || q->nr != nr ||
	    q->epoch != s->sum_epoch)
		return false;
	f = file_of_task(t, fd);
	if (!f || q->open_flags != NUMBER_AT(f, struct file, f_flags))
		return false;
	i = (struct inode *)POINTER_AT(f, struct file, f_inode);
	if (q->inode != (u64)i || q->ino != inode_number(i) || q->gen != inode_generation(i))
		return false;
	if (write && q->block) {
		if (!is_single_writer_now(s, th, t, q->host) &&
		    !single_writer_renew(th, t, q->host))
			return false;
		offset = fastpath_offset(q, f, regs, ret);
		if (!ret && th->fresh.inode)
			return false; /* all of that is outside the range */
		touched = ret ? blocks_of(offset, ret, q->block) : 0;
	} else if (ra_waits(q->host)) {
		return false;
	}
	if (cfg.latency)
		when.dur_ns = clock_stop(th, tid, &when.ts_ns);
	if (touched && cfg.events)
		when.queue_ns = dirtied_when(th, &when.ts_ns);
	if (touched && th->fresh.inode == q->host && is_beside(&th->fresh, offset, ret, q->block)) {
		struct wrote_at *w;

		c = ctx_make();
		if (c) {
			w = wrote_of(c);
			w->off = offset;
			w->len = ret;
			w->block = q->block;
			w->ts_ns = when.ts_ns + when.queue_ns;
			w->proc = q->proc;
			fresh_gather(c, th, t);
			fresh_beside(c, w);
		}
	}
	if (touched)
		th->fresh.inode = 0;
	th->rchar = t->ioac.rchar;
	cell_add(q->cell, 1, ret, touched, when.dur_ns, false);
	hist_add(q->proc, q->kind, q->type, when.dur_ns);
	sum = q->sum == QUICK_NO_SUM ? NULL : filesum_here(q->sum);
	if (sum) {
		sum_add(write ? &sum->write_ops : &sum->read_ops, 1);
		sum_add(write ? &sum->write_bytes : &sum->read_bytes, ret);
	}
	if (wants_event(q->proc))
		fastpath_event(q, &when, is_storage(q->type) ? fastpath_offset(q, f, regs, ret) : 0,
			       regs_arg2(regs), ret);
	return true;
}

/* Enters the call that was just recorded, if the next one can be like it. */
static __always_inline void fastpath_learn(struct task_ctx *c, struct task_struct *t,
					   const struct call *k, struct op *o, u8 shape, u32 proc)
{
	bool storage = is_storage(c->seen.type), writes = o->write && storage;
	struct iot_state *s = run_state();
	struct thread *th;
	struct fast_call *q;
	struct file *f;

	if (cfg.twins || shape > SHAPE_PRW || !c->seen.inode || !proc ||
	    c->cell_key.owner != proc || c->cell == IOT_NO_CELL ||
	    o->ret < 0 || (cfg.sockets == SOCKETS_ALL && c->seen.type == SUB_FT_SOCK))
		return;
	if (cache_is_whole() && storage && !o->write && !(o->flags & FLAG_DIRECT))
		return; /* each read has hits, or misses, of its own */
	if (writes && (c->seen.type != SUB_FT_REG || o->ret == 0 ||
		       o->flags & (FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC) ||
		       (shape == SHAPE_PRW && o->flags & FLAG_APPEND)))
		return;
	th = thread_take(t);
	q = fast_call_of(t->pid, k->arg[0], o->write);
	f = file_of_task(t, k->arg[0]);
	if (!th || !q || !s || !f)
		return;
	if (writes && flags_of(NUMBER_AT(f, struct file, f_flags)) & FLAG_DIRECT)
		return; /* this one fell back to the page cache, the next need not */
	q->tid = 0;
	q->learned++;
	q->inode = c->seen.inode;
	q->ino = c->seen.ino;
	q->gen = c->seen.gen;
	q->open_flags = NUMBER_AT(f, struct file, f_flags);
	q->host = !storage || o->flags & FLAG_DIRECT ? 0 : c->seen.host;
	q->block = writes ? c->seen.block : 0;
	q->epoch = s->sum_epoch;
	q->cell = c->cell;
	q->sum = storage && filesum_wanted(proc) ? c->sum.slot : QUICK_NO_SUM;
	q->proc = proc;
	q->file = c->seen.file;
	q->dev = c->seen.dev;
	q->flags = o->flags;
	q->nr = k->nr;
	q->shape = shape;
	q->kind = o->kind;
	q->write = o->write;
	q->type = c->seen.type;
	q->stamp = th->stamp;
	q->tid = t->pid;
}

#endif
