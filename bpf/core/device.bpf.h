/* SPDX-License-Identifier: GPL-3.0-only */
/* device.bpf.h - the disk that a device is or is part of, and which devices --dev selects.
 */
#ifndef IOT_DEVICE_BPF_H
#define IOT_DEVICE_BPF_H

#include "task.bpf.h"

/* Number of the disk that a block device is, or is part of. */
static __always_inline u32 disk_of(struct block_device *b)
{
	return b->bd_disk->part0->bd_dev;
}

/* The same, by addresses alone. */
static __always_inline u32 disk_at(u64 bdev)
{
	u64 disk = POINTER_AT(bdev, struct block_device, bd_disk);

	return NUMBER_AT(POINTER_AT(disk, struct gendisk, part0), struct block_device, bd_dev);
}

/* The disk that an inode's file system is on. */
static __always_inline u32 disk_below(const struct inode *i)
{
	return disk_at(POINTER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_bdev));
}

/* Numbers of devices on the disk of --dev: its partitions, volumes and loop devices above it, however deep, and of file systems that have
 * numbers of their own (btrfs). The tracer fills in those that are there when it begins; what comes during the run is added where it is seen. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);    /* 1 */
} on_disk SEC(".maps");

/* Global: its key is not on the stack of those who ask. */
__noinline u32 is_on_disk(u32 dev)
{
	return !!bpf_map_lookup_elem(&on_disk, &dev);
}

/* Is a device, or a file system by its number, on the disk that --dev names? Without one all are. */
static __always_inline bool dev_wanted(u32 dev)
{
	return !cfg.dev || cfg.dev == dev || is_on_disk(dev);
}

/* A device or file system lies on the disk of --dev, or does no more: its number may be another's by now. */
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
