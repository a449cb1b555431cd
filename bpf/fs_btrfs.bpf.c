// SPDX-License-Identifier: GPL-3.0-only
/* fs_btrfs.bpf.c - btrfs and its trees: who changed which block of which tree, whose handles share a transaction, data that is written
 * later by threads of the kernel. Its types may live in a module, so it is an object of its own, loaded when a btrfs is mounted; arguments
 * of a module's tracepoints may be NULL to the verifier, so each is checked.
 *
 * A block that is changed is copied to another place first, once in a transaction; it is written when the transaction is committed, or, if
 * it is of a log tree, by fsync. Whoever changes a block holds its lock, and the lock's end is told. What a commit changes by itself
 * (references to what was copied, free space, roots) is on behalf of all who have a share of the transaction.
 */
#include "btrfs.h"
#include "btrfs.bpf.h"
#include "dirty.bpf.h"
#include "drop.bpf.h"
#include "put.bpf.h"
#include "txn.bpf.h"
#include "uring.bpf.h"

static __always_inline struct inode *vfs_inode(struct btrfs_inode *bi)
{
	return (struct inode *)((u64)bi + bpf_core_field_offset(struct btrfs_inode, vfs_inode));
}

/* Tells block.bpf.c where things lie. */
static __always_inline void layout_tell(void)
{
	struct btrfs_layout *l = btrfs_layout_of();

	if (!l || l->known)
		return;
	l->bio = bpf_core_field_offset(struct btrfs_bio, bio);
	l->file_offset = bpf_core_field_offset(struct btrfs_bio, file_offset);
	l->end_io = bpf_core_field_offset(struct btrfs_bio, end_io);
	l->private = bpf_core_field_offset(struct btrfs_bio, private);
	l->vfs_inode = bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	if (bpf_core_field_exists(((struct btrfs_bio___inode *)0)->inode)) {
		l->inode = bpf_core_field_offset(struct btrfs_bio___inode, inode);
		l->has_inode = 1;
	} else {
		l->compressed_inode = bpf_core_field_offset(struct compressed_bio___inode, inode);
		l->compressed_start = bpf_core_field_offset(struct compressed_bio, start);
		l->direct_inode = bpf_core_field_offset(struct btrfs_dio_private___inode, inode);
	}
	l->stripe_io = bpf_core_field_offset(struct btrfs_io_stripe, bioc);
	l->io_bio = bpf_core_field_offset(struct btrfs_io_context, orig_bio);
	l->device_fs = bpf_core_field_offset(struct btrfs_device, fs_info);
	l->fs_super = bpf_core_field_offset(struct btrfs_fs_info, super_for_commit);
	l->fs_sb = bpf_core_field_offset(struct btrfs_fs_info, sb);
	l->block_len = bpf_core_field_offset(struct extent_buffer, len);
	l->block_fs = bpf_core_field_offset(struct extent_buffer, fs_info);
	l->inode_root = bpf_core_field_offset(struct btrfs_inode, root);
	l->root_id = bpf_core_field_offset(struct btrfs_root, root_key.objectid);
	l->page_memory = page_memory(PAGE_SIZE / (bpf_core_type_size(struct page) ?: 1));
	l->known = 1;
}

/* ---- transactions ---- */

static __always_inline u32 fs_dev(struct btrfs_fs_info *fs)
{
	return BPF_CORE_READ(fs, sb, s_dev);
}

/* The disk that stands for all of a file system. */
static __always_inline u32 fs_disk(struct btrfs_fs_info *fs)
{
	return BPF_CORE_READ(fs, fs_devices, latest_dev, bdev, bd_disk, part0, bd_dev);
}

/* Did a transaction begin before the run, or nobody knows when? */
static __always_inline bool began_before(struct btrfs_fs_info *fs, u64 transid)
{
	struct btrfs_transaction *t = BPF_CORE_READ(fs, running_transaction);
	struct iot_state *s = run_state();

	if (!gate_open() || !s || !t || BPF_CORE_READ(t, transid) != transid)
		return true;
	return BPF_CORE_READ(t, start_time) < (s64)(s->start_ns / 1000000000);
}

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

/* Process `proc` has `weight` more of a transaction. */
static __always_inline void share_add(struct btrfs_seen *m, u64 txn, u32 proc, u32 weight, bool log)
{
	txn_add(txn, proc, weight);
	if (!log)
		m->last = txn;
}

/* Is the transaction that the current thread is in being committed? From there on what it changes are the changes of all. */
static __always_inline bool is_committing(struct btrfs_fs_info *fs)
{
	struct task_struct___journal *t = (struct task_struct___journal *)bpf_get_current_task();
	struct btrfs_trans_handle *h = (struct btrfs_trans_handle *)BPF_CORE_READ(t, journal_info);

	if (!h || BPF_CORE_READ(h, fs_info) != fs)
		return false;
	return BPF_CORE_READ(h, transaction, state) >= bpf_core_enum_value(enum btrfs_trans_state, TRANS_STATE_COMMIT_START);
}

/* ---- blocks of trees ---- */

static __always_inline u8 tree_sub(u64 tree)
{
	static const volatile u8 subs[] = { SUB_J_UNCLASSIFIED, SUB_TREE_ROOT, SUB_TREE_EXTENT, SUB_TREE_CHUNK, SUB_TREE_DEVICE, SUB_TREE_FS,
					    SUB_J_UNCLASSIFIED, SUB_TREE_CHECKSUM, SUB_TREE_QUOTA, SUB_TREE_UUID, SUB_TREE_FREE_SPACE,
					    SUB_TREE_GROUP, SUB_TREE_STRIPE };

	if (tree < sizeof(subs))
		return subs[tree];
	if (tree == TREE_LOG)
		return SUB_TREE_LOG;
	if (tree == TREE_RELOCATION)
		return SUB_TREE_RELOCATION;
	return tree >= TREE_SUBVOLUMES ? SUB_TREE_FS : SUB_J_UNCLASSIFIED;
}

/* Trees that a process changes for what it does itself; the others follow from what all do. */
static __always_inline bool is_own_tree(u8 sub)
{
	return sub == SUB_TREE_FS || sub == SUB_TREE_CHECKSUM || sub == SUB_TREE_LOG;
}

/* Reads the header, which is in its first page, and says so itself. */
static __always_inline bool header_read(struct extent_buffer *eb, struct tree_header *h)
{
	u64 page, address = 0, times = PAGE_SIZE / (bpf_core_type_size(struct page) ?: 1);
	struct btrfs_layout *l = btrfs_layout_of();

	if (!l)
		return false;
	if (bpf_core_field_exists(eb->folios))
		page = (u64)BPF_CORE_READ(eb, folios[0]);
	else
		page = (u64)BPF_CORE_READ((struct extent_buffer___pages *)eb, pages[0]);
	if (bpf_core_field_exists(eb->addr))
		address = (u64)BPF_CORE_READ(eb, addr);
	if (address)
		l->page_memory = address - page * times;
	else
		address = page * times + l->page_memory;
	return !bpf_probe_read_kernel(h, sizeof(*h), (void *)(address + HEADER_START)) && h->start == BPF_CORE_READ(eb, start);
}

/* A block as its change is told. */
struct change {
	struct btrfs_block now;
	struct tree_header head;
	struct btrfs_fs_info *fs;
	struct btrfs_seen *seen;
	u64 key;
	u32 dev, fresh;        /* fresh: 1 where it was copied by this change */
};

/* What the call in progress put into a tree. */
static __always_inline void change_put(const struct change *g)
{
	struct iot_put_key k = { .owner = g->now.proc, .blocks = 1, .sub = g->now.sub };
	struct btrfs_fs_info *fs = g->fs;

	k.dev = fs_disk(fs);
	k.call = put_call();
	put_add(&k, NULL, 0, 1, 1);
}

static __always_inline int change_note(struct change *g)
{
	struct btrfs_block *old = bpf_map_lookup_elem(&btrfs_blocks, &g->key);

	if (!old || old->start != g->now.start || old->txn != g->now.txn) {
		g->now.unknown = !g->fresh && g->seen->first == g->head.generation;
		bpf_map_update_elem(&btrfs_blocks, &g->key, &g->now, BPF_ANY);
	} else {
		old->sub = g->now.sub; /* of a new block this is not known at once */
		if (g->fresh)
			old->unknown = 0;
		if (old->many || old->proc == g->now.proc)
			return 0;
		old->many = 1;
	}
	if (!g->now.proc)
		return 0;
	share_add(g->seen, g->now.txn, g->now.proc, 1, g->now.log);
	change_put(g);
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
	g.fs = fs = BPF_CORE_READ(eb, fs_info);
	if (!header_read(eb, &g.head)) { /* which tree is not known, but it cannot be changed in another transaction than the newest */
		g.head.tree = 0;
		g.head.generation = BPF_CORE_READ(fs, generation);
	}
	g.seen = mount_see(fs, g.head.generation);
	if (!g.seen)
		return 0;
	g.dev = fs_dev(fs);
	g.now.start = BPF_CORE_READ(eb, start);
	g.now.sub = tree_sub(g.head.tree);
	g.now.log = g.now.sub == SUB_TREE_LOG;
	g.now.txn = btrfs_txn(g.dev, g.head.generation, g.now.log);
	if (is_own_tree(g.now.sub) && (g.now.log || !is_committing(fs))) {
		owner = owner_current(ctx_find(), &how);
		g.now.proc = owner & OWNER_TXN ? PROC_NONE : owner;
	}
	return change_note(&g);
}

/* Before the run only the tracer is known: its outputs may be committed in it. */
static __always_inline bool is_told(void)
{
	return gate_open() || current_task()->tgid == cfg.self_pid;
}

/* Whoever had the lock of a block that is dirty has changed it, or was about to. */
SEC("tp_btf/btrfs_tree_unlock")
int BPF_PROG(btrfs__unlock, struct extent_buffer *eb)
{
	if (!eb || !(BPF_CORE_READ(eb, bflags) >> BLOCK_DIRTY & 1) || !is_told())
		return 0;
	layout_tell();
	return block_changed(eb, 0);
}

SEC("tp_btf/btrfs_cow_block")
int BPF_PROG(btrfs__copy, struct btrfs_root *root, struct extent_buffer *from, struct extent_buffer *to)
{
	if (!to || !is_told())
		return 0;
	layout_tell();
	return block_changed(to, 1);
}

/* A handle reserves room, for blocks or for what is put off until the commit (attributes, names in folders): it has a share. */
SEC("tp_btf/btrfs_space_reservation")
int BPF_PROG(btrfs__reserve, struct btrfs_fs_info *fs, const char *type, u64 value, u64 bytes, int reserve)
{
	struct iot_put_key k = { .blocks = 1 };
	struct btrfs_seen *m;
	char name[8] = {};
	bool handle;
	u64 owner, transid;
	u8 how;

	if (!fs || !reserve || !is_told() || bpf_probe_read_kernel(name, sizeof(name), type))
		return 0;
	handle = !__builtin_memcmp(name, "transact", sizeof(name));
	if (!handle && __builtin_memcmp(name, "delayed_", sizeof(name)))
		return 0;
	layout_tell();
	transid = handle ? value : BPF_CORE_READ(fs, generation);
	m = mount_see(fs, transid);
	owner = owner_current(ctx_find(), &how);
	if (!m || !owner || owner & OWNER_TXN)
		return 0;
	share_add(m, btrfs_txn(fs_dev(fs), transid, false), owner, 1, false);
	k.owner = owner;
	k.dev = fs_disk(fs);
	k.call = put_call();
	put_add(&k, NULL, handle, 0, 1);
	return 0;
}

/* A transaction is on disk. Until 7.1 the file system is told, since then the handle. */
SEC("tp_btf/btrfs_transaction_commit")
int BPF_PROG(btrfs__commit_end, struct btrfs_fs_info *told)
{
	struct iot_cell_key k = {};
	struct btrfs_fs_info *fs = (struct btrfs_fs_info *)told;
	struct super_block *sb;
	struct txn *x;

	if (!told || !gate_open())
		return 0;
	if (BPF_CORE_READ(fs, sb, s_fs_info) != fs)
		fs = BPF_CORE_READ((struct btrfs_trans_handle *)told, fs_info);
	sb = BPF_CORE_READ(fs, sb);
	x = txn_find(btrfs_txn(BPF_CORE_READ(sb, s_dev), BPF_CORE_READ(fs, last_trans_committed), false));
	if (x)
		x->ended = 1;
	k.owner = x ? x->top : PROC_NONE;
	k.dev = fs_disk(fs);
	k.kind = KIND_COMMIT;
	k.cause = CAUSE_JOURNAL;
	k.how = k.owner ? HOW_TRANSACTION : HOW_NONE;
	count_apart(&k, 1, 0, 0, false);
	return 0;
}

/* ---- data ---- */

/* Whose each extent is that is being written. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* struct btrfs_ordered_extent */
	__type(value, u32);
} btrfs_extents SEC(".maps");

/* File data that becomes other bytes before it is submitted: it is in W here, what is submitted in F. */
static __always_inline int packed(struct inode *i, u64 off, u64 len, u8 sub, u64 owner, u8 how)
{
	struct iot_cell_key k = {};
	struct iot_ring_event *r;

	k.owner = owner_top(owner);
	k.dev = fs_disk((struct btrfs_fs_info *)BPF_CORE_READ(i, i_sb, s_fs_info));
	k.kind = KIND_FS_PACKED;
	k.cause = CAUSE_DATA;
	k.how = how;
	k.sub = sub;
	count_apart(&k, 1, len, 0, false);
	if (!wants_event(k.owner) && !(cfg.events && !k.owner))
		return 0;
	r = event_reserve(LOSS_EVENT_FS);
	if (!r)
		return 0;
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.offset = off;
	r->e.size = r->e.bytes = len;
	r->e.task = proc_running(ctx_find());
	r->e.tid = current_thread();
	r->e.owner = k.owner;
	r->e.kind = k.kind;
	r->e.cause = k.cause;
	r->e.how = how;
	r->e.sub = sub;
	r->e.file = file_number(i);
	r->e.dev = k.dev;
	event_submit(r);
	return 0;
}

/* An inode as a number: the verifier takes no pointer for that. */
static __always_inline u64 inode_itself(struct inode *i)
{
	return POINTER_AT(POINTER_AT(i, struct inode, i_mapping), struct address_space, host);
}

/* Is the current thread in a call or a request that writes to the inode directly? */
static __always_inline bool writes_directly(struct task_ctx *c, u64 inode)
{
	struct uring_io io = {};

	if (current_task()->flags & PF_KTHREAD)
		return false;
	if (uring_current(c, &io))
		return io.write && io.direct && io.host == inode;
	range_look(c);
	return c->call && c->write && c->target_direct && c->target_inode == inode;
}

SEC("tp_btf/btrfs_ordered_extent_add")
int BPF_PROG(btrfs__extent, struct btrfs_inode *bi, struct btrfs_ordered_extent *o)
{
	u64 key = (u64)o, off, owner, inode;
	struct task_ctx *c;
	bool direct;
	struct inode *i;
	u32 proc;
	u8 how = HOW_NONE;

	if (!bi || !o || !gate_open())
		return 0;
	layout_tell();
	i = vfs_inode(bi);
	inode = inode_itself(i);
	off = BPF_CORE_READ(o, file_offset);
	c = ctx_make();
	direct = c && writes_directly(c, inode);
	if (direct)
		owner = owner_current(c, &how);
	else
		owner = writer_of_page(inode, off >> PAGE_SHIFT, &how);
	proc = owner & (OWNER_TXN | OWNER_DATA) ? PROC_NONE : owner;
	bpf_map_update_elem(&btrfs_extents, &key, &proc, BPF_ANY);
	if (direct)
		bpf_map_update_elem(&btrfs_inodes, &inode, &proc, BPF_ANY);
	if (BPF_CORE_READ(o, compress_type))
		packed(i, off, BPF_CORE_READ(o, num_bytes), SUB_NONE, owner, how);
	return 0;
}

/* A small file that goes into the tree whole: of such pages nothing is submitted. */
static __noinline int inlined(struct inode *i, u64 index)
{
	struct btrfs_fs_info *fs;
	u64 size, owner, inode;
	u8 how;

	if (!i || index || !is_regular(i))
		return 0;
	size = BPF_CORE_READ(i, i_size);
	fs = (struct btrfs_fs_info *)BPF_CORE_READ(i, i_sb, s_fs_info);
	if (!size || size > BPF_CORE_READ(fs, max_inline))
		return 0;
	inode = inode_itself(i);
	owner = writer_of_page(inode, 0, &how);
	return packed(i, 0, PAGE_SIZE, SUB_INLINE, owner, how);
}

SEC("tp_btf/extent_writepage")
int BPF_PROG(btrfs__writeback, struct folio *f, struct inode *i)
{
	return f && i && gate_open() ? inlined(i, BPF_CORE_READ(f, index)) : 0;
}

SEC("tp_btf/__extent_writepage")
int BPF_PROG(btrfs__writeback_page, struct page *p, struct inode *i)
{
	return p && i && gate_open() ? inlined(i, BPF_CORE_READ((struct folio *)p, index)) : 0;
}

/* A thread of the kernel enters an extent that was written into the trees: on behalf of whose it is. */
SEC("tp_btf/btrfs_work_sched")
int BPF_PROG(btrfs__work_begin, struct btrfs_work *w)
{
	struct task_ctx *c;
	u64 key;
	u32 *proc;

	if (!w || function_of((u64)BPF_CORE_READ(w, func)) != FN_BTRFS_ORDERED)
		return 0;
	key = (u64)w - bpf_core_field_offset(struct btrfs_ordered_extent, work);
	proc = bpf_map_lookup_elem(&btrfs_extents, &key);
	c = proc && *proc ? ctx_make() : NULL;
	if (!c)
		return 0;
	c->behalf = BEHALF_OWNER;
	c->behalf_id = *proc;
	return 0;
}

SEC("tp_btf/btrfs_all_work_done")
int BPF_PROG(btrfs__work_end, struct btrfs_fs_info *fs)
{
	struct task_ctx *c = ctx_find();

	if (c && c->behalf == BEHALF_OWNER)
		c->behalf = BEHALF_NONE;
	return 0;
}

/* ---- bytes that are dropped before they are written ---- */

SEC("tp_btf/btrfs_inode_evict")
int BPF_PROG(btrfs__evict, struct inode *i)
{
	u64 inode;

	if (!i || !gate_open())
		return 0;
	inode = inode_itself(i);
	if (!BPF_CORE_READ(i, i_nlink) && is_regular(i))
		drop_record(i, KIND_FS_EVICT, 0, 0);
	bpf_map_delete_elem(&btrfs_inodes, &inode);
	writer_drop(inode);
	return 0;
}

/* Is it a file, and not one of the file system's own? */
static __always_inline bool is_file(struct inode *i)
{
	return (inode_mode(i) & S_IFMT) == S_IFREG && inode_number(i) >= FILES_BEGIN &&
	       NUMBER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_magic) == BTRFS_MAGIC;
}

/* Nothing tells of a file that is shortened or of a hole, but pages leave the cache, dirty or not. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(btrfs__page_gone, struct folio *f)
{
	struct inode *i;

	if (!f || !gate_open() || current_task()->flags & PF_KTHREAD)
		return 0;
	i = folio_inode(f);
	if (!i || !is_file(i) || !is_dirty(i) || !NUMBER_AT(i, struct inode, i_nlink))
		return 0;
	return drop_record(i, KIND_FS_PUNCH, (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT, folio_pages(f) << PAGE_SHIFT);
}

/* Pages that turn dirty in a call: beside what it writes it is the block where the file ended; where it does not write, that of which
 * the rest is zeroed. */
SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(btrfs__dirty, struct folio *f, struct address_space *m)
{
	struct task_struct *t = current_task();
	const volatile struct iot_syscall *row;
	const struct pt_regs *regs;
	struct dirtied *d;
	struct task_ctx *c;
	struct inode *i;
	u8 how;

	if (!m || !f || !gate_open() || t->flags & PF_KTHREAD)
		return 0;
	i = (struct inode *)POINTER_AT(m, struct address_space, host);
	if (!i || !is_file(i))
		return 0;
	regs = current_regs();
	if (!is_worker(t) && !regs_in_call(regs))
		return 0; /* a store to memory */
	c = ctx_make();
	if (!c || c->behalf == BEHALF_LOOP)
		return 0;
	d = (struct dirtied *)c->dirtied_range;
	d->off = (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT;
	d->bytes = folio_pages(f) << PAGE_SHIFT;
	row = is_worker(t) || regs_nr(regs) >= IOT_MAX_SYSCALL ? NULL : &calls[regs_nr(regs)];
	if (is_worker(t) || (row && (row->write || row->shape == SHAPE_AIO_SUBMIT || row->shape == SHAPE_URING))) {
		fresh_note(c, i, d->off, d->bytes);
		return 0;
	}
	d->proc = owner_top(owner_current(c, &how));
	d->how = how;
	d->ts_ns = 0;
	d->unsure = d->beyond = 0;
	return dirty_range(i, d);
}
