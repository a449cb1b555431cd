/* SPDX-License-Identifier: GPL-3.0-only */
/* output.c - opens files by the names that users give, and says what is wrong with them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "place.h"
#include "table.h"

int output_fail(const char *path, int err)
{
	if (place_errno(err) != err)
		return fail_as(-EPERM, 0, "%s: %s", path, place_error(err, true));
	return fail_as(err, 0, "cannot open %s for writing: %s", path, strerror(-err));
}

int output_open(const char *path, int flags, struct place *at)
{
	int fd = place_find(at, path);
	bool there = fd || place_has(at, at->name);

	if (!fd)
		fd = place_open(at, at->name, flags | O_CREAT);
	if (there)
		place_leave(at);
	return fd < 0 ? output_fail(path, fd) : fd;
}

int input_fail(const char *path, int err)
{
	if (place_errno(err) != err)
		return fail_as(-EPERM, 0, "%s: %s", path, place_error(err, false));
	return fail_as(err, 0, "cannot open %s: %s", path, strerror(-err));
}
