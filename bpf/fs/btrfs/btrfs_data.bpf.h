/* SPDX-License-Identifier: GPL-3.0-only */
/* btrfs_data.bpf.h - file data of btrfs: owners of extents, data that are compressed or inlined
 * before they are submitted, dropped pages. Used by fs_btrfs.bpf.c.
 */
#ifndef IOT_BTRFS_DATA_BPF_H
#define IOT_BTRFS_DATA_BPF_H

#include "btrfs.h"
#include "btrfs_shared.bpf.h"
#include "hooks.bpf.h"
#include "range.bpf.h"
#include "program_copies.bpf.h"
#include "uring_now.bpf.h"

static __always_inline struct inode *vfs_inode(struct btrfs_inode *bi)
{
	return (struct inode *)((u64)bi + bpf_core_field_offset(struct btrfs_inode, vfs_inode));
}

/* Publishes field offsets for block.bpf.c. */
static __always_inline void layout_publish(void)
{
	struct btrfs_layout *l = btrfs_layout_of();

	if (!l || l->known)
		return;
	l->bio = bpf_core_field_offset(struct btrfs_bio, bio);
	l->file_offset = bpf_core_field_offset(struct btrfs_bio, file_offset);
	l->end_io = bpf_core_field_offset(struct btrfs_bio, end_io);
	l->private = bpf_core_field_offset(struct btrfs_bio, private);
	l->vfs_inode = bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	if (HAS_BTRFS_BIO_INODE) {
		l->inode = bpf_core_field_offset(struct btrfs_bio___inode, inode);
		l->has_inode = 1;
	} else {
		l->compressed_inode = bpf_core_field_offset(struct compressed_bio___inode, inode);
		l->compressed_start = bpf_core_field_offset(struct compressed_bio, start);
		l->direct_inode = bpf_core_field_offset(struct btrfs_dio_private___inode, inode);
	}
	l->stripe_io = bpf_core_field_offset(struct btrfs_io_stripe, bioc);
	l->io_bio = bpf_core_field_offset(struct btrfs_io_context, orig_bio);
	l->raid_io = bpf_core_field_offset(struct btrfs_raid_bio, bioc);
	l->raid_data = bpf_core_field_offset(struct btrfs_raid_bio, nr_data);
	l->raid_disks = bpf_core_field_offset(struct btrfs_raid_bio, real_stripes);
	l->io_stripes = bpf_core_field_offset(struct btrfs_io_context, stripes);
	l->stripe_size = bpf_core_type_size(struct btrfs_io_stripe);
	l->stripe_device = bpf_core_field_offset(struct btrfs_io_stripe, dev);
	l->device_bdev = bpf_core_field_offset(struct btrfs_device, bdev);
	l->raid_bios = bpf_core_field_offset(struct btrfs_raid_bio, bio_list.head);
	l->device_fs = bpf_core_field_offset(struct btrfs_device, fs_info);
	l->fs_super = bpf_core_field_offset(struct btrfs_fs_info, super_for_commit);
	l->fs_sb = bpf_core_field_offset(struct btrfs_fs_info, sb);
	l->block_len = bpf_core_field_offset(struct extent_buffer, len);
	l->block_fs = bpf_core_field_offset(struct extent_buffer, fs_info);
	l->inode_root = bpf_core_field_offset(struct btrfs_inode, root);
	l->root_id = bpf_core_field_offset(struct btrfs_root, root_key.objectid);
	if (HAS_BTRFS_FOLIO_STATE)
		l->folio_state = bpf_core_field_offset(struct btrfs_folio_state, bitmaps);
	l->page_memory = page_memory(PAGE_SIZE / (bpf_core_type_size(struct page) ?: 1));
	l->known = 1;
}

static __always_inline u32 fs_dev(struct btrfs_fs_info *fs)
{
	return FOLLOW(fs, sb, s_dev);
}

/* The disk that stands for a file system on several devices. */
static __always_inline u32 fs_disk(struct btrfs_fs_info *fs)
{
	return FOLLOW(fs, fs_devices, latest_dev, bdev, bd_disk, part0, bd_dev);
}

/* The owner of each extent that is being written. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* struct btrfs_ordered_extent */
	__type(value, u32);
} btrfs_extents SEC(".maps");

/* Counts file data that become other bytes before they are submitted: they are in W here, and the
 * result in F when it is submitted. */
static __always_inline int packed(struct inode *i, u64 off, u64 len, u8 sub, u64 owner, u8 how)
{
	struct iot_cell_key k = {};

	submission_begins((u64)i, off + len);
	k.owner = owner_top(owner);
	k.dev = fs_disk((struct btrfs_fs_info *)FOLLOW(i, i_sb, s_fs_info));
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_FS_PACKED;
	k.cause = CAUSE_DATA;
	k.how = how;
	k.sub = sub;
	count_apart(&k, 1, len, 0, false);
	if (!wants_event(k.owner) && !(cfg.events && !k.owner))
		return 0;
	file_event(&k, i, off, len, len);
	return 0;
}

/* True when the current thread is in a call or request that writes to the inode with O_DIRECT. */
static __always_inline bool writes_directly(struct task_ctx *c, u64 inode)
{
	struct uring_io io = {};

	if (current_task()->flags & PF_KTHREAD)
		return false;
	if (uring_current(c, &io, inode_number((struct inode *)inode)))
		return io.write && io.direct && io.host == inode;
	return c->call && c->write && c->target.direct && c->target.inode == inode;
}

/* A file of one page under writeback. When that has ended it is known if the file became inline:
 * then no extent was made for it. The decision is another one on each kernel: by its size, by its
 * compressed size, by whether it may be written in place. */
struct unsent {
	u64 ino, owner;
	u32 how;
	u32 sent;              /* 1: an extent was made for it */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);      /* struct inode */
	__type(value, struct unsent);
} btrfs_unsent SEC(".maps");

SEC("tp_btf/btrfs_ordered_extent_add")
int PROBE(btrfs__extent, struct btrfs_inode *bi, struct btrfs_ordered_extent *o)
{
	u64 key = (u64)o, off, owner, inode;
	struct unsent *unsent;
	struct task_ctx *c;
	bool direct;
	struct inode *i;
	u32 proc;
	u8 how = HOW_NONE;

	if (!bi || !o || !gate_open())
		return 0;
	layout_publish();
	i = vfs_inode(bi);
	inode = inode_itself(i);
	off = FOLLOW(o, file_offset);
	c = ctx_make();
	direct = c && writes_directly(c, inode);
	if (direct)
		owner = owner_current(c, &how);
	else
		owner = page_owner(inode, off >> PAGE_SHIFT, &how);
	proc = owner & (OWNER_TXN | OWNER_DATA) ? PROC_NONE : owner ?:
		loop_owner(inode, off >> PAGE_SHIFT);
	bpf_map_update_elem(&btrfs_extents, &key, &proc, BPF_ANY);
	unsent = off ? NULL : bpf_map_lookup_elem(&btrfs_unsent, &inode);
	if (unsent)
		unsent->sent = 1;
	if (direct)
		number_keep(&btrfs_inodes, &inode, &proc);
	if (FOLLOW(o, compress_type))
		packed(i, off, FOLLOW(o, num_bytes), SUB_NONE, owner, how);
	return 0;
}

/* Nothing is submitted for the page of a small file that becomes inline. Until 6.3 a thread that
 * was to compress it, and does not, writes it back once more, and has made its extent by then. */
static __noinline int unsent_note(struct inode *i, u64 index)
{
	u64 size, inode;
	struct unsent u = {}, *old;
	u8 how = HOW_NONE;     /* before 6.2 a variable that a function fills must be initialised */

	if (!i || index || !is_regular(i))
		return 0;
	size = FOLLOW(i, i_size);
	if (!size || size > PAGE_SIZE)
		return 0;
	inode = inode_itself(i);
	u.ino = inode_number(i);
	old = bpf_map_lookup_elem(&btrfs_unsent, &inode);
	if (old && old->sent && old->ino == u.ino)
		return 0;
	u.owner = page_owner(inode, 0, &how);
	u.how = how;
	bpf_map_update_elem(&btrfs_unsent, &inode, &u, BPF_ANY);
	return 0;
}

/* sb_clear_inode_writeback: no page of a file is under writeback any more. */
SEC("tp_btf/sb_clear_inode_writeback")
int PROBE(btrfs__inline, struct inode *i)
{
	u64 inode = (u64)i;
	struct unsent *u = i ? bpf_map_lookup_elem(&btrfs_unsent, &inode) : NULL;

	if (!u)
		return 0;
	if (gate_open() && !u->sent && u->ino == inode_number(i))
		packed(i, 0, PAGE_SIZE, SUB_INLINE, u->owner, u->how);
	bpf_map_delete_elem(&btrfs_unsent, &inode);
	return 0;
}

/* A kernel thread inserts a written extent into the trees: on behalf of its owner. */
SEC("tp_btf/btrfs_work_sched")
int PROBE(btrfs__work_begin, struct btrfs_work *w)
{
	struct task_ctx *c;
	u64 key;
	u32 *proc;

	if (!w || function_of((u64)MODULE_AT(w, struct btrfs_work, func)) != FN_BTRFS_ORDERED)
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
int PROBE(btrfs__work_end, struct btrfs_fs_info *fs)
{
	struct task_ctx *c = ctx_find();

	if (c && c->behalf == BEHALF_OWNER)
		c->behalf = BEHALF_NONE;
	return 0;
}

/* ---- dirty bytes that are dropped ---- */

SEC("tp_btf/btrfs_inode_evict")
int PROBE(btrfs__evict, struct inode *i)
{
	u64 inode;

	if (!i || !gate_open())
		return 0;
	inode = inode_itself(i);
	if (!cfg.light && !FOLLOW(i, i_nlink) && is_regular(i))
		invalidate_record(i, KIND_FS_EVICT, 0, 0);
	bpf_map_delete_elem(&btrfs_inodes, &inode);
	writer_drop(inode);
	return 0;
}

/* True for a file that is not one of the file system's own. */
static __always_inline bool is_file(struct inode *i)
{
	u64 root;

	if ((inode_mode(i) & S_IFMT) != S_IFREG || inode_number(i) < FILES_BEGIN ||
	    NUMBER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_magic) !=
	    BTRFS_MAGIC)
		return false;
	/* not by bpf_rdonly_cast(), which knows no types of modules */
	root = pointer_at((u64)i - bpf_core_field_offset(struct btrfs_inode, vfs_inode) +
			  bpf_core_field_offset(struct btrfs_inode, root));
	return pointer_at(root + bpf_core_field_offset(struct btrfs_root, root_key.objectid)) !=
	       TREE_RELOCATED_DATA;
}

/* There is no tracepoint for truncation and holes, but pages leave the cache, dirty or not.
 * Reclaimed pages are clean, and have no owner by then. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int PROBE(btrfs__page_gone, struct folio *f)
{
	struct inode *i;

	if (!f || !gate_open() || current_task()->flags & PF_KTHREAD ||
	    !NUMBER_AT(f, struct folio, _refcount.counter))
		return 0;
	i = folio_inode(f);
	if (!i || !is_file(i) || !NUMBER_AT(i, struct inode, i_nlink))
		return 0;
	/* of a folio with several blocks, the dirty mark is cleared before the folio is removed
	 * (7.2) */
	if (!is_dirty(i) && (folio_pages(f) == 1 || !writer_find(i)))
		return 0;
	return invalidate_record(i, KIND_FS_PUNCH,
				 (u64)NUMBER_AT(f, struct folio, index) << PAGE_SHIFT,
				 folio_pages(f) << PAGE_SHIFT);
}

#endif
