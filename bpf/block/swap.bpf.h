/* SPDX-License-Identifier: GPL-3.0-only */
/* swap.bpf.h - the owner of memory that is swapped out. The submitter is kswapd, or a process that
 * reclaims; the owner is known by the memory areas: an anonymous folio points to its struct
 * anon_vma, which has a tree of the areas that may map the folio (mm/rmap.c). Areas whose own
 * anon_vma it is belong to the process that filled the folio, the others to children that got a
 * copy by fork(). Used by bio_class.bpf.h.
 */
#ifndef IOT_SWAP_BPF_H
#define IOT_SWAP_BPF_H

#include "owner.bpf.h"

#define MAPPING_ANON 1UL       /* one of MAPPING_FLAGS */
#define AREAS_MAX 256          /* steps through the tree: two for each area */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node___links {
	unsigned long __rb_parent_color; /* the parent's address; its low bits are the colour */
	struct rb_node *rb_right, *rb_left;
};

struct anon_vma {
	struct rb_root_cached rb_root;
};

struct anon_vma_chain {
	struct vm_area_struct *vma;
	struct rb_node___links rb;
};

struct vm_area_struct___anon {
	struct anon_vma *anon_vma;
};

struct mm_struct___owner {
	struct task_struct *owner; /* with CONFIG_MEMCG */
};

#pragma clang attribute pop

/* A walk through that tree: the current node, the one before, and the process that was found. */
struct anon_walk {
	u64 anon, node, from;
	u64 mm;                /* struct mm_struct of the last area, until the owner's is found */
	u32 many, found;       /* 1: areas of several processes; 1: the owner's area was found */
};

static __always_inline void memory_look(struct anon_walk *w)
{
	u64 area = POINTER_AT(w->node - bpf_core_field_offset(struct anon_vma_chain, rb),
			      struct anon_vma_chain, vma), mm;

	if (!area)
		return;
	mm = POINTER_AT(area, struct vm_area_struct, vm_mm);
	if (POINTER_AT(area, struct vm_area_struct___anon, anon_vma) == w->anon)
		w->found = 1;
	else if (w->mm && w->mm != mm)
		w->many = 1;
	w->mm = mm;
}

static long memory_step(u32 n, struct anon_walk *w)
{
	u64 left, right, above, next;

	if (!w->node)
		return 1;
	left = POINTER_AT(w->node, struct rb_node___links, rb_left);
	right = POINTER_AT(w->node, struct rb_node___links, rb_right);
	above = POINTER_AT(w->node, struct rb_node___links, __rb_parent_color) & ~3UL;
	next = above;
	if (w->from == above) { /* from above: this area was not visited yet */
		memory_look(w);
		if (w->found)
			return 1;
		next = left ?: right ?: above;
	} else if (w->from == left && right) {
		next = right;
	}
	w->from = w->node;
	w->node = next;
	return 0;
}

/* The process that filled an anonymous folio, as an owner; PROC_NONE: not known, it has ended, or
 * the memory is shared (tmpfs, System V). Global: verified once. */
__noinline u32 memory_owner(u64 folio)
{
	u64 mapping = POINTER_AT(folio, struct folio, mapping), task, leader;
	struct iot_proc_key k = {};
	struct anon_walk w = {};
	struct iot_proc *p;

	if ((mapping & MAPPING_FLAGS) != MAPPING_ANON ||
	    !HAS_MM_OWNER)
		return PROC_NONE;
	w.anon = mapping & ~MAPPING_FLAGS;
	w.node = POINTER_AT(w.anon, struct anon_vma, rb_root.rb_root.rb_node);
	bpf_loop(AREAS_MAX, memory_step, &w, 0);
	if (!w.found && (w.many || w.node))
		return PROC_NONE;
	task = w.mm ? POINTER_AT(w.mm, struct mm_struct___owner, owner) : 0;
	if (!task)
		return PROC_NONE;
	k.tgid = NUMBER_AT(task, struct task_struct, tgid);
	if (k.tgid == cfg.self_pid)
		return PROC_SELF;
	leader = POINTER_AT(task, struct task_struct, group_leader);
	k.exec_no = NUMBER_AT(leader, struct task_struct, self_exec_id);
	k.start_ns = NUMBER_AT(leader, struct task_struct, start_boottime);
	p = bpf_map_lookup_elem(&procs, &k);
	if (!p)
		return filtered() ? PROC_OTHER : PROC_NONE;
	return p->flags & PROC_WANTED ? p->id : PROC_OTHER;
}

#endif
