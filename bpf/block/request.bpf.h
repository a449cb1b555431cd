/* SPDX-License-Identifier: GPL-3.0-only */
/* request.bpf.h - counts the bytes of block requests (struct request) when they complete.
 *
 * complete_bio() adds them to the aggregates of the owners of their bios, and unseen() does so for
 * a request whose completion was not traced. Bytes that no aggregate of their device holds are
 * summed by device in map `outside`, and compared with the kernel's counters: those that complete
 * while the gate is closed, those of partitions (the aggregates of their disk hold them) and those
 * of logical devices such as dm and md. Used by block.bpf.c and reduced_block.bpf.c.
 */
#ifndef IOT_REQUEST_BPF_H
#define IOT_REQUEST_BPF_H

#include "bio_cache.bpf.h"
#include "bio_walk.bpf.h"
#include "device.bpf.h"
#include "stacking_map.bpf.h"

#define EIO 5
#define ENOSPC 28

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);      /* disk */
	__type(value, struct iot_outside);
} outside SEC(".maps");

#ifdef IOT_REDUCED /* without compare-and-swap */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_REQUESTS);
	__type(key, u64);      /* request */
	__type(value, struct iot_request);
} requests SEC(".maps");

static __always_inline struct iot_request *request_find(u64 rq)
{
	return bpf_map_lookup_elem(&requests, &rq);
}

static __always_inline void request_drop(struct iot_request *r)
{
	u64 key = r->address;

	bpf_map_delete_elem(&requests, &key);
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_REQUESTS);
	__type(key, u32);      /* index of a request */
	__type(value, struct iot_request);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_REQUESTS / IOT_PLACE_WAYS);
	__type(key, u32);
	__type(value, struct addr_set);
} request_sets SEC(".maps");

/* Global functions, as this one, are verified once and not at each call. */
__noinline u32 request_at(u64 rq)
{
	return addr_find(&request_sets, cfg.request_bits, rq);
}

static __always_inline struct iot_request *request_find(u64 rq)
{
	u32 at = request_at(rq);

	return bpf_map_lookup_elem(&requests, &at);
}

__noinline u32 request_take(u64 rq)
{
	return addr_take(&request_sets, cfg.request_bits, rq);
}

static __always_inline void request_drop(struct iot_request *r)
{
	r->last = r->address;
	r->address = 0;
	addr_drop(&request_sets, cfg.request_bits, r->place);
}
#endif

static __always_inline struct iot_outside *outside_of(u32 disk)
{
	struct iot_outside none = {}, *o = bpf_map_lookup_elem(&outside, &disk);

	if (o)
		return o;
	bpf_map_update_elem(&outside, &disk, &none, BPF_NOEXIST);
	o = bpf_map_lookup_elem(&outside, &disk);
	if (!o)
		lose(LOSS_CELL_BYTES);
	return o;
}

/* Notes that logical device `dev` remapped a bio without block_bio_remap. dm-raid does, since code
 * of md remaps its bios. An md array itself is left out. */
static __always_inline void silent_note(u32 dev)
{
	struct iot_outside *o = dev >> 20 == MD_MAJOR ? NULL : outside_of(dev);

	if (o && !o->silent)
		o->silent = 1;
}

/* True for operations that the kernel counts as writes in /sys/block/DEV/stat (op_stat_group()).
 * Write-zeroes and secure erase are among them, although they transfer no data. */
static __always_inline bool counts_as_write(u32 op)
{
	return op == REQ_OP_WRITE || op == REQ_OP_WRITE_ZEROES || op == REQ_OP_SECURE_ERASE;
}

static __always_inline void add_outside(struct iot_outside *o, u32 op, u64 bytes)
{
	__sync_fetch_and_add(op == REQ_OP_READ ? &o->read : &o->write, bytes);
	o->last_ns = bpf_ktime_get_ns();
}

/* Adds bytes that completed on a partition or a logical device. No aggregate has them under its
 * number; the sum is only compared with its counters in the kernel. */
__noinline int part_add(u32 dev, u32 op, u64 bytes)
{
	struct iot_outside *o = op == REQ_OP_READ || counts_as_write(op) ? outside_of(dev) : NULL;

	if (!o)
		return 0;
	if (gate_open())
		__sync_fetch_and_add(op == REQ_OP_READ ? &o->inside_read : &o->inside_write, bytes);
	else
		add_outside(o, op, bytes);
	return 0;
}

/* The partition that a request was submitted to; 0: the whole disk. */
static __always_inline u32 part_of(struct request *rq, u32 disk)
{
	u32 dev = NUMBER_AT(POINTER_AT(rq, struct request, part), struct block_device, bd_dev);

	return dev == disk ? 0 : dev;
}

/* Counts one bio of a request that completes. */
static long complete_bio(u32 n, struct bio_walk_ref *ref)
{
	struct bio_walk *w = ref->w;
	struct bio *b = (struct bio *)w->bio;
	struct iot_bio *t;
	u32 size, demanded, at, flags;

	if (!w->bio || !w->budget)
		return 1;
	size = NUMBER_AT(b, struct bio, bi_iter.bi_size);
	if (size > w->budget)
		size = w->budget;
	at = bio_at(w->bio);
	t = bpf_map_lookup_elem(&bios, &at);
	if (t) {
		if (t->many)
			w->tag = *t;
		else
			w->tag.class = t->class;
		w->tag.demanded = t->demanded;
		if (size == NUMBER_AT(b, struct bio, bi_iter.bi_size)) {
			addr_drop(&bio_sets, cfg.bio_bits, at);
		} else { /* the rest completes later */
			t->off += size;
			t->demanded -= t->demanded < size ? t->demanded : size;
		}
	} else {
		__builtin_memset(&w->tag, 0, sizeof(w->tag));
		/* queued before the programs were attached, or the table was full */
		w->tag.cause = CAUSE_UNKNOWN;
	}
	flags = (w->over.flags & FLAG_FUA) | CELL_CARRIER(w->tag.carrier) |
		(w->tag.from == BIO_SUBMITTED ? 0 : FLAG_PASSED);
	if (w->key.sub != w->tag.sub || w->key.flags != flags) {
		piece_flush(w);
		w->key.sub = w->tag.sub;
		w->key.flags = flags;
	}
	if (w->tag.many) {
		w->by_page = 1;
		w->left = size;
		bio_walk_all(w);
	} else if (w->key.kind == KIND_BLK_READ && w->tag.cause == CAUSE_DATA) {
		demanded = w->tag.demanded < size ? w->tag.demanded : size;
		if (demanded)
			piece_extend(w, w->tag.owner, CAUSE_DATA, w->tag.how, 0, demanded);
		if (size > demanded)
			piece_extend(w, w->tag.owner, CAUSE_READAHEAD, w->tag.how, 0,
				     size - demanded);
	} else {
		piece_extend(w, w->tag.owner, w->tag.cause, w->tag.how, 0, size);
	}
	if (cache_is_whole() && w->key.kind == KIND_BLK_WRITE && is_written_back(w))
		writeback_event(w, KIND_WRITEBACK_END, size);
	w->budget -= size;
	if (!w->budget) {
		w->budget = 1; /* tells piece_flush() that this is a completion */
		piece_flush(w);
		w->budget = 0;
	}
	w->bio = POINTER_AT(b, struct bio, bi_next);
	return 0;
}

static __always_inline u32 request_flags(u32 f)
{
	u32 r = 0;

	if (f & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_SYNC___iot))
		r |= FLAG_SYNC;
	if (f & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_META___iot))
		r |= FLAG_META;
	if (f & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_FUA___iot))
		r |= FLAG_FUA;
	if (f & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_PREFLUSH___iot))
		r |= FLAG_PREFLUSH;
	if (f & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_RAHEAD___iot))
		r |= FLAG_RAHEAD;
	return r;
}


/* Sends the event of a completed request under the owner of all, or of most, of its bytes. */
__noinline int request_event(const struct bio_walk *w, const struct iot_cell_key *k, u64 owner,
			     u32 file, const struct done *d)
{
	u32 marked = owner_marked(owner), proc = marked & ~OWNER_LOOP;
	struct iot_ring_event *r;

	if (!w || !k || !d || !wants_event(proc))
		return 0;
	r = event_reserve(LOSS_EVENT_BLOCK);
	if (!r)
		return 0;
	event_fill(&r->e, PROC_NONE, k);
	r->e.owner = proc;
	r->e.cause = cause_of(marked, k->cause);
	r->e.ts_ns = d->issue_ns;
	r->e.tid = d->tid;
	r->e.file = file;
	r->e.dur_ns = d->dur_ns;
	r->e.queue_ns = d->queue_ns;
	r->e.offset = d->sector << 9;
	r->e.size = d->size;
	r->e.bytes = d->bytes;
	r->e.flags = d->flags | (w->pieces > 1 ? FLAG_MIXED : 0) | (k->flags & FLAG_PASSED);
	r->e.err = d->error;
	r->e.arg = d->part;
	event_submit(r);
	return 0;
}

#define REQ_OP_DRIVER_FIRST 32 /* REQ_OP_SCSI_IN until 5.13; REQ_OP_DRV_IN is 34 */
#define REQ_OP_DRIVER_LAST 35  /* REQ_OP_DRV_OUT */

/* True for commands of zones, the numbers of which 6.15 changed. Appends count as writes. */
static __always_inline bool is_zone_op(u32 op)
{
	u32 first = 10, last = 17; /* until 5.19, where the enum is called req_opf */

	if (HAS_ZONE_OPS) {
		first = bpf_core_enum_value(enum req_op___iot, REQ_OP_ZONE_OPEN___iot);
		last = bpf_core_enum_value(enum req_op___iot, REQ_OP_ZONE_RESET_ALL___iot);
	}
	return op >= first && op <= last;
}

/* The kind of a request that moves no bytes of blocks. */
static __always_inline u32 kind_without_bytes(u32 op)
{
	if (op == REQ_OP_FLUSH)
		return KIND_BLK_FLUSH;
	if (op == REQ_OP_WRITE_ZEROES)
		return KIND_BLK_ZEROES;
	if (op == REQ_OP_DISCARD)
		return KIND_BLK_DISCARD;
	if (op >= REQ_OP_DRIVER_FIRST && op <= REQ_OP_DRIVER_LAST)
		return KIND_BLK_PASSTHROUGH;
	return is_zone_op(op) ? KIND_BLK_ZONE : KIND_BLK_OTHER;
}

/* Counts a flush, a discard, or any other request that moves no bytes. */
__noinline int complete_other(struct bio_walk *w, u32 op, u32 disk, const struct done *d, u32 error)
{
	u64 *flusher, owner = PROC_NONE;
	struct iot_bio *t;
	struct iot_cell_key k = {};

	if (!w || !d)
		return 0;
	k.dev = disk;
	k.kind = kind_without_bytes(op);
	k.cause = op == REQ_OP_FLUSH ? CAUSE_FLUSH : op == REQ_OP_DISCARD ||
		op == REQ_OP_WRITE_ZEROES || op == REQ_OP_SECURE_ERASE ? CAUSE_DISCARD : CAUSE_NONE;
	if (k.cause == CAUSE_NONE)
		k.flags = CELL_OP(op);
	if (k.cause == CAUSE_DISCARD && error)
		k.sub = SUB_FAILED; /* its range was not zeroed or discarded */
	if (op == REQ_OP_FLUSH) {
		flusher = bpf_map_lookup_elem(&flushers, &disk);
		if (flusher)
			owner = *flusher;
	} else {
		t = bio_find(w->bio);
		if (t) {
			owner = t->owner;
			k.flags |= CELL_CARRIER(t->carrier);
			bio_drop(w->bio);
		}
	}
	k.owner = owner_marked(owner);
	k.cause = cause_of(k.owner, k.cause);
	k.owner &= ~OWNER_LOOP;
	k.how = k.owner ? HOW_EXACT : HOW_NONE;
	cell_add(cell_find(&k), 1, 0, d->size, d->dur_ns, error);
	if (d->dur_ns)
		hist_add(k.owner, k.kind, SUB_NONE, d->dur_ns);
	request_event(w, &k, owner, 0, d);
	return 0;
}

__noinline int queue_record(const struct iot_cell_key *top, u64 owner, u64 queue_ns)
{
	struct iot_cell_key k = {};

	if (!top || !queue_ns)
		return 0;
	k.owner = owner_top(owner);
	k.dev = top->dev;
	k.kind = top->kind == KIND_BLK_READ ? KIND_BLK_QUEUE_READ : KIND_BLK_QUEUE_WRITE;
	k.how = top->how;
	count_apart(&k, 1, 0, queue_ns, false);
	return 0;
}

/* A walk that deletes the tags of a request's bios without counting the bios. */
struct forget {
	u64 bio, left;
};

static long forget_bio(u32 n, struct forget *f)
{
	struct bio *b = (struct bio *)f->bio;
	u64 size;
	bool whole;

	if (!f->bio || !f->left)
		return 1;
	size = NUMBER_AT(b, struct bio, bi_iter.bi_size);
	whole = size <= f->left;
	if (!whole)
		size = f->left;
	if (whole)
		bio_drop(f->bio);
	f->left -= size;
	f->bio = POINTER_AT(b, struct bio, bi_next);
	return 0;
}

/* Counts a request that completed without a call of block__complete. Its bios are gone by now: its
 * owner is known only if all of them had the same tag when it was issued. */
__noinline int unseen(const struct iot_request *u, u32 walk)
{
	struct iot_outside *o;
	struct bio_walk *w;
	struct done *d;

	if (!u)
		return 0;
	o = outside_of(u->disk);
	w = bio_walk_begin(walk);
	if (!o || !w || u->op > REQ_OP_WRITE)
		return 0;
	if (!u->inside) {
		__sync_fetch_and_add(u->op == REQ_OP_WRITE ? &o->write : &o->read, u->bytes);
		return 0;
	}
	__sync_fetch_and_add(u->op == REQ_OP_WRITE ? &o->unseen_write : &o->unseen_read, u->bytes);
	if (u->part)
		part_add(u->part, u->op, u->bytes);
	w->key.dev = u->disk;
	w->key.kind = u->op == REQ_OP_WRITE ? KIND_BLK_WRITE : KIND_BLK_READ;
	w->key.cause = CAUSE_UNKNOWN;
	if (u->same) {
		w->tag.class = u->tag;
		/* its parts have several owners, and the BPF stack has no room to walk them */
		w->owner = u->tag.parts && !u->tag.how ? PROC_NONE : u->tag.owner;
		w->file = u->tag.file;
		w->sum = u->tag.sum;
		w->key.cause = u->tag.cause;
		w->key.how = u->tag.how;
		w->key.sub = u->tag.sub;
		w->key.flags = CELL_CARRIER(u->tag.carrier) |
			(u->tag.from == BIO_SUBMITTED ? 0 : FLAG_PASSED);
	}
	w->ops = w->budget = 1;
	d = &w->over;
	d->issue_ns = u->issue_ns;
	d->tid = u->tid;
	d->bytes = d->size = w->bytes = u->bytes;
	piece_flush(w);
	request_event(w, &w->top_key, w->top_owner, w->top_file, d);
	return 0;
}

/* True when a request with data completes with 0 bytes. A flush sequence (block/blk-flush.c) ends
 * so, after the completion of its data, and that completion was not traced. */
static __always_inline bool end_without_data(const struct iot_request *u, u32 bytes)
{
	return u && u->issue_ns && u->bytes && !bytes;
}

/* Counts a request that completes while the gate is closed: the kernel's counters have its bytes,
 * and no aggregate has. */
static __noinline int complete_outside(struct request *rq, u32 disk, u32 bytes)
{
	struct forget f = { .bio = POINTER_AT(rq, struct request, bio), .left = bytes };
	struct iot_outside *o;
	u32 op = op_of(rq->cmd_flags);
	struct iot_request *u;
	u64 after = 0;

	bpf_loop(MAX_BIOS, forget_bio, &f, 0);
	u = request_find(number_of(rq));
	if (end_without_data(u, bytes))
		unseen(u, WALK_COMPLETE);
	if (u) {
		after = u->inside ? bytes : 0;
		u->bytes -= bytes;
		if (bytes >= rq->__data_len)
			request_drop(u);
	}
	if (op != REQ_OP_READ && !counts_as_write(op))
		return 0;
	o = outside_of(disk);
	if (!o)
		return 0;
	__sync_fetch_and_add(op == REQ_OP_READ ? &o->late_read : &o->late_write, after);
	add_outside(o, op, bytes);
	return 0;
}

/* A number that distinguishes one use of a struct request from the next. */
static __always_inline u64 use_of(struct request *rq)
{
	return HAS_REQUEST_START ? rq->start_time_ns : 0;
}

/* The errno of a blk_status_t: ENOSPC for BLK_STS_NOSPC (3), EIO for all other errors. */
static __always_inline u32 error_of(int status)
{
	return !(u8)status ? 0 : (u8)status == 3 ? ENOSPC : EIO;
}

/* Calls unseen() for a request that block__sweep finds. block.bpf.c and reduced_block.bpf.c define
 * it: their walks differ. */
static void request_unseen(struct iot_request *u);

/* True when block__complete has counted bytes that the counters of the disk may lack still.
 * blk_update_request() calls the tracepoint, adds the bytes to the counters, and then subtracts
 * them from __data_len, in this order. */
static __always_inline bool is_uncounted(struct request *rq, struct iot_request *u)
{
	return u->issue_ns && u->op <= REQ_OP_WRITE && u->bytes < BPF_CORE_READ(rq, __data_len);
}

struct sweep {
	u32 disk, unsettled;
};

/* One entry of map `requests`. A request of the disk is over when its reference count is 0, or when
 * its struct request is in use again with another start time. If block__complete was not called
 * for it, it is counted here and its entry is freed. */
static long sweep_one(void *map, void *key, struct iot_request *u, struct sweep *s)
{
	u64 address = u->address;
	struct request *rq = (struct request *)(address ?: u->last);
	bool same;

	if (!rq || (u->disk != s->disk && u->part != s->disk))
		return 0;
	same = BPF_CORE_READ(rq, start_time_ns) == u->start_ns;
	if (same && is_uncounted(rq, u))
		s->unsettled++;
	if (!address || (same && BPF_CORE_READ(rq, ref.counter)))
		return 0;
	if (*(volatile u64 *)&u->address != address)
		return 0; /* block__complete freed the entry meanwhile */
	s->unsettled++;
	request_unseen(u);
	request_drop(u);
	return 0;
}

/* Called by the tracer before and after it reads the counters of a disk. Returns how many requests
 * the programs have counted and these counters may not have: at 0 the two can be compared.
 * Programs of this type exist since 5.14. */
SEC("syscall")
int block__sweep(struct iot_sweep *ask)
{
	struct sweep s = { ask->disk };

	bpf_for_each_map_elem(&requests, sweep_one, &s, 0);
	return s.unsettled;
}

#endif
