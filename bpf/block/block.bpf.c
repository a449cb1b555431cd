// SPDX-License-Identifier: GPL-3.0-only
/* block.bpf.c - every device byte, with owner and cause.
 *
 * A bio is classified when it is queued, because the context of the submitter is gone later. The
 * result is kept in a tag until its request completes, where bytes are counted, so that they equal
 * /sys/block/DEV/stat. Pages of files with several writers are looked up one by one, at both times.
 * Bios that logical devices (dm, md) remap inherit their tag (stacking_map.bpf.h).
 */
#include "redirty.bpf.h"
#include "carrier.bpf.h"
#include "direct_read.bpf.h"
#include "range.bpf.h"
#include "request.bpf.h"
#include "bio_cache.bpf.h"
#include "bio_class.bpf.h"
#include "program_copies.bpf.h"

#define MOST_ASKED (1ULL << 40) /* copies pass a limit, often the maximum */

/* Readahead begins to wait: pages that are read for a call which does not ask for them. */
static __always_inline void readahead_begins(struct bio_walk *w, struct iot_cell_key *k, u32 size)
{
	u64 mask = PAGE_SIZE - 1, from = w->range_off & ~mask,
		to = (w->range_off + w->range_len + mask) & ~mask;

	if (w->read_torn || w->read_to - w->read_from != size) {
		k->kind = KIND_READAHEAD_UNKNOWN;
		if (size > w->tag.demanded)
			count_deep(k, 1, size - w->tag.demanded);
		return;
	}
	/* pages that waited here were evicted from the cache, or they would not be read again */
	if (ra_waits(w->read_inode))
		ra_take(w->read_inode, w->read_from, w->read_to, KIND_NONE);
	if (w->range_inode != w->read_inode)
		return;
	ra_set(w->read_inode, w->read_from, from < w->read_to ? from : w->read_to, k->owner,
	       k->dev);
	ra_set(w->read_inode, to > w->read_from ? to : w->read_from, w->read_to, k->owner, k->dev);
}

/* Pages were looked up one by one, and have one owner: it keeps them until completion, also when
 * they are claimed meanwhile. */
static __always_inline void owner_settle(struct bio_walk *w)
{
	if (!w->tag.many || w->tag.parts || !w->submitted || w->differ)
		return;
	if (w->tag.owner != w->one_owner)
		w->tag.sum = w->sum;
	w->tag.owner = w->one_owner;
	w->tag.how = w->one_how;
	w->tag.many = 0;
}

/* Notes that file data are submitted. */
static __always_inline void data_submitted(struct bio_walk *w, u32 size)
{
	struct first_page fp = {};

	first_page(w->bio, &fp);
	w->redirty.inode = (u64)fp.inode;
	w->began_ns = submission_begins((u64)fp.inode, (fp.index << PAGE_SHIFT) + fp.offset + size);
}

/* Counts the data of a bio as one piece without a look at each page: it has one owner, and
 * redirtied blocks are not searched. */
static __always_inline bool range_at_once(struct bio_walk *w, u32 size, bool write)
{
	u64 inode = 0, from;

	if (w->by_page || w->tag.parts || w->tag.top || w->began_ns)
		return false;
	from = range_of_bio(w->bio, &inode);
	if (from == NO_RANGE)
		return false;
	piece_extend(w, w->tag.owner, w->tag.cause, w->tag.how, from, size);
	if (!write)
		bio_walk_read(w, inode, from, size);
	return true;
}

/* Counts what a file system submits (layer fs): one record for each contiguous range. */
__noinline int submit_record(struct bio_walk *w, u32 write)
{
	struct iot_cell_key miss;
	u32 size;

	if (!w)
		return 0;
	size = NUMBER_AT(w->bio, struct bio, bi_iter.bi_size);
	w->key.dev = w->tag.disk;
	w->key.kind = write ? KIND_FS_WRITE : KIND_FS_READ;
	w->key.cause = w->tag.cause;
	w->key.how = w->tag.how;
	w->key.sub = w->tag.sub;
	w->key.flags = CELL_CARRIER(w->tag.carrier);
	w->ops = 1;
	w->left = size;
	w->by_page = w->tag.many;
	if (w->tag.parts)
		/* a write: no reader has asked */
		w->range_off = (u64)NUMBER_AT(w->bio, struct bio, bi_iter.bi_sector) << 9;
	if (write && w->tag.cause == CAUSE_DATA && cfg.events)
		data_submitted(w, size);
	if (w->tag.cause == CAUSE_DATA && range_at_once(w, size, write)) {
		piece_flush(w);
	} else if (w->tag.cause == CAUSE_DATA || w->tag.parts) {
		bio_walk_all(w);
		piece_flush(w);
		owner_settle(w);
	} else {
		w->owner = w->tag.owner;
		w->file = w->tag.file;
		w->off = (u64)NUMBER_AT(w->bio, struct bio, bi_iter.bi_sector) << 9;
		w->bytes = size;
		piece_flush(w);
	}
	if (cache_is_whole() && write && is_written_back(w))
		writeback_event(w, KIND_WRITEBACK_BEGIN, size);
	if (cfg.light || write || w->tag.cause != CAUSE_DATA)
		return 0;
	__builtin_memset(&miss, 0, sizeof(miss));
	miss = w->key;
	miss.owner = owner_top(w->tag.owner);
	miss.kind = KIND_MISS;
	miss.sub = w->tag.sub ?: SUB_FT_REG;
	miss.flags = 0;
	if (w->missed)
		count_deep(&miss, 1, w->missed);
	miss.kind = KIND_READAHEAD;
	if (size > w->tag.demanded)
		count_deep(&miss, 1, size - w->tag.demanded);
	if (cache_is_whole())
		read_events(w, &miss);
	if (miss.sub == SUB_FT_REG)
		readahead_begins(w, &miss, size);
	return 0;
}

/* Fills in the range that is demanded: by a fault, by a call, by the source side of a copy; advice
 * demands nothing. */
static __always_inline void asked_range(struct bio_walk *w, struct task_ctx *c, struct bio *b)
{
	struct first_page fp = {};

	if (c->call && c->shape == SHAPE_ADVISE) {
		first_page(w->bio, &fp);
		w->range_inode = (u64)fp.inode;
		return;
	}
	if (c->range.state != RANGE_KNOWN && c->range.state != RANGE_FAULT)
		return;
	w->range_inode = c->range.inode;
	w->range_off = c->range.off;
	w->range_len = c->range.len < MOST_ASKED ? c->range.len : MOST_ASKED;
}

/* Tags a bio that is queued before the run begins: it may complete during the run. */
static __noinline int classify_early(struct bio *b)
{
	struct iot_bio t = { .cause = CAUSE_BEFORE };
	u64 key = number_of(b);
	bool bio_based;

	b = UNTRUSTED(b, struct bio);
	t.disk = disk_of(b->bi_bdev);
	bio_based = is_bio_based(b->bi_bdev);
	if (!b->bi_iter.bi_size || !(bio_based || dev_wanted(t.disk)))
		return 0;
	if (bio_based) {
		bio_place(b, &t, b->bi_iter.bi_sector);
		bio_note(b, &t);
	}
	bio_put(key, &t);
	return 0;
}

SEC("tp_btf/block_bio_remap")
int PROBE(block__remap, struct bio *b, u32 dev, u64 from)
{
	if (!b)
		return 0;
	b = UNTRUSTED(b, struct bio);
	if (b->bi_bdev->bd_dev == dev)
		return 0; /* the bio of a partition is mapped to its disk */
	held_note(b->bi_bdev, dev);
	if (cfg.dev && dev_wanted(disk_of(b->bi_bdev)))
		on_disk_note(dev, 1);
	bio_passed(b, dev, from);
	return 0;
}

/* A write without data asks for a flush. The thread of a logical device asks on behalf of the
 * process that asked for a flush of that device. */
static __noinline int queue_flush(struct bio *b, struct task_ctx *c, u32 disk, bool known)
{
	u32 logical;
	u64 owner;
	u8 how;

	if (c && c->sync.ns && !c->sync.flush_ns)
		c->sync.flush_ns = bpf_ktime_get_ns();
	if (known)
		return 0; /* it was remapped */
	owner = owner_current(c, &how);
	logical = owner ? 0 : held_by(b->bi_bdev);
	if (logical)
		flush_passed(logical, disk);
	else
		flusher_set(disk, owner);
	return 0;
}

/* True for a bio that a logical device remapped without block_bio_remap. Global: its caller has no
 * room left on the BPF stack. */
__noinline int queue_silent(u64 bio, struct bio_walk *w)
{
	u32 above = w ? passed_silently(bio, &w->tag) : 0;

	if (above)
		silent_note(above);
	return !!above;
}

/* Classifies the bio that the current thread submits. */
static __always_inline void queue_tag(struct bio *b, struct bio_walk *w, struct task_ctx *c)
{
	if (c)
		range_look(c);
	if (c && op_of(b->bi_opf) == REQ_OP_READ)
		asked_range(w, c, b);
	if (cfg.events)
		w->task = proc_running(c);
	bio_classify(w->bio, &w->tag, c);
	w->tag.carrier = carrier_now();
	if (w->tag.cause == CAUSE_DIRECT && !cfg.light)
		memory_claim(w->bio, w->tag.owner);
}

SEC("tp_btf/block_bio_queue")
int PROBE(block__queue, struct bio *b)
{
	struct task_ctx *c;
	struct bio_walk *w;
	struct iot_bio *passed;
	struct iot_state *s = run_state();
	bool bio_based, clone;
	u64 key;
	u32 op;

	if (!b || !s)
		return 0;
	key = number_of(b);
	passed = s->passes ? bio_find(key) : NULL;
	clone = passed && passed->from == BIO_CLONED;
	if (clone && b->bi_iter.bi_size) {
		passed->from = BIO_PASSED;
		return 0;
	}
	if (clone)
		bio_drop(key);
	if (!gate_open()) {
		classify_early(b);
		return 0;
	}
	w = bio_walk_of(WALK_QUEUE, offsetof(struct bio_walk, over));
	if (!w)
		return 0;
	b = UNTRUSTED(b, struct bio);
	w->tag.disk = disk_of(b->bi_bdev);
	bio_based = is_bio_based(b->bi_bdev);
	if (!bio_based && !dev_wanted(w->tag.disk))
		return 0; /* a bio on a logical device may reach a selected disk */
	w->bio = key;
	if (!s->passes || !queue_silent(key, w)) {
		c = ctx_find();
		/* zone operations have no data either */
		if (!b->bi_iter.bi_size && op_of(b->bi_opf) <= REQ_OP_FLUSH) {
			queue_flush(b, c, w->tag.disk, clone);
			return 0;
		}
		queue_tag(b, w, c);
	}
	op = op_of(b->bi_opf); /* here, since the stack has no room to keep it */
	if (b->bi_opf & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_PREFLUSH___iot))
		flusher_set(w->tag.disk, w->tag.owner |
			    (is_below_loop(w->tag.cause) &&
			     !(w->tag.owner & OWNER_TXN) ? OWNER_LOOP : 0));
	if (bio_based) {
		bio_place(b, &w->tag, b->bi_iter.bi_sector);
		bio_note(b, &w->tag);
	}
	if (op <= REQ_OP_WRITE && !is_below_loop(w->tag.cause) && w->tag.from == BIO_SUBMITTED &&
	    dev_wanted(w->tag.disk))
		submit_record(w, op == REQ_OP_WRITE);
	if (w->redirtied)
		redirty_look(w);
	bio_put(w->bio, &w->tag);
	return 0;
}

/* The front of a bio that is too large becomes a bio of its own; the rest keeps the tag. dm splits
 * the front of its bios off without another bio: then the bio is the one that has the tag, and its
 * position is where the rest begins. */
SEC("tp_btf/block_split")
int PROBE(block__split, struct bio *b)
{
	u64 key, parent;
	struct iot_bio *t, copy;
	struct upper_key k = {};

	if (!b)
		return 0;
	key = number_of(b);
	b = UNTRUSTED(b, struct bio);
	parent = POINTER_AT(b, struct bio, bi_private);
	t = bio_find(parent);
	k.op = op_of(b->bi_opf);
	if (!t) {
		t = bio_find(key);
		if (!t || !t->use)
			return 0;
		k.disk = t->disk;
		k.sector = b->bi_iter.bi_sector;
		upper_note(&k, key, t);
		return 0;
	}
	copy = *t;
	if (t->use) { /* a logical device: the tag keeps position and demanded bytes of the whole */
		k.disk = t->disk;
		k.sector = b->bi_iter.bi_sector + (b->bi_iter.bi_size >> SECTOR_SHIFT);
		upper_note(&k, parent, t);
		copy.size = 0;
	} else {
		if (copy.demanded > b->bi_iter.bi_size)
			copy.demanded = b->bi_iter.bi_size;
		t->demanded -= copy.demanded;
		t->off += b->bi_iter.bi_size;
	}
	bio_put(key, &copy);
	return 0;
}

/* Only devices without requests (dm, md, bcache, zram) end their bios here. */
SEC("tp_btf/block_bio_complete")
int PROBE(block__bio_end, struct request_queue *q, struct bio *b)
{
	struct iot_bio *t;
	u64 key;

	if (!b)
		return 0;
	key = number_of(b);
	t = bio_find(key);
	if (!t)
		return 0;
	/* bcache moves the bio to the device behind it */
	if (t->size)
		part_add(disk_of(b->bi_bdev) == t->disk ? b->bi_bdev->bd_dev : t->disk,
			 op_of(b->bi_opf), t->size);
	bio_drop(key);
	return 0;
}

/* ---- requests ---- */

/* The entry of a request that is inserted or issued. A reused request whose completion was not
 * traced is counted first. NULL: there is no room. */
static __always_inline struct iot_request *request_note(struct request *rq, u32 disk)
{
	u64 address = number_of(rq);
	u32 at = request_take(address);
	struct iot_request *r = bpf_map_lookup_elem(&requests, &at);
	u64 start_ns = use_of(rq);

	if (!r) {
		lose(LOSS_REQUEST_TABLE);
		return NULL;
	}
	if (r->address != address || r->start_ns != start_ns) {
		if (r->address && r->issue_ns)
			unseen(r, WALK_ISSUE);
		r->insert_ns = r->issue_ns = 0;
		r->start_ns = start_ns;
		r->tid = current_thread();
		r->disk = disk;
		r->part = part_of(rq, disk);
		r->place = at;
		*(volatile u64 *)&r->address = address;
	}
	r->bytes = rq->__data_len;
	r->op = op_of(rq->cmd_flags);
	r->inside = gate_open();
	r->same = 0;
	return r;
}

SEC("tp_btf/block_rq_insert")
int PROBE(block__insert, struct request *rq)
{
	struct iot_request *r;
	u32 disk;

	rq = UNTRUSTED(rq, struct request);
	disk = rq->q->disk->part0->bd_dev;
	r = dev_wanted(disk) ? request_note(rq, disk) : NULL;
	if (r) {
		r->insert_ns = bpf_ktime_get_ns();
		r->issue_ns = 0;
	}
	return 0;
}

/* Compares the tags of all bios of a request. */
struct compare {
	u64 bio;
	struct iot_request *r;
	u32 same;
};

static long compare_bio(u32 n, struct compare *c)
{
	struct iot_bio_class *first = &c->r->tag;
	struct iot_bio *t;

	if (!c->bio || !c->same)
		return 1;
	t = bio_find(c->bio);
	if (!t || (t->many && (n || !t->parts)) ||
	    (n && (first->parts || t->owner != first->owner || t->file != first->file ||
		   t->cause != first->cause ||
				    t->how != first->how || t->sub != first->sub ||
				    t->carrier != first->carrier)))
		c->same = 0;
	else if (!n)
		*first = t->class;
	c->bio = POINTER_AT(c->bio, struct bio, bi_next);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int PROBE(block__issue, struct request *rq)
{
	struct compare c = { .same = 1 };
	struct gendisk *d;
	u32 disk;

	rq = UNTRUSTED(rq, struct request);
	d = rq->q->disk;
	disk = d->part0->bd_dev;
	c.r = dev_wanted(disk) ? request_note(rq, disk) : NULL;
	if (c.r) {
		c.r->issue_ns = bpf_ktime_get_ns();
		c.bio = POINTER_AT(rq, struct request, bio);
		bpf_loop(MAX_BIOS, compare_bio, &c, 0);
		c.r->same = c.same && !c.bio;
	}
	/* else the module is not loaded, and there is no loop device */
	if (HAS_LOOP && gate_open() && d->major == LOOP_MAJOR)
		loop_issue(rq, d);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int PROBE(block__complete, struct request *rq, int error, unsigned int bytes)
{
	struct iot_request *t;
	struct bio_walk_ref ref;
	struct bio_walk *w;
	struct done *d;
	u32 disk, op, part;
	u64 now;

	rq = UNTRUSTED(rq, struct request);
	disk = rq->q->disk->part0->bd_dev;
	op = op_of(rq->cmd_flags);
	part = bytes ? part_of(rq, disk) : 0;
	if (part && dev_wanted(disk))
		part_add(part, op, bytes);
	if (!gate_open()) {
		complete_outside(rq, disk, bytes);
		return 0;
	}
	t = request_find(number_of(rq));
	if (end_without_data(t, bytes))
		unseen(t, WALK_COMPLETE);
	w = ref.w = bio_walk_begin(WALK_COMPLETE);
	if (!w)
		return 0;
	d = &w->over;
	now = bpf_ktime_get_ns();
	if (t && t->issue_ns) {
		d->issue_ns = t->issue_ns;
		d->tid = t->tid;
		d->dur_ns = now - t->issue_ns;
		if (t->insert_ns)
			d->queue_ns = t->issue_ns - t->insert_ns;
	} else {
		d->issue_ns = now;
	}
	if (t)
		t->bytes -= bytes;
	if (t && bytes >= rq->__data_len)
		request_drop(t);
	if (!dev_wanted(disk))
		return 0;
	/* flushes and commands of drivers have none: -1 */
	d->sector = rq->__sector + 1 ? rq->__sector : 0;
	d->size = bytes;
	d->flags = request_flags(rq->cmd_flags);
	d->error = error_of(error);
	d->part = part;
	w->bio = POINTER_AT(rq, struct request, bio);
	w->lat_ns = d->dur_ns;
	w->ops = 1;
	if (op > REQ_OP_WRITE) {
		complete_other(w, op, disk, d, d->error);
		return 0;
	}
	if (!bytes)
		return 0; /* the end of a flush sequence: its flush request is counted */
	w->key.dev = disk;
	w->key.kind = op == REQ_OP_WRITE ? KIND_BLK_WRITE : KIND_BLK_READ;
	/* the kernel counts the bytes of failed requests like all others */
	w->error = d->error ? 1 : 0;
	w->budget = bytes;
	d->bytes = bytes;
	bpf_loop(MAX_BIOS, complete_bio, &ref, 0);
	if (w->budget) { /* a request without bios, or longer than the walk */
		lose(LOSS_WALK);
		w->key.cause = CAUSE_UNKNOWN;
		w->key.how = HOW_NONE;
		piece_add(w, PROC_NONE, w->budget, w->ops);
	}
	if (!d->error) {
		hist_add(owner_top(w->top_owner), w->key.kind, SUB_NONE, d->dur_ns);
		queue_record(&w->top_key, w->top_owner, d->queue_ns);
	}
	request_event(w, &w->top_key, w->top_owner, w->top_file, d);
	return 0;
}

static __always_inline void request_unseen(struct iot_request *u)
{
	if (u->issue_ns)
		unseen(u, WALK_SHARE);
}

/* Called by the tracer: divides bytes of a transaction with too many owners for a probe. */
SEC("syscall")
int block__share(struct iot_late *l)
{
	struct bio_walk *w = bio_walk_begin(WALK_SHARE);

	if (!w)
		return 0;
	w->key = l->key;
	w->owner = l->owner;
	w->bytes = l->bytes;
	w->ops = l->ops;
	w->error = l->errors;
	w->lat_ns = l->lat_ns;
	w->later = 1;
	txn_split(w);
	return 0;
}
