/* SPDX-License-Identifier: GPL-3.0-only */
/* mark.bpf.h - bytes that are dirtied without a call that reports having written them: stores to
 * mapped files, blocks zeroed around a write or a truncation, and what a failed call had begun.
 */
#ifndef IOT_MARK_BPF_H
#define IOT_MARK_BPF_H

#include "aggregate.bpf.h"
#include "device.bpf.h"
#include "folio.bpf.h"
#include "owner.bpf.h"
#include "uring_op.bpf.h"

/* Sends the event that bytes [off, off + bytes) are dirty, and those up to off + size may be. */
static __always_inline void dirty_event(struct inode *i, u64 off, u64 bytes, u64 size, u32 proc,
					u8 how, u64 ts_ns)
{
	struct iot_cell_key k = { .owner = proc, .kind = KIND_DIRTY_MMAP, .how = how,
				  .sub = SUB_FT_REG };
	struct iot_ring_event *r;

	if (!wants_event(proc))
		return;
	r = event_reserve(LOSS_EVENT_CACHE);
	if (!r)
		return;
	k.dev = inode_dev(i);
	event_fill(&r->e, proc, &k);
	r->e.ts_ns = ts_ns ?: bpf_ktime_get_ns();
	r->e.tid = current_thread();
	r->e.file = file_number(i);
	r->e.offset = off;
	r->e.bytes = bytes;
	r->e.size = size;
	event_submit(r);
}

/* True when the current thread is in no call, and so stores to memory. */
static __always_inline bool stores(struct task_struct *t)
{
	return !(t->flags & PF_KTHREAD) && !is_worker(t) && !regs_in_call(current_regs());
}

/* Counts and reports a dirtied range of a file, a struct inode. Only bytes inside the file are
 * certain. Global: verified once. */
__noinline int dirty_at(u64 inode, const struct dirtied *d)
{
	struct inode *i = (struct inode *)inode;
	struct iot_cell_key k = {};
	u64 end, off, bytes, block;

	if (!i || !d)
		return 0;
	off = d->off;
	bytes = d->unsure ? 0 : d->bytes;
	/* of the file: bytes beyond its last block are not written */
	block = 1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 31);
	end = NUMBER_AT(i, struct inode, i_size);
	end = (end + block - 1) & ~(block - 1);
	if (off + bytes > end)
		bytes = end > off ? end - off : 0;
	k.owner = d->proc;
	k.dev = inode_dev(i);
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_DIRTY_MMAP;
	k.how = d->how;
	k.sub = stores(current_task()) ? SUB_FOR_FAULT : SUB_FT_REG;
	count(&k, 1, bytes, 0, false);
	dirty_event(i, off, bytes, d->beyond ? d->bytes : bytes, d->proc, d->how, d->ts_ns);
	return 0;
}

static __always_inline int dirty_range(struct inode *i, const struct dirtied *d)
{
	return dirty_at((u64)i, d);
}

/* The number + 1 of the call that the current thread is in; 0: none, it stores from user mode. */
static __always_inline u32 fault_call(struct task_struct *t)
{
	const struct pt_regs *regs = current_regs();

	return t->flags & PF_KTHREAD || is_worker(t) || !regs_in_call(regs) ? 0 : regs_nr(regs) + 1;
}

/* True when the fault in progress may have made this page writable, too: stores to it are not
 * traced, so its owner is not known from now on, unless it is the faulting process anyway. */
static __always_inline bool is_exposed(struct task_ctx *c, struct inode *i, u64 index, u64 owner)
{
	u8 how;

	return c->fault.inode == (u64)i && index != c->fault.index && index >= c->fault.first &&
	       index <= c->fault.last &&
	       page_owner((u64)i, index, &how) != owner;
}

/* Notes a block that was dirtied in a call that writes. */
static __always_inline void fresh_note(struct fresh *f, struct inode *i, u64 off, u64 bytes)
{
	if (f->inode != (u64)i) {
		f->inode = (u64)i;
		f->from = off;
		f->to = off + bytes;
		f->bytes = 0;
	}
	if (off < f->from)
		f->from = off;
	if (off + bytes > f->to)
		f->to = off + bytes;
	f->bytes += bytes;
}

/* Reports a piece of what a call dirties that executes several requests, and reports no completion
 * before all are executed. The piece is reported with its time, without a request: the ledger knows
 * what they wrote anyway. */
__noinline int fresh_report(struct task_ctx *c)
{
	struct dirtied *d;

	if (!c || !c->fresh_ns || !c->fresh.inode)
		return 0;
	d = &c->dirtied_range;
	d->off = c->fresh.from;
	d->bytes = c->fresh.bytes;
	d->ts_ns = c->fresh_ns;
	d->proc = proc_current(c);
	d->how = HOW_EXACT;
	d->unsure = 0;
	d->beyond = 1;
	dirty_range((struct inode *)c->fresh.inode, d);
	c->fresh.inode = c->fresh_ns = 0;
	return 0;
}

static __always_inline void fresh_piece(struct task_ctx *c, struct inode *i, u64 off, u64 bytes)
{
	struct iot_state *s = run_state();

	c->fresh_sum += bytes;
	/* adjacent blocks have the same time, unless something was submitted in between */
	if (c->fresh_ns && c->fresh.inode == (u64)i && c->fresh.to == off && s &&
	    *(volatile u64 *)&s->carried_ns < c->fresh_ns) {
		c->fresh.to += bytes;
		c->fresh.bytes += bytes;
		return;
	}
	fresh_report(c);
	c->fresh.inode = 0;
	fresh_note(&c->fresh, i, off, bytes);
	c->fresh_ns = bpf_ktime_get_ns();
}

/* True when a direct write from byte `off` on dirtied pages, not only the page of the file's end:
 * the file system fell back to the page cache (btrfs with checksums). */
static __always_inline bool went_through_cache(struct task_ctx *c, u64 host, u64 off)
{
	bool fell = host && c->direct.fell == host;

	c->direct.reserved = c->direct.fell = 0; /* the call or request is over */
	return fell || (host && c->fresh.inode == host && c->fresh.to > off);
}

/* The time from the begin of the finished call or request until it dirtied pages, when dirty pages
 * were written back first: *at. */
static __always_inline u64 dirtied_after(u64 *at, u64 begin_ns)
{
	/* else left over from a call whose exit was not traced */
	u64 after = *at > begin_ns ? *at - begin_ns : 0;

	*at = 0;
	return after;
}

/* The earliest time at which it may have dirtied; 0: now. A direct write that is refused writes
 * back dirty pages first, and zeroes then. */
static __always_inline u64 began_dirtying(u64 len, u32 flags, u64 ts_ns)
{
	return !len && flags & FLAG_DIRECT ? 0 : ts_ns;
}

/* Scratch memory for one: the stack has no room. */
static __always_inline struct wrote_at *wrote_of(struct task_ctx *c)
{
	return &c->wrote;
}

/* Reports what a finished call dirtied outside the bytes that it wrote. Before them it is the block
 * of the old end of the file, whose rest is zeroed; behind them it is what the call had begun when
 * it failed: all of it, unless some was dirty already. It may have been written back inside the
 * call. */
__noinline int fresh_beside(struct task_ctx *c, const struct wrote_at *w)
{
	struct dirtied *d;
	struct inode *i;
	u64 from, to;

	if (!c || !w || !c->fresh.inode)
		return 0;
	d = &c->dirtied_range;
	i = (struct inode *)c->fresh.inode;
	c->fresh.inode = 0;
	d->how = HOW_EXACT;
	d->unsure = 0;
	d->beyond = 1;
	d->proc = w->proc;
	d->ts_ns = w->ts_ns;
	from = w->off & -w->block;
	to = w->len ? (w->off + w->len + w->block - 1) & -w->block : from;
	if (c->fresh.from < from) {
		d->off = c->fresh.from;
		d->bytes = w->block;
		/* or a folio that is dirty as a whole */
		if (c->fresh.bytes == c->fresh.to - c->fresh.from)
			d->bytes = (c->fresh.to < from ? c->fresh.to : from) - c->fresh.from;
		dirty_range(i, d);
		c->fresh.from = from;
		c->fresh.bytes -= d->bytes;
	}
	if (c->fresh.to > to) {
		d->unsure = c->fresh.bytes != c->fresh.to - c->fresh.from;
		d->off = to > c->fresh.from ? to : c->fresh.from;
		d->bytes = c->fresh.to - d->off;
		dirty_range(i, d);
	}
	return 0;
}

/* As fresh_beside(), for one of several requests that a call may have submitted, for `asked` bytes:
 * what was dirtied behind its range belongs to another request, unless this one failed or was
 * short. */
static __always_inline void fresh_before(struct task_ctx *c, struct wrote_at *w, u64 asked)
{
	if (w->len && w->len >= asked && c->fresh.to > w->off + w->len)
		w->len = c->fresh.to - w->off;
	fresh_beside(c, w);
}

/* Notes a block of a file that was dirtied in a call that writes, or for a request. The request
 * keeps what a worker dirties. */
static __always_inline void fresh_note_for(struct task_ctx *c, struct task_struct *t,
					   struct inode *i, u64 off, u64 bytes)
{
	u64 req;
	struct uring_request *u = uring_of_worker(t, &req);
	struct thread *th;

	if (u)
		uring_placed(u, req);
	if (u && !u->fresh_ns) {
		u->fresh_ns = bpf_ktime_get_ns();
		c->fresh.inode = 0; /* of an earlier request */
	}
	if (!req && executes_several(c, t)) {
		fresh_piece(c, i, off, bytes);
		return;
	}
	th = !u && in_simple_write(t) ? thread_take(t) : NULL;
	if (th) {
		fresh_note(&th->fresh, i, off, bytes);
		return;
	}
	c->fresh_ns = 0;
	fresh_note(&c->fresh, i, off, bytes);
	if (u)
		u->fresh = c->fresh;
}

/* ---- blocks of a folio, in file systems without buffer heads ---- */

/* Reports blocks of a file that are dirtied without a call that reports having written them. Blocks
 * that were dirty already are not dirtied twice: the ledger knows them. */
static __noinline int dirtied(struct inode *i, u64 off, u64 len)
{
	struct task_ctx *c = ctx_make();
	struct dirtied *d;
	u64 mask;
	u8 how;

	if (!i || !c || !len || c->behalf == BEHALF_LOOP)
		return 0;
	mask = (1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 63)) - 1;
	d = &c->dirtied_range;
	d->off = off & ~mask;
	d->bytes = ((off + len + mask) & ~mask) - d->off;
	d->ts_ns = 0;
	d->unsure = d->beyond = 0; /* left over from earlier use */
	d->proc = owner_top(owner_current(c, &how));
	d->how = how;
	return dirty_at(inode_itself(i), d);
}

#define MAX_BLOCKS 1024        /* blocks of one folio */

/* A range of a folio that is dirty, or partly dirty, and is about to be dirtied: clean blocks are
 * claimed and reported, and dirty blocks that a fault exposes lose their owner. */
struct dirtying {
	u64 inode, owner, pos, end;
	u64 run;               /* begin of the blocks that are dirtied, up to pos */
	/* state: bitmaps of its blocks, up to date and then dirty; 0: all are dirty */
	u64 folio, folio_pos, state;
	struct task_ctx *fault; /* NULL: none */
	u32 blocks, bits;      /* number of blocks of the folio; log2 of their size */
};

/* True when the block is dirtied: a clean block, and one that no selected process had dirtied and
 * that is stored over. */
static __always_inline bool is_dirtied(struct dirtying *t, bool clean)
{
	struct task_ctx *c = t->fault;
	u64 index = t->pos >> PAGE_SHIFT;

	if (clean)
		page_owner_set(t->inode, t->pos, 1, t->owner, false);
	else if (c && is_exposed(c, (struct inode *)t->inode, index, t->owner))
		page_owner_set(t->inode, t->pos, 1, PROC_NONE, false);
	return clean || (c && c->fault.over_inode == t->inode && c->fault.over_index == index);
}

static long dirty_block(u32 n, struct dirtying *t)
{
	u32 bit = t->blocks + ((t->pos - t->folio_pos) >> t->bits);
	u64 size = 1UL << t->bits;

	if (t->pos >= t->end)
		return 1;
	if (!is_dirtied(t, t->state && !(pointer_at(t->state + bit / 64 * 8) >> (bit & 63) & 1))) {
		dirtied((struct inode *)t->inode, t->run, t->pos - t->run);
		t->run = t->pos + size;
	}
	t->pos += size;
	return 0;
}

/* True when the current thread is in no call: cache__dirty then reports the folio that it stores
 * to. A call that reads into a mapped file may be at any offset of it. */
static __always_inline bool is_store(void)
{
	struct task_struct *t = current_task();

	return !(t->flags & PF_KTHREAD) && !is_worker(t) && !regs_in_call(current_regs());
}

/* Dirties a range of a folio that is dirty: t.folio, state and fault are set. */
static __noinline int dirty_blocks(struct inode *i, struct dirtying *t, u64 off, u64 len)
{
	u8 how;

	if (!i || !t)
		return 0;
	t->inode = inode_itself(i);
	t->owner = owner_current(ctx_find(), &how);
	t->bits = NUMBER_AT(i, struct inode, i_blkbits) & 31;
	t->folio_pos = (u64)NUMBER_AT(t->folio, struct folio, index) << PAGE_SHIFT;
	t->blocks = folio_pages((struct folio *)t->folio) << PAGE_SHIFT >> t->bits;
	t->pos = t->run = off & ~((1UL << t->bits) - 1);
	t->end = off + len;
	if (t->end > t->folio_pos + ((u64)t->blocks << t->bits))
		t->end = t->folio_pos + ((u64)t->blocks << t->bits);
	bpf_loop(MAX_BLOCKS, dirty_block, t, 0);
	return dirtied(i, t->run, t->pos - t->run);
}

#endif
