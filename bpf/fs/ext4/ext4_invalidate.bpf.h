/* SPDX-License-Identifier: GPL-3.0-only */
/* ext4_invalidate.bpf.h - dirty bytes of ext4 files that are dropped before they are written:
 * truncation, holes, collapsed ranges, eviction. Used by fs_ext4.bpf.c.
 */
#ifndef IOT_EXT4_INVALIDATE_BPF_H
#define IOT_EXT4_INVALIDATE_BPF_H

#include "ext4_inode.bpf.h"
#include "hooks.bpf.h"
#include "program_copies.bpf.h"
#include "task_op.bpf.h"

SEC("tp_btf/ext4_evict_inode")
int PROBE(ext4__evict, struct inode *i)
{
	if (!i || !gate_open())
		return 0;
	if (!cfg.light && !FOLLOW(i, i_nlink) && is_regular(i))
		invalidate_record(i, KIND_FS_EVICT, 0, 0);
	writer_drop((u64)i);
	return 0;
}

SEC("tp_btf/ext4_truncate_enter")
int PROBE(ext4__truncate, struct inode *i)
{
	struct task_struct *t = current_task();

	if (!i || !gate_open() || !is_regular(i))
		return 0;
	if (!(t->flags & PF_KTHREAD) && task_op_now(t) <= TASK_OP_AIO)
		/* of a write that a fault cut short: what it had begun beyond the end, and
		 * continues then */
		return 0;
	return invalidate_record(i, KIND_FS_TRUNCATE, FOLLOW(i, i_size), 0);
}

/* ext4_punch_hole. Before 6.14 dirty pages of the range are written first, so that only the range
 * whose blocks are removed is dropped: ext4__forget() reports that. No hole is punched beyond the
 * page of the file's end: what a failed call had begun there stays. */
SEC("tp_btf/ext4_punch_hole")
int PROBE(ext4__punch, struct inode *i, long long off, long long len)
{
	long long size, end = off + len;
	struct task_ctx *c;
	u64 bits, first;

	if (!i || !gate_open() || is_journalled((u64)i))
		return 0; /* journalled data: dirty pages are written first */
	size = FOLLOW(i, i_size);
	if (off >= size)
		return 0;
	if (end > size)
		end = (size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	bits = NUMBER_AT(i, struct inode, i_blkbits) & 31;
	c = ctx_make();
	first = (off + (1LL << bits) - 1) >> bits;
	if (!c || first >= end >> bits)
		return 0; /* no whole block: its edges are zeroed, and nothing is dropped */
	c->punch.inode = (u64)i;
	c->punch.block = first;
	c->punch.off = off;
	c->punch.end = end;
	return 0;
}

/* ext4_es_remove_extent: the pages of the range have left the cache. */
SEC("tp_btf/ext4_es_remove_extent")
int PROBE(ext4__forget, struct inode *i, u32 block, u32 blocks)
{
	struct task_ctx *c = ctx_find();

	if (!i || !c || c->punch.inode != (u64)i || !gate_open())
		return 0;
	c->punch.inode = 0;
	if (block != c->punch.block)
		return 0; /* that hole failed, and this is another call */
	return invalidate_record(i, KIND_FS_PUNCH, c->punch.off, c->punch.end - c->punch.off);
}

/* ext4_zero_range: whole pages of the range are dropped, too; its edges are zeroed, as by a
 * hole. */
SEC("tp_btf/ext4_zero_range")
int PROBE(ext4__zero, struct inode *i, long long off, long long len)
{
	if (!i || !gate_open() || is_journalled((u64)i))
		return 0;
	return invalidate_record(i, KIND_FS_PUNCH, off, len);
}

#define EXT4_EXTENTS_FL (1 << 19)

/* ext4_collapse_range: a range is removed from a file, and what follows moves up. That is written
 * first, and so is the folio in which the range begins; the rest of the range is dropped. The call
 * fails later if the range is not aligned, or reaches the end of the file. */
SEC("tp_btf/ext4_collapse_range")
int PROBE(ext4__collapse, struct inode *i, long long off, long long len)
{
	u64 mapping, first, behind, from = off, to = off + len;

	if (!i || !gate_open())
		return 0;
	if (to >= NUMBER_AT(i, struct inode, i_size) ||
	    (from | to) & ((1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 31)) - 1) ||
	    !(ext4_flags(i) & EXT4_EXTENTS_FL))
		return 0;
	mapping = POINTER_AT(i, struct inode, i_mapping);
	first = folio_at(mapping, from >> PAGE_SHIFT);
	behind = folio_at(mapping, to >> PAGE_SHIFT);
	from = (from & -PAGE_SIZE) + PAGE_SIZE;
	to &= -PAGE_SIZE;
	if (first)
		from = (NUMBER_AT(first, struct folio, index) +
			folio_pages((struct folio *)first)) << PAGE_SHIFT;
	if (behind)
		to = (u64)NUMBER_AT(behind, struct folio, index) << PAGE_SHIFT;
	return from < to ? invalidate_record(i, KIND_FS_PUNCH, from, to - from) : 0;
}

#endif
