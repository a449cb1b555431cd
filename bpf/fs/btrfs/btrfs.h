/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs.h - the types of btrfs that are read, and the numbers of its format. Used by
 * fs_btrfs.bpf.c.
 */
#ifndef IOT_BTRFS_H
#define IOT_BTRFS_H

#include "kernel.h"

/* read by name: its value is 1 until 6.6 */
enum btrfs_trans_state { TRANS_STATE_COMMIT_START = 2 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct btrfs_transaction {
	u64 transid;
	enum btrfs_trans_state state;
	s64 start_time;        /* s, CLOCK_MONOTONIC */
};

struct btrfs_super_block;
struct btrfs_fs_info;

struct btrfs_device {
	struct btrfs_fs_info *fs_info;
	struct block_device *bdev;
};

struct btrfs_fs_devices {
	struct btrfs_device *latest_dev;
};

struct btrfs_fs_info {
	struct btrfs_fs_devices *fs_devices;
	u64 generation;        /* of the newest transaction */
	u64 last_trans_committed;
	struct btrfs_transaction *running_transaction;
	struct btrfs_super_block *super_for_commit;
	struct super_block *sb;
};

struct btrfs_trans_handle {
	u64 transid, bytes_reserved;
	struct btrfs_transaction *transaction;
	struct btrfs_fs_info *fs_info;
};

struct extent_buffer {
	u64 start;
	u32 len;               /* unsigned long until 6.5, of which this is the lower half */
	unsigned long bflags;
	struct btrfs_fs_info *fs_info;
	void *addr;            /* address, if its pages are adjacent, else NULL (6.8) */
	struct folio *folios[16];
};

/* Until 6.7. */
struct extent_buffer___pages {
	struct page *pages[16];
};

struct btrfs_key {
	u64 objectid;
};

struct btrfs_root {
	struct btrfs_key root_key;
	struct btrfs_fs_info *fs_info;
};

struct btrfs_inode {
	struct btrfs_root *root;
	struct extent_io_tree {
		void *owner;   /* not read: a structure needs a member */
	} io_tree;
	struct inode vfs_inode;
};

struct btrfs_work {
	void *func;            /* a function; only its address is compared */
};

struct btrfs_ordered_extent {
	u64 file_offset, num_bytes;
	int compress_type;     /* 0: not compressed */
	struct btrfs_work work;
};

struct btrfs_bio {
	u64 file_offset;
	void *end_io;          /* a function; only its address is compared */
	void *private;
	struct bio bio;
};

/* Since 6.4 (690834e47cf7). */
struct btrfs_bio___inode {
	struct btrfs_inode *inode;
};

/* Before 6.4 the inode is in these types, as a struct inode. */
struct compressed_bio {
	u64 start;
};

struct compressed_bio___inode {
	struct inode *inode;
};

struct btrfs_dio_private___inode {
	struct inode *inode;
};

struct btrfs_io_context;

struct btrfs_io_stripe {
	struct btrfs_device *dev;
	struct btrfs_io_context *bioc;
};

struct btrfs_io_context {
	struct bio *orig_bio;
	struct btrfs_io_stripe stripes[1]; /* of data, then of parity */
};

struct bio_list {
	struct bio *head;
};

struct btrfs_raid_bio {
	struct btrfs_io_context *bioc;
	/* the bios that it is to write or to read, each in a struct btrfs_bio */
	struct bio_list bio_list;
	u8 nr_data, real_stripes;
};

struct writeback_control {
	long long range_start, range_end; /* bytes, the last one included */
};

/* of a folio with several blocks (6.17; struct btrfs_subpage before, for blocks smaller than a
 * page) */
struct btrfs_folio_state {
	unsigned long bitmaps[1];
};

struct task_struct___journal {
	void *journal_info;    /* struct btrfs_trans_handle of the transaction that it is in */
};

#pragma clang attribute pop

/* A bit of extent_buffer.bflags, which is not of the on-disk format, unchanged since 3.6. */
#define BLOCK_DIRTY 1

/* An extent bit without a name in the kernel's types, from 6.17 to 7.2: data that are to be
 * written. */
#define EXTENT_DELALLOC 32

/* Constants of the on-disk format, which does not change: a part of a tree block's header, and the
 * trees. */
#define HEADER_START 48

struct tree_header {
	u64 start, flags;      /* of the block itself */
	u64 chunk_uuid[2];
	u64 generation, tree;
};

#define FILES_BEGIN 256        /* smaller inode numbers are the file system's own */
#define TREE_LOG (-6ULL)
#define TREE_RELOCATION (-8ULL)
#define TREE_RELOCATED_DATA (-9ULL)
#define TREE_SUBVOLUMES 256    /* from here on each is a subvolume's */

#endif
