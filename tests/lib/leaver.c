/* SPDX-License-Identifier: GPL-3.0-only */
/* leaver.c - a process whose two threads both have left when one of them ends, and the other does so later: it waits for the file system that
 * holds the word which the kernel clears then.
 *
 * usage: leaver FILE OUT    after "ready" the file system of FILE is to be frozen, then a line comes on standard input; both threads write to OUT
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int out;
static char bytes[5000], *word;
static volatile pid_t other;

/* Does the other thread wait for the file system? */
static int waits(void)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", other);
	f = other ? fopen(path, "r") : NULL;
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'D';
}

static void *leave(void *unused)
{
	char line[16];

	other = syscall(SYS_set_tid_address, word);
	puts("ready");
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0 || write(out, bytes, 5000) != 5000)
		exit(1);
	syscall(SYS_exit, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t t;

	if (fd < 0 || ftruncate(fd, 4096) ||
	    (word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		return 2;
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (out < 0 || pthread_create(&t, NULL, leave, NULL))
		return 2;
	for (int i = 0; !waits(); i++)
		if (i == 3000 || usleep(10000))
			return 1;
	if (write(out, bytes, 300) != 300)
		return 1;
	syscall(SYS_exit, 0);
}
