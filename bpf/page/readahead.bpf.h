/* SPDX-License-Identifier: GPL-3.0-only */
/* readahead.bpf.h - the purpose of reads of file contents, and the use of readahead.
 *
 * Readahead is followed page by page, from the bio that reads a page which no call asked for to the
 * first call that returns a byte of it. A page that is in the cache costs nothing, and reads of
 * files without pending readahead cost a look at one number. Loads from mapped memory are not
 * traced: of mapped files the use stays unknown.
 */
#ifndef IOT_READAHEAD_BPF_H
#define IOT_READAHEAD_BPF_H

#include "aggregate.bpf.h"
#include "cache_event.bpf.h"
#include "owner.bpf.h"

#define RA_CHUNK 32            /* pages whose state is one word */
#define RA_CHUNKS_MAX 1024     /* chunks that are walked for one call: 128 MiB, some 50 µs */
#define RA_HASH 1024
#define RA_DEAD (1ULL << 63)   /* nothing is pending here: the entry is about to be deleted */

struct ra_key {
	u64 space, chunk;      /* page_space(), page / RA_CHUNK */
};

struct ra_chunk {
	u64 unused;            /* a bit for each page that was read ahead and not used yet */
	u32 owner, dev;        /* owner: process.id of the reader; PROC_NONE: several */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ra_key);
	__type(value, struct ra_chunk);
} ra_chunks SEC(".maps");

/* The number of entries in ra_chunks, by a hash of the inode. */
struct ra_pending {
	u32 n[RA_HASH];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ra_pending);
} ra_pending SEC(".maps");

static __always_inline u32 *ra_count(u64 inode)
{
	u32 zero = 0;
	struct ra_pending *p = bpf_map_lookup_elem(&ra_pending, &zero);

	return p ? &p->n[INDEX(inode >> 6 ^ inode >> 16, RA_HASH)] : NULL;
}

static __always_inline bool ra_waits(u64 inode)
{
	u32 *n = ra_count(inode);

	return inode && n && *n;
}

struct ra_walk {
	struct ra_key key;
	u64 page, end;         /* pages [page, end) */
	u64 inode;
	union {
		u32 owner;
		u32 taken;     /* ra_take(): number of pages that were waiting */
	};
	u32 dev;
	u32 kind;              /* the kind that the bytes are counted as; KIND_NONE: not counted */
};

/* The pages of the range in the current chunk, as bits. */
static __always_inline u64 ra_bits(const struct ra_walk *w)
{
	u64 first = w->page & (RA_CHUNK - 1), n = w->end - w->page;

	if (n > RA_CHUNK - first)
		n = RA_CHUNK - first;
	return ((1ULL << n) - 1) << first;
}

static __always_inline void ra_next(struct ra_walk *w)
{
	w->page = (w->page | (RA_CHUNK - 1)) + 1;
	w->key.chunk = w->page / RA_CHUNK;
}

static __always_inline void ra_record(const struct ra_walk *w, u32 owner, u32 dev, u64 bytes)
{
	struct iot_cell_key k = { .owner = owner, .dev = dev, .kind = w->kind,
				  .how = owner ? HOW_EXACT : HOW_NONE, .sub = SUB_FT_REG };

	if (bytes && w->kind)
		cell_add(cell_seek(&k), 1, bytes, 0, 0, false);
}

/* Takes the pages of one chunk out of the pending ones. */
static long ra_take_one(u32 n, struct ra_walk *w)
{
	struct ra_chunk *c;
	u64 bits, was, zero = 0;
	u32 *pending;

	if (w->page >= w->end)
		return 1;
	c = bpf_map_lookup_elem(&ra_chunks, &w->key);
	if (c) {
		bits = ra_bits(w);
		was = __sync_fetch_and_and(&c->unused, ~bits);
		bits = was & RA_DEAD ? 0 : bits & was;
		w->taken += __builtin_popcountll(bits);
		ra_record(w, c->owner, c->dev, (u64)__builtin_popcountll(bits) << PAGE_SHIFT);
		/* a program that sets a bit now sees RA_DEAD */
		if (bits && __sync_val_compare_and_swap(&c->unused, zero, RA_DEAD) == zero) {
			bpf_map_delete_elem(&ra_chunks, &w->key);
			pending = ra_count(w->inode);
			if (pending)
				__sync_fetch_and_add(pending, -1);
		}
	}
	ra_next(w);
	return 0;
}

static __always_inline void ra_range(struct ra_walk *w, u64 inode, u64 from, u64 to)
{
	w->inode = inode;
	w->page = from >> PAGE_SHIFT;
	w->end = (to + PAGE_SIZE - 1) >> PAGE_SHIFT;
	w->key.space = page_space((struct inode *)inode);
	w->key.chunk = w->page / RA_CHUNK;
}

/* Takes the pages of a range out of the pending ones, and counts them. Returns how many waited. */
__noinline u32 ra_take(u64 inode, u64 from, u64 to, u32 kind)
{
	struct ra_walk w = { .kind = kind, .taken = some_zero() };

	ra_range(&w, inode, from, to);
	bpf_loop(RA_CHUNKS_MAX, ra_take_one, &w, 0);
	if (w.page < w.end)
		lose(LOSS_RA_WALK);
	return w.taken;
}

/* A call returned `bytes` bytes of a file at `off`. Returns how many pages of them had been read
 * ahead, and were not used yet. */
static __always_inline u32 ra_used(u64 inode, u64 off, s64 bytes)
{
	if (bytes > 0 && ra_waits(inode))
		return ra_take(inode, off, off + bytes, KIND_READAHEAD_USED);
	return 0;
}

/* A read ended: c->cache has who read how many bytes (`bytes`) of which file from the page cache.
 * `used` pages of them had been read ahead. Pages for which no device was read are hits. A read of
 * io_uring or libaio (`async`) may have had pages of others read, which are kept for them. */
__noinline int reads_end(struct task_ctx *c, u64 off, u32 used, u32 async)
{
	struct cache_op *o = &c->cache;
	u64 missed;

	if (!c)
		return 0;
	o->index = off >> PAGE_SHIFT;
	o->pages = ((off + o->bytes + PAGE_SIZE - 1) >> PAGE_SHIFT) - o->index;
	missed = (c->missed + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (missed > o->pages)
		missed = o->pages;
	c->missed = async && c->missed > missed << PAGE_SHIFT ?
		c->missed - (missed << PAGE_SHIFT) : 0;
	if (!o->bytes || !o->inode)
		return 0;
	missed += used;
	o->task = o->key.owner;
	if (used) { /* ra_take() has counted them */
		o->key.kind = KIND_READAHEAD_USED;
		o->bytes = (u64)used << PAGE_SHIFT;
		cache_event_of(o);
	}
	if (missed >= o->pages)
		return 0;
	o->key.kind = KIND_HIT;
	o->bytes = (o->pages - missed) << PAGE_SHIFT;
	cell_add(cell_seek(&o->key), 1, o->bytes, 0, 0, false);
	o->key.owner = o->task; /* cell_seek() may have another one for the sums */
	return cache_event_of(o);
}

/* The read that reads_end() is called for. */
static __always_inline void reads_of(struct task_ctx *c, u64 inode, u32 dev, u32 file, u8 type,
				     u32 proc, u64 bytes)
{
	c->cache.inode = inode;
	c->cache.file = file;
	c->cache.bytes = bytes;
	__builtin_memset(&c->cache.key, 0, sizeof(c->cache.key));
	c->cache.key.owner = proc;
	c->cache.key.dev = dev;
	c->cache.key.how = HOW_EXACT;
	c->cache.key.sub = type;
}

/* A range of a file is mapped: it can be read without calls from now on. */
static __always_inline void ra_mapped(u64 inode, u64 off, u64 bytes)
{
	u64 end;

	if (!ra_waits(inode))
		return;
	end = NUMBER_AT(inode, struct inode, i_size);
	if (off < end)
		ra_take(inode, off, bytes < end - off ? off + bytes : end, KIND_READAHEAD_UNKNOWN);
}

/* Pages of one chunk were read ahead. */
static long ra_set_one(u32 n, struct ra_walk *w)
{
	struct ra_chunk new = { .owner = w->owner, .dev = w->dev }, *c;
	u64 bits = ra_bits(w);
	u32 *pending;

	if (w->page >= w->end)
		return 1;
	new.unused = bits;
	if (!bpf_map_update_elem(&ra_chunks, &w->key, &new, BPF_NOEXIST)) {
		pending = ra_count(w->inode);
		if (pending)
			__sync_fetch_and_add(pending, 1);
	} else {
		c = bpf_map_lookup_elem(&ra_chunks, &w->key);
		if (c && c->owner != w->owner)
			c->owner = PROC_NONE;
		if (!c || __sync_fetch_and_or(&c->unused, bits) & RA_DEAD)
			/* no room, or too late */
			ra_record(w, w->owner, w->dev,
				  (u64)__builtin_popcountll(bits) << PAGE_SHIFT);
	}
	ra_next(w);
	return 0;
}

static __always_inline bool in_memory_map(struct inode *i)
{
	u64 m = POINTER_AT(i, struct inode, i_mapping);

	return POINTER_AT(m, struct address_space, i_mmap.rb_root.rb_node);
}

__noinline int ra_set(u64 inode, u64 from, u64 to, u32 owner, u32 dev)
{
	struct ra_walk w = { .owner = owner, .dev = dev, .kind = KIND_READAHEAD_UNKNOWN };

	if (from >= to)
		return 0;
	ra_range(&w, inode, from, to);
	if (!in_memory_map((struct inode *)inode))
		bpf_loop(RA_CHUNKS_MAX, ra_set_one, &w, 0);
	if (w.page < w.end)
		ra_record(&w, owner, dev, (w.end - w.page) << PAGE_SHIFT);
	return 0;
}

/* ---- the purpose of a read: range_look() was called just before ---- */

static __always_inline bool is_copy(const struct task_ctx *c)
{
	return c->shape == SHAPE_SENDFILE || c->shape == SHAPE_SPLICE;
}

/* True when no call asks: in a kernel thread, or a thread of io_uring. */
static __always_inline bool is_unasked(void)
{
	return !cfg.calls || current_task()->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

/* The purpose of reading structures of the file system on device `dev`. Those that a copy reads
 * from a file system with both its source and target count as not for the write, since they cannot
 * be distinguished. */
static __always_inline u8 structure_for(struct task_ctx *c, u32 dev)
{
	if (c && c->behalf == BEHALF_INODE)
		return SUB_FOR_WRITE; /* writeback allocates */
	if (is_unasked())
		return SUB_NONE;
	if (!c || !c->call || c->shape == SHAPE_MMAP)
		return SUB_FOR_FAULT;
	if (!c->write || !c->target.inode)
		return SUB_NONE;
	if (!is_copy(c))
		return SUB_FOR_WRITE;
	return c->range.state == RANGE_KNOWN && inode_dev((struct inode *)c->target.inode) == dev &&
	       inode_dev((struct inode *)c->range.inode) != dev ? SUB_FOR_WRITE : SUB_NONE;
}

/* True when byte `pos` of a file is in the source of the copy in progress, or on a page of it. */
static __always_inline bool is_copied(const struct task_ctx *c, u64 inode, u64 pos)
{
	if (!is_copy(c) || c->range.state != RANGE_KNOWN || c->range.inode != inode)
		return false;
	return c->target.inode != inode ||
	       (pos >= (c->range.off & ~(PAGE_SIZE - 1)) &&
		pos - c->range.off < c->range.len + PAGE_SIZE);
}

/* The purpose of reading file `inode` at `pos`: SUB_NONE a call asks for it; SUB_FOR_WRITE a call
 * writes a part of its block; SUB_FOR_FAULT no call asks for it, but a fault, exec or mmap. */
static __always_inline u8 contents_for(struct task_ctx *c, u64 inode, u64 pos)
{
	if (is_unasked())
		return SUB_NONE;
	if (!c || !c->call)
		return SUB_FOR_FAULT;
	if (c->shape == SHAPE_URING || c->shape == SHAPE_AIO_SUBMIT || c->shape == SHAPE_ADVISE ||
	    is_copied(c, inode, pos))
		return SUB_NONE;
	if (c->write)
		return c->target.inode == inode ? SUB_FOR_WRITE : SUB_FOR_FAULT;
	return c->range.state == RANGE_KNOWN && c->range.inode == inode ? SUB_NONE : SUB_FOR_FAULT;
}

#endif
