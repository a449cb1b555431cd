/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_table.bpf.h - the table of bios in flight, by address.
 */
#ifndef IOT_BIO_TABLE_BPF_H
#define IOT_BIO_TABLE_BPF_H

#include "addr_table.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_BIOS);
	__type(key, u32);      /* index of a bio */
	__type(value, struct iot_bio);
} bios SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_BIOS / IOT_PLACE_WAYS);
	__type(key, u32);
	__type(value, struct addr_set);
} bio_sets SEC(".maps");

/* The index of a bio, as addr_find() and addr_take() return it. Global: verified once. */
__noinline u32 bio_at(u64 bio)
{
	return addr_find(&bio_sets, cfg.bio_bits, bio);
}

__noinline u32 bio_take(u64 bio)
{
	return addr_take(&bio_sets, cfg.bio_bits, bio);
}

static __always_inline struct iot_bio *bio_find(u64 bio)
{
	u32 at = bio_at(bio);

	return bpf_map_lookup_elem(&bios, &at);
}

static __always_inline void bio_put(u64 bio, const struct iot_bio *t)
{
	u32 at = bio_take(bio);
	struct iot_bio *p = bpf_map_lookup_elem(&bios, &at);

	if (!p) {
		lose(LOSS_BIO_TABLE);
		return;
	}
	__builtin_memcpy(p, t, offsetof(struct iot_bio, top_use));
	if (t->use || t->top)
		*p = *t;
}

static __always_inline void bio_drop(u64 bio)
{
	addr_drop(&bio_sets, cfg.bio_bits, bio_at(bio));
}

/* Advances a walk over the segments of a bio by `len` bytes of the current segment, which has
 * `whole`. */
#define WALK_PAST(w, len, whole) ({ \
	(w)->left -= len; \
	(w)->done += len; \
	if ((w)->done >= (whole)) { \
		(w)->idx++; \
		(w)->done = 0; \
	} })

#endif
