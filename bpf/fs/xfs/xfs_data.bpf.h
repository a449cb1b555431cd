/* SPDX-License-Identifier: GPL-3.0-only */
/* xfs_data.bpf.h - file data that goes through iomap: writes that are submitted before their call
 * returns, and blocks that are dirtied without a call that wrote them. Used by fs_xfs.bpf.c.
 */
#ifndef IOT_XFS_DATA_BPF_H
#define IOT_XFS_DATA_BPF_H

#include "thread.bpf.h"
#include "sync_write.bpf.h"
#include "hooks.bpf.h"
#include "program_copies.bpf.h"
#include "uring_now.bpf.h"
#include "xfs.h"

/* A write that is submitted before its call returns. */
struct xfs_sync_write {
	u64 iocb, from;        /* struct kiocb, and its offset */
	u64 call;              /* number of the call on this thread: call_of_thread() */
	/* when it was noted: a request that was submitted later is another one, although its call
	 * has the same number */
	u64 ts_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);      /* thread */
	__type(value, struct xfs_sync_write);
} xfs_sync_writes SEC(".maps");

/* Flags of a kiocb, as RWF_DSYNC and RWF_DONTCACHE, since 5.10 and 6.14. */
#define IOCB_DSYNC 2
#define IOCB_DONTCACHE 128     /* it is submitted, and not waited for */

/* A number that distinguishes the call in progress from the one before: task accounting counts
 * writing calls when they end (ioac.syscw). Calls that are not counted (splice, io_submit) have
 * another system call number. */
static __always_inline u64 call_of_thread(void)
{
	struct task_struct *t = current_task();

	return NUMBER_AT(t, struct task_struct, ioac.syscw) << 16 |
	       (is_worker(t) ? 0 : (u16)regs_nr(current_regs()));
}

/* A call holds the lock of its inode, and copies from now on. Blocks that are dirtied in a folio
 * that is dirty already are not reported. */
static __always_inline void lock_note(u32 tid)
{
	struct task_struct *t = current_task();
	struct thread *th = is_worker(t) ? NULL : thread_of(tid);
	struct iot_state *s = run_state();
	struct uring_request *u;
	u64 begin;

	u = uring_of_worker(t, &begin);
	if (u && !u->locked_ns)
		u->locked_ns = bpf_ktime_get_ns();

	if (!th || !s || !cfg.events)
		return;
	begin = clock_begin(th);
	if (s->carried_ns >= begin && th->locked_ns <= begin)
		th->locked_ns = bpf_ktime_get_ns();
}

/* Notes the range that is copied from now on. */
static __always_inline void part_note(struct kiocb *iocb, struct iov_iter *from)
{
	struct task_ctx *c = ctx_make();

	if (!c)
		return;
	c->part.inode = (u64)data_inode((struct file *)POINTER_AT(iocb, struct kiocb, ki_filp));
	c->part.from = FOLLOW(iocb, ki_pos);
	c->part.to = c->part.from + FOLLOW(from, count);
}

/* The libaio request of this control block is copied from now on. */
static __always_inline void aio_copies(u64 address)
{
	struct task_ctx *c = ctx_find();

	aio_copied(address);
	if (!c)
		return;
	c->aio.copies = address;
	c->aio.dirtied_ns = 0;
}

SEC("tp_btf/xfs_file_buffered_write")
int PROBE(xfs__write, struct kiocb *iocb, struct iov_iter *from)
{
	struct xfs_sync_write w = { .iocb = (u64)iocb };
	u32 tid = bpf_get_current_pid_tgid();

	if (!iocb || !from || !gate_open())
		return 0;
	if (!cfg.light)
		part_note(iocb, from);
	/* each of several requests may find pages clean that the one before had written back, or
	 * truncate what follows */
	if (in_io_submit()) {
		aio_copies(FOLLOW((struct aio_kiocb *)iocb, ki_res.obj));
	} else if (!cfg.light) {
		lock_note(tid);
	}
	if (!(FOLLOW((struct kiocb___flags *)iocb, ki_flags) & (IOCB_DSYNC | IOCB_DONTCACHE)))
		return 0;
	w.from = FOLLOW(iocb, ki_pos);
	w.call = call_of_thread();
	w.ts_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&xfs_sync_writes, &tid, &w, BPF_ANY);
	return 0;
}

/* True when the current thread is still in the call or request that was noted at `ts_ns`, and
 * writes to the inode through the page cache. A request is identified by its struct kiocb; one that
 * was submitted later, or that a worker executes by now, is another one. */
static __always_inline bool is_writing(struct task_ctx *c, u64 inode, u64 iocb, u64 ts_ns)
{
	u64 req = iocb - bpf_core_field_offset(struct io_rw, kiocb) -
		bpf_core_field_offset(struct io_kiocb, cmd), f;
	struct uring_request *u = uring_find(req);
	struct task_struct *t = current_task();
	u64 now = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;

	if ((u && u->ts_ns > ts_ns) || (now && now != req))
		return false;
	if (u || is_worker(t)) {
		f = POINTER_AT(iocb, struct kiocb, ki_filp);
		if (!f || NUMBER_AT(f, struct file, f_flags) & O_DIRECT ||
		    (u64)data_inode((struct file *)f) != inode)
			return false;
		uring_copied(req);
		return true;
	}
	range_look(c);
	if (c->call && c->shape == SHAPE_AIO_SUBMIT)
		return (u64)data_inode((struct file *)POINTER_AT(iocb, struct kiocb, ki_filp)) ==
		       inode;
	return c->call && c->write && !c->target.direct && c->target.inode == inode;
}

/* A folio is submitted by a call with O_SYNC, RWF_DSYNC or RWF_DONTCACHE, before it returns: the
 * call owns what it has copied, also where others had dirtied the page before. By then its position
 * has moved to the end of that range. */
static __noinline int written_through(struct inode *i, u64 off, u64 len)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct xfs_sync_write *w;
	struct task_ctx *c;
	u64 from, to, iocb, inode;

	if (!i || current_task()->flags & PF_KTHREAD)
		return 0;
	w = bpf_map_lookup_elem(&xfs_sync_writes, &tid);
	/* else left over from a call that has ended */
	c = w && w->call == call_of_thread() ? ctx_make() : NULL;
	if (!c)
		return 0;
	iocb = w->iocb;
	/* the inode itself, as a number */
	inode = POINTER_AT(POINTER_AT(i, struct inode, i_mapping), struct address_space, host);
	if (!is_writing(c, inode, iocb, w->ts_ns))
		return 0;
	from = w->from > off ? w->from : off;
	to = FOLLOW((struct kiocb *)iocb, ki_pos);
	if (to > off + len)
		to = off + len;
	return to > from ? page_owner_overwrite(inode, from, to - from, proc_current(c)) : 0;
}

SEC("tp_btf/iomap_writeback_folio")
int PROBE(xfs__writeback, struct inode *i, long long off, u64 len)
{
	return gate_open() ? written_through(i, off, len) : 0;
}

SEC("tp_btf/iomap_writepage")
int PROBE(xfs__writeback_page, struct inode *i, long long off, u64 len)
{
	return gate_open() ? written_through(i, off, len) : 0;
}

/* Handles bytes of one folio. A clean folio is reported when it is dirtied, except for what is
 * zeroed in it, and what a call stores to. */
static __noinline int folio_dirtied(struct inode *i, u64 off, u64 len, bool fault)
{
	struct task_ctx *c = ctx_make();
	struct dirtying t = { .fault = fault ? c : NULL };

	if (!i || !c || c->behalf == BEHALF_LOOP)
		return 0;
	t.folio = folio_at(POINTER_AT(i, struct inode, i_mapping), off >> PAGE_SHIFT);
	if (!t.folio || !folio_is_dirty(t.folio))
		return fault && is_store() ? 0 : dirtied(i, off, len);
	if (HAS_IOMAP_FOLIO_STATE)
		t.state = POINTER_AT(t.folio, struct folio___private, private);
	if (t.state)
		t.state += bpf_core_field_offset(struct iomap_folio_state, state);
	return dirty_blocks(i, &t, off, len);
}

/* iomap_zero_iter: the rest of a block is zeroed in memory, where a file is truncated or grows, and
 * at a hole (6.18; xfs__step before). */
SEC("tp_btf/iomap_zero_iter")
int PROBE(xfs__zero, struct inode *i, long long off, u64 len)
{
	return gate_open() ? folio_dirtied(i, off, len, false) : 0;
}

#define IOMAP_ZERO 2           /* in iomap_iter.flags, since 5.5 and 5.8 */
#define IOMAP_FAULT 8
#define IOMAP_WRITE 1
#define IOMAP_DIRECT 16
#define IOMAP_UNSHARE 128
#define IOMAP_MAPPED 2         /* in iomap.type: larger ones are no data; 0: a hole */

/* A step of a write has copied bytes: the writer owns them from now on, before the sync of another
 * process writes back the same folio. */
static __noinline int copied_step(struct inode *i, u64 off, s64 len)
{
	struct task_struct *t = current_task();
	struct task_ctx *c = i && len > 0 && !(t->flags & PF_KTHREAD) ? ctx_make() : NULL;
	struct writer *w;
	u32 proc;

	if (!c || c->behalf != BEHALF_NONE)
		return 0;
	if (off + len >= c->part.to)
		c->part.inode = 0;
	w = writer_find(i);
	proc = proc_current(c);
	return w && !w->many && w->first == proc ? 0 :
	       page_owner_overwrite(inode_itself(i), off, len, proc);
}

/* iomap_iter: a step over a range, before it and after it. A fault dirties all blocks of its folio;
 * the kernel reports that where the folio was clean, not where it was partly dirty. */
SEC("tp_btf/iomap_iter")
int PROBE(xfs__step, struct iomap_iter *iter)
{
	bool has_start = HAS_ITER_START_POS;
	u64 from;
	u32 type;
	s64 len;

	if (!iter || !gate_open())
		return 0;
	if ((iter->flags & (IOMAP_WRITE | IOMAP_FAULT | IOMAP_DIRECT | IOMAP_UNSHARE)) ==
	    IOMAP_WRITE && iter->iomap.length)
		return copied_step(iter->inode, has_start ? iter->iter_start_pos : iter->pos,
				   has_start ? iter->pos - iter->iter_start_pos :
				   FOLLOW((struct iomap_iter___processed *)iter, processed));
	if (!(iter->flags & (IOMAP_FAULT | IOMAP_ZERO)))
		return 0;
	if (iter->flags & IOMAP_FAULT)
		return iter->iomap.length ? 0 :
		       folio_dirtied(iter->inode, iter->pos, iter->len, true);
	type = iter->srcmap.type ?: iter->iomap.type;
	if (!iter->iomap.length || HAS_IOMAP_ZERO_ITER || !type ||
	    type > IOMAP_MAPPED)
		/* nothing is done yet, iomap_zero_iter reports it, or there is nothing to zero */
		return 0;
	from = has_start ? iter->iter_start_pos : iter->pos;
	len = has_start ? iter->pos - from :
		FOLLOW((struct iomap_iter___processed *)iter, processed);
	return len > 0 ? dirtied(iter->inode, from, len) : 0;
}

#endif
