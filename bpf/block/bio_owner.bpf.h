/* SPDX-License-Identifier: GPL-3.0-only */
/* bio_owner.bpf.h - pieces: bytes of a bio with one owner and cause, which are counted together;
 * and the division of a journal transaction's bytes among its owners. Used by bio_walk.bpf.h.
 */
#ifndef IOT_BIO_OWNER_BPF_H
#define IOT_BIO_OWNER_BPF_H

#include "bio_table.bpf.h"
#include "event.bpf.h"
#include "filesum.bpf.h"
#include "owner.bpf.h"
#include "program_copies.bpf.h"

/* owners of transactions among which one program divides bytes: about 100 us */
#define MAX_SHARES 256

/* Pieces that the tracer divides later. No map of type queue: programs that the tracer calls cannot
 * use one before 6.2. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);      /* number, as iot_state.late counts */
	__type(value, struct iot_late);
} late SEC(".maps");

/* A completed request. */
struct done {
	u64 sector, bytes, size, issue_ns, dur_ns, queue_ns;
	u32 flags, error, tid;
	u32 part;              /* device number of the partition; 0: the whole disk */
};

/* A search for redirtied blocks of a bio (redirty.bpf.h): at block `pos` of a folio that begins at
 * `begin`, until `end`. */
struct redirty {
	u64 inode, begin, pos, end;
	/* struct buffer_head, where blocks have one, and the offset of its block */
	u64 buffer, at;
	u64 state;             /* address of the folio's dirty bitmap, where it has one */
	u64 from, to;          /* redirtied bytes that were not reported yet */
	u32 blocks, bits;      /* number of blocks of the folio; log2 of their size */
};

/* One walk over the pages of bios. Pages with the same owner and cause are joined to a piece before
 * they are counted. */
struct bio_walk {
	/* struct bio *, as a number: the verifier loses types in callbacks */
	u64 bio;
	struct iot_bio tag;
	/* the bio whose pages are walked, and the position inside it; skip: bytes in front that do
	 * not count */
	u64 pages;
	u32 idx, done, left, skip;
	u32 by_page;           /* 1: owners are looked up page by page */
	struct {               /* pages [from, to) of an inode, with the owner that was looked up */
		u64 inode, from, to, owner;
		u32 how;
	} alike;
	/* the current piece */
	struct iot_cell_key key;
	u64 owner, off, bytes;
	u32 file;
	/* its cause while it is counted, where the key has another one for it */
	u32 cause;
	struct iot_filesum_ref sum;
	/* completion: the request */
	u32 budget, ops, pieces, error;
	u64 lat_ns;
	struct iot_cell_key top_key;
	u64 top_bytes, top_owner;
	u32 top_file, top_demanded;
	/* queueing: the range that a reader has asked for, and the bytes of it that had to be
	 * read */
	u64 range_inode, range_off, range_len, missed;
	u64 read_inode, read_from, read_to; /* read: the range of the file that it fills */
	u32 read_torn;         /* 1: it is not one range of one file */
	u32 submitted;         /* pieces so far */
	u32 differ;            /* 1: a piece has another owner than the first */
	u32 task;              /* the submitter, for the event */
	u32 wanted;            /* 1: a selected process dirtied the file, among others */
	/* shares that this program has walked; 1: called by the tracer, without limit */
	u32 shares, later;
	u32 redirtied;         /* 1: a folio was dirty when it was submitted */
	u64 began_ns;          /* file data: time of the submission; 0: other bios */
	struct done over;      /* completion. The members from here on are not 0 when a walk begins,
				* but this one where a request completes */
	/* owner of the first piece, and how that is known */
	u64 one_owner;
	u32 one_how;
	/* a piece of a journal transaction that is being divided: the next share, and the bytes
	 * that are left */
	struct {
		u64 txn, next, total, weight, left;
	} split;
	struct redirty redirty; /* the search for redirtied blocks: redirty.bpf.h */
};

/* Walks are too large for the stack. There is one for each program that walks, on each processor: a
 * program is never entered twice on one processor (the kernel skips it, and we count that), but its
 * copy is (program_copies.bpf.h). */
enum { WALK_QUEUE, WALK_COMPLETE, WALK_ISSUE, WALK_SHARE /* calls of the tracer */, WALKS };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES_MOST * WALKS);
	__type(key, u32);
	__type(value, struct bio_walk);
} walks SEC(".maps");

/* Begins walk `n`: the first `size` bytes of it, a constant, are set to 0. */
static __always_inline struct bio_walk *bio_walk_of(u32 n, u64 size)
{
	struct bio_walk *w;

	n += copy_working() * WALKS;
	w = bpf_map_lookup_elem(&walks, &n);
	if (w)
		__builtin_memset(w, 0, size);
	return w;
}

static __always_inline struct bio_walk *bio_walk_begin(u32 n)
{
	return bio_walk_of(n, offsetof(struct bio_walk, one_owner));
}

/* A walk as the context of bpf_loop(), which takes only pointers to the stack. Functions that take
 * a walk are global: each is verified once, not at every call. */
struct bio_walk_ref {
	struct bio_walk *w;
};

/* Adds bytes of a piece to an aggregate. */
static __always_inline void piece_count(struct bio_walk *w, u32 n, u64 bytes, u64 ops)
{
	struct iot_cell *v;

	if (!w->later) {
		cell_add(n, ops, bytes, w->error ? bytes : 0, ops ? w->lat_ns : 0, ops && w->error);
		return;
	}
	v = cell_here(n);
	if (!v) {
		lose(LOSS_CELL_BYTES);
		return;
	}
	/* the tracer's call can be interrupted by programs that add to the same sum */
	__sync_fetch_and_add(&v->bytes, bytes);
	if (w->error)
		__sync_fetch_and_add(&v->touched, bytes);
	__sync_fetch_and_add(&v->ops, ops);
	if (ops) {
		__sync_fetch_and_add(&v->lat_ns, w->lat_ns);
		__sync_fetch_and_add(&v->errors, w->error);
		if (w->lat_ns > v->max_ns)
			v->max_ns = w->lat_ns;
	}
}

/* Adds bytes to the aggregate of one owner, which is put into the walk's key: there is no stack
 * left for another key. Global: verified once. */
__noinline int piece_add(struct bio_walk *w, u32 proc, u64 bytes, u64 ops)
{
	if (!w)
		return 0;
	w->cause = w->key.cause; /* no register is left for it, and no stack on 6.1 */
	w->key.owner = proc & ~OWNER_LOOP;
	w->key.cause = cause_of(proc, w->key.cause);
	piece_count(w, cell_find(&w->key), bytes, ops);
	w->key.cause = w->cause;
	return 0;
}

static long split_share(u32 n, struct bio_walk_ref *r)
{
	struct bio_walk *w = r->w;
	u32 proc = w->split.next;
	struct txn_share *s = txn_share_find(w->split.txn, proc);
	struct iot_cell_key k;
	u64 part;

	if (!s || s->place != w->split.next >> 32)
		return 1; /* evicted, or evicted and made again */
	w->split.next = s->next;
	w->split.weight += s->weight;
	part = w->bytes * s->weight / w->split.total;
	if (part > w->split.left)
		part = w->split.left;
	w->split.left -= part;
	k = w->key;
	k.owner = proc & ~OWNER_LOOP;
	k.cause = cause_of(proc, k.cause);
	piece_count(w, cell_seek(&k), part, 0);
	return !w->split.next;
}

/* Keeps a piece for the tracer. */
__noinline int txn_defer(struct bio_walk *w)
{
	struct iot_state *s = run_state();
	struct iot_late l = {};
	u64 n;

	if (!w || !s)
		return false;
	l.owner = w->owner;
	l.bytes = w->bytes;
	l.lat_ns = w->lat_ns;
	l.ops = w->ops;
	l.errors = w->error;
	l.key = w->key;
	n = __sync_fetch_and_add(&s->late, 1);
	if (!bpf_map_update_elem(&late, &n, &l, BPF_NOEXIST))
		return true;
	lose(LOSS_TXN_SHARE);
	return false;
}

/* Divides journal bytes by the weights of the handles. The rest from rounding goes to the largest
 * share, and the bytes of evicted shares have no owner. A transaction may have thousands of owners:
 * the tracer divides what would take too long here. */
static __always_inline void txn_split(struct bio_walk *w)
{
	struct txn *x = txn_find(w->owner);
	struct bio_walk_ref ref = { w };
	u8 how = w->key.how;
	u32 shares = x ? x->shares >> 32 : 0;
	u64 part;

	w->shares += shares;
	if (!w->later && w->shares > MAX_SHARES) {
		w->shares -= shares;
		if (txn_defer(w))
			return;
		x = NULL;
	}
	if (!x || !x->total) {
		w->key.how = HOW_NONE;
		piece_add(w, PROC_NONE, w->bytes, w->ops);
		w->key.how = how;
		return;
	}
	w->split.txn = txn_id(w->owner);
	/* read before the weights, which may grow meanwhile: a log is added to while it is
	 * written */
	w->split.total = __sync_fetch_and_add(&x->total, 0);
	if (x->first && !x->shares && x->first_weight >= w->split.total) { /* the only share */
		piece_add(w, x->first, w->bytes, w->ops);
		return;
	}
	w->split.next = x->shares;
	w->split.left = w->bytes;
	w->split.weight = 0;
	if (w->split.next)
		bpf_loop(TXN_SHARES, split_share, &ref, 0);
	if (x->first) {
		w->split.weight += x->first_weight;
		part = w->bytes * x->first_weight / w->split.total;
		if (part > w->split.left)
			part = w->split.left;
		w->split.left -= part;
		piece_add(w, x->first, part, 0);
	}
	if (w->split.weight < w->split.total) {
		lose(LOSS_TXN_SHARE);
		part = w->bytes * (w->split.total - w->split.weight) / w->split.total;
		if (part > w->split.left)
			part = w->split.left;
		w->split.left -= part;
		w->key.how = HOW_NONE;
		piece_add(w, PROC_NONE, part, 0);
		w->key.how = how;
	}
	piece_add(w, x->top, w->split.left, w->ops);
}

/* True for file data without an owner: the dirty ledger needs the event whatever the filters are,
 * since a selected process may have dirtied it. */
static __always_inline bool is_nobodys_data(const struct iot_cell_key *k, u32 owner)
{
	return cfg.events && !owner && k->kind == KIND_FS_WRITE &&
	       (k->cause == CAUSE_DATA || k->cause == CAUSE_DIRECT);
}

/* True for data of an excluded process that a selected process may have dirtied before: the dirty
 * ledger needs the event, since they belong to the latter no more. */
static __always_inline bool is_taken(const struct bio_walk *w, u32 owner)
{
	return cfg.events && owner == PROC_OTHER && w->by_page && w->wanted &&
	       w->key.kind == KIND_FS_WRITE && w->key.cause == CAUSE_DATA;
}

static __always_inline void piece_event(struct bio_walk *w)
{
	u32 marked = owner_marked(w->owner), proc = marked & ~OWNER_LOOP;
	bool taken = is_taken(w, proc);
	struct iot_ring_event *r;

	if (!wants_event(proc) && !is_nobodys_data(&w->key, proc) && !taken)
		return;
	r = event_reserve(LOSS_EVENT_FS);
	if (!r)
		return;
	event_fill(&r->e, w->task, &w->key);
	r->e.owner = proc;
	r->e.cause = cause_of(marked, w->key.cause);
	if (taken)
		r->e.kind = KIND_FS_TAKEN;
	r->e.ts_ns = w->began_ns ?: bpf_ktime_get_ns();
	r->e.tid = current_thread();
	r->e.file = w->file;
	r->e.offset = w->off;
	r->e.size = w->bytes;
	r->e.bytes = taken ? 0 : w->bytes;
	event_submit(r);
}

/* True for file data that is submitted as other bytes, or a second time: the bytes of the file were
 * counted before. */
static __always_inline bool counted_before(u8 sub)
{
	return sub >= SUB_COPY && sub <= SUB_COMPRESSED_COPY;
}

/* Counts the piece in the sums by file. Submission keeps the slot in the tag, unless the pages have
 * other owners. */
static __always_inline void piece_by_file(struct bio_walk *w)
{
	u32 proc = w->owner & ~OWNER_DATA;

	if (w->owner & (OWNER_TXN | OWNER_LOOP))
		return;
	if (w->key.kind == KIND_BLK_READ || w->key.kind == KIND_BLK_WRITE)
		filesum_complete(&w->sum, w->file, proc, w->key.cause,
				 w->key.kind == KIND_BLK_WRITE, w->bytes);
	else
		filesum_submit(w->owner == w->tag.owner ? &w->tag.sum : &w->sum, w->file, proc,
			       w->key.cause, w->key.kind == KIND_FS_WRITE,
			       counted_before(w->key.sub) ? 0 : w->bytes);
}

/* Counts the current piece, and begins a new one. */
__noinline int piece_flush(struct bio_walk *w)
{
	if (!w || !w->bytes)
		return 0;
	if (w->owner & OWNER_TXN)
		txn_split(w);
	else
		piece_add(w, w->owner & ~OWNER_DATA, w->bytes, w->ops);
	piece_by_file(w);
	w->ops = 0;
	if (w->budget) { /* completion */
		w->pieces++;
		if (w->bytes > w->top_bytes) {
			w->top_bytes = w->bytes;
			w->top_key = w->key;
			w->top_owner = w->owner;
			w->top_file = w->file;
		}
	} else {
		if (!w->submitted++) {
			w->one_owner = w->owner;
			w->one_how = w->key.how;
		} else if (w->owner != w->one_owner) {
			w->differ = 1;
		}
		piece_event(w);
		w->ops = 1; /* every contiguous range that is submitted is an operation */
	}
	w->bytes = 0;
	return 0;
}

/* Adds bytes of one page or folio to the piece, or first flushes the piece when they do not follow
 * on it. */
static __always_inline void piece_extend(struct bio_walk *w, u64 owner, u8 cause, u8 how, u64 off,
					 u64 bytes)
{
	bool follows = w->bytes && w->owner == owner && w->key.cause == cause &&
		w->key.how == how && w->file == w->tag.file;

	if (follows && !w->budget)
		follows = w->off + w->bytes == off;
	else if (follows)
		follows = w->sum.slot == w->tag.sum.slot;
	if (!follows) {
		piece_flush(w);
		w->owner = owner;
		w->key.cause = cause;
		w->key.how = how;
		w->off = off;
		w->file = w->tag.file;
		w->sum = w->tag.sum;
	}
	w->bytes += bytes;
}

#endif
