/* SPDX-License-Identifier: GPL-3.0-only */
/* faulty.c - preloaded into a program: one of its calls goes wrong.
 *
 * FAULTY="CALL NUMBER HOW": the NUMBER-th call (from 1) of that kind fails with errno HOW; 0: it
 * does half of what was asked; -1: the process is killed instead of it. A + behind HOW: so do all
 * that follow. When that happened a byte is written to descriptor FAULTY_FD. A * behind that: the
 * process itself goes on, and at the NUMBER-th call and each STEP after it (`*STEP`; 0: NUMBER
 * grows by a quarter) a child of it is the one to whom that happens; what became of it is a struct
 * fault_end in FAULTY_FD. For programs that change no file. alloc is malloc() by anybody but
 * SQLite, which asks for memory ten times as often and is known to go on without it, but where a
 * database of its own is exchanged: batch is malloc() there. tmpfile is open() with O_TMPFILE, link
 * is linkat() and renameat2().
 * To have another call go wrong: a row of `calls`, and its function below. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "faulty.h"

enum call {
	CALL_pwrite,
	CALL_read,
	CALL_fsync,
	CALL_ftruncate,
	CALL_open,
	CALL_mmap,
	CALL_unlink,
	CALL_tmpfile,
	CALL_link,
	CALL_lock,
	CALL_malloc,
	CALL_alloc,
	CALL_batch,
	CALL_MAX
};

static const char *const calls[] = { "pwrite", "read",	 "fsync",   "ftruncate", "open",
				     "mmap",   "unlink", "tmpfile", "link",	 "lock",
				     "malloc", "alloc",	 "batch" };

static struct {
	enum call call;
	long left;              /* until it goes wrong */
	int how;
	bool on, stays, told;
	bool forks, at_it;
	long n, step; /* of a process that forks: of this call; to the next child, 0: a quarter */
} fault;

static struct { uintptr_t from, to; } sqlite;

static int find_sqlite(struct dl_phdr_info *o, size_t size, void *arg)
{
	for (int i = 0; strstr(o->dlpi_name, "libsqlite3") && i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_LOAD && o->dlpi_phdr[i].p_flags & PF_X) {
			sqlite.from = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
			sqlite.to = sqlite.from + o->dlpi_phdr[i].p_memsz;
		}
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAULTY"), *star = text ? strchr(text, '*') : NULL;
	char name[16];
	int call;

	if (!text || sscanf(text, "%15s %ld %d", name, &fault.left, &fault.how) < 3)
		return;
	for (call = 0; call < CALL_MAX && strcmp(calls[call], name); call++)
		;
	dl_iterate_phdr(find_sqlite, NULL);
	fault.call = call;
	fault.stays = strchr(text, '+');
	fault.forks = star;
	fault.step = star ? atol(star + 1) : 0;
	fault.on = call < CALL_MAX;
}

/* The contents of a file, to its end. Its offset stays. */
static uint64_t hash_of(int fd)
{
	static char buf[1 << 16];
	uint64_t h = FAULT_HASH;
	ssize_t n;

	for (off_t at = 0; (n = syscall(SYS_pread64, fd, buf, sizeof(buf), at)) > 0; at += n)
		h = fault_mix(h, buf, n);
	return h;
}

/* The child has an output of its own, which begins with what was put out so far. */
static int begin_output(void)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	off_t from = 0, size = lseek(STDOUT_FILENO, 0, SEEK_CUR);

	while (from < size) {
		char buf[4096];
		ssize_t n = syscall(SYS_pread64, STDOUT_FILENO, buf,
				    size - from < 4096 ? size - from : 4096, from);

		if (n <= 0 || write(fd, buf, n) != n)
			abort();
		from += n;
	}
	return fd;
}

/* At its turn: true in the child, to whom it happens. */
static bool is_child(void)
{
	struct fault_end end = { .n = ++fault.n };
	int fd, status = 0;
	pid_t pid;

	if (fault.n < fault.left)
		return false;
	fault.left = fault.n + (fault.step ?: 1 + fault.n / 4);
	fault.at_it = true;
	fd = begin_output();
	pid = fork();
	if (!pid) {
		if (dup2(fd, STDOUT_FILENO) < 0)
			abort();
		alarm(FAULT_LIMIT_S);
		fault.at_it = fault.forks = false;
		fault.left = 1;
		fault.told = true;
		return true;
	}
	while (pid < 0 || (waitpid(pid, &status, 0) < 0 && errno == EINTR))
		if (pid < 0)
			abort();
	end.status = status;
	end.output = hash_of(fd);
	close(fd);
	if (syscall(SYS_write, FAULTY_FD, &end, sizeof(end)) != sizeof(end))
		abort();
	fault.at_it = false;
	return false;
}

/* Whether this call goes wrong: 1, errno is set; 2: it does half. */
static int goes_wrong(enum call call)
{
	if (!fault.on || call != fault.call || fault.at_it || (fault.forks && !is_child()))
		return 0;
	if (--fault.left > 0 || (fault.left < 0 && !fault.stays))
		return 0;
	if (!fault.told)
		syscall(SYS_write, FAULTY_FD, "!", 1);
	fault.told = true;
	if (fault.how < 0)
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	if (!fault.how)
		return 2;
	errno = fault.how;
	return 1;
}

#define NEXT(name, ...) ({ \
	static __typeof__(&name) next_; \
	if (!next_) \
		next_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
	next_(__VA_ARGS__); \
})

/* Halves the length asked for, but not to nothing. */
#define MOVES(call, name, fd, buf, n, ...) ({ \
	int wrong_ = goes_wrong(call); \
	wrong_ == 1 ? -1 : NEXT(name, fd, buf, wrong_ && (n) > 1 ? (n) / 2 : (n), ##__VA_ARGS__); \
})
#define FAILS(call, name, ...) (goes_wrong(call) == 1 ? -1 : NEXT(name, __VA_ARGS__))

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return MOVES(CALL_pwrite, pwrite, fd, buf, n, at);
}
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	return MOVES(CALL_pwrite, pwrite64, fd, buf, n, at);
}
ssize_t read(int fd, void *buf, size_t n) { return MOVES(CALL_read, read, fd, buf, n); }
ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	return MOVES(CALL_read, pread, fd, buf, n, at);
}
ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
	return MOVES(CALL_read, pread64, fd, buf, n, at);
}
int fsync(int fd) { return FAILS(CALL_fsync, fsync, fd); }
int fdatasync(int fd) { return FAILS(CALL_fsync, fdatasync, fd); }
int ftruncate(int fd, off_t size) { return FAILS(CALL_ftruncate, ftruncate, fd, size); }
int ftruncate64(int fd, off64_t size) { return FAILS(CALL_ftruncate, ftruncate64, fd, size); }
int unlink(const char *path) { return FAILS(CALL_unlink, unlink, path); }
int unlinkat(int dir, const char *path, int flags)
{
	return FAILS(CALL_unlink, unlinkat, dir, path, flags);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
	return FAILS(CALL_link, linkat, from, path, to, name, flags);
}

int renameat2(int from, const char *path, int to, const char *name, unsigned int flags)
{
	return FAILS(CALL_link, renameat2, from, path, to, name, flags);
}

static int mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
}

#define OPENS(name, flags, ...)                                                                    \
	({                                                                                         \
		va_list args_;                                                                     \
		int mode_;                                                                         \
		va_start(args_, flags);                                                            \
		mode_ = mode_of(flags, args_);                                                     \
		va_end(args_);                                                                     \
		FAILS((flags & O_TMPFILE) == O_TMPFILE ? CALL_tmpfile : CALL_open, name,           \
		      __VA_ARGS__, flags, mode_);                                                  \
	})

int open(const char *path, int flags, ...) { return OPENS(open, flags, path); }
int open64(const char *path, int flags, ...) { return OPENS(open64, flags, path); }
int openat(int dir, const char *path, int flags, ...) { return OPENS(openat, flags, dir, path); }
int openat64(int dir, const char *path, int flags, ...)
{
	return OPENS(openat64, flags, dir, path);
}

/* The names that _FORTIFY_SOURCE gives to calls without a mode. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }
int __openat_2(int dir, const char *path, int flags) { return openat(dir, path, flags); }
int __openat64_2(int dir, const char *path, int flags) { return openat64(dir, path, flags); }

#define LOCKS(call, fd, command) ({ \
	va_list args; \
	void *arg; \
	va_start(args, command); \
	arg = va_arg(args, void *); \
	va_end(args); \
	command == F_SETLK && goes_wrong(CALL_lock) == 1 ? -1 : NEXT(call, fd, command, arg); })

int fcntl(int fd, int command, ...) { return LOCKS(fcntl, fd, command); }
int fcntl64(int fd, int command, ...) { return LOCKS(fcntl64, fd, command); }

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	return fd >= 0 && goes_wrong(CALL_mmap) == 1 ? MAP_FAILED
						     : NEXT(mmap, at, n, prot, flags, fd, from);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
	return fd >= 0 && goes_wrong(CALL_mmap) == 1 ? MAP_FAILED
						     : NEXT(mmap64, at, n, prot, flags, fd, from);
}

/* dlsym() itself allocates. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static bool in_batch;

int sqlite3_deserialize(void *db, const char *name, unsigned char *image, int64_t size,
			int64_t room, unsigned int flags)
{
	__typeof__(&sqlite3_deserialize) next =
		(__typeof__(&sqlite3_deserialize))dlsym(RTLD_NEXT, "sqlite3_deserialize");
	int rc;

	in_batch = true;
	rc = next(db, name, image, size, room, flags);
	in_batch = false;
	return rc;
}

/* For whom memory is asked: by its caller. */
static bool is_refused(const void *caller)
{
	bool by_sqlite = (uintptr_t)caller - sqlite.from < sqlite.to - sqlite.from;

	return goes_wrong(CALL_malloc) == 1 || (!by_sqlite && goes_wrong(CALL_alloc) == 1) ||
	       (in_batch && goes_wrong(CALL_batch) == 1);
}
#define REFUSED is_refused(__builtin_return_address(0))

void *malloc(size_t n) { return REFUSED ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return REFUSED ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return REFUSED ? NULL : __libc_realloc(p, n); }
