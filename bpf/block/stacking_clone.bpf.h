/* SPDX-License-Identifier: GPL-3.0-only */
/* stacking_clone.bpf.h - bios on logical devices (dm, md). A bio that was remapped finds the bio of
 * which it is a clone or a part, by the bio_vec array that both share or by its sector there. Used
 * by stacking_map.bpf.h.
 */
#ifndef IOT_STACKING_CLONE_BPF_H
#define IOT_STACKING_CLONE_BPF_H

#include "bio_table.bpf.h"

#define SECTOR_SHIFT 9

struct upper_key {
	u64 sector;            /* op & BY_VECTORS: the address of the bio_vec array instead */
	u32 disk, op;
};

#define BY_VECTORS 0x100       /* larger than any result of op_of() */

struct upper {
	u64 bio, use;          /* bio 0: several in flight, of different owners: neither is meant */
};

/* Entries are not deleted: one is valid while `bios` has its bio with the same `use`. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct upper_key);
	__type(value, struct upper);
} uppers SEC(".maps");

/* The operation of a bio or request. A zone append is a write with an offset that the device
 * chooses. */
static __always_inline u32 op_of(u32 flags)
{
	u32 op = flags & 0xff;

	if (HAS_ZONE_APPEND &&
	    op == bpf_core_enum_value(enum req_op___iot, REQ_OP_ZONE_APPEND___iot))
		return REQ_OP_WRITE;
	return op;
}

static __always_inline struct iot_bio *upper_live(const struct upper *u)
{
	struct iot_bio *t;

	if (!u)
		return NULL;
	t = bio_find(u->bio);
	return t && t->use == u->use ? t : NULL;
}

/* Enters a bio with tag `t` under a sector of a logical device. When two bios in flight with
 * different tags have the same sector, neither is found. */
static __always_inline void upper_note(struct upper_key *k, u64 bio, const struct iot_bio *t)
{
	struct upper u = { bio, t->use }, *old = bpf_map_lookup_elem(&uppers, k);
	struct iot_bio *other;

	if (old && old->bio != bio) {
		other = upper_live(old);
		if (other && (other->owner != t->owner || other->cause != t->cause ||
			      other->file != t->file || other->parts != t->parts ||
			      other->many != t->many))
			u.bio = 0;
	}
	bpf_map_update_elem(&uppers, k, &u, BPF_ANY);
}

/* Fills in the fields of a tag by which a bio on a logical device is found and counted. */
static __always_inline void bio_place(struct bio *b, struct iot_bio *t, u64 sector)
{
	t->use = bpf_ktime_get_ns();
	t->sector = sector;
	t->size = b->bi_iter.bi_size;
	t->idx = b->bi_iter.bi_idx;
	t->done = b->bi_iter.bi_bvec_done;
}

/* Enters a bio under its sector and under its bio_vec array, after bio_place(). */
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

/* The tag of the bio on a logical device whose bio_vec array is that of b, or NULL; *bio: the
 * bio. */
static __always_inline struct iot_bio *upper_by_vectors(struct bio *b, u32 logical, u64 *bio)
{
	struct upper_key k = { POINTER_AT(b, struct bio, bi_io_vec), logical,
			       op_of(NUMBER_AT(b, struct bio, bi_opf)) | BY_VECTORS };
	struct upper *u = bpf_map_lookup_elem(&uppers, &k);

	*bio = u ? u->bio : 0;
	return upper_live(u);
}

#define MD_MAJOR 9

/* The tag of the bio of which b is a clone or a part, or NULL; *bio: that bio. b was remapped from
 * sector k->sector of logical device k->disk. md reports sector 0 for bios of its own, such as
 * parity, so a sector of 0 is not looked up there. */
static __always_inline struct iot_bio *upper_of(struct bio *b, struct upper_key *k, u64 *bio)
{
	struct iot_bio *t = upper_by_vectors(b, k->disk, bio);
	struct upper *u;

	if (t && k->sector - t->sector < t->size >> SECTOR_SHIFT)
		return t;
	if (!k->sector && k->disk >> 20 == MD_MAJOR)
		return NULL;
	u = bpf_map_lookup_elem(&uppers, k);
	*bio = u ? u->bio : 0;
	return upper_live(u);
}

/* Fills in the tag of a clone or part of bio `upper`, whose tag is `p`: the part begins at `sector`
 * of the logical device and has `size` bytes. */
static __always_inline void inherit(struct iot_bio *t, const struct iot_bio *p, u64 upper,
				    u64 sector, u32 size)
{
	u32 at = (sector - p->sector) << SECTOR_SHIFT;

	t->owner = p->owner;
	t->file = p->file;
	t->cause = p->cause;
	t->how = p->how;
	t->sub = p->sub;
	t->carrier = p->carrier;
	t->many = p->many;
	t->parts = p->parts;
	t->top = p->top ? p->top : upper;
	t->top_use = p->top ? p->top_use : p->use;
	t->off = p->off + at;
	t->demanded = p->demanded > at ? p->demanded - at : 0;
	if (t->demanded > size)
		t->demanded = size;
}

#endif
