// SPDX-License-Identifier: GPL-3.0-only
/* anonymous_key.c - the key of hashed names: made once, kept in a file apart from the stores. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include "anonymous.h"
#include "anonymous_parts.h"
#include "place.h"
#include "table.h"

#define TEXT_LEN (2 * SIPHASH_KEY)       /* hexadecimal digits, and a newline behind them */

static int make_key(struct anonymizer *a)
{
	return getrandom(a->key, sizeof(a->key), 0) == sizeof(a->key) ? 0 :
		fail(errno, "cannot get random bytes");
}

static int write_key(const struct anonymizer *a, int fd, const char *path)
{
	char text[TEXT_LEN + 2];

	for (size_t i = 0; i < sizeof(a->key); i++)
		sprintf(text + 2 * i, "%02x", a->key[i]);
	strcat(text, "\n");
	if (write(fd, text, TEXT_LEN + 1) != TEXT_LEN + 1 || fsync(fd))
		return fail(errno, "cannot write the key file %s", path);
	return 0;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_key(struct anonymizer *a, int fd, const char *path)
{
	char text[TEXT_LEN + 2];
	ssize_t n = read(fd, text, sizeof(text));

	if (n < 0)
		return fail(errno, "cannot read the key file %s", path);
	for (size_t i = 0; n == TEXT_LEN + 1 && i < TEXT_LEN; i++)
		if (digit_of(text[i]) < 0)
			n = 0;
	if (n != TEXT_LEN + 1 || text[TEXT_LEN] != '\n')
		return fail_as(-EINVAL, 0,
			"%s is no key file: it must hold %d hexadecimal digits and a newline",
			path, TEXT_LEN);
	for (size_t i = 0; i < sizeof(a->key); i++)
		a->key[i] = digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]);
	return 0;
}

/* Opens the file of the key, or makes it. *made: it is new. */
static int open_key(const char *path, bool *made)
{
	struct place at;
	int fd = place_find(&at, path);

	*made = !fd && !place_has(&at, at.name);
	if (!fd)
		fd = place_open(&at, at.name, *made ? O_RDWR | O_CREAT | O_EXCL :
				O_RDONLY | O_NONBLOCK);
	place_leave(&at);
	if (fd < 0)
		return *made ? output_fail(path, fd) : input_fail(path, fd);
	return fd;
}

static int take_key(struct anonymizer *a, const char *path)
{
	bool made;
	auto_close int fd = open_key(path, &made);
	struct stat s;

	if (fd < 0)
		return fd;
	if (made)
		return make_key(a) ?: write_key(a, fd, path);
	if (fstat(fd, &s) || !S_ISREG(s.st_mode))
		return fail_as(-EINVAL, 0, "the key file %s is no file", path);
	if (s.st_mode & 077)
		return fail_as(-EPERM, 0,
			"others may read the key file %s, and undo what it hides: chmod 600 it, or make another", path);
	return read_key(a, fd, path);
}

int anonymizer_new(struct anonymizer **out, const char *path)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "names");
	return path ? take_key(*out, path) : make_key(*out);
}

void anonymizer_free(struct anonymizer *a)
{
	if (a)
		explicit_bzero(a, sizeof(*a));
	free(a);
}
