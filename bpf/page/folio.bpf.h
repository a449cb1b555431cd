/* SPDX-License-Identifier: GPL-3.0-only */
/* folio.bpf.h - the folios of a page cache.
 */
#ifndef IOT_FOLIO_BPF_H
#define IOT_FOLIO_BPF_H

#include "task.bpf.h"

#define XA_LEVELS 8
#define XA_SLOTS 63            /* mask */
/* value of both low bits: a node, or a sibling entry with the number of its slot */
#define XA_INTERNAL 2

static __always_inline bool xa_is_internal(u64 entry)
{
	return (entry & 3) == XA_INTERNAL;
}

/* The entry of an XArray at an index, as xas_load() finds it; 0: no pointer. Global: verified
 * once. */
__noinline u64 xa_at(u64 xarray, u64 index)
{
	u64 entry = POINTER_AT(xarray, struct xarray___head, xa_head), node, slot;

	if (!xa_is_internal(entry) && index)
		return 0;
	for (int i = 0; i < XA_LEVELS && xa_is_internal(entry) && entry > PAGE_SIZE; i++) {
		node = entry - XA_INTERNAL;
		slot = index >> NUMBER_AT(node, struct xa_node, shift);
		if (!i && slot > XA_SLOTS)
			return 0; /* beyond the last entry */
		slot &= XA_SLOTS;
		entry = pointer_at(node + bpf_core_field_offset(struct xa_node, slots) + slot *
				   sizeof(u64));
		if (xa_is_internal(entry) && entry < PAGE_SIZE)
			entry = pointer_at(node + bpf_core_field_offset(struct xa_node, slots) +
					   (entry >> 2 & XA_SLOTS) * sizeof(u64));
	}
	return entry & 3 ? 0 : entry;
}

/* The folio at an index of a page cache; 0: none. */
static __always_inline u64 folio_at(u64 mapping, u64 index)
{
	return xa_at(mapping + bpf_core_field_offset(struct address_space, i_pages), index);
}

static __always_inline bool folio_is_uptodate(u64 folio)
{
	return pointer_at(folio) >>
	       bpf_core_enum_value(enum pageflags___iot, PG_uptodate___iot) & 1;
}

static __always_inline bool folio_is_dirty(u64 folio)
{
	return pointer_at(folio) >> bpf_core_enum_value(enum pageflags___iot, PG_dirty___iot) & 1;
}

#endif
