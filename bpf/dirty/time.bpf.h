/* SPDX-License-Identifier: GPL-3.0-only */
/* time.bpf.h - pages that are dirtied while others of their file are under writeback: by calls that
 * wait for locks, or by a long call. The kernel calls folio_clear_dirty_for_io() and submits the
 * folio later, and by then it may be redirtied. Used by pages.bpf.c and fs_btrfs.bpf.c.
 *
 * The ledger replays calls in the order in which they dirtied something. What is not in that order
 * is reported separately, with its time.
 */
#ifndef IOT_TIME_BPF_H
#define IOT_TIME_BPF_H

#include "mark.bpf.h"
#include "thread.bpf.h"
#include "range.bpf.h"
#include "sync_write.bpf.h"
#include "uring_op.bpf.h"

/* Reports that bytes which the current call or request writes are dirtied now, not when it
 * began. */
static __always_inline int dirtied_now(struct task_ctx *c, u64 inode, u64 off, u64 bytes)
{
	struct dirtied *d = &c->dirtied_range;

	__builtin_memset(d, 0, sizeof(*d));
	d->off = off;
	d->bytes = bytes;
	d->proc = proc_current(c);
	d->how = HOW_EXACT;
	return dirty_at(inode, d);
}

/* Fills in c->target with the range that the io_submit() in progress, of a single request, writes
 * to the inode. Global: verified once. */
__noinline int aio_target(u64 inode)
{
	struct aio_search s = { .inode = inode, .what = AIO_WRITES };
	struct task_ctx *c = ctx_find();

	if (!c || !in_io_submit() || !aio_search(&s))
		return 0;
	c->target.inode = inode;
	c->target.off = s.t.off;
	c->target.len = s.t.len;
	return 1;
}

/* Bytes that the call in progress writes are dirtied, long after the first. They are reported when
 * bytes of the file were submitted meanwhile, since they may have been dirty before that. */
__noinline int dirtied_late(u64 inode, u64 off, u64 bytes)
{
	struct writer *w = inode ? writer_find((struct inode *)inode) : NULL;
	struct thread *th = thread_of(current_task()->pid);
	struct task_ctx *c;
	u64 end;

	if (!w || !th || w->carried_ns < th->dirtied_ns || off >= w->submitted_to)
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	range_look(c);
	if (!c->call || !(c->write || aio_target(inode)) || c->target.inode != inode)
		return 0;
	end = c->target.off + c->target.len;
	if (end > off + bytes)
		end = off + bytes;
	if (off < c->target.off)
		off = c->target.off;
	if (off >= end)
		return 0;
	return dirtied_now(c, inode, off, end - off);
}

/* As dirtied_late(), on btrfs, which reports blocks, in a request that a worker executes. Global:
 * verified once. */
__noinline int uring_dirtied_late(u64 inode, u64 off, u64 bytes)
{
	u64 req;
	struct uring_request *u = uring_of_worker(current_task(), &req);
	u64 since = u ? u->direct_ns ?: u->locked_ns ?: u->dirtied_ns : 0;
	struct writer *w = since && inode && cfg.events ? writer_find((struct inode *)inode) : NULL;
	struct task_ctx *c;

	if (!w || w->carried_ns < since || off >= w->submitted_to ||
	    !is_on((struct inode *)inode, BTRFS_MAGIC))
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	return dirtied_now(c, inode, off, bytes);
}

/* Bytes of a folio are dirtied in an io_submit() of several requests, which XFS copies one after
 * the other. When the current request had to wait, its time is now, not the begin of the call;
 * later parts of it are reported with their time. Global: verified once. */
__noinline int aio_dirties(u64 inode, u64 off, u64 bytes)
{
	struct aio_time_key k = { .pid = bpf_get_current_pid_tgid() >> 32 };
	struct iot_state *s = run_state();
	struct task_ctx *c = ctx_find();
	u64 *at, from, to, carried;

	if (!s || !c || !c->aio.copies || c->part.inode != inode)
		return 0;
	carried = *(volatile u64 *)&s->carried_ns;
	if (!c->aio.dirtied_ns) {
		k.iocb = c->aio.copies;
		at = bpf_map_lookup_elem(&aio_times, &k);
		if (at && carried >= *at)
			*at = bpf_ktime_get_ns();
		c->aio.dirtied_ns = at ? *at : 0;
		return 0;
	}
	from = off > c->part.from ? off : c->part.from;
	to = off + bytes < c->part.to ? off + bytes : c->part.to;
	return carried >= c->aio.dirtied_ns &&
	       from < to ? dirtied_now(c, inode, from, to - from) : 0;
}

/* Something is dirtied in a call of the current thread that writes. blocks: it is a block, else a
 * folio, which tells nothing where blocks are reported. */
static __always_inline void dirtied_in_call(struct thread *th, u64 inode, u64 off, u64 bytes,
					    bool blocks)
{
	if (dirtied_note(th) && (blocks || !is_on((struct inode *)inode, EXT4_SUPER_MAGIC)))
		dirtied_late(inode, off, bytes);
}

#endif
