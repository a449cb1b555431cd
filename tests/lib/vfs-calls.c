// SPDX-License-Identifier: GPL-3.0-only
/* vfs-calls [waits N] - each operation of the VFS a prime number of times, in the working folder,
 * with bytes that are multiples of no block. Prints "KIND OPERATIONS BYTES" for each kind, as
 * kinds.def names it: operations that reach a function of the VFS. A call that fails before, by a
 * name that is not there, is none.
 *
 * waits N: N processes wait for a lock at the same time.
 *
 * To add an operation: a call, and its part of the numbers that are printed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK 4096

static char buf[1 << 16] __attribute__((aligned(BLOCK)));
static unsigned long opens, closes;

#define TIMES(n) for (int i = 0; i < (n); i++)
/* Ends the program when a call fails. */
#define MUST(call) ({ long r__ = (long)(call); \
	if (r__ < 0) { perror(#call); exit(1); } r__; })

static void say(const char *kind, unsigned long ops, unsigned long bytes)
{
	printf("%s %lu %lu\n", kind, ops, bytes);
}

static int take(const char *name, int flags)
{
	opens++;
	return MUST(open(name, flags, 0600));
}

static void give(int fd)
{
	closes++;
	MUST(close(fd));
}

static void moves(void)
{
	struct iovec v[2] = { { buf, 500 }, { buf + 500, 509 } };
	int fd = take("data", O_RDWR | O_CREAT);
	int direct = take("direct", O_RDWR | O_CREAT | O_DIRECT);

	TIMES(7) MUST(write(fd, buf, 1009));
	TIMES(11) MUST(pwrite(fd, buf, 1013, i * BLOCK));
	TIMES(13) MUST(writev(fd, v, 2));
	TIMES(5) MUST(pwritev2(fd, v, 2, 8192, RWF_DSYNC));
	TIMES(17) MUST(pread(fd, buf, 1009, i * 31));
	TIMES(19) MUST(preadv(fd, v, 2, 8192));
	TIMES(29) MUST(pwrite(direct, buf, BLOCK, i * BLOCK));
	TIMES(23) MUST(pread(direct, buf, BLOCK, i * BLOCK));
	say("vfs_write", 7 + 11 + 13 + 5 + 29, 7 * 1009 + 11 * 1013 + 18 * 1009 + 29 * BLOCK);
	say("vfs_read", 17 + 19 + 23, 36 * 1009 + 23 * BLOCK);
	say("vfs_dio_write", 29, 29 * BLOCK);
	say("vfs_dio_read", 23, 23 * BLOCK);
	give(fd);
	give(direct);
}

static void syncs(void)
{
	int fd = take("data", O_RDWR);
	char *p;

	TIMES(3) MUST(fsync(fd));
	TIMES(5) MUST(fdatasync(fd));
	TIMES(7) MUST(sync_file_range(fd, 0, BLOCK, SYNC_FILE_RANGE_WRITE));
	TIMES(2) MUST(syncfs(fd));
	p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	TIMES(11) MUST(msync(p, BLOCK, MS_SYNC));
	TIMES(12) MUST(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	MUST(munmap(p, BLOCK));
	TIMES(4) MUST(munmap(mmap(NULL, BLOCK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     BLOCK));
	say("vfs_fsync", 3 + 5 + 7, 0);
	say("vfs_sync", 2, 0);
	say("vfs_msync", 11, 0);
	say("vfs_mmap", 13, 0);
	say("vfs_munmap", 5, 0);
	give(fd);
}

static void attributes(void)
{
	struct stat st;
	struct statx sx;
	int fd = take("data", O_RDWR);

	TIMES(17) MUST(stat("data", &st));
	TIMES(19) MUST(fstat(fd, &st));
	TIMES(23) MUST(statx(AT_FDCWD, "data", 0, STATX_ALL, &sx));
	TIMES(5) MUST(chmod("data", 0600 + i));
	TIMES(7) MUST(fchmod(fd, 0600 + i));
	TIMES(11) MUST(chown("data", 0, i));
	TIMES(13) MUST(utimensat(AT_FDCWD, "data", NULL, 0));
	TIMES(19) MUST(setxattr("data", "user.a", buf, 10 + i, 0));
	TIMES(5) MUST(getxattr("data", "user.a", buf, 100));
	TIMES(2) MUST(listxattr("data", buf, 100));
	TIMES(1) MUST(removexattr("data", "user.a"));
	TIMES(3) MUST(access("data", R_OK));
	TIMES(8) MUST(flock(fd, i % 2 ? LOCK_UN : LOCK_EX));
	TIMES(11) MUST(fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_len = 10 + i }));
	say("vfs_getattr", 17 + 19 + 23, 0);
	say("vfs_setattr", 5 + 7 + 11 + 13, 0);
	say("vfs_setxattr", 20, 0);
	say("vfs_getxattr", 7, 0);
	say("vfs_access", 3, 0);
	say("vfs_flock", 8 + 11, 0);
	give(fd);
}

static const char *name(const char *of, int n)
{
	static char text[2][32];
	static int which;

	which = !which;
	snprintf(text[which], sizeof(text[which]), "%s%d", of, n);
	return text[which];
}

static void names(void)
{
	int fd = take("sized", O_RDWR | O_CREAT), d = take(".", O_RDONLY | O_DIRECTORY);
	int entries = 0;

	give(take("r0", O_CREAT | O_WRONLY));
	TIMES(37) MUST(rename(name("r", i), name("r", i + 1)));
	TIMES(47) MUST(link("sized", name("l", i)));
	TIMES(53) MUST(symlink("sized", name("s", i)));
	TIMES(43) MUST(unlink(name("l", i)));
	TIMES(41) MUST(mkdir(name("d", i), 0700));
	TIMES(31) MUST(rmdir(name("d", i)));
	TIMES(7) MUST(mkfifo(name("f", i), 0600));
	TIMES(23) MUST(chdir("."));
	TIMES(11) MUST(fchdir(d));
	TIMES(11) MUST(truncate("sized", 50000 - i));
	TIMES(31) MUST(ftruncate(fd, 40000 - i));
	TIMES(59) MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, i * 4096, 4096));
	while (MUST(syscall(SYS_getdents64, d, buf, 512)) > 0)
		entries++;
	say("vfs_chdir", 23 + 11, 0);
	say("vfs_rename", 37, 0);
	say("vfs_link", 47, 0);
	say("vfs_symlink", 53, 0);
	say("vfs_unlink", 43, 0);
	say("vfs_mkdir", 41, 0);
	say("vfs_rmdir", 31, 0);
	say("vfs_mknod", 7, 0);
	say("vfs_truncate", 11 + 31, 0);
	say("vfs_fallocate", 59, 0);
	say("vfs_readdir", entries + 1, 0);
	give(fd);
	give(d);
}

static void transfers(void)
{
	int in = take("data", O_RDONLY), out = take("sent", O_CREAT | O_RDWR), pipes[2];
	off_t at;

	MUST(pipe(pipes));
	TIMES(13) {
		at = i * 3;
		MUST(sendfile(out, in, &at, 1009));
	}
	TIMES(17) {
		loff_t from = i * 5;

		MUST(splice(in, &from, pipes[1], NULL, 997, 0));
		MUST(splice(pipes[0], NULL, out, NULL, 997, 0));
	}
	MUST(close(pipes[0]));
	MUST(close(pipes[1]));
	closes += 2;
	say("vfs_sendfile", 13, 13 * 1009);
	say("vfs_splice", 2 * 17, 2 * 17 * 997);
	say("vfs_write", 13 + 17, 13 * 1009 + 17 * 997);
	say("vfs_read", 13 + 17, 13 * 1009 + 17 * 997);
	give(in);
	give(out);
}

/* Locks, of any process, that are waited for. */
static int waiting(void)
{
	FILE *f = fopen("/proc/locks", "r");
	char line[256];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "-> ");
	if (f)
		fclose(f);
	return n;
}

static void waits(int n)
{
	struct flock l = { .l_type = F_WRLCK };
	int fd = take("held", O_RDWR | O_CREAT);

	MUST(fcntl(fd, F_SETLK, &l));
	TIMES(n)
		if (!MUST(fork())) {
			MUST(fcntl(fd, F_SETLKW, &l));
			_exit(0);
		}
	while (waiting() < n)
		usleep(10000);
	l.l_type = F_UNLCK;
	MUST(fcntl(fd, F_SETLK, &l));
	TIMES(n) MUST(wait(NULL));
	say("vfs_flock", n + 2, 0);
}

int main(int argc, char **argv)
{
	static char out[4096];

	setvbuf(stdout, out, _IOFBF, sizeof(out)); /* else the library asks for its attributes */
	if (argc == 3 && !strcmp(argv[1], "waits")) {
		waits(atoi(argv[2]));
		return 0;
	}
	moves();
	syncs();
	attributes();
	names();
	transfers();
	for (int i = 0; i < 3; i++, opens++)
		if (open("no such name", O_RDONLY) >= 0)
			return 1;
	say("vfs_open", opens, 0);
	say("vfs_close", closes, 0);
	return 0;
}
