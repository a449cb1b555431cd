/* SPDX-License-Identifier: GPL-3.0-only */
/* random_rings.c - what random-worker does with libaio and io_uring. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "random.h"
#include "uring.h"

static aio_context_t aio;

ssize_t do_aio(const struct command *c, int fd)
{
	struct iovec v[IOVECS];
	struct iocb cb = { .aio_fildes = fd,
			   .aio_offset = c->off,
			   .aio_rw_flags = c->rwf < 0 ? 0 : c->rwf },
		    *list = &cb;
	struct io_event ev;

	if (!aio && syscall(SYS_io_setup, 8, &aio))
		die("io_setup");
	cb.aio_lio_opcode = c->kind == 1 ? IOCB_CMD_PWRITEV : IOCB_CMD_PWRITE;
	cb.aio_buf = c->kind == 1 ? (uintptr_t)v : (uintptr_t)bytes(c);
	cb.aio_nbytes = c->kind == 1 ? (uint64_t)segments(c, v) : (uint64_t)c->len;
	if (syscall(SYS_io_submit, aio, 1, &list) != 1)
		return -1;
	if (syscall(SYS_io_getevents, aio, 1, 1, &ev, NULL) != 1)
		die("io_getevents");
	if ((int64_t)ev.res >= 0)
		return ev.res;
	errno = -(int64_t)ev.res;
	return -1;
}

static struct uring rings[2] = { { .fd = -1 }, { .fd = -1 } };

static struct uring *ring_get(bool polled)
{
	struct io_uring_params p = { .flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 50 };
	struct iovec v = { buffer, BUFFER };
	struct uring *r = &rings[polled];

	if (r->fd >= 0)
		return r;
	if (uring_open(r, 8, &p))
		die("io_uring_setup");
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_BUFFERS, &v, 1))
		die("io_uring buffers");
	return r;
}

static ssize_t ring_run(struct uring *r, const struct io_uring_sqe *sqe)
{
	uint64_t which;
	int res;

	uring_push(r, sqe);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, uring_flags(r), NULL, 0) != 1)
		die("io_uring_enter");
	res = uring_pop(r, &which);
	if (res >= 0)
		return res;
	errno = -res;
	return -1;
}

/* kind: 0 WRITE, 1 WRITEV, 2 WRITE_FIXED, 3 WRITEV_FIXED; fixed: by a registered file */
ssize_t do_uring(const struct command *c, int fd)
{
	static const uint8_t opcode[] = { IORING_OP_WRITE, IORING_OP_WRITEV, IORING_OP_WRITE_FIXED,
					  OP_WRITEV_FIXED };
	struct iovec v[IOVECS];
	struct io_uring_sqe sqe = { .fd = fd, .off = c->off, .rw_flags = c->rwf < 0 ? 0 : c->rwf };
	struct uring *r = ring_get(c->poll > 0);
	bool vector = c->kind & 1;
	ssize_t ret;

	sqe.opcode = opcode[c->kind < 0 ? 0 : c->kind & 3];
	sqe.flags = c->async > 0 ? IOSQE_ASYNC : 0;
	sqe.len = vector ? segments(c, v) : c->len;
	sqe.addr = vector ? (uintptr_t)v : (uintptr_t)bytes(c);
	if (c->fixed <= 0)
		return ring_run(r, &sqe);
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, &fd, 1))
		die("io_uring files");
	sqe.fd = 0;
	sqe.flags |= IOSQE_FIXED_FILE;
	ret = ring_run(r, &sqe);
	if (syscall(SYS_io_uring_register, r->fd, IORING_UNREGISTER_FILES, NULL, 0))
		die("io_uring files");
	return ret;
}

ssize_t do_uring_fsync(const struct command *c, int fd)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_FSYNC, .fd = fd };

	return ring_run(ring_get(c->poll > 0), &sqe);
}

/* ---- several requests: c->n of c->len bytes, c->step apart; number c->fail has no memory ---- */

static int requests(const struct command *c)
{
	return c->n < 1 ? 1 : c->n > REQUESTS ? REQUESTS : c->n;
}

static char *request_bytes(const struct command *c, int i)
{
	return i == c->fail ? (char *)PAGE : buffer;
}

/* The results, in the order of the requests: those that failed as negative errno. */
static ssize_t results(const long long *res, int n)
{
	ssize_t sum = 0;
	bool any = false;

	for (int i = 0; i < n; i++) {
		snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%lld", i ? ":" : "", res[i]);
		any |= res[i] >= 0;
		sum += res[i] > 0 ? res[i] : 0;
		if (res[i] < 0)
			errno = -res[i];
	}
	return any ? sum : -1;
}

ssize_t do_aios(const struct command *c, int fd)
{
	struct iocb cb[REQUESTS], *list[REQUESTS];
	struct io_event ev[REQUESTS];
	long long res[REQUESTS] = { 0 };
	int n = requests(c), done = 0;

	if (!aio && syscall(SYS_io_setup, REQUESTS, &aio))
		die("io_setup");
	for (int i = 0; i < n; i++) {
		cb[i] = (struct iocb){ .aio_data = i,
				       .aio_fildes = fd,
				       .aio_lio_opcode = IOCB_CMD_PWRITE,
				       .aio_offset = c->off + i * c->step,
				       .aio_buf = (uintptr_t)request_bytes(c, i),
				       .aio_nbytes = c->len };
		list[i] = &cb[i];
	}
	while (done < n) {
		long got = syscall(SYS_io_submit, aio, n - done, list + done);

		if (got < 1)
			die("io_submit");
		done += got;
	}
	if (syscall(SYS_io_getevents, aio, n, n, ev, NULL) != n)
		die("io_getevents");
	for (int i = 0; i < n; i++)
		res[ev[i].data] = ev[i].res;
	return results(res, n);
}

/* kind: 0 alone, 1 linked, 2 linked hard, 3 each waits for those before */
ssize_t do_urings(const struct command *c, int fd)
{
	static const uint8_t flags[] = { 0, IOSQE_IO_LINK, IOSQE_IO_HARDLINK, IOSQE_IO_DRAIN };
	struct uring *r = ring_get(c->poll > 0);
	long long res[REQUESTS] = { 0 };
	int n = requests(c), got = 0, one;
	uint64_t which;

	for (int i = 0; i < n; i++) {
		struct io_uring_sqe sqe = {
			.opcode = IORING_OP_WRITE,
			.fd = fd,
			.off = c->off + i * c->step,
			.addr = (uintptr_t)request_bytes(c, i),
			.len = c->len,
			.flags = flags[c->kind & 3] | (c->async > 0 ? IOSQE_ASYNC : 0),
			.user_data = i,
		};

		if (i == n - 1)
			sqe.flags &= ~(IOSQE_IO_LINK | IOSQE_IO_HARDLINK);
		uring_push(r, &sqe);
	}
	if (syscall(SYS_io_uring_enter, r->fd, n, n, uring_flags(r), NULL, 0) < 0)
		die("io_uring_enter");
	while (got < n) {
		if (*r->cq_head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) {
			if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
				die("io_uring_enter");
			continue;
		}
		one = uring_pop(r, &which);
		res[which] = one;
		got++;
	}
	return results(res, n);
}
