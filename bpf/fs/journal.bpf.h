/* SPDX-License-Identifier: GPL-3.0-only */
/* journal.bpf.h - the ext4 structure that a journal block is a copy of.
 *
 * A bio of the journal carries the original metadata page, so the index of the page is the home of
 * the block. The home is compared with the group descriptors in memory. A block whose home is its
 * own location in the log belongs to the log itself, and its header says what it is. fs_ext4.bpf.c
 * fills in the geometry when a commit begins.
 */
#ifndef IOT_JOURNAL_BPF_H
#define IOT_JOURNAL_BPF_H

#include "owner.bpf.h"

#define JBD2_MAGIC 0xc03b3998U
/* groups of a flex_bg, which keep their bitmaps and inode tables together */
#define MAX_FLEX 1024

struct journal {
	u64 group_desc;        /* address of the array of buffer heads; 0: geometry not known */
	u64 blocks_per_group, inode_table_blocks, desc_blocks;
	u64 super_block;       /* home of the journal's superblock */
	u64 fs_super;          /* home of the file system's superblock */
	u64 first_data_block;
	u32 groups, flex, desc_per_block, desc_size;
	u32 block_bits, pad;
	u64 last_txn;          /* owner of the newest transaction */
	u64 commit_begin, commit_end; /* ns of the last commit that ended */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);      /* device of the file system */
	__type(value, struct journal);
} journals SEC(".maps");

/* The kinds of home blocks, which are found once: the same few are journalled again and again. An
 * entry is overwritten by another block with the same index. Two processors may write it at one
 * time, so `check` is the file system's group_desc combined with the word by an exclusive or: an
 * entry is valid where both fit together. */
#define HOMES 16384
struct home {
	u64 word;              /* block << 8 | kind */
	u64 check;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOMES);
	__type(key, u32);
	__type(value, struct home);
} homes SEC(".maps");

static __always_inline struct home *home_at(u64 group_desc, u64 block)
{
	u32 at = INDEX((block ^ group_desc >> 6) * 0x9e3779b97f4a7c15ULL >> 40, HOMES);

	return bpf_map_lookup_elem(&homes, &at);
}

static __always_inline struct journal *journal_of(u32 dev)
{
	return bpf_map_lookup_elem(&journals, &dev);
}

/* The part of an ext4 group descriptor that 32-bit and 64-bit file systems share; the high halves
 * follow at 32 bytes. */
struct group_desc {
	u32 block_bitmap, inode_bitmap, inode_table;
};

struct home_walk {
	struct journal j;
	u64 block;
	u32 group, kind;
};

static __always_inline u64 wide(u32 lo, u32 hi)
{
	return (u64)hi << 32 | lo;
}

/* Sets w->kind when the block is a bitmap, or in the inode table, of group w->group + n. */
static long home_group(u32 n, struct home_walk *w)
{
	struct group_desc lo = {}, hi = {};
	struct buffer_head *bh = NULL;
	u32 g = w->group + n;
	u64 data, table;

	if (g >= w->j.groups || n >= w->j.flex || !w->j.desc_per_block)
		return 1;
	bpf_probe_read_kernel(&bh, sizeof(bh),
			      (void *)(w->j.group_desc + g / w->j.desc_per_block * sizeof(bh)));
	data = (u64)BPF_CORE_READ(bh, b_data) + (u64)(g % w->j.desc_per_block) * w->j.desc_size;
	if (bpf_probe_read_kernel(&lo, sizeof(lo), (void *)data))
		return 1;
	if (w->j.desc_size > 32)
		bpf_probe_read_kernel(&hi, sizeof(hi), (void *)(data + 32));
	table = wide(lo.inode_table, hi.inode_table);
	if (w->block == wide(lo.block_bitmap, hi.block_bitmap))
		w->kind = SUB_J_BLOCK_BITMAP;
	else if (w->block == wide(lo.inode_bitmap, hi.inode_bitmap))
		w->kind = SUB_J_INODE_BITMAP;
	else if (w->block >= table && w->block < table + w->j.inode_table_blocks)
		w->kind = SUB_J_INODE_TABLE;
	return w->kind ? 1 : 0;
}

/* The kind of a home block that was found before; SUB_NONE: it was not. */
static __always_inline u32 home_known(struct journal *j, u64 block)
{
	struct home *h = home_at(j->group_desc, block);
	u64 word = h ? *(volatile u64 *)&h->word : 0;

	return h && word >> 8 == block && (word ^ *(volatile u64 *)&h->check) == j->group_desc ?
	       word & 0xff : SUB_NONE;
}

static __noinline u32 home_find(struct journal *j, u64 block)
{
	struct home_walk w = { .block = block };
	struct home *h;
	u64 word;

	if (!j || !j->group_desc || !j->blocks_per_group || !j->flex)
		return SUB_J_UNCLASSIFIED;
	w.j = *j;
	if (block == j->fs_super)
		w.kind = SUB_J_SUPER;
	else if (block > j->fs_super && block <= j->fs_super + j->desc_blocks)
		w.kind = SUB_J_GROUP_DESC;
	if (!w.kind) {
		w.group = (block - j->first_data_block) / j->blocks_per_group;
		w.group -= w.group % j->flex;
		bpf_loop(MAX_FLEX, home_group, &w, 0);
	}
	if (!w.kind)
		w.kind = SUB_J_DIR_XATTR;
	h = home_at(w.j.group_desc, block);
	if (h) {
		word = block << 8 | w.kind;
		*(volatile u64 *)&h->word = word;
		*(volatile u64 *)&h->check = word ^ w.j.group_desc;
	}
	return w.kind;
}

/* The kind of a block of the log itself, by its header: descriptor, commit, superblock, revoke. */
static __always_inline u32 log_kind(struct bio *b)
{
	struct buffer_head *bh = (struct buffer_head *)POINTER_AT(b, struct bio, bi_private);
	struct {
		u32 magic, type;
	} h = {};

	bpf_probe_read_kernel(&h, sizeof(h), BPF_CORE_READ(bh, b_data));
	if (h.magic != __builtin_bswap32(JBD2_MAGIC))
		return SUB_J_UNCLASSIFIED;
	switch (__builtin_bswap32(h.type)) {
	case 1:
		return SUB_J_DESCRIPTOR;
	case 2:
		return SUB_J_COMMIT;
	case 3:
	case 4:
		return SUB_J_JSUPER;
	case 5:
		return SUB_J_REVOKE;
	}
	return SUB_J_UNCLASSIFIED;
}

static __always_inline u32 bio_dev(struct bio *b)
{
	return NUMBER_AT(POINTER_AT(b, struct bio, bi_bdev), struct block_device, bd_dev);
}

/* The structure that a journal bio holds. `index` and `offset`: the home of its first byte, as a
 * page of the device. */
static __always_inline u32 journal_kind(struct bio *b, struct inode *i, u64 index, u32 offset)
{
	u64 home = (index << PAGE_SHIFT) + offset;
	u64 start = NUMBER_AT(POINTER_AT(b, struct bio, bi_bdev), struct block_device,
			      bd_start_sect);
	u64 place = (NUMBER_AT(b, struct bio, bi_iter.bi_sector) - start) << 9;
	struct journal *j;

	if (!i)
		return SUB_J_FROZEN;
	if (home == place)
		return log_kind(b);
	j = journal_of(bio_dev(b));
	if (!j)
		return SUB_J_UNCLASSIFIED;
	home >>= j->block_bits;
	return home_known(j, home) ?: home_find(j, home);
}

#endif
