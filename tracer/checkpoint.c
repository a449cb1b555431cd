// SPDX-License-Identifier: GPL-3.0-only
/* checkpoint.c - what a journal holds, put in place.
 *
 * To add a file system: a row in `ways`. XFS empties its log only when it is unmounted, frozen, or idle for half a minute: so it is
 * frozen and thawed. Whoever is killed in between leaves a file system that nobody can write to; a process of our own, which does nothing
 * else, waits for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "checkpoint.h"
#include "place.h"
#include "settle.h"

/* Shared by the tracer and its guard. */
static struct held {
	atomic_bool frozen;     /* or about to be, at `mount` */
	dev_t dev;              /* what is mounted there */
	char mount[PATH_MAX];
} *held;

static void thaw_left(int tracer)
{
	struct pollfd wait = { .fd = tracer, .events = POLLIN };
	struct stat st;
	int fd;

	while (poll(&wait, 1, -1) < 1) /* readable when all its threads have ended: none freezes any more */
		;
	if (!atomic_load(&held->frozen))
		return;
	fd = settle_open(held->mount);
	if (fd >= 0 && !fstat(fd, &st) && st.st_dev == held->dev)
		ioctl(fd, FITHAW, 0);
}

/* It makes only calls that are not recorded, until the run is over for sure. It has no part in the terminal's signals, and keeps no
 * pipe of the tracer's open. */
static void __attribute__((noreturn)) guard(int tracer)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (chdir("/")) /* what is mounted here can be unmounted as soon as the tracer has ended */
		_exit(1);
	prctl(PR_SET_NAME, "iot-trace-thaw");
	if (dup2(tracer, 0) == 0)
		syscall(SYS_close_range, 1, ~0u, 0);
	thaw_left(0);
	_exit(0);
}

int checkpoint_guard(void)
{
	auto_close int self = syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid;

	held = mmap(NULL, sizeof(*held), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (held == MAP_FAILED)
		return fail(errno, "cannot have file systems frozen");
	pid = self < 0 ? -1 : fork();
	if (!pid)
		guard(self);
	return pid < 0 ? fail(errno, "cannot start a process that thaws file systems") : 0;
}

static int freeze_and_thaw(int fd, const char *mount, dev_t dev)
{
	int err;

	held->dev = dev;
	snprintf(held->mount, sizeof(held->mount), "%s", mount);
	atomic_store(&held->frozen, true);
	err = ioctl(fd, FIFREEZE, 0) ? -errno : 0; /* -EBUSY: somebody else has, and thaws it */
	if (!err && ioctl(fd, FITHAW, 0))
		return -errno; /* it is tried again when the run is over */
	atomic_store(&held->frozen, false);
	return err;
}

/* Since 5.14; what is older checkpoints when it is frozen. */
static int checkpoint_ext4(int fd, const char *mount, dev_t dev)
{
	u32 flags = 0;

	if (!ioctl(fd, EXT4_CHECKPOINT, &flags) || errno == ENODEV) /* without a journal */
		return 0;
	return errno == ENOTTY ? freeze_and_thaw(fd, mount, dev) : -errno;
}

static const struct way {
	long magic;
	int (*checkpoint)(int fd, const char *mount, dev_t dev); /* NULL: behind a sync nothing is left to be put in place */
} ways[] = {
	{ EXT4_SUPER_MAGIC, checkpoint_ext4 }, /* ext2 and ext3 too */
	{ XFS_SUPER_MAGIC, freeze_and_thaw },
	{ BTRFS_SUPER_MAGIC, NULL },
	{ MSDOS_SUPER_MAGIC, NULL },
};

int checkpoint_mount(int fd, const char *mount, u32 dev)
{
	struct statfs s;
	struct stat st;
	int err = fstatfs(fd, &s) || fstat(fd, &st) ? -errno : dev >> 20 ? -EOPNOTSUPP : 0; /* without a device: of memory, or a server's */

	if (err == -EOPNOTSUPP && st.st_dev != makedev(dev >> 20, dev & 0xfffff))
		err = -PLACE_EXCHANGED; /* somebody who can write a folder on the way: nothing else is frozen */
	for (size_t i = 0; err == -EOPNOTSUPP && i < N_OF(ways); i++)
		if (ways[i].magic == (long)s.f_type)
			err = ways[i].checkpoint ? ways[i].checkpoint(fd, mount, st.st_dev) : 0;
	return err ? fail(err, "cannot have what the journal of the file system at %s holds put in place", mount) : 0;
}
