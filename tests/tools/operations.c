// SPDX-License-Identifier: GPL-3.0-only
/* operations.c - one kind of operation in a loop, for the bench: prints processor time of each, ns.
 *
 * usage: operations pread|poll|connection|unlink COUNT FILE
 *        pread: 4 KiB of FILE, cached; poll: of a pipe that has something; connection: TCP to
 *        itself on 127.0.0.1, made, accepted and closed; unlink: of files FILE.N, made before.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int file = -1, listener = -1, ends[2];
static struct sockaddr_in self;
static const char *path;

static char *numbered(long n, char name[4096])
{
	snprintf(name, 4096, "%s.%ld", path, n);
	return name;
}

static int open_file(long count)
{
	file = open(path, O_RDONLY | O_CLOEXEC);
	return file < 0;
}

static int read_page(long n)
{
	char page[4096];

	return pread(file, page, sizeof(page), n % 256 * sizeof(page)) != sizeof(page);
}

static int fill_pipe(long count)
{
	return pipe(ends) || write(ends[1], "", 1) != 1;
}

static int look(long n)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	return poll(&p, 1, 0) != 1;
}

static int listen_here(long count)
{
	socklen_t len = sizeof(self);

	self.sin_family = AF_INET;
	self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	return bind(listener, (struct sockaddr *)&self, sizeof(self)) || listen(listener, 16) ||
	       getsockname(listener, (struct sockaddr *)&self, &len);
}

/* Each side is reset, so that no port waits. */
static int connect_once(long n)
{
	const struct linger now = { .l_onoff = 1 };
	int to = socket(AF_INET, SOCK_STREAM, 0), from = -1, err;

	err = to < 0 || connect(to, (struct sockaddr *)&self, sizeof(self)) ||
	      (from = accept(listener, NULL, NULL)) < 0 ||
	      setsockopt(to, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(to);
	close(from);
	return err;
}

static int make_files(long count)
{
	char name[4096];

	for (long n = 0; n < count; n++)
		if (close(open(numbered(n, name), O_CREAT | O_WRONLY, 0600)))
			return 1;
	return 0;
}

static int remove_file(long n)
{
	char name[4096];

	return unlink(numbered(n, name));
}

/* To add an operation: a row. Both return 0 on success. */
static const struct {
	const char *name;
	int (*prepare)(long count), (*once)(long n);
} operations[] = {
	{ "pread", open_file, read_page },
	{ "poll", fill_pipe, look },
	{ "connection", listen_here, connect_once },
	{ "unlink", make_files, remove_file },
};

static double used_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[2]) : 0;
	double begun;
	size_t i;

	for (i = 0; count > 0 && i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(argv[1], operations[i].name))
			break;
	if (count <= 0 || i == sizeof(operations) / sizeof(*operations))
		return 2;
	path = argv[3];
	if (operations[i].prepare(count))
		return 1;
	begun = used_ns();
	for (long n = 0; n < count; n++)
		if (operations[i].once(n))
			return 1;
	printf("%.1f\n", (used_ns() - begun) / count);
	return 0;
}
