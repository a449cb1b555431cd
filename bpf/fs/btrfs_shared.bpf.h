/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_shared.bpf.h - what the object of btrfs tells block.bpf.c, which knows none of the types of a module: where their fields lie, whose each
 * block of a tree is that was changed, who changed an inode last.
 */
#ifndef IOT_BTRFS_BPF_H
#define IOT_BTRFS_BPF_H

#include "folio.bpf.h"
#include "owner.bpf.h"

/* Offsets in the kernel's structures. Written by the first program of the object that runs, before there is anything to be told. */
struct btrfs_layout {
	u32 known;
	u32 bio, inode, file_offset, end_io, private; /* struct btrfs_bio; no inode before 6.4 */
	u32 has_inode;
	u32 vfs_inode;         /* struct btrfs_inode */
	u32 compressed_inode, compressed_start, direct_inode; /* struct compressed_bio and btrfs_dio_private, where it has none */
	u32 stripe_io, io_bio; /* struct btrfs_io_stripe, struct btrfs_io_context */
	u32 device_fs;         /* struct btrfs_device */
	u32 fs_super, fs_sb;   /* struct btrfs_fs_info */
	u32 block_len, block_fs; /* struct extent_buffer */
	u32 inode_root, root_id; /* struct btrfs_inode, struct btrfs_root */
	u32 raid_bios, raid_io, raid_data, raid_disks; /* struct btrfs_raid_bio: the first of its bios, where it goes */
	u32 io_stripes, stripe_size, stripe_device, device_bdev;
	u32 folio_state;       /* struct btrfs_folio_state; 0 there is none */
	u64 page_memory;       /* as page_memory() in arch.h, or better */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct btrfs_layout);
} btrfs_layout SEC(".maps");

/* A block of a tree that was changed since it was written. Its owner is the process that did, or, where there are several and where
 * the commit itself did, its transaction. */
struct btrfs_block {
	u64 start, txn;        /* where it lies; owner: its transaction */
	u32 proc;              /* who changed it; PROC_NONE: nobody who is known */
	u8 sub, many, log, unknown; /* many: by its transaction; unknown: it may have been changed before the run */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* struct extent_buffer */
	__type(value, struct btrfs_block);
} btrfs_blocks SEC(".maps");

/* What is known of a file system. */
struct btrfs_seen {
	u64 last;              /* owner: the newest transaction that somebody has a share of */
	u64 first;             /* number of the transaction that may have begun before the run; 0 none */
	u64 committed;         /* and of the newest that was committed in it */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u64);      /* struct btrfs_fs_info */
	__type(value, struct btrfs_seen);
} btrfs_mounts SEC(".maps");

/* Who wrote to an inode last, directly or compressed: for what threads of the kernel do for it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);      /* struct inode */
	__type(value, u32);
} btrfs_inodes SEC(".maps");

static __always_inline struct btrfs_layout *btrfs_layout_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&btrfs_layout, &zero);
}

/* ---- folios of several blocks ----
 * Which blocks of them are dirty is in maps of bits behind each other, as many bits as blocks: which are up to date, and which are dirty. */

/* Where the maps of a folio of btrfs are, of at most 64 blocks, as the kernel makes them; 0: all of it is dirty, or nothing. */
static __always_inline u64 btrfs_folio_maps(u64 folio, u64 inode, u32 blocks)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 private;

	if (!l || !l->folio_state || blocks < 2 || blocks > 64 || !is_on((struct inode *)inode, BTRFS_MAGIC))
		return 0;
	private = POINTER_AT(folio, struct folio___private, private);
	return private ? private + l->folio_state : 0;
}

static __always_inline u64 btrfs_dirty_bits(u64 maps, u32 blocks)
{
	u64 word = pointer_at(maps + blocks / 64 * 8) >> (blocks & 63);

	return blocks < 64 ? word & ((1ULL << blocks) - 1) : word;
}

static __always_inline u32 folio_blocks(u64 folio, u64 inode)
{
	return folio_pages((struct folio *)folio) << PAGE_SHIFT >> (NUMBER_AT(inode, struct inode, i_blkbits) & 31);
}

/* Which blocks of the folio around byte `off` of a file are dirty; 0: it is clean, or has no blocks of its own. *at: the block of the byte. */
static __always_inline u64 btrfs_dirty_around(u64 inode, u64 off, u32 *at)
{
	u64 folio = inode ? folio_at(POINTER_AT(inode, struct inode, i_mapping), off >> PAGE_SHIFT) : 0, maps;
	u32 blocks;

	if (!folio || !folio_is_dirty(folio))
		return 0;
	blocks = folio_blocks(folio, inode);
	maps = btrfs_folio_maps(folio, inode, blocks);
	*at = (off - ((u64)NUMBER_AT(folio, struct folio, index) << PAGE_SHIFT)) >> (NUMBER_AT(inode, struct inode, i_blkbits) & 31) & 63;
	return maps ? btrfs_dirty_bits(maps, blocks) : 0;
}

__noinline int btrfs_is_dirty_in_part(u64 inode, u64 off)
{
	u32 at;

	return !!btrfs_dirty_around(inode, off, &at);
}

/* Of such a folio. */
__noinline int btrfs_is_clean(u64 inode, u64 off)
{
	u32 at = 0;

	return !(btrfs_dirty_around(inode, off, &at) >> at & 1);
}

static __always_inline u32 btrfs_writer(u64 inode)
{
	u32 *p = bpf_map_lookup_elem(&btrfs_inodes, &inode);

	return p ? *p : PROC_NONE;
}

/* A transaction, and what is written into its log trees: that is on behalf of those who call fsync alone. */
static __always_inline u64 btrfs_txn(u32 dev, u64 transid, bool log)
{
	return txn_owner(dev, transid << 1 | log);
}

#endif
