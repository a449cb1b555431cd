/* SPDX-License-Identifier: GPL-3.0-only */
/* poke.bpf.h - calls that write the memory of a process, without a fault of it: process_vm_writev, ptrace, /proc/PID/mem. Where that is a
 * mapped file, its pages may be dirty already, and then nothing else tells that they are written over. Used by syscall.bpf.c.
 */
#ifndef IOT_POKE_BPF_H
#define IOT_POKE_BPF_H

#include <linux/magic.h>
#include "area.bpf.h"
#include "claim.bpf.h"
#include "folio.bpf.h"
#include "range.bpf.h"

/* Of linux/ptrace.h, which has registers of its own. */
#define PTRACE_POKETEXT 4
#define PTRACE_POKEDATA 5

#define POKES 256              /* pieces of one call that are looked at: each is in one vector and one area */

/* What is left of a call; in task_ctx.scratch, behind what a walk through areas reads there. */
struct poke {
	u64 mm;                /* struct mm_struct of whose memory it is */
	u64 vectors, n;        /* of it, that come next */
	u64 at, len;           /* the bytes that come next, of the vector before */
	u64 left;              /* of all that was written */
	struct user_iovec next;
	u32 proc;
};
_Static_assert(NODE_BYTES + sizeof(struct poke) <= sizeof(((struct task_ctx *)0)->scratch), "task_ctx.scratch");

static __always_inline struct poke *poke_of(struct task_ctx *c)
{
	return (struct poke *)&c->scratch[NODE_WORDS];
}

/* The struct mm_struct of the process that has a number in the current one's namespace, or 0. */
static __noinline u64 memory_of(u32 number)
{
	u64 pid = POINTER_AT(current_task(), struct task_struct, thread_pid), ns, node;

	ns = pid + bpf_core_field_offset(struct pid, numbers) + NUMBER_AT(pid, struct pid, level) * bpf_core_type_size(struct upid);
	ns = POINTER_AT(ns, struct upid, ns);
	pid = xa_at(ns + bpf_core_field_offset(struct pid_namespace, idr.idr_rt), number);
	node = pid ? pointer_at(pid + bpf_core_field_offset(struct pid, tasks)) : 0;
	return node ? POINTER_AT(node - bpf_core_field_offset(struct task_struct, pid_links), struct task_struct, mm) : 0;
}

/* Bytes [p->at, + len) of an area were written. */
static __always_inline void poked_area(const struct poke *p, u64 area, u64 len)
{
	u64 file = POINTER_AT(area, struct vm_area_struct, vm_file), off;

	if (!file || !(NUMBER_AT(area, struct vm_area_struct, vm_flags) & VM_SHARED))
		return;
	off = (NUMBER_AT(area, struct vm_area_struct, vm_pgoff) << PAGE_SHIFT) + p->at - NUMBER_AT(area, struct vm_area_struct, vm_start);
	writer_mark((u64)data_inode((struct file *)file), off, len, p->proc);
}

struct poke_walk {
	struct task_ctx *ctx;
};

static long poked_piece(u32 n, struct poke_walk *w)
{
	struct poke *p = poke_of(w->ctx);
	u64 area, len;

	if (!p->left)
		return 1;
	if (!p->len) {
		if (!p->n || bpf_probe_read_user(&p->next, sizeof(p->next), (void *)p->vectors))
			return 1;
		p->at = p->next.base;
		p->len = p->next.len < p->left ? p->next.len : p->left;
		p->vectors += sizeof(p->next);
		p->n--;
		return 0;
	}
	area = area_in(w->ctx, p->mm, p->at);
	if (!area)
		return 1;
	len = NUMBER_AT(area, struct vm_area_struct, vm_end) - p->at;
	len = len < p->len ? len : p->len;
	poked_area(p, area, len);
	p->at += len;
	p->len -= len;
	p->left -= len;
	return 0;
}

/* Bytes of memory were written, of which nobody had a fault. */
static __noinline int poked(struct task_ctx *c)
{
	struct poke_walk w = { c };

	if (c)
		bpf_loop(POKES, poked_piece, &w, 0);
	return 0;
}

static __always_inline int poked_by_call(struct task_ctx *c, const struct call *k, u8 shape, s64 ret, u32 proc)
{
	struct poke *p = poke_of(c);

	__builtin_memset(p, 0, sizeof(*p));
	p->proc = proc;
	if (shape == SHAPE_POKE && ret > 0) {
		p->mm = memory_of(k->arg[0]);
		p->vectors = k->arg[3];
		p->n = k->arg[4];
		p->left = ret;
	} else if (shape == SHAPE_PTRACE && !ret && (k->arg[0] == PTRACE_POKETEXT || k->arg[0] == PTRACE_POKEDATA)) {
		p->mm = memory_of(k->arg[1]);
		p->at = k->arg[2];
		p->left = p->len = sizeof(long);
	} else {
		return 0;
	}
	poked(c);
	if (p->left && proc >= PROC_FIRST)
		lose(LOSS_POKE);
	return 0;
}

/* A file of /proc was written: /proc/PID/mem holds whose memory it is, which its areas confirm. It is no quick call. */
static __always_inline int poked_by_file(struct task_ctx *c, struct file *f, const struct op *o, u32 proc)
{
	struct poke *p;

	if (!c || !f || !o)
		return 0;
	p = poke_of(c);
	__builtin_memset(p, 0, sizeof(*p));
	p->proc = proc;
	p->mm = POINTER_AT(f, struct file, private_data);
	p->at = o->offset;
	p->left = p->len = o->ret;
	poked(c);
	if (p->left != o->ret)
		c->inlined = 1;
	return 0;
}

#endif
