/* SPDX-License-Identifier: GPL-3.0-only */
/* redirty.bpf.h - data that are redirtied between folio_clear_dirty_for_io() and submit_bio(). The
 * kernel clears the dirty mark of a folio, adds it to a bio, and submits that when other folios are
 * in it, too. A write to the folio meanwhile dirties it for the next bio, before this one is
 * traced: so blocks that are dirty at submission are reported behind the bio. Used by block.bpf.c.
 */
#ifndef IOT_REDIRTY_BPF_H
#define IOT_REDIRTY_BPF_H

#include "btrfs_shared.bpf.h"
#include "hooks.bpf.h"
#include "ext4_inode.bpf.h"
#include "bio_walk.bpf.h"

/* Reports the redirtied part of a page that was not reported yet. */
__noinline int redirty_report(struct bio_walk *w)
{
	struct dirtied d = { .how = HOW_EXACT };
	struct redirty *a;
	/* before 6.2 a variable that a global function fills must be initialised */
	u8 how = HOW_NONE;

	if (!w)
		return 0;
	a = &w->redirty;
	d.off = a->from;
	d.bytes = a->to - a->from;
	a->to = 0;
	if (!d.bytes)
		return 0;
	d.proc = owner_top(page_owner(a->inode, d.off >> PAGE_SHIFT, &how));
	dirty_at(a->inode, &d);
	return 0;
}

/* True when the block at a->pos is dirty: it was clean when it was added to the bio, so it was
 * redirtied. */
static __always_inline bool is_redirtied(const struct redirty *a)
{
	u64 bit;

	if (a->buffer)
		return NUMBER_AT(a->buffer, struct buffer_head, b_state) & BH_DIRTY;
	if (!a->state)
		return true;
	bit = a->blocks + ((a->pos - a->begin) >> a->bits);
	return pointer_at(a->state + bit / 64 * 8) >> (bit & 63) & 1;
}

/* Moves on to the next folio of the bio. */
static __always_inline void redirty_next(struct bio_walk *w)
{
	struct bio_vec *v = (struct bio_vec *)POINTER_AT(w->pages, struct bio, bi_io_vec) + w->idx;
	u32 whole = NUMBER_AT(v, struct bio_vec, bv_len),
		at = NUMBER_AT(v, struct bio_vec, bv_offset) + w->done, len;
	u64 page = POINTER_AT(v, struct bio_vec, bv_page), in_folio, inode, private;
	struct redirty *a = &w->redirty;
	struct folio *f;

	if (!whole || !page) {
		w->left = 0;
		return;
	}
	page += (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page);
	f = page_folio((struct page *)page);
	in_folio = ((page - (u64)f) / bpf_core_type_size(struct page) << PAGE_SHIFT) +
		(at & (PAGE_SIZE - 1));
	len = (folio_pages(f) << PAGE_SHIFT) - in_folio;
	if (len > whole - w->done)
		len = whole - w->done;
	if (len > w->left)
		len = w->left;
	WALK_PAST(w, len, whole);
	inode = (u64)folio_inode(f);
	if (!inode || !folio_is_dirty((u64)f))
		return;
	a->inode = inode;
	a->begin = (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT;
	a->pos = a->begin + in_folio;
	a->end = a->pos + len;
	a->bits = NUMBER_AT(inode, struct inode, i_blkbits) & 31;
	a->blocks = folio_pages(f) << PAGE_SHIFT >> a->bits;
	a->buffer = a->state = 0;
	private = POINTER_AT(f, struct folio___private, private);
	if (is_on((struct inode *)inode, EXT4_SUPER_MAGIC)) {
		a->buffer = private;
		a->at = a->begin;
	} else if (private && is_on((struct inode *)inode, XFS_SUPER_MAGIC) &&
		   HAS_IOMAP_FOLIO_STATE) {
		a->state = private + bpf_core_field_offset(struct iomap_folio_state, state);
	} else {
		a->state = btrfs_folio_maps((u64)f, inode, a->blocks);
	}
}

/* Handles one folio of a bio, or one block of such a folio. */
static long redirty_step(u32 n, struct bio_walk_ref *ref)
{
	struct bio_walk *w = ref->w;
	struct redirty *a = &w->redirty;

	if (a->pos >= a->end) {
		if (!w->left)
			return 1;
		redirty_next(w);
		return 0;
	}
	if (a->buffer && a->at + (1ULL << a->bits) <= a->pos) {
		a->buffer = POINTER_AT(a->buffer, struct buffer_head, b_this_page);
		a->at += 1ULL << a->bits;
		return 0;
	}
	if (a->to && (a->to != a->pos || !(a->pos & (PAGE_SIZE - 1))))
		redirty_report(w); /* each page may have another owner */
	if (is_redirtied(a)) {
		if (!a->to)
			a->from = a->pos;
		a->to = a->pos + (1ULL << a->bits);
	}
	a->pos += 1ULL << a->bits;
	return 0;
}

/* Searches all of the bio. Pages of journalled data stay dirty until they are checkpointed. */
__noinline int redirty_look(struct bio_walk *w)
{
	struct bio_walk_ref ref = { w };

	if (!w || !w->bio || is_journalled(w->redirty.inode))
		return 0;
	__builtin_memset(&w->redirty, 0, sizeof(w->redirty));
	w->pages = w->bio;
	w->idx = NUMBER_AT(w->bio, struct bio, bi_iter.bi_idx);
	w->done = NUMBER_AT(w->bio, struct bio, bi_iter.bi_bvec_done);
	w->left = NUMBER_AT(w->bio, struct bio, bi_iter.bi_size);
	bpf_loop(2 * MAX_STEPS, redirty_step, &ref, 0);
	if (w->left || w->redirty.pos < w->redirty.end)
		lose(LOSS_AGAIN);
	if (w->redirty.to)
		redirty_report(w);
	return 0;
}

#endif
