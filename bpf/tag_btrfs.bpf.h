/* SPDX-License-Identifier: GPL-3.0-only */
/* tag_btrfs.bpf.h - what a bio of btrfs is: blocks of trees, superblocks, file data as it is in the page cache, directly, compressed, or
 * another copy of any of these. Used by block.bpf.c, which knows its types by what fs_btrfs.bpf.c says of them (btrfs.bpf.h).
 */
#ifndef IOT_TAG_BTRFS_BPF_H
#define IOT_TAG_BTRFS_BPF_H

#include "btrfs.bpf.h"
#include "parts.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct folio___block {
	void *private;         /* struct extent_buffer */
};

#pragma clang attribute pop

#define BTRFS_ROOT_TREE 1
#define BTRFS_RELOCATED_DATA (-9ULL)
#define SUPER_GENERATION 72    /* of the format on disk */
#define SUPER_LOG_ROOT 96

static __always_inline bool is_btrfs(u32 function)
{
	return function >= FN_BTRFS_BIO && function <= FN_BTRFS_PARITY;
}

static __always_inline u32 number_at(u64 address)
{
	u32 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)address);
	return v;
}

/* A transaction's owner; where nobody has a share of it (a thread of the kernel began it), the newest of which somebody has. */
static __always_inline u64 txn_or_last(u64 txn, u64 fs)
{
	struct txn *x = txn_find(txn);
	struct btrfs_seen *m;

	if (x && x->total)
		return txn;
	m = bpf_map_lookup_elem(&btrfs_mounts, &fs);
	return m ? m->last : PROC_NONE;
}

static __always_inline u64 block_owner(const struct btrfs_block *b, u64 fs)
{
	if (!b || b->unknown)
		return PROC_NONE;
	return b->many || !b->proc ? txn_or_last(b->txn, fs) : b->proc;
}

static __always_inline u8 owner_how(u64 owner)
{
	return owner & OWNER_TXN ? HOW_TRANSACTION : owner ? HOW_EXACT : HOW_NONE;
}

/* A written superblock ends either a commit, or an fsync, which makes it refer to the log trees. */
static __always_inline void tag_super(struct bio *b, struct iot_bio *t, struct task_ctx *c, const struct btrfs_layout *l)
{
	u64 fs = pointer_at(POINTER_AT(b, struct bio, bi_private) + l->device_fs), super = pointer_at(fs + l->fs_super);
	u32 dev = NUMBER_AT(pointer_at(fs + l->fs_sb), struct super_block, s_dev);

	t->cause = CAUSE_METADATA;
	t->sub = SUB_J_SUPER;
	if (pointer_at(super + SUPER_LOG_ROOT))
		t->owner = owner_current(c, &t->how);
	else
		t->owner = txn_or_last(btrfs_txn(dev, pointer_at(super + SUPER_GENERATION), false), fs);
	t->how = owner_how(t->owner);
}

/* Blocks of trees that are written in one bio. */
struct tree_walk {
	u64 vec;               /* struct bio_vec */
	u32 idx, done, left, fs_at;
	struct part_list *list;
	u64 first;             /* owner of the first */
	u32 differ, pad;
};

static __always_inline u64 block_of_page(u64 page)
{
	return POINTER_AT(page_folio((struct page *)page), struct folio___block, private);
}

/* Adds bytes to the part of that owner and structure. Global: the verifier looks at its loop once. */
__noinline int part_sum(struct part_list *l, u64 owner, u32 sub, u32 bytes)
{
	struct part *p;
	u64 n, at;

	if (!l)
		return 0;
	n = at = l->n;
	for (u32 i = 0; i < MAX_PARTS; i++) {
		if (i < n && l->part[i].owner == owner && l->part[i].sub == sub) {
			at = i;
			break;
		}
	}
	if (at >= MAX_PARTS) {
		lose(LOSS_TXN_SHARE); /* what is not in the list is nobody's */
		return 0;
	}
	asm volatile("" : "+r"(at)); /* 6.1 loses the bounds of what is put together in 32 bits */
	p = &l->part[at & (MAX_PARTS - 1)];
	if (at == n) {
		p->owner = owner;
		p->sub = sub;
		p->bytes = 0;
		l->n = n + 1;
	}
	p->bytes += bytes;
	return 0;
}

static long tree_step(u32 n, struct tree_walk *w)
{
	struct btrfs_block *k;
	struct bio_vec bv;
	u64 eb, owner;
	u32 at, len;

	if (!w->left || bpf_probe_read_kernel(&bv, sizeof(bv), (struct bio_vec *)w->vec + w->idx))
		return 1;
	at = bv.bv_offset + w->done;
	eb = block_of_page((u64)bv.bv_page + (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page));
	len = PAGE_SIZE - (at & (PAGE_SIZE - 1));
	if (len > bv.bv_len - w->done)
		len = bv.bv_len - w->done;
	if (len > w->left)
		len = w->left;
	k = bpf_map_lookup_elem(&btrfs_blocks, &eb);
	owner = block_owner(k, pointer_at(eb + w->fs_at));
	if (!w->list->n)
		w->first = owner;
	w->differ |= owner != w->first;
	part_sum(w->list, owner, k ? k->sub : SUB_J_UNCLASSIFIED, len);
	w->left -= len;
	w->done += len;
	if (w->done >= bv.bv_len) {
		w->idx++;
		w->done = 0;
	}
	return 0;
}

/* Several blocks: until 6.3 those that are neighbours are written together. Global, as those that are called from tag_rw(). */
__noinline int tag_trees(u64 bio, struct iot_bio *t)
{
	struct btrfs_layout *l = btrfs_layout_of();
	struct tree_walk w = {};

	if (!l || !t)
		return 0;
	w.list = parts_make();
	if (!w.list)
		return 0;
	w.vec = POINTER_AT(bio, struct bio, bi_io_vec);
	w.idx = NUMBER_AT(bio, struct bio, bi_iter.bi_idx);
	w.done = NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done);
	w.left = NUMBER_AT(bio, struct bio, bi_iter.bi_size);
	w.fs_at = l->block_fs;
	bpf_loop(1024, tree_step, &w, 0);
	t->parts = w.list->number;
	t->many = 1;
	t->owner = w.differ ? PROC_NONE : w.first;
	t->how = w.differ ? HOW_NONE : owner_how(t->owner);
	return 0;
}

static __always_inline void tag_tree(struct bio *b, struct iot_bio *t, u64 page, const struct btrfs_layout *l)
{
	u64 eb = block_of_page(page);
	struct btrfs_block *k = bpf_map_lookup_elem(&btrfs_blocks, &eb);

	t->cause = k && k->log ? CAUSE_JOURNAL : CAUSE_METADATA;
	if (NUMBER_AT(b, struct bio, bi_iter.bi_size) > number_at(eb + l->block_len)) {
		tag_trees((u64)b, t);
		return;
	}
	t->sub = k ? k->sub : SUB_J_UNCLASSIFIED;
	t->owner = block_owner(k, pointer_at(eb + l->block_fs));
	t->how = owner_how(t->owner);
}

/* The struct btrfs_bio that a bio is in, or that it is a copy or a part of. */
static __always_inline u64 btrfs_bio_of(struct bio *b, u32 end, const struct btrfs_layout *l)
{
	u64 bio = (u64)b, whole;

	if (end == FN_BTRFS_COPY)
		bio = pointer_at(pointer_at(POINTER_AT(b, struct bio, bi_private) + l->stripe_io) + l->io_bio);
	if (!bio)
		return 0;
	bio -= l->bio;
	whole = pointer_at(bio + l->end_io) ? 0 : pointer_at(bio + l->private);
	return whole ?: bio;
}

/* The inode that the data of a struct btrfs_bio is of, and where it begins there; 0: not known. */
static __always_inline u64 btrfs_bio_inode(u64 bbio, u32 end, const struct btrfs_layout *l, u64 *off)
{
	u64 private, inode;

	*off = pointer_at(bbio + l->file_offset);
	if (l->has_inode) {
		inode = pointer_at(bbio + l->inode);
		return inode ? inode + l->vfs_inode : 0;
	}
	private = pointer_at(bbio + l->private);
	if (!private || (end != FN_BTRFS_COMPRESSED && end != FN_BTRFS_DIRECT))
		return 0;
	if (end == FN_BTRFS_DIRECT)
		return pointer_at(private + l->direct_inode);
	*off = pointer_at(private + l->compressed_start);
	return pointer_at(private + l->compressed_inode);
}

/* File data that is not submitted from the page cache. */
static __always_inline void tag_elsewhere(struct bio *b, struct iot_bio *t, struct task_ctx *c, u32 end, bool write)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 bbio, inode, off;
	u32 to;

	t->owner = owner_current(c, &t->how);
	if (!l || !l->known || end == FN_BTRFS_PARITY) {
		t->cause = end == FN_BTRFS_PARITY ? CAUSE_METADATA : t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
		t->sub = end == FN_BTRFS_PARITY ? SUB_PARITY : SUB_NONE;
		return;
	}
	bbio = btrfs_bio_of(b, end, l);
	to = function_of(pointer_at(bbio + l->end_io));
	inode = btrfs_bio_inode(bbio, to, l, &off);
	t->file = inode ? file_number((struct inode *)inode) : 0;
	t->cause = to == FN_BTRFS_DIRECT ? CAUSE_DIRECT : CAUSE_DATA;
	if (!write) {
		t->demanded = NUMBER_AT(b, struct bio, bi_iter.bi_size); /* whole extents: less cannot be read */
		return;
	}
	if (to == FN_BTRFS_DIRECT) {
		if (!t->owner && inode) {
			t->owner = btrfs_writer(inode);
			t->how = t->owner ? HOW_INODE : HOW_NONE;
		}
		t->sub = end == FN_BTRFS_COPY ? SUB_COPY : SUB_NONE;
		return;
	}
	if (to != FN_BTRFS_COMPRESSED) { /* blocks that scrub writes again */
		t->cause = CAUSE_METADATA;
		t->sub = SUB_RELOCATED;
		return;
	}
	t->sub = end == FN_BTRFS_COPY ? SUB_COMPRESSED_COPY : SUB_COMPRESSED;
	t->owner = writer_of_page(inode, off >> PAGE_SHIFT, &t->how);
}

/* An inode of the file system itself: where balance puts data that it moves, and free space as it was kept before there was a tree
 * of it. */
static __always_inline u8 own_inode_sub(u64 inode, const struct btrfs_layout *l)
{
	u64 tree = pointer_at(pointer_at(inode - l->vfs_inode + l->inode_root) + l->root_id);

	return tree == BTRFS_RELOCATED_DATA ? SUB_RELOCATED : tree == BTRFS_ROOT_TREE ? SUB_TREE_FREE_SPACE : SUB_NONE;
}

#endif
