/* SPDX-License-Identifier: GPL-3.0-only */
/* namer.c - calls on names, attributes and mappings, each a known number of times, for
 * tests/trace/vfs.bats. A child named "named" does them: what the loader does is not among them.
 *
 * namer all | long | hostile | rename N   in an empty folder of a file system
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TIMES(n) for (int i = 0; i < (n); i++)
#define PAGE 4096

static char data[1 << 16];

static void must(long result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "namer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must_fail(long result, int error, const char *what)
{
	if (result < 0 && errno == error)
		return;
	fprintf(stderr, "namer: %s did not fail as it should\n", what);
	exit(1);
}

#define MUST(call) must((long)(call), #call)
#define MUST_FAIL(call, error) must_fail((long)(call), error, #call)

static char *numbered(char *to, const char *name, int i)
{
	sprintf(to, "%s%d", name, i);
	return to;
}

static int make(const char *name, size_t size)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(fd);
	MUST(ftruncate(fd, size));
	return fd;
}

/* 17 stat by name, 3 without following, 19 by descriptor, 5 that fail; 7 accesses, 2 fail */
static void attributes(int folder)
{
	struct stat st;
	int fd = make("a", 1);

	TIMES(17) MUST(syscall(SYS_newfstatat, AT_FDCWD, "a", &st, 0));
	TIMES(3) MUST(syscall(SYS_newfstatat, folder, "a", &st, AT_SYMLINK_NOFOLLOW));
	TIMES(19) MUST(syscall(SYS_fstat, fd, &st));
	TIMES(5) MUST_FAIL(stat("none", &st), ENOENT);
	TIMES(7) MUST(syscall(SYS_faccessat, AT_FDCWD, "a", R_OK | W_OK));
	TIMES(2) MUST_FAIL(syscall(SYS_faccessat, AT_FDCWD, "none", F_OK), ENOENT);
	TIMES(5) MUST(syscall(SYS_fchmodat, AT_FDCWD, "a", 0640));
	TIMES(7) MUST(fchmod(fd, 0600));
	TIMES(11) MUST(fchownat(AT_FDCWD, "a", 0, i, 0));
	TIMES(13) MUST(utimensat(folder, "a", NULL, 0));
	TIMES(3) MUST(futimens(fd, NULL));
	TIMES(3) MUST(setxattr("a", "user.one", "x", 1, 0));
	TIMES(2) MUST(fsetxattr(fd, "user.two", "x", 1, 0));
	TIMES(5) MUST(getxattr("a", "user.one", data, 100));
	TIMES(1) MUST_FAIL(getxattr("a", "user.none", data, 100), ENODATA);
	TIMES(2) MUST(flistxattr(fd, data, 1000));
	close(fd);
}

/* 23 + 23 directories entered, 31 names removed of which 2 fail, 41 directories made, 37 removed */
static void folders(int folder)
{
	char name[32];

	MUST(mkdir("sub", 0755));
	TIMES(23) {
		MUST(chdir("sub"));
		MUST(fchdir(folder));
	}
	MUST_FAIL(chdir("none"), ENOENT);
	TIMES(40) MUST(mkdirat(folder, numbered(name, "d", i), 0750));
	TIMES(20) MUST(rmdir(numbered(name, "d", i)));
	TIMES(17) MUST(unlinkat(folder, numbered(name, "d", 20 + i), AT_REMOVEDIR));
	TIMES(29) MUST(mknodat(folder, numbered(name, "p", i), S_IFIFO | 0600, 0));
	TIMES(29) MUST(unlink(numbered(name, "p", i)));
	TIMES(2) MUST_FAIL(unlink("none"), ENOENT);
	TIMES(3) {
		MUST(lseek(folder, 0, SEEK_SET));
		MUST(syscall(SYS_getdents64, folder, data, sizeof(data)));
	}
}

/* 13 hard links, 11 symbolic links, 7 read, 5 renames and 3 exchanges, 1 that fails */
static void links(int folder)
{
	char name[32], to[32];

	close(make("l", 1));
	close(make("m", 1));
	TIMES(13) MUST(linkat(AT_FDCWD, "l", folder, numbered(name, "h", i), 0));
	TIMES(11) MUST(symlink("l", numbered(name, "s", i)));
	TIMES(7) MUST(readlink("s0", data, 100));
	TIMES(5) MUST(rename(numbered(name, "h", i), numbered(to, "r", i)));
	TIMES(3) MUST(syscall(SYS_renameat2, folder, "l", AT_FDCWD, "m", 2));
	MUST_FAIL(rename("none", "sub/none"), ENOENT);
}

/* 5 mappings of 64 KiB, each synced 3 times and advised 7 times; 2 of memory */
static void mappings(void)
{
	int fd = make("map", 1 << 20);
	char *p;

	TIMES(5) {
		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, i * 65536);
		MUST(p == MAP_FAILED ? -1 : 0);
		p[0] = 1;
		for (int n = 0; n < 3; n++)
			MUST(msync(p + PAGE, 8192, MS_SYNC));
		for (int n = 0; n < 7; n++)
			MUST(madvise(p, 65536, MADV_RANDOM));
		MUST(munmap(p, 65536));
	}
	p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	p = mremap(p, 8192, 3 * PAGE, MREMAP_MAYMOVE);
	MUST(p == MAP_FAILED ? -1 : 0);
	TIMES(3) MUST(posix_fadvise(fd, 4096, 8192, POSIX_FADV_SEQUENTIAL));
	TIMES(2) MUST(readahead(fd, 0, 4096));
	close(fd);
}

/* 5 files locked by flock, 3 ranges by fcntl, unlocked each; 7 asked for, which is nothing */
static void locks(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_start = 100, .l_len = 11 };
	int fd = make("lock", 1), pipes[2], more[2];
	struct iovec v = { data, 997 };

	TIMES(5) MUST(flock(fd, LOCK_EX | LOCK_NB));
	TIMES(3) MUST(fcntl(fd, F_SETLK, &l));
	TIMES(7) MUST(fcntl(fd, F_GETFL));
	TIMES(2) MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 65536));
	MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 4096, 4096));
	close(fd);
	MUST(pipe(pipes));
	MUST(pipe(more));
	TIMES(11) {
		MUST(vmsplice(pipes[1], &v, 1, 0));
		if (i < 3)
			MUST(tee(pipes[0], more[1], 997, SPLICE_F_NONBLOCK));
		MUST(read(pipes[0], data, 997));
	}
}

/* 13 opens by openat2, 3 by creat, 7 that fail; a name in memory that is not there, 3 times */
static void opens(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
	char *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	TIMES(13) {
		int fd = syscall(SYS_openat2, AT_FDCWD, "a", &how, sizeof(how));

		MUST(fd);
		close(fd);
	}
	TIMES(3) close(creat("c", 0600));
	TIMES(7) MUST_FAIL(open("none", O_RDWR | O_SYNC), ENOENT);
	TIMES(3) MUST_FAIL(open(gone, O_RDONLY), EFAULT);
	TIMES(5) MUST(truncate("a", 100 + i));
}

/* A path of 4,090 bytes, made of "./", to a file; and one of 5,000, which is too long. */
static void long_path(void)
{
	static char path[5001];
	struct stat st;

	for (int i = 0; i < 4089; i += 2)
		memcpy(path + i, "./", 2);
	memcpy(path + 4088, "zz", 3);
	close(make("zz", 1));
	MUST(stat(path, &st));
	MUST(access(path, R_OK));
	memset(path, 'q', 5000);
	MUST_FAIL(access(path, R_OK), ENAMETOOLONG);
}

/* Names with a newline, with bytes that are no UTF-8, with an escape, with quotes. */
static void hostile(void)
{
	static const char *const names[] = { "new\nline", "by\xfft\xc3", "esc\x1b[31m",
		"qu\"o'te\\", "?",
		"-rf", "sp ace" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		MUST(mkdir(names[i], 0700));
		MUST(rename(names[i], "other"));
		MUST(rename("other", names[i]));
		MUST(rmdir(names[i]));
	}
}

static void rename_often(int n)
{
	char a[32], b[32];

	close(make("r0", 1));
	TIMES(n) MUST(rename(numbered(a, "r", i), numbered(b, "r", i + 1)));
}

static int work(const char *what, int n)
{
	int folder = open(".", O_RDONLY | O_DIRECTORY);

	MUST(folder);
	if (!strcmp(what, "all")) {
		attributes(folder);
		folders(folder);
		links(folder);
		mappings();
		locks();
		opens();
	} else if (!strcmp(what, "long")) {
		long_path();
	} else if (!strcmp(what, "hostile")) {
		hostile();
	} else if (!strcmp(what, "rename")) {
		rename_often(n);
	} else {
		return 2;
	}
	MUST(close(folder));
	return 0;
}

int main(int argc, char **argv)
{
	int status;
	pid_t child = argc > 1 ? fork() : -1;

	if (!child) {
		prctl(PR_SET_NAME, "named");
		_exit(work(argv[1], argc > 2 ? atoi(argv[2]) : 0));
	}
	MUST(waitpid(child, &status, 0));
	return WEXITSTATUS(status);
}
