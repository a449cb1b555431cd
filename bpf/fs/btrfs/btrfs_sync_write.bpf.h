/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_sync_write.bpf.h - file data of btrfs that a call writes: what is written back before it
 * returns, and pages that it dirties outside its range. Used by fs_btrfs.bpf.c.
 */
#ifndef IOT_BTRFS_SYNC_WRITE_BPF_H
#define IOT_BTRFS_SYNC_WRITE_BPF_H

#include "btrfs_data.bpf.h"
#include "task_op.bpf.h"
#include "sync_write.bpf.h"
#define DIRTY_FOLIOS
#include "hooks.bpf.h"
#include "program_copies.bpf.h"

static __always_inline bool uring_sync_write(const struct uring_io *io, struct sync_write *t)
{
	bool splices = uring_op(io->opcode)->flags & OP_SPLICE;

	if (!io->write)
		return false;
	t->inode = io->host;
	/* the position has moved by the copied bytes */
	t->off = splices ? io->offset : io->offset - io->len;
	t->len = io->len;
	sync_write_flags(t, (struct file *)io->file,
			 splices ? 0 : NUMBER_AT(uring_cmd(io->req), struct io_rw, flags));
	return true;
}

/* The request that io_submit() executes: known when it is synced; a direct one by the byte that is
 * written back, ~0: any. */
static __noinline int aio_sync_write(struct task_ctx *c, struct sync_write *t, u64 from, u64 number)
{
	struct aio_search s = { .from = from, .number = number };

	if (!c || !t)
		return false;
	if (c->aio.now && from != ~0ULL) {
		s.what = AIO_AT;
		s.first = c->aio.now - 1;
		/* else it is over */
		if (aio_search(&s) && (s.t.direct ? c->aio.from == from + 1 : !c->copy.what)) {
			*t = s.t;
			return true;
		}
		s.first = c->aio.now;
		s.found = 0;
	}
	s.what = AIO_DIRECT;
	if (!aio_search(&s))
		return false;
	if (from != ~0ULL) {
		c->aio.now = s.found;
		c->aio.from = from + 1;
		c->aio.direct = s.address;
	}
	*t = s.t;
	return true;
}

/* Finds the write in progress. from: first byte that is written back, ~0: none; number: number of
 * the inode. */
static __always_inline bool sync_write_look(struct task_ctx *c, struct sync_write *t, u64 from,
					    u64 number)
{
	const struct pt_regs *regs = current_regs();
	struct uring_io io = {};
	struct file *f;

	if (uring_current(c, &io, number))
		return uring_sync_write(&io, t);
	if (c->call && c->shape == SHAPE_AIO_SUBMIT)
		return aio_sync_write(c, t, from, number);
	f = c->call && c->write ?
		file_of(c->shape == SHAPE_SPLICE ? regs_arg2(regs) : regs_arg0(regs)) : NULL;
	if (!f)
		return false;
	t->inode = c->target.inode;
	t->off = c->target.off;
	t->len = c->target.len;
	sync_write_flags(t, f, c->shape == SHAPE_PRWV2 ? regs_arg5(regs) : 0);
	return true;
}

/* The kind of a copy, in task_ctx.copy.what next to the number of the inode. */
/* written back before the call returns: the copy is over when that begins */
#define COPY_THROUGH (1ULL << 60)
#define COPY_KEPT (1ULL << 61)
#define COPY_DIRECT (1ULL << 62)
#define COPY_AIO (1ULL << 63)     /* a request of an io_submit(), not known which one */
#define COPY_NUMBER (COPY_THROUGH - 1)

/* The next part of a call or request is about to be copied to an inode. Its length is not reported,
 * but its blocks are marked in the inode's extent tree, part by part: [copied_from, copied_to) in
 * the end. Dirty pages that the copy itself wrote back, because their writeback had begun, are in
 * [flushed_from, flushed_to): from the first page to the end of the last. */
static __always_inline void copy_note(struct task_ctx *c, const struct sync_write *t, u64 number)
{
	u64 copying = (number & COPY_NUMBER) |
		(t->direct ? COPY_DIRECT : t->syncs ? COPY_THROUGH : COPY_KEPT);

	if (!t->inode) /* a truncation, a store to memory */
		copying = in_io_submit() ? (number & COPY_NUMBER) | COPY_AIO : 0;
	if (c->copy.what == copying)
		return;
	c->copy.what = copying;
	c->copy.from = c->copy.to = c->copy.flushed_from = c->copy.flushed_to = 0;
	c->copy.lock = 0;
}

static __always_inline bool is_copied_to(struct task_ctx *c, struct inode *i)
{
	return c->copy.what && (inode_number(i) & COPY_NUMBER) == (c->copy.what & COPY_NUMBER);
}

/* True for the first part of a direct write: of a call, or of a request. A failed one may have left
 * state behind. */
static __always_inline bool first_part(struct task_ctx *c, u64 number)
{
	struct task_struct *task = current_task();
	struct uring_request *u;
	struct thread *th;
	u64 begin, req = 0;

	if (task->flags & PF_IO_WORKER) {
		u = uring_of_worker(task, &req);
		return !u || !u->direct_ns;
	}
	if (c->uring.req && !call_writes(c, number))
		req = uring_inline(c);
	u = req ? uring_find(req) : NULL;
	th = u ? NULL : thread_of(task->pid);
	begin = u ? u->ts_ns : th ? clock_begin(th) : 0;
	return !c->direct.reserved || c->direct.ns < begin;
}

/* Space is reserved for a copy into the cache, and for a direct write: dirty pages of others were
 * written back before. What a direct call has written back after that is its own, which fell back
 * to the page cache. */
static __noinline int reserve_note(u64 number)
{
	struct task_ctx *c = current_task()->flags & PF_KTHREAD ? NULL : ctx_make();
	struct sync_write t = {};
	bool first;

	if (!c)
		return 0;
	if (!sync_write_look(c, &t, ~0ULL, number) ||
	    inode_number((struct inode *)t.inode) != number)
		t.inode = 0;
	first = t.direct && first_part(c, number);
	if (first)
		c->copy.what = 0;
	c->direct.reserved = t.direct ? t.inode : 0;
	if (!in_io_submit())
		c->direct.fell = 0; /* of a call that failed after that */
	if (c->direct.reserved && (first || in_io_submit()))
		direct_falls(c);
	copy_note(c, &t, number);
	return 0;
}

/* True when the current thread is in a call or request that may write the inode. */
static __noinline bool may_write(struct task_ctx *c, u64 inode)
{
	const volatile struct iot_syscall *row;
	struct task_struct *t = current_task();
	const struct pt_regs *regs;

	if (is_worker(t))
		return uring_writes(t);
	regs = current_regs();
	if (regs_nr(regs) >= IOT_MAX_SYSCALL)
		return false;
	row = call_row(regs_nr(regs));
	if (row->shape == SHAPE_AIO_SUBMIT)
		return aio_writes(c, inode);
	return row->write || (row->shape == SHAPE_URING && uring_writes(t));
}

/* Bytes of a file, a struct inode, are dirtied. Global: verified once. */
__noinline int file_dirtied(u64 inode, u64 off, u64 bytes)
{
	struct inode *i = (struct inode *)inode;
	struct task_struct *t = current_task();
	struct dirtied *d;
	struct task_ctx *c;
	u8 how;

	if (!i || (!is_worker(t) && !regs_in_call(current_regs())))
		return 0; /* a store to memory */
	c = ctx_make();
	if (!c || c->behalf == BEHALF_LOOP)
		return 0;
	if (may_write(c, (u64)i)) {
		fresh_note_for(c, t, i, off, bytes);
		if (!is_copied_to(c, i) || off < c->copy.flushed_from || off >= c->copy.flushed_to)
			return 0;
	}
	/* fresh_note_for() may have used it for other pages */
	d = &c->dirtied_range;
	d->off = off;
	d->bytes = bytes;
	d->proc = owner_top(owner_current(c, &how));
	d->how = how;
	d->ts_ns = 0;
	d->unsure = d->beyond = 0;
	return dirty_range(i, d);
}

/* Clean blocks in a range of a dirty folio are dirtied. Global: verified once. */
__noinline int dirtied_in_part(u64 inode, u64 from, u64 len, u32 stores)
{
	struct task_ctx *c = ctx_find();
	struct dirtying t = { .fault = stores ? c : NULL };

	if (!inode || !c)
		return 0;
	t.folio = folio_at(POINTER_AT(inode, struct inode, i_mapping), from >> PAGE_SHIFT);
	t.state = t.folio ? btrfs_folio_maps(t.folio, inode, folio_blocks(t.folio, inode)) : 0;
	return t.state ? dirty_blocks((struct inode *)inode, &t, from, len) : 0;
}

/* A call or request writes to a folio that is dirty already, which is reported nowhere else.
 * Global: verified once. */
__noinline int written_in_dirty(u64 inode, u64 from, u64 len)
{
	struct task_struct *t = current_task();
	enum task_op task_op = task_op_now(t);
	struct task_ctx *c;
	struct thread *th;

	if (task_op > TASK_OP_COPY || !inode)
		return 0;
	if (is_worker(t))
		return t->flags & PF_IO_WORKER ? uring_dirtied_late(inode, from, len) : 0;
	c = ctx_find();
	if (c && task_op == TASK_OP_COPY && !c->copy.ns)
		c->copy.ns = bpf_ktime_get_ns();
	th = thread_take(t);
	if (th)
		dirtied_in_call(th, inode, from, len, false);
	return 0;
}

/* Blocks are marked for writing (EXTENT_DELALLOC), for zeroing or by a store. In a dirty folio with
 * several blocks nothing else reports that. What a call writes it reports itself, except the block
 * of the old end of the file. */
static __always_inline int marked(u64 inode, u64 from, u64 len)
{
	struct task_ctx *c = ctx_make();
	bool stores = is_store();

	if (!inode || !c || c->behalf == BEHALF_LOOP || !btrfs_is_dirty_in_part(inode, from))
		return 0;
	if (stores || !may_write(c, inode))
		return dirtied_in_part(inode, from, len, stores);
	written_in_dirty(inode, from, len);
	if (len >> (NUMBER_AT(inode, struct inode, i_blkbits) & 31) == 1 &&
	    btrfs_is_clean(inode, from))
		return file_dirtied(inode, from, len);
	return 0;
}

/* A store to a dirty page that no selected process dirtied: the faulting process owns it from now
 * on, as with a write. Its range is locked for that. Global: verified once. */
__noinline int stored_over(u64 inode, u64 from, u64 len)
{
	struct task_ctx *c = ctx_find();
	u64 off, folio;

	if (!c || !inode || c->fault.over_inode != inode ||
	    c->fault.was_call != fault_call(current_task()))
		return 0;
	off = c->fault.over_index << PAGE_SHIFT;
	folio = folio_at(POINTER_AT(inode, struct inode, i_mapping), c->fault.over_index);
	if (off < from || off - from >= len || !folio || !folio_is_dirty(folio) ||
	    btrfs_is_dirty_in_part(inode, off))
		/* blocks of a folio with several blocks are reported as they are marked, and a
		 * clean page as it is dirtied */
		return 0;
	c->fault.over_inode = 0;
	return dirtied((struct inode *)inode, off, PAGE_SIZE);
}

/* The request of a worker has locked its pages, and has copied a part. */
static __always_inline void uring_copies(void)
{
	u64 req;
	struct uring_request *u = uring_of_worker(current_task(), &req);

	if (u && !u->locked_ns)
		u->locked_ns = bpf_ktime_get_ns();
}

/* btrfs_set_extent_bit: blocks of a file are locked, or marked for writing. A copy locks blocks
 * inside the file, waits for ordered extents there, which may write back pages of others, and locks
 * them again; then it copies. The numbers of the extent bits differ between kernels. */
SEC("tp_btf/btrfs_set_extent_bit")
int PROBE(btrfs__mark, struct extent_io_tree *tree, u64 from, u64 len, u32 mark)
{
	struct task_ctx *c = ctx_find();
	u64 inode;

	if (!tree || !c)
		return 0;
	inode = (u64)tree - bpf_core_field_offset(struct btrfs_inode, io_tree) +
		bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	if (c->fault.over_inode && gate_open())
		stored_over(inode_itself((struct inode *)inode), from, len);
	if (HAS_BTRFS_FOLIO_STATE && mark & EXTENT_DELALLOC &&
	    gate_open() && !(current_task()->flags & PF_KTHREAD))
		marked(inode_itself((struct inode *)inode), from, len);
	if (!c->copy.what || !is_copied_to(c, (struct inode *)inode))
		return 0;
	/* before 6.14 the last page may be locked earlier, to be read */
	if (!c->copy.lock || (from < c->copy.from && !c->copy.flushed_to)) {
		c->copy.from = from;
		c->copy.to = 0;
		c->copy.lock = from < NUMBER_AT(inode, struct inode, i_size) ? mark : ~0ULL;
	}
	if (mark != c->copy.lock) {
		c->copy.to = from + len;
		uring_copies();
	}
	return 0;
}

/* The range of a page that a synchronous or direct write in progress wrote: bytes
 * [off, + bytes) of c->dirtied_range. */
static __noinline int sync_write_range(struct task_ctx *c, struct inode *i, struct folio *f,
				       struct writeback_control *wbc)
{
	u64 from, to, pos, end;
	struct sync_write t = {};

	if (!c || !i || !f || !wbc)
		return 0;
	from = FOLLOW(wbc, range_start);
	if (!sync_write_look(c, &t, from, inode_number(i)) || t.inode != inode_itself(i))
		return 0;
	to = FOLLOW(wbc, range_end) + 1;
	if (t.direct ? t.inode != c->direct.reserved || to > c->copy.to : !t.syncs || c->copy.what)
		return 0;
	if (t.direct && from < c->copy.from)
		/* an extent that begins before the copy, of earlier dirty pages: it waits for that
		 * before it copies */
		return 0;
	if (to - from > t.len) { /* the whole file: its own part is what it has copied */
		from = c->copy.from;
		to = c->copy.to;
	}
	/* A write beyond the end of the file has the page of the old end written back, which is not
	 * a part of the write. The position of a request has moved by the copied bytes: t.off is
	 * smaller, or below 0. */
	if (!t.appends && (s64)t.off > (s64)from)
		from = t.off;
	pos = (u64)FOLLOW(f, index) << PAGE_SHIFT;
	end = pos + (folio_pages(f) << PAGE_SHIFT);
	from = from > pos ? from : pos;
	to = to < end ? to : end;
	if (to <= from)
		return 0;
	if (t.direct) {
		c->direct.fell = t.inode;
		if (c->aio.direct && in_io_submit())
			aio_copied(c->aio.direct);
		c->aio.direct = 0;
		uring_falls(c->direct.ns, 1);
	}
	c->dirtied_range.off = from;
	c->dirtied_range.bytes = to - from;
	return 1;
}

/* A page is written back, perhaps by a copy in progress, before it copies to it. */
static __always_inline void flush_note(struct task_ctx *c, struct inode *i, struct folio *f)
{
	u64 pos = (u64)FOLLOW(f, index) << PAGE_SHIFT, end = pos + (folio_pages(f) << PAGE_SHIFT);

	if (!is_copied_to(c, i) || !may_write(c, inode_itself(i)))
		return;
	if (!c->copy.flushed_to || pos < c->copy.flushed_from)
		c->copy.flushed_from = pos;
	if (end > c->copy.flushed_to)
		c->copy.flushed_to = end;
}

/* A store waits for writeback of its page, which had begun as part of an extent, and is submitted
 * now: the submitted data are those before the store. */
static __noinline int store_waits(struct task_ctx *c, struct inode *i, struct folio *f)
{
	if (!c || !i || !f || c->fault.was_inode != inode_itself(i) ||
	    c->fault.was_call != fault_call(current_task()))
		return 0;
	if (c->fault.was_index - NUMBER_AT(f, struct folio, index) >= folio_pages(f))
		return 0;
	range_look(c);
	if (c->call && c->range.inode == c->fault.was_inode)
		return 0; /* a direct read of the same file causes that, after the fault */
	page_owner_set(c->fault.was_inode, c->fault.was_index << PAGE_SHIFT, 1, c->fault.was_owner,
		       false);
	c->fault.was_inode = 0;
	return 0;
}

/* --light: true when the current thread is in a call or request that writes to the file through the
 * page cache. Which request of an io_submit() is processed is not known. */
static __noinline int writes_cached(struct task_ctx *c, u64 inode)
{
	struct uring_io io = {};

	if (!c || !inode)
		return 0;
	if (uring_current(c, &io, inode_number((struct inode *)inode)))
		return io.write && !io.direct && io.host == inode;
	range_look(c);
	return c->call && (c->shape == SHAPE_AIO_SUBMIT ||
			   (c->write && !c->target.direct && c->target.inode == inode));
}

/* A page is about to be written back. A call with O_SYNC or RWF_DSYNC writes back what it has
 * copied before it returns: it owns that, also where others had dirtied it before. It asks for its
 * range, or for the whole file. */
static __always_inline int page_writeback(struct folio *f, struct inode *i,
					  struct writeback_control *wbc)
{
	struct task_ctx *c;

	if (!f || !i || !wbc || !gate_open())
		return 0;
	if (cfg.light && only_syncs())
		return 0;
	c = current_task()->flags & PF_KTHREAD ? NULL : ctx_make();
	if (cfg.light)
		return writes_cached(c, inode_itself(i)) ?
		       page_owner_overwrite(inode_itself(i), 0, 1, proc_current(c)) : 0;
	if (c && c->fault.was_inode)
		store_waits(c, i, f);
	if (c && sync_write_range(c, i, f, wbc))
		page_owner_overwrite(inode_itself(i), c->dirtied_range.off, c->dirtied_range.bytes,
				     proc_current(c));
	else if (c)
		flush_note(c, i, f);
	return 0;
}

/* Dirty blocks of a folio beyond the end of the file are dropped now, not written: the file was
 * truncated, and the folio is still used. */
static __noinline int truncated(struct folio *f, struct inode *i)
{
	u64 begin, block, end, maps, at;
	u32 blocks;

	if (!f || !i || folio_pages(f) == 1 || !is_regular(i))
		return 0;
	blocks = folio_blocks((u64)f, (u64)i);
	maps = btrfs_folio_maps((u64)f, (u64)i, blocks);
	block = 1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 31);
	begin = (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT;
	end = (NUMBER_AT(i, struct inode, i_size) + block - 1) & -block;
	at = end > begin ? (end - begin) / block : 0;
	if (!maps || at >= blocks || !(btrfs_dirty_bits(maps, blocks) >> (at & 63)))
		return 0;
	return invalidate_record(i, KIND_FS_PUNCH, begin + at * block, (blocks - at) * block);
}

SEC("tp_btf/extent_writepage")
int PROBE(btrfs__writeback, struct folio *f, struct inode *i, struct writeback_control *wbc)
{
	if (!f || !i || !wbc || !gate_open())
		return 0;
	if (!cfg.light)
		truncated(f, i);
	page_writeback(f, i, wbc);
	return unsent_note(i, FOLLOW(f, index));
}

SEC("tp_btf/__extent_writepage")
int PROBE(btrfs__writeback_page, struct page *p, struct inode *i, struct writeback_control *wbc)
{
	page_writeback((struct folio *)p, i, wbc);
	return !p || !i || !wbc ||
	       !gate_open() ? 0 : unsent_note(i, FOLLOW((struct folio *)p, index));
}

/* Called when a synchronous call or request has copied what it wrote, before any of that is written
 * back. */
static __noinline int synced(struct file *f)
{
	struct aio_search s = { .what = AIO_SYNCS, .from = ~0ULL };
	struct task_ctx *c = ctx_find();
	struct uring_io io = {};

	if (c)
		c->copy.what = 0;
	if (c && f && uring_current(c, &io, inode_number(data_inode(f))) && io.write &&
	    !io.direct && io.host == (u64)data_inode(f))
		uring_copied(io.req);
	if (!f || !in_io_submit() || NUMBER_AT(f, struct file, f_flags) & O_DIRECT)
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	s.inode = (u64)data_inode(f);
	s.first = c->aio.now;
	if (!aio_search(&s))
		return 0;
	c->aio.now = s.found;
	aio_copied(s.address);
	return 0;
}

SEC("tp_btf/btrfs_sync_file")
int PROBE(btrfs__sync, struct file *f)
{
	return f && gate_open() ? synced(f) : 0;
}

SEC("tp_btf/btrfs_sync_file_enter")
int PROBE(btrfs__sync_enter, struct file *f)
{
	return f && gate_open() ? synced(f) : 0;
}

/* Pages that are dirtied in a call: outside the range of a write it is the block of the old end of
 * the file; in a call that does not write, the block whose rest is zeroed. */
SEC("tp_btf/writeback_dirty_folio")
int PROBE(btrfs__dirty, struct folio *f, struct address_space *m)
{
	struct dirtied d = {};
	struct inode *i;

	if (!m || !f || !gate_open() || current_task()->flags & PF_KTHREAD)
		return 0;
	i = (struct inode *)POINTER_AT(m, struct address_space, host);
	if (!i || !is_file(i))
		return 0;
	folio_range(ctx, f, i, &d);
	return file_dirtied((u64)i, d.off, d.bytes);
}

#endif
