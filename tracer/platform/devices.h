/* SPDX-License-Identifier: GPL-3.0-only */
/* devices.h - meaning of a device number: disk, partition, loop device, or a file system without a
 * device.
 */
#ifndef IOT_DEVICES_H
#define IOT_DEVICES_H

#include "stream.h"

struct devices;

/* Registers the helper's answers about files (ask.h). */
void devices_serve(void);

/* Returns 0 or a negative errno after a message. */
int devices_new(struct devices **out);
void devices_free(struct devices *);

/* Record of a device that was not given before, or that has been mounted since. NULL otherwise, and
 * when nothing is known about it. A device that is not mounted is examined once in each second
 * `sec` only. The strings live until the next call. */
const struct rec_device *devices_learn(struct devices *, u32 dev, u64 sec);

/* The record of devices_learn() again. */
const struct rec_device *devices_again(struct devices *, u32 dev);

/* True when its record was given. */
bool devices_known(struct devices *, u32 dev);

/* Calls back with each device directly below `dev`: the disk of a partition, the members of a
 * logical device (dm, md) or of a btrfs file system (whose own number is given then), the device
 * that holds a loop device's file. The strings live until the callback returns. */
void devices_levels(u32 dev, void (*level)(void *arg, const struct rec_level *), void *arg);

/* Finds the logical device (dm, md) of which a block device is a member; -ENOENT: none. */
int devices_holder(u32 dev, u32 *logical);

/* Of the device behind bcache, whose data begin after a superblock: 1 + the sectors before them. 0:
 * any other member, such as the cache. */
u32 devices_cached(u32 dev, u32 logical);

/* Kind of a block device, as in the record `device`: disk, partition, loop, dm, md, zram or
 * bcache. */
const char *devices_type(u32 dev);

/* Calls back with the number of every block device that has a capacity. */
void devices_list(void (*device)(void *arg, u32 dev), void *arg);

/* Calls back with each device stacked on a disk at any depth, and with the number of each btrfs
 * file system on one. */
void devices_on(u32 disk, void (*device)(void *arg, u32 dev), void *arg);

/* First mount point of the file system with this number; NULL: none. Lives until the next call. */
const char *devices_mount(struct devices *, u32 dev);
/* True when another machine or process serves the file system that devices_mount() found last, and
 * may not answer. */
bool devices_mount_is_remote(const struct devices *);

#endif
