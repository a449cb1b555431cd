/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_ops.c - requests of io_uring with every opcode that the kernel has and that needs no
 * hardware, a known number of each. Prints the ledger, by what the completions said: "CASE NAME
 * requests completions bytes errors".
 *
 * usage: uring_ops FOLDER CASE    (a row of `cases`, or "all"; each in a process called like it)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/time_types.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "uring.h"

#define REPEAT(n) for (int i = 0; i < (n); i++)
#define ADDRESS(x) ((unsigned long)(x))
#define MORE 2u /* IORING_CQE_F_MORE */
#define NOTIF 8u
#define BUFFERS 7

/* Opcodes, by the user interface; those behind SENDMSG_ZC by number, since headers may be older. */
#define OPS(O) O(0, NOP) O(1, READV) O(2, WRITEV) O(3, FSYNC) O(4, READ_FIXED) \
	O(5, WRITE_FIXED) O(6, POLL_ADD) \
	O(7, POLL_REMOVE) O(8, SYNC_FILE_RANGE) O(9, SENDMSG) O(10, RECVMSG) O(11, TIMEOUT) \
	O(12, TIMEOUT_REMOVE) \
	O(13, ACCEPT) O(14, ASYNC_CANCEL) O(15, LINK_TIMEOUT) O(16, CONNECT) O(17, FALLOCATE) \
	O(18, OPENAT) O(19, CLOSE) \
	O(20, FILES_UPDATE) O(21, STATX) O(22, READ) O(23, WRITE) O(24, FADVISE) O(25, MADVISE) \
	O(26, SEND) O(27, RECV) \
	O(28, OPENAT2) O(29, EPOLL_CTL) O(30, SPLICE) O(31, PROVIDE_BUFFERS) \
	O(32, REMOVE_BUFFERS) O(33, TEE) \
	O(34, SHUTDOWN) O(35, RENAMEAT) O(36, UNLINKAT) O(37, MKDIRAT) O(38, SYMLINKAT) \
	O(39, LINKAT) O(40, MSG_RING) \
	O(41, FSETXATTR) O(42, SETXATTR) O(43, FGETXATTR) O(44, GETXATTR) O(45, SOCKET) \
	O(47, SEND_ZC) O(48, SENDMSG_ZC) \
	O(49, READ_MULTISHOT) O(50, WAITID) O(51, FUTEX_WAIT) O(52, FUTEX_WAKE) \
	O(54, FIXED_FD_INSTALL) O(55, FTRUNCATE) \
	O(56, BIND) O(57, LISTEN) O(59, EPOLL_WAIT) O(60, READV_FIXED) O(61, WRITEV_FIXED) O(62, PIPE)
enum {
#define O(n, name) DO_##name = n,
	OPS(O)
#undef O
	DO_MOST = 64
};
static const char *const names[DO_MOST] = {
#define O(n, name) [n] = #name,
	OPS(O)
#undef O
};

static struct tally {
	unsigned long requests, ends, bytes, errors;
} tally[DO_MOST];
static char moves[DO_MOST] = { [DO_READV] = 1, [DO_WRITEV] = 1, [DO_READ_FIXED] = 1,
	[DO_WRITE_FIXED] = 1, [DO_READ] = 1,
	[DO_WRITE] = 1, [DO_SENDMSG] = 1, [DO_RECVMSG] = 1, [DO_SEND] = 1, [DO_RECV] = 1,
		[DO_SPLICE] = 1, [DO_TEE] = 1,
	[DO_SEND_ZC] = 1, [DO_SENDMSG_ZC] = 1, [DO_READ_MULTISHOT] = 1, [DO_READV_FIXED] = 1,
		[DO_WRITEV_FIXED] = 1 };
static struct uring ring;
static bool has[DO_MOST];
static char *buf;
static int fd;

static void die(const char *what)
{
	fprintf(stderr, "uring_ops: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_ring(unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 100 };
	struct {
		struct io_uring_probe p;
		struct io_uring_probe_op op[DO_MOST];
	} probe = {};

	if (uring_open(&ring, 64, &p))
		die("io_uring_setup");
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PROBE, &probe, DO_MOST) < 0)
		die("IORING_REGISTER_PROBE");
	for (int i = 0; i < DO_MOST; i++)
		has[i] = i <= probe.p.last_op && probe.op[i].flags & 1;
}

static bool there(void) { return __atomic_load_n(ring.cq_tail,
	__ATOMIC_ACQUIRE) != *ring.cq_head; }

static void push(struct io_uring_sqe sqe)
{
	sqe.user_data = (sqe.user_data & ~255ull) | sqe.opcode;
	uring_push(&ring, &sqe);
	tally[sqe.opcode].requests++;
}

static void enter(unsigned int n)
{
	unsigned int flags = uring_flags(&ring) & ~IORING_ENTER_GETEVENTS;

	if (syscall(SYS_io_uring_enter, ring.fd, n, 0, flags, NULL, 0) < 0)
		die("io_uring_enter");
}

/* Takes one completion, and counts it for its opcode, which is in user_data. */
static int pop(void)
{
	struct io_uring_cqe *cqe;
	struct tally *t;
	int res;

	while (!there())
		if (syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL,
			0) < 0 && errno != EINTR)
			die("io_uring_enter");
	cqe = &ring.cqes[*ring.cq_head & *ring.cq_mask];
	res = cqe->res;
	t = &tally[cqe->user_data & 255];
	if (!(cqe->flags & NOTIF)) {
		t->ends++;
		t->errors += res < 0;
		if (res > 0 && moves[cqe->user_data & 255])
			t->bytes += res;
	}
	__atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
	return res;
}

static int one(struct io_uring_sqe sqe)
{
	if (!has[sqe.opcode])
		return -ENOSYS;
	push(sqe);
	enter(1);
	return pop();
}
#define ONE(...) one((struct io_uring_sqe){ __VA_ARGS__ })

static void nops(void) { REPEAT(7) ONE(.opcode = DO_NOP); }

static void files(void)
{
	struct iovec v = { buf, 997 }, whole = { buf, 65536 }, w = { buf, 501 };

	REPEAT(11) ONE(.opcode = DO_READV, .fd = fd, .addr = ADDRESS(&v), .len = 1, .off = i * 4096);
	v.iov_len = 1009;
	REPEAT(13) ONE(.opcode = DO_WRITEV, .fd = fd, .addr = ADDRESS(&v), .len = 1, .off = i * 4096);
	REPEAT(23) ONE(.opcode = DO_READ, .fd = fd, .addr = ADDRESS(buf), .len = 1021,
		.off = i * 4096);
	REPEAT(29) ONE(.opcode = DO_WRITE, .fd = fd, .addr = ADDRESS(buf), .len = 1031,
		.off = i * 4096);
	REPEAT(2) ONE(.opcode = DO_READ, .fd = 999, .addr = ADDRESS(buf), .len = 100);
	REPEAT(3) ONE(.opcode = DO_FSYNC, .fd = fd, .fsync_flags = i ? 0 : IORING_FSYNC_DATASYNC);
	REPEAT(5) ONE(.opcode = DO_SYNC_FILE_RANGE, .fd = fd, .len = 4096);
	REPEAT(7) ONE(.opcode = DO_FALLOCATE, .fd = fd, .addr = 65536, .len = FALLOC_FL_KEEP_SIZE);
	REPEAT(3) ONE(.opcode = DO_FADVISE, .fd = fd, .len = 4096, .fadvise_advice = 1);
	REPEAT(5) ONE(.opcode = DO_MADVISE, .addr = ADDRESS(buf), .len = 4096, .fadvise_advice = 3);
	REPEAT(3) ONE(.opcode = DO_FTRUNCATE, .fd = fd, .off = 1 << 20);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1) < 0)
		die("IORING_REGISTER_BUFFERS");
	REPEAT(17) ONE(.opcode = DO_READ_FIXED, .fd = fd, .addr = ADDRESS(buf), .len = 1013,
		.off = i * 4096);
	REPEAT(19) ONE(.opcode = DO_WRITE_FIXED, .fd = fd, .addr = ADDRESS(buf), .len = 1019,
		.off = i * 4096);
	REPEAT(5) ONE(.opcode = DO_READV_FIXED, .fd = fd, .addr = ADDRESS(&w), .len = 1);
	REPEAT(3) ONE(.opcode = DO_WRITEV_FIXED, .fd = fd, .addr = ADDRESS(&w), .len = 1);
}

static void by_name(void)
{
	struct { unsigned long flags, mode, resolve; } how = {};
	struct statx sx;
	int x;

	REPEAT(11) {
		x = ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS("data"), .open_flags = O_RDONLY);
		ONE(.opcode = DO_CLOSE, .fd = x);
	}
	REPEAT(2) ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS("none"));
	REPEAT(5) close(ONE(.opcode = DO_OPENAT2, .fd = AT_FDCWD, .addr = ADDRESS("data"),
		.len = 24, .off = ADDRESS(&how)));
	REPEAT(13) ONE(.opcode = DO_STATX, .fd = AT_FDCWD, .addr = ADDRESS("data"),
		.off = ADDRESS(&sx), .len = STATX_ALL);
	REPEAT(5) ONE(.opcode = DO_MKDIRAT, .fd = AT_FDCWD, .addr = ADDRESS("ud"), .len = 0755),
		ONE(.opcode = DO_UNLINKAT, .fd = AT_FDCWD, .addr = ADDRESS("ud"),
			.unlink_flags = AT_REMOVEDIR);
	close(open("ua", O_CREAT | O_WRONLY, 0600));
	REPEAT(3) ONE(.opcode = DO_RENAMEAT, .fd = AT_FDCWD, .addr = ADDRESS(i % 2 ? "ub" : "ua"),
		.len = AT_FDCWD,
			.off = ADDRESS(i % 2 ? "ua" : "ub"));
	REPEAT(7) ONE(.opcode = DO_LINKAT, .fd = AT_FDCWD, .addr = ADDRESS("ub"), .len = AT_FDCWD,
		.off = ADDRESS("ul")),
		ONE(.opcode = DO_UNLINKAT, .fd = AT_FDCWD, .addr = ADDRESS("ul"));
	REPEAT(2) ONE(.opcode = DO_SYMLINKAT, .fd = AT_FDCWD, .addr = ADDRESS("ub"),
		.off = ADDRESS("us")), unlink("us");
	REPEAT(3) ONE(.opcode = DO_SETXATTR, .addr = ADDRESS("user.a"), .addr2 = ADDRESS("xyz"),
		.len = 3, .addr3 = ADDRESS("data"));
	REPEAT(5) ONE(.opcode = DO_FSETXATTR, .fd = fd, .addr = ADDRESS("user.a"),
		.addr2 = ADDRESS("xyz"), .len = 3);
	REPEAT(2) ONE(.opcode = DO_FGETXATTR, .fd = fd, .addr = ADDRESS("user.a"),
		.addr2 = ADDRESS(buf), .len = 50);
	REPEAT(7) ONE(.opcode = DO_GETXATTR, .addr = ADDRESS("user.a"), .addr2 = ADDRESS(buf),
		.len = 50, .addr3 = ADDRESS("data"));
}

/* Requests that fail: some when they run, others before, so that they are not submitted. */
static void refused(void)
{
	static char longer[4200], nearly[4096];
	int sub;

	mkdir("sub", 0755);
	sub = open("sub", O_RDONLY | O_DIRECTORY);
	memset(longer, 'q', sizeof(longer) - 1);
	memset(nearly, '/', sizeof(nearly) - 1);
	memcpy(nearly + sizeof(nearly) - 5, "none", 4);
	REPEAT(2) ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS(longer));
	REPEAT(3) ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = 8);
	REPEAT(2) ONE(.opcode = DO_RENAMEAT, .fd = sub, .addr = ADDRESS("none"), .len = AT_FDCWD,
		.off = ADDRESS("sub/../new"));
	REPEAT(3) ONE(.opcode = DO_RENAMEAT, .fd = AT_FDCWD, .addr = ADDRESS("data"), .len = sub,
		.off = 8);
	REPEAT(5) ONE(.opcode = DO_UNLINKAT, .fd = sub, .addr = ADDRESS("."),
		.unlink_flags = AT_REMOVEDIR);
	REPEAT(2) ONE(.opcode = DO_UNLINKAT, .fd = sub, .addr = ADDRESS("none"), .unlink_flags = 1);
	ONE(.opcode = DO_STATX, .fd = AT_FDCWD, .addr = ADDRESS(nearly), .off = ADDRESS(buf));
	ONE(.opcode = DO_GETXATTR, .addr = ADDRESS("user.none"), .addr2 = ADDRESS(buf), .len = 9,
		.addr3 = ADDRESS("sub"));
	REPEAT(3) ONE(.opcode = DO_READ, .fd = fd, .addr = ADDRESS(buf), .len = 10,
		.ioprio = 0xffff);
	close(sub);
}

static void pipes(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int p[2], q[2], e = epoll_create1(0);

	if (pipe(p) || pipe(q))
		die("pipe");
	REPEAT(7) {
		ONE(.opcode = DO_SPLICE, .fd = p[1], .splice_fd_in = fd, .len = 499, .splice_off_in = 0,
			.off = -1UL);
		if (read(p[0], buf, 499) != 499)
			die("read");
	}
	if (write(p[1], buf, 101) != 101)
		die("write");
	REPEAT(3) ONE(.opcode = DO_TEE, .fd = q[1], .splice_fd_in = p[0], .len = 101);
	REPEAT(5) ONE(.opcode = DO_POLL_ADD, .fd = p[0], .poll32_events = POLLIN);
	ONE(.opcode = DO_POLL_REMOVE, .addr = 99);
	REPEAT(3) {
		ONE(.opcode = DO_EPOLL_CTL, .fd = e, .off = p[0], .len = EPOLL_CTL_ADD, .addr = ADDRESS(&ev));
		ONE(.opcode = DO_EPOLL_CTL, .fd = e, .off = p[0], .len = EPOLL_CTL_DEL);
	}
	ONE(.opcode = DO_PIPE, .addr = ADDRESS(q));
}

static struct sockaddr_in local = { .sin_family = AF_INET };

static int listener(void)
{
	socklen_t len = sizeof(local);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	local.sin_port = 0;
	if (bind(l, (void *)&local, len) || listen(l, 99) || getsockname(l, (void *)&local, &len))
		die("listen");
	return l;
}

static void sockets(void)
{
	struct iovec v = { buf, 103 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int l = listener(), s[2];
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		die("socketpair");
	REPEAT(7) ONE(.opcode = DO_SENDMSG, .fd = s[0], .addr = ADDRESS(&m), .len = 1),
		ONE(.opcode = DO_RECVMSG, .fd = s[1], .addr = ADDRESS(&m), .len = 1);
	REPEAT(5) {
		int c = ONE(.opcode = DO_SOCKET, .fd = AF_INET, .off = SOCK_STREAM), d;

		if (c < 0) /* before 5.19 */
			c = socket(AF_INET, SOCK_STREAM, 0);
		ONE(.opcode = DO_CONNECT, .fd = c, .addr = ADDRESS(&local), .off = sizeof(local));
		d = ONE(.opcode = DO_ACCEPT, .fd = l);
		for (int k = 0; k < 3; k++) {
			ONE(.opcode = DO_SEND, .fd = c, .addr = ADDRESS(buf), .len = 109);
			ONE(.opcode = DO_RECV, .fd = d, .addr = ADDRESS(buf), .len = 109);
		}
		if (ONE(.opcode = DO_SEND_ZC, .fd = c, .addr = ADDRESS(buf), .len = 113) > 0) {
			if (recv(d, buf, 113, MSG_WAITALL) != 113)
				die("recv");
			pop(); /* the notification */
		}
		ONE(.opcode = DO_SHUTDOWN, .fd = c, .len = 2);
		ONE(.opcode = DO_CLOSE, .fd = c);
		close(d);
	}
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	ONE(.opcode = DO_BIND, .fd = s[0], .addr = ADDRESS(&any), .off = sizeof(any));
	ONE(.opcode = DO_LISTEN, .fd = s[0], .len = 5);
}

static void others(void)
{
	struct __kernel_timespec t = { 0, 1000 };
	unsigned int word = 1;
	int x[1] = { fd };

	REPEAT(3) ONE(.opcode = DO_TIMEOUT, .addr = ADDRESS(&t), .len = 1);
	ONE(.opcode = DO_TIMEOUT_REMOVE, .addr = 7);
	REPEAT(3) ONE(.opcode = DO_ASYNC_CANCEL, .addr = 12345);
	ONE(.opcode = DO_PROVIDE_BUFFERS, .fd = 4, .addr = ADDRESS(buf), .len = 4096, .buf_group = 1);
	ONE(.opcode = DO_REMOVE_BUFFERS, .fd = 4, .buf_group = 1);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, x, 1) < 0)
		die("IORING_REGISTER_FILES");
	ONE(.opcode = DO_FILES_UPDATE, .addr = ADDRESS(x), .len = 1);
	REPEAT(7) ONE(.opcode = DO_READ, .fd = 0, .flags = IOSQE_FIXED_FILE, .addr = ADDRESS(buf),
		.len = 1033);
	REPEAT(3) ONE(.opcode = DO_FIXED_FD_INSTALL, .fd = 0, .flags = IOSQE_FIXED_FILE);
	/* into the only place, which it empties again */
	REPEAT(2) ONE(.opcode = DO_CLOSE, .file_index = 1),
		ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS("data"), .file_index = 1);
	REPEAT(2) ONE(.opcode = DO_FUTEX_WAKE, .fd = 2, .addr = ADDRESS(&word), .off = 1,
		.addr3 = -1U);
}

/* Five connections by one accept, five times readable by one poll, seven messages by one receive
 * and by one read, which then have no more buffers. */
static void multishot(void)
{
	int l = listener(), c[5], s[2], p[2];

	push((struct io_uring_sqe){ .opcode = DO_ACCEPT, .fd = l, .ioprio = 1, .user_data = 1 << 8 });
	enter(1);
	REPEAT(5) {
		c[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(c[i], (void *)&local, sizeof(local)))
			die("connect");
		pop();
	}
	ONE(.opcode = DO_ASYNC_CANCEL, .addr = (1 << 8) + DO_ACCEPT), pop();
	if (pipe(p) || socketpair(AF_UNIX, SOCK_DGRAM, 0, s))
		die("pipe");
	push((struct io_uring_sqe){ .opcode = DO_POLL_ADD, .fd = p[0], .poll32_events = POLLIN,
		.len = 1, .user_data = 2 << 8 });
	enter(1);
	REPEAT(5) {
		if (write(p[1], buf, 3) != 3)
			die("write");
		pop();
	}
	ONE(.opcode = DO_ASYNC_CANCEL, .addr = (2 << 8) + DO_POLL_ADD), pop();
	if (read(p[0], buf, 15) != 15)
		die("read");
	/* ends because there are no more buffers */
	ONE(.opcode = DO_PROVIDE_BUFFERS, .fd = BUFFERS, .addr = ADDRESS(buf), .len = 64,
		.buf_group = 3);
	push((struct io_uring_sqe){ .opcode = DO_RECV, .fd = s[1], .flags = IOSQE_BUFFER_SELECT,
		.buf_group = 3, .ioprio = 2,
				    .user_data = 3 << 8 });
	enter(1);
	REPEAT(BUFFERS + 1) {
		if (send(s[0], buf, 53, 0) != 53)
			die("send");
		pop();
	}
	if (!has[DO_READ_MULTISHOT])
		return;
	ONE(.opcode = DO_PROVIDE_BUFFERS, .fd = BUFFERS, .addr = ADDRESS(buf), .len = 64,
		.buf_group = 4);
	push((struct io_uring_sqe){ .opcode = DO_READ_MULTISHOT, .fd = p[0],
		.flags = IOSQE_BUFFER_SELECT, .buf_group = 4,
				    .off = -1ull, .user_data = 4 << 8 });
	enter(1);
	REPEAT(BUFFERS + 1) {
		if (write(p[1], buf, 59) != 59)
			die("write");
		pop();
	}
}

/* Five by workers that were asked for, three that wait for a pipe, three chains of two, a chain of
 * three whose second fails, one that is cancelled, one that drains. */
static void ways(void)
{
	struct io_uring_sqe w = { .opcode = DO_WRITE, .fd = fd, .addr = ADDRESS(buf), .len = 401 },
		bad = w, read_pipe;
	int p[2];

	if (pipe(p))
		die("pipe");
	REPEAT(5) ONE(.opcode = DO_READ, .fd = fd, .flags = IOSQE_ASYNC, .addr = ADDRESS(buf),
		.len = 1039);
	read_pipe = (struct io_uring_sqe){ .opcode = DO_READ, .fd = p[0], .addr = ADDRESS(buf),
		.len = 61, .user_data = 9 << 8 };
	REPEAT(3) {
		push(read_pipe), enter(1);
		if (write(p[1], buf, 61) != 61)
			die("write");
		pop();
	}
	w.flags = IOSQE_IO_LINK;
	bad.fd = 999;
	bad.flags = IOSQE_IO_LINK;
	REPEAT(3) {
		push(w), push((struct io_uring_sqe){ .opcode = DO_FSYNC, .fd = fd });
		enter(2), pop(), pop();
	}
	push(w), push(bad), push((struct io_uring_sqe){ .opcode = DO_NOP });
	enter(3), pop(), pop(), pop();
	push(read_pipe), enter(1);
	ONE(.opcode = DO_ASYNC_CANCEL, .addr = (9 << 8) + DO_READ), pop();
	ONE(.opcode = DO_NOP, .flags = IOSQE_IO_DRAIN);
}

static void polled(void)
{
	close(ring.fd);
	open_ring(IORING_SETUP_SQPOLL);
	REPEAT(31) ONE(.opcode = DO_WRITE, .fd = fd, .addr = ADDRESS(buf), .len = 307, .off = i * 512);
	REPEAT(2) close(ONE(.opcode = DO_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS("data")));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "nops", nops }, { "files", files }, { "by_name", by_name }, { "pipes",
	pipes }, { "sockets", sockets },
	      { "refused", refused },
	      { "others", others }, { "multishot", multishot }, { "ways", ways }, { "polled",
		polled } };

static void print(const char *name)
{
	for (int i = 0; i < DO_MOST; i++)
		if (tally[i].requests)
			printf("%s %s %lu %lu %lu %lu\n", name, names[i], tally[i].requests, tally[i].ends,
				tally[i].bytes,
			       tally[i].errors);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool all = argc == 3 && !strcmp(argv[2], "all");
	int status = 0;

	if (argc != 3 || chdir(argv[1]))
		return 2;
	buf = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = open("data", O_RDWR | O_CREAT, 0644);
	if (buf == MAP_FAILED || fd < 0 || pwrite(fd, buf, 65536, 0) != 65536 || pwrite(fd, buf,
		65536, 65536) != 65536)
		die("data");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pid_t pid;
		int s;

		if (!all && strcmp(argv[2], cases[i].name))
			continue;
		pid = fork();
		if (!pid) {
			prctl(PR_SET_NAME, cases[i].name);
			open_ring(0);
			cases[i].run();
			print(cases[i].name);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &s, 0) != pid || s)
			status = 1;
	}
	return status;
}
