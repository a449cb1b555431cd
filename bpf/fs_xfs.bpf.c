// SPDX-License-Identifier: GPL-3.0-only
/* fs_xfs.bpf.c - XFS and its log: whose transactions share a checkpoint, what each log write holds, metadata that is written in
 * place, files that lose bytes before they are written. Its types may live in a module, so it is an object of its own, loaded when
 * an XFS is mounted; arguments of a module's tracepoints may be NULL to the verifier, so each is checked.
 *
 * A transaction puts its items into the current checkpoint (struct xfs_cil_ctx), where they wait in memory; a worker writes it into
 * log records, several of which may share one buffer (struct xlog_in_core) that whoever comes last submits. Long after, xfsaild
 * writes the items to their places. So a transaction is weighed when it is committed, and what is written is looked at when it is
 * submitted: a record is a list of operations, each with the number of its checkpoint and, at the begin of an item, its type.
 */
#include "dirty.bpf.h"
#include "drop.bpf.h"
#include "parts.bpf.h"
#include "txn.bpf.h"
#include "uring.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct xlog_ticket {
	u32 t_tid;
};

struct xfs_cil;

struct xfs_cil_ctx {
	struct xfs_cil *cil;
	s64 sequence;
	struct xlog_ticket *ticket;
	struct list_head iclog_entry;
	struct work_struct push_work;
};

struct xlog;

struct xfs_cil {
	struct xlog *xc_log;
	struct xfs_cil_ctx *xc_ctx;
};

struct xfs_mount {
	struct super_block *m_super;
	struct xlog *m_log;
};

struct xlog {
	struct xfs_mount *l_mp;
	struct xfs_cil *l_cilp;
	int l_iclog_hsize;
	u32 l_iclog_roundoff;
};

struct xlog_in_core {
	struct xlog *ic_log;
	u32 ic_offset;
	void *ic_datap;
	struct list_head ic_callbacks;
};

struct xfs_trans {
	struct xfs_mount *t_mountp;
	struct list_head t_items;
};

struct xfs_log_vec {
	int lv_bytes;
};

struct xfs_log_item {
	struct list_head li_trans;
	u32 li_type;
	unsigned long li_flags;
	struct list_head li_bio_list;
	struct xfs_log_vec *li_lv;
	s64 li_seq;
};

struct xfs_buf_log_format {
	unsigned short blf_flags;
};

struct xfs_buf_log_item {
	struct xfs_log_item bli_item;
	struct xfs_buf_log_format __bli_format;
};

struct xfs_buf {
	u32 b_flags;
	int b_length;          /* sectors */
	struct xfs_mount *b_mount;
	struct xfs_buf_log_item *b_log_item;
	struct list_head b_li_list;
};

struct xfs_inode {
	struct inode i_vnode;
	struct work_struct i_ioend_work;
};

/* As kernel.h, which does without. */
struct kiocb___flags {
	int ki_flags;
};

struct iomap {
	u64 length;
	u16 type;
};

struct iomap_iter {
	struct inode *inode;
	long long pos, iter_start_pos; /* the second since 6.15 */
	u64 len;
	u32 flags;
	struct iomap iomap, srcmap;
};

struct iomap_iter___processed {
	s64 processed;
};

/* Of a folio with several blocks: a bit for each that is up to date, then one for each that is dirty. Since 6.6: before, a folio is
 * dirty as a whole. */
struct iomap_folio_state {
	unsigned long state[1];
};

struct folio___private {
	void *private;
};

struct xa_node {
	unsigned char shift;
	void *slots[64];
};

struct xarray___head {
	void *xa_head;
};

struct xfs_inode_log_item {
	struct xfs_log_item ili_item;
	struct xfs_inode *ili_inode;
	u32 ili_last_fields;
};

#pragma clang attribute pop

/* Of the format on disk, which does not change. */
#define OP_START 1
#define OP_COMMIT 2
#define OP_CONTINUED 4         /* its region goes on in the next record */
#define OP_CONTINUES 8
#define OP_UNMOUNT 32
#define TRANSACTION_MAGIC 0x5452414e
#define ITEM_IUNLINK 0x1238
#define ITEM_EFI 0x1236
#define ITEM_EFD 0x1237
#define ITEM_INODE 0x123b
#define ITEM_BUFFER 0x123c
#define ITEM_DQUOT 0x123d
#define ITEM_QUOTAOFF 0x123e
#define ITEM_ICREATE 0x123f
#define ITEM_LAST 0x124f       /* from RUI, 0x1240, on all are intents */
#define BUFFER_TYPE_SHIFT 11   /* of blf_flags */

/* Not of the format on disk, and unchanged since 4.18 (li_flags), 2.6 (b_flags). */
#define ITEM_DIRTY 3           /* bit of li_flags */
#define BUFFER_WRITE 2         /* in b_flags */

#define MAX_ITEMS 1024         /* of one transaction that are looked at */
#define MAX_ATTACHED 128       /* to one buffer: inodes of a cluster */

/* ---- what is known of logs, checkpoints, items and inodes ---- */

struct xlog_seen {
	u64 last;              /* owner: the newest checkpoint that somebody has a share of */
	s64 first;             /* the checkpoint that was current when the run began */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u64);      /* struct xlog */
	__type(value, struct xlog_seen);
} xfs_logs SEC(".maps");

struct checkpoint_key {
	u64 log;
	u32 tid, pad;
};

#define ALL_KNOWN (~0U)

struct checkpoint {
	u64 owner;
	u32 known;             /* bytes that transactions of the run put into it; ALL_KNOWN: all */
	u32 regions;           /* of the item that is being written: how many are left */
	u32 sub, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct checkpoint_key);
	__type(value, struct checkpoint);
} xfs_checkpoints SEC(".maps");

struct item {
	s64 seq;               /* newest checkpoint that it is in */
	u32 bytes;             /* there */
	u32 proc;              /* who changed it since it was written to its place */
	u32 many;              /* 1: several did */
	u32 written;           /* 1: it was, since the newest change */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);      /* struct xfs_log_item */
	__type(value, struct item);
} xfs_items SEC(".maps");

/* Who changed an inode last: for what is done to it later by threads of the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);      /* struct xfs_inode */
	__type(value, u32);
} xfs_inodes SEC(".maps");

static __always_inline u32 inode_changer(u64 ip)
{
	u32 *p = bpf_map_lookup_elem(&xfs_inodes, &ip);

	return p ? *p : PROC_NONE;
}

static __always_inline struct xlog_seen *log_see(u64 log, s64 sequence)
{
	struct xlog_seen *l = bpf_map_lookup_elem(&xfs_logs, &log), new = { .first = sequence };

	if (l)
		return l;
	bpf_map_update_elem(&xfs_logs, &log, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&xfs_logs, &log);
}

static __always_inline struct checkpoint *checkpoint_see(u64 log, u32 tid, u64 owner, u32 known)
{
	struct checkpoint *k, new = { .owner = owner, .known = known };
	struct checkpoint_key key = { .log = log, .tid = tid };

	k = bpf_map_lookup_elem(&xfs_checkpoints, &key);
	if (k)
		return k;
	bpf_map_update_elem(&xfs_checkpoints, &key, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&xfs_checkpoints, &key);
}

/* ---- transactions ---- */

struct commit {
	u64 head, at;          /* its list of items, and where we are */
	u64 seq;
	u32 proc, bytes;       /* whose it is; what it adds to the checkpoint */
};

static __always_inline u64 next_of(u64 list)
{
	return (u64)BPF_CORE_READ((struct list_head *)list, next);
}

static __always_inline u64 item_inode(u64 item)
{
	return (u64)BPF_CORE_READ((struct xfs_inode_log_item *)(item - bpf_core_field_offset(struct xfs_inode_log_item, ili_item)), ili_inode);
}

/* The next item of the transaction that it changed; 0: another, or the end. */
static __always_inline u64 commit_next(struct commit *k)
{
	u64 item = k->at - bpf_core_field_offset(struct xfs_log_item, li_trans);

	k->at = next_of(k->at);
	return BPF_CORE_READ((struct xfs_log_item *)item, li_flags) >> ITEM_DIRTY & 1 ? item : 0;
}

/* A thread of the kernel commits: on behalf of who changed the inode that it is about. */
static long commit_find_inode(u32 n, struct commit *k)
{
	u64 item;

	if (k->at == k->head || !k->at || k->proc)
		return 1;
	item = commit_next(k);
	if (item && BPF_CORE_READ((struct xfs_log_item *)item, li_type) == ITEM_INODE)
		k->proc = inode_changer(item_inode(item));
	return 0;
}

static __always_inline void item_change(struct item *i, const struct commit *k)
{
	if (i->written) {
		i->many = 0;
		i->written = 0;
	} else if (i->proc != k->proc) {
		i->many = 1;
	}
	i->proc = k->proc;
	i->seq = k->seq;
}

static long commit_item(u32 n, struct commit *k)
{
	struct item new = {}, *old;
	u64 item, ip;
	u32 bytes, type;

	if (k->at == k->head || !k->at)
		return 1;
	item = commit_next(k);
	if (!item)
		return 0;
	bytes = BPF_CORE_READ((struct xfs_log_item *)item, li_lv, lv_bytes);
	type = BPF_CORE_READ((struct xfs_log_item *)item, li_type);
	if (type != ITEM_INODE && type != ITEM_BUFFER && type != ITEM_DQUOT) { /* has no place but the log */
		k->bytes += bytes;
		return 0;
	}
	if (type == ITEM_INODE && k->proc) {
		ip = item_inode(item);
		bpf_map_update_elem(&xfs_inodes, &ip, &k->proc, BPF_ANY);
	}
	old = bpf_map_lookup_elem(&xfs_items, &item);
	if (!old) {
		new.seq = k->seq;
		new.bytes = bytes;
		new.proc = k->proc;
		k->bytes += bytes;
		bpf_map_update_elem(&xfs_items, &item, &new, BPF_ANY);
		return 0;
	}
	/* what is in the checkpoint already is replaced */
	if (old->seq != k->seq)
		k->bytes += bytes;
	else if (bytes > old->bytes)
		k->bytes += bytes - old->bytes;
	old->bytes = bytes;
	item_change(old, k);
	return 0;
}

/* The items are in the current checkpoint, which cannot be taken away until all of the transaction are. */
SEC("tp_btf/xfs_trans_commit_items")
int BPF_PROG(xfs__commit, struct xfs_trans *tp)
{
	struct commit k = {};
	struct xfs_cil_ctx *cp;
	struct checkpoint *at;
	struct xlog_seen *l;
	struct xlog *log;
	u64 owner;
	u32 tid;
	u8 how;

	/* before the run only the tracer is known: its outputs may be committed in it */
	if (!tp || (!gate_open() && current_task()->tgid != cfg.self_pid))
		return 0;
	log = BPF_CORE_READ(tp, t_mountp, m_log);
	cp = BPF_CORE_READ(log, l_cilp, xc_ctx);
	k.seq = BPF_CORE_READ(cp, sequence);
	k.head = (u64)tp + bpf_core_field_offset(struct xfs_trans, t_items);
	tid = BPF_CORE_READ(cp, ticket, t_tid);
	owner = owner_current(ctx_find(), &how);
	k.proc = owner & OWNER_TXN ? PROC_NONE : owner;
	if (!k.proc) {
		k.at = next_of(k.head);
		bpf_loop(MAX_ITEMS, commit_find_inode, &k, 0);
	}
	k.at = next_of(k.head);
	bpf_loop(MAX_ITEMS, commit_item, &k, 0);
	owner = txn_owner(BPF_CORE_READ(tp, t_mountp, m_super, s_dev), k.seq);
	l = log_see((u64)log, k.seq);
	if (!l)
		return 0;
	at = checkpoint_see((u64)log, tid, k.proc ? owner : l->last, l->first == k.seq ? 0 : ALL_KNOWN);
	if (at && at->known != ALL_KNOWN)
		__sync_fetch_and_add(&at->known, k.bytes);
	if (!k.proc)
		return 0; /* its cause is not known: what it changes is the others' */
	if (at)
		at->owner = owner;
	l->last = owner;
	txn_add(owner, k.proc, k.bytes ?: 1);
	return 0;
}

/* ---- log writes ---- */

struct op {
	u32 tid, len;          /* as on disk: the highest byte first */
	u8 client, flags;
	u16 res2;
};

#define CHECKPOINTS 16         /* in one log write, the last for what is not known */
#define SUBS 32                /* from SUB_J_SUPER on: a power of two */
#define MAX_OPS 32768          /* a log write has at most 256 KiB, an operation at least 12 bytes */

struct log_walk {
	u64 data, log;
	u32 at, end;
	u32 n, slot;           /* checkpoints, and that of the operation before */
	u32 mixed, pad;        /* 1: not all parts have the same owner */
	u32 tid[CHECKPOINTS];
	u64 owner[CHECKPOINTS];
	u32 bytes[CHECKPOINTS * SUBS]; /* zero where no walk is in progress: there are too many for each to begin with that */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct log_walk);
} log_walks SEC(".maps");

static __always_inline struct log_walk *log_walk_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&log_walks, &zero);
}

/* Which structure a buffer holds, by its type in blf_flags. */
static __always_inline u8 buffer_sub(u32 type)
{
	switch (type) {
	case 1 ... 3:
		return SUB_J_QUOTA;
	case 4:
		return SUB_J_BTREE;
	case 5 ... 7:
		return SUB_J_AG_HEADER;
	case 8:
		return SUB_J_INODE;
	case 9 ... 17:
		return SUB_J_DIR_XATTR;
	case 18:
		return SUB_J_SUPER;
	case 19 ... 20:
		return SUB_J_REALTIME;
	}
	return SUB_J_UNCLASSIFIED;
}

static __always_inline u8 item_sub(u32 type, u32 flags)
{
	switch (type) {
	case ITEM_INODE:
	case ITEM_IUNLINK:
		return SUB_J_INODE;
	case ITEM_BUFFER:
		return buffer_sub(flags >> BUFFER_TYPE_SHIFT);
	case ITEM_DQUOT:
	case ITEM_QUOTAOFF:
		return SUB_J_QUOTA;
	case ITEM_ICREATE:
		return SUB_J_INODE_CREATE;
	case ITEM_EFI:
	case ITEM_EFD:
	case ITEM_ICREATE + 1 ... ITEM_LAST:
		return SUB_J_INTENT;
	}
	return SUB_J_UNCLASSIFIED;
}

/* Which place in the walk a checkpoint has. */
static __always_inline u32 slot_of(struct log_walk *w, u32 tid, u64 owner)
{
	u32 n = w->n;

	if (n && w->tid[w->slot & (CHECKPOINTS - 1)] == tid)
		return w->slot;
	for (u32 i = 0; i < CHECKPOINTS - 1; i++)
		if (i < n && w->tid[i] == tid)
			return i;
	if (n >= CHECKPOINTS - 1)
		return CHECKPOINTS - 1;
	w->tid[n & (CHECKPOINTS - 1)] = tid;
	w->owner[n & (CHECKPOINTS - 1)] = owner;
	w->n = n + 1;
	return n;
}

static __always_inline void log_add(struct log_walk *w, u32 slot, u32 sub, u32 bytes)
{
	u64 at = slot * SUBS + ((sub - SUB_J_SUPER) & (SUBS - 1));

	asm volatile("" : "+r"(at)); /* 6.1 loses the bounds of what is put together in 32 bits */
	w->bytes[at & (CHECKPOINTS * SUBS - 1)] += bytes;
}

/* What an operation is part of; keeps which region of the item comes next. */
static __always_inline u8 op_sub(struct log_walk *w, struct checkpoint *k, u32 flags, u32 len)
{
	struct {
		u16 type, regions, flags, len;
	} head = {};
	u32 first = 0;

	if (flags & (OP_START | OP_COMMIT | OP_UNMOUNT))
		return SUB_J_LOG_OP;
	if (!(flags & OP_CONTINUES) && !k->regions) {
		if (len >= sizeof(first))
			bpf_probe_read_kernel(&first, sizeof(first), (void *)(w->data + w->at + sizeof(struct op)));
		if (len >= sizeof(head))
			bpf_probe_read_kernel(&head, sizeof(head), (void *)(w->data + w->at + sizeof(struct op)));
		k->regions = first == TRANSACTION_MAGIC ? 1 : first >> 16;
		k->sub = first == TRANSACTION_MAGIC ? SUB_J_LOG_OP : item_sub(first & 0xffff, head.flags);
	}
	if (!(flags & OP_CONTINUED) && k->regions)
		k->regions--;
	return k->sub;
}

static long log_op(u32 n, u32 *unused)
{
	struct log_walk *w = log_walk_of();
	u32 size, slot, known, tid;
	struct checkpoint *k;
	struct op op = {};
	u8 sub;

	if (!w || w->at + sizeof(op) > w->end || bpf_probe_read_kernel(&op, sizeof(op), (void *)(w->data + w->at)))
		return 1;
	size = sizeof(op) + __builtin_bswap32(op.len);
	if (size > w->end - w->at)
		return 1;
	tid = __builtin_bswap32(op.tid);
	k = checkpoint_see(w->log, tid, 0, ALL_KNOWN);
	if (!k)
		return 1;
	if (op.flags & OP_UNMOUNT)
		k->owner = proc_current(ctx_find());
	sub = op_sub(w, k, op.flags, size - sizeof(op));
	slot = slot_of(w, tid, k->owner);
	w->slot = slot;
	w->at += size;
	known = k->known < size ? k->known : size;
	if (k->known != ALL_KNOWN && sub != SUB_J_LOG_OP) {
		k->known -= known;
		log_add(w, CHECKPOINTS - 1, sub, size - known);
		size = known;
	}
	log_add(w, slot, sub, size);
	return 0;
}

/* One sum becomes a part; there is room for the most that is usual, and the rest is nobody's. */
static long log_part(u32 n, struct part_list **list)
{
	struct part_list *l = *list;
	struct log_walk *w = log_walk_of();
	struct part *p;
	u32 bytes, at;

	if (!w)
		return 1;
	bytes = w->bytes[n & (CHECKPOINTS * SUBS - 1)];
	if (!bytes)
		return 0;
	w->bytes[n & (CHECKPOINTS * SUBS - 1)] = 0;
	if (!l)
		return 0;
	at = l->n;
	if (at >= MAX_PARTS - 1) {
		lose(LOSS_TXN_SHARE);
		p = &l->part[MAX_PARTS - 1];
		if (at == MAX_PARTS - 1)
			p->bytes = 0;
		l->n = MAX_PARTS;
		p->owner = PROC_NONE;
		w->mixed = 1;
		p->sub = SUB_J_UNCLASSIFIED;
		p->bytes += bytes;
		return 0;
	}
	p = &l->part[at];
	p->owner = w->owner[n / SUBS & (CHECKPOINTS - 1)];
	w->mixed |= p->owner != l->part[0].owner;
	p->sub = SUB_J_SUPER + (n & (SUBS - 1));
	p->bytes = bytes;
	l->n = at + 1;
	return 0;
}

/* A log buffer is about to be written. Not yet packed: later a number stands at the begin of each sector. */
SEC("tp_btf/xlog_iclog_sync")
int BPF_PROG(xfs__log_write, struct xlog_in_core *ic)
{
	struct log_walk *w = log_walk_of();
	struct stated s = {};
	u32 header, unit, unused = 0;
	struct part_list *l;
	u64 key = (u64)ic;

	if (!ic || !w)
		return 0;
	w->at = w->n = w->slot = w->mixed = 0;
	w->log = (u64)BPF_CORE_READ(ic, ic_log);
	w->data = (u64)BPF_CORE_READ(ic, ic_datap);
	w->end = BPF_CORE_READ(ic, ic_offset);
	header = BPF_CORE_READ(ic, ic_log, l_iclog_hsize);
	unit = BPF_CORE_READ(ic, ic_log, l_iclog_roundoff) ?: 512;
	bpf_loop(MAX_OPS, log_op, &unused, 0);
	s.size = header + w->end + unit - 1;
	s.size -= s.size % unit;
	if (w->at + sizeof(struct op) > w->end) /* an unmount record is longer than it says */
		w->end = w->at;
	else /* what is no operation */
		log_add(w, CHECKPOINTS - 1, SUB_J_UNCLASSIFIED, w->end - w->at);
	log_add(w, 0, SUB_J_LOG_HEADER, header);
	log_add(w, w->slot, SUB_J_PADDING, s.size - header - w->end);
	l = parts_make();
	bpf_loop(CHECKPOINTS * SUBS, log_part, &l, 0);
	s.parts = l ? l->number : 0;
	s.owner = w->owner[w->slot & (CHECKPOINTS - 1)]; /* whose flush of the device it is */
	s.how = w->mixed ? HOW_NONE : HOW_TRANSACTION;
	bpf_map_update_elem(&stated, &key, &s, BPF_ANY);
	return 0;
}

/* ---- checkpoints as a whole ---- */

struct ended {
	u64 head, at;
	u64 now;
	u32 dev, disk;
};

static long checkpoint_end(u32 n, struct ended *e)
{
	struct iot_cell_key k = {};
	struct xfs_cil_ctx *cp;
	struct txn *x;

	if (e->at == e->head || !e->at)
		return 1;
	cp = (struct xfs_cil_ctx *)(e->at - bpf_core_field_offset(struct xfs_cil_ctx, iclog_entry));
	e->at = next_of(e->at);
	x = txn_find(txn_owner(e->dev, BPF_CORE_READ(cp, sequence)));
	if (x)
		x->ended = 1;
	k.owner = x ? x->top : PROC_NONE;
	k.dev = e->disk;
	k.kind = KIND_COMMIT;
	k.cause = CAUSE_JOURNAL;
	k.how = k.owner ? HOW_TRANSACTION : HOW_NONE;
	count_apart(&k, 1, 0, x && x->commit_ns ? e->now - x->commit_ns : 0, false);
	return 0;
}

/* A log buffer is on disk, with all before it: the checkpoints that end in it are. */
SEC("tp_btf/xlog_iclog_callback")
int BPF_PROG(xfs__checkpoints_end, struct xlog_in_core *ic)
{
	struct ended e = {};
	struct super_block *sb;

	if (!ic || !gate_open())
		return 0;
	sb = BPF_CORE_READ(ic, ic_log, l_mp, m_super);
	e.dev = BPF_CORE_READ(sb, s_dev);
	e.disk = BPF_CORE_READ(sb, s_bdev, bd_disk, part0, bd_dev);
	e.now = bpf_ktime_get_ns();
	e.head = (u64)ic + bpf_core_field_offset(struct xlog_in_core, ic_callbacks);
	e.at = next_of(e.head);
	bpf_loop(MAX_ITEMS, checkpoint_end, &e, 0);
	return 0;
}

/* ---- metadata in place ---- */

struct attached {
	u64 head, at;
	u64 owner;             /* of the items that were looked at */
	struct part_list *list; /* where each becomes a part; NULL: they are compared */
	u32 n, differ, dev, share, type;
};

/* Whose the newest changes of an item are: of the one who made them, or of the checkpoint that they are in. */
static __always_inline u64 item_owner(u64 item, u32 dev)
{
	struct item *i = bpf_map_lookup_elem(&xfs_items, &item);
	u64 owner;

	if (i && !i->many)
		return i->proc;
	owner = txn_owner(dev, i ? i->seq : BPF_CORE_READ((struct xfs_log_item *)item, li_seq));
	return txn_find(owner) ? owner : PROC_NONE;
}

static __always_inline void item_written(u64 item)
{
	struct item *i = bpf_map_lookup_elem(&xfs_items, &item);

	if (i)
		i->written = 1;
}

static __always_inline void attached_part(struct attached *a, u64 owner)
{
	struct part_list *l = a->list;
	u32 at = l->n;

	if (at && l->part[(at - 1) & (MAX_PARTS - 1)].owner == owner) {
		l->part[(at - 1) & (MAX_PARTS - 1)].bytes += a->share;
		return;
	}
	if (at >= MAX_PARTS)
		return; /* the rest of the buffer has no part, and no owner */
	l->part[at].owner = owner;
	l->part[at].bytes = a->share;
	l->part[at].sub = SUB_J_INODE;
	l->n = at + 1;
}

static long attached_item(u32 n, struct attached *a)
{
	u64 item, owner;

	if (a->at == a->head || !a->at)
		return 1;
	item = a->at - bpf_core_field_offset(struct xfs_log_item, li_bio_list);
	a->at = next_of(a->at);
	a->type = BPF_CORE_READ((struct xfs_log_item *)item, li_type);
	if (a->type == ITEM_INODE && !BPF_CORE_READ((struct xfs_inode_log_item *)(item - bpf_core_field_offset(struct xfs_inode_log_item, ili_item)),
						    ili_last_fields))
		return 0; /* not in the buffer yet */
	owner = item_owner(item, a->dev);
	if (a->list) {
		attached_part(a, owner);
		item_written(item);
		return 0;
	}
	if (a->n++ && owner != a->owner)
		a->differ = 1;
	a->owner = owner;
	return 0;
}

/* Marks what is attached as written, or makes it the parts of the buffer. */
static __always_inline void attached_again(struct attached *a, struct stated *s)
{
	a->list = parts_make();
	if (!a->list)
		return;
	a->share = s->size / a->n;
	a->at = next_of(a->head);
	bpf_loop(MAX_ATTACHED, attached_item, a, 0);
	if (!a->differ)
		return;
	s->parts = a->list->number;
	a->list->part[0].bytes += s->size - a->share * a->n;
}

SEC("tp_btf/xfs_buf_submit")
int BPF_PROG(xfs__buffer, struct xfs_buf *bp)
{
	struct attached a = {};
	struct stated s = {};
	struct xlog_seen *l;
	u64 key = (u64)bp, item, log;

	if (!bp || !(BPF_CORE_READ(bp, b_flags) & BUFFER_WRITE))
		return 0;
	a.dev = BPF_CORE_READ(bp, b_mount, m_super, s_dev);
	a.head = key + bpf_core_field_offset(struct xfs_buf, b_li_list);
	a.at = next_of(a.head);
	s.size = BPF_CORE_READ(bp, b_length) << 9;
	item = (u64)BPF_CORE_READ(bp, b_log_item);
	if (item) {
		s.sub = buffer_sub(BPF_CORE_READ((struct xfs_buf_log_item *)item, __bli_format.blf_flags) >> BUFFER_TYPE_SHIFT);
		item += bpf_core_field_offset(struct xfs_buf_log_item, bli_item);
		s.owner = item_owner(item, a.dev);
		item_written(item);
	}
	bpf_loop(MAX_ATTACHED, attached_item, &a, 0);
	if (a.n) {
		s.owner = a.owner;
		s.sub = a.type == ITEM_DQUOT ? SUB_J_QUOTA : SUB_J_INODE;
		attached_again(&a, &s);
	}
	log = (u64)BPF_CORE_READ(bp, b_mount, m_log);
	l = bpf_map_lookup_elem(&xfs_logs, &log);
	if (!s.owner && s.sub == SUB_J_SUPER && l)
		s.owner = l->last; /* written by the file system itself: on behalf of who used it last */
	s.how = s.parts ? HOW_NONE : s.owner & OWNER_TXN ? HOW_TRANSACTION : s.owner ? HOW_EXACT : HOW_NONE;
	bpf_map_update_elem(&stated, &key, &s, BPF_ANY);
	return 0;
}

/* ---- contexts ---- */

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(xfs__work_begin, struct work_struct *w)
{
	u32 f = function_of((u64)w->func);
	struct xfs_cil_ctx *cp;
	struct task_ctx *c;
	struct txn *x;

	if (f == FN_XFS_PUSH) {
		cp = (struct xfs_cil_ctx *)((u64)w - bpf_core_field_offset(struct xfs_cil_ctx, push_work));
		x = txn_find(txn_owner(BPF_CORE_READ(cp, cil, xc_log, l_mp, m_super, s_dev), BPF_CORE_READ(cp, sequence)));
		if (x)
			x->commit_ns = bpf_ktime_get_ns();
	}
	c = f == FN_XFS_CONVERT ? ctx_make() : NULL;
	if (!c)
		return 0;
	c->behalf = BEHALF_INODE;
	c->behalf_id = (u64)w - bpf_core_field_offset(struct xfs_inode, i_ioend_work) + bpf_core_field_offset(struct xfs_inode, i_vnode);
	return 0;
}

/* One of the files that were unlinked: a thread of the kernel frees what it had. */
SEC("tp_btf/xfs_inode_inactivating")
int BPF_PROG(xfs__inactive, struct xfs_inode *ip)
{
	struct task_ctx *c;
	u32 proc;

	if (!ip || !gate_open() || !(current_task()->flags & PF_KTHREAD))
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	proc = inode_changer((u64)ip);
	c->behalf = proc ? BEHALF_OWNER : BEHALF_NONE;
	c->behalf_id = proc;
	return 0;
}

/* ---- data ---- */

/* A write that is submitted before its call returns. */
struct sync_write {
	u64 iocb, from;        /* struct kiocb, and where it begins */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);      /* thread */
	__type(value, struct sync_write);
} xfs_sync_writes SEC(".maps");

/* As RWF_DSYNC and RWF_DONTCACHE, since 5.10 and 6.14. */
#define IOCB_DSYNC 2
#define IOCB_DONTCACHE 128     /* it is submitted, and not waited for */

SEC("tp_btf/xfs_file_buffered_write")
int BPF_PROG(xfs__write, struct kiocb *iocb)
{
	struct sync_write w = { .iocb = (u64)iocb };
	u32 tid = bpf_get_current_pid_tgid();

	if (!iocb || !(BPF_CORE_READ((struct kiocb___flags *)iocb, ki_flags) & (IOCB_DSYNC | IOCB_DONTCACHE)) || !gate_open())
		return 0;
	w.from = BPF_CORE_READ(iocb, ki_pos);
	bpf_map_update_elem(&xfs_sync_writes, &tid, &w, BPF_ANY);
	return 0;
}

/* Is the current thread in a call or a request that writes to the inode through the page cache? */
static __always_inline bool is_writing(struct task_ctx *c, struct inode *i)
{
	struct uring_io io = {};

	if (uring_current(c, &io))
		return io.write && !io.direct && io.host == (u64)i;
	range_look(c);
	return c->call && c->write && !c->target_direct && c->target_inode == (u64)i;
}

/* A folio is submitted by a call that writes through (O_SYNC, RWF_DSYNC, RWF_DONTCACHE), before it returns: what the call has copied is
 * its own, also where others had made the page dirty before. By then the position has moved to the end of that. */
static __noinline int written_through(struct inode *i, u64 off, u64 len)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct sync_write *w;
	struct task_ctx *c;
	u64 from, to, iocb;

	if (!i || current_task()->flags & PF_KTHREAD)
		return 0;
	w = bpf_map_lookup_elem(&xfs_sync_writes, &tid);
	c = w ? ctx_make() : NULL;
	if (!c || !is_writing(c, i))
		return 0;
	iocb = w->iocb;
	from = w->from > off ? w->from : off;
	to = BPF_CORE_READ((struct kiocb *)iocb, ki_pos);
	if (to > off + len)
		to = off + len;
	return to > from ? writer_mark((u64)i, from, to - from, proc_current(c)) : 0;
}

SEC("tp_btf/iomap_writeback_folio")
int BPF_PROG(xfs__writeback, struct inode *i, long long off, u64 len)
{
	return gate_open() ? written_through(i, off, len) : 0;
}

SEC("tp_btf/iomap_writepage")
int BPF_PROG(xfs__writeback_page, struct inode *i, long long off, u64 len)
{
	return gate_open() ? written_through(i, off, len) : 0;
}

/* Blocks of a file turn dirty although no call says that it wrote them. What was dirty already is not so twice: the ledger knows. */
static __noinline int dirtied(struct inode *i, u64 off, u64 len)
{
	struct task_ctx *c = ctx_make();
	struct dirtied *d;
	u64 mask;
	u8 how;

	if (!i || !c || !len || c->behalf == BEHALF_LOOP)
		return 0;
	mask = (1ULL << (NUMBER_AT(i, struct inode, i_blkbits) & 63)) - 1;
	d = (struct dirtied *)c->dirtied_range;
	d->off = off & ~mask;
	d->bytes = ((off + len + mask) & ~mask) - d->off;
	d->ts_ns = 0;
	d->proc = owner_top(owner_current(c, &how));
	d->how = how;
	return dirty_range(i, d);
}

#define XA_LEVELS 8
#define XA_SLOTS 63            /* mask */
#define XA_INTERNAL 2          /* of both low bits: a node, or the number of the slot that this one goes on from */

static __always_inline bool xa_is_internal(u64 entry)
{
	return (entry & 3) == XA_INTERNAL;
}

/* The folio in a page cache, as xas_load() finds it; NULL: none. */
static __always_inline u64 folio_at(u64 mapping, u64 index)
{
	u64 entry = POINTER_AT(mapping + bpf_core_field_offset(struct address_space, i_pages), struct xarray___head, xa_head), node, slot;

	for (int i = 0; i < XA_LEVELS && xa_is_internal(entry) && entry > PAGE_SIZE; i++) {
		node = entry - XA_INTERNAL;
		slot = index >> NUMBER_AT(node, struct xa_node, shift) & XA_SLOTS;
		entry = pointer_at(node + bpf_core_field_offset(struct xa_node, slots) + slot * sizeof(u64));
		if (xa_is_internal(entry) && entry < PAGE_SIZE)
			entry = pointer_at(node + bpf_core_field_offset(struct xa_node, slots) + (entry >> 2 & XA_SLOTS) * sizeof(u64));
	}
	return entry & 3 ? 0 : entry;
}

/* Blocks of a folio that is dirty in part are about to turn dirty: those that are clean are claimed. */
struct turning {
	u64 inode, owner, pos, end;
	u64 folio_pos, state;  /* iomap_folio_state.state */
	u32 blocks, bits;      /* of the folio; log2 of their size */
};

static long turn_block(u32 n, struct turning *t)
{
	u32 bit = t->blocks + ((t->pos - t->folio_pos) >> t->bits);

	if (t->pos >= t->end)
		return 1;
	if (!(pointer_at(t->state + bit / 64 * 8) >> (bit & 63) & 1))
		claim_range(t->inode, t->pos, 1, t->owner, false);
	t->pos += 1UL << t->bits;
	return 0;
}

/* Bytes of one folio. A folio without such a state is clean, and told of as it turns dirty, or dirty as a whole. */
static __noinline int turning_dirty(struct inode *i, u64 off, u64 len)
{
	struct task_ctx *c = ctx_make();
	struct turning t = { .pos = off };
	u64 mapping, folio, state;
	u8 how;

	if (!i || !c || c->behalf == BEHALF_LOOP || !bpf_core_type_exists(struct iomap_folio_state))
		return 0;
	mapping = POINTER_AT(i, struct inode, i_mapping);
	t.inode = POINTER_AT(mapping, struct address_space, host); /* itself, as a number */
	folio = folio_at(mapping, off >> PAGE_SHIFT);
	state = folio ? POINTER_AT(folio, struct folio___private, private) : 0;
	if (!state)
		return 0;
	t.owner = owner_current(c, &how);
	t.state = state + bpf_core_field_offset(struct iomap_folio_state, state);
	t.bits = NUMBER_AT(i, struct inode, i_blkbits) & 31;
	t.folio_pos = (u64)NUMBER_AT(folio, struct folio, index) << PAGE_SHIFT;
	t.blocks = folio_pages((struct folio *)folio) << PAGE_SHIFT >> t.bits;
	t.pos &= ~((1UL << t.bits) - 1);
	t.end = off + len;
	if (t.end > t.folio_pos + ((u64)t.blocks << t.bits))
		t.end = t.folio_pos + ((u64)t.blocks << t.bits);
	bpf_loop(MAX_ITEMS, turn_block, &t, 0);
	return 0;
}

/* The rest of a block is zeroed in memory: where a file is cut or grows, beside a hole. */
SEC("tp_btf/iomap_zero_iter")
int BPF_PROG(xfs__zero, struct inode *i, long long off, u64 len)
{
	if (!gate_open())
		return 0;
	turning_dirty(i, off, len);
	return dirtied(i, off, len);
}

#define IOMAP_ZERO 2           /* in iomap_iter.flags, since 5.5 and 5.8 */
#define IOMAP_FAULT 8
#define IOMAP_MAPPED 2         /* in iomap.type: from here on others are not data */

/* A step over a range, before it and when it is done. A fault makes all blocks of its folio dirty; the kernel tells where the folio was clean, not where it
 * was dirty in part. */
SEC("tp_btf/iomap_iter")
int BPF_PROG(xfs__step, struct iomap_iter *iter)
{
	bool has_start = bpf_core_field_exists(iter->iter_start_pos);
	u64 from, len;
	struct task_ctx *c;

	if (!iter || !(iter->flags & (IOMAP_FAULT | IOMAP_ZERO)) || !gate_open())
		return 0;
	if (!iter->iomap.length) /* nothing is done yet */
		return iter->flags & IOMAP_FAULT ? turning_dirty(iter->inode, iter->pos, iter->len) : 0;
	c = ctx_find();
	if (iter->flags & IOMAP_ZERO && (has_start || (iter->srcmap.type ?: iter->iomap.type) > IOMAP_MAPPED))
		return 0; /* told by iomap_zero_iter, or nothing to zero */
	if (iter->flags & IOMAP_FAULT && c && c->dirtied)
		return 0; /* told as the folio turned dirty */
	from = has_start ? iter->iter_start_pos : iter->pos;
	len = has_start ? iter->pos - from : (u64)BPF_CORE_READ((struct iomap_iter___processed *)iter, processed);
	return (s64)len > 0 ? dirtied(iter->inode, from, len) : 0;
}

/* ---- bytes that are dropped before they are written ---- */

static __always_inline struct inode *vfs_inode(struct xfs_inode *ip)
{
	return (struct inode *)((u64)ip + bpf_core_field_offset(struct xfs_inode, i_vnode));
}

SEC("tp_btf/xfs_destroy_inode")
int BPF_PROG(xfs__evict, struct xfs_inode *ip)
{
	struct inode *i;

	if (!ip || !gate_open())
		return 0;
	i = vfs_inode(ip);
	if (!BPF_CORE_READ(i, i_nlink) && is_regular(i))
		drop_record(i, KIND_FS_EVICT, 0, 0);
	writer_drop((u64)i);
	return 0;
}

/* Also where extents beyond the end of the file are given back, and by those who free what an unlinked file had. */
SEC("tp_btf/xfs_itruncate_extents_start")
int BPF_PROG(xfs__truncate, struct xfs_inode *ip, long long size)
{
	struct inode *i;

	if (!ip || !gate_open())
		return 0;
	i = vfs_inode(ip);
	if (!is_regular(i) || !BPF_CORE_READ(i, i_nlink) || size > BPF_CORE_READ(i, i_size))
		return 0;
	return drop_record(i, KIND_FS_TRUNCATE, size, 0);
}
