// SPDX-License-Identifier: GPL-3.0-only
/* checkpoint.c - has a file system write the contents of its journal to their final place.
 *
 * To add a file system: a row in `ways`. XFS empties its log only at unmount, freeze, or after half
 * a minute without changes, so it is frozen and thawed. A helper killed in between would leave a
 * file system that nobody can write to; the keeper of the helpers thaws it then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "checkpoint.h"
#include "mountpoint.h"
#include "place.h"

/* Shared memory of the helper that freezes and its keeper. */
static struct held {
	atomic_bool frozen;     /* the file system at `mount` is frozen, or is about to be */
	dev_t dev;              /* device number of that file system */
	char mount[PATH_MAX];
} *held;

int checkpoint_share(void)
{
	held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return held == MAP_FAILED ? fail(errno, "cannot have file systems frozen") : 0;
}

void checkpoint_thaw(void)
{
	struct stat st;
	int fd;

	if (!atomic_load(&held->frozen))
		return;
	fd = mountpoint_open(held->mount);
	if (fd >= 0 && !fstat(fd, &st) && st.st_dev == held->dev)
		ioctl(fd, FITHAW, 0);
	if (fd >= 0)
		close(fd);
	atomic_store(&held->frozen, false);
}

static int freeze_and_thaw(int fd, const char *mount, dev_t dev)
{
	int err;

	held->dev = dev;
	snprintf(held->mount, sizeof(held->mount), "%s", mount);
	atomic_store(&held->frozen, true);
	/* -EBUSY: another process froze it, and thaws it */
	err = ioctl(fd, FIFREEZE, 0) ? -errno : 0;
	if (!err && ioctl(fd, FITHAW, 0))
		return -errno; /* the keeper thaws it when the helper has ended */
	atomic_store(&held->frozen, false);
	return err;
}

/* EXT4_IOC_CHECKPOINT exists since 5.14; older kernels checkpoint when they are frozen. */
static int checkpoint_ext4(int fd, const char *mount, dev_t dev)
{
	u32 flags = 0;

	if (!ioctl(fd, EXT4_CHECKPOINT, &flags) || errno == ENODEV) /* ENODEV: no journal */
		return 0;
	return errno == ENOTTY ? freeze_and_thaw(fd, mount, dev) : -errno;
}

static const struct way {
	long magic;
	/* NULL: nothing is left in a journal after a sync */
	int (*checkpoint)(int fd, const char *mount, dev_t dev);
} ways[] = {
	{ EXT4_SUPER_MAGIC, checkpoint_ext4 }, /* also ext2 and ext3 */
	{ XFS_SUPER_MAGIC, freeze_and_thaw },
	{ BTRFS_SUPER_MAGIC, NULL },
	{ MSDOS_SUPER_MAGIC, NULL },
};

int checkpoint_mount(int fd, const char *mount, u32 dev)
{
	struct statfs s;
	struct stat st;
	/* no device: in memory, or on a server */
	int err = fstatfs(fd, &s) || fstat(fd, &st) ? -errno : dev >> 20 ? -EOPNOTSUPP : 0;

	if (err == -EOPNOTSUPP && st.st_dev != makedev(dev >> 20, dev & 0xfffff))
		/* somebody replaced a directory of the path: nothing else is frozen */
		err = -PLACE_EXCHANGED;
	for (size_t i = 0; err == -EOPNOTSUPP && i < N_OF(ways); i++)
		if (ways[i].magic == (long)s.f_type)
			err = ways[i].checkpoint ? ways[i].checkpoint(fd, mount, st.st_dev) : 0;
	return err;
}
