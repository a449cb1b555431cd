// SPDX-License-Identifier: GPL-3.0-only
/* stuck.c - a process whose memory nobody can look at: one thread stores to a page of FILE that is being written back, another maps over
 * that and holds the lock of the process's memory (mmap_lock) until the first goes on, which the server of the file system decides.
 *
 * usage: stuck FILE       prints "dirty", waits for a line, prints "stuck"
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static char *page;

static void *store(void *arg)
{
	page[1] = 2;
	return arg;
}

static void *map_over(void *arg)
{
	mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return arg;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t thread;
	char line[8];

	if (fd < 0 || ftruncate(fd, PAGE))
		return 1;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 1;
	page[0] = 1;
	puts("dirty");
	fflush(stdout);
	if (read(0, line, sizeof(line)) < 1 || sync_file_range(fd, 0, PAGE, SYNC_FILE_RANGE_WRITE))
		return 1;
	pthread_create(&thread, NULL, store, NULL);
	usleep(300000);
	pthread_create(&thread, NULL, map_over, NULL);
	usleep(300000);
	puts("stuck");
	fflush(stdout);
	pause();
	return 0;
}
