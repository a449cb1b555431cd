/* SPDX-License-Identifier: GPL-3.0-only */
/* vm_area.bpf.h - the memory area (struct vm_area_struct) of an address. The tracepoints of page
 * faults have interrupts off: there bpf_find_vma() releases the mmap lock through an irq_work,
 * which takes longer than the fault, and fails when the previous irq_work is still pending. So the
 * maple tree of areas is read without its lock, and the result is checked.
 */
#ifndef IOT_VM_AREA_BPF_H
#define IOT_VM_AREA_BPF_H

#include "task.bpf.h"

#define VM_SHARED 8
#define AREA_LEVELS 8          /* levels of the tree */
#define NODE_BYTES (NODE_WORDS * sizeof(u64))
/* The address of a node is a multiple of its size. The low bits of a pointer to it hold its type:
 * enum maple_type. */
#define NODE_TYPE(entry) ((entry) >> 3 & 15)
#define NODE_IS_LEAF(type) ((type) < 2)
#define NODE_HAS_GAPS 3

#define WORD_OF(type, field) (bpf_core_field_offset(type, field) / sizeof(u64))
#define RANGE_PIVOTS (sizeof(((struct maple_range_64 *)0)->pivot) / sizeof(u64))

/* 1 when the pivot of a branch is below `address`, a user address; without a jump. */
static __always_inline u64 is_below(u64 pivot, u64 address)
{
	return is_negative(pivot - address) & is_negative(~pivot);
}

/* A walk from the root to the leaf. Nodes are read into ctx->scratch. */
struct area_walk {
	struct task_ctx *ctx;
	u64 entry, address;    /* the pointer to the node; in the end the area, or 0 */
};

static long area_step(u32 level, struct area_walk *w)
{
	u64 *word = w->ctx->scratch.area.node, type = NODE_TYPE(w->entry), pivots, end, at, n = 0;

	if (bpf_probe_read_kernel(word, NODE_BYTES, (void *)(w->entry & -NODE_BYTES))) {
		w->entry = 0;
		return 1;
	}
	if (type == NODE_HAS_GAPS) {
		pivots = WORD_OF(struct maple_arange_64, pivot);
		at = WORD_OF(struct maple_arange_64, slot);
		end = word[INDEX(WORD_OF(struct maple_arange_64, meta), NODE_WORDS)] & 0xff;
	} else {
		pivots = WORD_OF(struct maple_range_64, pivot);
		at = WORD_OF(struct maple_range_64, slot);
		end = word[INDEX(WORD_OF(struct maple_range_64, meta), NODE_WORDS)] & 0xff;
		if (word[INDEX(pivots + RANGE_PIVOTS - 1, NODE_WORDS)])
			end = RANGE_PIVOTS; /* full: a branch is where the count would be */
	}
	for (u64 i = 0; i < RANGE_PIVOTS; i++)
		n += is_below(word[INDEX(pivots + i, NODE_WORDS)], w->address) &
			is_negative(i - end);
	w->entry = word[INDEX(at + n, NODE_WORDS)];
	return NODE_IS_LEAF(type);
}

/* The address of the struct vm_area_struct that a user address of `mm` is in, or 0. */
__noinline u64 area_in(struct task_ctx *c, u64 mm, u64 address)
{
	struct area_walk w = { .ctx = c, .address = address };
	u64 area;

	if (!mm || !c)
		return 0;
	w.entry = POINTER_AT(mm, struct mm_struct, mm_mt.ma_root);
	bpf_loop(AREA_LEVELS, area_step, &w, 0);
	area = w.entry;
	if (area && NUMBER_AT(area, struct vm_area_struct, vm_start) <= address &&
	    NUMBER_AT(area, struct vm_area_struct, vm_end) > address &&
	    POINTER_AT(area, struct vm_area_struct, vm_mm) == mm)
		return area;
	return 0;
}

#endif
