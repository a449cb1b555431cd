/* SPDX-License-Identifier: GPL-3.0-only */
/* dirty.bpf.h - bytes that turn dirty without a call that says that it wrote them: stores to mapped files, what is zeroed beside
 * a write or a cut, what a call that failed had begun.
 */
#ifndef IOT_DIRTY_BPF_H
#define IOT_DIRTY_BPF_H

#include "owner.bpf.h"

static __always_inline void dirty_event(struct inode *i, u64 off, u64 bytes, u32 proc, u8 how)
{
	struct iot_ring_event *r;

	if (!wants_event(proc))
		return;
	r = event_reserve(LOSS_EVENT_CACHE);
	if (!r)
		return;
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.offset = off;
	r->e.bytes = r->e.size = bytes;
	r->e.task = r->e.owner = proc;
	r->e.tid = current_thread();
	r->e.how = how;
	r->e.kind = KIND_DIRTY_MMAP;
	r->e.sub = SUB_FT_REG;
	r->e.file = file_number(i);
	r->e.dev = inode_dev(i);
	event_submit(r);
}

/* Bytes of a file went dirty by themselves. They end at the end of the file. */
static __noinline int dirty_range(struct inode *i, u64 off, u64 bytes, u32 proc, u8 how)
{
	struct iot_cell_key k = {};
	u64 end;

	if (!i)
		return 0;
	end = NUMBER_AT(i, struct inode, i_size);
	end = (end + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	if (off + bytes > end)
		bytes = end > off ? end - off : 0;
	k.owner = proc;
	k.dev = inode_dev(i);
	k.kind = KIND_DIRTY_MMAP;
	k.how = how;
	k.sub = SUB_FT_REG;
	count(&k, 1, bytes, 0, false);
	dirty_event(i, off, bytes, proc, how);
	return 0;
}

/* A block turned dirty in a call that writes. */
static __always_inline void fresh_note(struct task_ctx *c, struct inode *i, u64 off, u64 bytes)
{
	if (c->fresh_inode != (u64)i) {
		c->fresh_inode = (u64)i;
		c->fresh_from = off;
		c->fresh_to = off + bytes;
	}
	if (off < c->fresh_from)
		c->fresh_from = off;
	if (off + bytes > c->fresh_to)
		c->fresh_to = off + bytes;
}

/* The call returned and has written bytes [off, off + len): what turned dirty beside them? Before them it is the block where the
 * end of the file was, whose rest is zeroed; behind them what the call had begun when it failed. block: a power of two. */
__noinline int fresh_beside(struct task_ctx *c, u64 off, u64 len, u32 proc, u64 block)
{
	u64 from, to;
	struct inode *i;

	if (!c || !c->fresh_inode)
		return 0;
	i = (struct inode *)c->fresh_inode;
	c->fresh_inode = 0;
	from = off & -block;
	to = (off + len + block - 1) & -block;
	if (c->fresh_from < from)
		dirty_range(i, c->fresh_from, block, proc, HOW_EXACT);
	if (c->fresh_to > to)
		dirty_range(i, to > c->fresh_from ? to : c->fresh_from, c->fresh_to - (to > c->fresh_from ? to : c->fresh_from), proc, HOW_EXACT);
	return 0;
}

#endif
