/* SPDX-License-Identifier: GPL-3.0-only */
/* direct_read.bpf.h - memory that a direct read writes, without a fault of its process. If that is
 * a mapped file its pages may be dirty already, and no tracepoint reports that they are
 * overwritten. Used by block.bpf.c.
 */
#ifndef IOT_DIRECT_READ_BPF_H
#define IOT_DIRECT_READ_BPF_H

#include "owner.bpf.h"
#include "stacking_clone.bpf.h"

#define MEMORY_PIECES 1024     /* pieces of one bio that are processed */

struct memory_walk {
	struct task_ctx *ctx;
};

static __always_inline void memory_mark(const struct direct_memory *m)
{
	if (m->inode)
		page_owner_overwrite(m->inode, m->from, m->to - m->from, m->proc);
}

static __always_inline u64 file_of_folio(struct folio *f)
{
	struct inode *i = folio_inode(f);

	if (!i || (inode_mode(i) & S_IFMT) != S_IFREG ||
	    POINTER_AT(i, struct inode, i_mapping) != POINTER_AT(f, struct folio, mapping))
		return 0;
	return (u64)i;
}

static long memory_piece(u32 n, struct memory_walk *w)
{
	struct direct_memory *m = &w->ctx->scratch.direct;
	u64 size = bpf_core_type_size(struct page) ?: 1, inode, at, in, len;
	struct folio *f;

	if (!m->left) {
		if (!m->size)
			return 1;
		at = NUMBER_AT(m->vec, struct bio_vec, bv_offset) + m->done;
		len = NUMBER_AT(m->vec, struct bio_vec, bv_len) - m->done;
		len = len < m->size ? len : m->size;
		m->size -= len;
		m->done = 0;
		m->page = POINTER_AT(m->vec, struct bio_vec, bv_page) + (at >> PAGE_SHIFT) * size;
		m->left = len + (at & (PAGE_SIZE - 1)); /* from the begin of the page */
		m->vec += bpf_core_type_size(struct bio_vec);
	}
	f = page_folio((struct page *)m->page);
	in = (m->page - (u64)f) / size;
	len = (folio_pages(f) - in) << PAGE_SHIFT;
	len = len < m->left ? len : m->left;
	inode = file_of_folio(f);
	at = ((u64)NUMBER_AT(f, struct folio, index) + in) << PAGE_SHIFT;
	if (inode != m->inode || at != m->to) {
		memory_mark(m);
		m->inode = inode;
		m->from = at;
	}
	m->to = at + ((len + PAGE_SIZE - 1) & -PAGE_SIZE);
	m->page += ((len + PAGE_SIZE - 1) >> PAGE_SHIFT) * size;
	m->left -= len;
	return 0;
}

/* A direct read into a mapped file: its process owns the pages from now on, whatever process had
 * dirtied them. */
static __noinline int memory_claim(u64 bio, u64 owner)
{
	struct memory_walk w = {};
	struct direct_memory *m;

	if (op_of(NUMBER_AT(bio, struct bio, bi_opf)) != REQ_OP_READ)
		return 0;
	w.ctx = !owner || owner & OWNER_TXN ||
		current_task()->flags & PF_KTHREAD ? NULL : ctx_make();
	if (!w.ctx)
		return 0;
	m = &w.ctx->scratch.direct;
	m->proc = owner;
	m->left = m->inode = m->to = 0;
	m->size = NUMBER_AT(bio, struct bio, bi_iter.bi_size);
	m->done = NUMBER_AT(bio, struct bio, bi_iter.bi_bvec_done);
	m->vec = POINTER_AT(bio, struct bio, bi_io_vec) +
		NUMBER_AT(bio, struct bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	bpf_loop(MEMORY_PIECES, memory_piece, &w, 0);
	memory_mark(m);
	return 0;
}

#endif
