/* SPDX-License-Identifier: GPL-3.0-only */
/* remote_write.bpf.h - calls that write the memory of a process without a fault of it: process_vm_writev, ptrace, writes to /proc/PID/mem; and
 * madvise, where it makes pages writable, so that the stores have none. Where that is a mapped file, its pages may be dirty already, and
 * then nothing else tells that they are written over. When such a call has returned, the areas of the process that it names are looked at.
 * What of its bytes is not found there is a loss. Used by syscall.bpf.c: what is called from there is global, so that its frame, and not
 * that of the calls that are many, has what they need (6.1).
 */
#ifndef IOT_POKE_BPF_H
#define IOT_POKE_BPF_H

#include "vm_area.bpf.h"
#include "hooks.bpf.h"
#include "op.bpf.h"

/* Of linux/ptrace.h, which has registers of its own. */
#define PTRACE_POKETEXT 4
#define PTRACE_POKEDATA 5
/* Of asm-generic/mman-common.h (5.14): no byte is written, but stores there have no fault from then on. */
#define MADV_POPULATE_WRITE 23

#define REMOTE_WRITE_PIECES 256              /* pieces of one call that are looked at, a third of a microsecond each: one is in one vector and one area, and
				* had one owner. Whoever may trace a process may hold the processor that long. */

/* What is left of a call; in task_ctx.scratch, behind what a walk through areas reads there. */
struct remote_write {
	u64 mm;                /* struct mm_struct of whose memory it is */
	u64 vectors, n;        /* of it, that come next */
	u64 at, len;           /* the bytes that come next, of the vector before */
	u64 left;              /* of all that was written */
	struct user_iovec next;
	u32 proc;
};
_Static_assert(NODE_BYTES + sizeof(struct remote_write) <= sizeof(((struct task_ctx *)0)->scratch), "task_ctx.scratch");

static __always_inline struct remote_write *remote_write_of(struct task_ctx *c)
{
	return (struct remote_write *)&c->scratch[NODE_WORDS];
}

/* The struct mm_struct of the process, or thread, that has a number in the current one's namespace; 0: there is none any more. */
__noinline u64 memory_of(u32 number)
{
	u64 pid = POINTER_AT(current_task(), struct task_struct, thread_pid), at, ns, node;

	at = bpf_core_field_offset(struct pid, numbers) + NUMBER_AT(pid, struct pid, level) * bpf_core_type_size(struct upid);
	ns = POINTER_AT(pid + at, struct upid, ns);
	pid = xa_at(ns + bpf_core_field_offset(struct pid_namespace, idr.idr_rt), number);
	if (!pid || NUMBER_AT(pid + at, struct upid, nr) != number || POINTER_AT(pid + at, struct upid, ns) != ns)
		return 0;
	node = pointer_at(pid + bpf_core_field_offset(struct pid, tasks));
	return node ? POINTER_AT(node - bpf_core_field_offset(struct task_struct, pid_links), struct task_struct, mm) : 0;
}

/* Bytes [off, off + len) of a file were written in memory. Returns how many of them, from the first, had the same owner before: these are
 * the writer's from now. What nobody who is wanted had dirtied turns dirty by it, as with a store. */
static __always_inline u64 remote_written_file(struct task_ctx *c, u64 inode, u64 off, u64 len, u32 proc)
{
	u64 page = off >> PAGE_SHIFT, until = (page + same_owner_pages(inode, page)) << PAGE_SHIFT;
	struct dirtied *d = (struct dirtied *)c->dirtied_range;
	u8 how;

	len = len < until - off ? len : until - off;
	if (proc >= PROC_FIRST && page_owner(inode, page, &how) < PROC_FIRST && is_dirty((struct inode *)inode)) {
		__builtin_memset(d, 0, sizeof(*d));
		d->off = page << PAGE_SHIFT;
		d->bytes = ((off + len + PAGE_SIZE - 1) & -PAGE_SIZE) - d->off;
		d->proc = proc;
		d->how = HOW_EXACT;
		dirty_range((struct inode *)inode, d);
	}
	page_owner_overwrite(inode, off, len, proc);
	return len;
}

/* The bytes that come next were written, which are in an area. Returns how many of them have been looked at. */
static __always_inline u64 remote_written_area(struct task_ctx *c, const struct remote_write *p, u64 area)
{
	u64 len = NUMBER_AT(area, struct vm_area_struct, vm_end) - p->at, file = POINTER_AT(area, struct vm_area_struct, vm_file), off;

	len = len < p->len ? len : p->len;
	if (!file || !(NUMBER_AT(area, struct vm_area_struct, vm_flags) & VM_SHARED))
		return len;
	off = (NUMBER_AT(area, struct vm_area_struct, vm_pgoff) << PAGE_SHIFT) + p->at - NUMBER_AT(area, struct vm_area_struct, vm_start);
	return remote_written_file(c, (u64)data_inode((struct file *)file), off, len, p->proc);
}

/* The context of bpf_loop(), which takes nothing but pointers to the stack. */
struct remote_write_walk {
	struct task_ctx *ctx;
};

static long remote_written_piece(u32 n, struct remote_write_walk *w)
{
	struct remote_write *p = remote_write_of(w->ctx);
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
		if (!p->len)
			return 0;
	}
	area = area_in(w->ctx, p->mm, p->at);
	if (!area)
		return 1;
	len = remote_written_area(w->ctx, p, area);
	p->at += len;
	p->len -= len;
	p->left -= len;
	return 0;
}

/* Bytes of memory were written, of which nobody had a fault. Before 6.1 areas are in another kind of tree. */
static __always_inline void remote_written(struct task_ctx *c, const struct remote_write *p)
{
	struct remote_write_walk w = { c };

	if (bpf_core_field_exists(struct mm_struct, mm_mt))
		bpf_loop(REMOTE_WRITE_PIECES, remote_written_piece, &w, 0);
	if (p->left && p->proc >= PROC_FIRST)
		lose(LOSS_POKE);
}

static __always_inline bool writes_memory(u64 request)
{
	return request == PTRACE_POKETEXT || request == PTRACE_POKEDATA;
}

/* A 32-bit call has returned: did it write the memory of a process? */
static __always_inline bool compat_remote_write(u64 nr, s64 ret)
{
	if (REDUCED || !cfg.claims)
		return false;
	return nr == COMPAT_PTRACE ? !ret && writes_memory(compat_arg0(current_regs())) : nr == COMPAT_VM_WRITEV && ret > 0;
}

static __always_inline u8 shape_of(const struct call *k)
{
	return call_row(k->nr)->shape;
}

/* One of SHAPE_POKE, SHAPE_PTRACE or SHAPE_MADVISE has returned. */
static __always_inline void remote_write_of_call(struct remote_write *p, const struct call *k, s64 ret)
{
	if (shape_of(k) == SHAPE_POKE && ret > 0) {
		p->mm = memory_of(k->arg[0]);
		p->vectors = k->arg[3];
		p->n = k->arg[4];
		p->left = ret;
	} else if (shape_of(k) == SHAPE_PTRACE && !ret && writes_memory(k->arg[0])) {
		p->mm = memory_of(k->arg[1]);
		p->at = k->arg[2];
		p->left = p->len = sizeof(long);
	} else if (shape_of(k) == SHAPE_MADVISE && !ret) {
		p->mm = POINTER_AT(current_task(), struct task_struct, mm);
		p->at = k->arg[0];
		p->left = p->len = k->arg[1];
	}
}

/* A call has written a file that is no storage. Returns whether it is the memory of a process. */
static __always_inline bool remote_write_of_file(struct remote_write *p, const struct call *k, s64 ret)
{
	struct file *f = file_of(k->arg[0]);

	if (!f || !is_process_memory(f))
		return false;
	p->mm = POINTER_AT(f, struct file, private_data);
	p->at = is_positional(shape_of(k), k) ? k->arg[3] : NUMBER_AT(f, struct file, f_pos) - ret; /* an append is none here */
	p->left = p->len = ret > 0 ? ret : 0;
	return true;
}

/* The call that is in the context has returned: one that writes the memory of a process, or a file that is no storage. Returns whether that
 * file is the memory of a process, of which no call is like another. */
__noinline int remote_written_by_call(struct task_ctx *c, u32 proc)
{
	const struct call *k;
	bool memory = false;
	struct remote_write *p;
	s64 ret;

	if (!c)
		return 0;
	k = (struct call *)c->regs;
	ret = ((struct op *)c->op)->ret;
	p = remote_write_of(c);
	__builtin_memset(p, 0, sizeof(*p));
	p->proc = proc;
	if (shape_of(k) >= SHAPE_POKE && shape_of(k) <= SHAPE_MADVISE)
		remote_write_of_call(p, k, ret);
	else
		memory = remote_write_of_file(p, k, ret);
	if (p->left && cfg.claims)
		remote_written(c, p);
	return memory;
}

#endif
