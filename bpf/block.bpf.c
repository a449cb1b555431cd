// SPDX-License-Identifier: GPL-3.0-only
/* block.bpf.c - every device byte, with owner and cause.
 *
 * A bio is classified when it is queued, because the submitter's context is gone later; what it is stays in a tag
 * until its request completes, where bytes are counted, so that they equal /sys/block/DEV/stat. Pages of files
 * with several writers are looked up one by one, at both places.
 */
#include "owner.bpf.h"
#include "journal.bpf.h"

#define MAX_BIOS 1024          /* bios of one request that are walked */
#define MAX_STEPS 8192         /* folios of one bio that are walked */
#define LOOP_MAJOR 7

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);      /* bio */
	__type(value, struct iot_bio);
} bios SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);      /* disk */
	__type(value, struct iot_outside);
} outside SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);      /* request */
	__type(value, struct iot_request);
} requests SEC(".maps");

/* Who asked last for a flush of a disk: flush requests are shared and carry no bio. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, u64);
} flushers SEC(".maps");

/* One walk over the pages of bios; pieces of one owner and cause are put together before they are counted. */
struct walk {
	u64 bio;               /* struct bio *: kept as a number, the verifier forgets types in callbacks */
	struct iot_bio tag;
	/* position inside the bio */
	u32 idx, done, left;
	u32 by_page;           /* 1: look owners up */
	/* the piece that is being put together */
	struct iot_cell_key key;
	u64 owner, off, bytes;
	/* completion: the request */
	u32 budget, ops, pieces;
	u64 lat_ns;
	struct iot_cell_key top_key;
	u64 top_bytes, top_owner;
	u32 top_file, top_demanded;
	/* queueing: what a reader has asked for, and how much of it had to be read */
	u64 range_inode, range_off, range_len, missed;
	u32 task, pad;         /* who submits, for the event */
	/* a piece of a journal transaction, split among its owners: the next of them, and what is left to give */
	struct {
		u64 txn, next, total, weight, left;
	} split;
};

/* Too large for the stack. One for queueing, one for completion and one for issuing on each processor: a program is never entered
 * twice on one processor (the kernel counts what it skips for that, and so do we). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline struct walk *walk_begin(u32 n)
{
	struct walk *w = bpf_map_lookup_elem(&walks, &n);

	if (w)
		__builtin_memset(w, 0, sizeof(*w));
	return w;
}

/* A walk as the context of bpf_loop(), which takes nothing but pointers to the stack. The functions that take a walk
 * are global: the verifier looks at each once, not at every call. */
struct walk_ref {
	struct walk *w;
};

/* Adds bytes to the aggregate of one owner. */
static __always_inline void piece_add(struct walk *w, u32 proc, u64 bytes, u64 ops)
{
	struct iot_cell_key k = w->key;

	k.owner = proc;
	cell_add(cell_find(&k), ops, bytes, 0, ops ? w->lat_ns : 0, false);
}

static long split_share(u32 n, struct walk_ref *r)
{
	struct walk *w = r->w;
	u32 proc = w->split.next;
	struct txn_share *s = txn_share_find(w->split.txn, proc);
	u64 part;

	if (!s || s->place != w->split.next >> 32)
		return 1; /* thrown out, or that and made again */
	w->split.next = s->next;
	w->split.weight += s->weight;
	part = w->bytes * s->weight / w->split.total;
	if (part > w->split.left)
		part = w->split.left;
	w->split.left -= part;
	piece_add(w, proc, part, 0);
	return !w->split.next;
}

/* Journal bytes are split by the weights of the handles; what rounding leaves goes to the largest. What shares that were thrown
 * out had is nobody's. */
static __always_inline void txn_split(struct walk *w)
{
	struct txn *x = txn_find(w->owner);
	struct walk_ref ref = { w };
	u8 how = w->key.how;
	u64 part;

	if (!x || !x->total) {
		w->key.how = HOW_NONE;
		piece_add(w, PROC_NONE, w->bytes, w->ops);
		return;
	}
	w->split.txn = w->owner & ~(OWNER_TXN | OWNER_DATA);
	w->split.next = x->shares;
	w->split.total = x->total;
	w->split.left = w->bytes;
	w->split.weight = 0;
	if (w->split.next)
		bpf_loop(TXN_SHARES, split_share, &ref, 0);
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

static __always_inline void piece_event(struct walk *w)
{
	u32 proc = owner_top(w->owner);
	struct iot_ring_event *r;

	if (!wants_event(proc))
		return;
	r = event_reserve(LOSS_EVENT_FS);
	if (!r)
		return;
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.offset = w->off;
	r->e.bytes = r->e.size = w->bytes;
	r->e.task = w->task;
	r->e.tid = bpf_get_current_pid_tgid();
	r->e.owner = proc;
	r->e.kind = w->key.kind;
	r->e.cause = w->key.cause;
	r->e.how = w->key.how;
	r->e.sub = w->key.sub;
	r->e.file = w->tag.file;
	r->e.dev = w->key.dev;
	event_submit(r);
}

/* Counts the piece that was put together, and begins a new one. */
__noinline int piece_flush(struct walk *w)
{
	if (!w || !w->bytes)
		return 0;
	if (w->owner & OWNER_TXN)
		txn_split(w);
	else
		piece_add(w, w->owner & ~OWNER_DATA, w->bytes, w->ops);
	w->ops = 0;
	if (w->budget) { /* completion */
		w->pieces++;
		if (w->bytes > w->top_bytes) {
			w->top_bytes = w->bytes;
			w->top_key = w->key;
			w->top_owner = w->owner;
			w->top_file = w->tag.file;
		}
	} else {
		piece_event(w);
		w->ops = 1; /* every contiguous range that is submitted is an operation */
	}
	w->bytes = 0;
	return 0;
}

/* Adds bytes of one page or folio to the piece, or flushes it first when they do not go on where it ends. */
static __always_inline void piece_extend(struct walk *w, u64 owner, u8 cause, u8 how, u64 off, u64 bytes)
{
	bool follows = w->bytes && w->owner == owner && w->key.cause == cause && w->key.how == how;

	if (follows && !w->budget)
		follows = w->off + w->bytes == off;
	if (!follows) {
		piece_flush(w);
		w->owner = owner;
		w->key.cause = cause;
		w->key.how = how;
		w->off = off;
	}
	w->bytes += bytes;
}

/* Bytes of [off, off + len) that the system call in progress asks for. */
static __always_inline u64 asked_bytes(const struct walk *w, struct inode *i, u64 off, u64 len)
{
	u64 end = off + len, to = w->range_off + w->range_len;

	if (w->range_inode != (u64)i)
		return len; /* nobody's range: the read was demanded as a whole */
	if (off < w->range_off)
		off = w->range_off;
	if (end > to)
		end = to;
	return end > off ? end - off : 0;
}

/* One folio, or one page of a file with several writers, of a bio's data. */
static long walk_step(u32 n, struct walk_ref *ref)
{
	struct walk *w = ref->w;
	struct bio *b = (struct bio *)w->bio;
	struct bio_vec *v;
	struct bio_vec bv;
	struct folio *f;
	struct page *p;
	struct inode *i;
	u64 first, in_folio, size, pos, owner = w->tag.owner;
	u8 how = w->tag.how, cause = w->tag.cause;
	u32 at, len;

	if (!w->left)
		return 1;
	v = (struct bio_vec *)POINTER_AT(b, struct bio, bi_io_vec);
	if (bpf_probe_read_kernel(&bv, sizeof(bv), v + w->idx))
		return 1;
	at = bv.bv_offset + w->done;
	p = (struct page *)((u64)bv.bv_page + (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page));
	f = page_folio(p);
	first = ((u64)p - (u64)f) / bpf_core_type_size(struct page);
	in_folio = (first << PAGE_SHIFT) + (at & (PAGE_SIZE - 1));
	size = w->by_page ? (first + 1) << PAGE_SHIFT : folio_pages(f) << PAGE_SHIFT;
	len = size > in_folio ? size - in_folio : PAGE_SIZE;
	if (len > bv.bv_len - w->done)
		len = bv.bv_len - w->done;
	if (len > w->left)
		len = w->left;
	pos = ((u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT) + in_folio;
	i = folio_inode(f);
	if (w->by_page && i) {
		owner = writer_of_page(i, pos >> PAGE_SHIFT, &how);
		if (w->key.kind == KIND_FS_WRITE)
			page_carried(i, pos >> PAGE_SHIFT);
	}
	piece_extend(w, owner, cause, how, pos, len);
	if (w->key.kind == KIND_FS_READ && i) {
		u64 asked = asked_bytes(w, i, pos, len);
		u64 page_off = pos & ~(PAGE_SIZE - 1);

		w->missed += asked;
		if (asked == len)
			w->tag.demanded += len;
		else if (asked) /* whole pages count as demanded: less cannot be read */
			w->tag.demanded += asked_bytes(w, i, page_off, len) + PAGE_SIZE - 1 > len ? len :
					   (asked + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	}
	w->left -= len;
	w->done += len;
	if (w->done >= bv.bv_len) {
		w->idx++;
		w->done = 0;
	}
	return 0;
}

__noinline int walk_bio(struct walk *w)
{
	struct walk_ref ref = { w };
	struct bio *b;

	if (!w || !w->bio)
		return 0;
	b = (struct bio *)w->bio;
	w->idx = BPF_CORE_READ(b, bi_iter.bi_idx);
	w->done = BPF_CORE_READ(b, bi_iter.bi_bvec_done);
	bpf_loop(MAX_STEPS, walk_step, &ref, 0);
	if (w->left) {
		lose(LOSS_WALK);
		piece_extend(w, w->tag.owner, w->tag.cause, w->tag.how, 0, w->left);
		w->left = 0;
	}
	return 0;
}

/* ---- queueing: what is this bio, and whose ---- */

struct first_page {

	struct inode *inode;
	u64 index;             /* page of the file or device that the bio's first byte is on */
	u32 offset;            /* inside that page */
};

static __always_inline void first_page(struct bio *b, struct first_page *fp)
{
	struct bio_vec *v = b->bi_io_vec;
	struct folio *f;
	struct page *p;
	u32 at;

	v += b->bi_iter.bi_idx;
	p = (struct page *)POINTER_AT(v, struct bio_vec, bv_page);
	if (!p)
		return;
	at = NUMBER_AT(v, struct bio_vec, bv_offset) + b->bi_iter.bi_bvec_done;
	p = (struct page *)((u64)p + (u64)(at >> PAGE_SHIFT) * bpf_core_type_size(struct page));
	f = page_folio(p);
	fp->inode = folio_inode(f);
	fp->index = NUMBER_AT(f, struct folio, index) + ((u64)p - (u64)f) / bpf_core_type_size(struct page);
	fp->offset = at & (PAGE_SIZE - 1);
}

/* A write by the journal's thread inside a commit: the journal, or file data that must be on disk before it. */
static __always_inline bool is_journal(struct bio *b, struct first_page *fp, struct task_ctx *c, bool *data)
{
	*data = false;
	if (!c || c->behalf != BEHALF_TXN)
		return false;
	if (!fp->inode || is_blockdev(fp->inode))
		return true;
	*data = function_of((u64)b->bi_end_io) == FN_END_BUFFER; /* data=journal: the file's own page */
	return *data;
}

static __always_inline void tag_journal(struct bio *b, struct iot_bio *t, struct first_page *fp, struct task_ctx *c,
					bool data)
{
	struct txn *x;

	t->cause = CAUSE_JOURNAL;
	t->owner = c->behalf_id;
	t->how = HOW_TRANSACTION;
	t->sub = data ? SUB_J_DATA : journal_kind(b, fp->inode, fp->index, fp->offset);
	x = txn_find(t->owner);
	if (x && t->sub != SUB_J_JSUPER) {
		x->journal_bytes += b->bi_iter.bi_size;
		x->journal_blocks++;
	}
}

static __always_inline void tag_file(struct iot_bio *t, struct inode *i, struct task_ctx *c, bool write)
{
	struct writer *w = writer_find(i);

	t->file = w && w->file ? w->file : file_number(i);
	if (w && !w->file)
		w->file = t->file;
	if (w && w->loop) {
		t->cause = CAUSE_LOOPBACK;
		t->many = 0;
		return;
	}
	t->cause = CAUSE_DATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		return;
	}
	t->many = w && w->many;
	t->owner = w ? w->first : PROC_NONE;
	t->how = t->owner ? HOW_INODE : HOW_NONE;
}

static __always_inline void tag_loop(struct iot_bio *t, struct inode *i, u64 index)
{
	struct page_key k = { page_space(i), index >> COARSE_SHIFT };
	u64 *o = bpf_map_lookup_elem(&loop_writer, &k);

	t->cause = CAUSE_LOOPBACK;
	if (!o)
		return;
	t->owner = *o;
	t->how = *o & OWNER_TXN ? HOW_TRANSACTION : HOW_INODE;
}

static __always_inline void tag_device(struct bio *b, struct iot_bio *t, struct first_page *fp, struct task_ctx *c, bool write)
{
	struct journal *j = journal_of(b->bi_bdev->bd_dev);
	u64 block;

	t->cause = CAUSE_METADATA;
	if (!write) {
		t->owner = owner_current(c, &t->how);
		if (c && c->call && c->range_known == 1 && c->range_inode == (u64)fp->inode) {
			t->cause = CAUSE_DATA;
			t->file = file_number((struct inode *)c->range_node);
		}
		return;
	}
	t->owner = writer_of_page(fp->inode, fp->index, &t->how);
	page_carried(fp->inode, fp->index);
	if (t->owner & OWNER_DATA) {
		struct writer *w = writer_find(fp->inode);

		t->cause = CAUSE_DATA;
		t->file = w ? w->file : 0;
		t->many = 1;
		t->how = HOW_EXACT;
		return;
	}
	t->many = b->bi_iter.bi_size > PAGE_SIZE;
	if (!j)
		return;
	block = ((fp->index << PAGE_SHIFT) + fp->offset) >> j->block_bits;
	if (block == j->super_block) { /* the log's tail moved */
		t->cause = CAUSE_JOURNAL;
		t->sub = SUB_J_JSUPER;
		t->many = 0;
		if (!t->owner) {
			t->owner = j->last_txn;
			t->how = j->last_txn ? HOW_TRANSACTION : HOW_NONE;
		}
	} else if (!t->owner && j->last_txn && block == j->fs_super) {
		/* written by the file system itself: on behalf of who used it last */
		t->owner = j->last_txn;
		t->how = HOW_TRANSACTION;
	}
}

/* The file of the direct I/O that is being submitted, as far as the call in progress tells. */
static __always_inline u32 file_direct(struct task_ctx *c)
{
	if (!c || !c->call)
		return 0;
	if (c->shape == SHAPE_AIO_SUBMIT)
		return c->aio_file;
	if (c->range_known != 1)
		return 0;
	return file_number((struct inode *)(c->range_blockdev ? c->range_node : c->range_inode));
}

static __always_inline void tag_rw(struct bio *b, struct iot_bio *t, struct task_ctx *c, bool write)
{
	struct first_page fp = {};
	bool data;
	u32 end = function_of((u64)b->bi_end_io);

	first_page(b, &fp);
	if (c && c->behalf == BEHALF_LOOP) {
		t->cause = CAUSE_LOOPBACK;
		if (fp.inode && write)
			t->owner = writer_of_page(fp.inode, fp.index, &t->how);
		return;
	}
	if (write && is_journal(b, &fp, c, &data)) {
		tag_journal(b, t, &fp, c, data);
		return;
	}
	if (write && c && c->behalf == BEHALF_FASTCOMMIT && fp.inode && is_blockdev(fp.inode)) {
		t->cause = CAUSE_JOURNAL;
		t->sub = SUB_J_FASTCOMMIT;
		t->owner = proc_current(c);
		t->how = HOW_EXACT;
		return;
	}
	if (end == FN_END_DIRECT || !fp.inode) {
		t->owner = owner_current(c, &t->how);
		t->cause = end == FN_END_DIRECT || t->owner ? CAUSE_DIRECT : CAUSE_UNKNOWN;
		t->file = file_direct(c);
		return;
	}
	if (is_blockdev(fp.inode)) {
		tag_device(b, t, &fp, c, write);
		return;
	}
	tag_file(t, fp.inode, c, write);
	if (t->cause == CAUSE_LOOPBACK)
		tag_loop(t, fp.inode, fp.index);
}

static __always_inline void tag_bio(struct bio *b, struct iot_bio *t, struct task_ctx *c)
{
	u32 op = b->bi_opf & 0xff;

	switch (op) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (bpf_core_enum_value_exists(enum req_flag_bits___iot, __REQ_SWAP___iot) &&
		    b->bi_opf & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_SWAP___iot)) {
			t->cause = CAUSE_SWAP;
			return;
		}
		tag_rw(b, t, c, op == REQ_OP_WRITE);
		if (op == REQ_OP_READ && c && c->call && c->write)
			t->sub = SUB_FOR_WRITE;
		return;
	default:
		t->cause = CAUSE_DISCARD;
		t->owner = owner_current(c, &t->how);
	}
}

/* What the file system submits (layer fs): one record for each contiguous range. */
static __always_inline void submit_record(struct walk *w, struct bio *b, bool write)
{
	struct iot_cell_key miss;
	u32 size = b->bi_iter.bi_size;

	w->key.dev = w->tag.disk;
	w->key.kind = write ? KIND_FS_WRITE : KIND_FS_READ;
	w->key.cause = w->tag.cause;
	w->key.how = w->tag.how;
	w->key.sub = w->tag.sub;
	w->ops = 1;
	w->left = size;
	w->by_page = w->tag.many;
	if (w->tag.cause == CAUSE_DATA) {
		walk_bio(w);
		piece_flush(w);
	} else {
		w->owner = w->tag.owner;
		w->off = b->bi_iter.bi_sector << 9;
		w->bytes = size;
		piece_flush(w);
	}
	if (write || w->tag.cause != CAUSE_DATA)
		return;
	__builtin_memset(&miss, 0, sizeof(miss));
	miss = w->key;
	miss.owner = owner_top(w->tag.owner);
	miss.kind = KIND_MISS;
	miss.sub = SUB_FT_REG;
	if (w->missed)
		count(&miss, 1, w->missed, 0, false);
	miss.kind = KIND_READAHEAD;
	if (size > w->missed)
		count(&miss, 1, size - w->missed, 0, false);
}

/* Queued before the run begins: it may complete inside it. */
static __always_inline void tag_early(struct bio *b)
{
	struct iot_bio t = { .cause = CAUSE_BEFORE };
	u64 key = (u64)b;

	b = UNTRUSTED(b, struct bio);
	t.disk = disk_of(b->bi_bdev);
	if (b->bi_iter.bi_size && dev_wanted(t.disk) && bpf_map_update_elem(&bios, &key, &t, BPF_ANY))
		lose(LOSS_BIO_TABLE);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block__queue, struct bio *b)
{
	struct task_ctx *c;
	struct walk *w;
	u32 op, size;
	u64 key = (u64)b;
	u8 how;

	if (!b)
		return 0;
	if (!gate_open()) {
		tag_early(b);
		return 0;
	}
	w = walk_begin(0);
	if (!w)
		return 0;
	b = UNTRUSTED(b, struct bio);
	op = b->bi_opf & 0xff;
	size = b->bi_iter.bi_size;
	w->tag.disk = disk_of(b->bi_bdev);
	if (!dev_wanted(w->tag.disk))
		return 0;
	c = ctx_find();
	w->bio = (u64)b;
	if (!size) {
		u64 owner = owner_current(c, &how);

		bpf_map_update_elem(&flushers, &w->tag.disk, &owner, BPF_ANY);
		if (c && c->sync_ns && !c->flush_ns)
			c->flush_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (c)
		range_look(c);
	if (c && (c->range_known == 1 || c->range_known == 3)) {
		w->range_inode = c->range_inode;
		w->range_off = c->range_off;
		w->range_len = c->range_len;
	}
	if (cfg.events)
		w->task = proc_running(c);
	tag_bio(b, &w->tag, c);
	if (b->bi_opf & 1U << bpf_core_enum_value(enum req_flag_bits___iot, __REQ_PREFLUSH___iot))
		bpf_map_update_elem(&flushers, &w->tag.disk, &w->tag.owner, BPF_ANY);
	if (op <= REQ_OP_WRITE && w->tag.cause != CAUSE_LOOPBACK)
		submit_record(w, b, op == REQ_OP_WRITE);
	if (bpf_map_update_elem(&bios, &key, &w->tag, BPF_ANY))
		lose(LOSS_BIO_TABLE);
	return 0;
}

/* The front of a bio that is too large becomes a bio of its own; the rest keeps the tag. */
SEC("tp_btf/block_split")
int BPF_PROG(block__split, struct bio *b)
{
	u64 key = (u64)b, parent;
	struct iot_bio *t, copy;

	if (!b)
		return 0;
	parent = (u64)b->bi_private;
	t = bpf_map_lookup_elem(&bios, &parent);
	if (!t)
		return 0;
	copy = *t;
	if (copy.demanded > b->bi_iter.bi_size)
		copy.demanded = b->bi_iter.bi_size;
	t->demanded -= copy.demanded;
	if (bpf_map_update_elem(&bios, &key, &copy, BPF_ANY))
		lose(LOSS_BIO_TABLE);
	return 0;
}

/* Only devices without requests (dm, md, zram) end their bios here. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(block__bio_end, struct request_queue *q, struct bio *b)
{
	u64 key = (u64)b;

	bpf_map_delete_elem(&bios, &key);
	return 0;
}

/* ---- requests ---- */

/* A write to a loop device is about to become a write to its backing file: its owner goes along, 64 KiB at a time. */
struct loop_walk {
	u64 bio, space;        /* page_space() of the backing file */
	u64 offset;
	u64 owner, index, last;
};

static long loop_mark(u32 n, struct loop_walk *w)
{
	struct page_key k = { w->space, w->index };

	if (w->index > w->last)
		return 1;
	bpf_map_update_elem(&loop_writer, &k, &w->owner, BPF_ANY);
	w->index++;
	return 0;
}

static long loop_bio(u32 n, struct loop_walk *w)
{
	struct bio *b = (struct bio *)w->bio;
	struct iot_bio *t;
	u64 key = w->bio, from, size;

	if (!w->bio)
		return 1;
	t = bpf_map_lookup_elem(&bios, &key);
	if (t && t->owner) {
		from = w->offset + (BPF_CORE_READ(b, bi_iter.bi_sector) << 9);
		size = BPF_CORE_READ(b, bi_iter.bi_size);
		w->owner = t->owner;
		w->index = from >> (PAGE_SHIFT + COARSE_SHIFT);
		w->last = (from + size - 1) >> (PAGE_SHIFT + COARSE_SHIFT);
		bpf_loop(256, loop_mark, w, 0);
	}
	w->bio = (u64)BPF_CORE_READ(b, bi_next);
	return 0;
}

static __always_inline void loop_issue(struct request *rq, struct gendisk *d)
{
	struct loop_device *lo = d->private_data;
	struct inode *backing = BPF_CORE_READ(lo, lo_backing_file, f_mapping, host);
	struct loop_walk w = { .bio = (u64)rq->bio };
	struct writer *v;

	if (!backing)
		return;
	w.space = page_space(backing);
	w.offset = BPF_CORE_READ(lo, lo_offset);
	v = writer_find(backing);
	if (!v)
		v = writer_make(backing, PROC_NONE, 1);
	if (v)
		v->loop = 1;
	if ((rq->cmd_flags & 0xff) == REQ_OP_WRITE)
		bpf_loop(MAX_BIOS, loop_bio, &w, 0);
}

/* One bio of a request that completes. */
static long complete_bio(u32 n, struct walk_ref *ref)
{
	struct walk *w = ref->w;
	struct bio *b = (struct bio *)w->bio;
	struct iot_bio *t;
	u64 key = w->bio;
	u32 size, demanded;

	if (!w->bio || !w->budget)
		return 1;
	size = BPF_CORE_READ(b, bi_iter.bi_size);
	if (size > w->budget)
		size = w->budget;
	t = bpf_map_lookup_elem(&bios, &key);
	if (t) {
		w->tag = *t;
		if (size == BPF_CORE_READ(b, bi_iter.bi_size))
			bpf_map_delete_elem(&bios, &key);
	} else {
		__builtin_memset(&w->tag, 0, sizeof(w->tag));
		w->tag.cause = CAUSE_UNKNOWN; /* queued before the programs were attached, or the table was full */
	}
	if (w->key.sub != w->tag.sub) {
		piece_flush(w);
		w->key.sub = w->tag.sub;
	}
	if (w->tag.many) {
		w->by_page = 1;
		w->left = size;
		walk_bio(w);
	} else if (w->key.kind == KIND_BLK_READ && w->tag.cause == CAUSE_DATA) {
		demanded = w->tag.demanded < size ? w->tag.demanded : size;
		if (demanded)
			piece_extend(w, w->tag.owner, CAUSE_DATA, w->tag.how, 0, demanded);
		if (size > demanded)
			piece_extend(w, w->tag.owner, CAUSE_READAHEAD, w->tag.how, 0, size - demanded);
	} else {
		piece_extend(w, w->tag.owner, w->tag.cause, w->tag.how, 0, size);
	}
	w->budget -= size;
	if (!w->budget) {
		w->budget = 1; /* keeps piece_flush() on the completion's side */
		piece_flush(w);
		w->budget = 0;
	}
	w->bio = (u64)BPF_CORE_READ(b, bi_next);
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

struct done {
	u64 sector, bytes, size, issue_ns, dur_ns, queue_ns;
	u32 flags, error;
};

static __always_inline void request_event(const struct walk *w, const struct iot_cell_key *k, u64 owner, u32 file,
					  const struct done *d)
{
	u32 proc = owner_top(owner);
	struct iot_ring_event *r;

	if (!wants_event(proc))
		return;
	r = event_reserve(LOSS_EVENT_BLOCK);
	if (!r)
		return;
	r->e.ts_ns = d->issue_ns;
	r->e.dur_ns = d->dur_ns;
	r->e.queue_ns = d->queue_ns;
	r->e.offset = d->sector << 9;
	r->e.size = d->size;
	r->e.bytes = d->bytes;
	r->e.owner = proc;
	r->e.file = file;
	r->e.dev = k->dev;
	r->e.flags = d->flags | (w->pieces > 1 ? FLAG_MIXED : 0);
	r->e.err = d->error;
	r->e.kind = k->kind;
	r->e.cause = k->cause;
	r->e.how = k->how;
	r->e.sub = k->sub;
	event_submit(r);
}

/* A flush, a discard, or anything else that moves no bytes. */
static __always_inline void complete_other(struct walk *w, u32 op, u32 disk, const struct done *d, bool error)
{
	u64 *flusher, key = w->bio, owner = PROC_NONE;
	struct iot_bio *t;
	struct iot_cell_key k = {};

	k.dev = disk;
	k.kind = op == REQ_OP_FLUSH ? KIND_BLK_FLUSH : op == REQ_OP_WRITE_ZEROES ? KIND_BLK_ZEROES :
		 op == REQ_OP_DISCARD ? KIND_BLK_DISCARD : KIND_BLK_OTHER;
	k.cause = op == REQ_OP_FLUSH ? CAUSE_FLUSH : k.kind == KIND_BLK_OTHER && op != REQ_OP_SECURE_ERASE ? CAUSE_NONE :
		  CAUSE_DISCARD;
	if (op == REQ_OP_FLUSH) {
		flusher = bpf_map_lookup_elem(&flushers, &disk);
		if (flusher)
			owner = *flusher;
	} else {
		t = bpf_map_lookup_elem(&bios, &key);
		if (t) {
			owner = t->owner;
			bpf_map_delete_elem(&bios, &key);
		}
	}
	k.owner = owner_top(owner);
	k.how = k.owner ? HOW_EXACT : HOW_NONE;
	count(&k, 1, 0, d->dur_ns, error);
	request_event(w, &k, owner, 0, d);
}

static __always_inline void queue_record(const struct iot_cell_key *top, u64 owner, u64 queue_ns)
{
	struct iot_cell_key k = {};

	if (!queue_ns)
		return;
	k.owner = owner_top(owner);
	k.dev = top->dev;
	k.kind = top->kind == KIND_BLK_READ ? KIND_BLK_QUEUE_READ : KIND_BLK_QUEUE_WRITE;
	k.how = top->how;
	count(&k, 1, 0, queue_ns, false);
}

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

/* A request whose bios are not counted: they only lose their tags. */
struct forget {
	u64 bio, left;
};

static long forget_bio(u32 n, struct forget *f)
{
	struct bio *b = (struct bio *)f->bio;
	u64 key = f->bio, size;
	bool whole;

	if (!f->bio || !f->left)
		return 1;
	size = BPF_CORE_READ(b, bi_iter.bi_size);
	whole = size <= f->left;
	if (!whole)
		size = f->left;
	if (whole)
		bpf_map_delete_elem(&bios, &key);
	f->left -= size;
	f->bio = (u64)BPF_CORE_READ(b, bi_next);
	return 0;
}

/* Counts a request that completed without a call of block__complete. Its owners are known when all its bios had the same. */
static __always_inline void unseen(const struct iot_request *u, u32 walk)
{
	struct iot_outside *o = outside_of(u->disk);
	struct walk *w = walk_begin(walk);
	struct done d = {};

	if (!o || !w || u->op > REQ_OP_WRITE)
		return;
	if (!u->inside) {
		__sync_fetch_and_add(u->op == REQ_OP_WRITE ? &o->write : &o->read, u->bytes);
		return;
	}
	__sync_fetch_and_add(u->op == REQ_OP_WRITE ? &o->unseen_write : &o->unseen_read, u->bytes);
	w->key.dev = u->disk;
	w->key.kind = u->op == REQ_OP_WRITE ? KIND_BLK_WRITE : KIND_BLK_READ;
	w->key.cause = CAUSE_UNKNOWN;
	if (u->same) {
		w->tag = u->tag;
		w->owner = u->tag.owner;
		w->key.cause = u->tag.cause;
		w->key.how = u->tag.how;
		w->key.sub = u->tag.sub;
	}
	w->ops = w->budget = 1;
	d.issue_ns = u->issue_ns;
	d.bytes = d.size = w->bytes = u->bytes;
	piece_flush(w);
	request_event(w, &w->top_key, w->top_owner, w->top_file, &d);
}

/* The end of a flush sequence has no bytes: they completed before. Was that told? */
static __always_inline bool end_without_data(const struct iot_request *u, u32 bytes)
{
	return u && u->issue_ns && u->bytes && !bytes;
}

/* Bytes that the kernel counts and this run does not, because the gate is closed. */
static __always_inline void complete_outside(struct request *rq, u32 disk, u32 bytes)
{
	struct forget f = { .bio = (u64)rq->bio, .left = bytes };
	struct iot_outside *o;
	u32 op = rq->cmd_flags & 0xff;
	u64 key = (u64)rq, late = 0;
	struct iot_request *u;

	bpf_loop(MAX_BIOS, forget_bio, &f, 0);
	u = bpf_map_lookup_elem(&requests, &key);
	if (end_without_data(u, bytes))
		unseen(u, 1);
	if (u) {
		late = u->inside ? bytes : 0;
		u->bytes -= bytes;
		if (bytes >= rq->__data_len)
			bpf_map_delete_elem(&requests, &key);
	}
	/* write-zeroes: the kernel counts them as written */
	if (op > REQ_OP_WRITE && op != REQ_OP_WRITE_ZEROES)
		return;
	o = outside_of(disk);
	if (!o)
		return;
	if (op == REQ_OP_READ) {
		__sync_fetch_and_add(&o->late_read, late);
		__sync_fetch_and_add(&o->read, bytes);
	} else {
		__sync_fetch_and_add(&o->late_write, late);
		__sync_fetch_and_add(&o->write, bytes);
	}
}

static __always_inline u64 use_of(struct request *rq)
{
	return bpf_core_field_exists(rq->start_time_ns) ? rq->start_time_ns : 0;
}

/* A request that is used again although nobody saw it complete. */
static __always_inline void used_again(const struct iot_request *old, u64 start_ns)
{
	if (old && old->issue_ns && old->start_ns != start_ns)
		unseen(old, 2);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block__insert, struct request *rq)
{
	struct iot_request u = { .inside = gate_open() };
	u64 key = (u64)rq;

	rq = UNTRUSTED(rq, struct request);
	u.start_ns = use_of(rq);
	used_again(bpf_map_lookup_elem(&requests, &key), u.start_ns);
	u.insert_ns = bpf_ktime_get_ns();
	u.disk = rq->q->disk->part0->bd_dev;
	u.bytes = rq->__data_len;
	u.op = rq->cmd_flags & 0xff;
	if (dev_wanted(u.disk) && bpf_map_update_elem(&requests, &key, &u, BPF_ANY))
		lose(LOSS_REQUEST_TABLE);
	return 0;
}

struct compare {
	u64 bio;
	struct iot_bio first;
	u32 same;
};

static long compare_bio(u32 n, struct compare *c)
{
	struct iot_bio *t;
	u64 key = c->bio;

	if (!c->bio || !c->same)
		return 1;
	t = bpf_map_lookup_elem(&bios, &key);
	if (!t || t->many || (n && (t->owner != c->first.owner || t->file != c->first.file || t->cause != c->first.cause ||
				    t->how != c->first.how || t->sub != c->first.sub)))
		c->same = 0;
	else if (!n)
		c->first = *t;
	c->bio = (u64)BPF_CORE_READ((struct bio *)key, bi_next);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block__issue, struct request *rq)
{
	struct iot_request u = { .inside = gate_open() }, *old;
	struct compare c = { .same = 1 };
	u64 key = (u64)rq;
	struct gendisk *d;

	rq = UNTRUSTED(rq, struct request);
	d = rq->q->disk;
	u.start_ns = use_of(rq);
	u.issue_ns = bpf_ktime_get_ns();
	u.disk = d->part0->bd_dev;
	u.bytes = rq->__data_len;
	u.op = rq->cmd_flags & 0xff;
	c.bio = (u64)rq->bio;
	bpf_loop(MAX_BIOS, compare_bio, &c, 0);
	u.same = c.same && !c.bio;
	u.tag = c.first;
	old = bpf_map_lookup_elem(&requests, &key);
	used_again(old, u.start_ns);
	if (old && old->start_ns == u.start_ns)
		u.insert_ns = old->insert_ns;
	if (dev_wanted(u.disk) && bpf_map_update_elem(&requests, &key, &u, BPF_ANY))
		lose(LOSS_REQUEST_TABLE);
	if (u.inside && d->major == LOOP_MAJOR)
		loop_issue(rq, d);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block__complete, struct request *rq, int error, unsigned int bytes)
{
	u64 key = (u64)rq, now;
	struct iot_request *t;
	struct walk_ref ref;
	struct walk *w;
	struct done d = {};
	struct forget f = {};
	u32 disk, op;

	rq = UNTRUSTED(rq, struct request);
	disk = rq->q->disk->part0->bd_dev;
	if (!gate_open()) {
		complete_outside(rq, disk, bytes);
		return 0;
	}
	t = bpf_map_lookup_elem(&requests, &key);
	if (end_without_data(t, bytes))
		unseen(t, 1);
	w = ref.w = walk_begin(1);
	if (!w)
		return 0;
	now = bpf_ktime_get_ns();
	op = rq->cmd_flags & 0xff;
	if (t && t->issue_ns) {
		d.issue_ns = t->issue_ns;
		d.dur_ns = now - t->issue_ns;
		if (t->insert_ns)
			d.queue_ns = t->issue_ns - t->insert_ns;
	} else {
		d.issue_ns = now;
	}
	if (t)
		t->bytes -= bytes;
	if (t && bytes >= rq->__data_len)
		bpf_map_delete_elem(&requests, &key);
	if (!dev_wanted(disk))
		return 0;
	d.sector = rq->__sector;
	d.size = bytes;
	d.flags = request_flags(rq->cmd_flags);
	d.error = (u8)error ? 5 : 0; /* EIO: the block layer's own codes are not errno */
	w->bio = (u64)rq->bio;
	w->lat_ns = d.dur_ns;
	w->ops = 1;
	if (op > REQ_OP_WRITE) {
		complete_other(w, op, disk, &d, d.error);
		return 0;
	}
	if (!bytes)
		return 0; /* the end of a flush sequence: its flush request is counted */
	w->key.dev = disk;
	w->key.kind = op == REQ_OP_WRITE ? KIND_BLK_WRITE : KIND_BLK_READ;
	w->key.flags = d.flags & FLAG_FUA;
	if (d.error) { /* no bytes moved */
		f.bio = w->bio;
		f.left = bytes;
		bpf_loop(MAX_BIOS, forget_bio, &f, 0);
		w->key.cause = CAUSE_UNKNOWN;
		cell_add(cell_find(&w->key), 1, 0, 0, d.dur_ns, true);
		return 0;
	}
	w->budget = bytes;
	d.bytes = bytes;
	bpf_loop(MAX_BIOS, complete_bio, &ref, 0);
	if (w->budget) { /* a request without bios, or longer than the walk */
		lose(LOSS_WALK);
		w->key.cause = CAUSE_UNKNOWN;
		w->key.how = HOW_NONE;
		piece_add(w, PROC_NONE, w->budget, w->ops);
	}
	hist_add(owner_top(w->top_owner), w->key.kind, d.dur_ns);
	queue_record(&w->top_key, w->top_owner, d.queue_ns);
	request_event(w, &w->top_key, w->top_owner, w->top_file, &d);
	return 0;
}

/* Called by the tracer: finds the requests of a disk that completed without a call of block__complete and were not used again
 * since. */
static long sweep_one(void *map, u64 *key, struct iot_request *u, struct iot_sweep *s)
{
	struct request *rq = (struct request *)*key;

	if (u->disk != s->disk)
		return 0;
	if (BPF_CORE_READ(rq, start_time_ns) == u->start_ns && BPF_CORE_READ(rq, ref.counter))
		return 0;
	if (u->issue_ns)
		unseen(u, 2);
	bpf_map_delete_elem(&requests, key);
	return 0;
}

SEC("syscall")
int block__sweep(struct iot_sweep *ask)
{
	struct iot_sweep s = { ask->disk };

	bpf_for_each_map_elem(&requests, sweep_one, &s, 0);
	return 0;
}
