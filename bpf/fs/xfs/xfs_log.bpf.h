/* SPDX-License-Identifier: GPL-3.0-only */
/* xfs_log.bpf.h - XFS logs, checkpoints and log items, and the contents of each log write. Used by
 * fs_xfs.bpf.c.
 */
#ifndef IOT_XFS_LOG_BPF_H
#define IOT_XFS_LOG_BPF_H

#include "io_parts.bpf.h"
#include "program_copies.bpf.h"
#include "transaction.bpf.h"
#include "xfs.h"

/* ---- logs, checkpoints, items and inodes ---- */

struct xlog_seen {
	u64 last;              /* owner: the newest checkpoint with a share */
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
	u32 known;             /* bytes that transactions of the run added to it; ALL_KNOWN: all */
	u32 regions;           /* regions that are left of the item that is being written */
	u32 sub, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct checkpoint_key);
	__type(value, struct checkpoint);
} xfs_checkpoints SEC(".maps");

struct item {
	s64 seq;               /* newest checkpoint that contains it */
	u32 bytes;             /* bytes in that checkpoint */
	u32 proc;              /* the process that changed it since it was written in place */
	u32 many;              /* 1: several processes */
	u32 written;           /* 1: written in place since its last change */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);      /* struct xfs_log_item */
	__type(value, struct item);
} xfs_items SEC(".maps");

/* The process that changed an inode last, for what kernel threads do to it later. */
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

/* ---- log writes ---- */

struct log_op_head {
	u32 tid, len;          /* big endian, as on disk */
	u8 client, flags;
	u16 res2;
};

#define CHECKPOINTS 16         /* checkpoints in one log write; the last one is for unknown bytes */
/* structures from SUB_J_SUPER on: a power of two. A new SUB row of the log, which is added at the
 * end, requires 64 */
#define SUBS 32
#define MAX_OPS 32768          /* a log write has at most 256 KiB, an operation at least 12 bytes */

struct log_walk {
	u64 data, log;
	u32 at, end;
	/* number of checkpoints, and the index of that of the operation before */
	u32 n, slot;
	u32 mixed;             /* 1: not all parts have the same owner */
	u32 used;              /* bit n: `bytes` has a sum of checkpoint n */
	u32 tid[CHECKPOINTS];
	u64 owner[CHECKPOINTS];
	/* zero between walks: there are too many to clear at each begin */
	u32 bytes[CHECKPOINTS * SUBS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES);
	__type(key, u32);
	__type(value, struct log_walk);
} log_walks SEC(".maps");

static __always_inline struct log_walk *log_walk_of(void)
{
	u32 copy = copy_working();

	return bpf_map_lookup_elem(&log_walks, &copy);
}

/* The structure in a buffer, by its type in blf_flags. */
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

/* The index of a checkpoint in the walk. */
static __always_inline u32 slot_of(struct log_walk *w, u32 tid, u64 owner)
{
	u32 n = w->n;

	if (n && w->tid[INDEX(w->slot, CHECKPOINTS)] == tid)
		return w->slot;
	for (u32 i = 0; i < CHECKPOINTS - 1; i++)
		if (i < n && w->tid[i] == tid)
			return i;
	if (n >= CHECKPOINTS - 1)
		return CHECKPOINTS - 1;
	w->tid[INDEX(n, CHECKPOINTS)] = tid;
	w->owner[INDEX(n, CHECKPOINTS)] = owner;
	w->n = n + 1;
	return n;
}

static __always_inline void log_add(struct log_walk *w, u32 slot, u32 sub, u32 bytes)
{
	u64 at = slot * SUBS + ((sub - SUB_J_SUPER) & (SUBS - 1));

	w->used |= 1U << (slot & (CHECKPOINTS - 1));
	w->bytes[INDEX(at, CHECKPOINTS * SUBS)] += bytes;
}

/* The structure that an operation is part of. Counts the regions of the item. */
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
			bpf_probe_read_kernel(&first, sizeof(first),
					      (void *)(w->data + w->at + sizeof(struct log_op_head)));
		if (len >= sizeof(head))
			bpf_probe_read_kernel(&head, sizeof(head),
					      (void *)(w->data + w->at + sizeof(struct log_op_head)));
		k->regions = first == TRANSACTION_MAGIC ? 1 : first >> 16;
		k->sub = first == TRANSACTION_MAGIC ? SUB_J_LOG_OP :
			item_sub(first & 0xffff, head.flags);
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
	struct log_op_head op = {};
	u8 sub;

	if (!w || w->at + sizeof(op) > w->end ||
	    bpf_probe_read_kernel(&op, sizeof(op), (void *)(w->data + w->at)))
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

/* The context of bpf_loop(): sums of one checkpoint that become parts of a list. */
struct log_row {
	struct part_list *list;
	u32 slot;
};

/* Makes one sum a part of the list. The list has room for the usual number; the rest has no
 * owner. */
static long log_part(u32 sub, struct log_row *row)
{
	struct part_list *l = row->list;
	struct log_walk *w = log_walk_of();
	u32 n = row->slot * SUBS + sub, bytes, at;
	struct part *p;

	if (!w)
		return 1;
	bytes = w->bytes[INDEX(n, CHECKPOINTS * SUBS)];
	if (!bytes)
		return 0;
	w->bytes[INDEX(n, CHECKPOINTS * SUBS)] = 0;
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
	p = &l->part[INDEX(at, MAX_PARTS)];
	p->owner = w->owner[INDEX(n / SUBS, CHECKPOINTS)];
	w->mixed |= p->owner != l->part[0].owner;
	p->sub = SUB_J_SUPER + (n & (SUBS - 1));
	p->bytes = bytes;
	l->n = at + 1;
	return 0;
}

static long log_parts(u32 slot, struct part_list **list)
{
	struct log_row row = { *list, slot };
	struct log_walk *w = log_walk_of();

	if (w && w->used >> (slot & (CHECKPOINTS - 1)) & 1)
		bpf_loop(SUBS, log_part, &row, 0);
	return 0;
}

/* xlog_iclog_sync: a log buffer is about to be written. It is not packed yet: later the cycle
 * number is at the begin of each sector. */
SEC("tp_btf/xlog_iclog_sync")
int PROBE(xfs__log_write, struct xlog_in_core *ic)
{
	struct log_walk *w = log_walk_of();
	struct stated s = {};
	u32 header, unit, unused = 0;
	struct part_list *l;
	u64 key = (u64)ic;

	if (!ic || !w)
		return 0;
	w->at = w->n = w->slot = w->mixed = w->used = 0;
	w->log = (u64)FOLLOW(ic, ic_log);
	w->data = (u64)FOLLOW(ic, ic_datap);
	w->end = FOLLOW(ic, ic_offset);
	header = FOLLOW(ic, ic_log, l_iclog_hsize);
	unit = FOLLOW(ic, ic_log, l_iclog_roundoff) ?: 512;
	bpf_loop(MAX_OPS, log_op, &unused, 0);
	s.size = header + w->end + unit - 1;
	s.size -= s.size % unit;
	/* an unmount record is longer than it says */
	if (w->at + sizeof(struct log_op_head) > w->end)
		w->end = w->at;
	else /* bytes that are no operation */
		log_add(w, CHECKPOINTS - 1, SUB_J_UNCLASSIFIED, w->end - w->at);
	log_add(w, 0, SUB_J_LOG_HEADER, header);
	log_add(w, w->slot, SUB_J_PADDING, s.size - header - w->end);
	l = parts_make();
	bpf_loop(CHECKPOINTS, log_parts, &l, 0);
	s.parts = l ? l->number : 0;
	s.owner = w->owner[INDEX(w->slot, CHECKPOINTS)]; /* the owner of its device flush */
	s.how = w->mixed ? HOW_NONE : HOW_TRANSACTION;
	bpf_map_update_elem(&stated, &key, &s, BPF_ANY);
	return 0;
}

#endif
