/* SPDX-License-Identifier: GPL-3.0-only */
/* io_rings.c - libaio and io_uring, without their libraries: many requests at once. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "io.h"

#define SMALL_RING 8u        /* of the ring that overflows */
#define BAD_FD 1000000       /* above any limit: EBADF */

/* --- libaio, without its library
 * ------------------------------------------------------------------ */

static void aio_wait(struct worker *w, unsigned int n, struct io_event *ev)
{
	unsigned int got = 0;

	while (got < n) {
		long ret = syscall(SYS_io_getevents, w->aio, n - got, n - got, ev + got, NULL);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			die_errno("io_getevents", opt.file);
		got += ret;
	}
}

/* The completion ring at the address that io_setup() returns: libaio and fio take events from it
 * without a call. */
struct aio_ring {
	unsigned int id, nr, head, tail, magic, compat, incompat, header_bytes;
	struct io_event event[];
};

static void aio_take(struct worker *w, unsigned int n, struct io_event *ev)
{
	struct aio_ring *r = (struct aio_ring *)w->aio;
	unsigned int got = 0, head = r->head;

	while (got < n) {
		if (head == __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE)) {
			sched_yield();
			continue;
		}
		ev[got++] = r->event[head];
		head = (head + 1) % r->nr;
		__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
	}
}

void do_aio(struct worker *w, const uint64_t *off, unsigned int n)
{
	static __thread struct iocb cb[DEPTH_MAX];
	static __thread struct io_event ev[DEPTH_MAX];
	static __thread struct iovec v[DEPTH_MAX][2];
	struct iocb *list[DEPTH_MAX];
	bool reading = api->dir == 'r', vector = api->wants & WANTS_VECTOR;
	unsigned int i, done = 0;

	for (i = 0; i < n; i++) {
		char *buf = w->buf + i * opt.size;

		cb[i] = (struct iocb){
			.aio_data = i,
			.aio_fildes = w->fd,
			.aio_buf = (uintptr_t)buf,
			.aio_nbytes = opt.size,
			.aio_offset = off[i],
			.aio_lio_opcode = reading ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE,
		};
		if (vector) {
			cb[i].aio_lio_opcode = reading ? IOCB_CMD_PREADV : IOCB_CMD_PWRITEV;
			cb[i].aio_nbytes = segments(buf, v[i]);
			cb[i].aio_buf = (uintptr_t)v[i];
		}
		list[i] = &cb[i];
	}
	while (done < n) {
		long ret = syscall(SYS_io_submit, w->aio, n - done, list + done);

		if (ret < 0)
			die_errno("io_submit", opt.file);
		done += ret;
	}
	if (api->wants & WANTS_LATER)
		aio_take(w, n, ev);
	else
		aio_wait(w, n, ev);
	for (i = 0; i < n; i++)
		note_result(w, reading ? ROW_AIO_READ : ROW_AIO_WRITE, off[ev[i].data], opt.size, ev[i].res);
}

/* Calls that take nothing: no such descriptor, no such memory, a length that is none. Their
 * failures are no operations. */
void do_aio_bad(struct worker *w, uint64_t off)
{
	struct iocb cb = { .aio_fildes = BAD_FD,
			   .aio_lio_opcode = IOCB_CMD_PWRITE,
			   .aio_buf = (uintptr_t)w->buf,
			   .aio_nbytes = opt.size },
		    *list = &cb;

	if (syscall(SYS_io_submit, w->aio, 1L, &list) >= 0 ||
	    syscall(SYS_io_submit, w->aio, 1L, 8L) >= 0 ||
	    syscall(SYS_io_submit, 0L, 1L, 8L) >= 0 ||
	    syscall(SYS_io_getevents, 0L, 1L, 1L, 8L, NULL) >= 0)
		die("a call that must fail did not");
}

void aio_sync(struct worker *w)
{
	struct iocb cb = { .aio_fildes = w->fd, .aio_lio_opcode = IOCB_CMD_FSYNC }, *list = &cb;
	struct io_event ev;

	if (syscall(SYS_io_submit, w->aio, 1, &list) != 1)
		die_errno("io_submit of an fsync", opt.file);
	aio_wait(w, 1, &ev);
	note_result(w, ROW_AIO_FSYNC, 0, 0, ev.res);
}

/* --- io_uring, without its library
 * ---------------------------------------------------------------- */

void ring_open(struct uring *r, unsigned int wants)
{
	struct io_uring_params p = { .flags = wants & WANTS_SQPOLL ? IORING_SETUP_SQPOLL : 0,
				     .sq_thread_idle = 100 };

	if (wants & WANTS_OVERFLOW) {
		p.flags |= IORING_SETUP_CQSIZE;
		p.cq_entries = SMALL_RING;
	}
	if (uring_open(r, wants & WANTS_OVERFLOW ? SMALL_RING : opt.depth, &p))
		die_errno("cannot set up", "an io_uring");
}

/* Submits pushed requests and waits for n completions. */
static void ring_run(struct uring *r, unsigned int submit, unsigned int n)
{
	unsigned int flags = uring_flags(r);

	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) - *r->cq_head < n) {
		long ret = syscall(SYS_io_uring_enter, r->fd, submit, n, flags, NULL, 0);

		if (ret < 0 && errno != EINTR)
			die_errno("io_uring_enter", opt.file);
		if (ret > 0 && !r->sqpoll)
			submit -= ret < (long)submit ? ret : (long)submit;
	}
}

static int uring_opcode(bool reading)
{
	switch (api->wants & (WANTS_VECTOR | WANTS_FIXED)) {
	case WANTS_VECTOR | WANTS_FIXED:
		return reading ? OP_READV_FIXED : OP_WRITEV_FIXED;
	case WANTS_VECTOR:
		return reading ? IORING_OP_READV : IORING_OP_WRITEV;
	case WANTS_FIXED:
		return reading ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
	}
	return reading ? IORING_OP_READ : IORING_OP_WRITE;
}

static void uring_push_one(struct worker *w, const uint64_t *off, unsigned int i, bool last)
{
	static __thread struct iovec v[DEPTH_MAX][2];
	char *buf = w->buf + i * opt.size;
	struct io_uring_sqe sqe = {
		.opcode = uring_opcode(api->dir == 'r'),
		.flags = api->wants & WANTS_ASYNC ? IOSQE_ASYNC : 0,
		.fd = w->fd,
		.off = api->wants & WANTS_POSITION ? UINT64_MAX : off[i],
		.addr = (uintptr_t)buf,
		.len = opt.size,
		.user_data = i,
	};

	if (api->wants & WANTS_VECTOR) {
		sqe.len = segments(buf, v[i]);
		sqe.addr = (uintptr_t)v[i];
	}
	if (api->wants & WANTS_FIXED) {
		sqe.fd = 0;
		sqe.flags |= IOSQE_FIXED_FILE;
	}
	if (api->wants & (WANTS_SKIP | WANTS_POSITION) && !last)
		sqe.flags |= IOSQE_IO_LINK; /* one after the other */
	if (api->wants & WANTS_SKIP && !last)
		sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
	uring_push(&w->ring, &sqe);
}

/* A chain whose last request succeeded: those before it, which post no completion, did what they
 * were asked for. */
static void uring_chain(struct worker *w, const uint64_t *off, unsigned int n, enum row row)
{
	uint64_t which;
	int res;

	ring_run(&w->ring, n, 1);
	res = uring_pop(&w->ring, &which);
	if (which != n - 1 || res < 0)
		die("request %llu of a chain ended with %d", (unsigned long long)which, res);
	for (unsigned int i = 0; i + 1 < n; i++)
		note_result(w, row, off[i], opt.size, opt.size);
	note_result(w, row, off[n - 1], opt.size, res);
}

static bool ring_empty(const struct uring *r)
{
	return __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == *r->cq_head;
}

/* Everything is submitted before the first completion is taken: more than the ring of completions
 * holds. */
static void uring_overflow(struct worker *w, const uint64_t *off, unsigned int n, enum row row)
{
	for (unsigned int i = 0; i < n; i++) {
		uring_push_one(w, off, i, true);
		if (syscall(SYS_io_uring_enter, w->ring.fd, 1, 0, 0, NULL, 0) != 1)
			die_errno("io_uring_enter", opt.file);
	}
	for (unsigned int i = 0; i < n; i++) {
		uint64_t which;
		int res;

		while (ring_empty(&w->ring))
			if (syscall(SYS_io_uring_enter, w->ring.fd, 0, 1, IORING_ENTER_GETEVENTS,
				    NULL, 0) < 0 &&
			    errno != EINTR)
				die_errno("io_uring_enter", opt.file);
		res = uring_pop(&w->ring, &which);
		note_result(w, row, off[which], opt.size, res);
	}
}

void do_uring(struct worker *w, const uint64_t *off, unsigned int n)
{
	enum row row = api->dir == 'r' ? ROW_URING_READ : ROW_URING_WRITE;

	if (api->wants & WANTS_OVERFLOW) {
		uring_overflow(w, off, n, row);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		uring_push_one(w, off, i, i + 1 == n);
	if (api->wants & WANTS_SKIP) {
		uring_chain(w, off, n, row);
		return;
	}
	ring_run(&w->ring, n, n);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t which;
		int res = uring_pop(&w->ring, &which);

		if (res == -EINVAL && api->wants & WANTS_VECTOR && api->wants & WANTS_FIXED) {
			fprintf(stderr, "iot-io: this kernel has no vectors of registered buffers (6.15)\n");
			exit(69);
		}
		note_result(w, row, off[which], opt.size, res);
	}
}

static int uring_one(struct worker *w, const struct io_uring_sqe *sqe)
{
	uint64_t which;

	uring_push(&w->ring, sqe);
	ring_run(&w->ring, 1, 1);
	return uring_pop(&w->ring, &which);
}

void do_uring_splice_out(struct worker *w, uint64_t off)
{
	ssize_t ret = write(w->pair[1], w->buf, opt.size);
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SPLICE,
				    .fd = w->fd,
				    .off = off,
				    .splice_fd_in = w->pair[0],
				    .splice_off_in = -1,
				    .len = opt.size };

	note(w, ROW_WRITE, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = uring_one(w, &sqe);
	note_result(w, ROW_URING_WRITE, off, opt.size, ret);
	note(w, ROW_URING_READ, TYPE_PIPE, 0, opt.size, ret < 0 ? -1 : ret);
}

void do_uring_splice_in(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SPLICE,
				    .fd = w->pair[1],
				    .off = -1,
				    .splice_fd_in = w->fd,
				    .splice_off_in = off,
				    .len = opt.size };
	ssize_t ret = uring_one(w, &sqe);

	note_result(w, ROW_URING_READ, off, opt.size, ret);
	note(w, ROW_URING_WRITE, TYPE_PIPE, 0, opt.size, ret < 0 ? -1 : ret);
	if (ret > 0)
		note(w, ROW_READ, TYPE_PIPE, 0, ret, read(w->pair[0], w->buf, ret));
}

/* The kernel chooses the offset. */
void do_uring_append(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_WRITE, .fd = w->fd, .addr = (uintptr_t)w->buf, .len = opt.size
	};
	int ret = uring_one(w, &sqe);

	note_result(w, ROW_URING_WRITE, w->file_size, opt.size, ret);
	if (ret > 0)
		w->file_size += ret;
}

void do_uring_proc(struct worker *w, uint64_t off)
{
	int fd = open_noted(w, "/proc/self/stat", O_RDONLY, TYPE_PSEUDO), ret;
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)w->buf, .len = opt.size
	};

	if (fd < 0)
		return;
	ret = uring_one(w, &sqe);
	note(w, ROW_URING_READ, TYPE_PSEUDO, 0, opt.size, ret < 0 ? -1 : ret);
	note_call(w, ROW_CLOSE, TYPE_PSEUDO, close(fd));
}

/* A file that is open for reading only, and memory that is none: both fail, and move nothing. */
void do_uring_bad(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_WRITE,
				    .fd = w->from_fd,
				    .addr = (uintptr_t)w->buf,
				    .len = opt.size,
				    .off = off };

	note_result(w, ROW_URING_WRITE, off, opt.size, uring_one(w, &sqe));
	sqe.fd = w->fd;
	sqe.addr = 1;
	note_result(w, ROW_URING_WRITE, off, opt.size, uring_one(w, &sqe));
}

void uring_register(struct worker *w, size_t len)
{
	struct iovec v = { w->buf, len };

	if (syscall(SYS_io_uring_register, w->ring.fd, IORING_REGISTER_FILES, &w->fd, 1) < 0 ||
	    syscall(SYS_io_uring_register, w->ring.fd, IORING_REGISTER_BUFFERS, &v, 1) < 0)
		die_errno("cannot register", opt.file);
}

void uring_sync(struct worker *w)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_FSYNC, .fd = w->fd };
	uint64_t which;

	uring_push(&w->ring, &sqe);
	ring_run(&w->ring, 1, 1);
	note_result(w, ROW_URING_FSYNC, 0, 0, uring_pop(&w->ring, &which));
}
