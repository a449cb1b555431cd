/* SPDX-License-Identifier: GPL-3.0-only */
/* out.c - writes that can be given up, and messages.
 *
 * write(2) blocks on a full pipe or a stopped terminal, and the program would not react to anything
 * meanwhile. So poll(2) waits for the descriptor a few milliseconds at a time, and in between the
 * program is asked whether to go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "out.h"
#include "utf8.h"

#define SLICE_MS 20

bool (*out_patience)(uint64_t waited_ns);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Ways to write to a descriptor without blocking. */
enum way {
	WAY_FILE,       /* never blocks */
	WAY_FREE,       /* non-blocking: EAGAIN */
	WAY_SOCKET,     /* EAGAIN with MSG_DONTWAIT */
	WAY_SMALL,      /* blocking: but a pipe that poll(2) calls writable takes so much (pipe(7)) */
};

static enum way way_of(int fd)
{
	struct stat s;
	int flags = fcntl(fd, F_GETFL);

	if (fstat(fd, &s) || S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) ||
	    (S_ISCHR(s.st_mode) && !isatty(fd)))
		return WAY_FILE;
	if (flags >= 0 && flags & O_NONBLOCK)
		return WAY_FREE;
	return S_ISSOCK(s.st_mode) ? WAY_SOCKET : WAY_SMALL;
}

/* Waits until the descriptor is writable. Returns 0, or -ETIME. */
static int wait_for(int fd)
{
	uint64_t began_ns = now_ns();
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	/* the first poll does not wait: after an error the caller comes here for each remaining line */
	for (int slice = 0; poll(&p, 1, slice) < 1; slice = SLICE_MS) /* write(2) reports errors */
		if (out_patience && !out_patience(now_ns() - began_ns))
			return -ETIME;
	return 0;
}

static ssize_t put(int fd, enum way way, const char *p, size_t len)
{
	if (way == WAY_SOCKET)
		return send(fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(fd, p, way == WAY_SMALL && len > PIPE_BUF ? PIPE_BUF : len);
}

int out_write(int fd, const void *buf, size_t len)
{
	enum way way = way_of(fd);
	const char *p = buf, *end = p + len;
	int err = 0;

	while (p < end && !err) {
		ssize_t n = -1;

		if (way == WAY_SMALL)
			err = wait_for(fd);
		if (!err)
			n = put(fd, way, p, end - p);
		if (n > 0)
			p += n;
		else if (!err && (!n || errno == EAGAIN))
			err = wait_for(fd);
		else if (!err && errno != EINTR)
			err = -errno;
	}
	return err;
}

/* Describes EFBIG: the limit may also be that of the file system. */
static const char *size_error(void)
{
	static _Thread_local char text[112];
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY)
		return "File too large for its file system";
	snprintf(text, sizeof(text),
		 "File too large: none may have more than %llu bytes here; raise that limit (ulimit -f)",
		 (unsigned long long)most.rlim_cur);
	return text;
}

const char *out_error(int err)
{
	return err == -ETIME ? "it takes nothing, and was given up" :
	       err == -EFBIG ? size_error() : strerror(-err);
}

int out_own(int fd)
{
	char path[32];
	struct stat s;
	int own = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!fstat(fd, &s) && (S_ISFIFO(s.st_mode) || isatty(fd)))
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return own < 0 ? -errno : own;
}

#define PIPE_BYTES (1 << 20) /* the default of fs.pipe-max-size */

void out_enlarge(int fd)
{
	if (fcntl(fd, F_GETPIPE_SZ) < PIPE_BYTES)
		fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); /* not essential */
}

static ssize_t write_standard(void *unused, const char *buf, size_t len)
{
	int err = out_write(STDOUT_FILENO, buf, len);

	errno = -err;
	return err ? 0 : len;
}

/* Opens descriptors below 3 that are closed: else a file would get one of them, and messages would
 * be written into it. Reading and writing them fails as before. */
static void fill_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_PATH) != fd)
			_exit(1);
}

void out_standard(void)
{
	FILE *f;

	fill_standard();
	f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_standard });

	if (f)
		stdout = f;
}

/* Messages allocate no memory: one of them says that there is none. */
#define MESSAGE_MAX (3 * PATH_MAX)
#define MESSAGE_WORD_MAX 256 /* the program's name, or a reason */

void out_message(const char *program, const char *reason, const char *format, va_list args)
{
	static bool dead; /* stderr was given up once: do not wait for it again */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	/* static, for one thread at a time: it is too large for a small stack (ulimit -s 64) */
	static char text[MESSAGE_MAX], line[UTF8_PLAIN_MAX(MESSAGE_MAX + 3 * MESSAGE_WORD_MAX)];
	char *end;
	int n;

	pthread_mutex_lock(&lock);
	n = vsnprintf(text, sizeof(text), format, args);
	end = stpcpy(utf8_put(line, program, strnlen(program, MESSAGE_WORD_MAX)), ": ");
	end = utf8_put(end, text, n < 0 ? 0 : n < MESSAGE_MAX ? n : MESSAGE_MAX - 1);
	end = stpcpy(end, n < MESSAGE_MAX ? "" : "...");
	if (reason)
		end = utf8_put(stpcpy(end, ": "), reason, strnlen(reason, MESSAGE_WORD_MAX));
	*end++ = '\n';
	if (!dead)
		dead = out_write(STDERR_FILENO, line, end - line) == -ETIME;
	pthread_mutex_unlock(&lock);
}
