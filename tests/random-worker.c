/* SPDX-License-Identifier: GPL-3.0-only */
/* random-worker - makes one call on command, and says what the kernel returned.
 *
 * usage: random-worker SOCKET             the host: forks workers on command, so that they are all its children
 *        random-worker SOCKET ID NAME     one worker
 *
 * Talks over the Unix socket SOCKET that tests/random.py listens on; begins with "ID PID\n". One line is one command:
 *	OP KEY=NUMBER... mode=LETTERS
 * and is answered by one line: KEY=NUMBER..., see answer(). A descriptor is opened once for a file and a mode, and kept until
 * `close`. To add a call: a row in ops[] and a function of a few lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE 4096ul
#define BUFFER (4ul << 20)     /* largest call; the page behind it cannot be read */
#define PIPE_BYTES (1 << 20)
#define IOVECS 1024
#define OP_WRITEV_FIXED 61     /* IORING_OP_WRITEV_FIXED, Linux 6.15 */
#define KPF_COMPOUND_HEAD 15
#define KPF_COMPOUND_TAIL 16

/* What a command may say; what it does not say is -1. */
#define KEYS(K) K(f) K(off) K(len) K(n) K(bad) K(limit) K(rwf) K(src) K(soff) K(kind) K(async) K(poll) K(fixed) K(flags) K(to) K(seed)
struct command {
	char op[16], mode[16];
	long long f, off, len, n, bad, limit, rwf, src, soff, kind, async, poll, fixed, flags, to, seed;
};

struct keep {
	int f, fd;
	char mode[16];
};

static struct keep kept[64];
static char *buffer;
static FILE *out;              /* the socket */
static char folios[65536];     /* of a store: "page:first:pages,..." */
static pid_t child;            /* who wrote in its place, 0 nobody */
static int pipes[2] = { -1, -1 };
static aio_context_t aio;
static const char *socket_name;
static char other_mount[400] = "."; /* the same folder below a bind mount */

static void die(const char *what)
{
	fprintf(stderr, "random-worker: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- descriptors ---- */

static void file_name(char *s, size_t size, int f)
{
	snprintf(s, size, "f%d", f);
}

static int open_flags(const char *mode)
{
	int flags = O_RDWR;

	for (; *mode; mode++) {
		switch (*mode) {
		case 'r': flags = (flags & ~O_ACCMODE) | O_RDONLY; break;
		case 'w': flags = (flags & ~O_ACCMODE) | O_WRONLY; break;
		case 'a': flags |= O_APPEND; break;
		case 's': flags |= O_SYNC; break;
		case 'd': flags |= O_DSYNC; break;
		case 'x': flags |= O_DIRECT; break;
		case 't': flags |= O_TRUNC; break;
		case 'T': return (flags & ~O_CREAT) | O_TMPFILE | O_CLOEXEC;
		}
	}
	return flags | O_CREAT | O_CLOEXEC;
}

static struct keep *keep_find(int f, const char *mode)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		if (kept[i].fd >= 0 && kept[i].f == f && !strcmp(kept[i].mode, mode))
			return &kept[i];
	return NULL;
}

static int keep_add(int f, const char *mode, int fd)
{
	for (size_t i = 0; fd >= 0 && i < COUNT(kept); i++) {
		if (kept[i].fd >= 0)
			continue;
		kept[i].f = f;
		kept[i].fd = fd;
		strcpy(kept[i].mode, mode);
		return fd;
	}
	return fd;
}

/* Mode "u...": a duplicate of the descriptor without the u: both share a position. "b": by the name below the other mount.
 * "t" and "T" (a file without a name) count for the first use. */
static int descriptor(int f, const char *mode)
{
	struct keep *k = keep_find(f, mode);
	char file[64], name[512];

	if (k)
		return k->fd;
	if (mode[0] == 'u')
		return keep_add(f, mode, dup(descriptor(f, mode + 1)));
	file_name(file, sizeof(file), f);
	snprintf(name, sizeof(name), "%s%s%s", strchr(mode, 'b') ? other_mount : "", strchr(mode, 'b') ? "/" : "", strchr(mode, 'T') ? "." : file);
	return keep_add(f, mode, open(name, open_flags(mode), 0644));
}

static void close_file(int f)
{
	for (size_t i = 0; i < COUNT(kept); i++) {
		if (kept[i].fd < 0 || (f >= 0 && kept[i].f != f))
			continue;
		close(kept[i].fd);
		kept[i].fd = -1;
	}
}

/* ---- memory ---- */

/* `len` bytes of which only the first `bad` can be read; all where bad is -1. */
static char *bytes(const struct command *c)
{
	if (c->bad < 0)
		return buffer;
	return buffer + BUFFER - c->bad;
}

/* c->n segments, multiples of a page when the descriptor is direct, unequal where that is possible. */
static int segments(const struct command *c, struct iovec *v)
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

/* ---- one function a call ---- */

static ssize_t do_write(const struct command *c, int fd)
{
	return write(fd, bytes(c), c->len);
}

static ssize_t do_pwrite(const struct command *c, int fd)
{
	return pwrite(fd, bytes(c), c->len, c->off);
}

static ssize_t do_writev(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return writev(fd, v, segments(c, v));
}

static ssize_t do_pwritev(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return pwritev(fd, v, segments(c, v), c->off);
}

static ssize_t do_pwritev2(const struct command *c, int fd)
{
	struct iovec v[IOVECS];

	return pwritev2(fd, v, segments(c, v), c->off, c->rwf < 0 ? 0 : c->rwf);
}

static ssize_t do_pread(const struct command *c, int fd)
{
	return pread(fd, buffer, c->len, c->off);
}

static ssize_t do_sendfile(const struct command *c, int fd)
{
	off_t at = c->soff;

	return sendfile(fd, descriptor(c->src, "r"), &at, c->len);
}

static ssize_t do_copy(const struct command *c, int fd)
{
	loff_t in = c->soff, to = c->off;

	return copy_file_range(descriptor(c->src, "r"), &in, fd, c->off < 0 ? NULL : &to, c->len, 0);
}

static ssize_t do_splice(const struct command *c, int fd)
{
	struct iovec v = { buffer, c->len };
	loff_t to = c->off;
	ssize_t got, ret;
	char sink[4096];

	if (pipes[0] < 0 && (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_BYTES) < 0))
		die("pipe");
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

static ssize_t do_aio(const struct command *c, int fd)
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
static ssize_t do_uring(const struct command *c, int fd)
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

static ssize_t do_uring_fsync(const struct command *c, int fd)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_FSYNC, .fd = fd };

	return ring_run(ring_get(c->poll > 0), &sqe);
}

/* ---- mappings: which pages are one folio is asked of /proc/kpageflags while they are mapped ---- */

static bool page_flags(int flags_fd, uint64_t pfn, uint64_t *flags)
{
	return pread(flags_fd, flags, 8, pfn * 8) == 8;
}

static void folio_note(const char *addr, uint64_t page)
{
	int map_fd = open("/proc/self/pagemap", O_RDONLY), flags_fd = open("/proc/kpageflags", O_RDONLY);
	uint64_t entry, pfn, head, flags, pages = 1;
	size_t used = strlen(folios);

	if (map_fd < 0 || flags_fd < 0 || pread(map_fd, &entry, 8, (uintptr_t)addr / PAGE * 8) != 8 || !(entry >> 63))
		die("pagemap");
	pfn = head = entry & ((1ull << 55) - 1);
	while (page_flags(flags_fd, head, &flags) && flags >> KPF_COMPOUND_TAIL & 1)
		head--;
	if (flags >> KPF_COMPOUND_HEAD & 1)
		while (page_flags(flags_fd, head + pages, &flags) && flags >> KPF_COMPOUND_TAIL & 1)
			pages++;
	snprintf(folios + used, sizeof(folios) - used, "%s%llu:%llu:%llu", used ? "," : "", (unsigned long long)page,
		 (unsigned long long)(page - (pfn - head)), (unsigned long long)pages);
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
static ssize_t do_store(const struct command *c, int fd)
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
		uint64_t end = (page + 1) * PAGE < (uint64_t)(c->off + c->len) ? (page + 1) * PAGE : (uint64_t)(c->off + c->len);

		memcpy(p + at, buffer, end - at);
		if (c->kind != 1)
			folio_note(p + at, page);
	}
	munmap(p, c->off + c->len + (c->kind == 2 ? PAGE : 0));
	return c->len;
}

static ssize_t do_msync(const struct command *c, int fd)
{
	char *p = map_file(c, fd, MAP_SHARED);
	uint64_t from = c->off / PAGE * PAGE;
	int ret;

	if (!p)
		return -1;
	ret = msync(p + from, c->off + c->len - from, MS_SYNC);
	munmap(p, c->off + c->len);
	return ret;
}

/* ---- calls without bytes ---- */

static ssize_t do_fsync(const struct command *c, int fd) { return fsync(fd); }
static ssize_t do_fdatasync(const struct command *c, int fd) { return fdatasync(fd); }
static ssize_t do_syncfs(const struct command *c, int fd) { return syncfs(fd); }
static ssize_t do_sync(const struct command *c, int fd) { sync(); return 0; }
static ssize_t do_range(const struct command *c, int fd) { return sync_file_range(fd, c->off, c->len, c->flags < 0 ? 7 : c->flags); }
static ssize_t do_truncate(const struct command *c, int fd) { return ftruncate(fd, c->len); }
static ssize_t do_fallocate(const struct command *c, int fd) { return fallocate(fd, c->flags, c->off, c->len); }
static ssize_t do_forget(const struct command *c, int fd) { return posix_fadvise(fd, c->off, c->len, POSIX_FADV_DONTNEED) ? -1 : 0; }
static ssize_t do_open(const struct command *c, int fd) { return 0; }
static ssize_t do_seek(const struct command *c, int fd) { return lseek(fd, c->off, SEEK_SET) < 0 ? -1 : 0; }
static ssize_t do_close(const struct command *c, int fd) { close_file(c->f); return 0; }

static ssize_t do_unlink(const struct command *c, int fd)
{
	char name[64];

	file_name(name, sizeof(name), c->f);
	return unlink(name);
}

static ssize_t do_rename(const struct command *c, int fd)
{
	char from[64], to[64];

	file_name(from, sizeof(from), c->f);
	file_name(to, sizeof(to), c->to);
	return rename(from, to);
}

static ssize_t do_link(const struct command *c, int fd)
{
	char from[64], to[64];

	file_name(from, sizeof(from), c->f);
	file_name(to, sizeof(to), c->to);
	return link(from, to);
}

/* A child writes through the descriptor that it shares with its parent, position and all. */
static ssize_t do_child(const struct command *c, int fd)
{
	int status;

	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		ssize_t n = write(fd, bytes(c), c->len);

		_exit(n < 0 || n != c->len);
	}
	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	return status ? -1 : c->len;
}

enum { NO_FD = 1 };
static const struct op {
	const char *name;
	int how;
	ssize_t (*make)(const struct command *, int fd);
} ops[] = {
	{ "write", 0, do_write }, { "pwrite", 0, do_pwrite }, { "writev", 0, do_writev }, { "pwritev", 0, do_pwritev },
	{ "pwritev2", 0, do_pwritev2 }, { "pread", 0, do_pread }, { "sendfile", 0, do_sendfile }, { "copy", 0, do_copy },
	{ "splice", 0, do_splice }, { "aio", 0, do_aio }, { "uring", 0, do_uring }, { "uring_fsync", 0, do_uring_fsync },
	{ "store", 0, do_store }, { "msync", 0, do_msync }, { "fsync", 0, do_fsync }, { "fdatasync", 0, do_fdatasync },
	{ "syncfs", 0, do_syncfs }, { "sync", NO_FD, do_sync }, { "range", 0, do_range }, { "truncate", 0, do_truncate },
	{ "fallocate", 0, do_fallocate }, { "forget", 0, do_forget }, { "open", 0, do_open }, { "seek", 0, do_seek },
	{ "close", NO_FD, do_close }, { "unlink", NO_FD, do_unlink }, { "rename", NO_FD, do_rename }, { "link", NO_FD, do_link },
	{ "child", 0, do_child },
};

/* ---- commands ---- */

static bool parse(char *line, struct command *c)
{
	char *word, *rest = NULL;

	memset(c, 0, sizeof(*c));
#define K(name) c->name = -1;
	KEYS(K)
#undef K
	word = strtok_r(line, " \n", &rest);
	if (!word)
		return false;
	snprintf(c->op, sizeof(c->op), "%s", word);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		char *value = strchr(word, '=');

		if (!value)
			return false;
		*value++ = '\0';
		if (!strcmp(word, "mode"))
			snprintf(c->mode, sizeof(c->mode), "%s", value);
#define K(name) else if (!strcmp(word, #name)) c->name = strtoll(value, NULL, 10);
		KEYS(K)
#undef K
	}
	return true;
}

static void limit_size(long long bytes_max)
{
	struct rlimit r;

	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = bytes_max < 0 ? r.rlim_max : (rlim_t)bytes_max;
	setrlimit(RLIMIT_FSIZE, &r);
}

/* What was returned, what file it was, and its size and position before and after. */
static void answer(const struct command *c, const struct op *o)
{
	struct stat before = { 0 }, after = { 0 };
	long long pos = -1, pos_after = -1;
	int fd = -1, err = 0, generation = 0;
	ssize_t ret;

	folios[0] = '\0';
	child = 0;
	if (!(o->how & NO_FD)) {
		fd = descriptor(c->f, c->mode);
		if (fd < 0) {
			fprintf(out, "ret=-1 errno=%d open=1\n", errno);
			return;
		}
		fstat(fd, &before);
		pos = lseek(fd, 0, SEEK_CUR);
		ioctl(fd, FS_IOC_GETVERSION, &generation);
	}
	memset(buffer, 'A' + c->seed % 26, c->len > 0 && c->len <= (long long)BUFFER ? c->len : 0);
	if (c->bad > 0)
		memset(buffer + BUFFER - c->bad, 'A' + c->seed % 26, c->bad);
	if (c->limit >= 0)
		limit_size(c->limit);
	errno = 0;
	ret = o->make(c, fd);
	err = ret < 0 ? errno : 0;
	if (c->limit >= 0)
		limit_size(-1);
	if (fd >= 0) {
		fstat(fd, &after);
		pos_after = lseek(fd, 0, SEEK_CUR);
	}
	fprintf(out, "ret=%zd errno=%d ino=%llu gen=%u size=%lld size_after=%lld pos=%lld pos_after=%lld links=%llu child=%d folios=%s\n", ret, err,
		(unsigned long long)after.st_ino, (unsigned int)generation, (long long)before.st_size, (long long)after.st_size, pos,
		pos_after, (unsigned long long)after.st_nlink, child, folios);
}

static void obey(char *line)
{
	struct command c;

	if (!parse(line, &c))
		die("bad command");
	for (size_t i = 0; i < COUNT(ops); i++) {
		if (strcmp(ops[i].name, c.op))
			continue;
		answer(&c, &ops[i]);
		fflush(out);
		return;
	}
	errno = ENOSYS;
	die(c.op);
}

static FILE *talk(const char *id)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *in;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_name);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die(socket_name);
	out = fdopen(dup(fd), "w");
	in = fdopen(fd, "r");
	if (!in || !out)
		die("fdopen");
	fprintf(out, "%s %d\n", id, getpid());
	fflush(out);
	return in;
}

/* Waits for what is being written back. */
static int wait_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
	close(fd);
	return ret;
}

/* Commands until "quit"; "cd DIR" changes the folder, "other DIR" is the same folder below another mount, "wait FILE" waits for its
 * writeback. What it holds is closed before it says so. */
static void worker(const char *id)
{
	char line[1024];
	FILE *in = talk(id);

	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "quit"))
			break;
		if (!strncmp(line, "other ", 6)) {
			snprintf(other_mount, sizeof(other_mount), "%.390s", line + 6);
			fprintf(out, "ret=0\n");
			fflush(out);
			continue;
		}
		if (!strncmp(line, "cd ", 3) || !strncmp(line, "wait ", 5)) {
			fprintf(out, "ret=%d\n", line[0] == 'c' ? chdir(line + 3) : wait_file(line + 5));
			fflush(out);
			continue;
		}
		obey(line);
	}
	close_file(-1);
	fprintf(out, "ret=0\n");
	fflush(out);
	exit(0);
}

static void worker_begin(void)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		kept[i].fd = -1;
	buffer = mmap(NULL, BUFFER + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED || mprotect(buffer + BUFFER, PAGE, PROT_NONE))
		die("no memory");
	signal(SIGXFSZ, SIG_IGN);
}

/* "fork ID NAME": a worker is born. */
static void host(void)
{
	char line[256], id[64], name[64];
	FILE *in = talk("host");

	signal(SIGCHLD, SIG_IGN);
	while (fgets(line, sizeof(line), in) && sscanf(line, "fork %63s %63s", id, name) == 2) {
		if (fork())
			continue;
		signal(SIGCHLD, SIG_DFL);
		fclose(in);
		fclose(out);
		prctl(PR_SET_NAME, name);
		worker_begin();
		worker(id);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: random-worker SOCKET [ID NAME]\n");
		return 2;
	}
	socket_name = argv[1];
	if (argc == 2) {
		host();
		return 0;
	}
	prctl(PR_SET_NAME, argv[3]);
	worker_begin();
	worker(argv[2]);
}
