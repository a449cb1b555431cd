// SPDX-License-Identifier: GPL-3.0-only
/* tracer.c - messages, clocks, numbers from users, small files, cleanup. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "out.h"
#include "tracer.h"

#define TEN_YEARS (10ull * 366 * 86400)

static bool quiet_notes;

int fail(int err, const char *format, ...)
{
	va_list args;

	err = err < 0 ? -err : err;
	va_start(args, format);
	out_message("iot-trace", err ? strerror(err) : NULL, format, args);
	va_end(args);
	return err ? -err : -EINVAL;
}

int fail_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out_message("iot-trace", "try 'iot-trace --help'", format, args);
	va_end(args);
	return STATUS_USAGE;
}

void note(const char *format, ...)
{
	va_list args;

	if (quiet_notes)
		return;
	va_start(args, format);
	out_message("iot-trace", NULL, format, args);
	va_end(args);
}

void note_quiet(bool quiet)
{
	quiet_notes = quiet;
}

void note_progress(const char *format, ...)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n > 0 && n < (int)sizeof(line) && poll(&p, 1, 0) == 1 && write(STDERR_FILENO, line, n) < 0)
		return; /* the next one will be seen */
}

u64 clock_now(int clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

/* Digits at *text, which is moved behind them. */
static int take_digits(const char **text, u64 *out)
{
	u64 v = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **text - '0', &v))
			return -EINVAL;
	*out = v;
	return 0;
}

int parse_number(const char *text, u64 *out)
{
	return take_digits(&text, out) || *text ? -EINVAL : 0;
}

int parse_seconds(const char *text, u64 *ns)
{
	u64 whole, part = 0, unit = NSEC;

	if (take_digits(&text, &whole) || whole > TEN_YEARS)
		return -EINVAL;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return -EINVAL;
		for (; isdigit((unsigned char)*text); text++) /* what is below 1 ns is left out */
			part += (*text - '0') * (unit /= 10);
	}
	*ns = whole * NSEC + part;
	return *text || !*ns ? -EINVAL : 0;
}

int parse_size(const char *text, u64 *out)
{
	static const char units[] = "KMG";
	const char *unit;
	u64 factor = 1;

	if (take_digits(&text, out))
		return -EINVAL;
	unit = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
	if (unit) {
		factor = 1024ull << 10 * (unit - units);
		text++;
	}
	return *text || __builtin_mul_overflow(*out, factor, out) ? -EINVAL : 0;
}

int read_file(const char *path, char *buf, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (n < size - 1) {
		got = read(fd, buf + n, size - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += got;
	}
	buf[n] = '\0';
	return n;
}

int read_line(const char *path, char *buf, size_t size)
{
	int n = read_file(path, buf, size);

	if (n < 0)
		return n;
	buf[strcspn(buf, "\n")] = '\0';
	return strlen(buf);
}

int grow(void **array, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 64;
	void *more;

	if (n < *room)
		return 0;
	more = reallocarray(*array, want, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*room = want;
	return 0;
}

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void close_file(void *file)
{
	FILE *f = *(FILE **)file;

	if (f)
		fclose(f);
}

void free_memory(void *memory)
{
	free(*(void **)memory);
}
