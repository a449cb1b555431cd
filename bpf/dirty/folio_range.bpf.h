/* SPDX-License-Identifier: GPL-3.0-only */
/* folio_range.bpf.h - the bytes of a folio that are dirtied with it: all, or some of its blocks
 * (btrfs).
 */
#ifndef IOT_FOLIO_RANGE_BPF_H
#define IOT_FOLIO_RANGE_BPF_H

#include "btrfs_shared.bpf.h"
#include "mark.bpf.h"

/* The first argument of a program as a number, which global functions take. */
static __always_inline u64 first_argument(const void *ctx)
{
	u64 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), ctx);
	return n;
}

/* The dirty part of a folio that was just dirtied: from its first dirty block to the last. *d is
 * unchanged when that is not known. Global: verified once. */
__noinline int btrfs_dirty_part(u64 folio, u64 inode, struct dirtied *d)
{
	u32 blocks, bits, first = 0, end = 64;
	u64 maps, dirty;

	if (!folio || !inode || !d)
		return 0;
	blocks = folio_blocks(folio, inode);
	maps = btrfs_folio_maps(folio, inode, blocks);
	dirty = maps ? btrfs_dirty_bits(maps, blocks) : 0;
	if (!dirty)
		return 0;
	for (u32 half = 32; half; half /= 2) {
		if (!(dirty >> first & ((1ULL << half) - 1)))
			first += half;
		if (!(dirty >> (end - half)))
			end -= half;
	}
	bits = NUMBER_AT(inode, struct inode, i_blkbits) & 31;
	d->off = ((u64)NUMBER_AT(folio, struct folio, index) << PAGE_SHIFT) + ((u64)first << bits);
	d->bytes = (u64)(end - first) << bits;
	return 0;
}

/* The bytes that are dirtied with a folio, the first argument of the program. */
static __always_inline void folio_range(const void *ctx, struct folio *f, struct inode *i,
					struct dirtied *d)
{
	d->off = (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT;
	d->bytes = folio_pages(f) << PAGE_SHIFT;
	if (d->bytes > PAGE_SIZE)
		btrfs_dirty_part(first_argument(ctx), (u64)i, d);
}

#endif
