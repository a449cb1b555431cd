/* SPDX-License-Identifier: GPL-3.0-only */
/* time.bpf.h - pages that turn dirty while others of their file are on their way to the device: by calls that wait for each other, by one
 * that is long. The kernel takes the mark off a page and submits it later, and by then it may be dirty again. Used by pages.bpf.c.
 *
 * The ledger plays calls in the order in which they made something dirty. What is not in that order by then is told apart, with its time.
 */
#ifndef IOT_TURN_BPF_H
#define IOT_TURN_BPF_H

#include "mark.bpf.h"
#include "thread.bpf.h"
#include "range.bpf.h"
#include "sync_write.bpf.h"
#include "uring_op.bpf.h"

/* Bytes of what the current thread or request writes turn dirty now, not when it began. */
static __always_inline int dirtied_now(struct task_ctx *c, u64 inode, u64 off, u64 bytes)
{
	struct dirtied *d = (struct dirtied *)c->dirtied_range;

	__builtin_memset(d, 0, sizeof(*d));
	d->off = off;
	d->bytes = bytes;
	d->proc = proc_current(c);
	d->how = HOW_EXACT;
	return dirty_at(inode, d);
}

/* What the io_submit in progress, of a single request, writes to the inode: c.target_*. Global: the verifier looks at it once. */
__noinline int aio_target(u64 inode)
{
	struct aio_search s = { .inode = inode, .what = AIO_WRITES };
	struct task_ctx *c = ctx_find();

	if (!c || !in_io_submit() || !aio_search(&s))
		return 0;
	c->target_inode = inode;
	c->target_off = s.t.off;
	c->target_len = s.t.len;
	return 1;
}

/* Bytes of what the call in progress writes turn dirty, long after the first. Were bytes of the file submitted meanwhile? Then those may have
 * been dirty before. */
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
	if (!c->call || !(c->write || aio_target(inode)) || c->target_inode != inode)
		return 0;
	end = c->target_off + c->target_len;
	if (end > off + bytes)
		end = off + bytes;
	if (off < c->target_off)
		off = c->target_off;
	if (off >= end)
		return 0;
	return dirtied_now(c, inode, off, end - off);
}

/* The same, of what turns dirty on btrfs, which tells of blocks, in a request that a worker executes. Global: the verifier looks at it once. */
__noinline int uring_dirtied_late(u64 inode, u64 off, u64 bytes)
{
	u64 req;
	struct uring_request *u = uring_of_worker(current_task(), &req);
	u64 since = u ? u->direct_ns ?: u->locked_ns ?: u->dirtied_ns : 0;
	struct writer *w = since && inode && cfg.events ? writer_find((struct inode *)inode) : NULL;
	struct task_ctx *c;

	if (!w || w->carried_ns < since || off >= w->submitted_to || !is_on((struct inode *)inode, BTRFS_MAGIC))
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	return dirtied_now(c, inode, off, bytes);
}

/* Bytes of a folio turn dirty in an io_submit of several requests, which XFS copies one after the other. The one that it copies had to wait? Then
 * it is in the page cache now, not since that began; and what of it turns dirty later still is told itself. Global, as above. */
__noinline int aio_dirties(u64 inode, u64 off, u64 bytes)
{
	struct aio_time_key k = { .pid = bpf_get_current_pid_tgid() >> 32 };
	struct iot_state *s = run_state();
	struct task_ctx *c = ctx_find();
	u64 *at, from, to, carried;

	if (!s || !c || !c->aio_copies || c->part_inode != inode)
		return 0;
	carried = *(volatile u64 *)&s->carried_ns;
	if (!c->aio_dirtied_ns) {
		k.iocb = c->aio_copies;
		at = bpf_map_lookup_elem(&aio_times, &k);
		if (at && carried >= *at)
			*at = bpf_ktime_get_ns();
		c->aio_dirtied_ns = at ? *at : 0;
		return 0;
	}
	from = off > c->part_from ? off : c->part_from;
	to = off + bytes < c->part_to ? off + bytes : c->part_to;
	return carried >= c->aio_dirtied_ns && from < to ? dirtied_now(c, inode, from, to - from) : 0;
}

/* Something turns dirty in a call of the current thread that writes. blocks: it is a block, else a folio, of which nothing is known where blocks
 * are told. */
static __always_inline void dirtied_in_call(struct thread *th, u64 inode, u64 off, u64 bytes, bool blocks)
{
	if (dirtied_note(th) && (blocks || !is_on((struct inode *)inode, EXT4_SUPER_MAGIC)))
		dirtied_late(inode, off, bytes);
}

#endif
