// SPDX-License-Identifier: GPL-3.0-only
/* forker.c - processes that do next to nothing, one after the other and fast.
 *
 * usage: forker COUNT read FILE      each child reads 100 bytes of FILE
 *        forker COUNT write DIR      each child writes one byte to a file of its own in DIR
 *        forker COUNT rename FILE    as read, under a name of its own
 *        forker COUNT exec PROGRAM   each child is that program
 *        forker COUNT files DIR      no child: one process writes one byte to each of COUNT files
 *        forker COUNT pwrite FILE    no child: one process asks COUNT times to write 256 MiB over FILE, which it may only read
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void read_some(const char *file)
{
	char buf[100];
	int fd = open(file, O_RDONLY);

	if (fd < 0 || read(fd, buf, sizeof(buf)) != sizeof(buf))
		die(file);
	close(fd);
}

static void write_one(const char *dir, long n)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%ld", dir, n);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1)
		die(path);
	close(fd);
}

static void write_in_vain(const char *file)
{
	int fd = open(file, O_RDONLY);

	/* the descriptor is looked at before the buffer, which is not there */
	if (fd < 0 || syscall(SYS_pwrite64, fd, NULL, 256 << 20, 0) != -1 || errno != EBADF)
		die(file);
	close(fd);
}

static void child(const char *what, const char *arg, long n)
{
	char name[16];

	if (!strcmp(what, "rename")) {
		snprintf(name, sizeof(name), "n%d", (int)n);
		prctl(PR_SET_NAME, name);
	}
	if (!strcmp(what, "write"))
		write_one(arg, n);
	else
		read_some(arg);
	_exit(0);
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[1]) : 0;
	int status;

	if (count < 1)
		return 2;
	for (long n = 0; n < count; n++) {
		char *program[] = { argv[3], NULL }, *none[] = { NULL };
		pid_t pid = 0;

		if (!strcmp(argv[2], "files")) {
			write_one(argv[3], n);
			continue;
		}
		if (!strcmp(argv[2], "pwrite")) {
			write_in_vain(argv[3]);
			continue;
		}
		if (!strcmp(argv[2], "exec")) {
			if (posix_spawn(&pid, argv[3], NULL, NULL, program, none))
				die(argv[3]);
		} else {
			pid = fork();
			if (!pid)
				child(argv[2], argv[3], n);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			die("child");
	}
	return 0;
}
