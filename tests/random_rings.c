/* SPDX-License-Identifier: GPL-3.0-only */
/* random_rings.c - what random-worker does with libaio and io_uring. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "random.h"

#define OP_WRITEV_FIXED 61     /* IORING_OP_WRITEV_FIXED, Linux 6.15 */

static aio_context_t aio;

ssize_t do_aio(const struct command *c, int fd)
{
	struct iovec v[IOVECS];
	struct iocb cb = { .aio_fildes = fd, .aio_offset = c->off, .aio_rw_flags = c->rwf < 0 ? 0 : c->rwf }, *list = &cb;
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

static struct ring {
	int fd;
	bool polled;           /* a kernel thread submits */
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} rings[2] = { { .fd = -1 }, { .fd = -1 } };

static void *ring_map(int fd, size_t len, off_t off)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);

	if (p == MAP_FAILED)
		die("cannot map the io_uring");
	return p;
}

static struct ring *ring_get(bool polled)
{
	struct io_uring_params p = { .flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 50 };
	struct iovec v = { buffer, BUFFER };
	struct ring *r = &rings[polled];
	char *sq, *cq;

	if (r->fd >= 0)
		return r;
	r->polled = polled;
	r->fd = syscall(SYS_io_uring_setup, 8, &p);
	if (r->fd < 0)
		die("io_uring_setup");
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int), IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p.sq_off.array);
	r->sq_flags = (unsigned int *)(sq + p.sq_off.flags);
	r->cq_head = (unsigned int *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_BUFFERS, &v, 1))
		die("io_uring buffers");
	return r;
}

static ssize_t ring_run(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, at = tail & *r->sq_mask, head, flags = IORING_ENTER_GETEVENTS;
	int res;

	r->sqes[at] = *sqe;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (r->polled && __atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, flags, NULL, 0) != 1)
		die("io_uring_enter");
	head = *r->cq_head;
	res = r->cqes[head & *r->cq_mask].res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	if (res >= 0)
		return res;
	errno = -res;
	return -1;
}

/* kind: 0 WRITE, 1 WRITEV, 2 WRITE_FIXED, 3 WRITEV_FIXED; fixed: by a registered file */
ssize_t do_uring(const struct command *c, int fd)
{
	static const uint8_t opcode[] = { IORING_OP_WRITE, IORING_OP_WRITEV, IORING_OP_WRITE_FIXED, OP_WRITEV_FIXED };
	struct iovec v[IOVECS];
	struct io_uring_sqe sqe = { .fd = fd, .off = c->off, .rw_flags = c->rwf < 0 ? 0 : c->rwf };
	struct ring *r = ring_get(c->poll > 0);
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
