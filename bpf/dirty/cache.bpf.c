// SPDX-License-Identifier: GPL-3.0-only
/* cache.bpf.c - owners of dirty pages: noted where pages are dirtied, inside the call or fault that
 * does it. Demand misses and readahead are counted where they reach the block layer (block.bpf.c),
 * which is the same on every kernel; insertions into the page cache are not, and they include holes
 * and whole-page writes.
 */
#include "vm_area.bpf.h"
#include "btrfs_shared.bpf.h"
#include "mark.bpf.h"
#include "task_op.bpf.h"
#include "ext4_inode.bpf.h"
#include "folio_range.bpf.h"
#include "single_writer.bpf.h"
#include "time.bpf.h"
#include "program_copies.bpf.h"

/* Claims pages of a block device: pages that a call writes through the device node are file
 * contents; all others are structures of the file system on it. */
static __always_inline int dirty_device(struct task_ctx *c, struct inode *i, u64 off, u64 bytes)
{
	u64 owner;
	u8 how;

	if (!(current_task()->flags & PF_KTHREAD)) /* a kernel thread is in no call */
		range_look(c);
	if (c->call && c->write && c->target.inode == (u64)i)
		return page_owner_set((u64)i, off, bytes, proc_current(c) | OWNER_DATA, false);
	owner = owner_current(c, &how);
	return page_owner_set((u64)i, off, 1, owner, false);
}

/* A copy_file_range() dirtied its first page. */
static __always_inline void copied(struct task_ctx *c)
{
	if (c && !c->copy.ns)
		c->copy.ns = bpf_ktime_get_ns();
}

/* A folio was dirtied in a call that writes, or for a request. */
static __always_inline void write_dirtied(struct task_ctx *c, struct task_struct *t,
					  enum task_op task_op, u64 inode, const struct dirtied *d)
{
	if (task_op == TASK_OP_COPY)
		copied(c);
	if (!(t->flags & PF_IO_WORKER))
		return;
	uring_dirtied_late(inode, d->off, d->bytes);
	uring_dirtied(bpf_ktime_get_ns());
}

/* True in a call that writes, or that submits a single libaio request. */
static __always_inline bool writes_once(enum task_op task_op)
{
	return task_op <= TASK_OP_WRITE ||
	       (task_op == TASK_OP_AIO && regs_arg1(current_regs()) == 1);
}

/* The entry of the current thread, if writes_once() holds and it is no kernel thread. */
static __always_inline struct thread *thread_writes(struct task_struct *t, enum task_op task_op)
{
	return writes_once(task_op) && !(t->flags & PF_KTHREAD) &&
	       !is_worker(t) ? thread_take(t) : NULL;
}

/* True when the last fault was one of the kernel in the call in progress, which stores to a mapped
 * file what it reads from another file or a socket. */
static __always_inline bool stored_by_call(const struct task_ctx *c, struct task_struct *t)
{
	return c->fault.call && c->fault.call == fault_call(t);
}

/* Claims a folio that is dirtied: when a write dirties it, the range that is written, where that
 * is known. The rest of it may be under writeback, and blocks that are dirtied later are claimed
 * then. */
static __always_inline void page_owner_set_folio(const struct task_ctx *c, struct inode *i, u64 off,
						 u64 bytes, bool writes, u64 owner)
{
	u64 from = off, to = off + bytes;

	if (writes && is_on(i, EXT4_SUPER_MAGIC) && !is_dirtied_as_folio((u64)i, off))
		return; /* claimed block by block in cache__buffer */
	if (writes && c->part.inode == (u64)i) {
		from = from > c->part.from ? from : c->part.from;
		to = to < c->part.to ? to : c->part.to;
	}
	if (from >= to) { /* the range is of an earlier write */
		from = off;
		to = off + bytes;
	}
	page_owner_set((u64)i, from, to - from, owner, !is_dirty(i));
}

/* Counts a dirtied folio of a file. Returns the aggregate; IOT_NO_CELL: the file is not on the disk
 * of --dev. */
static __always_inline u32 dirty_count(struct inode *i, u64 owner, u8 how)
{
	struct iot_cell_key k = {};
	u32 cell;

	k.owner = owner_top(owner);
	k.dev = inode_dev(i);
	k.kind = KIND_DIRTY;
	k.how = how;
	k.sub = SUB_FT_REG;
	if (!dev_wanted(k.dev))
		return IOT_NO_CELL;
	cell = cell_find(&k);
	cell_add(cell, 1, 0, 0, 0, false);
	return cell;
}

/* True when all blocks of this folio are dirty once it is. On XFS they are when there is no
 * iomap_folio_state: before 6.6, and in a call that was to write all of them, however few it then
 * copied. */
static __always_inline bool is_dirty_as_one(struct inode *i, struct folio *f, u64 bytes)
{
	return bytes >> (NUMBER_AT(i, struct inode, i_blkbits) & 63) > 1 &&
	       is_on(i, XFS_SUPER_MAGIC) &&
	       !(HAS_IOMAP_FOLIO_STATE &&
		 POINTER_AT(f, struct folio___private, private));
}

/* True when a store dirties a folio as a whole, not block by block. A call that stores to mapped
 * memory does not, except with journalled data. */
static __always_inline bool is_dirtied_whole(struct inode *i, enum task_op task_op)
{
	return task_op == TASK_OP_STORE || is_journalled((u64)i);
}

/* A folio of several blocks, or of a run with events, was dirtied by the call in progress, which
 * writes a file with its process as the single writer. */
static __noinline int single_dirty(const void *ctx, struct thread *th, struct folio *f,
				   struct inode *i)
{
	struct dirtied d = {};

	folio_range(ctx, f, i, &d);
	dirtied_in_call(th, (u64)i, d.off, d.bytes, false);
	if (is_dirty_as_one(i, f, d.bytes))
		fresh_note(&th->fresh, i, d.off, d.bytes);
	return 0;
}

/* A folio was dirtied, in any other case. Out of line, so that the usual case saves no
 * registers. */
static __noinline int folio_dirty(const void *ctx, struct folio *f, struct inode *i)
{
	struct task_struct *t = current_task();
	struct dirtied d = {};
	struct task_ctx *c;
	struct thread *th;
	enum task_op op;
	u64 owner, off;
	u32 cell;
	bool whole, as_one;
	u8 how;

	th = thread_of(t->pid);
	op = task_op_now(t);
	folio_range(ctx, f, i, &d);
	off = d.off;
	if (op == TASK_OP_AIO && !writes_once(op))
		aio_dirties((u64)i, off, d.bytes);
	as_one = is_dirty_as_one(i, f, d.bytes);
	if (op <= TASK_OP_AIO && !as_one && is_single_writer(th, t, (u64)i)) {
		if (op == TASK_OP_COPY)
			copied(ctx_find());
		cell_add(th->dirty_cell, 1, 0, 0, 0, false);
		if (writes_once(op))
			dirtied_in_call(th, (u64)i, off, d.bytes, false);
		return 0;
	}
	if (!(c = ctx_make()))
		return 0;
	th = thread_writes(t, op);
	if (is_blockdev(i))
		return dirty_device(c, i, off, d.bytes);
	if (inode_number(i) == BTRFS_TREES_INODE && is_on(i, BTRFS_MAGIC))
		return 0; /* the inode of its trees, no file */
	if (c->behalf == BEHALF_LOOP || is_put_back(c, op, i))
		return 0; /* noted when the loop request was issued */
	owner = owner_current(c, &how);
	if (!owner && t->flags & PF_WQ_WORKER && is_on(i, BTRFS_MAGIC))
		return 0; /* its writeback redirties what it could not write: the owner stays */
	cell = dirty_count(i, owner, how);
	if (owner & OWNER_TXN)
		return 0;
	op = task_op_on(c, i, op);
	page_owner_set_folio(c, i, off, d.bytes, op <= TASK_OP_COPY, owner);
	if (op <= TASK_OP_COPY) {
		write_dirtied(c, t, op, (u64)i, &d);
		if (th)
			dirtied_in_call(th, (u64)i, off, d.bytes, false);
		whole = is_dirtied_as_folio((u64)i, off) &&
			NUMBER_AT(i, struct inode, i_blkbits) == PAGE_SHIFT;
		if (whole || as_one)
			fresh_note_for(c, t, i, off, d.bytes);
		if (!whole && cell != IOT_NO_CELL && c->proc == owner && c->behalf == BEHALF_NONE &&
		    !(owner >> 32) && !is_worker(t))
			single_writer_learn(t, i, owner, cell);
		return 0;
	}
	d.proc = owner;
	d.how = how;
	whole = is_journalled((u64)i);
	if (op == TASK_OP_STORE || (whole && stored_by_call(c, t))) {
		c->fault.folio = (u64)f;
		whole = true;
	} else {
		d.beyond = 1; /* the kernel appends */
		d.unsure = !whole || NUMBER_AT(i, struct inode, i_blkbits) < PAGE_SHIFT;
	}
	/* otherwise blocks inside the file are reported one by one */
	if (whole || off + d.bytes > NUMBER_AT(i, struct inode, i_size))
		dirty_range(i, &d);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int PROBE(cache__dirty, struct folio *f, struct address_space *m)
{
	struct iot_state *s = run_state();
	struct task_struct *t;
	struct thread *th;
	struct inode *i;

	if (!m || !f || !s || !s->gate)
		return 0;
	i = (struct inode *)POINTER_AT(m, struct address_space, host);
	if (!i)
		return 0;
	t = CURRENT_TASK; /* trusted: its numbers are read without a check of the address */
	th = thread_of(t->pid);
	if (!is_single_writer_now(s, th, t, (u64)i) || !in_write_call(t, regs_of(t)))
		return folio_dirty(ctx, f, i);
	/* the usual case */
	cell_add(th->dirty_cell, 1, 0, 0, 0, false);
	if (cfg.events ||
	    folio_pages(f) << PAGE_SHIFT > 1UL << (NUMBER_AT(i, struct inode, i_blkbits) & 31))
		single_dirty(ctx, th, f, i);
	return 0;
}

static __always_inline struct folio *buffer_folio(struct buffer_head *b)
{
	if (HAS_BUFFER_FOLIO)
		return (struct folio *)POINTER_AT(b, struct buffer_head, b_folio);
	return page_folio((struct page *)POINTER_AT(b, struct buffer_head___page, b_page));
}

/* The offset of a buffer in its file. To 7.2 b_data itself is an address of memory, in sums too. */
static __always_inline u64 buffer_offset(struct buffer_head *b, struct folio *f)
{
	u64 data = POINTER_AT(b, struct buffer_head, b_data);

	return ((u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT) +
	       (data & ((folio_pages(f) << PAGE_SHIFT) - 1));
}

/* A block of a device is dirtied. A checkpoint writes buffers and leaves their folio dirty, so no
 * folio is reported then. */
static __noinline int structure_dirty(struct buffer_head *b, struct folio *f, struct inode *i)
{
	struct task_ctx *c;

	if (NUMBER_AT(b, struct buffer_head, b_state) & BH_DIRTY)
		return 0;
	c = ctx_make();
	return c ? dirty_device(c, i, buffer_offset(b, f),
				NUMBER_AT(b, struct buffer_head, b_size)) : 0;
}

static __always_inline void dirty_buffer(struct inode *i, u64 off, u64 bytes, u32 proc, u8 how,
					 bool beyond)
{
	struct dirtied d = { .off = off, .bytes = bytes, .proc = proc, .how = how,
			     .beyond = beyond };

	dirty_range(i, &d);
}

/* A block of a file was dirtied, in any other case than the usual one. Out of line, as
 * folio_dirty(). */
static __noinline int buffer_dirty(struct buffer_head *b, struct folio *f, struct inode *i)
{
	struct task_struct *t = current_task();
	struct task_ctx *c;
	struct thread *th;
	enum task_op task_op;
	u64 owner, off, bytes;
	bool dirty, stores;
	u8 how;

	if (is_blockdev(i))
		return structure_dirty(b, f, i);
	if ((inode_mode(i) & S_IFMT) != S_IFREG)
		return 0;
	dirty = b->b_state & BH_DIRTY;
	task_op = task_op_now(t);
	if (dirty && task_op <= TASK_OP_COPY && !(t->flags & PF_KTHREAD))
		return 0;
	c = ctx_make();
	th = thread_writes(t, task_op);
	if (c && task_op == TASK_OP_AIO)
		task_op = aio_task_op(c, i);
	stores = c && (task_op == TASK_OP_STORE ||
		       (task_op == TASK_OP_OTHER && stored_by_call(c, t)));
	if (dirty && !stores && !(t->flags & PF_KTHREAD))
		return 0;
	if (!c || c->behalf == BEHALF_LOOP)
		return 0;
	off = buffer_offset(b, f);
	bytes = NUMBER_AT(b, struct buffer_head, b_size);
	if (!dirty && th)
		dirtied_in_call(th, (u64)i, off, bytes, true);
	if (!dirty && task_op <= TASK_OP_COPY && is_single_writer(thread_of(t->pid), t, (u64)i)) {
		fresh_note_for(c, t, i, off, bytes);
		return 0;
	}
	owner = owner_current(c, &how);
	if (owner & OWNER_TXN)
		return 0;
	if (dirty && stores) {
		/* from now on it belongs to the faulting process, as with a write */
		if (c->fault.over_inode == (u64)i && c->fault.over_index == off >> PAGE_SHIFT)
			dirty_buffer(i, off, bytes, owner, how, false);
		if (!is_exposed(c, i, off >> PAGE_SHIFT, owner))
			return 0;
		owner = PROC_NONE;
	}
	page_owner_set((u64)i, off, 1, owner, !is_dirty(i));
	if (!dirty && task_op <= TASK_OP_COPY)
		fresh_note_for(c, t, i, off, bytes);
	else if (!dirty && !(stores &&
			     (c->fault.folio == (u64)f || (is_dirtied_whole(i, task_op) &&
						       !folio_is_dirty((u64)f)))))
		/* the kernel appends */
		dirty_buffer(i, off, bytes, owner, how, task_op == TASK_OP_OTHER);
	return 0;
}

/* mark_buffer_dirty(): a block of a file is dirtied in a file system with buffer heads, also in a
 * folio that is dirty already, for which there is no other tracepoint. A clean block is claimed
 * even if the call fails later; a dirty one is claimed when the call has returned, for the bytes
 * that it wrote. A fault dirties its whole folio, and the clean blocks belong to the faulting
 * process. */
SEC("tp_btf/block_dirty_buffer")
int PROBE(cache__buffer, struct buffer_head *b)
{
	struct iot_state *s = run_state();
	struct task_struct *t;
	struct thread *th;
	struct inode *i;
	struct folio *f;
	u64 off, bytes;

	if (!b || !s || !s->gate)
		return 0;
	f = buffer_folio(b);
	i = f ? folio_inode(f) : NULL;
	if (!i)
		return 0;
	t = CURRENT_TASK;
	th = thread_of(t->pid);
	if (!is_single_writer_now(s, th, t, (u64)i) || !in_write_call(t, regs_of(t)) ||
	    (inode_mode(i) & S_IFMT) != S_IFREG)
		return buffer_dirty(b, f, i);
	/* the usual case */
	if (b->b_state & BH_DIRTY)
		return 0;
	off = buffer_offset(b, f);
	bytes = b->b_size;
	dirtied_in_call(th, (u64)i, off, bytes, true);
	fresh_note(&th->fresh, i, off, bytes);
	return 0;
}

/* ---- faults ---- */

/* bits of the error code of x86, the only architecture with these tracepoints */
#define FAULT_PRESENT 1
#define FAULT_WRITE 2

static long area_note(struct task_struct *t, struct vm_area_struct *v, struct area_walk *w)
{
	w->ctx->scratch.vma = (u64)v; /* as a number, which must not be on the stack */
	return 0;
}

/* The memory area of the current process that an address is in, or 0. */
__noinline u64 area_of(struct task_ctx *c, u64 address)
{
	struct area_walk w = { .ctx = c, .address = address };
	u64 area;

	if (!c)
		return 0;
	area = area_in(c, POINTER_AT(current_task(), struct task_struct, mm), address);
	if (area)
		return area;
	/* another kind of tree, a tree that changed meanwhile, or no area at all */
	c->scratch.vma = 0;
	bpf_find_vma(bpf_get_current_task_btf(), address, area_note, &w, 0);
	return c->scratch.vma;
}

/* A store to a page of a mapped file, which may be dirty already, and is overwritten. */
static __always_inline int store_to(struct task_ctx *c, u64 address, bool mapped)
{
	u64 area, file, inode, first, from, index;
	u32 proc;
	u8 how;

	c->fault.address = 0;
	c->fault.folio = 0;
	c->fault.inode = 0;
	c->fault.call = 0;
	c->fault.over_inode = 0;
	c->fault.was_inode = 0;
	area = area_of(c, address);
	if (!area || !(NUMBER_AT(area, struct vm_area_struct, vm_flags) & VM_SHARED))
		return 0;
	file = POINTER_AT(area, struct vm_area_struct, vm_file);
	if (!file)
		return 0;
	inode = (u64)data_inode((struct file *)file);
	first = NUMBER_AT(area, struct vm_area_struct, vm_pgoff);
	from = NUMBER_AT(area, struct vm_area_struct, vm_start);
	index = first + ((address - from) >> PAGE_SHIFT);
	if (index << PAGE_SHIFT >= NUMBER_AT(inode, struct inode, i_size))
		return 0; /* the thread gets SIGBUS */
	if (!mapped) { /* all of its folio may be mapped at once (6.18) */
		c->fault.inode = inode;
		c->fault.call = fault_call(current_task());
		c->fault.index = index;
		c->fault.first = first;
		c->fault.last = first + ((NUMBER_AT(area, struct vm_area_struct, vm_end) - from) >>
					PAGE_SHIFT) - 1;
	}
	proc = proc_current(c);
	if (is_dirty((struct inode *)inode)) {
		c->fault.was_inode = inode;
		c->fault.was_index = index;
		c->fault.was_owner = page_owner(inode, index, &how);
		c->fault.was_call = fault_call(current_task());
	}
	if (c->fault.was_inode && proc >= PROC_FIRST && c->fault.was_owner < PROC_FIRST) {
		c->fault.over_inode = inode;
		c->fault.over_index = index;
	}
	return page_owner_overwrite(inode, index << PAGE_SHIFT, PAGE_SIZE, proc);
}

static __always_inline int fault(u64 address, u64 error)
{
	struct task_ctx *c;

	if (!(error & FAULT_WRITE) || (s64)address < 0 || !gate_open() ||
	    current_task()->flags & PF_KTHREAD)
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	if (error & FAULT_PRESENT || !cfg.faults)
		return store_to(c, address, error & FAULT_PRESENT);
	c->fault.address = address; /* cache__fault is called for those of a file */
	return 0;
}

SEC("tp_btf/page_fault_user")
int PROBE(cache__fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault(address, error);
}

SEC("tp_btf/page_fault_kernel")
int PROBE(cache__fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault(address, error);
}

/* mm_filemap_fault: a fault looks into the page cache, and what it reads beyond its page is
 * readahead. Absent before 6.12. */
SEC("tp_btf/mm_filemap_fault")
int PROBE(cache__fault, struct address_space *m, unsigned long index)
{
	struct task_struct *t = current_task();
	struct task_ctx *c;

	if (!m || !gate_open())
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	if (c->fault.address)
		store_to(c, c->fault.address, false);
	if (t->flags & PF_KTHREAD || is_worker(t) || regs_in_call(current_regs()))
		return 0;
	c->range.inode = POINTER_AT(m, struct address_space, host);
	c->range.off = (u64)index << PAGE_SHIFT;
	c->range.len = PAGE_SIZE;
	c->range.state = RANGE_FAULT; /* valid until the next system call */
	return 0;
}

/* ---- what is clean again ---- */

static long sweep_writer(void *map, u64 *key, struct writer *w, struct iot_clean_up *ask)
{
	struct iot_state *s = run_state();
	struct inode *i = (struct inode *)*key;

	if (!s || s->second - w->second < ask->min_age || w->loop ||
	    (is_same_inode(w, i) && is_dirty(i)))
		return 0;
	writer_drop(*key);
	return 0;
}

/* Seconds that a page may be under writeback on a slow device: while there is room, more than any
 * device takes. */
static __always_inline u32 under_way(const struct iot_state *s, const struct iot_clean_up *ask)
{
	return s->claims > cfg.max_claims / 2 ? ask->min_age : 30;
}

static long sweep_claim(void *map, struct claim_key *k, struct claim *c, struct iot_clean_up *ask)
{
	struct writer *w = bpf_map_lookup_elem(&writers, &c->inode);
	struct iot_state *s = run_state();
	struct user_share *u;

	if (!s)
		return 1;
	if (w && w->space == k->space &&
	    (!c->carried || (u16)(s->second - c->second) < under_way(s, ask)))
		return 0;
	u = user_of(c->user);
	if (bpf_map_delete_elem(&claims, k))
		return 0;
	__sync_fetch_and_add(&s->claims, -1);
	if (u)
		__sync_fetch_and_add(&u->claims, -1);
	return 0;
}

/* Called by the tracer: removes entries of clean files and pages. */
SEC("syscall")
int cache__sweep(struct iot_clean_up *ask)
{
	struct iot_clean_up a = { ask->min_age };

	bpf_for_each_map_elem(&writers, sweep_writer, &a, 0);
	bpf_for_each_map_elem(&claims, sweep_claim, &a, 0);
	return 0;
}

/* Called by the tracer on each processor. The BPF memory allocator begins with four free claims for
 * each processor, and refills when the first is taken: one call may need more while interrupts are
 * off. */
SEC("raw_tp")
int cache__stock(void *ctx)
{
	struct claim_key k = { .space = ~0ULL };
	struct claim c = {};

	k.at = bpf_get_smp_processor_id();
	bpf_map_update_elem(&claims, &k, &c, BPF_ANY);
	bpf_map_delete_elem(&claims, &k);
	return 0;
}
