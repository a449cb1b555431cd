// SPDX-License-Identifier: GPL-3.0-only
/* mountpoint.c - opens the root of a mounted file system. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "mountpoint.h"
#include "place.h"

/* A mount point is a directory or a regular file. Anything else was put there by somebody who may
 * write a directory of the path; opening a device can be an order to it (watchdog, tape). */
int mountpoint_open(const char *mount)
{
	auto_close int at = open(mount, O_PATH | O_CLOEXEC);
	struct stat st;
	char path[32];
	int fd;

	if (at < 0 || fstat(at, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return -PLACE_EXCHANGED;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
