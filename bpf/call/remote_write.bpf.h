/* SPDX-License-Identifier: GPL-3.0-only */
/* remote_write.bpf.h - calls that write the memory of a process without a page fault of its own:
 * process_vm_writev(), ptrace(), writes to /proc/PID/mem; and madvise(MADV_POPULATE_WRITE), after
 * which stores have no fault. If that memory is a mapped file its pages may be dirty already, and
 * no tracepoint reports that they are overwritten. When such a call has returned, the memory areas
 * that it names are looked up. Bytes that are not found are a loss. Used by syscall.bpf.c, through
 * global functions: their frame, not that of the frequent calls, has what they need (6.1).
 */
#ifndef IOT_REMOTE_WRITE_BPF_H
#define IOT_REMOTE_WRITE_BPF_H

#include "vm_area.bpf.h"
#include "hooks.bpf.h"
#include "op.bpf.h"

/* Constants of linux/ptrace.h, which has registers of its own. */
#define PTRACE_POKETEXT 4
#define PTRACE_POKEDATA 5
/* A constant of asm-generic/mman-common.h (5.14). It writes no byte, but later stores there have no
 * fault. */
#define MADV_POPULATE_WRITE 23

/* pieces of one call that are processed, a third of a microsecond each: a piece is in one vector
 * and one area, and had one owner. A process that may trace another one may use the processor that
 * long. */
#define REMOTE_WRITE_PIECES 256

/* The struct mm_struct of the process, or thread, with a pid in the current task's namespace; 0: it
 * does not exist any more. */
__noinline u64 memory_of(u32 number)
{
	u64 pid = POINTER_AT(current_task(), struct task_struct, thread_pid), at, ns, node;

	at = bpf_core_field_offset(struct pid, numbers) + NUMBER_AT(pid, struct pid, level) *
		bpf_core_type_size(struct upid);
	ns = POINTER_AT(pid + at, struct upid, ns);
	pid = xa_at(ns + bpf_core_field_offset(struct pid_namespace, idr.idr_rt), number);
	if (!pid || NUMBER_AT(pid + at, struct upid, nr) != number ||
	    POINTER_AT(pid + at, struct upid, ns) != ns)
		return 0;
	node = pointer_at(pid + bpf_core_field_offset(struct pid, tasks));
	return node ? POINTER_AT(node - bpf_core_field_offset(struct task_struct, pid_links),
				 struct task_struct, mm) : 0;
}

/* Bytes [off, off + len) of a file were overwritten in memory. Returns the number of bytes, from
 * the first, that had the same owner before: these belong to the writer from now on. Pages that no
 * selected process had dirtied count as dirtied, as with a store. */
static __always_inline u64 remote_written_file(struct task_ctx *c, u64 inode, u64 off, u64 len,
					       u32 proc)
{
	u64 page = off >> PAGE_SHIFT, until = (page + same_owner_pages(inode, page)) << PAGE_SHIFT;
	struct dirtied *d = &c->dirtied_range;
	u8 how;

	len = len < until - off ? len : until - off;
	if (proc >= PROC_FIRST && page_owner(inode, page, &how) < PROC_FIRST &&
	    is_dirty((struct inode *)inode)) {
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

/* The next bytes, which are in an area, were written. Returns the number of bytes that were
 * processed. */
static __always_inline u64 remote_written_area(struct task_ctx *c, const struct remote_write *p,
					       u64 area)
{
	u64 len = NUMBER_AT(area, struct vm_area_struct, vm_end) - p->at,
		file = POINTER_AT(area, struct vm_area_struct, vm_file), off;

	len = len < p->len ? len : p->len;
	if (!file || !(NUMBER_AT(area, struct vm_area_struct, vm_flags) & VM_SHARED))
		return len;
	off = (NUMBER_AT(area, struct vm_area_struct, vm_pgoff) << PAGE_SHIFT) + p->at -
		NUMBER_AT(area, struct vm_area_struct, vm_start);
	return remote_written_file(c, (u64)data_inode((struct file *)file), off, len, p->proc);
}

/* The context of bpf_loop(), which takes only pointers to the stack. */
struct remote_write_walk {
	struct task_ctx *ctx;
};

static long remote_written_piece(u32 n, struct remote_write_walk *w)
{
	struct remote_write *p = &w->ctx->scratch.area.remote;
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

/* Processes bytes of memory that were written without a fault. Before 6.1 areas are in another kind
 * of tree. */
static __always_inline void remote_written(struct task_ctx *c, const struct remote_write *p)
{
	struct remote_write_walk w = { c };

	if (HAS_MAPLE_TREE)
		bpf_loop(REMOTE_WRITE_PIECES, remote_written_piece, &w, 0);
	if (p->left && p->proc >= PROC_FIRST)
		lose(LOSS_POKE);
}

static __always_inline bool writes_memory(u64 request)
{
	return request == PTRACE_POKETEXT || request == PTRACE_POKEDATA;
}

/* True for a finished 32-bit call that wrote the memory of a process. */
static __always_inline bool compat_remote_write(u64 nr, s64 ret)
{
	if (REDUCED || !cfg.claims)
		return false;
	return nr == COMPAT_PTRACE ? !ret &&
	       writes_memory(compat_arg0(current_regs())) : nr == COMPAT_VM_WRITEV && ret > 0;
}

static __always_inline u8 shape_of(const struct call *k)
{
	return call_row(k->nr)->shape;
}

/* Fills in the memory that a call of SHAPE_POKE, SHAPE_PTRACE or SHAPE_MADVISE has written. */
static __always_inline void remote_write_of_call(struct remote_write *p, const struct call *k,
						 s64 ret)
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

/* Fills in the memory that a write to /proc/PID/mem has written. Returns false for any other
 * file. */
static __always_inline bool remote_write_of_file(struct remote_write *p, const struct call *k,
						 s64 ret)
{
	struct file *f = file_of(k->arg[0]);

	if (!f || !is_process_memory(f))
		return false;
	p->mm = POINTER_AT(f, struct file, private_data);
	/* an append does not append here */
	p->at = is_positional(shape_of(k), k) ? k->arg[3] : NUMBER_AT(f, struct file, f_pos) - ret;
	p->left = p->len = ret > 0 ? ret : 0;
	return true;
}

/* The call in the context has returned: one that writes the memory of a process, or a file that is
 * no storage. Returns true when that file is the memory of a process: such calls do not take the
 * fast path. */
__noinline int remote_written_by_call(struct task_ctx *c, u32 proc)
{
	const struct call *k;
	bool memory = false;
	struct remote_write *p;
	s64 ret;

	if (!c)
		return 0;
	k = &c->regs;
	ret = c->op.ret;
	p = &c->scratch.area.remote;
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
