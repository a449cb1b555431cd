/* SPDX-License-Identifier: GPL-3.0-only */
/* device.bpf.h - the disk that a device is or is part of, and which devices --dev selects.
 */
#ifndef IOT_DEVICE_BPF_H
#define IOT_DEVICE_BPF_H

#include "task.bpf.h"

/* The device number of the disk that a block device is, or is a partition of. */
static __always_inline u32 disk_of(struct block_device *b)
{
	return b->bd_disk->part0->bd_dev;
}

/* As disk_of(), of a struct block_device by its address. */
static __always_inline u32 disk_at(u64 bdev)
{
	u64 disk = POINTER_AT(bdev, struct block_device, bd_disk);

	return NUMBER_AT(POINTER_AT(disk, struct gendisk, part0), struct block_device, bd_dev);
}

/* The disk of an inode's file system. */
static __always_inline u32 disk_below(const struct inode *i)
{
	return disk_at(POINTER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_bdev));
}

/* Numbers of devices on the disk of --dev: its partitions, the logical and loop devices above it at
 * any depth, and file systems with numbers of their own (btrfs). The tracer enters those that exist
 * when it starts; later ones are added where they are seen. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);    /* 1 */
} on_disk SEC(".maps");

/* Global: its key is not on its callers' stack. */
__noinline u32 is_on_disk(u32 dev)
{
	return !!bpf_map_lookup_elem(&on_disk, &dev);
}

/* True when a device, or a file system by its number, is on the disk that --dev names, or when
 * there is no --dev. */
static __always_inline bool dev_wanted(u32 dev)
{
	return !cfg.dev || cfg.dev == dev || is_on_disk(dev);
}

/* Notes whether a device or file system is on the disk of --dev. Device numbers are reused. */
__noinline int on_disk_note(u32 dev, u32 on)
{
	u32 one = 1;

	if (!dev || dev == cfg.dev || is_on_disk(dev) == on)
		return 0;
	if (on)
		bpf_map_update_elem(&on_disk, &dev, &one, BPF_ANY);
	else
		bpf_map_delete_elem(&on_disk, &dev);
	return 0;
}

#endif
