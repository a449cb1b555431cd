/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_bio_class.bpf.h - the class of a btrfs bio: tree blocks, superblocks, file data from the
 * page cache, direct, compressed, or another copy of any of these. Used by block.bpf.c, which has
 * the field offsets from fs_btrfs.bpf.c (btrfs_shared.bpf.h).
 */
#ifndef IOT_BTRFS_BIO_CLASS_BPF_H
#define IOT_BTRFS_BIO_CLASS_BPF_H

#include "btrfs_shared.bpf.h"
#include "io_parts.bpf.h"
#include "stacking_clone.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct folio___block {
	void *private;         /* struct extent_buffer */
};

#pragma clang attribute pop

#define BTRFS_ROOT_TREE 1
#define BTRFS_RELOCATED_DATA (-9ULL)
#define SUPER_GENERATION 72    /* offset in the superblock on disk */
#define SUPER_LOG_ROOT 96

static __always_inline bool is_btrfs(u32 function)
{
	return function >= FN_BTRFS_BIO && function <= FN_BTRFS_PARITY;
}

/* The struct page with a bio's first byte. */
static __always_inline u64 first_page_of(u64 bio)
{
	struct bio_vec *v = (struct bio_vec *)POINTER_AT(bio, struct bio, bi_io_vec) +
		NUMBER_AT(bio, struct bio, bi_iter.bi_idx);
	u64 page = POINTER_AT(v, struct bio_vec, bv_page);
	u32 at = NUMBER_AT(v, struct bio_vec, bv_offset) +
		NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done);

	return page + (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page);
}

/* A transaction as an owner; when it has no share (a kernel thread began it), the last one that
 * has. */
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

/* A superblock write ends either a commit, or an fsync(), which makes it refer to the log trees. */
static __always_inline void classify_super(struct bio *b, struct iot_bio *t, struct task_ctx *c,
					   const struct btrfs_layout *l)
{
	u64 fs = pointer_at(POINTER_AT(b, struct bio, bi_private) + l->device_fs),
		super = pointer_at(fs + l->fs_super);
	u32 dev = NUMBER_AT(pointer_at(fs + l->fs_sb), struct super_block, s_dev);

	t->cause = CAUSE_METADATA;
	t->sub = SUB_J_SUPER;
	if (pointer_at(super + SUPER_LOG_ROOT))
		t->owner = owner_current(c, &t->how);
	else
		t->owner = txn_or_last(btrfs_txn(dev, pointer_at(super + SUPER_GENERATION), false),
				       fs);
	t->how = owner_how(t->owner);
}

/* Tree blocks that are written in one bio. */
struct tree_walk {
	u64 vec;               /* struct bio_vec */
	u32 idx, done, left, fs_at;
	u64 first;             /* owner of the first block */
	u32 differ, list;
};

static __always_inline u64 block_of_page(u64 page)
{
	return POINTER_AT(page_folio((struct page *)page), struct folio___block, private);
}

/* Adds bytes to the part with this owner and structure. Global: its loop is verified once. */
__noinline int part_sum(struct part_list *l, u64 owner, u32 sub, u32 bytes)
{
	struct part *p;
	u64 n, at;

	if (!l)
		return 0;
	n = at = l->n;
	for (u64 i = 0; i < MAX_PARTS; i++) {
		/* one branch, not three that the verifier follows: 0 when owner and structure are
		 * equal, and i < n */
		if (!((l->part[i].owner ^ owner) | (l->part[i].sub ^ sub) |
		      is_negative(n - 1 - i))) {
			at = i;
			break;
		}
	}
	if (at >= MAX_PARTS) {
		lose(LOSS_TXN_SHARE); /* bytes that are not in the list have no owner */
		return 0;
	}
	p = &l->part[INDEX(at, MAX_PARTS)];
	if (at == n) {
		p->owner = owner;
		p->sub = sub;
		p->bytes = 0;
		l->n = n + 1;
	}
	p->bytes += bytes;
	return 0;
}

/* Adds bytes of a tree block to the list. Returns its owner. Global: the walk's step is verified
 * several times. */
__noinline u64 tree_block(u64 eb, u32 fs_at, u32 list, u32 bytes)
{
	/* first: the stack has no room to keep the number of the list */
	struct part_list *l = parts_find(list);
	struct btrfs_block *k = bpf_map_lookup_elem(&btrfs_blocks, &eb);
	u64 owner = block_owner(k, pointer_at(eb + fs_at));

	part_sum(l, owner, k ? k->sub : SUB_J_UNCLASSIFIED, bytes);
	return owner;
}

static long tree_step(u32 n, struct tree_walk *w)
{
	struct bio_vec bv;
	u64 eb, owner;
	u32 at, len;

	if (!w->left || bpf_probe_read_kernel(&bv, sizeof(bv), (struct bio_vec *)w->vec + w->idx))
		return 1;
	at = bv.bv_offset + w->done;
	eb = block_of_page((u64)bv.bv_page + (u64)(at >> PAGE_SHIFT) *
			   bpf_core_type_size(struct page));
	len = PAGE_SIZE - (at & (PAGE_SIZE - 1));
	if (len > bv.bv_len - w->done)
		len = bv.bv_len - w->done;
	if (len > w->left)
		len = w->left;
	owner = tree_block(eb, w->fs_at, w->list, len);
	if (!n)
		w->first = owner;
	w->differ |= owner != w->first;
	WALK_PAST(w, len, bv.bv_len);
	return 0;
}

/* Several tree blocks: until 6.3 adjacent ones are written in one bio. Global, as the others that
 * classify_rw() calls. */
__noinline int classify_trees(u64 bio, struct iot_bio *t)
{
	struct btrfs_layout *l = btrfs_layout_of();
	struct tree_walk w = {};
	struct part_list *list;

	if (!l || !t)
		return 0;
	list = parts_make();
	if (!list)
		return 0;
	w.list = list->number;
	w.vec = POINTER_AT(bio, struct bio, bi_io_vec);
	w.idx = NUMBER_AT(bio, struct bio, bi_iter.bi_idx);
	w.done = NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done);
	w.left = NUMBER_AT(bio, struct bio, bi_iter.bi_size);
	w.fs_at = l->block_fs;
	bpf_loop(1024, tree_step, &w, 0);
	t->parts = w.list;
	t->many = 1;
	t->owner = w.differ ? PROC_NONE : w.first;
	t->how = w.differ ? HOW_NONE : owner_how(t->owner);
	return 0;
}

static __always_inline void classify_tree(struct bio *b, struct iot_bio *t, u64 page,
					  const struct btrfs_layout *l)
{
	u64 eb = block_of_page(page);
	struct btrfs_block *k = bpf_map_lookup_elem(&btrfs_blocks, &eb);

	t->cause = k && k->log ? CAUSE_JOURNAL : CAUSE_METADATA;
	if (NUMBER_AT(b, struct bio, bi_iter.bi_size) > number_at(eb + l->block_len)) {
		classify_trees((u64)b, t);
		return;
	}
	t->sub = k ? k->sub : SUB_J_UNCLASSIFIED;
	t->owner = block_owner(k, pointer_at(eb + l->block_fs));
	t->how = owner_how(t->owner);
}

/* The struct btrfs_bio that contains a bio, or of which the bio is a copy or a part. */
static __always_inline u64 btrfs_bio_of(struct bio *b, u32 end, const struct btrfs_layout *l)
{
	u64 bio = (u64)b, whole;

	if (end == FN_BTRFS_COPY)
		bio = pointer_at(pointer_at(POINTER_AT(b, struct bio, bi_private) + l->stripe_io) +
				 l->io_bio);
	if (!bio)
		return 0;
	bio -= l->bio;
	whole = pointer_at(bio + l->end_io) ? 0 : pointer_at(bio + l->private);
	return whole ?: bio;
}

/* The inode of the data of a struct btrfs_bio, and their offset there; 0: not known. */
static __always_inline u64 btrfs_bio_inode(u64 bbio, u32 end, const struct btrfs_layout *l,
					   u64 *off)
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

/* The owner of the first page of a bio that is written to a stripe with parity: of a tree, of a
 * file, or of memory. */
__noinline u64 stripe_owner(u64 bio)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 page = first_page_of(bio), eb, inode, off;
	struct folio *f = page_folio((struct page *)page);
	struct inode *i = folio_inode(f);
	u8 how = HOW_NONE;

	if (!l)
		return PROC_NONE;
	if (i && inode_number(i) == BTRFS_TREES_INODE) {
		eb = block_of_page(page);
		return block_owner(bpf_map_lookup_elem(&btrfs_blocks, &eb),
				   pointer_at(eb + l->block_fs));
	}
	inode = btrfs_bio_inode(bio - l->bio, function_of(pointer_at(bio - l->bio + l->end_io)), l,
				&off);
	if (i && (!inode || inode == (u64)i))
		return page_owner((u64)i, NUMBER_AT(f, struct folio, index), &how);
	return inode ? btrfs_writer(inode) : PROC_NONE;
}

/* The owner of a stripe with several owners: of tree blocks their transaction; of files none. */
static __always_inline u64 stripe_shared(u64 bio, const struct btrfs_layout *l)
{
	u64 eb = block_of_page(first_page_of(bio));
	struct btrfs_block *b = bpf_map_lookup_elem(&btrfs_blocks, &eb);

	return b && !b->unknown ? txn_or_last(b->txn, pointer_at(eb + l->block_fs)) : PROC_NONE;
}

/* A walk over the bios that are written to a stripe. */
struct stripe_walk {
	u64 bio, owner;
	u32 n, differ;
};

static long stripe_step(u32 n, struct stripe_walk *w)
{
	u64 owner;

	if (!w->bio || w->differ)
		return 1;
	owner = stripe_owner(w->bio);
	if (!w->n++)
		w->owner = owner;
	w->differ = owner != w->owner;
	w->bio = POINTER_AT(w->bio, struct bio, bi_next);
	return 0;
}

#define STRIPE_BIOS 1024

/* The owner of all bios that are written to a stripe. */
static __always_inline u64 stripe_owners(u64 first)
{
	struct btrfs_layout *l = btrfs_layout_of();
	struct stripe_walk w = { .bio = first, .n = some_zero(), .differ = some_zero() };

	if (!l)
		return PROC_NONE;
	bpf_loop(STRIPE_BIOS, stripe_step, &w, 0);
	if (w.differ)
		return stripe_shared(first, l);
	return w.bio ? PROC_NONE : w.owner;
}

/* True when a bio of a stripe goes to a disk with its parity. Parity disks follow those with
 * data. */
static __always_inline bool is_parity(struct bio *b, u64 stripe, const struct btrfs_layout *l)
{
	u64 disks = pointer_at(stripe + l->raid_io) + l->io_stripes, device;

	for (u64 n = 0; n < 2; n++) { /* P and Q */
		u64 at = (number_at(stripe + l->raid_data) & 0xff) + n;

		if (at >= (number_at(stripe + l->raid_disks) & 0xff))
			break;
		device = pointer_at(disks + at * l->stripe_size + l->stripe_device);
		if (pointer_at(device + l->device_bdev) == POINTER_AT(b, struct bio, bi_bdev))
			return true;
	}
	return false;
}

/* The struct btrfs_bio of a direct write to a stripe; 0: it is not direct. */
static __always_inline u64 stripe_direct(struct bio *b, const struct btrfs_layout *l)
{
	u64 asked = pointer_at(POINTER_AT(b, struct bio, bi_private) + l->raid_bios);

	return asked && function_of(pointer_at(asked - l->bio + l->end_io)) == FN_BTRFS_DIRECT ?
	       asked - l->bio : 0;
}

/* Classifies I/O of a stripe with parity that is not of a file's page: parity, direct and
 * compressed data and, for a write that does not fill the stripe, the rest of it. Scrub passes a
 * bio without bytes. */
__noinline int classify_stripe(u64 bio, struct iot_bio *t, u32 write)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 stripe = POINTER_AT(bio, struct bio, bi_private), asked;
	u32 to;

	if (!t || !l)
		return 0;
	t->cause = CAUSE_METADATA;
	t->sub = SUB_PARITY;
	if (!l->known)
		return 0;
	asked = pointer_at(stripe + l->raid_bios);
	if (!asked || !NUMBER_AT(asked, struct bio, bi_iter.bi_size)) {
		t->sub = SUB_SCRUB;
		return 0;
	}
	if (op_of(NUMBER_AT(asked, struct bio, bi_opf)) != REQ_OP_WRITE)
		return 0; /* data that are reconstructed */
	t->owner = stripe_owners(asked);
	t->how = owner_how(t->owner);
	if (!write)
		t->sub = SUB_FOR_WRITE;
	if (!write || is_parity((struct bio *)bio, stripe, l))
		return 0;
	to = function_of(pointer_at(asked - l->bio + l->end_io));
	t->cause = to == FN_BTRFS_DIRECT ? CAUSE_DIRECT : CAUSE_DATA;
	t->sub = to == FN_BTRFS_DIRECT ? SUB_NONE : SUB_COMPRESSED;
	return 0;
}

/* Classifies file data that are not submitted from the page cache. */
static __always_inline void classify_elsewhere(struct bio *b, struct iot_bio *t, struct task_ctx *c,
					       u32 end, bool write)
{
	struct btrfs_layout *l = btrfs_layout_of();
	u64 bbio, inode, off;
	u32 to;

	t->owner = owner_current(c, &t->how);
	if (!l || !l->known) {
		t->cause = t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
		return;
	}
	bbio = btrfs_bio_of(b, end, l);
	to = function_of(pointer_at(bbio + l->end_io));
	if (end == FN_BTRFS_SCRUBBED || to == FN_BTRFS_SCRUBBED) {
		t->cause = CAUSE_METADATA;
		t->sub = SUB_SCRUB;
		return;
	}
	inode = btrfs_bio_inode(bbio, to, l, &off);
	t->file = inode ? file_number((struct inode *)inode) : 0;
	t->cause = to == FN_BTRFS_DIRECT ? CAUSE_DIRECT : CAUSE_DATA;
	if (!write) {
		/* whole extents: less cannot be read */
		t->demanded = NUMBER_AT(b, struct bio, bi_iter.bi_size);
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
	if (to != FN_BTRFS_COMPRESSED) { /* blocks that scrub repairs */
		t->cause = CAUSE_METADATA;
		t->sub = SUB_RELOCATED;
		return;
	}
	t->sub = end == FN_BTRFS_COPY ? SUB_COMPRESSED_COPY : SUB_COMPRESSED;
	t->owner = page_owner(inode, off >> PAGE_SHIFT, &t->how);
}

/* The structure of an inode of the file system itself: data that balance moves, or the free space
 * cache of before the free space tree. */
static __always_inline u8 own_inode_sub(u64 inode, const struct btrfs_layout *l)
{
	u64 tree = pointer_at(pointer_at(inode - l->vfs_inode + l->inode_root) + l->root_id);

	return tree == BTRFS_RELOCATED_DATA ? SUB_RELOCATED : tree == BTRFS_ROOT_TREE ?
	       SUB_TREE_FREE_SPACE : SUB_NONE;
}

#endif
