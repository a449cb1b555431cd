// SPDX-License-Identifier: GPL-3.0-only
/* procfs.c - the folder of processes, with the numbers of our own PID namespace. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "procfs.h"

static char folder[32] = "/proc";
static bool opened;

const char *procfs(void)
{
	return folder;
}

const char *procfs_path(char path[PROCFS_PATH], uint32_t pid, const char *name)
{
	snprintf(path, PROCFS_PATH, "%s/%u/%.40s", folder, pid, name);
	return path;
}

/* Who we are by a proc file system; 0: it is that of a PID namespace in which we are nobody, or none at all. */
static long self_in(const char *proc)
{
	char path[64], number[32];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/self", proc);
	n = readlink(path, number, sizeof(number) - 1);
	number[n > 0 ? n : 0] = '\0';
	return strtol(number, NULL, 10);
}

/* A proc file system that is mounted nowhere: only its descriptor leads to it. */
static int mount_own(void)
{
	int fs = fsopen("proc", FSOPEN_CLOEXEC), fd = -1;

	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fs >= 0)
		close(fs);
	return fd;
}

int procfs_open(const char **why)
{
	long self = opened ? 0 : self_in(folder);
	char own[32];
	int fd;

	if (opened || self == getpid()) {
		opened = true;
		return 0;
	}
	*why = "/proc is not that of this PID namespace; mount it: mount -t proc proc /proc";
	fd = self ? mount_own() : -1;
	if (fd < 0)
		return -ENOENT;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (self_in(own) != getpid()) {
		close(fd);
		return -ENOENT;
	}
	strcpy(folder, own);
	opened = true;
	return 0;
}
