/* SPDX-License-Identifier: GPL-3.0-only */
/* stacking_map.bpf.h - stacked devices: a bio is classified once, when it is queued on the topmost
 * device, and the bios below it inherit its class and its owner.
 *
 * A logical device (dm, md, multipath NVMe) passes its bios on to the devices below: the same
 * struct bio with another bi_bdev, a clone, or a new bio (dm-crypt, whose pages are encrypted); in
 * the context of the submitter, or later in a thread of its own. Each such bio is reported by
 * tracepoint block_bio_remap, with the logical device and the sector there; only dm-raid and bcache
 * do not.
 *
 * Map `uppers` therefore holds each bio on a logical device under its sector, and under each sector
 * at which it is split. A remapped bio is looked up by the sector that it had above, and inherits
 * the tag found there. A clone, or a part of a split bio, shares the bio_vec array of the bio above
 * and is looked up by the address of that array first: raid0 of md in 6.1 passes on the rest of a
 * bio before its front, and before block_split reports the split.
 *
 * A loop device writes to the pages of its backing file. The owner of a write is noted for these
 * pages, and the bios that write them back take it from there.
 */
#ifndef IOT_STACKING_MAP_BPF_H
#define IOT_STACKING_MAP_BPF_H

#include "device.bpf.h"
#include "owner.bpf.h"
#include "stacking_stripe.bpf.h"

#define LOOP_MAJOR 7
#define MAX_BIOS 1024          /* bios of one request that are walked */

/* Members of logical devices. The tracer enters those that exist when it starts, block_bio_remap
 * the others. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);      /* device, also a partition */
	__type(value, struct iot_held);
} held SEC(".maps");

/* The last process that asked for a flush of a disk. One flush request serves all that asked
 * meanwhile (block/blk-flush.c), and has no bio that would name them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u64);
} flushers SEC(".maps");

/* Sets the flusher of a disk. An existing entry is changed in place: bpf_map_update_elem() takes a
 * new entry from the free list of an LRU map, which costs more than all other work for a bio. */
static __always_inline void flusher_set(u32 disk, u64 owner)
{
	u64 *old = bpf_map_lookup_elem(&flushers, &disk);

	if (old)
		*old = owner;
	else
		bpf_map_update_elem(&flushers, &disk, &owner, BPF_ANY);
}

/* True for a disk with a bio-based driver (submit_bio of struct block_device_operations). It has no
 * requests, and may pass its bios on to other devices. */
static __always_inline bool is_bio_based(struct block_device *b)
{
	u64 disk = POINTER_AT(b, struct block_device, bd_disk);

	return POINTER_AT(POINTER_AT(disk, struct gendisk, fops), struct block_device_operations,
			  submit_bio);
}

/* A flush of a logical device becomes flushes of the devices below, for the same process. */
static __always_inline void flush_passed(u32 logical, u32 disk)
{
	u64 *owner = bpf_map_lookup_elem(&flushers, &logical);

	if (owner)
		flusher_set(disk, *owner);
}

/* Tags bio b, which was remapped from sector `from` of logical device `dev` to a device below. */
static __always_inline void bio_passed(struct bio *b, u32 dev, u64 from)
{
	struct upper_key k = { from, dev, op_of(b->bi_opf) };
	struct iot_bio t = { .cause = CAUSE_UNKNOWN, .from = BIO_CLONED }, *p, *old;
	struct block_device *below = b->bi_bdev;
	u32 size = b->bi_iter.bi_size;
	struct iot_state *s = run_state();
	u64 key = number_of(b), upper = 0;

	if (s && !s->passes)
		s->passes = 1;
	t.disk = disk_of(below);
	old = bio_find(key);
	/* The struct bio that was queued above, and no clone of it: block_bio_queue does not report
	 * a bio twice (BIO_TRACE_COMPLETION), so its tag is moved to the device below here. */
	if (old && old->disk == dev && old->use && old->sector == from && old->size == size) {
		old->disk = t.disk;
		old->from = BIO_PASSED;
		if (!dev_wanted(t.disk) && !is_bio_based(below))
			bio_drop(key);
		return;
	}
	if (!size)
		flush_passed(dev, t.disk);
	if (size && is_stripe(b))
		return; /* passed_silently() tags it when it is queued on the member */
	p = size ? upper_of(b, &k, &upper) : NULL;
	if (p) {
		inherit(&t, p, upper, from, size);
		/* only the front was passed on: the rest is looked up by the sector after it */
		if (from + (size >> SECTOR_SHIFT) < p->sector + (p->size >> SECTOR_SHIFT)) {
			k.sector = from + (size >> SECTOR_SHIFT);
			upper_note(&k, upper, p);
		}
	}
	if (!dev_wanted(t.disk) && !is_bio_based(below))
		return;
	if (is_bio_based(below)) {
		bio_place(b, &t, b->bi_iter.bi_sector +
			  (below->bd_dev != t.disk ? below->bd_start_sect : 0));
		bio_note(b, &t);
	}
	bio_put(key, &t);
}

static __always_inline void held_note(struct block_device *b, u32 logical)
{
	struct iot_held h = { .logical = logical }, *old;
	u32 dev = NUMBER_AT(b, struct block_device, bd_dev);

	h.holder = POINTER_AT(b, struct block_device, bd_holder);
	old = bpf_map_lookup_elem(&held, &dev);
	if (!old || old->logical != logical || old->holder != h.holder)
		bpf_map_update_elem(&held, &dev, &h, BPF_ANY);
}

/* The logical device of which a device is a member; 0: none, or no longer a member. */
static __always_inline u32 held_by(struct block_device *b)
{
	u32 dev = NUMBER_AT(b, struct block_device, bd_dev);
	struct iot_held *h = bpf_map_lookup_elem(&held, &dev);
	u64 holder;

	if (!h)
		return 0;
	holder = POINTER_AT(b, struct block_device, bd_holder);
	if (!h->holder)
		h->holder = holder;
	return h->holder == holder ? h->logical : 0;
}

/* A walk that sums the bytes of a bio's vectors from index `idx` up to `to`. */
struct distance {
	u64 vec;               /* struct bio_vec */
	u32 idx, to, bytes;
};

static long distance_step(u32 n, struct distance *d)
{
	if (d->idx >= d->to)
		return 1;
	d->bytes += NUMBER_AT((struct bio_vec *)d->vec + d->idx, struct bio_vec, bv_len);
	d->idx++;
	return 0;
}

#define MAX_VECTORS 256        /* BIO_MAX_VECS */

/* Fills in the tag of a bio that shares the bio_vec array of a bio on the logical device, from its
 * start or from a later position on. Returns 0 when there is no such bio. */
__noinline int vectors_passed(u64 bio, struct iot_bio *t, u32 logical)
{
	struct bio *b = (struct bio *)bio;
	struct distance d = { POINTER_AT(b, struct bio, bi_io_vec) };
	u64 upper;
	struct iot_bio *p = upper_by_vectors(b, logical, &upper);

	if (!t || !p)
		return 0;
	d.idx = p->idx;
	d.to = NUMBER_AT(b, struct bio, bi_iter.bi_idx);
	bpf_loop(MAX_VECTORS, distance_step, &d, 0);
	d.bytes += NUMBER_AT(b, struct bio, bi_iter.bi_bvec_done) - p->done;
	if (d.bytes >= p->size)
		return 0;
	inherit(t, p, upper, p->sector + (d.bytes >> SECTOR_SHIFT),
		NUMBER_AT(b, struct bio, bi_iter.bi_size));
	return 1;
}

/* Sectors before the data of a device behind bcache, plus 1; 0: another device. */
static __always_inline u32 cached_by(struct block_device *b)
{
	u32 dev = NUMBER_AT(b, struct block_device, bd_dev);
	struct iot_held *h = bpf_map_lookup_elem(&held, &dev);

	return h ? h->cached : 0;
}

/* bcache reads what its cache lacks into pages of its own. Fills in the tag of such a bio on the
 * device behind it by the sector, which is that of the bio above plus a constant. Returns 0 when no
 * bio begins there: bcache had a part of it. */
__noinline int miss_passed(u64 bio, struct iot_bio *t, u32 logical)
{
	struct bio *b = (struct bio *)bio;
	struct block_device *dev = (struct block_device *)POINTER_AT(b, struct bio, bi_bdev);
	u32 before = cached_by(dev), size = NUMBER_AT(b, struct bio, bi_iter.bi_size);
	struct upper_key k = { NUMBER_AT(b, struct bio, bi_iter.bi_sector), logical, REQ_OP_READ };
	struct upper *u;
	struct iot_bio *p;

	if (!t || !before || op_of(NUMBER_AT(b, struct bio, bi_opf)) != REQ_OP_READ)
		return 0;
	k.sector -= NUMBER_AT(dev, struct block_device, bd_start_sect) + before - 1;
	u = bpf_map_lookup_elem(&uppers, &k);
	p = upper_live(u);
	if (!p || p->sector != k.sector)
		return 0;
	inherit(t, p, u->bio, k.sector, size);
	return 1;
}

/* dm-raid (LVM's raid1, raid5, ...) and bcache do not report remapped bios. Fills in the tag of a
 * bio on one of their members that is a page of a stripe, shares the vectors of a bio on the array,
 * or reads for one that the cache lacks. Returns the array; 0: the bio is neither. Global, so that
 * it is verified once. */
__noinline u32 passed_silently(u64 bio, struct iot_bio *t)
{
	struct bio *b = (struct bio *)bio;
	u32 array = held_by((struct block_device *)POINTER_AT(b, struct bio, bi_bdev));

	if (!t || !array || !NUMBER_AT(b, struct bio, bi_iter.bi_size))
		return 0;
	if (is_stripe(b)) {
		t->cause = CAUSE_UNKNOWN;
		stripe_passed(bio, t, array);
	} else if (!vectors_passed(bio, t, array) && !miss_passed(bio, t, array)) {
		return 0;
	}
	t->from = BIO_PASSED;
	return array;
}

/* ---- loop devices ---- */

/* A walk over the bios of a write to a loop device, which the driver is about to write to its
 * backing file: notes the owner of each for the pages of the file. */
struct loop_walk {
	u64 bio, space;        /* page_space() of the backing file */
	u64 backing;           /* the file itself, a struct inode */
	u64 offset;
	u64 owner, index, end; /* pages of the backing file */
};

static long loop_mark(u32 n, struct loop_walk *w)
{
	struct page_key k = { w->space, w->index >> COARSE_SHIFT };
	u64 next = (k.index + 1) << COARSE_SHIFT;
	struct loop_marks *m, new = {};
	u32 pages;

	if (w->index >= w->end)
		return 1;
	pages = -COARSE_PAGE(w->index) & 0xffff;
	if (next > w->end)
		pages &= COARSE_PAGE(w->end) - 1;
	m = bpf_map_lookup_elem(&loop_writer, &k);
	if (m) {
		loop_marks_set(m, w->owner, pages);
	} else {
		new.owner[0] = w->owner;
		new.pages[0] = pages;
		bpf_map_update_elem(&loop_writer, &k, &new, BPF_ANY);
	}
	w->index = next;
	return 0;
}

static long loop_bio(u32 n, struct loop_walk *w)
{
	struct bio *b = (struct bio *)w->bio;
	struct iot_bio *t;
	u64 from, size;

	if (!w->bio)
		return 1;
	t = bio_find(w->bio);
	if (t && cfg.light) {
		page_owner_set(w->backing, 0, 1, t->owner, false);
	} else if (t) {
		from = w->offset + ((u64)NUMBER_AT(b, struct bio, bi_iter.bi_sector) << 9);
		size = NUMBER_AT(b, struct bio, bi_iter.bi_size);
		w->owner = t->owner;
		w->index = from >> PAGE_SHIFT;
		w->end = (from + size + PAGE_SIZE - 1) >> PAGE_SHIFT;
		bpf_loop(256, loop_mark, w, 0);
	}
	w->bio = POINTER_AT(b, struct bio, bi_next);
	return 0;
}

/* The process that asked for a request on a loop device: the owner of its first bio. */
static __always_inline u32 loop_asker(u64 bio)
{
	struct iot_bio *t = bio_find(bio);

	return owner_top(t ? t->owner : PROC_NONE);
}

/* True when the backing file of a loop device is on the disk of --dev. A btrfs file system has no
 * s_bdev, and is selected by its own device number. */
static __always_inline bool loop_on_disk(struct inode *backing)
{
	u64 bdev = backing ? POINTER_AT(POINTER_AT(backing, struct inode, i_sb), struct super_block,
					s_bdev) : 0;

	return backing && dev_wanted(bdev ? disk_at(bdev) : inode_dev(backing));
}

static __always_inline void loop_issue(struct request *rq, struct gendisk *d)
{
	struct loop_device *lo = d->private_data;
	struct inode *backing = BPF_CORE_READ(lo, lo_backing_file, f_mapping, host);
	struct loop_walk w = { .bio = POINTER_AT(rq, struct request, bio) };
	struct writer *v;

	if (cfg.dev)
		on_disk_note(d->part0->bd_dev, loop_on_disk(backing));
	if (!backing || is_on(backing, TMPFS_MAGIC)) /* its pages are written to no device */
		return;
	w.space = page_space(backing);
	w.offset = BPF_CORE_READ(lo, lo_offset);
	w.backing = (u64)backing;
	v = writer_find(backing);
	if (!v)
		v = writer_make(backing, PROC_NONE, !cfg.light || is_dirty(backing));
	if (v) {
		v->loop = 1;
		if (w.bio) /* a flush request has none, and writes no page */
			v->recent = loop_asker(w.bio) | OWNER_LOOP;
	}
	if ((rq->cmd_flags & 0xff) == REQ_OP_WRITE)
		bpf_loop(MAX_BIOS, loop_bio, &w, 0);
}

#endif
