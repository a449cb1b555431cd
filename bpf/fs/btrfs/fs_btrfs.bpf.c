// SPDX-License-Identifier: GPL-3.0-only
/* fs_btrfs.bpf.c - owners in btrfs: of changed tree blocks, of transactions, and of data that
 * kernel threads write later. The types of btrfs may be in a module, so this is an object of its
 * own, loaded when a btrfs is mounted. The verifier assumes that arguments of a module's
 * tracepoints may be NULL, so each is checked.
 *
 * A tree block that is changed is copied first (copy on write), once in a transaction. It is
 * written when the transaction is committed or, in a log tree, by fsync(). A task that changes a
 * block holds its lock, and tracepoint btrfs_tree_unlock reports the unlock. The owner of a block
 * is the process whose task changed it. A transaction has a share for each process, by the number
 * of blocks that the process changed and of its reservations. A commit itself changes blocks as
 * well (references to copied blocks, free space, roots): these belong to all processes with a
 * share, in proportion.
 */
#include "btrfs_sync_write.bpf.h"
#include "journal_credit.bpf.h"
#include "program_copies.bpf.h"
#include "transaction.bpf.h"

/* ---- transactions ---- */

/* True when a transaction began before the run, or may have. */
static __always_inline bool began_before(struct btrfs_fs_info *fs, u64 transid)
{
	struct btrfs_transaction *t = FOLLOW(fs, running_transaction);
	struct iot_state *s = run_state();

	if (!gate_open() || !s || !t || FOLLOW(t, transid) != transid)
		return true;
	return FOLLOW(t, start_time) < (s64)(s->start_ns / 1000000000);
}

/* The entry of a file system in which transaction `transid` is seen; NULL: the map is full. Until
 * the gate opens, its field `first` follows the transaction that may hold changes from before the
 * run. */
static __always_inline struct btrfs_seen *mount_see(struct btrfs_fs_info *fs, u64 transid)
{
	struct btrfs_seen new = {}, *m;
	u64 key = (u64)fs;

	m = bpf_map_lookup_elem(&btrfs_mounts, &key);
	if (!m) {
		new.first = began_before(fs, transid) ? transid : 0;
		bpf_map_update_elem(&btrfs_mounts, &key, &new, BPF_NOEXIST);
		return bpf_map_lookup_elem(&btrfs_mounts, &key);
	}
	if (!gate_open())
		m->first = transid;
	return m;
}

/* Adds `weight` to the share of process `proc` in a transaction. */
static __always_inline void share_add(struct btrfs_seen *m, u64 txn, u32 proc, u32 weight, bool log)
{
	txn_add(txn, proc, weight);
	if (!log)
		m->last = txn;
}

/* True when the transaction that the current thread has joined is being committed
 * (TRANS_STATE_COMMIT_START or later). Tree blocks that it changes from then on are charged to all
 * shares of the transaction, not to the process of this thread. */
static __always_inline bool is_committing(struct btrfs_fs_info *fs)
{
	struct task_struct___journal *t = (struct task_struct___journal *)bpf_get_current_task();
	struct btrfs_trans_handle *h = (struct btrfs_trans_handle *)FOLLOW(t, journal_info);

	if (!h || FOLLOW(h, fs_info) != fs)
		return false;
	return FOLLOW(h, transaction, state) >=
	       bpf_core_enum_value(enum btrfs_trans_state, TRANS_STATE_COMMIT_START);
}

/* True when the handle of the current thread joined a transaction and reserved nothing itself
 * (btrfs_join_transaction()). No tracepoint reports that it joined. */
static __always_inline bool has_joined(void)
{
	struct task_struct___journal *t = (struct task_struct___journal *)bpf_get_current_task();
	struct btrfs_trans_handle *h = (struct btrfs_trans_handle *)FOLLOW(t, journal_info);

	return h && !FOLLOW(h, bytes_reserved);
}

/* ---- tree blocks ---- */

/* The kind of metadata of a tree, by its object id. */
static __always_inline u8 tree_sub(u64 tree)
{
	static const volatile u8 subs[] =
		{ SUB_J_UNCLASSIFIED, SUB_TREE_ROOT, SUB_TREE_EXTENT, SUB_TREE_CHUNK,
		  SUB_TREE_DEVICE, SUB_TREE_FS, SUB_J_UNCLASSIFIED, SUB_TREE_CHECKSUM,
		  SUB_TREE_QUOTA, SUB_TREE_UUID, SUB_TREE_FREE_SPACE, SUB_TREE_GROUP,
		  SUB_TREE_STRIPE };

	if (tree < sizeof(subs))
		return subs[tree];
	if (tree == TREE_LOG)
		return SUB_TREE_LOG;
	if (tree == TREE_RELOCATION)
		return SUB_TREE_RELOCATION;
	return tree >= TREE_SUBVOLUMES ? SUB_TREE_FS : SUB_J_UNCLASSIFIED;
}

/* True for trees in which a change belongs to the process that makes it: files and directories,
 * checksums, log trees. Blocks of other trees (extents, free space, roots) change as a consequence
 * of what all processes of the transaction changed. */
static __always_inline bool is_own_tree(u8 sub)
{
	return sub == SUB_TREE_FS || sub == SUB_TREE_CHECKSUM || sub == SUB_TREE_LOG;
}

/* True for a change of the checksum tree that may be another process's. Kernel threads add
 * checksums, for the writer of the data. Any other task removes those of freed extents: it runs
 * delayed references (btrfs_run_delayed_refs()), which any process of the transaction may have
 * queued. */
static __always_inline bool is_put_off(u8 sub)
{
	return sub == SUB_TREE_CHECKSUM && !(current_task()->flags & PF_KTHREAD);
}

/* Reads the header of a tree block from its first page, and checks it by the address in it. */
static __always_inline bool header_read(struct extent_buffer *eb, struct tree_header *h)
{
	u64 page, address = 0, times = PAGE_SIZE / (bpf_core_type_size(struct page) ?: 1);
	struct btrfs_layout *l = btrfs_layout_of();

	if (!l)
		return false;
	if (HAS_EXTENT_FOLIOS)
		page = (u64)FOLLOW(eb, folios[0]);
	else
		page = (u64)FOLLOW((struct extent_buffer___pages *)eb, pages[0]);
	if (HAS_EXTENT_ADDR)
		address = (u64)FOLLOW(eb, addr);
	if (address)
		l->page_memory = address - page * times;
	else
		address = page * times + l->page_memory;
	return !bpf_probe_read_kernel(h, sizeof(*h), (void *)(address + HEADER_START)) &&
	       h->start == FOLLOW(eb, start);
}

/* A changed tree block. */
struct change {
	struct btrfs_block now;
	struct tree_header head;
	struct btrfs_fs_info *fs;
	struct btrfs_seen *seen;
	u64 key;
	u32 dev, fresh;        /* fresh: 1 when the block was just copied for this change */
};

/* The inode of the file descriptor that the current system call was given; NULL: none. A btrfs
 * handle has no inode. */
static __always_inline struct inode *journal_file(void)
{
	struct task_struct *t = current_task();
	const struct pt_regs *regs;
	struct file *f;
	u8 shape;

	if (t->flags & PF_KTHREAD || is_worker(t))
		return NULL;
	regs = current_regs();
	if (!regs_in_call(regs) || task_is_compat(t) || regs_nr(regs) >= IOT_MAX_SYSCALL)
		return NULL;
	shape = call_row(regs_nr(regs))->shape;
	if (!shape || shape > SHAPE_FALLOCATE || shape == SHAPE_SENDFILE || shape == SHAPE_SPLICE)
		return NULL;
	f = file_of(regs_arg0(regs));
	return f ? data_inode(f) : NULL;
}

/* Adds the journal credit of the call in progress for a tree. */
static __always_inline void change_credit(const struct change *g)
{
	struct iot_put_key k = { .owner = g->now.proc, .blocks = 1, .sub = g->now.sub };
	struct btrfs_fs_info *fs = g->fs;

	k.dev = fs_disk(fs);
	k.call = journal_call();
	journal_credit_add(ctx_find(), &k, fs_dev(fs), journal_file(), 0, 1, 1);
}

static __always_inline int change_note(struct change *g)
{
	struct btrfs_block *old = bpf_map_lookup_elem(&btrfs_blocks, &g->key);

	if (!old || old->start != g->now.start || old->txn != g->now.txn) {
		g->now.unknown = !g->fresh && g->seen->first == g->head.generation;
		if (old) /* no other processor writes it: the tree block is locked */
			*old = g->now;
		else
			bpf_map_update_elem(&btrfs_blocks, &g->key, &g->now, BPF_ANY);
	} else {
		old->sub = g->now.sub; /* a new block's header names no tree at first */
		if (g->fresh)
			old->unknown = 0;
		if (old->many || old->proc == g->now.proc)
			return 0;
		old->many = 1;
	}
	if (!g->now.proc)
		return 0;
	share_add(g->seen, g->now.txn, g->now.proc, 1, g->now.log);
	change_credit(g);
	return 0;
}

static __noinline int block_changed(struct extent_buffer *eb, u32 fresh)
{
	struct change g = { .key = (u64)eb, .fresh = fresh };
	struct btrfs_fs_info *fs;
	u64 owner;
	u8 how;

	if (!eb)
		return 0;
	g.fs = fs = FOLLOW(eb, fs_info);
	/* the tree is not known then, but a change is always part of the newest transaction */
	if (!header_read(eb, &g.head)) {
		g.head.tree = 0;
		g.head.generation = FOLLOW(fs, generation);
	}
	g.seen = mount_see(fs, g.head.generation);
	if (!g.seen)
		return 0;
	g.dev = fs_dev(fs);
	g.now.start = FOLLOW(eb, start);
	g.now.sub = tree_sub(g.head.tree);
	g.now.log = g.now.sub == SUB_TREE_LOG;
	g.now.txn = btrfs_txn(g.dev, g.head.generation, g.now.log);
	if (is_own_tree(g.now.sub) && (g.now.log || !is_committing(fs)) && !is_put_off(g.now.sub)) {
		owner = owner_current(ctx_find(), &how);
		g.now.proc = owner & OWNER_TXN ? PROC_NONE : owner;
	}
	return change_note(&g);
}

/* True when a change is noted. While the gate is closed only changes by the tracer are: their
 * transaction may be committed during the run. */
static __always_inline bool is_recorded(void)
{
	return gate_open() || current_task()->tgid == cfg.self_pid;
}

/* btrfs_tree_unlock: a task unlocks a tree block. If the block is dirty, the task is taken for one
 * that changed it. */
SEC("tp_btf/btrfs_tree_unlock")
int PROBE(btrfs__unlock, struct extent_buffer *eb)
{
	if (!eb || !(FOLLOW(eb, bflags) >> BLOCK_DIRTY & 1) || !is_recorded())
		return 0;
	layout_publish();
	return block_changed(eb, 0);
}

SEC("tp_btf/btrfs_cow_block")
int PROBE(btrfs__copy, struct btrfs_root *root, struct extent_buffer *from,
	  struct extent_buffer *to)
{
	if (!to || !is_recorded())
		return 0;
	layout_publish();
	return block_changed(to, 1);
}

/* The purpose of a reservation, by the first bytes of argument `type` as a number. */
#define RESERVES_TRANSACTION 0x746361736e617274ULL /* "transact" */
#define RESERVES_DELAYED 0x5f646579616c6564ULL /* "delayed_", and then "in" or "it": */
#define RESERVES_COPY 0x636f6c6c616c6564ULL /* "delalloc": `value` is an inode's number */
#define RESERVES_INODE 0x6e69
#define RESERVES_ITEM 0x7469

/* Adds a share in its transaction for the owner of a handle that reserves space, for tree blocks or
 * for delayed items (inodes, directory entries). handle: `value` is the number of the transaction.
 * Not inlined: btrfs__reserve needs its stack for delalloc reservations. */
static __noinline int handle_reserves(struct btrfs_fs_info *fs, u64 value, bool handle, bool inode)
{
	struct iot_put_key k = { .blocks = 1 };
	struct task_ctx *c = ctx_find();
	struct btrfs_seen *m;
	u64 owner, transid;
	u8 how;

	if (!fs)
		return 0;
	layout_publish();
	if (cfg.dev && dev_wanted(fs_disk(fs))) /* it may have been mounted during the run */
		on_disk_note(fs_dev(fs), 1);
	transid = handle ? value : FOLLOW(fs, generation);
	m = mount_see(fs, transid);
	owner = owner_current(c, &how);
	if (!m || !owner || owner & OWNER_TXN)
		return 0;
	share_add(m, btrfs_txn(fs_dev(fs), transid, false), owner, 1, false);
	k.owner = owner;
	k.dev = fs_disk(fs);
	k.call = journal_call();
	journal_credit_add(c, &k, fs_dev(fs), journal_file(), handle || (inode && has_joined()), 0,
			   1);
	return 0;
}

SEC("tp_btf/btrfs_space_reservation")
int PROBE(btrfs__reserve, struct btrfs_fs_info *fs, const char *type, u64 value, u64 bytes,
	  int reserve)
{
	u64 name[2] = {};
	bool handle, inode;

	if (!fs || !reserve || !is_recorded() || bpf_probe_read_kernel(name, sizeof(name), type))
		return 0;
	if (name[0] == RESERVES_COPY) {
		layout_publish();
		return cfg.light ? 0 : reserve_note(value);
	}
	handle = name[0] == RESERVES_TRANSACTION;
	inode = (u16)name[1] == RESERVES_INODE;
	if (!handle && (name[0] != RESERVES_DELAYED || (!inode && (u16)name[1] != RESERVES_ITEM)))
		return 0;
	return handle_reserves(fs, value, handle, inode);
}

/* btrfs_transaction_commit: a transaction is on disk. The argument is a struct btrfs_fs_info until
 * 7.1 and a struct btrfs_trans_handle since 7.2: it is the former if its `sb` points back to it. */
SEC("tp_btf/btrfs_transaction_commit")
int PROBE(btrfs__commit_end, struct btrfs_fs_info *arg)
{
	struct iot_cell_key k = {};
	struct btrfs_fs_info *fs = arg;
	struct btrfs_seen *m;
	struct txn *x;
	u64 transid;

	if (!arg || !gate_open())
		return 0;
	if (FOLLOW(fs, sb, s_fs_info) == fs) {
		transid = FOLLOW(fs, last_trans_committed);
	} else {
		transid = FOLLOW((struct btrfs_trans_handle *)arg, transid);
		fs = FOLLOW((struct btrfs_trans_handle *)arg, fs_info);
	}
	m = mount_see(fs, transid);
	if (!m || m->committed >= transid)
		return 0; /* each task that waited for a commit reports it */
	m->committed = transid;
	x = txn_find(btrfs_txn(fs_dev(fs), transid, false));
	if (x)
		x->ended = 1;
	k.owner = x ? x->top & ~OWNER_LOOP : PROC_NONE;
	k.dev = fs_disk(fs);
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_COMMIT;
	k.cause = cause_of(x ? x->top : PROC_NONE, CAUSE_JOURNAL);
	k.how = k.owner ? HOW_TRANSACTION : HOW_NONE;
	count_apart(&k, 1, 0, 0, false);
	return 0;
}
