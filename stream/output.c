/* SPDX-License-Identifier: GPL-3.0-only */
/* output.c - open files for output where strangers may have laid a trap.
 *
 * We run as root and are told names in folders like /tmp. A path is walked component by component; every symlink in it is
 * judged by who made it and by who can write the folder that it lies in, and only then followed. The walk holds descriptors,
 * so that nothing can be exchanged between the judgement and the use.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "table.h"

#define SYMLINKS_MAX 40  /* as the kernel */
#define TRAP (-ENOLINK)  /* a symlink that is not followed */

static bool is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static bool others_can_write(const struct stat *dir)
{
	return !is_ours(dir->st_uid) || dir->st_mode & S_IWOTH || (dir->st_mode & S_IWGRP && dir->st_gid != getegid());
}

/* Puts the target of the symlink `link` in front of what is left of the path. */
static int follow(int dir, int link, const char *rest, char path[PATH_MAX])
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	struct stat at, st;
	ssize_t n;

	if (fstat(dir, &at) || fstat(link, &st))
		return -errno;
	if (others_can_write(&at) && !is_ours(st.st_uid))
		return TRAP;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	n = snprintf(joined, sizeof(joined), "%s%s%s", target, *rest ? "/" : "", rest);
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, joined, n + 1);
	return 0;
}

/* Links in /proc are not text: /dev/fd/63 may be a pipe. The kernel follows them, and nobody else can make one. */
static int nofollow(int dir)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC ? 0 : O_NOFOLLOW;
}

static int start_dir(const char *path)
{
	int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* One component that is not the last. Returns the folder, or -ELOOP with the symlink in *link. */
static int enter(int dir, const char *name, int *link)
{
	struct stat st;
	int fd = openat(dir, name, O_PATH | O_CLOEXEC | nofollow(dir));

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISLNK(st.st_mode))
		return fd;
	*link = fd;
	return -ELOOP;
}

/* The last component. */
static int open_last(int dir, const char *name, int flags, int *link)
{
	int trap = nofollow(dir);
	int fd = openat(dir, name, flags | (trap ? O_CREAT : 0) | trap | O_CLOEXEC | O_NOCTTY, 0600), err = errno;

	if (fd >= 0)
		return fd;
	if (err != ELOOP)
		return -err;
	fd = enter(dir, name, link);
	if (fd < 0)
		return fd;
	close(fd); /* exchanged meanwhile */
	return -EAGAIN;
}

/* The path was changed to go on at a symlink's target: from the root, or from where the link lies. */
static int start_again(int dir, const char *path)
{
	int fd = *path == '/' ? start_dir(path) : fcntl(dir, F_DUPFD_CLOEXEC, 0);

	return fd == -1 ? -errno : fd;
}

/* Takes the first component of `path` off. Returns what is left of it, *name without its slashes. */
static char *split(char *path, char **name)
{
	size_t n;

	*name = path + strspn(path, "/");
	n = strcspn(*name, "/");
	path = *name + n + strspn(*name + n, "/");
	if (*path || !(*name)[n])
		(*name)[n] = 0;
	return path;
}

static int walk(const char *given, int flags)
{
	char path[PATH_MAX], *p = path, *name;
	int dir, links = 0;

	if (strlen(given) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, given);
	dir = start_dir(path);
	while (dir >= 0) {
		char *rest = split(p, &name);
		int link = -1, fd = *rest ? enter(dir, name, &link) : open_last(dir, name, flags, &link);

		p = rest;
		if (link >= 0) {
			fd = ++links > SYMLINKS_MAX ? -ELOOP : follow(dir, link, rest, path);
			close(link);
			p = path;
			if (!fd)
				fd = start_again(dir, path);
			rest = p;
		}
		close(dir);
		if (!*rest)
			return fd;
		dir = fd;
	}
	return dir;
}

int output_open(const char *path, int flags)
{
	int fd = *path ? walk(path, flags) : -ENOENT;

	if (fd >= 0)
		return fd;
	if (fd == TRAP)
		return stream_fail(-EPERM, "%s: will not write through a symbolic link that somebody else made in a folder that others can write",
				   path);
	return stream_fail(fd, "cannot open %s for writing: %s", path, strerror(-fd));
}
