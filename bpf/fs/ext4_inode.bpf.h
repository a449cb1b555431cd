/* SPDX-License-Identifier: GPL-3.0-only */
/* ext4_inode.bpf.h - ext4 files with inline data, or with data=journal, as calls see them.
 */
#ifndef IOT_EXT4_INODE_BPF_H
#define IOT_EXT4_INODE_BPF_H

#include "aggregate.bpf.h"
#include "device.bpf.h"
#include "file.bpf.h"
#include "file_event.bpf.h"
#include "folio.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ext4_sb_info___mount {
	unsigned int s_mount_opt;
};

struct ext4_inode_info___flags {
	unsigned long i_flags;
	struct inode vfs_inode;
};

#pragma clang attribute pop

/* Constants of the on-disk format and of mount options, unchanged since 2.6.19 and 3.8. */
#define EXT4_JOURNAL_DATA_FL (1 << 14)
#define EXT4_INLINE_DATA_FL (1 << 28)
#define EXT4_MOUNT_DATA_FLAGS 0x00c00
#define EXT4_MOUNT_JOURNAL_DATA 0x00400

/* The flags of an inode. Types of a module are read by offset: bpf_rdonly_cast() knows only those
 * of the kernel, and the verifier refuses the program. */
static __always_inline u64 ext4_flags(struct inode *i)
{
	u64 info = (u64)i - bpf_core_field_offset(struct ext4_inode_info___flags, vfs_inode);

	return pointer_at(info + bpf_core_field_offset(struct ext4_inode_info___flags, i_flags));
}

/* True for inodes of ext4, unless its module was loaded after our programs. */
static __always_inline bool is_on_ext4(struct inode *i)
{
	return i && HAS_EXT4_INODE &&
	       is_on(i, EXT4_SUPER_MAGIC);
}

/* True when the file's data are journalled (data=journal, chattr +j): a direct write then goes
 * through the page cache. */
static __always_inline bool is_journalled(u64 inode)
{
	struct inode *i = (struct inode *)inode;
	u64 sbi;

	if (!is_on_ext4(i))
		return false;
	sbi = POINTER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_fs_info);
	return ext4_flags(i) & EXT4_JOURNAL_DATA_FL ||
	       (pointer_at(sbi + bpf_core_field_offset(struct ext4_sb_info___mount, s_mount_opt)) &
		EXT4_MOUNT_DATA_FLAGS) == EXT4_MOUNT_JOURNAL_DATA;
}

/* True when a write at this offset went into the inode (inline_data), and no page is dirty. When
 * the data do not fit any more, the flag stays until the pages are written. */
__noinline int is_inline(u64 inode, u64 off)
{
	struct inode *i = (struct inode *)inode;
	u64 folio;

	if (!is_on_ext4(i) || !(ext4_flags(i) & EXT4_INLINE_DATA_FL))
		return false;
	folio = folio_at(POINTER_AT(i, struct inode, i_mapping), off >> PAGE_SHIFT);
	return !folio || !folio_is_dirty(folio);
}

/* True when what a call dirties at this offset is reported by folio, not by block: with
 * journalled data, and when inline data move out of the inode into the first folio, whatever the
 * call writes. */
__noinline int is_dirtied_as_folio(u64 inode, u64 off)
{
	struct inode *i = (struct inode *)inode;

	return is_journalled(inode) ||
	       (!off && is_on_ext4(i) && ext4_flags(i) & EXT4_INLINE_DATA_FL);
}

/* Counts a write that became part of the inode: its data are in W here, and in F as part of the
 * structure. */
__noinline int ext4_inlined(u64 inode, u64 off, u64 len, u32 block, u32 proc)
{
	struct inode *i = (struct inode *)inode;
	struct iot_cell_key k = { .owner = proc, .kind = KIND_FS_PACKED, .cause = CAUSE_DATA,
				  .how = HOW_EXACT, .sub = SUB_INLINE };

	if (!i)
		return 0;
	len += off & (block - 1);
	off -= off & (block - 1);
	len = (len + block - 1) & ~((u64)block - 1);
	k.dev = disk_below(i);
	if (!dev_wanted(k.dev))
		return 0;
	count_apart(&k, 1, len, 0, false);
	if (wants_event(proc))
		file_event(&k, i, off, len, len);
	return 0;
}

/* As wrote(), also for inline data. block: block size of the file. True: the data went into the
 * inode. */
static __always_inline bool wrote_data(u64 inode, u32 device, u64 off, u64 len, u32 block, u32 proc)
{
	if (!is_inline(inode, off)) {
		wrote((struct inode *)inode, device, off, len, proc);
		return false;
	}
	ext4_inlined(inode, off, len, block ?: PAGE_SIZE, proc);
	return true;
}

/* True when a direct write goes through the page cache: with journalled or inline data. */
static __always_inline bool is_indirect(u64 inode, u64 off)
{
	return is_journalled(inode) || is_inline(inode, off);
}

#endif
