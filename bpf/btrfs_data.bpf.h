/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_data.bpf.h - file data of btrfs: whose each extent is, bytes that become other bytes before they are submitted, writes that are
 * submitted before their call returns, pages that turn dirty beside a write, pages that are dropped. Used by fs_btrfs.bpf.c.
 */
#ifndef IOT_BTRFS_DATA_BPF_H
#define IOT_BTRFS_DATA_BPF_H

#include "btrfs.h"
#include "btrfs.bpf.h"
#include "dirty.bpf.h"
#include "drop.bpf.h"
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

static __always_inline u32 fs_dev(struct btrfs_fs_info *fs)
{
	return BPF_CORE_READ(fs, sb, s_dev);
}

/* The disk that stands for all of a file system. */
static __always_inline u32 fs_disk(struct btrfs_fs_info *fs)
{
	return BPF_CORE_READ(fs, fs_devices, latest_dev, bdev, bd_disk, part0, bd_dev);
}

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

/* What the call or request in progress writes, and syncs before it returns. */
struct through {
	u64 inode, off, len;
	u64 user;              /* where its bytes are from, in one piece of the caller's memory; 0 not known */
};

/* Of a call: by the flags of its file, or its own. */
static __always_inline bool call_syncs(struct task_ctx *c)
{
	const struct pt_regs *regs = current_regs();
	struct file *f = c->shape == SHAPE_SPLICE ? NULL : file_of(regs_arg0(regs));

	if (f && NUMBER_AT(f, struct file, f_flags) & O_DSYNC)
		return true;
	return c->shape == SHAPE_PRWV2 && regs_arg5(regs) & (RWF_DSYNC | RWF_SYNC);
}

static __always_inline bool through_look(struct task_ctx *c, struct through *t)
{
	struct uring_io io = {};

	if (uring_current(c, &io)) {
		t->inode = io.write && !io.direct ? io.host : 0;
		t->off = io.offset;
		t->len = io.len;
		return io.file && (NUMBER_AT(io.file, struct file, f_flags) & O_DSYNC ||
				   NUMBER_AT(uring_cmd(io.req), struct io_rw, flags) & (RWF_DSYNC | RWF_SYNC));
	}
	range_look(c);
	if (!c->call || !c->write)
		return false;
	t->inode = c->target_direct ? 0 : c->target_inode;
	t->off = c->target_off;
	t->len = c->target_len;
	t->user = c->shape == SHAPE_RW || c->shape == SHAPE_PRW ? regs_arg1(current_regs()) : 0;
	return call_syncs(c);
}

/* Bytes [c->dirtied_range[0], + [1]) of a page. */
static __noinline int through_range(struct task_ctx *c, struct inode *i, struct folio *f, struct writeback_control *wbc)
{
	u64 from, to, pos, end, size;
	struct through t = {};
	u8 byte;

	if (!c || !i || !f || !wbc || !through_look(c, &t) || t.inode != inode_itself(i))
		return 0;
	from = BPF_CORE_READ(wbc, range_start);
	to = BPF_CORE_READ(wbc, range_end) + 1;
	if (to - from <= t.len) {
		t.user = 0; /* what it has copied is known */
	} else {
		size = NUMBER_AT(i, struct inode, i_size);
		from = t.off == size && size > t.len ? size - t.len : t.off; /* it appended: the end is behind it by now */
		to = from + t.len < size ? from + t.len : size;
		t.user -= t.user ? from : 0;
	}
	pos = (u64)BPF_CORE_READ(f, index) << PAGE_SHIFT;
	end = pos + (folio_pages(f) << PAGE_SHIFT);
	from = from > pos ? from : pos;
	to = to < end ? to : end;
	if (to <= from || (t.user && bpf_probe_read_user(&byte, sizeof(byte), (void *)(t.user + from))))
		return 0; /* it had ended before, with EFAULT */
	c->dirtied_range[0] = from;
	c->dirtied_range[1] = to - from;
	return 1;
}

/* A page is about to be written back. A call that writes through (O_SYNC, RWF_DSYNC) has that done with what it has copied before it
 * returns: that is its own, also where others had made it dirty before. It asks for its range, or for all of the file. */
static __always_inline int page_writeback(struct folio *f, struct inode *i, struct writeback_control *wbc)
{
	struct task_ctx *c;

	if (!f || !i || !wbc || !gate_open())
		return 0;
	c = current_task()->flags & PF_KTHREAD ? NULL : ctx_make();
	if (c && through_range(c, i, f, wbc))
		writer_mark(inode_itself(i), c->dirtied_range[0], c->dirtied_range[1], proc_current(c));
	return inlined(i, BPF_CORE_READ(f, index));
}

SEC("tp_btf/extent_writepage")
int BPF_PROG(btrfs__writeback, struct folio *f, struct inode *i, struct writeback_control *wbc)
{
	return page_writeback(f, i, wbc);
}

SEC("tp_btf/__extent_writepage")
int BPF_PROG(btrfs__writeback_page, struct page *p, struct inode *i, struct writeback_control *wbc)
{
	return page_writeback((struct folio *)p, i, wbc);
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

#endif
