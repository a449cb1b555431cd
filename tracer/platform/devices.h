/* SPDX-License-Identifier: GPL-3.0-only */
/* devices.h - what a device number is: disk, partition, loop, or a file system without a device. */
#ifndef IOT_DEVICES_H
#define IOT_DEVICES_H

#include "stream.h"

struct devices;

/* Says who answers what is asked about files (ask.h). */
void devices_serve(void);

/* Returns 0 or a negative errno after a message. */
int devices_new(struct devices **out);
void devices_free(struct devices *);

/* The record of a device that was not given before, or that is mounted by now and was not then; NULL otherwise, and when
 * nothing is known about it. Looks at a device that is not mounted once in each second `sec` only. Strings live until the
 * next call. */
const struct rec_device *devices_learn(struct devices *, u32 dev, u64 sec);

/* The same record again. */
const struct rec_device *devices_again(struct devices *, u32 dev);

/* Was its record given? */
bool devices_known(struct devices *, u32 dev);

/* Calls back with each device that one lies on directly: the disk of a partition, members of a volume or of a btrfs file system, by the
 * number that is its own, what a loop device's file is on. The strings live inside the callback. */
void devices_levels(u32 dev, void (*level)(void *arg, const struct rec_level *), void *arg);

/* The volume (dm, md) that a block device is part of; -ENOENT: none. */
int devices_holder(u32 dev, u32 *volume);

/* Calls back with the number of every block device that has a capacity. */
void devices_list(void (*device)(void *arg, u32 dev), void *arg);

/* Calls back with each device that lies on a disk, however deep, and with the own number of each btrfs file system on one. */
void devices_on(u32 disk, void (*device)(void *arg, u32 dev), void *arg);

/* First place where a file system with this number is mounted; NULL none. Lives until the next call. */
const char *devices_mount(struct devices *, u32 dev);
/* Of the one that was found last: does somebody else serve its files, who may not answer? */
bool devices_mount_is_remote(const struct devices *);

#endif
