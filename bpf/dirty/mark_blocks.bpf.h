/* SPDX-License-Identifier: GPL-3.0-only */
/* mark_blocks.bpf.h - blocks of a folio that turn dirty one by one, in file systems that keep no buffer heads. Used by theirs.
 */
#ifndef IOT_TURNING_BPF_H
#define IOT_TURNING_BPF_H

#include "mark.bpf.h"
#include "folio.bpf.h"

/* Blocks of a file turn dirty although no call says that it wrote them. What was dirty already is not so twice: the ledger knows. */
static __noinline int dirtied(struct inode *i, u64 off, u64 len)
{
	struct task_ctx *c = ctx_make();
	struct dirtied *d;
	u64 mask;
	u8 how;

	if (!i || !c || !len || c->behalf == BEHALF_LOOP)
		return 0;
	mask = (1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 63)) - 1;
	d = (struct dirtied *)c->dirtied_range;
	d->off = off & ~mask;
	d->bytes = ((off + len + mask) & ~mask) - d->off;
	d->ts_ns = 0;
	d->unsure = d->beyond = 0; /* of what the thread did before */
	d->proc = owner_top(owner_current(c, &how));
	d->how = how;
	return dirty_at(inode_itself(i), d);
}

#define MAX_BLOCKS 1024        /* of one folio */

/* Bytes of a folio that is dirty already, or in part, are about to turn dirty: blocks that are clean are claimed and told of, and of the
 * others those that a fault exposes are nobody's. */
struct turning {
	u64 inode, owner, pos, end;
	u64 run;               /* where the blocks that turn dirty begin, up to pos */
	u64 folio, folio_pos, state; /* state: maps of its blocks, which are up to date and behind them which are dirty; 0: all are */
	struct task_ctx *fault; /* NULL: none */
	u32 blocks, bits;      /* of the folio; log2 of their size */
};

/* Does the block turn dirty? Also one that nobody who is wanted had dirtied, when it is stored over. */
static __always_inline bool turns(struct turning *t, bool clean)
{
	struct task_ctx *c = t->fault;
	u64 index = t->pos >> PAGE_SHIFT;

	if (clean)
		claim_range(t->inode, t->pos, 1, t->owner, false);
	else if (c && is_exposed(c, (struct inode *)t->inode, index, t->owner))
		claim_range(t->inode, t->pos, 1, PROC_NONE, false);
	return clean || (c && c->over_inode == t->inode && c->over_index == index);
}

static long turn_block(u32 n, struct turning *t)
{
	u32 bit = t->blocks + ((t->pos - t->folio_pos) >> t->bits);
	u64 size = 1UL << t->bits;

	if (t->pos >= t->end)
		return 1;
	if (!turns(t, t->state && !(pointer_at(t->state + bit / 64 * 8) >> (bit & 63) & 1))) {
		dirtied((struct inode *)t->inode, t->run, t->pos - t->run);
		t->run = t->pos + size;
	}
	t->pos += size;
	return 0;
}

/* Is the current thread in no call? Then cache__dirty tells of the folio that it stores to; a call that reads into a mapped file may be at
 * any place of it. */
static __always_inline bool is_store(void)
{
	struct task_struct *t = current_task();

	return !(t->flags & PF_KTHREAD) && !is_worker(t) && !regs_in_call(current_regs());
}

/* Bytes of a folio that is dirty: t.folio, state and fault are known. */
static __noinline int turn_blocks(struct inode *i, struct turning *t, u64 off, u64 len)
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
	bpf_loop(MAX_BLOCKS, turn_block, t, 0);
	return dirtied(i, t->run, t->pos - t->run);
}

#endif
