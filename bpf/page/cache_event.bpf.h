/* SPDX-License-Identifier: GPL-3.0-only */
/* cache_event.bpf.h - operations of the page cache that are recorded where layer cache is traced
 * whole: sums and events, in pages.
 */
#ifndef IOT_CACHE_EVENT_BPF_H
#define IOT_CACHE_EVENT_BPF_H

#include "aggregate.bpf.h"
#include "device.bpf.h"
#include "owner.bpf.h"

#define CACHE_SPAN_SHIFT 6     /* log2 of the pages of which all events are recorded, or none */

/* True where layer cache is traced whole: a constant, so that the verifier drops all that depends
 * on it from other runs. */
static __always_inline bool cache_is_whole(void)
{
	return !REDUCED && cfg.whole & 1 << LAYER_CACHE;
}

/* True when events of a page are recorded: those of one span in cfg.cache_sample, by a hash, so
 * that of a span all events are there or none. */
static __always_inline bool is_sampled(u64 inode, u64 index)
{
	u64 hash = (inode_number((struct inode *)inode) * 0x9e3779b97f4a7c15ULL ^
		    index >> CACHE_SPAN_SHIFT) * 0xd6e8feb86659fd93ULL;

	return cfg.cache_sample < 2 || (hash >> 32) % cfg.cache_sample == 0;
}

/* The number of the device that a file is on; of a block device, its own. */
static __always_inline u32 cache_dev(struct inode *i)
{
	return is_blockdev(i) ? NUMBER_AT(i, struct inode, i_rdev) : inode_dev(i);
}

/* The file of an inode whose pages are cached. A block device has many nodes: the inode of its
 * pages is none of them. */
static __always_inline u32 cache_file(struct inode *i)
{
	struct writer *w;

	if (!is_blockdev(i))
		return file_number_of(i, true);
	w = writer_find(i);
	return w ? w->file : 0;
}

/* Sends the event of an operation. Its task and file are known. */
static __always_inline int cache_event(const struct cache_op *o)
{
	struct iot_ring_event *r;
	struct inode *i;

	if (!wants_event(o->key.owner) || !is_sampled(o->inode, o->index))
		return 0;
	i = (struct inode *)o->inode;
	r = event_reserve(LOSS_EVENT_CACHE);
	if (!r)
		return 0;
	event_fill(&r->e, o->task, &o->key);
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.tid = current_thread();
	r->e.file = o->file;
	r->e.offset = o->index << PAGE_SHIFT;
	r->e.size = o->pages << PAGE_SHIFT;
	r->e.bytes = o->bytes;
	r->e.arg = (NUMBER_AT(i, struct inode, i_size) + PAGE_SIZE - 1) >> PAGE_SHIFT;
	event_submit(r);
	return 0;
}

/* As cache_event(), out of line. */
__noinline int cache_event_of(struct cache_op *o)
{
	return o ? cache_event(o) : 0;
}

/* Counts an operation of the current task, and sends its event. */
__noinline int cache_record(struct cache_op *o)
{
	if (!o || !dev_wanted(o->key.dev))
		return 0;
	if (wants_event(o->key.owner)) {
		o->task = proc_running(ctx_find());
		o->file = o->file ?: cache_file((struct inode *)o->inode);
	}
	if (!o->uncounted)
		count_deep(&o->key, 1, o->bytes);
	return cache_event(o);
}

#endif
