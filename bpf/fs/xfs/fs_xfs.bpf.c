// SPDX-License-Identifier: GPL-3.0-only
/* fs_xfs.bpf.c - XFS and its log: owners of checkpoints, contents of log writes, metadata that is
 * written in place, dirty bytes that are dropped. The types of XFS may be in a module, so this is
 * an object of its own, loaded when an XFS is mounted. The verifier assumes that arguments of a
 * module's tracepoints may be NULL, so each is checked.
 *
 * A transaction adds its items to the current checkpoint (struct xfs_cil_ctx), where they wait in
 * memory. A worker writes the checkpoint into log records, several of which may share one buffer
 * (struct xlog_in_core), which the last one submits. Much later xfsaild writes the items in place.
 * So a transaction is weighed when it is committed, and a log write is parsed when it is submitted:
 * a record is a list of operations, each with the number of its checkpoint and, at the begin of an
 * item, its type.
 */
#include "hooks.bpf.h"
#include "io_parts.bpf.h"
#include "journal_credit.bpf.h"
#include "program_copies.bpf.h"
#include "transaction.bpf.h"
#include "xfs.h"
#include "xfs_data.bpf.h"
#include "xfs_force.bpf.h"
#include "xfs_log.bpf.h"

/* ---- transactions ---- */

struct commit {
	u64 head, at;          /* its list of items, and the current one */
	u64 seq;
	u64 about;             /* the inode that it is attributed to */
	u32 proc, bytes;       /* its process; bytes that it adds to the checkpoint */
};

/* Bytes that the transaction in progress adds, by structure from SUB_J_SUPER on: zero between
 * transactions. */
struct added {
	u32 used;              /* bit n: bytes[n] is not zero */
	u32 bytes[SUBS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES);
	__type(key, u32);
	__type(value, struct added);
} xfs_added SEC(".maps");

static __always_inline u64 next_of(u64 list)
{
	return (u64)FOLLOW((struct list_head *)list, next);
}

static __always_inline u64 item_inode(u64 item)
{
	return (u64)FOLLOW((struct xfs_inode_log_item *)(item -
							 bpf_core_field_offset(struct xfs_inode_log_item, ili_item)), ili_inode);
}

static __always_inline struct inode *vfs_inode(struct xfs_inode *ip)
{
	return (struct inode *)((u64)ip + bpf_core_field_offset(struct xfs_inode, i_vnode));
}

/* The next item of the transaction, if it changed it; 0: it did not, or the list ends. */
static __always_inline u64 commit_next(struct commit *k)
{
	u64 item = k->at - bpf_core_field_offset(struct xfs_log_item, li_trans);

	k->at = next_of(k->at);
	return FOLLOW((struct xfs_log_item *)item, li_flags) >> ITEM_DIRTY & 1 ? item : 0;
}

/* A kernel thread commits: on behalf of the process that changed the inode. */
static long commit_find_inode(u32 n, struct commit *k)
{
	u64 item;

	if (k->at == k->head || !k->at || k->proc)
		return 1;
	item = commit_next(k);
	if (item && FOLLOW((struct xfs_log_item *)item, li_type) == ITEM_INODE)
		k->proc = inode_changer(item_inode(item));
	return 0;
}

static __always_inline void commit_add(struct commit *k, u64 item, u32 type, u32 bytes)
{
	u32 copy = copy_working(), flags = 0;
	struct added *a = bpf_map_lookup_elem(&xfs_added, &copy);
	u64 at;

	k->bytes += bytes;
	if (!a || cfg.light) /* the structures are only for the credits */
		return;
	if (type == ITEM_BUFFER)
		flags = FOLLOW((struct xfs_buf_log_item *)(item -
							   bpf_core_field_offset(struct xfs_buf_log_item, bli_item)),
				      __bli_format.blf_flags);
	at = item_sub(type, flags) - SUB_J_SUPER;
	a->bytes[INDEX(at, SUBS)] += bytes;
	a->used |= 1U << (at & (SUBS - 1));
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
	bytes = FOLLOW((struct xfs_log_item *)item, li_lv, lv_bytes);
	type = FOLLOW((struct xfs_log_item *)item, li_type);
	/* exists only in the log */
	if (type != ITEM_INODE && type != ITEM_BUFFER && type != ITEM_DQUOT) {
		commit_add(k, item, type, bytes);
		return 0;
	}
	if (type == ITEM_INODE && k->proc) {
		ip = item_inode(item);
		number_keep(&xfs_inodes, &ip, &k->proc);
		k->about = journal_about(k->about, vfs_inode((struct xfs_inode *)ip));
	}
	old = bpf_map_lookup_elem(&xfs_items, &item);
	if (!old) {
		new.seq = k->seq;
		new.bytes = bytes;
		new.proc = k->proc;
		commit_add(k, item, type, bytes);
		bpf_map_update_elem(&xfs_items, &item, &new, BPF_ANY);
		return 0;
	}
	/* it replaces what is in the checkpoint already */
	if (old->seq != k->seq)
		commit_add(k, item, type, bytes);
	else if (bytes > old->bytes)
		commit_add(k, item, type, bytes - old->bytes);
	old->bytes = bytes;
	item_change(old, k);
	return 0;
}

struct crediting {
	struct task_ctx *c;
	struct iot_put_key key;
	u64 about;
	u32 first, fs;
};

/* The number of the only bit that is set in a word: its product with this de Bruijn sequence has
 * distinct top five bits. */
static __always_inline u32 bit_number(u32 bit)
{
	static const volatile u8 number[32] =
		{ 0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8,
						31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5,
						10, 9 };

	return number[INDEX(bit * 0x077cb531U >> 27, 32)];
}

static long credit_structure(u32 unused, struct crediting *p)
{
	u32 copy = copy_working(), bytes, n;
	struct added *a = bpf_map_lookup_elem(&xfs_added, &copy);

	if (!a || !a->used)
		return 1;
	n = bit_number(a->used & -a->used);
	a->used &= a->used - 1;
	bytes = a->bytes[INDEX(n, SUBS)];
	if (!bytes)
		return 0;
	a->bytes[INDEX(n, SUBS)] = 0;
	p->key.sub = SUB_J_SUPER + n;
	journal_credit_add(p->c, &p->key, p->fs, (struct inode *)p->about, p->first, 0, bytes);
	p->first = 0;
	return 0;
}

static __always_inline void commit_credit(struct task_ctx *c, const struct commit *k,
					  struct super_block *sb)
{
	struct crediting p = { .c = c, .about = k->about, .first = 1, .fs = FOLLOW(sb, s_dev) };

	if (cfg.light)
		return;
	p.key.owner = k->proc;
	p.key.dev = FOLLOW(sb, s_bdev, bd_disk, part0, bd_dev);
	p.key.call = journal_call();
	bpf_loop(SUBS, credit_structure, &p, 0);
	if (p.first) { /* its changes are in the checkpoint already */
		p.key.sub = SUB_NONE;
		journal_credit_add(p.c, &p.key, p.fs, (struct inode *)p.about, 1, 0, 0);
	}
}

/* xfs_trans_commit_items: the items are in the current checkpoint, which cannot be pushed before
 * all items of the transaction are. */
SEC("tp_btf/xfs_trans_commit_items")
int PROBE(xfs__commit, struct xfs_trans *tp)
{
	struct commit k = {};
	struct super_block *sb;
	struct xfs_cil_ctx *cp;
	struct task_ctx *c;
	struct checkpoint *at;
	struct xlog_seen *l;
	struct xlog *log;
	u64 owner;
	u32 tid;
	u8 how;

	/* extents are converted after a transaction has made them */
	work_inode_note(FN_XFS_CONVERT,
			(s64)bpf_core_field_offset(struct xfs_inode, i_vnode) -
			(s64)bpf_core_field_offset(struct xfs_inode, i_ioend_work));
	/* before the run only the tracer is traced: its outputs may be committed during the run */
	if (!tp || (!gate_open() && current_task()->tgid != cfg.self_pid))
		return 0;
	c = ctx_find();
	sb = FOLLOW(tp, t_mountp, m_super);
	log = FOLLOW(tp, t_mountp, m_log);
	cp = FOLLOW(log, l_cilp, xc_ctx);
	k.seq = FOLLOW(cp, sequence);
	k.head = (u64)tp + bpf_core_field_offset(struct xfs_trans, t_items);
	tid = FOLLOW(cp, ticket, t_tid);
	owner = owner_current(c, &how);
	k.proc = owner & OWNER_TXN ? PROC_NONE : owner;
	if (!k.proc) {
		k.at = next_of(k.head);
		bpf_loop(MAX_ITEMS, commit_find_inode, &k, 0);
	}
	k.at = next_of(k.head);
	bpf_loop(MAX_ITEMS, commit_item, &k, 0);
	commit_credit(c, &k, sb);
	owner = txn_owner(FOLLOW(sb, s_dev), k.seq);
	l = log_see((u64)log, k.seq);
	if (!l)
		return 0;
	at = checkpoint_see((u64)log, tid, k.proc ? owner : l->last,
			    l->first == k.seq ? 0 : ALL_KNOWN);
	if (at && at->known != ALL_KNOWN)
		__sync_fetch_and_add(&at->known, k.bytes);
	if (!k.proc)
		return 0; /* its owner is not known: its changes are charged to the others */
	if (at)
		at->owner = owner;
	l->last = owner;
	txn_add(owner, k.proc, k.bytes ?: 1);
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
	x = txn_find(txn_owner(e->dev, FOLLOW(cp, sequence)));
	if (x)
		x->ended = 1;
	k.owner = x ? x->top & ~OWNER_LOOP : PROC_NONE;
	k.dev = e->disk;
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_COMMIT;
	k.cause = cause_of(x ? x->top : PROC_NONE, CAUSE_JOURNAL);
	k.how = k.owner ? HOW_TRANSACTION : HOW_NONE;
	count_apart(&k, 1, 0, x && x->commit_ns ? e->now - x->commit_ns : 0, false);
	return 0;
}

/* xlog_iclog_callback: a log buffer is on disk, with all before it, and so are the checkpoints that
 * end in it. */
SEC("tp_btf/xlog_iclog_callback")
int PROBE(xfs__checkpoints_end, struct xlog_in_core *ic)
{
	struct ended e = {};
	struct super_block *sb;

	if (!ic || !gate_open())
		return 0;
	sb = FOLLOW(ic, ic_log, l_mp, m_super);
	e.dev = FOLLOW(sb, s_dev);
	e.disk = FOLLOW(sb, s_bdev, bd_disk, part0, bd_dev);
	e.now = bpf_ktime_get_ns();
	e.head = (u64)ic + bpf_core_field_offset(struct xlog_in_core, ic_callbacks);
	e.at = next_of(e.head);
	bpf_loop(MAX_ITEMS, checkpoint_end, &e, 0);
	return 0;
}

/* ---- metadata in place ---- */

struct attached {
	u64 head, at;
	u64 owner;             /* owner of the items that were walked */
	struct part_list *list; /* list for the parts; NULL: owners are compared */
	u32 n, differ, dev, share, type;
};

/* The owner of the newest changes of an item: their process, or the checkpoint that contains
 * them. */
static __always_inline u64 item_owner(u64 item, u32 dev)
{
	struct item *i = bpf_map_lookup_elem(&xfs_items, &item);
	u64 owner;

	if (i && !i->many)
		return i->proc;
	owner = txn_owner(dev, i ? i->seq : FOLLOW((struct xfs_log_item *)item, li_seq));
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
	struct part *p;
	u32 at = l->n;

	p = &l->part[INDEX(at - 1, MAX_PARTS)];
	if (at && p->owner == owner) {
		p->bytes += a->share;
		return;
	}
	if (at >= MAX_PARTS)
		return; /* the rest of the buffer has no part, and no owner */
	p = &l->part[INDEX(at, MAX_PARTS)];
	p->owner = owner;
	p->bytes = a->share;
	p->sub = SUB_J_INODE;
	l->n = at + 1;
}

static long attached_item(u32 n, struct attached *a)
{
	u64 item, owner;

	if (a->at == a->head || !a->at)
		return 1;
	item = a->at - bpf_core_field_offset(struct xfs_log_item, li_bio_list);
	a->at = next_of(a->at);
	a->type = FOLLOW((struct xfs_log_item *)item, li_type);
	if (a->type == ITEM_INODE &&
	    !FOLLOW((struct xfs_inode_log_item *)(item -
						  bpf_core_field_offset(struct xfs_inode_log_item,
									ili_item)),
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

/* Marks the attached items as written, or makes them parts of the buffer. */
static __always_inline void attached_parts(struct attached *a, struct stated *s)
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
int PROBE(xfs__buffer, struct xfs_buf *bp)
{
	struct attached a = {};
	struct stated s = {};
	struct xlog_seen *l;
	u64 key = (u64)bp, item, log;

	if (!bp || !(FOLLOW(bp, b_flags) & BUFFER_WRITE))
		return 0;
	a.dev = FOLLOW(bp, b_mount, m_super, s_dev);
	a.head = key + bpf_core_field_offset(struct xfs_buf, b_li_list);
	a.at = next_of(a.head);
	s.size = FOLLOW(bp, b_length) << 9;
	item = (u64)FOLLOW(bp, b_log_item);
	if (item) {
		s.sub = buffer_sub(FOLLOW((struct xfs_buf_log_item *)item,
					  __bli_format.blf_flags) >> BUFFER_TYPE_SHIFT);
		item += bpf_core_field_offset(struct xfs_buf_log_item, bli_item);
		s.owner = item_owner(item, a.dev);
		item_written(item);
	}
	bpf_loop(MAX_ATTACHED, attached_item, &a, 0);
	if (a.n) {
		s.owner = a.owner;
		s.sub = a.type == ITEM_DQUOT ? SUB_J_QUOTA : SUB_J_INODE;
		attached_parts(&a, &s);
	}
	log = (u64)FOLLOW(bp, b_mount, m_log);
	l = bpf_map_lookup_elem(&xfs_logs, &log);
	if (!s.owner && s.sub == SUB_J_SUPER && l)
		/* written by the file system itself: on behalf of its last user */
		s.owner = l->last;
	s.how = s.parts ? HOW_NONE : s.owner & OWNER_TXN ? HOW_TRANSACTION : s.owner ? HOW_EXACT :
		HOW_NONE;
	bpf_map_update_elem(&stated, &key, &s, BPF_ANY);
	return 0;
}

/* ---- contexts ---- */

/* A checkpoint begins to be written into the log. */
SEC("tp_btf/workqueue_execute_start")
int PROBE(xfs__work_begin, struct work_struct *w)
{
	struct xfs_cil_ctx *cp;
	struct txn *x;

	if (work_of(w) != FN_XFS_PUSH)
		return 0;
	cp = (struct xfs_cil_ctx *)((u64)w -
				    bpf_core_field_offset(struct xfs_cil_ctx, push_work));
	x = txn_find(txn_owner(FOLLOW(cp, cil, xc_log, l_mp, m_super, s_dev),
			       FOLLOW(cp, sequence)));
	if (x)
		x->commit_ns = bpf_ktime_get_ns();
	return 0;
}

/* A kernel thread frees the blocks of an unlinked inode. */
SEC("tp_btf/xfs_inode_inactivating")
int PROBE(xfs__inactive, struct xfs_inode *ip)
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

/* ---- bytes that are dropped before they are written ---- */

SEC("tp_btf/xfs_destroy_inode")
int PROBE(xfs__evict, struct xfs_inode *ip)
{
	struct inode *i;

	if (!ip || !gate_open())
		return 0;
	i = vfs_inode(ip);
	if (!cfg.light && !FOLLOW(i, i_nlink) && is_regular(i))
		invalidate_record(i, KIND_FS_EVICT, 0, 0);
	writer_drop((u64)i);
	return 0;
}

/* Also called when extents beyond the end of a file are freed, and for unlinked inodes. */
SEC("tp_btf/xfs_itruncate_extents_start")
int PROBE(xfs__truncate, struct xfs_inode *ip, long long size)
{
	struct inode *i;

	if (!ip || !gate_open())
		return 0;
	i = vfs_inode(ip);
	if (!is_regular(i) || !FOLLOW(i, i_nlink) || size > FOLLOW(i, i_size))
		return 0;
	return invalidate_record(i, KIND_FS_TRUNCATE, size, 0);
}
