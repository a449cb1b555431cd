/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_class.bpf.h - the class (cause and structure) and the owner of a bio that a file system or
 * direct I/O submits: by its first page, its bi_end_io, and the context of the submitter. Used by
 * block.bpf.c.
 */
#ifndef IOT_BIO_CLASS_BPF_H
#define IOT_BIO_CLASS_BPF_H

#include "direct.bpf.h"
#include "journal.bpf.h"
#include "io_parts.bpf.h"
#include "readahead.bpf.h"
#include "stacking_map.bpf.h"
#include "swap.bpf.h"
#include "btrfs_bio_class.bpf.h"

struct first_page {
	struct inode *inode;
	/* index of the page, in a file or device, with the bio's first byte */
	u64 index;
	u32 offset;            /* offset inside that page */
};

/* Finds the page of byte `in` of a struct bio_vec. */
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
	fp->index = NUMBER_AT(f, struct folio, index) + ((u64)p - (u64)f) /
		bpf_core_type_size(struct page);
	fp->offset = at & (PAGE_SIZE - 1);
}

/* Swap-out, or swap-in for the process that waits for it. Global: verified once. */
__noinline int classify_swap(u64 bio, struct iot_bio *t, struct task_ctx *c, bool write)
{
	u64 vec = POINTER_AT(bio, struct bio, bi_io_vec),
		page = POINTER_AT(vec, struct bio_vec, bv_page);

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

/* A bio of a logical device itself. Behind bcache these are data: what it reads for the current
 * process, of which the cache had the rest, and what it writes back later, of an owner that is no
 * longer known. */
static __always_inline void classify_own(struct bio *b, struct iot_bio *t, struct task_ctx *c,
					 bool write)
{
	t->cause = CAUSE_METADATA;
	if (!cached_by((struct block_device *)POINTER_AT(b, struct bio, bi_bdev)))
		return;
	t->owner = write ? PROC_NONE : owner_current(c, &t->how);
	t->cause = t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
}

/* Finds the first page of a struct bio. Global: verified once. */
__noinline int first_page(u64 bio, struct first_page *fp)
{
	if (!fp)
		return 0;
	page_of_vec(POINTER_AT(bio, struct bio, bi_io_vec) +
		    NUMBER_AT(bio, struct bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec),
		    NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done), fp);
	return 0;
}

#define NO_RANGE (~0ULL)

/* The begin of the file range of a bio, if it is one range of one file, which is then *inode;
 * NO_RANGE: it has to be walked page by page. Its first and last page decide: file systems add the
 * pages of a file to a bio in their order. */
__noinline u64 range_of_bio(u64 bio, u64 *inode)
{
	struct first_page end = {};
	u64 from;
	u32 n = NUMBER_AT(bio, struct bio, bi_vcnt),
		size = NUMBER_AT(bio, struct bio, bi_iter.bi_size);
	u64 vec;

	if (!inode || !n) /* a clone, which may end before its last vector does */
		return NO_RANGE;
	first_page(bio, &end);
	*inode = (u64)end.inode;
	from = (end.index << PAGE_SHIFT) + end.offset;
	if (n == 1 && end.offset + size <= PAGE_SIZE)
		return *inode ? from : NO_RANGE;
	vec = POINTER_AT(bio, struct bio, bi_io_vec) + (n - 1) * bpf_core_type_size(struct bio_vec);
	page_of_vec(vec, NUMBER_AT(vec, struct bio_vec, bv_len) - 1, &end);
	return *inode && *inode == (u64)end.inode &&
	       (end.index << PAGE_SHIFT) + end.offset + 1 == from + size ? from : NO_RANGE;
}

/* True for a write to the journal, which the journal's thread makes inside a commit. *data: the
 * page is one of a file, which goes to the journal with data=journal. */
static __always_inline bool is_journal(struct bio *b, struct first_page *fp, struct task_ctx *c,
				       bool *data)
{
	*data = false;
	if (!c || c->behalf != BEHALF_TXN)
		return false;
	if (!fp->inode || is_blockdev(fp->inode))
		return true;
	*data = function_of(POINTER_AT(b, struct bio, bi_end_io)) == FN_END_BUFFER;
	return *data;
}

static __always_inline void classify_journal(struct bio *b, struct iot_bio *t,
					     struct first_page *fp, struct task_ctx *c, bool data)
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

static __always_inline void classify_file(struct iot_bio *t, struct inode *i, struct task_ctx *c,
					  bool write)
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
	if (cfg.light) {
		t->owner = w ? file_owner(i, w, &t->how) : PROC_NONE;
		return;
	}
	t->many = w && w->many;
	t->owner = w ? w->first : PROC_NONE;
	t->how = t->owner ? HOW_INODE : HOW_NONE;
}

/* Classifies a bio for a loop device's backing file. Its pages are those of the backing file or,
 * when the loop device uses direct I/O, those of the file system on the loop device. They may have
 * several owners. */
static __always_inline void classify_loop(struct bio *b, struct iot_bio *t,
					  const struct first_page *fp, bool write)
{
	t->cause = CAUSE_LOOPBACK;
	t->owner = loop_page_owner((u64)fp->inode, fp->index, &t->how);
	t->many = !cfg.light && write && NUMBER_AT(b, struct bio, bi_iter.bi_size) > PAGE_SIZE;
}

/* --light: a block of a device with a journal is of some transaction since it was written last:
 * the newest stands for all. Commits dirty most blocks without a tracepoint. */
static __always_inline void structure_owner(struct iot_bio *t, const struct journal *j)
{
	if (!j || !j->last_txn || t->owner & OWNER_DATA)
		return;
	t->owner = j->last_txn;
	t->how = HOW_FILE;
}

static __always_inline void classify_device(struct bio *b, struct iot_bio *t, struct first_page *fp,
					    struct task_ctx *c, bool write)
{
	struct journal *j = journal_of(bio_dev(b));
	u64 block;

	t->cause = CAUSE_METADATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		if (c && c->call && c->range.state == RANGE_KNOWN &&
		    c->range.inode == (u64)fp->inode) {
			t->cause = CAUSE_DATA;
			t->file = file_number((struct inode *)c->range.node);
		}
		return;
	}
	t->owner = page_owner((u64)fp->inode, fp->index, &t->how);
	if (cfg.light)
		structure_owner(t, j);
	else
		page_submitted(fp->inode, fp->index);
	if (t->owner & OWNER_DATA) {
		struct writer *w = writer_find(fp->inode);

		t->cause = CAUSE_DATA;
		t->file = w ? w->file : 0;
		if (cfg.light)
			return;
		t->many = 1;
		t->how = HOW_EXACT;
		return;
	}
	t->many = !cfg.light && NUMBER_AT(b, struct bio, bi_iter.bi_size) > PAGE_SIZE;
	if (!j)
		return;
	block = ((fp->index << PAGE_SHIFT) + fp->offset) >> j->block_bits;
	if (block == j->super_block) { /* the tail of the log has moved */
		t->cause = CAUSE_JOURNAL;
		t->sub = SUB_J_JSUPER;
		t->many = 0;
		if (!t->owner || cfg.light) {
			t->owner = j->last_txn;
			t->how = j->last_txn ? HOW_TRANSACTION : HOW_NONE;
		}
	} else if (!t->owner && j->last_txn && block == j->fs_super) {
		/* written by the file system itself: on behalf of its last user */
		t->owner = j->last_txn;
		t->how = HOW_TRANSACTION;
	}
}

/* The file of a direct I/O bio: of the kiocb behind it, else of the call in progress. */
static __always_inline u32 file_direct(struct bio *b, u32 end, struct task_ctx *c)
{
	struct file *f = direct_file(b, end);

	if (f)
		return file_number((struct inode *)POINTER_AT(real_file(f), struct file, f_inode));
	if (!c || !c->call || c->range.state != RANGE_KNOWN)
		return 0;
	return file_number((struct inode *)(c->range.blockdev ? c->range.node : c->range.inode));
}

/* Recognises a bio of XFS's log or of an XFS buffer by its bi_end_io, since its pages belong to no
 * file or device. `end` is the function of bi_end_io. Returns that function, and in *to the object
 * under which fs_xfs.bpf.c has stated the owner in map `stated`; FN_NONE: another bio. */
static __always_inline u32 stated_by(struct bio *b, u32 end, u64 *to)
{
	*to = POINTER_AT(b, struct bio, bi_private);
	if (end == FN_END_CHAIN && *to) { /* the front of a split bio; *to: the rest */
		end = function_of(POINTER_AT(*to, struct bio, bi_end_io));
		*to = POINTER_AT(*to, struct bio, bi_private);
	}
	return end == FN_XFS_LOG || end == FN_XFS_BUFFER ? end : FN_NONE;
}

/* Counts a loss for a write of a file system whose programs are not attached, unless the process is
 * excluded by a filter. */
static __always_inline void unseen_structure(u64 owner)
{
	if (!filtered() || (owner >= PROC_FIRST && !(owner & OWNER_TXN)))
		lose(LOSS_FS_UNSEEN);
}

static __always_inline bool classify_stated(struct bio *b, struct iot_bio *t, u32 end,
					    struct task_ctx *c, bool write)
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
	/* the rest of a split bio begins behind the parts of its front */
	if (s->parts && end != FN_END_CHAIN)
		t->off = s->size - NUMBER_AT(b, struct bio, bi_iter.bi_size);
	return true;
}

/* True when a call that waits for its own bio does direct I/O on a block device: pages other than
 * the device's own are the caller's memory, which may belong to a file, too, or be shared. */
static __always_inline bool is_memory(const struct first_page *fp, u32 end, struct task_ctx *c)
{
	return fp->inode && end == FN_END_WAIT && c && c->call && c->range.state == RANGE_KNOWN &&
	       c->range.blockdev &&
	       c->range.inode != (u64)fp->inode;
}

/* True when the call in progress does direct I/O on a block device. Its short writes wait for their
 * bio (__blkdev_direct_IO_simple()), as blkdev_issue_zeroout() does. */
static __always_inline bool writes_device(const struct task_ctx *c)
{
	return c && c->call && c->target.inode && c->target.direct &&
	       is_blockdev((struct inode *)c->target.inode);
}

/* True for REQ_META: the file system marks its structures, never data of direct I/O. */
static __always_inline bool is_meta(struct bio *b)
{
	return NUMBER_AT(b, struct bio, bi_opf) & 1U <<
	       bpf_core_enum_value(enum req_flag_bits___iot, __REQ_META___iot);
}

/* True when the pages of a bio belong to a file, but not to the file of the bio: they are the
 * memory that direct I/O reads or writes. */
static __always_inline bool is_elsewhere(struct bio *b, u32 end, const struct btrfs_layout *l,
					 u64 inode)
{
	u64 bbio = end == FN_BTRFS_PARITY ? stripe_direct(b, l) : btrfs_bio_of(b, end, l), off,
		about;

	if (!bbio)
		return false;
	about = btrfs_bio_inode(bbio, function_of(pointer_at(bbio + l->end_io)), l, &off);
	return about && about != inode;
}

/* Classifies a bio of btrfs. Global: verified once. */
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
	if (end == FN_BTRFS_SUPER || is_meta(b) ||
	    (fp.inode && inode_number(fp.inode) == BTRFS_TREES_INODE && end == FN_BTRFS_PARITY)) {
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
			/* classify_stripe() fills in more: there is no stack left for it here */
			t->sub = SUB_PARITY;
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

/* Classifies a bio that a loop device's worker submits for its backing file. */
static __always_inline void classify_below_loop(struct bio *b, struct iot_bio *t,
						const struct first_page *fp, struct task_ctx *c,
						bool write)
{
	if (!write || !fp->inode) {
		t->cause = CAUSE_LOOPBACK;
		t->owner = owner_current(c, &t->how);
		if (fp->inode && is_blockdev(fp->inode) &&
		    NUMBER_AT(fp->inode, struct inode, i_rdev) == bio_dev(b))
			t->cause = CAUSE_METADATA;
	} else {
		classify_loop(b, t, fp, write);
	}
}

static __always_inline void classify_rw(struct bio *b, struct iot_bio *t, struct task_ctx *c,
					bool write)
{
	struct first_page fp = {};
	bool data;
	u32 end = function_of(POINTER_AT(b, struct bio, bi_end_io));

	if (classify_stated(b, t, end, c, write))
		return;
	if (is_btrfs(end) && !(c && c->behalf == BEHALF_LOOP && end != FN_BTRFS_SUPER &&
			       !is_meta(b))) {
		classify_btrfs((u64)b, t, c, end);
		return;
	}
	first_page((u64)b, &fp);
	if (is_memory(&fp, end, c))
		fp.inode = NULL;
	if (!ends_direct(end) && !(fp.inode && is_blockdev(fp.inode)) &&
	    held_by((struct block_device *)POINTER_AT(b, struct bio, bi_bdev))) {
		/* A bio that was not remapped is the array's own. md writes its bitmap from any
		 * thread that writes to the array, and that may be a journal's. */
		t->from = BIO_OWN;
		if (!fp.inode) {
			classify_own(b, t, c, write);
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
		/* the waiting process caused it (XFS: the log is cleared or recovered); else
		 * programs of the file system are not attached */
		t->cause = end == FN_END_WAIT ? CAUSE_METADATA : CAUSE_UNKNOWN;
		t->owner = owner_current(c, &t->how);
		if (end != FN_END_WAIT && write)
			unseen_structure(t->owner);
		return;
	}
	if (ends_direct(end) || !fp.inode) {
		t->owner = owner_current(c, &t->how);
		t->cause = ends_direct(end) || t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
		if (write && (end == FN_END_CHAIN || end == FN_END_WAIT) &&
		    (t->owner || current_task()->flags & PF_KTHREAD) && !writes_device(c)) {
			t->sub = SUB_ZEROED; /* blkdev_issue_zeroout() */
			/* a file system that initialises its structures (ext4lazyinit) */
			if (!t->owner)
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
		/* a file system with its structures in an inode of its own; ext4 marks pages so
		 * that it has had in its journal */
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

/* True when the file system has stated the purpose of a read. */
static __always_inline bool is_read_told(u8 sub)
{
	return sub == SUB_FOR_WRITE || sub >= SUB_RELOCATED;
}

/* Classifies a struct bio, and finds its owner. Global: verified once. */
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
		if (HAS_SWAP_FLAG &&
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
