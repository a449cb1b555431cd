/* SPDX-License-Identifier: GPL-3.0-only */
/* stacking_map.bpf.h - stacked devices: a byte is submitted once, at the top, and its class and
 * owner are inherited downwards.
 *
 * Volumes (dm, md, multipath NVMe) pass bios on: the same bio, clones, or others with encrypted
 * data; at once, or later from a thread of their own. All but dm's arrays report that with
 * block_bio_remap, with the volume and the sector there. So a bio that is queued on a volume is
 * entered under its sector, and so is every sector at which a volume splits it; a remapped bio is
 * looked up by its sector, and inherits. Clones and parts share the vectors of their bio, and are
 * looked up by these first: a volume may pass on the rest of a bio before its front (md's raid0 in
 * 6.1), before any split is reported. A loop device writes to the pages of a file, to which the
 * owners of its writes are passed.
 */
#ifndef IOT_STACKING_MAP_BPF_H
#define IOT_STACKING_MAP_BPF_H

#include "device.bpf.h"
#include "owner.bpf.h"
#include "stacking_stripe.bpf.h"

#define LOOP_MAJOR 7
#define MAX_BIOS 1024          /* bios of one request that are walked */

/* Member devices of volumes. The tracer enters those that exist when it starts. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);      /* device, also a partition */
	__type(value, struct iot_held);
} held SEC(".maps");

/* The last process that asked for a flush of a disk: flush requests are shared, and have no bio. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u64);
} flushers SEC(".maps");

/* Updates an existing entry in place: a new one would cost more than all else for the bio. */
static __always_inline void flusher_set(u32 disk, u64 owner)
{
	u64 *old = bpf_map_lookup_elem(&flushers, &disk);

	if (old)
		*old = owner;
	else
		bpf_map_update_elem(&flushers, &disk, &owner, BPF_ANY);
}

/* True for a disk without requests of its own, whose driver may pass bios on. */
static __always_inline bool is_volume(struct block_device *b)
{
	u64 disk = POINTER_AT(b, struct block_device, bd_disk);

	return POINTER_AT(POINTER_AT(disk, struct gendisk, fops), struct block_device_operations,
			  submit_bio);
}

/* A flush of a volume becomes flushes of the devices below. */
static __always_inline void flush_passed(u32 volume, u32 disk)
{
	u64 *owner = bpf_map_lookup_elem(&flushers, &volume);

	if (owner)
		flusher_set(disk, *owner);
}

/* Bio b was remapped from sector `from` of volume `dev` to a device below. */
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
	/* the same bio: it is not queued again */
	if (old && old->disk == dev && old->use && old->sector == from && old->size == size) {
		old->disk = t.disk;
		old->from = BIO_PASSED;
		if (!dev_wanted(t.disk) && !is_volume(below))
			bio_drop(key);
		return;
	}
	if (!size)
		flush_passed(dev, t.disk);
	if (size && is_stripe(b))
		return; /* handled when it is queued on the member */
	p = size ? upper_of(b, &k, &upper) : NULL;
	if (p) {
		inherit(&t, p, upper, from, size);
		/* it was split: the rest comes later */
		if (from + (size >> SECTOR_SHIFT) < p->sector + (p->size >> SECTOR_SHIFT)) {
			k.sector = from + (size >> SECTOR_SHIFT);
			upper_note(&k, upper, p);
		}
	}
	if (!dev_wanted(t.disk) && !is_volume(below))
		return;
	if (is_volume(below)) {
		bio_place(b, &t, b->bi_iter.bi_sector +
			  (below->bd_dev != t.disk ? below->bd_start_sect : 0));
		bio_note(b, &t);
	}
	bio_put(key, &t);
}

static __always_inline void held_note(struct block_device *b, u32 volume)
{
	struct iot_held h = { .volume = volume }, *old;
	u32 dev = NUMBER_AT(b, struct block_device, bd_dev);

	h.holder = POINTER_AT(b, struct block_device, bd_holder);
	old = bpf_map_lookup_elem(&held, &dev);
	if (!old || old->volume != volume || old->holder != h.holder)
		bpf_map_update_elem(&held, &dev, &h, BPF_ANY);
}

/* The volume that a device belongs to; 0: none, or no longer. */
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
	return h->holder == holder ? h->volume : 0;
}

/* The distance from one position in the vectors of a bio to another. */
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

/* Fills in the tag of a bio that has the vectors of a bio on a volume, or begins further on in
 * them. Returns 0 when it has not. */
__noinline int vectors_passed(u64 bio, struct iot_bio *t, u32 volume)
{
	struct bio *b = (struct bio *)bio;
	struct distance d = { POINTER_AT(b, struct bio, bi_io_vec) };
	u64 upper;
	struct iot_bio *p = upper_by_vectors(b, volume, &upper);

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

/* Arrays of dm (LVM's raid1, raid5, ...) do not report remapped bios. A bio on a member is a page
 * of a stripe, or shares the vectors of a bio on the volume: its tag is filled in. Returns the
 * volume; 0: it is neither. Global: verified once. */
__noinline u32 passed_silently(u64 bio, struct iot_bio *t)
{
	struct bio *b = (struct bio *)bio;
	u32 volume = held_by((struct block_device *)POINTER_AT(b, struct bio, bi_bdev));

	if (!t || !volume || !NUMBER_AT(b, struct bio, bi_iter.bi_size))
		return 0;
	if (is_stripe(b)) {
		t->cause = CAUSE_UNKNOWN;
		stripe_passed(bio, t, volume);
	} else if (!vectors_passed(bio, t, volume)) {
		return 0;
	}
	t->from = BIO_PASSED;
	return volume;
}

/* ---- loop devices ---- */

/* A write to a loop device is about to become a write to its backing file: its owner is passed on,
 * page by page. */
struct loop_walk {
	u64 bio, space;        /* page_space() of the backing file */
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
	if (t) {
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

/* True when the backing file of a loop device is on the disk of --dev. btrfs is known by its device
 * number. */
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
	v = writer_find(backing);
	if (!v)
		v = writer_make(backing, PROC_NONE, 1);
	if (v) {
		v->loop = 1;
		if (w.bio) /* a flush changes nothing itself */
			v->recent = loop_asker(w.bio) | OWNER_LOOP;
	}
	if ((rq->cmd_flags & 0xff) == REQ_OP_WRITE)
		bpf_loop(MAX_BIOS, loop_bio, &w, 0);
}

#endif
