// SPDX-License-Identifier: GPL-3.0-only
/* ready.c - announces that recording has begun.
 *
 * A descriptor, a FIFO or a device gets one line and is closed. A regular file is created when
 * recording has begun, and not opened before, so that its existence says it. A file left by an
 * earlier run is removed first, or it would be mistaken for this run's; it is recognised by its
 * first bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "out.h"
#include "ready.h"

#define WORD "ready "

static int fail_place(const struct ready *r, int err)
{
	return fail_as(place_errno(err), 0, "cannot use --ready %s: %s", r->name,
		place_error(err, true));
}

/* True for a file that an earlier run made. */
static bool is_earlier(int fd)
{
	char text[sizeof(WORD) - 1];

	return pread(fd, text, sizeof(text), 0) == sizeof(text) &&
		!memcmp(text, WORD, sizeof(text));
}

/* Handles an existing file of that name: a regular one is removed, anything else is written to. */
static int use_old(struct ready *r)
{
	auto_close int old = -1;
	struct stat st;
	int at = place_look(&r->at, r->at.name, &st);

	if (at < 0)
		return at == -ENOENT ? 0 : fail_place(r, at);
	close(at);
	old = place_open(&r->at, r->at.name, S_ISREG(st.st_mode) ? O_RDONLY : O_WRONLY);
	if (old < 0)
		return fail_place(r, old);
	if (!S_ISREG(st.st_mode)) {
		r->fd = old;
		old = -1;
		place_leave(&r->at);
		return 0;
	}
	if (!is_earlier(old))
		return fail(0,
			"%s is there already, and no run made it to say that it began (--ready): remove it, or give another name", r->name);
	return unlinkat(r->at.dir, r->at.name, 0) ? fail(errno,
		"cannot remove %s, which an earlier run made (--ready)", r->name) : 0;
}

static int find_file(struct ready *r)
{
	int err = place_find(&r->at, r->name);

	if (err)
		return fail_place(r, err);
	err = use_old(r);
	if (err || r->fd >= 0)
		return err;
	return faccessat(r->at.dir, ".", W_OK, AT_EACCESS) ? fail_place(r, -errno) : 0;
}

int ready_open(struct ready *r, const struct options *o)
{
	*r = (struct ready){ .name = o->ready, .fd = o->ready ? o->ready_fd : -1,
		.at = { .dir = -1 }, .service = !o->command };
	if (!r->name)
		return 0;
	if (r->fd < 0)
		return find_file(r);
	/* the command does not need it */
	if (r->fd > STDERR_FILENO && fcntl(r->fd, F_SETFD, FD_CLOEXEC))
		return fail(errno, "cannot use descriptor %s (--ready)", r->name);
	return 0;
}

/* Speaks the protocol of sd_notify(3): one datagram of lines, from the process that the service
 * manager started. */
static void tell_manager(double seconds)
{
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	char text[96];
	int n = snprintf(text, sizeof(text), "READY=1\nSTATUS=recording, attached in %.2f s\n",
		seconds);

	if (!len)
		return;
	if ((*path != '/' && *path != '@') || len >= sizeof(to.sun_path)) {
		note("NOTIFY_SOCKET is no path of a socket: the manager of services is not told that recording began");
		return;
	}
	memcpy(to.sun_path, path, len);
	if (*path == '@') /* an abstract name */
		to.sun_path[0] = '\0';
	if (sendto(fd, text, n, MSG_NOSIGNAL, (struct sockaddr *)&to,
	    offsetof(struct sockaddr_un, sun_path) + len) != n)
		note("cannot tell the manager of services that recording began (NOTIFY_SOCKET %s): %s", path, strerror(errno));
}

static int tell_asked(struct ready *r, double seconds)
{
	char text[48];
	int err, n = snprintf(text, sizeof(text), WORD "%.2f\n", seconds);

	if (r->fd < 0) {
		r->fd = place_open(&r->at, r->at.name, O_WRONLY | O_CREAT | O_EXCL);
		if (r->fd < 0)
			return fail_place(r, r->fd);
		r->made = true;
	}
	err = out_write(r->fd, text, n);
	if (err == -EPIPE)
		note("nobody waits any more at --ready %s", r->name);
	else if (err)
		return fail(0, "cannot say that recording began (--ready %s): %s", r->name,
			out_error(err));
	return 0;
}

int ready_tell(struct ready *r, double seconds)
{
	int err = r->name ? tell_asked(r, seconds) : 0;

	if (err)
		return err;
	if (r->service)
		tell_manager(seconds);
	if (r->fd > STDERR_FILENO) {
		close(r->fd); /* the reader sees the end */
		r->fd = -1;
	}
	return 0;
}

void ready_undo(struct ready *r)
{
	if (r->made)
		unlinkat(r->at.dir, r->at.name, 0);
	r->made = false;
}

void ready_close(struct ready *r)
{
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	r->fd = -1;
	place_leave(&r->at);
}
