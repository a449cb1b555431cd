/* SPDX-License-Identifier: GPL-3.0-only */
/* io.h - what the parts of iot-io share. io_calls.c and io_rings.c make the calls, io_run.c says
 * which and when, io_ledger.c counts what they returned. */
#ifndef IOT_WORKLOADS_IO_H
#define IOT_WORKLOADS_IO_H

#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "uring.h"

#define BLOCK 4096u          /* unit of `touched`, and alignment of the buffer */
#define DEPTH_MAX 4096u

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
extern const char *const row_name[ROW_MAX];
enum type {
#define T(sym, name) TYPE_##sym,
	TYPES(T) TYPE_MAX
#undef T
};
extern const char *const type_name[TYPE_MAX];

struct tally {
	uint64_t ops, bytes, errors, shorts, touched;
};

struct ledger {
	struct tally at[ROW_MAX][TYPE_MAX];
	int last_errno;
};

struct worker;

struct api {
	const char *name;
	char dir;                /* what happens to FILE: r, w, or o when it is not used for data */
	unsigned int wants;
	int open_flags, rwf;
	void (*one)(struct worker *, uint64_t off);
	void (*many)(struct worker *, const uint64_t *off,
		     unsigned int n); /* instead of one: n calls in flight */
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
	WANTS_SKIP = 1 << 12,    /* IOSQE_CQE_SKIP_SUCCESS: only the last of a chain is reported */
	WANTS_OVERFLOW = 1 << 13, /* a ring of completions that is too small */
	WANTS_VECTOR = 1 << 14,  /* two segments */
	WANTS_FIXED = 1 << 15,   /* registered file and buffer */
	WANTS_POSITION = 1 << 16, /* at the file position */
	WANTS_LATER = 1 << 17,   /* events are taken in user space, from the ring */
};

extern struct options {
	uint64_t count, size, at, span, every, seed, threads, depth, pause;
	const char *file, *from, *api, *pattern, *sync, *end;
	bool direct, cold, list;
} opt;
extern const struct api *api;

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

/* Both end the program: what they say goes to standard error. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void die_errno(const char *what, const char *on) __attribute__((noreturn));

/* Counts one call: `ret` is what it returned, a negative value is an error with errno set. */
void note(struct worker *w, enum row row, enum type type, uint64_t off, uint64_t asked,
	  ssize_t ret);
/* Counts a call without bytes: returns `ret`. */
int note_call(struct worker *w, enum row row, enum type type, int ret);
/* Counts a result as rings return it: bytes, or a negative errno. */
void note_result(struct worker *w, enum row row, uint64_t off, uint64_t asked, int64_t res);
/* open(2), counted: a descriptor, or -1 with errno set. */
int open_noted(struct worker *w, const char *path, int flags, enum type type);
void ledger_add(struct ledger *to, const struct ledger *from);
void print_ledger(const struct ledger *led, const struct rusage *before,
		  const struct rusage *after);

/* Two segments of unequal length, in units of the block where the size allows it; one where that
 * leaves nothing for the first. */
int segments(char *buf, struct iovec v[2]);
void ring_open(struct uring *r, unsigned int wants);
void uring_register(struct worker *w, size_t len);
void uring_sync(struct worker *w);
void aio_sync(struct worker *w);

/* For the rows of apis[]: one call, or n of them in flight. */
typedef void one_call(struct worker *, uint64_t off);
typedef void many_calls(struct worker *, const uint64_t *off, unsigned int n);
one_call do_write, do_append, do_read, do_pwrite, do_pread, do_writev, do_readv, do_pwritev,
	do_preadv, do_pwritev2, do_preadv2, do_store, do_load, do_sendfile_in, do_sendfile_out,
	do_splice_in, do_splice_out, do_copy, do_pair, do_proc, do_bad_fd, do_bad_address,
	do_short_read, do_end_read, do_zero, do_create_rename, do_aio_bad, do_uring_splice_out,
	do_uring_splice_in, do_uring_append, do_uring_proc, do_uring_bad;
many_calls do_aio, do_uring;

/* Fills the table of slots that --pattern rand goes through. */
void make_slots(void);
enum type type_of(int fd);
void worker_open(struct worker *w);
void worker_close(struct worker *w);
void run_workers(struct worker *w);

#endif
