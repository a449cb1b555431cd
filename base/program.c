/* SPDX-License-Identifier: GPL-3.0-only */
/* program.c - finds and judges programs, which others may have put there (place.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "place.h"
#include "program.h"

/* Judges the file itself, whatever its folder: root may have put a stranger's file there, without
 * us in mind. */
static bool may_run(const struct place *at, int fd, const struct stat *st)
{
	struct place strict = *at;
	struct stat own;
	int err;

	strict.shared = true;
	err = place_judge(&strict, fd, st);
	if (!err || (err == -PLACE_NAMES && !at->shared))
		return true;
	return !stat("/proc/self/exe", &own) && st->st_uid == own.st_uid &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int program_open(const char *path, bool *shared)
{
	struct place at;
	struct stat st;
	int err = place_find(&at, path);
	int fd = err ? -1 : openat(at.dir, at.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	*shared = at.shared;
	if (err)
		err = err == -PLACE_LINK ? -EPERM : -ENOENT;
	else if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		err = -ENOENT;
	else
		err = may_run(&at, fd, &st) ? 0 : -EPERM;
	place_leave(&at);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int program_find(const char *name, char **path)
{
	const char *dir = getenv("PATH");
	size_t len;

	for (*path = NULL; dir && *dir; dir += len + (dir[len] == ':')) {
		auto_free char *one = NULL;
		bool shared;
		int fd;

		len = strcspn(dir, ":");
		if (*dir != '/')
			continue;
		if (asprintf(&one, "%.*s/%s", (int)len, dir, name) < 0)
			return -ENOMEM;
		fd = program_open(one, &shared);
		if (fd >= 0 && shared) {
			close(fd);
			fd = -EPERM;
		}
		if (fd == -ENOENT || (fd < 0 && *path))
			continue;
		free(*path);
		*path = one;
		one = NULL;
		if (fd >= 0)
			return fd;
	}
	return *path ? -EPERM : -ENOENT;
}
