// SPDX-License-Identifier: GPL-3.0-only
/* reduced_block.bpf.c - legacy object (reduced.bpf.h), for kernels before 5.17: every device byte,
 * counted when its request completes, so that the bytes equal /sys/block/DEV/stat. Owners are not
 * looked up.
 */
#define IOT_REDUCED
#include "request.bpf.h"

/* A request points to its disk until 5.16 (f3fa33acca9f), then its queue does. */
struct request___disk {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));

/* The counters of a request are in this type until 5.10 (cb8432d650fc), then in the block
 * device. */
struct hd_struct {
	u8 partno;
	int make_it_fail;
} __attribute__((preserve_access_index));

struct device___dev {
	u32 devt;
} __attribute__((preserve_access_index));

struct hd_struct___dev {
	struct device___dev __dev;
} __attribute__((preserve_access_index));

struct request___hd {
	struct hd_struct___dev *part;
} __attribute__((preserve_access_index));

static __always_inline struct gendisk *disk_of_request(struct request *rq)
{
	if (HAS_RQ_DISK)
		return BPF_CORE_READ((struct request___disk *)rq, rq_disk);
	return BPF_CORE_READ(rq, q, disk);
}

static __always_inline u32 number_of_disk(struct gendisk *d)
{
	return d ? BPF_CORE_READ(d, major) << 20 | BPF_CORE_READ(d, first_minor) : 0;
}

/* The partition that a request was submitted to; 0: the whole disk. */
static __always_inline u32 partition_of(struct request *rq, u32 disk)
{
	u32 dev;

	if (HAS_HD_STRUCT)
		dev = BPF_CORE_READ((struct request___hd *)rq, part, __dev.devt);
	else
		dev = BPF_CORE_READ(rq, part, bd_dev);
	return dev == disk ? 0 : dev;
}

/* Counts a request that completed without a call of block__complete: the kernel skips a program
 * that already runs on the processor. */
static __noinline int unseen_count(const struct iot_request *u)
{
	bool write = u->op == REQ_OP_WRITE;
	struct iot_cell_key k = {};
	struct iot_outside *o;

	if (!u->issue_ns || u->op > REQ_OP_WRITE)
		return 0;
	o = outside_of(u->disk);
	if (!o)
		return 0;
	if (!u->inside) {
		__sync_fetch_and_add(write ? &o->write : &o->read, u->bytes);
		return 0;
	}
	__sync_fetch_and_add(write ? &o->unseen_write : &o->unseen_read, u->bytes);
	if (u->part)
		part_add(u->part, u->op, u->bytes);
	k.dev = u->disk;
	k.kind = write ? KIND_BLK_WRITE : KIND_BLK_READ;
	k.cause = CAUSE_UNKNOWN;
	k.how = HOW_NONE;
	cell_add(cell_find(&k), 1, u->bytes, 0, 0, false);
	return 0;
}

static __always_inline void request_note(struct request *rq, bool issue)
{
	struct iot_request u = { .inside = gate_open() }, *old;
	u64 key = (u64)rq;

	u.start_ns = BPF_CORE_READ(rq, start_time_ns);
	u.disk = number_of_disk(disk_of_request(rq));
	u.part = partition_of(rq, u.disk);
	u.bytes = BPF_CORE_READ(rq, __data_len);
	u.op = op_of(BPF_CORE_READ(rq, cmd_flags));
	if (!dev_wanted(u.disk))
		return;
	old = bpf_map_lookup_elem(&requests, &key);
	if (old && old->start_ns != u.start_ns)
		unseen_count(old); /* the struct is reused */
	if (issue) {
		if (old && old->start_ns == u.start_ns)
			u.insert_ns = old->insert_ns;
		u.issue_ns = bpf_ktime_get_ns();
	} else {
		u.insert_ns = bpf_ktime_get_ns();
	}
	u.address = key;
	if (bpf_map_update_elem(&requests, &key, &u, BPF_ANY))
		lose(LOSS_REQUEST_TABLE);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block__insert, struct request *rq)
{
	request_note(rq, false);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block__issue, struct request *rq)
{
	request_note(rq, true);
	return 0;
}

/* Programs with the queue as the first argument: until 5.10 (a54895fa057c). */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(block__insert_queue, struct request_queue *q, struct request *rq)
{
	request_note(rq, false);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block__issue_queue, struct request_queue *q, struct request *rq)
{
	request_note(rq, true);
	return 0;
}

/* Counts a request that completes while the gate is closed: the kernel's counters include its
 * bytes. */
static __always_inline void complete_closed(struct iot_request *t, u32 disk, u32 op, u32 bytes)
{
	struct iot_outside *o = op == REQ_OP_READ || counts_as_write(op) ? outside_of(disk) : NULL;
	bool late = t->inside;

	if (!o)
		return;
	if (late)
		__sync_fetch_and_add(op == REQ_OP_READ ? &o->late_read : &o->late_write, bytes);
	add_outside(o, op, bytes);
}

static __always_inline void times_of(struct done *d, const struct iot_request *t)
{
	u64 now = bpf_ktime_get_ns();

	d->issue_ns = now;
	if (!t || !t->issue_ns)
		return;
	d->issue_ns = t->issue_ns;
	d->dur_ns = now - t->issue_ns;
	if (t->insert_ns)
		d->queue_ns = t->issue_ns - t->insert_ns;
}

static __always_inline void complete_data(struct bio_walk *w, u32 disk, u32 op, u32 bytes)
{
	struct done *d = &w->over;
	struct iot_cell_key k = {};

	k.dev = disk;
	k.kind = op == REQ_OP_WRITE ? KIND_BLK_WRITE : KIND_BLK_READ;
	k.cause = CAUSE_UNKNOWN;
	k.how = HOW_NONE;
	k.flags = d->flags & FLAG_FUA;
	d->bytes = bytes;
	cell_add(cell_find(&k), 1, bytes, d->error ? bytes : 0, d->dur_ns, d->error);
	if (!d->error) {
		hist_add(PROC_NONE, k.kind, SUB_NONE, d->dur_ns);
		queue_record(&k, PROC_NONE, d->queue_ns);
	}
	request_event(w, &k, PROC_NONE, 0, d);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block__complete, struct request *rq, int error, unsigned int bytes)
{
	u32 disk = number_of_disk(disk_of_request(rq)), flags = BPF_CORE_READ(rq, cmd_flags),
		op = op_of(flags), part;
	struct iot_request *t, was = {};
	u64 key = (u64)rq;
	struct bio_walk *w;

	part = bytes ? partition_of(rq, disk) : 0;
	if (part && dev_wanted(disk))
		part_add(part, op, bytes);
	t = bpf_map_lookup_elem(&requests, &key);
	if (t && end_without_data(t, bytes))
		unseen_count(t);
	if (t) {
		t->bytes -= bytes;
		was.issue_ns = t->issue_ns;
		was.insert_ns = t->insert_ns;
		was.inside = t->inside;
		if (bytes >= BPF_CORE_READ(rq, __data_len))
			bpf_map_delete_elem(&requests, &key);
	}
	if (!gate_open()) {
		complete_closed(&was, disk, op, bytes);
		return 0;
	}
	w = bio_walk_begin(WALK_COMPLETE);
	if (!w || !dev_wanted(disk))
		return 0;
	times_of(&w->over, &was);
	w->over.sector = BPF_CORE_READ(rq, __sector);
	if (!(w->over.sector + 1))
		w->over.sector = 0; /* flushes and commands of drivers have none: -1 */
	w->over.size = bytes;
	w->over.flags = request_flags(flags);
	w->over.error = error_of(error);
	w->over.part = part;
	if (op > REQ_OP_WRITE)
		complete_other(w, op, disk, &w->over, w->over.error);
	else if (bytes) /* the end of a flush sequence has none: its flush request is counted */
		complete_data(w, disk, op, bytes);
	return 0;
}

static __always_inline void request_unseen(struct iot_request *u)
{
	unseen_count(u);
}
