// SPDX-License-Identifier: GPL-3.0-only
/* file.c - reads whole files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "clean.h"
#include "file.h"

#define FIRST 16384

/* Reads until the end, or until the buffer is full. Returns the number of bytes or a negative
 * errno. */
static ssize_t fill(int fd, char *to, size_t room)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < room && got) {
		got = read(fd, to + n, room - n);
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? got : 0;
	}
	return n;
}

ssize_t read_file(const char *path, char *buf, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : fill(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t read_line(const char *path, char *buf, size_t size)
{
	ssize_t n = read_file(path, buf, size);

	if (n < 0)
		return n;
	buf[strcspn(buf, "\n")] = '\0';
	return strlen(buf);
}

char *read_all(int fd, size_t max, size_t *len)
{
	size_t room = 0, want = FIRST;
	char *text = NULL, *more;
	ssize_t n = 0;

	for (*len = 0; *len == room && room <= max; want *= 4) {
		more = realloc(text, want + 1);
		n = more ? fill(fd, more + room, want - room) : -ENOMEM;
		text = more ? more : text;
		if (n < 0)
			break;
		room = want;
		*len += n;
	}
	if (n >= 0 && *len <= max) {
		text[*len] = '\0';
		return text;
	}
	free(text);
	errno = n < 0 ? -n : EFBIG;
	return NULL;
}
