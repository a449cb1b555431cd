/* SPDX-License-Identifier: GPL-3.0-only */
/* faulty.c - preloaded into a program: one of its calls goes wrong.
 *
 * FAULTY="CALL NUMBER HOW": the NUMBER-th call (from 1) of that kind fails with errno HOW; 0: it does half of what was asked; -1: the
 * process is killed instead of it. A + behind HOW: so do all that follow. When that happened a byte is written to descriptor FAULTY_FD.
 * alloc is malloc() by anybody but SQLite, which asks for memory ten times as often and is known to go on without it.
 * To have another call go wrong: a row of `calls`, and its function below.
 */
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
#include <unistd.h>

#define FAULTY_FD 99

enum call { CALL_write, CALL_pwrite, CALL_read, CALL_fsync, CALL_ftruncate, CALL_open, CALL_mmap, CALL_unlink, CALL_lock, CALL_malloc, CALL_alloc, CALL_MAX };

static const char *const calls[] = { "write", "pwrite", "read", "fsync", "ftruncate", "open", "mmap", "unlink", "lock", "malloc", "alloc" };

static struct {
	enum call call;
	long left;              /* until it goes wrong */
	int how;
	bool on, stays, told;
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
	const char *text = getenv("FAULTY");
	char name[16], plus = 0;
	int call;

	if (!text || sscanf(text, "%15s %ld %d%c", name, &fault.left, &fault.how, &plus) < 3)
		return;
	for (call = 0; call < CALL_MAX && strcmp(calls[call], name); call++)
		;
	dl_iterate_phdr(find_sqlite, NULL);
	fault.call = call;
	fault.stays = plus == '+';
	fault.on = call < CALL_MAX;
}

/* Whether this call goes wrong: 1, errno is set; 2: it does half. */
static int goes_wrong(enum call call)
{
	if (!fault.on || call != fault.call || --fault.left > 0 || (fault.left < 0 && !fault.stays))
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

/* What is asked for is halved, but not to nothing. */
#define MOVES(call, name, fd, buf, n, ...) ({ \
	int wrong_ = goes_wrong(call); \
	wrong_ == 1 ? -1 : NEXT(name, fd, buf, wrong_ && (n) > 1 ? (n) / 2 : (n), ##__VA_ARGS__); \
})
#define FAILS(call, name, ...) (goes_wrong(call) == 1 ? -1 : NEXT(name, __VA_ARGS__))

ssize_t write(int fd, const void *buf, size_t n) { return MOVES(CALL_write, write, fd, buf, n); }
ssize_t pwrite(int fd, const void *buf, size_t n, off_t at) { return MOVES(CALL_pwrite, pwrite, fd, buf, n, at); }
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at) { return MOVES(CALL_pwrite, pwrite64, fd, buf, n, at); }
ssize_t read(int fd, void *buf, size_t n) { return MOVES(CALL_read, read, fd, buf, n); }
ssize_t pread(int fd, void *buf, size_t n, off_t at) { return MOVES(CALL_read, pread, fd, buf, n, at); }
ssize_t pread64(int fd, void *buf, size_t n, off64_t at) { return MOVES(CALL_read, pread64, fd, buf, n, at); }
int fsync(int fd) { return FAILS(CALL_fsync, fsync, fd); }
int fdatasync(int fd) { return FAILS(CALL_fsync, fdatasync, fd); }
int ftruncate(int fd, off_t size) { return FAILS(CALL_ftruncate, ftruncate, fd, size); }
int ftruncate64(int fd, off64_t size) { return FAILS(CALL_ftruncate, ftruncate64, fd, size); }
int unlink(const char *path) { return FAILS(CALL_unlink, unlink, path); }
int unlinkat(int dir, const char *path, int flags) { return FAILS(CALL_unlink, unlinkat, dir, path, flags); }

static int mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
}

#define OPENS(name, flags, ...) ({ \
	va_list args_; \
	int mode_; \
	va_start(args_, flags); \
	mode_ = mode_of(flags, args_); \
	va_end(args_); \
	FAILS(CALL_open, name, __VA_ARGS__, flags, mode_); \
})

int open(const char *path, int flags, ...) { return OPENS(open, flags, path); }
int open64(const char *path, int flags, ...) { return OPENS(open64, flags, path); }
int openat(int dir, const char *path, int flags, ...) { return OPENS(openat, flags, dir, path); }
int openat64(int dir, const char *path, int flags, ...) { return OPENS(openat64, flags, dir, path); }

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
	return fd >= 0 && goes_wrong(CALL_mmap) == 1 ? MAP_FAILED : NEXT(mmap, at, n, prot, flags, fd, from);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
	return fd >= 0 && goes_wrong(CALL_mmap) == 1 ? MAP_FAILED : NEXT(mmap64, at, n, prot, flags, fd, from);
}

/* dlsym() itself allocates. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

/* For whom memory is asked: by its caller. */
static bool is_refused(const void *caller)
{
	bool by_sqlite = (uintptr_t)caller - sqlite.from < sqlite.to - sqlite.from;

	return goes_wrong(CALL_malloc) == 1 || (!by_sqlite && goes_wrong(CALL_alloc) == 1);
}
#define REFUSED is_refused(__builtin_return_address(0))

void *malloc(size_t n) { return REFUSED ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return REFUSED ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return REFUSED ? NULL : __libc_realloc(p, n); }
