/* SPDX-License-Identifier: GPL-3.0-only */
/* random_calls.c - the system calls of random-worker: one function each. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "random.h"

#define PIPE_BYTES (1 << 20)
#define KPF_COMPOUND_HEAD 15
#define KPF_COMPOUND_TAIL 16

static int pipes[2] = { -1, -1 };

/* `len` bytes of which only the first `bad` can be read; all where bad is -1. */
char *bytes(const struct command *c)
{
	if (c->bad < 0)
		return buffer;
	return buffer + BUFFER - c->bad;
}

/* c->n segments, multiples of a page for a direct descriptor, unequal where that is possible. */
int segments(const struct command *c, struct iovec *v)
{
	size_t unit = strchr(c->mode, 'x') ? PAGE : 1, left = c->len;
	int n = c->n < 1 ? 1 : c->n > IOVECS ? IOVECS : c->n;
	char *p = bytes(c);

	for (int i = 0; i < n; i++) {
		size_t part = c->len / unit / n * unit;

		if (i % 3 == 1 && part > unit)
			part -= unit;
		if (i == n - 1 || part > left)
			part = left;
		v[i] = (struct iovec){ p, part };
		p += part;
		left -= part;
	}
	return n;
}

ssize_t do_write(const struct command *c, int fd)
{
	return write(fd, bytes(c), c->len);
}

ssize_t do_pwrite(const struct command *c, int fd)
{
	return pwrite(fd, bytes(c), c->len, c->off);
}

ssize_t do_writev(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return writev(fd, v, segments(c, v));
}

ssize_t do_pwritev(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return pwritev(fd, v, segments(c, v), c->off);
}

ssize_t do_pwritev2(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return pwritev2(fd, v, segments(c, v), c->off, c->rwf < 0 ? 0 : c->rwf);
}

ssize_t do_pread(const struct command *c, int fd)
{
	return pread(fd, buffer, c->len, c->off);
}

ssize_t do_sendfile(const struct command *c, int fd)
{
	off_t at = c->soff;

	return sendfile(fd, descriptor(c->src, "r"), &at, c->len);
}

ssize_t do_copy(const struct command *c, int fd)
{
	loff_t in = c->soff, to = c->off;

	return copy_file_range(descriptor(c->src, "r"), &in, fd, c->off < 0 ? NULL : &to, c->len, 0);
}

ssize_t do_splice(const struct command *c, int fd)
{
	struct iovec v = { buffer, c->len };
	loff_t to = c->off, from = c->soff;
	ssize_t got, ret;
	char sink[4096];

	if (pipes[0] < 0 &&
	    (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_BYTES) < 0))
		die("pipe");
	if (c->kind == 2)
		got = splice(descriptor(c->src, "r"), &from, pipes[1], NULL, c->len, SPLICE_F_NONBLOCK);
	else
		got = c->kind == 1 ? vmsplice(pipes[1], &v, 1, 0) : write(pipes[1], buffer, c->len);
	if (got < 0)
		return -1;
	ret = splice(pipes[0], NULL, fd, c->off < 0 ? NULL : &to, got, 0);
	got = errno;
	while (read(pipes[0], sink, sizeof(sink)) > 0)
		;
	errno = got;
	return ret;
}

/* ---- mappings: /proc/kpageflags tells the pages of a folio while they are mapped ---- */

static bool page_flags(int flags_fd, uint64_t pfn, uint64_t *flags)
{
	return pread(flags_fd, flags, 8, pfn * 8) == 8;
}

static void folio_note(const char *addr, uint64_t page)
{
	int map_fd = open("/proc/self/pagemap", O_RDONLY), flags_fd = open("/proc/kpageflags", O_RDONLY);
	uint64_t entry, pfn, head, flags, pages = 1;
	size_t used = strlen(folios);

	if (map_fd < 0 || flags_fd < 0 ||
	    pread(map_fd, &entry, 8, (uintptr_t)addr / PAGE * 8) != 8 || !(entry >> 63))
		die("pagemap");
	pfn = head = entry & ((1ull << 55) - 1);
	while (page_flags(flags_fd, head, &flags) && flags >> KPF_COMPOUND_TAIL & 1)
		head--;
	if (flags >> KPF_COMPOUND_HEAD & 1)
		while (page_flags(flags_fd, head + pages, &flags) && flags >> KPF_COMPOUND_TAIL & 1)
			pages++;
	snprintf(folios + used, sizeof(folios) - used, "%s%llu:%llu:%llu", used ? "," : "",
		 (unsigned long long)page, (unsigned long long)(page - (pfn - head)),
		 (unsigned long long)pages);
	close(map_fd);
	close(flags_fd);
}

/* Maps the file from page 0 to behind the range. */
static char *map_file(const struct command *c, int fd, int how)
{
	char *p = mmap(NULL, c->off + c->len, PROT_READ | PROT_WRITE, how, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* kind: 0 shared, 1 private, 2 the mapping is moved first */
ssize_t do_store(const struct command *c, int fd)
{
	char *p = map_file(c, fd, c->kind == 1 ? MAP_PRIVATE : MAP_SHARED);
	struct stat st;
	uint64_t last = (c->off + c->len - 1) / PAGE, page = c->off / PAGE;

	if (!p)
		return -1;
	if (fstat(fd, &st) || st.st_size < c->off + c->len) { /* no signal for a store behind the end */
		munmap(p, c->off + c->len);
		errno = ENXIO;
		return -1;
	}
	if (c->kind == 2)
		p = mremap(p, c->off + c->len, c->off + c->len + PAGE, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		die("mremap");
	for (; page <= last; page++) {
		uint64_t at = page * PAGE < (uint64_t)c->off ? (uint64_t)c->off : page * PAGE;
		uint64_t end = (page + 1) * PAGE < (uint64_t)(c->off + c->len)
				       ? (page + 1) * PAGE
				       : (uint64_t)(c->off + c->len);

		memcpy(p + at, buffer, end - at);
		if (c->kind != 1)
			folio_note(p + at, page);
	}
	munmap(p, c->off + c->len + (c->kind == 2 ? PAGE : 0));
	return c->len;
}

ssize_t do_msync(const struct command *c, int fd)
{
	char *p = map_file(c, fd, MAP_SHARED);
	uint64_t from = c->off / PAGE * PAGE;
	int ret;

	if (!p)
		return -1;
	ret = msync(p + from, c->off + c->len - from, c->kind == 1 ? MS_ASYNC : MS_SYNC);
	munmap(p, c->off + c->len);
	return ret;
}

/* ---- calls without bytes ---- */

ssize_t do_fsync(const struct command *c, int fd) { return fsync(fd); }
ssize_t do_fdatasync(const struct command *c, int fd) { return fdatasync(fd); }
ssize_t do_syncfs(const struct command *c, int fd) { return syncfs(fd); }
ssize_t do_sync(const struct command *c, int fd) { sync(); return 0; }
ssize_t do_range(const struct command *c, int fd)
{
	return sync_file_range(fd, c->off, c->len, c->flags < 0 ? 7 : c->flags);
}
ssize_t do_truncate(const struct command *c, int fd) { return ftruncate(fd, c->len); }
ssize_t do_fallocate(const struct command *c, int fd)
{
	return fallocate(fd, c->flags, c->off, c->len);
}
ssize_t do_forget(const struct command *c, int fd)
{
	return posix_fadvise(fd, c->off, c->len, POSIX_FADV_DONTNEED) ? -1 : 0;
}
ssize_t do_open(const struct command *c, int fd) { return 0; }
ssize_t do_seek(const struct command *c, int fd)
{
	return lseek(fd, c->off, SEEK_SET) < 0 ? -1 : 0;
}
ssize_t do_close(const struct command *c, int fd) { close_file(c->f); return 0; }

ssize_t do_unlink(const struct command *c, int fd)
{
	char name[64];

	file_name(name, sizeof(name), c->f);
	return unlink(name);
}

ssize_t do_rename(const struct command *c, int fd)
{
	char from[64], to[64];

	file_name(from, sizeof(from), c->f);
	file_name(to, sizeof(to), c->to);
	return rename(from, to);
}

ssize_t do_link(const struct command *c, int fd)
{
	char from[64], to[64];

	file_name(from, sizeof(from), c->f);
	file_name(to, sizeof(to), c->to);
	return link(from, to);
}

/* A child writes through the descriptor that it shares with its parent, position and all. */
ssize_t do_child(const struct command *c, int fd)
{
	struct answer { ssize_t n; int err; } *answer;
	ssize_t n;
	int status;

	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (answer == MAP_FAILED)
		die("mmap");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		answer->n = write(fd, bytes(c), c->len);
		answer->err = errno;
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		die("waitpid");
	n = answer->n;
	errno = answer->err;
	munmap(answer, sizeof(*answer));
	return n;
}

struct threaded {
	const struct command *c;
	int fd, err;
	ssize_t n;
};

static void *thread_main(void *arg)
{
	struct threaded *t = arg;

	t->n = write(t->fd, bytes(t->c), t->c->len);
	t->err = errno;
	return NULL;
}

/* Another thread of the process writes. */
ssize_t do_thread(const struct command *c, int fd)
{
	struct threaded t = { .c = c, .fd = fd };
	pthread_t id;

	if (pthread_create(&id, NULL, thread_main, &t) || pthread_join(id, NULL))
		die("thread");
	errno = t.err;
	return t.n;
}

/* By a name, of the file that the descriptor has. */
ssize_t do_path_truncate(const struct command *c, int fd)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return truncate(name, c->len);
}
