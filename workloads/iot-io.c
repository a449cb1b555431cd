/* SPDX-License-Identifier: GPL-3.0-only */
/* iot-io - known work: exactly N operations of B bytes by a chosen call, and a ledger of what was done.
 *
 * The ledger (JSON on standard output) counts what the kernel returned, call by call, under the names of
 * bpf/kinds.def, so that a tracer can be compared with it row by row. It does not count its own printing: give
 * it a pipe, not a file, where that matters. Linked statically, so that no library is read on the way.
 *
 * To add a call: a row in apis[], and one function of a few lines that makes the call and notes its result.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096u          /* unit of `touched`, and alignment of the buffer */
#define DEPTH_MAX 4096u
#define SMALL_RING 8u        /* of the ring that overflows */
#define BAD_FD 1000000       /* above any limit: EBADF */

/* Rows of the ledger: names of bpf/kinds.def, then memory accesses, which no call returns. */
#define ROWS(R) \
	R(READ, "read") R(PREAD, "pread64") R(READV, "readv") R(PREADV, "preadv") \
	R(WRITE, "write") R(PWRITE, "pwrite64") R(WRITEV, "writev") R(PWRITEV, "pwritev") \
	R(SENDFILE_IN, "sendfile_in") R(SENDFILE_OUT, "sendfile_out") R(SPLICE_IN, "splice_in") \
	R(SPLICE_OUT, "splice_out") R(COPY_IN, "copy_in") R(COPY_OUT, "copy_out") \
	R(AIO_READ, "aio_read") R(AIO_WRITE, "aio_write") R(AIO_FSYNC, "aio_fsync") \
	R(URING_READ, "uring_read") R(URING_WRITE, "uring_write") R(URING_FSYNC, "uring_fsync") \
	R(FSYNC, "fsync") R(FDATASYNC, "fdatasync") R(MSYNC, "msync") R(OPEN, "open") R(CLOSE, "close") \
	R(TRUNCATE, "truncate") R(RENAME, "rename") R(UNLINK, "unlink") R(MMAP, "mmap") \
	R(LOAD, "load") R(STORE, "store")
#define TYPES(T) T(REG, "regular") T(BLK, "blockdev") T(SOCK, "socket") T(PIPE, "pipe") T(CHR, "chardev") \
	T(PSEUDO, "pseudo") T(OTHER, "other")

enum row {
#define R(sym, name) ROW_##sym,
	ROWS(R) ROW_MAX
#undef R
};
static const char *const row_name[] = {
#define R(sym, name) name,
	ROWS(R)
#undef R
};
enum type {
#define T(sym, name) TYPE_##sym,
	TYPES(T) TYPE_MAX
#undef T
};
static const char *const type_name[] = {
#define T(sym, name) name,
	TYPES(T)
#undef T
};

struct tally {
	uint64_t ops, bytes, errors, shorts, touched;
};

struct ledger {
	struct tally at[ROW_MAX][TYPE_MAX];
	int last_errno;
};

struct uring {
	int fd;
	bool sqpoll;
	unsigned int entries;
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

struct worker;

struct api {
	const char *name;
	char dir;                /* what happens to FILE: r, w, or o when it is not used for data */
	unsigned int wants;
	int open_flags, rwf;
	void (*one)(struct worker *, uint64_t off);
	void (*many)(struct worker *, const uint64_t *off, unsigned int n); /* instead of one: n calls in flight */
	const char *doc;
};

enum {
	WANTS_FILE = 1 << 0,     /* opens FILE */
	WANTS_FROM = 1 << 1,     /* opens the file of --from */
	WANTS_MAP = 1 << 2,      /* maps FILE */
	WANTS_PIPE = 1 << 3,
	WANTS_SOCKETS = 1 << 4,
	WANTS_NULL = 1 << 5,     /* opens /dev/null */
	WANTS_AIO = 1 << 6,
	WANTS_URING = 1 << 7,
	WANTS_SQPOLL = 1 << 8,
	WANTS_ASYNC = 1 << 9,    /* IOSQE_ASYNC: a worker executes it */
	EXPECTS_ERRORS = 1 << 10,
	WANTS_NAME = 1 << 11,    /* needs FILE as a name only */
	WANTS_SKIP = 1 << 12,    /* IOSQE_CQE_SKIP_SUCCESS: only the last of a chain is told of */
	WANTS_OVERFLOW = 1 << 13, /* a ring of completions that is too small */
	WANTS_VECTOR = 1 << 14,  /* two segments */
	WANTS_FIXED = 1 << 15,   /* registered file and buffer */
	WANTS_POSITION = 1 << 16, /* at the file position */
	WANTS_LATER = 1 << 17,   /* events are taken in user space, from the ring */
};

static struct options {
	uint64_t count, size, at, span, every, seed, threads, depth, pause;
	const char *file, *from, *api, *pattern, *sync, *end;
	bool direct, cold, list;
} opt = { .count = 1, .size = BLOCK, .threads = 1, .depth = 1, .pattern = "seq", .sync = "none", .end = "close" };

static const struct api *api;
static uint32_t *slots;          /* order in which the slots of the file are visited */

struct worker {
	struct ledger led;
	unsigned int no;
	uint64_t index;          /* number of the current operation, over all threads */
	uint64_t pos;            /* file position, for the calls that use it */
	uint64_t file_size;
	int fd, from_fd, null_fd, pair[2];
	enum type type;
	char *buf, *map;
	size_t map_len;
	aio_context_t aio;
	struct uring ring;
};

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("iot-io: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void die_errno(const char *what, const char *on)
{
	die("%s %s: %s", what, on, strerror(errno));
}

/* Counts one call: `ret` is what it returned, a negative value is an error with errno set. */
static void note(struct worker *w, enum row row, enum type type, uint64_t off, uint64_t asked, ssize_t ret)
{
	struct tally *t = &w->led.at[row][type];

	t->ops++;
	if (ret < 0) {
		t->errors++;
		w->led.last_errno = errno;
		return;
	}
	t->bytes += ret;
	if ((uint64_t)ret < asked)
		t->shorts++;
	if (ret)
		t->touched += (off + ret + BLOCK - 1) / BLOCK * BLOCK - off / BLOCK * BLOCK;
}

/* The same for calls without bytes. */
static int note_call(struct worker *w, enum row row, enum type type, int ret)
{
	note(w, row, type, 0, 0, ret < 0 ? -1 : 0);
	return ret;
}

static enum type type_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return TYPE_OTHER;
	if (S_ISREG(st.st_mode))
		return TYPE_REG;
	if (S_ISBLK(st.st_mode))
		return TYPE_BLK;
	if (S_ISCHR(st.st_mode))
		return TYPE_CHR;
	return S_ISFIFO(st.st_mode) ? TYPE_PIPE : S_ISSOCK(st.st_mode) ? TYPE_SOCK : TYPE_OTHER;
}

static int open_noted(struct worker *w, const char *path, int flags, enum type type)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	note_call(w, ROW_OPEN, fd < 0 ? TYPE_OTHER : type, fd);
	return fd;
}

/* --- one function a call ------------------------------------------------------------------------- */

/* read and write use the file position: move it only where the next operation is not the next in the file. */
static void seek_to(struct worker *w, uint64_t off)
{
	if (w->pos != off && lseek(w->fd, off, SEEK_SET) < 0)
		die_errno("lseek", opt.file);
	w->pos = off;
}

static void moved(struct worker *w, ssize_t ret)
{
	if (ret > 0)
		w->pos += ret;
}

static void do_write(struct worker *w, uint64_t off)
{
	ssize_t ret;

	seek_to(w, off);
	ret = write(w->fd, w->buf, opt.size);
	note(w, ROW_WRITE, w->type, off, opt.size, ret);
	moved(w, ret);
}

/* The kernel chooses the offset: the end of the file, which is known when one thread appends. */
static void do_append(struct worker *w, uint64_t off)
{
	ssize_t ret = write(w->fd, w->buf, opt.size);

	note(w, ROW_WRITE, w->type, w->file_size, opt.size, ret);
	if (ret > 0)
		w->file_size += ret;
}

static void do_read(struct worker *w, uint64_t off)
{
	ssize_t ret;

	seek_to(w, off);
	ret = read(w->fd, w->buf, opt.size);
	note(w, ROW_READ, w->type, off, opt.size, ret);
	moved(w, ret);
}

static void do_pwrite(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, w->type, off, opt.size, pwrite(w->fd, w->buf, opt.size, off));
}

static void do_pread(struct worker *w, uint64_t off)
{
	note(w, ROW_PREAD, w->type, off, opt.size, pread(w->fd, w->buf, opt.size, off));
}

/* Two segments of unequal length, in units of the block where the size allows it; one where that leaves nothing for the first. */
static int segments(char *buf, struct iovec v[2])
{
	size_t first = opt.size / 3;

	if (opt.size % BLOCK == 0)
		first -= first % BLOCK;
	if (!first) {
		v[0] = (struct iovec){ buf, opt.size };
		return 1;
	}
	v[0] = (struct iovec){ buf, first };
	v[1] = (struct iovec){ buf + first, opt.size - first };
	return 2;
}

static void do_writev(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	ssize_t ret;

	seek_to(w, off);
	ret = writev(w->fd, v, segments(w->buf, v));
	note(w, ROW_WRITEV, w->type, off, opt.size, ret);
	moved(w, ret);
}

static void do_readv(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	ssize_t ret;

	seek_to(w, off);
	ret = readv(w->fd, v, segments(w->buf, v));
	note(w, ROW_READV, w->type, off, opt.size, ret);
	moved(w, ret);
}

static void do_pwritev(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PWRITEV, w->type, off, opt.size, pwritev(w->fd, v, n, off));
}

static void do_preadv(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PREADV, w->type, off, opt.size, preadv(w->fd, v, n, off));
}

static void do_pwritev2(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PWRITEV, w->type, off, opt.size, pwritev2(w->fd, v, n, off, api->rwf));
}

static void do_preadv2(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PREADV, w->type, off, opt.size, preadv2(w->fd, v, n, off, api->rwf));
}

static void do_store(struct worker *w, uint64_t off)
{
	memcpy(w->map + off, w->buf, opt.size);
	note(w, ROW_STORE, w->type, off, opt.size, opt.size);
}

static void do_load(struct worker *w, uint64_t off)
{
	memcpy(w->buf, w->map + off, opt.size);
	note(w, ROW_LOAD, w->type, off, opt.size, opt.size);
}

static void do_sendfile_in(struct worker *w, uint64_t off)
{
	off_t at = off;
	ssize_t ret = sendfile(w->null_fd, w->fd, &at, opt.size);

	note(w, ROW_SENDFILE_IN, w->type, off, opt.size, ret);
	note(w, ROW_SENDFILE_OUT, TYPE_CHR, 0, opt.size, ret);
}

static void do_sendfile_out(struct worker *w, uint64_t off)
{
	off_t at = off;
	ssize_t ret;

	seek_to(w, off);
	ret = sendfile(w->fd, w->from_fd, &at, opt.size);
	note(w, ROW_SENDFILE_IN, TYPE_REG, off, opt.size, ret);
	note(w, ROW_SENDFILE_OUT, w->type, off, opt.size, ret);
	moved(w, ret);
}

static void do_splice_in(struct worker *w, uint64_t off)
{
	loff_t at = off;
	ssize_t ret = splice(w->fd, &at, w->pair[1], NULL, opt.size, 0);

	note(w, ROW_SPLICE_IN, w->type, off, opt.size, ret);
	note(w, ROW_SPLICE_OUT, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = splice(w->pair[0], NULL, w->null_fd, NULL, ret, 0);
	note(w, ROW_SPLICE_IN, TYPE_PIPE, 0, 0, ret);
	note(w, ROW_SPLICE_OUT, TYPE_CHR, 0, 0, ret);
}

static void do_splice_out(struct worker *w, uint64_t off)
{
	loff_t at = off;
	ssize_t ret = write(w->pair[1], w->buf, opt.size);

	note(w, ROW_WRITE, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = splice(w->pair[0], NULL, w->fd, &at, ret, 0);
	note(w, ROW_SPLICE_IN, TYPE_PIPE, 0, opt.size, ret);
	note(w, ROW_SPLICE_OUT, w->type, off, opt.size, ret);
}

static void do_copy(struct worker *w, uint64_t off)
{
	loff_t in = off, out = off;
	ssize_t ret = copy_file_range(w->from_fd, &in, w->fd, &out, opt.size, 0);

	note(w, ROW_COPY_IN, TYPE_REG, off, opt.size, ret);
	note(w, ROW_COPY_OUT, w->type, off, opt.size, ret);
}

static void do_pair(struct worker *w, uint64_t off)
{
	enum type type = api->wants & WANTS_PIPE ? TYPE_PIPE : TYPE_SOCK;
	ssize_t ret = write(w->pair[1], w->buf, opt.size);

	note(w, ROW_WRITE, type, 0, opt.size, ret);
	if (ret > 0)
		note(w, ROW_READ, type, 0, opt.size, read(w->pair[0], w->buf, opt.size));
}

static void do_proc(struct worker *w, uint64_t off)
{
	int fd = open_noted(w, "/proc/self/stat", O_RDONLY, TYPE_PSEUDO);

	if (fd < 0)
		return;
	note(w, ROW_READ, TYPE_PSEUDO, 0, opt.size, read(fd, w->buf, opt.size));
	note_call(w, ROW_CLOSE, TYPE_PSEUDO, close(fd));
}

static void do_bad_fd(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, TYPE_OTHER, off, opt.size, pwrite(BAD_FD, w->buf, opt.size, off));
	note(w, ROW_PREAD, TYPE_OTHER, off, opt.size, pread(BAD_FD, w->buf, opt.size, off));
}

static void do_bad_address(struct worker *w, uint64_t off)
{
	void *nowhere = (void *)1;

	note(w, ROW_PWRITE, w->type, off, opt.size, pwrite(w->fd, nowhere, opt.size, off));
}

static void do_short_read(struct worker *w, uint64_t off)
{
	off = w->file_size - opt.size / 2;
	note(w, ROW_PREAD, w->type, off, opt.size, pread(w->fd, w->buf, opt.size, off));
}

static void do_end_read(struct worker *w, uint64_t off)
{
	note(w, ROW_PREAD, w->type, w->file_size, opt.size, pread(w->fd, w->buf, opt.size, w->file_size));
}

static void do_zero(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, w->type, off, 0, pwrite(w->fd, w->buf, 0, off));
	note(w, ROW_PREAD, w->type, off, 0, pread(w->fd, w->buf, 0, off));
}

/* The way in which careful programs replace a file. */
static void do_create_rename(struct worker *w, uint64_t off)
{
	char tmp[4096], name[4096];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.tmp%u", opt.file, w->no);
	snprintf(name, sizeof(name), "%s.%llu", opt.file, (unsigned long long)w->index);
	fd = open_noted(w, tmp, O_WRONLY | O_CREAT | O_EXCL, TYPE_REG);
	if (fd < 0)
		return;
	note(w, ROW_WRITE, TYPE_REG, 0, opt.size, write(fd, w->buf, opt.size));
	note_call(w, ROW_FSYNC, TYPE_REG, fsync(fd));
	note_call(w, ROW_CLOSE, TYPE_REG, close(fd));
	note_call(w, ROW_RENAME, TYPE_OTHER, rename(tmp, name));
}

/* --- libaio, without its library ------------------------------------------------------------------ */

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

static void note_result(struct worker *w, enum row row, uint64_t off, uint64_t asked, int64_t res)
{
	errno = res < 0 ? (int)-res : 0;
	note(w, row, w->type, off, asked, res < 0 ? -1 : res);
}

/* The completion ring at the address that io_setup() returns: libaio and fio take events from it without a call. */
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

static void do_aio(struct worker *w, const uint64_t *off, unsigned int n)
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
			.aio_data = i, .aio_fildes = w->fd, .aio_buf = (uintptr_t)buf, .aio_nbytes = opt.size, .aio_offset = off[i],
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

/* Calls that take nothing: no such descriptor, no such memory, a length that is none. Their failures are no operations. */
static void do_aio_bad(struct worker *w, uint64_t off)
{
	struct iocb cb = { .aio_fildes = BAD_FD, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t)w->buf, .aio_nbytes = opt.size },
		*list = &cb;

	if (syscall(SYS_io_submit, w->aio, 1L, &list) >= 0 || syscall(SYS_io_submit, w->aio, 1L, 8L) >= 0 ||
	    syscall(SYS_io_submit, 0L, 1L, 8L) >= 0 || syscall(SYS_io_getevents, 0L, 1L, 1L, 8L, NULL) >= 0)
		die("a call that must fail did not");
}

static void aio_sync(struct worker *w)
{
	struct iocb cb = { .aio_fildes = w->fd, .aio_lio_opcode = IOCB_CMD_FSYNC }, *list = &cb;
	struct io_event ev;

	if (syscall(SYS_io_submit, w->aio, 1, &list) != 1)
		die_errno("io_submit of an fsync", opt.file);
	aio_wait(w, 1, &ev);
	note_result(w, ROW_AIO_FSYNC, 0, 0, ev.res);
}

/* --- io_uring, without its library ---------------------------------------------------------------- */

static void *ring_map(int fd, size_t len, uint64_t off)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);

	if (p == MAP_FAILED)
		die_errno("cannot map", "the io_uring");
	return p;
}

/* Operations that an installed header may be too old for. */
enum {
	OP_READV_FIXED = 60,     /* 6.15 */
	OP_WRITEV_FIXED = 61,
};

static void ring_open(struct uring *r, unsigned int wants)
{
	struct io_uring_params p = { .flags = wants & WANTS_SQPOLL ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 100 };
	char *sq, *cq;

	if (wants & WANTS_OVERFLOW) {
		p.flags |= IORING_SETUP_CQSIZE;
		p.cq_entries = SMALL_RING;
	}
	r->sqpoll = wants & WANTS_SQPOLL;
	r->entries = wants & WANTS_OVERFLOW ? SMALL_RING : opt.depth;
	r->fd = syscall(SYS_io_uring_setup, r->entries, &p);
	if (r->fd < 0)
		die_errno("cannot set up", "an io_uring");
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
}

static void ring_push(struct uring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, at = tail & *r->sq_mask;

	r->sqes[at] = *sqe;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

/* Submits pushed requests and waits for n completions. */
static void ring_run(struct uring *r, unsigned int submit, unsigned int n)
{
	unsigned int flags = IORING_ENTER_GETEVENTS;

	if (r->sqpoll) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
			flags |= IORING_ENTER_SQ_WAKEUP;
	}
	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) - *r->cq_head < n) {
		long ret = syscall(SYS_io_uring_enter, r->fd, submit, n, flags, NULL, 0);

		if (ret < 0 && errno != EINTR)
			die_errno("io_uring_enter", opt.file);
		if (ret > 0 && !r->sqpoll)
			submit -= ret < (long)submit ? ret : (long)submit;
	}
}

/* Takes one completion: returns its result, and what was pushed with it in *user. */
static int ring_pop(struct uring *r, uint64_t *user)
{
	unsigned int head = *r->cq_head;
	const struct io_uring_cqe *cqe = &r->cqes[head & *r->cq_mask];
	int res = cqe->res;

	*user = cqe->user_data;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
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
		.opcode = uring_opcode(api->dir == 'r'), .flags = api->wants & WANTS_ASYNC ? IOSQE_ASYNC : 0,
		.fd = w->fd, .off = api->wants & WANTS_POSITION ? UINT64_MAX : off[i], .addr = (uintptr_t)buf, .len = opt.size, .user_data = i,
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
	ring_push(&w->ring, &sqe);
}

/* A chain whose last request succeeded: those before it, of which nobody is told, did what they were asked for. */
static void uring_chain(struct worker *w, const uint64_t *off, unsigned int n, enum row row)
{
	uint64_t which;
	int res;

	ring_run(&w->ring, n, 1);
	res = ring_pop(&w->ring, &which);
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

/* Everything is submitted before the first completion is taken: more than the ring of completions holds. */
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
			if (syscall(SYS_io_uring_enter, w->ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 && errno != EINTR)
				die_errno("io_uring_enter", opt.file);
		res = ring_pop(&w->ring, &which);
		note_result(w, row, off[which], opt.size, res);
	}
}

static void do_uring(struct worker *w, const uint64_t *off, unsigned int n)
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
		int res = ring_pop(&w->ring, &which);

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

	ring_push(&w->ring, sqe);
	ring_run(&w->ring, 1, 1);
	return ring_pop(&w->ring, &which);
}

static void do_uring_splice_out(struct worker *w, uint64_t off)
{
	ssize_t ret = write(w->pair[1], w->buf, opt.size);
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SPLICE, .fd = w->fd, .off = off, .splice_fd_in = w->pair[0],
				    .splice_off_in = -1, .len = opt.size };

	note(w, ROW_WRITE, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = uring_one(w, &sqe);
	note_result(w, ROW_URING_WRITE, off, opt.size, ret);
	note(w, ROW_URING_READ, TYPE_PIPE, 0, opt.size, ret < 0 ? -1 : ret);
}

static void do_uring_splice_in(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SPLICE, .fd = w->pair[1], .off = -1, .splice_fd_in = w->fd,
				    .splice_off_in = off, .len = opt.size };
	ssize_t ret = uring_one(w, &sqe);

	note_result(w, ROW_URING_READ, off, opt.size, ret);
	note(w, ROW_URING_WRITE, TYPE_PIPE, 0, opt.size, ret < 0 ? -1 : ret);
	if (ret > 0)
		note(w, ROW_READ, TYPE_PIPE, 0, ret, read(w->pair[0], w->buf, ret));
}

/* The kernel chooses the offset. */
static void do_uring_append(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_WRITE, .fd = w->fd, .addr = (uintptr_t)w->buf, .len = opt.size };
	int ret = uring_one(w, &sqe);

	note_result(w, ROW_URING_WRITE, w->file_size, opt.size, ret);
	if (ret > 0)
		w->file_size += ret;
}

static void do_uring_proc(struct worker *w, uint64_t off)
{
	int fd = open_noted(w, "/proc/self/stat", O_RDONLY, TYPE_PSEUDO), ret;
	struct io_uring_sqe sqe = { .opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)w->buf, .len = opt.size };

	if (fd < 0)
		return;
	ret = uring_one(w, &sqe);
	note(w, ROW_URING_READ, TYPE_PSEUDO, 0, opt.size, ret < 0 ? -1 : ret);
	note_call(w, ROW_CLOSE, TYPE_PSEUDO, close(fd));
}

/* A file that is open for reading only, and memory that is none: both fail, and move nothing. */
static void do_uring_bad(struct worker *w, uint64_t off)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_WRITE, .fd = w->from_fd, .addr = (uintptr_t)w->buf, .len = opt.size, .off = off };

	note_result(w, ROW_URING_WRITE, off, opt.size, uring_one(w, &sqe));
	sqe.fd = w->fd;
	sqe.addr = 1;
	note_result(w, ROW_URING_WRITE, off, opt.size, uring_one(w, &sqe));
}

static void uring_register(struct worker *w, size_t len)
{
	struct iovec v = { w->buf, len };

	if (syscall(SYS_io_uring_register, w->ring.fd, IORING_REGISTER_FILES, &w->fd, 1) < 0 ||
	    syscall(SYS_io_uring_register, w->ring.fd, IORING_REGISTER_BUFFERS, &v, 1) < 0)
		die_errno("cannot register", opt.file);
}

static void uring_sync(struct worker *w)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_FSYNC, .fd = w->fd };
	uint64_t which;

	ring_push(&w->ring, &sqe);
	ring_run(&w->ring, 1, 1);
	note_result(w, ROW_URING_FSYNC, 0, 0, ring_pop(&w->ring, &which));
}

/* --- the tables ----------------------------------------------------------------------------------- */

#define F WANTS_FILE
static const struct api apis[] = {
	{ "write", 'w', F, 0, 0, do_write, NULL, "write(2)" },
	{ "pwrite", 'w', F, 0, 0, do_pwrite, NULL, "pwrite(2)" },
	{ "writev", 'w', F, 0, 0, do_writev, NULL, "writev(2), two segments" },
	{ "pwritev", 'w', F, 0, 0, do_pwritev, NULL, "pwritev(2), two segments" },
	{ "pwritev2", 'w', F, 0, 0, do_pwritev2, NULL, "pwritev2(2) without flags" },
	{ "pwritev2-dsync", 'w', F, 0, RWF_DSYNC, do_pwritev2, NULL, "pwritev2(2) with RWF_DSYNC" },
	{ "direct", 'w', F, O_DIRECT, 0, do_pwrite, NULL, "pwrite(2), O_DIRECT" },
	{ "osync", 'w', F, O_SYNC, 0, do_pwrite, NULL, "pwrite(2), O_SYNC" },
	{ "odsync", 'w', F, O_DSYNC, 0, do_pwrite, NULL, "pwrite(2), O_DSYNC" },
	{ "append", 'w', F, O_APPEND, 0, do_append, NULL, "write(2), O_APPEND" },
	{ "mmap", 'w', F | WANTS_MAP, 0, 0, do_store, NULL, "stores into a shared mapping; syncs are msync(2)" },
	{ "libaio", 'w', F | WANTS_AIO, 0, 0, NULL, do_aio, "io_submit(2), --depth at once" },
	{ "uring", 'w', F | WANTS_URING, 0, 0, NULL, do_uring, "io_uring, --depth at once" },
	{ "uring-sqpoll", 'w', F | WANTS_URING | WANTS_SQPOLL, 0, 0, NULL, do_uring, "io_uring with a polling thread" },
	{ "uring-async", 'w', F | WANTS_URING | WANTS_ASYNC, 0, 0, NULL, do_uring, "io_uring executed by its workers" },
	{ "uring-skip", 'w', F | WANTS_URING | WANTS_SKIP, 0, 0, NULL, do_uring, "chains of --depth, told of the last only" },
	{ "uring-overflow", 'w', F | WANTS_URING | WANTS_OVERFLOW, 0, 0, NULL, do_uring, "more completions than their ring holds" },
	{ "uring-vector", 'w', F | WANTS_URING | WANTS_VECTOR, 0, 0, NULL, do_uring, "two segments" },
	{ "uring-fixed", 'w', F | WANTS_URING | WANTS_FIXED, 0, 0, NULL, do_uring, "registered file and buffer" },
	{ "uring-fixed-vector", 'w', F | WANTS_URING | WANTS_FIXED | WANTS_VECTOR, 0, 0, NULL, do_uring, "the same, two segments (6.15)" },
	{ "uring-position", 'w', F | WANTS_URING | WANTS_POSITION, 0, 0, NULL, do_uring, "at the file position" },
	{ "uring-dsync", 'w', F | WANTS_URING, O_DSYNC, 0, NULL, do_uring, "io_uring, O_DSYNC" },
	{ "uring-append", 'w', F | WANTS_URING, O_APPEND, 0, do_uring_append, NULL, "io_uring, O_APPEND" },
	{ "uring-splice", 'w', F | WANTS_URING | WANTS_PIPE, 0, 0, do_uring_splice_out, NULL, "write(2) into a pipe, io_uring's splice into FILE" },
	{ "libaio-vector", 'w', F | WANTS_AIO | WANTS_VECTOR, 0, 0, NULL, do_aio, "io_submit(2), two segments" },
	{ "libaio-user", 'w', F | WANTS_AIO | WANTS_LATER, 0, 0, NULL, do_aio, "io_submit(2), events taken in user space" },
	{ "sendfile", 'w', F | WANTS_FROM, 0, 0, do_sendfile_out, NULL, "sendfile(2) from --from into FILE" },
	{ "splice", 'w', F | WANTS_PIPE, 0, 0, do_splice_out, NULL, "write(2) into a pipe, splice(2) into FILE" },
	{ "copy", 'w', F | WANTS_FROM, 0, 0, do_copy, NULL, "copy_file_range(2) from --from into FILE" },
	{ "read", 'r', F, 0, 0, do_read, NULL, "read(2)" },
	{ "pread", 'r', F, 0, 0, do_pread, NULL, "pread(2)" },
	{ "readv", 'r', F, 0, 0, do_readv, NULL, "readv(2), two segments" },
	{ "preadv", 'r', F, 0, 0, do_preadv, NULL, "preadv(2), two segments" },
	{ "preadv2", 'r', F, 0, 0, do_preadv2, NULL, "preadv2(2) without flags" },
	{ "direct-read", 'r', F, O_DIRECT, 0, do_pread, NULL, "pread(2), O_DIRECT" },
	{ "mmap-read", 'r', F | WANTS_MAP, 0, 0, do_load, NULL, "loads from a shared mapping" },
	{ "libaio-read", 'r', F | WANTS_AIO, 0, 0, NULL, do_aio, "io_submit(2), --depth at once" },
	{ "uring-read", 'r', F | WANTS_URING, 0, 0, NULL, do_uring, "io_uring, --depth at once" },
	{ "uring-sqpoll-read", 'r', F | WANTS_URING | WANTS_SQPOLL, 0, 0, NULL, do_uring, "io_uring with a polling thread" },
	{ "uring-async-read", 'r', F | WANTS_URING | WANTS_ASYNC, 0, 0, NULL, do_uring, "io_uring executed by its workers" },
	{ "uring-skip-read", 'r', F | WANTS_URING | WANTS_SKIP, 0, 0, NULL, do_uring, "chains of --depth, told of the last only" },
	{ "uring-overflow-read", 'r', F | WANTS_URING | WANTS_OVERFLOW, 0, 0, NULL, do_uring, "more completions than their ring holds" },
	{ "uring-vector-read", 'r', F | WANTS_URING | WANTS_VECTOR, 0, 0, NULL, do_uring, "two segments" },
	{ "uring-fixed-read", 'r', F | WANTS_URING | WANTS_FIXED, 0, 0, NULL, do_uring, "registered file and buffer" },
	{ "uring-fixed-vector-read", 'r', F | WANTS_URING | WANTS_FIXED | WANTS_VECTOR, 0, 0, NULL, do_uring, "the same, two segments (6.15)" },
	{ "uring-position-read", 'r', F | WANTS_URING | WANTS_POSITION, 0, 0, NULL, do_uring, "at the file position" },
	{ "uring-splice-read", 'r', F | WANTS_URING | WANTS_PIPE, 0, 0, do_uring_splice_in, NULL, "io_uring's splice from FILE into a pipe" },
	{ "libaio-vector-read", 'r', F | WANTS_AIO | WANTS_VECTOR, 0, 0, NULL, do_aio, "io_submit(2), two segments" },
	{ "libaio-user-read", 'r', F | WANTS_AIO | WANTS_LATER, 0, 0, NULL, do_aio, "io_submit(2), events taken in user space" },
	{ "sendfile-read", 'r', F | WANTS_NULL, 0, 0, do_sendfile_in, NULL, "sendfile(2) from FILE to /dev/null" },
	{ "splice-read", 'r', F | WANTS_PIPE | WANTS_NULL, 0, 0, do_splice_in, NULL, "splice(2) from FILE through a pipe to /dev/null" },
	{ "pipe", 'o', WANTS_PIPE, 0, 0, do_pair, NULL, "write(2) and read(2) on a pipe" },
	{ "socket", 'o', WANTS_SOCKETS, 0, 0, do_pair, NULL, "write(2) and read(2) on a socket pair" },
	{ "proc", 'o', 0, 0, 0, do_proc, NULL, "open, read(2), close of /proc/self/stat" },
	{ "uring-proc", 'o', WANTS_URING, 0, 0, do_uring_proc, NULL, "open, io_uring's read, close of /proc/self/stat" },
	{ "uring-bad", 'o', F | WANTS_FROM | WANTS_URING | EXPECTS_ERRORS, 0, 0, do_uring_bad, NULL, "io_uring's writes to --from (EBADF) and from no memory" },
	{ "libaio-bad", 'o', WANTS_AIO, 0, 0, do_aio_bad, NULL, "io_submit(2) and io_getevents(2) that fail" },
	{ "bad-fd", 'o', EXPECTS_ERRORS, 0, 0, do_bad_fd, NULL, "pwrite(2) and pread(2) on no descriptor: EBADF" },
	{ "bad-address", 'w', F | EXPECTS_ERRORS, 0, 0, do_bad_address, NULL, "pwrite(2) from no memory: EFAULT" },
	{ "short-read", 'r', F, 0, 0, do_short_read, NULL, "pread(2) that ends at half its size" },
	{ "end-read", 'r', F, 0, 0, do_end_read, NULL, "pread(2) at the end of FILE" },
	{ "zero", 'w', F, 0, 0, do_zero, NULL, "pwrite(2) and pread(2) of no bytes" },
	{ "create-rename", 'o', WANTS_NAME, 0, 0, do_create_rename, NULL, "create, write(2), fsync(2), close, rename to FILE.n" },
};
#undef F

enum opt_type { OPT_SIZE, OPT_TEXT, OPT_FLAG };
#define AT(member) offsetof(struct options, member)
static const struct opt_row {
	const char *name;
	enum opt_type type;
	size_t at;
	const char *arg, *doc;
} opts[] = {
	{ "api", OPT_TEXT, AT(api), "NAME", "the call, see below" },
	{ "file", OPT_TEXT, AT(file), "FILE", "file or block device to work on; created for writing" },
	{ "from", OPT_TEXT, AT(from), "FILE", "source of sendfile and copy" },
	{ "count", OPT_SIZE, AT(count), "N", "operations in all (default 1)" },
	{ "size", OPT_SIZE, AT(size), "B", "bytes of each (default 4096; suffixes k, M, G)" },
	{ "at", OPT_SIZE, AT(at), "OFFSET", "where in FILE the first slot begins (default 0)" },
	{ "pattern", OPT_TEXT, AT(pattern), "P", "seq, rand (every slot once, in seeded order) or fixed (always the first slot)" },
	{ "span", OPT_SIZE, AT(span), "SLOTS", "slots of B bytes to go round in (default N)" },
	{ "seed", OPT_SIZE, AT(seed), "S", "seed of rand and of the bytes written" },
	{ "sync", OPT_TEXT, AT(sync), "HOW", "none, fsync, fdatasync, or native (through the same interface)" },
	{ "every", OPT_SIZE, AT(every), "K", "sync after every K operations of a thread (default: once, at the end)" },
	{ "threads", OPT_SIZE, AT(threads), "T", "threads that share the N operations, each with its own descriptor" },
	{ "depth", OPT_SIZE, AT(depth), "Q", "libaio and io_uring: operations in flight, at most 256" },
	{ "pause", OPT_SIZE, AT(pause), "MS", "wait before each operation (file times have the grain of a timer tick)" },
	{ "direct", OPT_FLAG, AT(direct), NULL, "open FILE with O_DIRECT, whatever the call" },
	{ "cold", OPT_FLAG, AT(cold), NULL, "drop FILE from the page cache before" },
	{ "end", OPT_TEXT, AT(end), "WHAT", "close (default), truncate to 0, or unlink FILE when done" },
	{ "list", OPT_FLAG, AT(list), NULL, "print the names of the calls with r, w or o, and exit" },
};
#undef AT
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void help(void)
{
	size_t i;

	puts("usage: iot-io --api NAME --file FILE [--count N] [--size B] ...\n"
	     "Does exactly N operations of B bytes and prints a JSON ledger of what it did.\n");
	for (i = 0; i < COUNT(opts); i++)
		printf("  --%-8s %-7s %s\n", opts[i].name, opts[i].arg ? opts[i].arg : "", opts[i].doc);
	puts("\ncalls:");
	for (i = 0; i < COUNT(apis); i++)
		printf("  %-18s %s\n", apis[i].name, apis[i].doc);
}

/* A number with an optional k, M or G; anything else, a sign or an overflow ends the program. */
static uint64_t parse_size(const char *name, const char *text)
{
	static const char units[] = "kMG";
	unsigned long long v;
	const char *unit;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		unsigned int shift = 10 * (unit - units + 1);

		if (v > UINT64_MAX >> shift)
			errno = ERANGE;
		v <<= shift;
		end++;
	}
	if (errno || *end || text[0] < '0' || text[0] > '9')
		die("--%s: '%s' is not a number", name, text);
	return v;
}

static void set_option(const struct opt_row *row, char *value)
{
	char *at = (char *)&opt + row->at;

	if (row->type == OPT_SIZE)
		*(uint64_t *)at = parse_size(row->name, value);
	else if (row->type == OPT_TEXT)
		*(const char **)at = value;
	else
		*(bool *)at = true;
}

static void parse(int argc, char **argv)
{
	struct option longopts[COUNT(opts) + 2] = { 0 };
	size_t i;
	int c;

	for (i = 0; i < COUNT(opts); i++)
		longopts[i] = (struct option){ opts[i].name, opts[i].type != OPT_FLAG, NULL, i };
	longopts[i] = (struct option){ "help", no_argument, NULL, i };
	while ((c = getopt_long(argc, argv, "h", longopts, NULL)) != -1) {
		if (c == '?')
			exit(2);
		if (c == 'h' || c == (int)COUNT(opts)) {
			help();
			exit(0);
		}
		set_option(&opts[c], optarg);
	}
	if (optind < argc) {
		fprintf(stderr, "iot-io: '%s' is not an option\n", argv[optind]);
		exit(2);
	}
}

static const struct api *find_api(const char *name)
{
	size_t i;

	for (i = 0; name && i < COUNT(apis); i++)
		if (!strcmp(apis[i].name, name))
			return &apis[i];
	fprintf(stderr, "iot-io: --api %s is not known: see iot-io --help\n", name ? name : "(none)");
	exit(2);
}

static bool one_of(const char *value, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(value, *list))
			return true;
	return false;
}

static void check_options(void)
{
	static const char *const patterns[] = { "seq", "rand", "fixed", NULL };
	static const char *const syncs[] = { "none", "fsync", "fdatasync", "native", NULL };
	static const char *const ends[] = { "close", "truncate", "unlink", NULL };

	if (!one_of(opt.pattern, patterns))
		die("--pattern: '%s' is none of seq, rand, fixed", opt.pattern);
	if (!one_of(opt.sync, syncs))
		die("--sync: '%s' is none of none, fsync, fdatasync, native", opt.sync);
	if (!one_of(opt.end, ends))
		die("--end: '%s' is none of close, truncate, unlink", opt.end);
	if (!opt.file && api->wants & (WANTS_FILE | WANTS_NAME))
		die("--api %s needs --file", api->name);
	if (!opt.from && api->wants & WANTS_FROM)
		die("--api %s needs --from", api->name);
	if (!opt.count || !opt.size || !opt.threads || opt.threads > 1024 || !opt.depth || opt.depth > DEPTH_MAX)
		die("--count, --size, --threads (to 1024) and --depth (to %u) must be positive", DEPTH_MAX);
	if (!opt.span)
		opt.span = opt.count;
	if (opt.span > UINT32_MAX || opt.size > 1 << 30 || opt.at > INT64_MAX / 4)
		die("--span, --size or --at is too large");
	if (opt.pause > 60000)
		die("--pause is at most a minute");
}

/* --- running -------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) /* splitmix64, Steele et al. 2014 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void make_slots(void)
{
	uint64_t state = opt.seed, i;

	if (strcmp(opt.pattern, "rand"))
		return;
	slots = calloc(opt.span, sizeof(*slots));
	if (!slots)
		die("no memory for %llu slots", (unsigned long long)opt.span);
	for (i = 0; i < opt.span; i++) {
		uint64_t j = next_random(&state) % (i + 1);

		slots[i] = slots[j];
		slots[j] = i;
	}
}

static uint64_t offset_of(uint64_t index)
{
	uint64_t slot = index % opt.span;

	if (!strcmp(opt.pattern, "fixed"))
		return opt.at;
	return opt.at + (slots ? slots[slot] : slot) * opt.size;
}

static void map_file(struct worker *w)
{
	uint64_t need = opt.at + opt.span * opt.size;
	bool writing = api->dir == 'w';

	if (!strcmp(opt.pattern, "fixed"))
		need = opt.at + opt.size;
	if (w->file_size < need) {
		if (!writing)
			die("%s has %llu bytes, %llu are needed", opt.file, (unsigned long long)w->file_size,
			    (unsigned long long)need);
		if (note_call(w, ROW_TRUNCATE, w->type, ftruncate(w->fd, need)) < 0)
			die_errno("cannot extend", opt.file);
	}
	w->map_len = need;
	w->map = mmap(NULL, need, PROT_READ | (writing ? PROT_WRITE : 0), MAP_SHARED, w->fd, 0);
	note_call(w, ROW_MMAP, w->type, w->map == MAP_FAILED ? -1 : 0);
	if (w->map == MAP_FAILED)
		die_errno("cannot map", opt.file);
}

/* Mappings for writing need a descriptor that can read too. */
static int open_flags(void)
{
	int flags = api->open_flags | (opt.direct ? O_DIRECT : 0);

	if (api->dir == 'r')
		return flags | O_RDONLY;
	return flags | O_CREAT | (flags & O_APPEND ? O_WRONLY : O_RDWR);
}

static void open_file(struct worker *w)
{
	struct stat st;

	w->fd = open_noted(w, opt.file, open_flags(), TYPE_REG);
	if (w->fd < 0)
		die_errno("cannot open", opt.file);
	w->type = type_of(w->fd);
	if (w->type != TYPE_REG) {
		w->led.at[ROW_OPEN][w->type] = w->led.at[ROW_OPEN][TYPE_REG];
		memset(&w->led.at[ROW_OPEN][TYPE_REG], 0, sizeof(struct tally));
	}
	if (fstat(w->fd, &st) < 0)
		die_errno("cannot stat", opt.file);
	w->file_size = st.st_size;
	if (opt.cold && posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED))
		die("cannot drop %s from the cache", opt.file);
	if (!strcmp(api->name, "short-read") && w->file_size < opt.size / 2)
		die("%s is shorter than half an operation", opt.file);
}

static void open_pipe(struct worker *w)
{
	if (pipe2(w->pair, O_CLOEXEC) < 0)
		die_errno("cannot make", "a pipe");
	if (opt.size > 65536 && fcntl(w->pair[1], F_SETPIPE_SZ, (int)opt.size) < 0)
		die("a pipe cannot hold %llu bytes", (unsigned long long)opt.size);
}

static void worker_open(struct worker *w)
{
	uint64_t state = opt.seed + w->no;
	size_t i, len = opt.size * (api->many ? opt.depth : 1);

	w->fd = w->from_fd = w->null_fd = w->pair[0] = w->pair[1] = w->ring.fd = -1;
	if (posix_memalign((void **)&w->buf, BLOCK, len))
		die("no memory for %zu bytes", len);
	for (i = 0; i < len; i++)
		w->buf[i] = next_random(&state) | 1;
	if (api->wants & WANTS_FILE)
		open_file(w);
	if (api->wants & WANTS_FROM && (w->from_fd = open_noted(w, opt.from, O_RDONLY, TYPE_REG)) < 0)
		die_errno("cannot open", opt.from);
	if (api->wants & WANTS_NULL && (w->null_fd = open_noted(w, "/dev/null", O_WRONLY, TYPE_CHR)) < 0)
		die_errno("cannot open", "/dev/null");
	if (api->wants & WANTS_MAP)
		map_file(w);
	if (api->wants & WANTS_PIPE)
		open_pipe(w);
	if (api->wants & WANTS_SOCKETS && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->pair) < 0)
		die_errno("cannot make", "a socket pair");
	if (api->wants & WANTS_AIO && syscall(SYS_io_setup, opt.depth, &w->aio) < 0)
		die_errno("cannot set up", "libaio");
	if (api->wants & WANTS_URING)
		ring_open(&w->ring, api->wants);
	if (api->wants & WANTS_FIXED)
		uring_register(w, len);
}

static void sync_file(struct worker *w)
{
	bool native = !strcmp(opt.sync, "native");

	if (w->map)
		note_call(w, ROW_MSYNC, w->type, msync(w->map, w->map_len, MS_SYNC));
	else if (native && api->wants & WANTS_AIO)
		aio_sync(w);
	else if (native && api->wants & WANTS_URING)
		uring_sync(w);
	else if (!strcmp(opt.sync, "fdatasync"))
		note_call(w, ROW_FDATASYNC, w->type, fdatasync(w->fd));
	else
		note_call(w, ROW_FSYNC, w->type, fsync(w->fd));
}

/* Operations no, no + threads, no + 2 x threads, ... up to --depth at a time, never across a sync. */
static void worker_loop(struct worker *w)
{
	bool syncing = strcmp(opt.sync, "none") && w->fd >= 0;
	uint64_t done = 0, off[DEPTH_MAX], until_sync;
	unsigned int n;

	w->index = w->no;
	while (w->index < opt.count) {
		if (opt.pause)
			usleep(opt.pause * 1000);
		until_sync = syncing && opt.every ? opt.every - done % opt.every : UINT64_MAX;
		if (!api->many) {
			api->one(w, offset_of(w->index));
			w->index += opt.threads;
			n = 1;
		} else {
			for (n = 0; n < opt.depth && n < until_sync && w->index < opt.count; n++) {
				off[n] = offset_of(w->index);
				w->index += opt.threads;
			}
			api->many(w, off, n);
		}
		done += n;
		if (syncing && opt.every && done % opt.every == 0)
			sync_file(w);
	}
	if (syncing && !opt.every)
		sync_file(w);
}

static void worker_close(struct worker *w)
{
	if (w->map)
		munmap(w->map, w->map_len);
	if (w->fd >= 0 && w->no == 0 && !strcmp(opt.end, "truncate"))
		note_call(w, ROW_TRUNCATE, w->type, ftruncate(w->fd, 0));
	if (w->no == 0 && w->fd >= 0 && !strcmp(opt.end, "unlink"))
		note_call(w, ROW_UNLINK, TYPE_OTHER, unlink(opt.file));
	if (w->fd >= 0)
		note_call(w, ROW_CLOSE, w->type, close(w->fd));
	if (w->from_fd >= 0)
		note_call(w, ROW_CLOSE, TYPE_REG, close(w->from_fd));
	if (w->null_fd >= 0)
		note_call(w, ROW_CLOSE, TYPE_CHR, close(w->null_fd));
	free(w->buf);
}

static void *worker_main(void *arg)
{
	worker_loop(arg);
	return NULL;
}

static void run_workers(struct worker *w)
{
	pthread_t *t;
	uint64_t i;

	if (opt.threads == 1) {
		worker_loop(w);
		return;
	}
	t = calloc(opt.threads, sizeof(*t));
	if (!t)
		die("no memory for %llu threads", (unsigned long long)opt.threads);
	for (i = 0; i < opt.threads; i++)
		if (pthread_create(&t[i], NULL, worker_main, &w[i]))
			die("cannot start thread %llu", (unsigned long long)i);
	for (i = 0; i < opt.threads; i++)
		pthread_join(t[i], NULL);
	free(t);
}

/* --- the ledger ----------------------------------------------------------------------------------- */

static void tally_add(struct tally *to, const struct tally *from)
{
	to->ops += from->ops;
	to->bytes += from->bytes;
	to->errors += from->errors;
	to->shorts += from->shorts;
	to->touched += from->touched;
}

static void ledger_add(struct ledger *to, const struct ledger *from)
{
	for (int r = 0; r < ROW_MAX; r++)
		for (int t = 0; t < TYPE_MAX; t++)
			tally_add(&to->at[r][t], &from->at[r][t]);
	if (from->last_errno)
		to->last_errno = from->last_errno;
}

static bool row_writes(enum row r)
{
	return r == ROW_WRITE || r == ROW_PWRITE || r == ROW_WRITEV || r == ROW_PWRITEV || r == ROW_SENDFILE_OUT ||
	       r == ROW_SPLICE_OUT || r == ROW_COPY_OUT || r == ROW_AIO_WRITE || r == ROW_URING_WRITE;
}

static bool row_reads(enum row r)
{
	return r == ROW_READ || r == ROW_PREAD || r == ROW_READV || r == ROW_PREADV || r == ROW_SENDFILE_IN ||
	       r == ROW_SPLICE_IN || r == ROW_COPY_IN || r == ROW_AIO_READ || r == ROW_URING_READ;
}

static bool row_syncs(enum row r)
{
	return r == ROW_FSYNC || r == ROW_FDATASYNC || r == ROW_MSYNC || r == ROW_AIO_FSYNC || r == ROW_URING_FSYNC;
}

/* Sum of the rows that `pick` accepts; files: only regular files and block devices (METRICS: S). */
static struct tally ledger_sum(const struct ledger *led, bool (*pick)(enum row), bool files)
{
	struct tally sum = { 0 };

	for (int r = 0; r < ROW_MAX; r++)
		for (int t = 0; t < TYPE_MAX; t++)
			if (pick(r) && (!files || t == TYPE_REG || t == TYPE_BLK))
				tally_add(&sum, &led->at[r][t]);
	return sum;
}

static void print_text(const char *name, const char *value)
{
	printf("\"%s\":\"", name);
	for (; *value; value++) {
		unsigned char c = *value;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	printf("\",");
}

static void print_number(const char *name, uint64_t value)
{
	printf("\"%s\":%llu,", name, (unsigned long long)value);
}

static void print_calls(const struct ledger *led)
{
	const char *comma = "";

	printf("\"calls\":[");
	for (int r = 0; r < ROW_MAX; r++) {
		for (int t = 0; t < TYPE_MAX; t++) {
			const struct tally *at = &led->at[r][t];

			if (!at->ops)
				continue;
			printf("%s{\"kind\":\"%s\",\"type\":\"%s\",\"ops\":%llu,\"bytes\":%llu,\"errors\":%llu,\"short\":%llu}",
			       comma, row_name[r], type_name[t], (unsigned long long)at->ops, (unsigned long long)at->bytes,
			       (unsigned long long)at->errors, (unsigned long long)at->shorts);
			comma = ",";
		}
	}
	printf("]");
}

static uint64_t tv_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000ull + tv.tv_usec * 1000ull;
}

static void print_ledger(const struct ledger *led, const struct rusage *before, const struct rusage *after)
{
	struct tally w = ledger_sum(led, row_writes, true), r = ledger_sum(led, row_reads, true);
	struct tally all_w = ledger_sum(led, row_writes, false), all_r = ledger_sum(led, row_reads, false);
	uint64_t stored = 0, loaded = 0;
	struct stat st;

	for (int t = 0; t < TYPE_MAX; t++) {
		stored += led->at[ROW_STORE][t].bytes;
		loaded += led->at[ROW_LOAD][t].bytes;
	}
	printf("{");
	print_text("api", api->name);
	print_number("pid", getpid());
	if (opt.file) {
		print_text("file", opt.file);
		if (stat(opt.file, &st) == 0) {
			printf("\"dev\":\"%u:%u\",", major(st.st_dev), minor(st.st_dev));
			print_number("ino", st.st_ino);
		}
	}
	print_number("count", opt.count);
	print_number("written", w.bytes);
	print_number("write_ops", w.ops);
	print_number("touched", w.touched);
	print_number("read", r.bytes);
	print_number("read_ops", r.ops);
	print_number("stored", stored);
	print_number("loaded", loaded);
	print_number("syncs", ledger_sum(led, row_syncs, false).ops);
	print_number("errors", all_w.errors + all_r.errors + ledger_sum(led, row_syncs, false).errors);
	print_number("short", all_w.shorts + all_r.shorts);
	print_number("user_ns", tv_ns(after->ru_utime) - tv_ns(before->ru_utime));
	print_number("sys_ns", tv_ns(after->ru_stime) - tv_ns(before->ru_stime));
	print_calls(led);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	struct ledger total = { 0 };
	struct worker *w;
	uint64_t i;

	parse(argc, argv);
	if (opt.list) {
		for (i = 0; i < COUNT(apis); i++)
			printf("%s %c\n", apis[i].name, apis[i].dir);
		return 0;
	}
	api = find_api(opt.api);
	check_options();
	make_slots();
	w = calloc(opt.threads, sizeof(*w));
	if (!w)
		die("no memory for %llu threads", (unsigned long long)opt.threads);
	for (i = 0; i < opt.threads; i++) {
		w[i].no = i;
		worker_open(&w[i]);
	}
	getrusage(RUSAGE_SELF, &before);
	run_workers(w);
	getrusage(RUSAGE_SELF, &after);
	for (i = 0; i < opt.threads; i++)
		worker_close(&w[i]);
	for (i = 0; i < opt.threads; i++)
		ledger_add(&total, &w[i].led);
	print_ledger(&total, &before, &after);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the ledger");
	if (!total.last_errno || api->wants & EXPECTS_ERRORS)
		return 0;
	fprintf(stderr, "iot-io: some calls failed, the last with: %s\n", strerror(total.last_errno));
	return 1;
}
