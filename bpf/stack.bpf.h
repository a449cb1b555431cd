/* SPDX-License-Identifier: GPL-3.0-only */
/* stack.bpf.h - devices upon devices: a byte is submitted once, at the top, and what it is goes down with it.
 *
 * Volumes (dm, md, the heads of multipath NVMe) pass bios on: the same, clones, or others with the data encrypted; at once, or later
 * from a thread of theirs. All tell so by block_bio_remap, with the volume and the sector there. So a bio that is queued on a volume
 * is noted by its sector, and so is every sector at which a volume cuts it; what is passed on is found by it and inherits. Clones and
 * parts have the vectors of the bio that they are of, and are found by these first: a volume may pass the rest of a bio on before its
 * front (md's raid0 from 6.1 on), and then nobody has said where it was cut.
 * A loop device writes to the pages of a file: its owners go along to them.
 */
#ifndef IOT_STACK_BPF_H
#define IOT_STACK_BPF_H

#include "walk.bpf.h"

#define LOOP_MAJOR 7
#define MAX_BIOS 1024          /* bios of one request that are walked */
#define SECTOR_SHIFT 9

struct upper_key {
	u64 sector;            /* or the address of its vectors */
	u32 disk, op;          /* with BY_VECTORS */
};

#define BY_VECTORS 0x100       /* beyond what op_of() returns */

struct upper {
	u64 bio, use;          /* 0: several are under way there, of different owners */
};

/* Entries are not taken out: one counts as long as its bio is in `bios`, in the same use. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct upper_key);
	__type(value, struct upper);
} uppers SEC(".maps");

/* Devices that a volume is made of. The tracer notes those that are there when it begins. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);      /* device, also a partition */
	__type(value, struct iot_held);
} held SEC(".maps");

/* Who asked last for a flush of a disk: flush requests are shared and carry no bio. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u64);
} flushers SEC(".maps");

/* In place where it is there: another entry in its place would cost more than all else that is done for the bio. */
static __always_inline void flusher_set(u32 disk, u64 owner)
{
	u64 *old = bpf_map_lookup_elem(&flushers, &disk);

	if (old)
		*old = owner;
	else
		bpf_map_update_elem(&flushers, &disk, &owner, BPF_ANY);
}

/* The operation of a bio or request. Zone appends are writes whose place the device chooses. */
static __always_inline u32 op_of(u32 flags)
{
	u32 op = flags & 0xff;

	if (bpf_core_enum_value_exists(enum req_op___iot, REQ_OP_ZONE_APPEND___iot) &&
	    op == bpf_core_enum_value(enum req_op___iot, REQ_OP_ZONE_APPEND___iot))
		return REQ_OP_WRITE;
	return op;
}

/* Has the disk no requests of its own, so that its driver may pass bios on? */
static __always_inline bool is_volume(struct block_device *b)
{
	u64 disk = POINTER_AT(b, struct block_device, bd_disk);

	return POINTER_AT(POINTER_AT(disk, struct gendisk, fops), struct block_device_operations, submit_bio);
}

static __always_inline struct iot_bio *upper_live(const struct upper *u)
{
	struct iot_bio *t;

	if (!u)
		return NULL;
	t = bio_find(u->bio);
	return t && t->use == u->use ? t : NULL;
}

/* A bio whose tag is `t` can be found by this sector of a volume. Two of different owners at one place: neither is. */
static __always_inline void upper_note(struct upper_key *k, u64 bio, const struct iot_bio *t)
{
	struct upper u = { bio, t->use }, *old = bpf_map_lookup_elem(&uppers, k);
	struct iot_bio *other;

	if (old && old->bio != bio) {
		other = upper_live(old);
		if (other && (other->owner != t->owner || other->cause != t->cause || other->file != t->file || other->parts != t->parts || other->many != t->many))
			u.bio = 0;
	}
	bpf_map_update_elem(&uppers, k, &u, BPF_ANY);
}

/* Fills in what a bio on a volume is found and counted by. */
static __always_inline void bio_place(struct bio *b, struct iot_bio *t, u64 sector)
{
	t->use = bpf_ktime_get_ns();
	t->sector = sector;
	t->size = b->bi_iter.bi_size;
	t->idx = b->bi_iter.bi_idx;
	t->done = b->bi_iter.bi_bvec_done;
}

static __always_inline void bio_note(struct bio *b, const struct iot_bio *t)
{
	struct upper_key k = { t->sector, t->disk, op_of(b->bi_opf) };
	struct upper u = { (u64)b, t->use };

	upper_note(&k, (u64)b, t);
	k.sector = POINTER_AT(b, struct bio, bi_io_vec);
	k.op |= BY_VECTORS;
	if (k.sector)
		bpf_map_update_elem(&uppers, &k, &u, BPF_ANY);
}

/* What the tag of a bio on a volume is, of which b is a clone or a part that is now about `from` of that volume; *bio: which. */
static __always_inline struct iot_bio *upper_of(struct bio *b, struct upper_key *k, u64 *bio)
{
	struct upper_key by = { POINTER_AT(b, struct bio, bi_io_vec), k->disk, k->op | BY_VECTORS };
	struct upper *u = bpf_map_lookup_elem(&uppers, &by);
	struct iot_bio *t = upper_live(u);

	if (!t || k->sector - t->sector >= t->size >> SECTOR_SHIFT) {
		u = bpf_map_lookup_elem(&uppers, k);
		t = upper_live(u);
	}
	*bio = u ? u->bio : 0;
	return t;
}

/* A part of the upper bio `p`, which begins at `sector` of the volume. */
static __always_inline void inherit(struct iot_bio *t, const struct iot_bio *p, u64 upper, u64 sector, u32 size)
{
	u32 at = (sector - p->sector) << SECTOR_SHIFT;

	t->owner = p->owner;
	t->file = p->file;
	t->cause = p->cause;
	t->how = p->how;
	t->sub = p->sub;
	t->many = p->many;
	t->parts = p->parts;
	t->top = p->top ? p->top : upper;
	t->top_use = p->top ? p->top_use : p->use;
	t->off = p->off + at;
	t->demanded = p->demanded > at ? p->demanded - at : 0;
	if (t->demanded > size)
		t->demanded = size;
}

/* A flush of a volume becomes flushes of the devices below. */
static __always_inline void flush_passed(u32 volume, u32 disk)
{
	u64 *owner = bpf_map_lookup_elem(&flushers, &volume);

	if (owner)
		flusher_set(disk, *owner);
}

/* `from`: the sector of volume `dev` that bio b, now for a device below, is about. */
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
	if (old && old->disk == dev && old->use && old->sector == from && old->size == size) { /* the very bio: it is not queued again */
		old->disk = t.disk;
		if (!dev_wanted(t.disk) && !is_volume(below))
			bio_drop(key);
		return;
	}
	if (!size)
		flush_passed(dev, t.disk);
	p = size ? upper_of(b, &k, &upper) : NULL;
	if (p) {
		inherit(&t, p, upper, from, size);
		if (from + (size >> SECTOR_SHIFT) < p->sector + (p->size >> SECTOR_SHIFT)) { /* it was cut: the rest comes later */
			k.sector = from + (size >> SECTOR_SHIFT);
			upper_note(&k, upper, p);
		}
	}
	if (!dev_wanted(t.disk) && !is_volume(below))
		return;
	if (is_volume(below)) {
		bio_place(b, &t, b->bi_iter.bi_sector + (below->bd_dev != t.disk ? below->bd_start_sect : 0));
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

/* The volume that a device is part of; 0: none, or no more. */
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

/* ---- loop devices ---- */

/* A write to a loop device is about to become a write to its backing file: its owner goes along, 64 KiB at a time. */
struct loop_walk {
	u64 bio, space;        /* page_space() of the backing file */
	u64 offset;
	u64 owner, index, last;
};

static long loop_mark(u32 n, struct loop_walk *w)
{
	struct page_key k = { w->space, w->index };
	u64 *owner;

	if (w->index > w->last)
		return 1;
	owner = bpf_map_lookup_elem(&loop_writer, &k);
	if (owner)
		*owner = w->owner;
	else
		bpf_map_update_elem(&loop_writer, &k, &w->owner, BPF_ANY);
	w->index++;
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
	if (t && t->owner) {
		from = w->offset + ((u64)NUMBER_AT(b, struct bio, bi_iter.bi_sector) << 9);
		size = NUMBER_AT(b, struct bio, bi_iter.bi_size);
		w->owner = t->owner;
		w->index = from >> (PAGE_SHIFT + COARSE_SHIFT);
		w->last = (from + size - 1) >> (PAGE_SHIFT + COARSE_SHIFT);
		bpf_loop(256, loop_mark, w, 0);
	}
	w->bio = POINTER_AT(b, struct bio, bi_next);
	return 0;
}

static __always_inline void loop_issue(struct request *rq, struct gendisk *d)
{
	struct loop_device *lo = d->private_data;
	struct inode *backing = BPF_CORE_READ(lo, lo_backing_file, f_mapping, host);
	struct loop_walk w = { .bio = POINTER_AT(rq, struct request, bio) };
	struct writer *v;

	if (!backing || is_on(backing, TMPFS_MAGIC)) /* whose pages are written to no device */
		return;
	w.space = page_space(backing);
	w.offset = BPF_CORE_READ(lo, lo_offset);
	v = writer_find(backing);
	if (!v)
		v = writer_make(backing, PROC_NONE, 1);
	if (v)
		v->loop = 1;
	if ((rq->cmd_flags & 0xff) == REQ_OP_WRITE)
		bpf_loop(MAX_BIOS, loop_bio, &w, 0);
}

#endif
