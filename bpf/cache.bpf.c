// SPDX-License-Identifier: GPL-3.0-only
/* cache.bpf.c - who dirtied what without a system call that says so: page faults, io_uring, kernel threads. Demand
 * misses and readahead are counted where they reach the block layer (block.bpf.c), which is the same on every
 * kernel; page-cache insertions are not, and they count holes and whole-page writes too.
 */
#include "owner.bpf.h"

/* io_uring's own threads have no system call either, but they do not take page faults on shared files. */
static __always_inline bool is_worker(struct task_struct *t)
{
	return t->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

static __always_inline void dirty_event(struct inode *i, u64 off, u64 bytes, u32 proc, u8 how)
{
	struct iot_ring_event *r;

	if (!wants_event(proc))
		return;
	r = event_reserve(LOSS_EVENT_CACHE);
	if (!r)
		return;
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.offset = off;
	r->e.bytes = r->e.size = bytes;
	r->e.task = r->e.owner = proc;
	r->e.tid = current_thread();
	r->e.how = how;
	r->e.kind = KIND_DIRTY_MMAP;
	r->e.sub = SUB_FT_REG;
	r->e.file = file_number(i);
	r->e.dev = inode_dev(i);
	event_submit(r);
}

/* A folio of a file went dirty in a page fault. Its bytes end at the end of the file. */
static __always_inline void dirty_mmap(struct inode *i, u64 off, u64 pages, u32 proc, u8 how)
{
	struct iot_cell_key k = {};
	u64 bytes = pages << PAGE_SHIFT, end = NUMBER_AT(i, struct inode, i_size);

	end = (end + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	if (off + bytes > end)
		bytes = end > off ? end - off : 0;
	k.owner = proc;
	k.dev = inode_dev(i);
	k.kind = KIND_DIRTY_MMAP;
	k.how = how;
	k.sub = SUB_FT_REG;
	count(&k, 1, bytes, 0, false);
	dirty_event(i, off, bytes, proc, how);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(cache__dirty, struct folio *f, struct address_space *m)
{
	struct task_struct *t = current_task();
	struct iot_cell_key k = {};
	struct task_ctx *c;
	struct inode *i;
	u64 owner, off, pages;
	u8 how;

	if (!m || !f || !gate_open())
		return 0;
	i = (struct inode *)POINTER_AT(m, struct address_space, host);
	if (!i)
		return 0;
	c = ctx_find();
	off = (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT;
	if (is_blockdev(i)) {
		if (c && c->call && c->range_known == 1 && c->range_inode == (u64)i)
			return 0; /* write(2) on the device: marked at its entry */
		owner = owner_current(c, &how);
		if (owner)
			mark_pages(i, off, 1, owner);
		return 0;
	}
	if (c && c->behalf == BEHALF_LOOP)
		return 0; /* marked when the loop request was issued */
	owner = owner_current(c, &how);
	k.owner = owner_top(owner);
	k.dev = inode_dev(i);
	k.kind = KIND_DIRTY;
	k.how = how;
	k.sub = SUB_FT_REG;
	count(&k, 1, 0, 0, false);
	if (c && c->call && c->write && c->range_inode == (u64)i)
		return 0; /* marked at the entry of the call, byte by byte */
	if (owner & OWNER_TXN || !owner)
		return 0;
	pages = folio_pages(f);
	writer_mark(i, off, pages << PAGE_SHIFT, owner);
	if (!is_worker(t) && !(c && c->call))
		dirty_mmap(i, off, pages, owner, how);
	return 0;
}

/* The page that a fault waits for: what it reads beyond that is readahead. Absent before 6.12. */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(cache__fault, struct address_space *m, unsigned long index)
{
	struct task_ctx *c;

	if (!m || !gate_open())
		return 0;
	c = ctx_make();
	if (!c || c->call)
		return 0;
	c->range_inode = POINTER_AT(m, struct address_space, host);
	c->range_off = (u64)index << PAGE_SHIFT;
	c->range_len = PAGE_SIZE;
	c->range_known = 3; /* only until the next system call */
	return 0;
}
