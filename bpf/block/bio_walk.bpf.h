/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_walk.bpf.h - walks over the pages of bios, and looks up the owner of each. Used by
 * block.bpf.c.
 */
#ifndef IOT_BIO_WALK_BPF_H
#define IOT_BIO_WALK_BPF_H

#include "bio_owner.bpf.h"
#include "folio.bpf.h"
#include "io_parts.bpf.h"

/* folios of one bio that are walked: btrfs submits up to 128 MiB at once */
#define MAX_STEPS 32768

/* Bytes of [off, off + len) that the call in progress asks for, rounded out to units of mask +
 * 1. */
static __always_inline u64 asked_bytes(const struct bio_walk *w, u64 inode, u64 off, u64 len,
				       u64 mask)
{
	u64 end = off + len, from = w->range_off & ~mask,
		to = (w->range_off + w->range_len + mask) & ~mask;

	if (w->range_inode != inode)
		return len; /* the range of another file: the read was demanded as a whole */
	if (off < from)
		off = from;
	if (end > to)
		end = to;
	return end > off ? end - off : 0;
}

/* Adds bytes of a file that are read, from `pos` on. */
static __always_inline void bio_walk_read(struct bio_walk *w, u64 inode, u64 pos, u32 len)
{
	w->missed += asked_bytes(w, inode, pos, len, 0);
	/* whole pages count as demanded: less cannot be read */
	w->tag.demanded += asked_bytes(w, inode, pos, len, PAGE_SIZE - 1);
	if (!w->read_inode) {
		w->read_inode = inode;
		w->read_from = w->read_to = pos;
	}
	w->read_torn |= w->read_inode != inode || w->read_to != pos;
	w->read_to = pos + len;
}

/* Looks up the owner of a page of a file, and the number of pages behind it that surely have the
 * same owner. */
static __always_inline void bio_walk_owner(struct bio_walk *w, struct inode *i, u64 index)
{
	u8 how;

	if (w->alike.inode == (u64)i && index >= w->alike.from && index < w->alike.to)
		return;
	w->alike.inode = (u64)i;
	w->alike.from = index;
	if (is_below_loop(w->tag.cause)) {
		w->alike.owner = loop_page_owner((u64)i, index, &how);
		w->alike.how = how;
		w->alike.to = index + 1;
		return;
	}
	w->alike.owner = page_owner((u64)i, index, &how);
	w->alike.how = how;
	w->alike.to = index + same_owner_pages((u64)i, index);
	if (w->key.kind == KIND_FS_WRITE)
		w->wanted = page_submitted(i, index);
}

/* Adds one folio of a bio, or some pages of it with one owner. */
static long bio_walk_step(u32 n, struct bio_walk_ref *ref)
{
	struct bio_walk *w = ref->w;
	struct bio *b = (struct bio *)w->pages;
	struct bio_vec *v;
	struct bio_vec bv;
	struct folio *f;
	struct page *p;
	struct inode *i;
	u64 first, index, pages, alike, in_folio, size, pos, owner = w->tag.owner;
	u8 how = w->tag.how, cause = w->tag.cause;
	u32 at, len;

	if (!w->left)
		return 1;
	v = (struct bio_vec *)POINTER_AT(b, struct bio, bi_io_vec);
	if (!v)
		return 1;
	v += w->idx;
	bv.bv_page = (struct page *)POINTER_AT(v, struct bio_vec, bv_page);
	bv.bv_len = NUMBER_AT(v, struct bio_vec, bv_len);
	bv.bv_offset = NUMBER_AT(v, struct bio_vec, bv_offset);
	if (!bv.bv_len)
		return 1;
	if (w->skip >= bv.bv_len - w->done) {
		w->skip -= bv.bv_len - w->done;
		w->idx++;
		w->done = 0;
		return 0;
	}
	w->done += w->skip;
	w->skip = 0;
	at = bv.bv_offset + w->done;
	p = (struct page *)((u64)bv.bv_page + (u64)(at >> PAGE_SHIFT) *
			    bpf_core_type_size(struct page));
	f = page_folio(p);
	first = ((u64)p - (u64)f) / bpf_core_type_size(struct page);
	in_folio = (first << PAGE_SHIFT) + (at & (PAGE_SIZE - 1));
	index = NUMBER_AT(f, struct folio, index) + first;
	i = folio_inode(f);
	pages = folio_pages(f);
	if (w->by_page && i) {
		bio_walk_owner(w, i, index);
		alike = first + w->alike.to - index;
		if (alike < pages)
			pages = alike;
		owner = w->alike.owner;
		how = w->alike.how;
	}
	size = pages << PAGE_SHIFT;
	len = size > in_folio ? size - in_folio : PAGE_SIZE;
	if (len > bv.bv_len - w->done)
		len = bv.bv_len - w->done;
	if (len > w->left)
		len = w->left;
	pos = (index << PAGE_SHIFT) + (at & (PAGE_SIZE - 1));
	piece_extend(w, owner, cause, how, pos, len);
	if (w->began_ns && folio_is_dirty((u64)f))
		w->redirtied = 1;
	if (w->key.kind == KIND_FS_READ && i)
		bio_walk_read(w, (u64)i, pos, len);
	WALK_PAST(w, len, bv.bv_len);
	return 0;
}

/* Finds the pages that determine the owners of a bio: its own, or those of the bio at the top of
 * the logical devices that remapped it. */
static __always_inline bool pages_find(struct bio_walk *w)
{
	struct bio *b = (struct bio *)w->bio;
	u64 top = w->tag.top;
	struct iot_bio *t;

	w->skip = 0;
	if (!top) {
		w->pages = w->bio;
		w->idx = NUMBER_AT(b, struct bio, bi_iter.bi_idx);
		w->done = NUMBER_AT(b, struct bio, bi_iter.bi_bvec_done);
		return true;
	}
	t = bio_find(top);
	if (!t || t->use != w->tag.top_use)
		return false; /* the top bio has ended: write-behind of a mirror */
	w->pages = top;
	w->idx = t->idx;
	w->done = t->done;
	w->skip = w->tag.off;
	return true;
}

/* Adds one part of a write that has a list of parts. */
static long bio_walk_part(u32 n, struct bio_walk_ref *ref)
{
	struct bio_walk *w = ref->w;
	struct part_list *l = parts_find(w->tag.parts);
	struct part *p;
	u32 len;

	if (!l || !w->left || n >= l->n)
		return 1;
	p = &l->part[INDEX(n, MAX_PARTS)];
	len = p->bytes;
	if (w->skip >= len) {
		w->skip -= len;
		return 0;
	}
	len -= w->skip;
	w->skip = 0;
	if (len > w->left)
		len = w->left;
	if (w->key.sub != p->sub) {
		piece_flush(w);
		w->key.sub = p->sub;
	}
	piece_extend(w, p->owner, w->tag.cause, p->owner ? HOW_TRANSACTION : HOW_NONE, w->range_off,
		     len);
	w->range_off += len;
	w->left -= len;
	return 0;
}

/* Adds the parts of w->left bytes of a write, from w->tag.off on. */
static __always_inline void bio_walk_parts(struct bio_walk *w)
{
	struct bio_walk_ref ref = { w };

	w->skip = w->tag.off;
	bpf_loop(MAX_PARTS, bio_walk_part, &ref, 0);
	if (!w->left)
		return;
	lose(LOSS_BIO_TABLE); /* another write has taken the list */
	piece_extend(w, PROC_NONE, w->tag.cause, HOW_NONE, w->range_off, w->left);
	w->left = 0;
}

__noinline int bio_walk_all(struct bio_walk *w)
{
	struct bio_walk_ref ref = { w };

	if (w && w->tag.parts) {
		bio_walk_parts(w);
		return 0;
	}
	if (!w || !w->bio)
		return 0;
	if (!pages_find(w)) {
		piece_extend(w, PROC_NONE, w->tag.cause, HOW_NONE, 0, w->left);
		w->left = 0;
		return 0;
	}
	bpf_loop(MAX_STEPS, bio_walk_step, &ref, 0);
	if (w->left) {
		lose(LOSS_WALK);
		piece_extend(w, w->tag.owner, w->tag.cause, w->tag.how, 0, w->left);
		w->left = 0;
	}
	return 0;
}

#endif
