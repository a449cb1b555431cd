/* SPDX-License-Identifier: GPL-3.0-only */
/* uring.bpf.h - io_uring requests in flight, and their completion. uring_op.bpf.h: the table of
 * operations; uring_now.bpf.h: the request that the current task executes.
 *
 * A request ends with its completion, which is not always reported: not when the submitter wants
 * none (IOSQE_CQE_SKIP_SUCCESS), and not when the completion queue is full. Its result stays in the
 * struct (req->cqe.res) until that is submitted again, since io_init_req() leaves it alone. So such
 * a request is finished when the submitter continues and the bytes have moved, at the latest when
 * the struct is reused, when the ring ends, or by the sweep at the end of the run.
 */
#ifndef IOT_URING_BPF_H
#define IOT_URING_BPF_H

#include "hooks.bpf.h"
#include "ext4_inode.bpf.h"
#include "file.bpf.h"
#include "filesum.bpf.h"
#include "readahead.bpf.h"
#include "uring_op.bpf.h"

/* Resolves the file of a request. The offset is unchanged. */
__noinline int uring_file_see(struct task_ctx *c, u64 file, struct uring_file *u)
{
	struct file *f = (struct file *)file;
	struct inode *i;

	if (!c || !u)
		return 0;
	u->file = file;
	u->type = SUB_FT_OTHER;
	u->dev = u->id = u->flags = u->block = 0;
	u->host = u->ino = 0;
	u->memory = 0;
	if (!f)
		return 0;
	file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
	u->type = c->seen.type;
	u->dev = c->seen.dev;
	u->id = c->seen.file;
	u->block = c->seen.block;
	u->memory = u->type == SUB_FT_PSEUDO && is_process_memory(f);
	u->flags = flags_of(NUMBER_AT(f, struct file, f_flags)) &
		(FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC | FLAG_APPEND);
	i = (struct inode *)c->seen.host;
	u->host = (u64)i;
	u->ino = inode_number(i);
	return 0;
}

/* Process u->proc wrote bytes: it owns the pages from now on, also where they were dirty before.
 * Direct I/O leaves no page. */
static __always_inline void uring_claim(const struct uring_request *u, const struct uring_file *f,
					u64 bytes)
{
	struct inode *host = (struct inode *)f->host;

	if (!bytes || !host || f->flags & FLAG_DIRECT || inode_number(host) != f->ino)
		return;
	wrote_data(f->host, f->type == SUB_FT_BLK ? f->id : 0, f->offset, bytes, f->block, u->proc);
}

/* The result of one side of a request. dur_ns: 0 when the end is not known. */
struct uring_done {
	u64 bytes, dur_ns, queue_ns;
	s32 res;
	u8 kind, pad[3];
};

static __always_inline void uring_event(const struct uring_request *u, const struct uring_file *f,
					const struct uring_done *d)
{
	struct iot_cell_key k = { .owner = u->proc, .dev = f->dev, .kind = d->kind,
				  .how = HOW_EXACT, .sub = f->type,
				  .flags = CELL_OP(u->opcode) };
	struct iot_ring_event *r;

	if (!wants_event(u->proc))
		return;
	r = event_reserve(LOSS_EVENT_URING);
	if (!r)
		return;
	event_fill(&r->e, u->proc, &k);
	r->e.ts_ns = u->ts_ns;
	r->e.tid = u->tid;
	r->e.file = f->id;
	r->e.dur_ns = d->dur_ns;
	r->e.queue_ns = d->queue_ns;
	r->e.offset = f->offset;
	r->e.size = u->size ? u->size : d->bytes;
	r->e.bytes = d->bytes;
	r->e.flags = u->flags | f->flags | (d->bytes < u->size && d->res >= 0 ? FLAG_SHORT : 0);
	r->e.err = d->res < 0 ? -d->res : 0;
	r->e.arg = u->arg;
	event_submit(r);
}

static __always_inline void exchange(u64 *a, u64 *b)
{
	u64 v = *a;

	*a = *b;
	*b = v;
}

/* Exchanges what a worker dirtied with what the current task dirtied. The second exchange restores
 * both. */
static __always_inline void fresh_exchange(struct task_ctx *c, struct uring_request *u)
{
	if (!c || !u->fresh_ns)
		return;
	exchange(&c->fresh.inode, &u->fresh.inode);
	exchange(&c->fresh.from, &u->fresh.from);
	exchange(&c->fresh.to, &u->fresh.to);
	exchange(&c->fresh.bytes, &u->fresh.bytes);
}

static __always_inline void uring_beside(struct task_ctx *c, const struct uring_request *u,
					 const struct uring_file *f, const struct uring_done *d)
{
	struct wrote_at *w;

	if (!c || !c->fresh.inode || c->fresh.inode != f->host)
		return;
	w = wrote_of(c);
	w->off = f->offset;
	w->len = d->res > 0 ? d->res : 0;
	w->block = f->block ?: PAGE_SIZE;
	w->ts_ns = u->fresh_ns ?: began_dirtying(w->len, u->flags, u->ts_ns + d->queue_ns);
	w->proc = u->proc;
	/* of a worker: all of it belongs to the request */
	fresh_before(c, w, u->fresh_ns ? ~0ULL : u->size);
}

/* Counts a request. Apart, so that its frame is not below those of the functions for dirtied
 * ranges. */
static __noinline int uring_count(const struct uring_request *u, const struct uring_file *f,
				  const struct uring_done *d)
{
	struct iot_cell_key k = {};
	u64 touched = 0, ns;

	k.owner = u->proc;
	k.dev = f->dev;
	k.kind = d->kind;
	k.how = HOW_EXACT;
	k.sub = f->type;
	k.flags = (f->flags | u->flags) &
		((d->kind == KIND_URING_WRITE ? FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC : FLAG_DIRECT) |
		 (uring_whole() ? FLAG_WORKER | FLAG_SQPOLL : 0));
	k.flags |= CELL_OP(u->opcode);
	if (d->kind == KIND_URING_WRITE && d->bytes && is_storage(f->type))
		touched = blocks_of(f->offset, d->bytes, f->block);
	/* of a request with several completions the last one alone has a duration */
	ns = u->flags & FLAG_MORE ? 0 : d->dur_ns;
	cell_add(cell_find(&k), 1, d->bytes, touched, ns, d->res < 0);
	if (ns)
		hist_add(u->proc, d->kind, f->type, ns);
	return 0;
}

/* Layer cache traced whole: a request got bytes of a file from the page cache; `used` pages of them
 * had been read ahead. */
static __noinline int uring_read(struct task_ctx *c, const struct uring_request *u,
				 const struct uring_file *f, u32 used, u64 bytes)
{
	if (!c || !u || !f || !is_storage(f->type))
		return 0;
	reads_of(c, f->host, f->dev, f->id, f->type, u->proc, bytes);
	return reads_end(c, f->offset, used, 1);
}

__noinline int uring_record(struct uring_request *u, struct uring_file *f, struct uring_done *d)
{
	struct task_ctx *c;

	if (!u || !f || !d)
		return 0;
	/* the end of a ring is reported in a kernel thread */
	c = u->fresh_ns ? ctx_make() : ctx_find();
	if (c && c->fresh_ns)
		fresh_report(c);
	else if (c && !u->fresh_ns && is_worker(current_task()))
		c->fresh.inode = 0; /* of an earlier request, which has kept it */
	fresh_exchange(c, u);
	if (d->kind == KIND_URING_WRITE && d->res > 0 && f->flags & FLAG_DIRECT) {
		if ((c && went_through_cache(c, f->host, f->offset)) || u->fell ||
		    is_indirect(f->host, f->offset)) {
			f->flags &= ~FLAG_DIRECT;
			d->queue_ns = u->direct_ns ? dirtied_after(&u->direct_ns, u->ts_ns) : c ?
				dirtied_after(&c->direct.ns, u->ts_ns) : 0;
		}
	}
	if (d->kind == KIND_URING_WRITE)
		uring_beside(c, u, f, d);
	fresh_exchange(c, u);
	if (d->kind == KIND_URING_WRITE && d->bytes && is_storage(f->type))
		uring_claim(u, f, d->bytes);
	if (d->kind == KIND_URING_READ && d->bytes && !(f->flags & FLAG_DIRECT)) {
		u32 used = ra_used(f->host, f->offset, d->bytes);

		if (cache_is_whole())
			uring_read(c, u, f, used, d->bytes);
	}
	if (is_off_disk(f->type, f->dev))
		return 0;
	uring_count(u, f, d);
	filesum_async(u->comm, f->id, f->type, u->proc, d->kind,
		      d->kind == KIND_URING_READ ? 0 : d->kind == KIND_URING_WRITE ? 1 : 2,
		      d->bytes, f->flags | u->flags);
	uring_event(u, f, d);
	if (f->memory && d->kind == KIND_URING_WRITE && d->bytes && u->proc >= PROC_FIRST)
		/* the target process may have ended: its areas are not looked up */
		lose(LOSS_POKE);
	return 0;
}

/* True when the file system reports each block that is dirtied, and blocks of several requests are
 * reported piece by piece. */
static __always_inline bool reports_blocks(u64 host)
{
	struct inode *i = (struct inode *)host;

	return i && is_on(i, EXT4_SUPER_MAGIC);
}

/* The time from its submission until a request dirtied its pages. A request that waits for others,
 * or for a worker, does that just before it completes, or before it has them written back; any
 * other one when it is submitted. Where dirtied ranges are reported with their time
 * (fresh_report()), too early does no harm, but too late does: what was written back by then would
 * be dirty again. */
static __always_inline u64 uring_dirtied_after(const struct uring_request *u, u64 dur_ns)
{
	if (u->dirtied_ns > u->ts_ns && !reports_blocks(u->to.host) &&
	    !is_on((struct inode *)u->to.host, BTRFS_MAGIC))
		/* before the sync of another process wrote it back */
		return u->dirtied_ns - u->ts_ns;
	if (u->locked_ns > u->ts_ns)
		return u->locked_ns - u->ts_ns; /* the same, of a folio that was dirty */
	if (u->copied_ns > u->ts_ns)
		return u->copied_ns - u->ts_ns;
	if (!u->waits && !(u->flags & FLAG_WORKER))
		return 0;
	if (u->to.flags & FLAG_DIRECT && (u->to.flags | u->flags) & (FLAG_SYNC | FLAG_DSYNC) &&
	    is_on((struct inode *)u->to.host, BTRFS_MAGIC))
		/* the rest of a block that it zeroed is written back by its own sync, which a
		 * kernel thread does */
		return 0;
	if (!reports_blocks(u->to.host))
		return dur_ns;
	return u->fresh_ns > u->ts_ns ? u->fresh_ns - u->ts_ns : 0;
}

/* The request is complete with this result. pos: its position now; 0: it is not there any more. */
__noinline int uring_finish(struct uring_request *u, s32 res, u64 pos, u64 dur_ns)
{
	struct uring_done d = { .res = res, .dur_ns = dur_ns };
	const struct uring_op *op;

	if (!u)
		return 0;
	op = uring_op(u->opcode);
	d.kind = uring_kind(u->opcode);
	if (res > 0 && op->flags & (OP_MOVES | OP_BYTES))
		d.bytes = res;
	if (d.kind == KIND_URING_WRITE && d.bytes)
		d.queue_ns = uring_dirtied_after(u, dur_ns);
	if (u->to.moving && is_storage(u->to.type) && d.bytes && d.kind == KIND_URING_WRITE &&
	    !pos && !u->placed && u->proc >= PROC_FIRST)
		lose(LOSS_URING_UNSEEN); /* its offset is not known */
	if (u->to.moving && is_storage(u->to.type) && d.bytes && pos)
		u->to.offset = pos - d.bytes; /* the offset of the bytes, whatever was asked for */
	uring_record(u, &u->to, &d);
	if (op->flags & OP_SPLICE) {
		d.kind = KIND_URING_READ;
		uring_record(u, &u->from, &d);
	}
	return 0;
}

/* True when all bytes of a request have moved. In flight its result is the length that it asked
 * for, and its position does not move until the end. */
static __always_inline bool uring_moved(u64 req, const struct uring_request *u)
{
	s32 res = uring_result(req);
	u32 flags = uring_op(u->opcode)->flags;

	return flags & OP_MOVES && !(flags & OP_SPLICE) && is_storage(u->to.type) && res > 0 &&
	       uring_pos(req) == u->to.offset + res;
}

/* Enters a request that is being submitted. An ended request whose struct it uses is overwritten:
 * an insertion takes a lock and memory, which a deletion gives back, and both take longer. False:
 * there is no room. */
static __always_inline bool uring_enter(u64 req, const struct uring_request *new)
{
	struct uring_request *u = bpf_map_lookup_elem(&urings, &req);
	struct iot_state *s = run_state();

	if (u) {
		__builtin_memcpy(u, new, sizeof(*u));
		return true;
	}
	if (bpf_map_update_elem(&urings, &req, new, BPF_ANY))
		return false;
	if (s)
		__sync_fetch_and_add(&s->urings, 1);
	return true;
}

static __always_inline void uring_delete(u64 req)
{
	struct iot_state *s = run_state();

	if (!bpf_map_delete_elem(&urings, &req) && s)
		__sync_fetch_and_add(&s->urings, -1);
}

/* Removes a request that has ended. Its entry stays for the next one that uses its struct, until
 * its ring ends (uring_ring_end()), unless half of the table is taken. */
static __always_inline void uring_leave(u64 req, struct uring_request *u)
{
	struct iot_state *s = run_state();

	if (s && s->urings <= cfg.max_urings / 2)
		*(volatile u64 *)&u->ts_ns = 0;
	else
		uring_delete(req);
}

/* The submitter continues: finishes its last request if that has no completion. */
__noinline int uring_settle(struct task_ctx *c)
{
	struct uring_request *u;
	u64 req;

	if (!c || !c->uring.req)
		return 0;
	req = c->uring.req;
	u = uring_find(req);
	if (!u || !u->skip || !uring_moved(req, u))
		return 0;
	uring_finish(u, uring_result(req), uring_pos(req), 0);
	uring_leave(req, u);
	return 0;
}

#endif
