/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_cache.bpf.h - events of the page cache that bios tell, where layer cache is traced whole:
 * misses, readahead, begin and end of writeback. Their sums are those of the same bios.
 */
#ifndef IOT_BIO_CACHE_BPF_H
#define IOT_BIO_CACHE_BPF_H

#include "bio_walk.bpf.h"
#include "cache_event.bpf.h"

/* True for file data that is written back, once: not for another copy of it. */
static __always_inline bool is_written_back(const struct bio_walk *w)
{
	return w->tag.cause == CAUSE_DATA && !counted_before(w->tag.sub);
}

#ifdef IOT_REDUCED

static __always_inline int writeback_event(struct bio_walk *w, u32 kind, u64 bytes)
{
	return 0;
}

#else

#include "bio_class.bpf.h"

/* Sends the events of a bio that reads a file, and notes for the thread what its call missed.
 * miss: the key that its misses were counted under. */
static __noinline int read_events(struct bio_walk *w, struct iot_cell_key *miss)
{
	u64 mask = PAGE_SIZE - 1, from = w ? w->read_from : 0, to;
	struct cache_op o = { .uncounted = 1 };
	struct task_ctx *c;

	if (!w || !miss || !w->read_inode)
		return 0;
	to = w->read_to;
	o.key = *miss;
	o.inode = w->read_inode;
	o.file = w->tag.file;
	if (w->range_inode == w->read_inode) { /* what it demands is a part of that */
		if (from < (w->range_off & ~mask))
			from = w->range_off & ~mask;
		if (to > from + w->tag.demanded)
			to = from + w->tag.demanded;
	}
	c = miss->sub == SUB_FT_REG && w->missed ? ctx_find() : NULL;
	if (c)
		c->missed += w->tag.demanded;
	o.index = from >> PAGE_SHIFT;
	o.pages = (w->tag.demanded + mask) >> PAGE_SHIFT;
	o.bytes = w->missed;
	o.key.kind = KIND_MISS;
	if (o.bytes)
		cache_record(&o);
	o.bytes = w->read_to - w->read_from;
	if (o.bytes <= w->tag.demanded)
		return 0;
	o.bytes -= w->tag.demanded;
	o.key.kind = KIND_READAHEAD;
	o.index = (!w->tag.demanded || to == w->read_to ? w->read_from : to) >> PAGE_SHIFT;
	o.pages = (o.bytes + mask) >> PAGE_SHIFT;
	return cache_record(&o);
}

/* Sends the event of a bio that writes pages back. bytes: of the bio. Where a logical device passes
 * on other pages, as an encrypted one does, the end has no event. */
static __noinline int writeback_event(struct bio_walk *w, u32 kind, u64 bytes)
{
	struct cache_op o = { .uncounted = 1 };
	struct first_page fp = {};

	if (!w)
		return 0;
	first_page(w->bio, &fp);
	if (!fp.inode)
		return 0;
	o.key.owner = w->tag.many ? PROC_NONE : owner_top(w->tag.owner);
	o.key.dev = w->key.dev;
	o.key.kind = kind;
	o.key.cause = w->tag.cause;
	o.key.how = w->tag.how;
	o.key.sub = w->tag.sub;
	o.key.flags = CELL_CARRIER(w->tag.carrier);
	o.inode = (u64)fp.inode;
	o.index = fp.index;
	o.pages = (fp.offset + bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
	o.bytes = bytes;
	o.file = w->tag.file;
	return cache_record(&o);
}

#endif

#endif
