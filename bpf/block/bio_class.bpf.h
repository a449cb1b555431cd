/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_class.bpf.h - what a bio is that a file system or a direct call submits, and whose: by its first page, its end function and the
 * context of who submits it. Used by block.bpf.c.
 */
#ifndef IOT_TAG_BPF_H
#define IOT_TAG_BPF_H

#include "direct.bpf.h"
#include "journal.bpf.h"
#include "io_parts.bpf.h"
#include "readahead.bpf.h"
#include "stacking_map.bpf.h"
#include "swap.bpf.h"
#include "btrfs_bio_class.bpf.h"

struct first_page {
	struct inode *inode;
	u64 index;             /* page of the file or device that the bio's first byte is on */
	u32 offset;            /* inside that page */
};

/* Of byte `in` of a struct bio_vec. */
static __always_inline void page_of_vec(u64 vec, u32 in, struct first_page *fp)
{
	struct page *p = (struct page *)POINTER_AT(vec, struct bio_vec, bv_page);
	u32 at = NUMBER_AT(vec, struct bio_vec, bv_offset) + in;
	struct folio *f;

	if (!p)
		return;
	p = (struct page *)((u64)p + (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page));
	f = page_folio(p);
	fp->inode = folio_inode(f);
	fp->index = NUMBER_AT(f, struct folio, index) + ((u64)p - (u64)f) / bpf_core_type_size(struct page);
	fp->offset = at & (PAGE_SIZE - 1);
}

/* Memory that goes to swap, or comes from there for who waits for it. Global: the verifier looks at it once. */
__noinline int classify_swap(u64 bio, struct iot_bio *t, struct task_ctx *c, bool write)
{
	u64 vec = POINTER_AT(bio, struct bio, bi_io_vec), page = POINTER_AT(vec, struct bio_vec, bv_page);

	if (!t)
		return 0;
	t->cause = CAUSE_SWAP;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		t->sub = SUB_FOR_FAULT;
		return 0;
	}
	t->owner = page ? memory_owner((u64)page_folio((struct page *)page)) : PROC_NONE;
	t->how = t->owner ? HOW_EXACT : HOW_NONE;
	return 0;
}

/* Of a struct bio. Global: the verifier looks at it once. */
__noinline int first_page(u64 bio, struct first_page *fp)
{
	if (!fp)
		return 0;
	page_of_vec(POINTER_AT(bio, struct bio, bi_io_vec) + NUMBER_AT(bio, struct bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec),
		    NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done), fp);
	return 0;
}

#define NO_RANGE (~0ULL)

/* Where in its file begins what a bio is about, if that is one range of one file, which is then *inode; NO_RANGE: that has to be looked at page by
 * page. Its first page and its last say so: file systems put the pages of a file into a bio in their order. */
__noinline u64 range_of_bio(u64 bio, u64 *inode)
{
	struct first_page end = {};
	u64 from;
	u32 n = NUMBER_AT(bio, struct bio, bi_vcnt), size = NUMBER_AT(bio, struct bio, bi_iter.bi_size);
	u64 vec;

	if (!inode || !n) /* a clone, which may end before its last vector does */
		return NO_RANGE;
	first_page(bio, &end);
	*inode = (u64)end.inode;
	from = (end.index << PAGE_SHIFT) + end.offset;
	vec = POINTER_AT(bio, struct bio, bi_io_vec) + (n - 1) * bpf_core_type_size(struct bio_vec);
	page_of_vec(vec, NUMBER_AT(vec, struct bio_vec, bv_len) - 1, &end);
	return *inode && *inode == (u64)end.inode && (end.index << PAGE_SHIFT) + end.offset + 1 == from + size ? from : NO_RANGE;
}

/* A write by the journal's thread inside a commit: the journal, or file data that must be on disk before it. */
static __always_inline bool is_journal(struct bio *b, struct first_page *fp, struct task_ctx *c, bool *data)
{
	*data = false;
	if (!c || c->behalf != BEHALF_TXN)
		return false;
	if (!fp->inode || is_blockdev(fp->inode))
		return true;
	*data = function_of(POINTER_AT(b, struct bio, bi_end_io)) == FN_END_BUFFER; /* data=journal: the file's own page */
	return *data;
}

static __always_inline void classify_journal(struct bio *b, struct iot_bio *t, struct first_page *fp, struct task_ctx *c,
					bool data)
{
	struct txn *x;

	t->cause = CAUSE_JOURNAL;
	t->owner = c->behalf_id;
	t->how = HOW_TRANSACTION;
	t->sub = data ? SUB_J_DATA : journal_kind(b, fp->inode, fp->index, fp->offset);
	x = txn_find(t->owner);
	if (x && t->sub != SUB_J_JSUPER) {
		x->journal_bytes += NUMBER_AT(b, struct bio, bi_iter.bi_size);
		x->journal_blocks++;
	}
}

static __always_inline void classify_file(struct iot_bio *t, struct inode *i, struct task_ctx *c, bool write)
{
	struct writer *w = writer_find(i);

	t->file = w && w->file ? w->file : file_number(i);
	if (w && !w->file)
		w->file = t->file;
	if (w && w->loop) {
		t->cause = CAUSE_LOOPBACK;
		t->many = 0;
		return;
	}
	t->cause = CAUSE_DATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		return;
	}
	t->many = w && w->many;
	t->owner = w ? w->first : PROC_NONE;
	t->how = t->owner ? HOW_INODE : HOW_NONE;
}

/* Bytes for a page of a loop device's backing file, or, with direct I/O, from a page above. More pages may have several owners. */
static __always_inline void classify_loop(struct bio *b, struct iot_bio *t, const struct first_page *fp, bool write)
{
	t->cause = CAUSE_LOOPBACK;
	t->owner = loop_page_owner((u64)fp->inode, fp->index, &t->how);
	t->many = write && NUMBER_AT(b, struct bio, bi_iter.bi_size) > PAGE_SIZE;
}

static __always_inline void classify_device(struct bio *b, struct iot_bio *t, struct first_page *fp, struct task_ctx *c, bool write)
{
	struct journal *j = journal_of(bio_dev(b));
	u64 block;

	t->cause = CAUSE_METADATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		if (c && c->call && c->range_state == RANGE_KNOWN && c->range_inode == (u64)fp->inode) {
			t->cause = CAUSE_DATA;
			t->file = file_number((struct inode *)c->range_node);
		}
		return;
	}
	t->owner = page_owner((u64)fp->inode, fp->index, &t->how);
	page_submitted(fp->inode, fp->index);
	if (t->owner & OWNER_DATA) {
		struct writer *w = writer_find(fp->inode);

		t->cause = CAUSE_DATA;
		t->file = w ? w->file : 0;
		t->many = 1;
		t->how = HOW_EXACT;
		return;
	}
	t->many = NUMBER_AT(b, struct bio, bi_iter.bi_size) > PAGE_SIZE;
	if (!j)
		return;
	block = ((fp->index << PAGE_SHIFT) + fp->offset) >> j->block_bits;
	if (block == j->super_block) { /* the log's tail moved */
		t->cause = CAUSE_JOURNAL;
		t->sub = SUB_J_JSUPER;
		t->many = 0;
		if (!t->owner) {
			t->owner = j->last_txn;
			t->how = j->last_txn ? HOW_TRANSACTION : HOW_NONE;
		}
	} else if (!t->owner && j->last_txn && block == j->fs_super) {
		/* written by the file system itself: on behalf of who used it last */
		t->owner = j->last_txn;
		t->how = HOW_TRANSACTION;
	}
}

/* The file of the direct I/O that is being submitted: of the kiocb behind the bio, else of the call in progress. */
static __always_inline u32 file_direct(struct bio *b, u32 end, struct task_ctx *c)
{
	struct file *f = direct_file(b, end);

	if (f)
		return file_number((struct inode *)POINTER_AT(real_file(f), struct file, f_inode));
	if (!c || !c->call || c->range_state != RANGE_KNOWN)
		return 0;
	return file_number((struct inode *)(c->range_blockdev ? c->range_node : c->range_inode));
}

/* A structure of a file system that has no page of a file or device: its end function tells that it is one, and the file system's
 * object has stated whose. `end`: what its bi_end_io is. Returns the function that tells, or FN_NONE. */
static __always_inline u32 stated_by(struct bio *b, u32 end, u64 *to)
{
	*to = POINTER_AT(b, struct bio, bi_private);
	if (end == FN_END_CHAIN && *to) { /* a part that was split off */
		end = function_of(POINTER_AT(*to, struct bio, bi_end_io));
		*to = POINTER_AT(*to, struct bio, bi_private);
	}
	return end == FN_XFS_LOG || end == FN_XFS_BUFFER ? end : FN_NONE;
}

/* A write of a file system whose programs are not attached. Bytes without an owner are seen to be that; who is not wanted raises no
 * loss for those who are. */
static __always_inline void unseen_structure(u64 owner)
{
	if (!filtered() || (owner >= PROC_FIRST && !(owner & OWNER_TXN)))
		lose(LOSS_FS_UNSEEN);
}

static __always_inline bool classify_stated(struct bio *b, struct iot_bio *t, u32 end, struct task_ctx *c, bool write)
{
	struct stated *s;
	u64 to;
	u32 by = stated_by(b, end, &to);

	if (by == FN_NONE)
		return false;
	t->cause = by == FN_XFS_LOG ? CAUSE_JOURNAL : CAUSE_METADATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		return true;
	}
	s = bpf_map_lookup_elem(&stated, &to);
	if (!s) {
		unseen_structure(owner_current(c, &t->how));
		t->how = HOW_NONE;
		return true;
	}
	t->owner = s->owner;
	t->how = s->how;
	t->sub = s->sub;
	t->parts = s->parts;
	t->many = !!s->parts;
	if (s->parts && end != FN_END_CHAIN) /* else it is the front, which was split off */
		t->off = s->size - NUMBER_AT(b, struct bio, bi_iter.bi_size);
	return true;
}

/* A call that waits for its own bio writes or reads a block device directly: of other pages than the device's own it is the memory, which may
 * be a file's too, or shared. */
static __always_inline bool is_memory(const struct first_page *fp, u32 end, struct task_ctx *c)
{
	return fp->inode && end == FN_END_WAIT && c && c->call && c->range_state == RANGE_KNOWN && c->range_blockdev &&
	       c->range_inode != (u64)fp->inode;
}

/* Does the call in progress write a block device past the cache? Its short writes wait for their bio (__blkdev_direct_IO_simple()), as
 * blkdev_issue_zeroout() does. */
static __always_inline bool writes_device(const struct task_ctx *c)
{
	return c && c->call && c->target_inode && c->target_direct && is_blockdev((struct inode *)c->target_inode);
}

/* Marked by a file system as a structure of its own: never what a direct call submits. */
static __always_inline bool is_meta(struct bio *b)
{
	return NUMBER_AT(b, struct bio, bi_opf) & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_META___iot);
}

/* Its pages are of a file, but not of the file that it is about: they are the memory that direct I/O is from, or to. */
static __always_inline bool is_elsewhere(struct bio *b, u32 end, const struct btrfs_layout *l, u64 inode)
{
	u64 bbio = end == FN_BTRFS_PARITY ? stripe_direct(b, l) : btrfs_bio_of(b, end, l), off, about;

	if (!bbio)
		return false;
	about = btrfs_bio_inode(bbio, function_of(pointer_at(bbio + l->end_io)), l, &off);
	return about && about != inode;
}

/* A bio of btrfs. Global, as bio_classify(). */
__noinline int classify_btrfs(u64 bio, struct iot_bio *t, struct task_ctx *c, u32 end)
{
	struct bio *b = (struct bio *)bio;
	struct btrfs_layout *l = btrfs_layout_of();
	struct first_page fp = {};
	bool write;

	if (!t || !l)
		return 0;
	write = op_of(NUMBER_AT(bio, struct bio, bi_opf)) == REQ_OP_WRITE;
	first_page(bio, &fp);
	if (end == FN_BTRFS_SUPER || is_meta(b) || (fp.inode && inode_number(fp.inode) == BTRFS_TREES_INODE && end == FN_BTRFS_PARITY)) {
		t->cause = CAUSE_METADATA;
		if (!write) {
			t->owner = owner_current(c, &t->how);
		} else if (!l->known) {
			unseen_structure(owner_current(c, &t->how));
			t->how = HOW_NONE;
		} else if (end == FN_BTRFS_SUPER) {
			classify_super(b, t, c, l);
		} else {
			classify_tree(b, t, first_page_of(bio), l);
		}
		return 0;
	}
	if (!fp.inode || (l->known && is_elsewhere(b, end, l, (u64)fp.inode))) {
		if (end == FN_BTRFS_PARITY)
			t->sub = SUB_PARITY; /* classify_stripe() says more: here there is no room on the stack for it */
		else
			classify_elsewhere(b, t, c, end, write);
		return 0;
	}
	classify_file(t, fp.inode, c, write);
	if (t->cause == CAUSE_LOOPBACK) {
		classify_loop(b, t, &fp, write);
		return 0;
	}
	t->sub = l->known ? own_inode_sub((u64)fp.inode, l) : SUB_NONE;
	if (t->sub) {
		t->cause = CAUSE_METADATA;
		t->file = 0;
	} else if (write && end == FN_BTRFS_COPY) {
		t->sub = SUB_COPY;
	}
	return 0;
}

/* A bio that a loop device's worker submits for its backing file. */
static __always_inline void classify_below_loop(struct bio *b, struct iot_bio *t, const struct first_page *fp, struct task_ctx *c, bool write)
{
	if (!write || !fp->inode) {
		t->cause = CAUSE_LOOPBACK;
		t->owner = owner_current(c, &t->how);
		if (fp->inode && is_blockdev(fp->inode) && NUMBER_AT(fp->inode, struct inode, i_rdev) == bio_dev(b))
			t->cause = CAUSE_METADATA;
	} else {
		classify_loop(b, t, fp, write);
	}
}

static __always_inline void classify_rw(struct bio *b, struct iot_bio *t, struct task_ctx *c, bool write)
{
	struct first_page fp = {};
	bool data;
	u32 end = function_of(POINTER_AT(b, struct bio, bi_end_io));

	if (classify_stated(b, t, end, c, write))
		return;
	if (is_btrfs(end) && !(c && c->behalf == BEHALF_LOOP && end != FN_BTRFS_SUPER && !is_meta(b))) {
		classify_btrfs((u64)b, t, c, end);
		return;
	}
	first_page((u64)b, &fp);
	if (is_memory(&fp, end, c))
		fp.inode = NULL;
	if (!ends_direct(end) && !(fp.inode && is_blockdev(fp.inode)) && held_by((struct block_device *)POINTER_AT(b, struct bio, bi_bdev))) {
		/* Nobody passed it on: a volume's own. Arrays write their bitmap from whichever thread writes, also a journal's. */
		t->from = BIO_OWN;
		if (!fp.inode) {
			t->cause = CAUSE_METADATA;
			return;
		}
	}
	if (c && c->behalf == BEHALF_LOOP) {
		classify_below_loop(b, t, &fp, c, write);
		return;
	}
	if (write && is_journal(b, &fp, c, &data)) {
		classify_journal(b, t, &fp, c, data);
		return;
	}
	if (write && c && c->behalf == BEHALF_FASTCOMMIT && fp.inode && is_blockdev(fp.inode)) {
		t->cause = CAUSE_JOURNAL;
		t->sub = SUB_J_FASTCOMMIT;
		t->owner = proc_current(c);
		t->how = HOW_EXACT;
		return;
	}
	if (end == FN_END_SWAP) {
		classify_swap((u64)b, t, c, write);
		return;
	}
	if (!fp.inode && !ends_direct(end) && is_meta(b)) {
		/* who waits for it wants it (XFS: the log is cleared or recovered); else the file system's programs are not there */
		t->cause = end == FN_END_WAIT ? CAUSE_METADATA : CAUSE_UNKNOWN;
		t->owner = owner_current(c, &t->how);
		if (end != FN_END_WAIT && write)
			unseen_structure(t->owner);
		return;
	}
	if (ends_direct(end) || !fp.inode) {
		t->owner = owner_current(c, &t->how);
		t->cause = ends_direct(end) || t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
		if (write && (end == FN_END_CHAIN || end == FN_END_WAIT) && (t->owner || current_task()->flags & PF_KTHREAD) && !writes_device(c)) {
			t->sub = SUB_ZEROED; /* blkdev_issue_zeroout() */
			if (!t->owner) /* a file system that makes its structures ready (ext4lazyinit) */
				t->cause = CAUSE_METADATA;
		}
		t->file = file_direct(b, end, c);
		return;
	}
	if (is_blockdev(fp.inode)) {
		classify_device(b, t, &fp, c, write);
		return;
	}
	classify_file(t, fp.inode, c, write);
	if (t->cause == CAUSE_LOOPBACK)
		classify_loop(b, t, &fp, write);
	else if (is_meta(b) && !is_on(fp.inode, EXT4_SUPER_MAGIC)) {
		/* a file system that keeps its structures in an inode of its own; ext4 marks so what it has had in its journal */
		t->cause = CAUSE_METADATA;
		t->file = 0;
	}
}

static __always_inline u8 read_for(struct bio *b, const struct iot_bio *t, struct task_ctx *c)
{
	struct first_page fp = {};

	if (t->cause == CAUSE_SWAP)
		return SUB_FOR_FAULT;
	if (t->cause == CAUSE_METADATA)
		return structure_for(c, bio_dev(b));
	if (t->cause != CAUSE_DATA)
		return SUB_NONE;
	first_page((u64)b, &fp);
	return contents_for(c, (u64)fp.inode, (fp.index << PAGE_SHIFT) + fp.offset);
}

/* Did its file system say what it reads that for? */
static __always_inline bool is_read_told(u8 sub)
{
	return sub == SUB_FOR_WRITE || sub >= SUB_RELOCATED;
}

/* What a struct bio is. Global: the verifier looks at it once. */
__noinline int bio_classify(u64 bio, struct iot_bio *t, struct task_ctx *c)
{
	struct bio *b = (struct bio *)bio;
	u32 flags, op;

	if (!t)
		return 0;
	flags = NUMBER_AT(bio, struct bio, bi_opf);
	op = op_of(flags);
	switch (op) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (bpf_core_enum_value_exists(enum req_flag_bits___iot, __REQ_SWAP___iot) &&
		    flags & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_SWAP___iot)) {
			classify_swap(bio, t, c, op == REQ_OP_WRITE);
			return 0;
		}
		classify_rw(b, t, c, op == REQ_OP_WRITE);
		if (t->sub == SUB_PARITY)
			classify_stripe(bio, t, op == REQ_OP_WRITE);
		if (op == REQ_OP_READ && !is_read_told(t->sub))
			t->sub = read_for(b, t, c);
		break;
	default:
		t->cause = CAUSE_DISCARD;
		t->owner = owner_current(c, &t->how);
	}
	if (!(t->owner & OWNER_TXN) && t->owner & OWNER_LOOP) {
		t->cause = cause_of(t->owner, t->cause);
		t->owner &= ~(u64)OWNER_LOOP;
	}
	return 0;
}

#endif
