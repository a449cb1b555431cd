/* SPDX-License-Identifier: GPL-3.0-only */
/* netcalls.c - each call on sockets and each that waits for descriptors, a prime number of times,
 * in a process that has the name of its part: n_tcp, n_tcpsrv, n_fail, n_udp, n_v6, n_unix, n_poll,
 * n_later.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_(line) i_##line
#define NAME(line) NAME_(line)
#define TIMES(n) for (int NAME(__LINE__) = 0; NAME(__LINE__) < (n); NAME(__LINE__)++)
static char buf[65536];
static struct sockaddr_in at; /* of the server */

static void must(long r, const char *what)
{
	if (r < 0) {
		perror(what);
		exit(1);
	}
}

#define MUST(call) must(call, #call)

static struct sockaddr_in bound(int fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	MUST(bind(fd, (void *)&a, sizeof(a)));
	MUST(getsockname(fd, (void *)&a, &len));
	return a;
}

/* 11 connections, by accept(2) and accept4(2); each read to its end. */
static void server(int listener)
{
	prctl(PR_SET_NAME, "n_tcpsrv");
	for (int i = 0; i < 11; i++) {
		int fd = i % 2 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) :
			accept(listener, NULL, NULL);

		MUST(fd);
		while (recv(fd, buf, sizeof(buf), 0) > 0)
			;
		close(fd);
	}
	fcntl(listener, F_SETFL, O_NONBLOCK);
	TIMES(3)
		accept(listener, NULL, NULL); /* EAGAIN */
	exit(0);
}

static void tcp(void)
{
	struct iovec v = { buf, 1013 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	pid_t child;

	MUST(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	at = bound(listener);
	MUST(listen(listener, 17));
	child = fork();
	if (!child)
		server(listener);
	TIMES(11) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
		struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

		MUST(connect(fd, (void *)&at, sizeof(at)));
		TIMES(7)
			MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
		TIMES(5) {
			int value;
			socklen_t len = sizeof(value);

			MUST(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, &len));
		}
		TIMES(2)
			MUST(poll(&p, 1, 1000));
		TIMES(13)
			MUST(send(fd, buf, 997, MSG_NOSIGNAL));
		TIMES(3)
			MUST(write(fd, buf, 1009));
		TIMES(2)
			MUST(sendmsg(fd, &m, 0));
		TIMES(3)
			recv(fd, buf, 10, MSG_DONTWAIT); /* EAGAIN */
		shutdown(fd, SHUT_WR);
		while (recv(fd, buf, sizeof(buf), 0) > 0) /* the end: one call of 0 bytes */
			;
		close(fd);
	}
	waitpid(child, NULL, 0);
	close(listener);
}

/* Nobody listens at port 1: ECONNREFUSED, at once and later. */
static void failing(void)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET, .sin_port = htons(1),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	TIMES(3) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		connect(fd, (void *)&nobody, sizeof(nobody));
		close(fd);
	}
	TIMES(2)
		socket(12345, SOCK_STREAM, 0); /* EAFNOSUPPORT */
	TIMES(5)
		send(-1, buf, 10, 0); /* EBADF */
}

/* connect(2) that does not wait: 5 connections that succeed. */
static void later(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = bound(listener);

	MUST(listen(listener, 17));
	TIMES(5) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		if (connect(fd, (void *)&a, sizeof(a)) && errno != EINPROGRESS)
			MUST(-1);
		poll(&p, 1, 1000);
		close(fd);
	}
	close(listener);
}

static void udp(void)
{
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = bound(to), peer;
	struct mmsghdr m[2] = {};
	struct iovec v[2] = { { buf, 211 }, { buf, 211 } };
	socklen_t len = sizeof(peer);

	TIMES(19) {
		MUST(sendto(from, buf, 503, 0, (void *)&a, sizeof(a)));
		MUST(recvfrom(to, buf, 2000, MSG_PEEK, NULL, NULL));
		MUST(recvfrom(to, buf, 2000, 0, (void *)&peer, &len));
	}
	for (int i = 0; i < 2; i++)
		m[i].msg_hdr = (struct msghdr){ .msg_name = &a, .msg_namelen = sizeof(a),
			.msg_iov = &v[i], .msg_iovlen = 1 };
	TIMES(5)
		MUST(sendmmsg(from, m, 2, 0));
	TIMES(3)
		recv(from, buf, 10, MSG_DONTWAIT); /* EAGAIN */
	/* a socket that changes its peer */
	MUST(connect(from, (void *)&a, sizeof(a)));
	TIMES(7)
		MUST(send(from, buf, 101, 0));
	a = bound(socket(AF_INET, SOCK_DGRAM, 0));
	MUST(connect(from, (void *)&a, sizeof(a)));
	TIMES(3)
		MUST(send(from, buf, 103, 0));
	close(from);
	close(to);
}

static void v6(void)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd, end;

	MUST(bind(listener, (void *)&a, sizeof(a)));
	MUST(listen(listener, 5));
	MUST(getsockname(listener, (void *)&a, &len));
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	MUST(connect(fd, (void *)&a, sizeof(a)));
	end = accept(listener, NULL, NULL);
	TIMES(7)
		MUST(send(fd, buf, 101, 0));
	close(fd);
	while (recv(end, buf, 1000, 0) > 0)
		;
	close(end);
	close(listener);
}

static void unixes(void)
{
	int pair[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	TIMES(23) {
		MUST(send(pair[0], buf, 103, 0));
		MUST(recv(pair[1], buf, 103, 0));
	}
	TIMES(3)
		recv(pair[1], buf, 103, MSG_DONTWAIT); /* EAGAIN */
	close(pair[0]);
	close(pair[1]);
}

static void polls(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct pollfd f[3];
	int p[2], ep;

	MUST(pipe(p));
	MUST(write(p[1], "x", 1));
	f[0] = (struct pollfd){ p[0], POLLIN, 0 };
	f[1] = (struct pollfd){ p[1], POLLOUT, 0 };
	f[2] = (struct pollfd){ -1, POLLOUT, 0 };
	TIMES(19)
		MUST(syscall(SYS_poll, f, 1, 0));
	TIMES(3)
		MUST(ppoll(f, 3, NULL, NULL));
	TIMES(23) {
		struct timeval now = {};
		fd_set set;

		FD_ZERO(&set);
		FD_SET(p[0], &set);
		MUST(syscall(SYS_select, p[0] + 1, &set, NULL, NULL, &now));
	}
	MUST(ep = epoll_create1(EPOLL_CLOEXEC));
	TIMES(13) {
		MUST(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e));
		MUST(epoll_ctl(ep, EPOLL_CTL_DEL, p[0], NULL));
	}
	TIMES(2)
		epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e); /* ENOENT */
	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e));
	TIMES(17)
		MUST(epoll_wait(ep, &e, 1, 0));
	close(ep);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } parts[] = {
		{ "n_tcp", tcp }, { "n_fail", failing }, { "n_later", later }, { "n_udp", udp },
		{ "n_v6", v6 }, { "n_unix", unixes }, { "n_poll", polls },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			alarm(60);
			prctl(PR_SET_NAME, parts[i].name);
			parts[i].run();
			exit(0);
		}
		waitpid(child, &status, 0);
		if (status)
			return 1;
	}
	return 0;
}
