/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_shared.bpf.h - what the object of btrfs shares with block.bpf.c, which knows no types of a
 * module: field offsets, the owner of each changed tree block, and the last writer of an inode.
 */
#ifndef IOT_BTRFS_SHARED_BPF_H
#define IOT_BTRFS_SHARED_BPF_H

#include "folio.bpf.h"
#include "owner.bpf.h"

/* Offsets in kernel structures. Written by the first program of the object that runs, before any
 * I/O depends on them. */
struct btrfs_layout {
	u32 known;
	u32 bio, inode, file_offset, end_io, private; /* struct btrfs_bio; no inode before 6.4 */
	u32 has_inode;
	u32 vfs_inode;         /* struct btrfs_inode */
	/* struct compressed_bio and btrfs_dio_private, where struct btrfs_bio has no inode */
	u32 compressed_inode, compressed_start, direct_inode;
	u32 stripe_io, io_bio; /* struct btrfs_io_stripe, struct btrfs_io_context */
	u32 device_fs;         /* struct btrfs_device */
	u32 fs_super, fs_sb;   /* struct btrfs_fs_info */
	u32 block_len, block_fs; /* struct extent_buffer */
	u32 inode_root, root_id; /* struct btrfs_inode, struct btrfs_root */
	/* struct btrfs_raid_bio: the first of its bios, its struct btrfs_io_context, numbers of
	 * disks */
	u32 raid_bios, raid_io, raid_data, raid_disks;
	u32 io_stripes, stripe_size, stripe_device, device_bdev;
	u32 folio_state;       /* struct btrfs_folio_state; 0: there is none */
	/* as page_memory() in arch.h, or a value computed from a mapped block */
	u64 page_memory;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct btrfs_layout);
} btrfs_layout SEC(".maps");

/* A tree block that was changed since it was written. Its owner is the process that changed it or,
 * if several or the commit itself did, its transaction. */
struct btrfs_block {
	u64 start, txn;        /* its logical address; its transaction, as an owner */
	u32 proc;              /* the process that changed it; PROC_NONE: not known */
	/* many: the owner is its transaction; unknown: it may have been changed before the run */
	u8 sub, many, log, unknown;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* struct extent_buffer */
	__type(value, struct btrfs_block);
} btrfs_blocks SEC(".maps");

/* Transactions of a file system. */
struct btrfs_seen {
	u64 last;              /* owner: the newest transaction with a share */
	/* number of the transaction that may have begun before the run; 0: none */
	u64 first;
	u64 committed;         /* number of the newest one that was committed during the run */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u64);      /* struct btrfs_fs_info */
	__type(value, struct btrfs_seen);
} btrfs_mounts SEC(".maps");

/* The last process that wrote to an inode directly, or with compression: the owner of what kernel
 * threads do for it. */
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

/* ---- folios of several blocks ---- Dirty blocks are in bitmaps one behind the other, with as many
 * bits as blocks: up to date, then dirty. */

/* The address of the bitmaps of a btrfs folio of at most 64 blocks; 0: it is dirty or clean as a
 * whole. */
static __always_inline u64 btrfs_folio_maps(u64 folio, u64 inode, u32 blocks)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 private;

	if (!l || !l->folio_state || blocks < 2 || blocks > 64 ||
	    !is_on((struct inode *)inode, BTRFS_MAGIC))
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
	return folio_pages((struct folio *)folio) << PAGE_SHIFT >>
	       (NUMBER_AT(inode, struct inode, i_blkbits) & 31);
}

/* The dirty blocks of the folio around byte `off` of a file; 0: it is clean, or has no bitmaps.
 * *at: the block of the byte. */
static __always_inline u64 btrfs_dirty_around(u64 inode, u64 off, u32 *at)
{
	u64 folio = inode ? folio_at(POINTER_AT(inode, struct inode, i_mapping),
				     off >> PAGE_SHIFT) : 0, maps;
	u32 blocks;

	if (!folio || !folio_is_dirty(folio))
		return 0;
	blocks = folio_blocks(folio, inode);
	maps = btrfs_folio_maps(folio, inode, blocks);
	*at = (off - ((u64)NUMBER_AT(folio, struct folio, index) << PAGE_SHIFT)) >>
		(NUMBER_AT(inode, struct inode, i_blkbits) & 31) & 63;
	return maps ? btrfs_dirty_bits(maps, blocks) : 0;
}

__noinline int btrfs_is_dirty_in_part(u64 inode, u64 off)
{
	u32 at;

	return !!btrfs_dirty_around(inode, off, &at);
}

/* True when the block at `off` of such a folio is clean. */
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

/* A transaction as an owner, or the log trees of a transaction: these are written on behalf of the
 * callers of fsync() alone. */
static __always_inline u64 btrfs_txn(u32 dev, u64 transid, bool log)
{
	return txn_owner(dev, transid << 1 | log);
}

#endif
