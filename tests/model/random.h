/* SPDX-License-Identifier: GPL-3.0-only */
/* random.h - what the parts of random-worker share: random_calls.c and random_rings.c make the
 * calls, random-worker.c talks. */
#ifndef IOT_TESTS_RANDOM_H
#define IOT_TESTS_RANDOM_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE 4096ul
#define BUFFER (4ul << 20)     /* largest call; the page behind it cannot be read */
#define IOVECS 1024
#define REQUESTS 8             /* at once */

/* Arguments of a command; one that it does not give is -1. */
#define KEYS(K) K(f) K(off) K(len) K(n) K(bad) K(limit) K(rwf) K(src) K(soff) K(kind) K(async) K(poll) K(fixed) K(flags) K(to) K(seed) K(step) K(fail)
struct command {
	char op[16], mode[16];
	long long f, off, len, n, bad, limit, rwf, src, soff, kind, async, poll, fixed, flags, to,
		seed, step, fail;
};

extern char *buffer;
extern char folios[65536];     /* of a store: "page:first:pages,..." */
extern char parts[1024];       /* of several requests at once: "result:result:..." */
extern pid_t child;            /* who wrote in its place, 0 nobody */

void die(const char *what) __attribute__((noreturn));
int descriptor(int f, const char *mode);
void close_file(int f);
void file_name(char *s, size_t size, int f);
char *bytes(const struct command *c);
int segments(const struct command *c, struct iovec *v);

/* The result of a call: bytes, or -1 with errno set. */
typedef ssize_t one_call(const struct command *c, int fd);
one_call do_write, do_pwrite, do_writev, do_pwritev, do_pwritev2, do_pread, do_sendfile, do_copy,
	do_splice, do_store, do_msync, do_fsync, do_fdatasync, do_syncfs, do_sync, do_range,
	do_truncate, do_fallocate, do_forget, do_open, do_seek, do_close, do_unlink, do_rename,
	do_link, do_child, do_aio, do_uring, do_uring_fsync, do_thread, do_path_truncate, do_aios,
	do_urings;

#endif
