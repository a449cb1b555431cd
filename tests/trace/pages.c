// SPDX-License-Identifier: GPL-3.0-only
/* pages.c - does one thing with the page cache of a file, as cache.bats asks for, and prints what
 * the kernel counted for it: lines "name number".
 *
 * pages VERB FILE [N]: cold, warm: N random reads of a page, at places that do not repeat;
 * sequential: reads the file; drop: posix_fadvise(DONTNEED); truncate: to N pages; unlink; load,
 * store: touches N pages of a mapping; cached: pages of the file in the cache.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static char buffer[1 << 20];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Page of the nth access among `pages`, a prime: no page comes twice. */
static long place(long n, long pages)
{
	return n * 4099 % pages;
}

static void reads(int fd, long n, long pages)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (long i = 0; i < n; i++)
		if (pread(fd, buffer, PAGE, place(i, pages) * PAGE) != PAGE)
			die("pread");
}

/* Faults of this process while it touches n pages of a mapping. */
static void touches(int fd, long n, long pages, int stores)
{
	volatile char *map = mmap(NULL, pages * PAGE, PROT_READ | (stores ? PROT_WRITE : 0),
		MAP_SHARED, fd, 0);
	struct rusage before, after;

	if (map == MAP_FAILED)
		die("mmap");
	madvise((void *)map, pages * PAGE, MADV_RANDOM);
	getrusage(RUSAGE_SELF, &before);
	for (long i = 0; i < n; i++) {
		volatile char *at = map + i * 19 * PAGE;

		if (stores)
			*at = 1;
		else
			(void)*at;
	}
	getrusage(RUSAGE_SELF, &after);
	printf("major %ld\nminor %ld\n", after.ru_majflt - before.ru_majflt,
		after.ru_minflt - before.ru_minflt);
	munmap((void *)map, pages * PAGE);
}

/* Pages of the file in the cache; -1: this kernel has no cachestat(2) (6.5). */
static void cached(int fd)
{
	struct {
		uint64_t off, len;
	} range = { 0, 0 };
	struct {
		uint64_t cache, dirty, writeback, evicted, recently;
	} st = { 0 };
	long err = syscall(SYS_cachestat, fd, &range, &st, 0);

	printf("cached %ld\n", err ? -1 : (long)st.cache);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
	long n = argc > 3 ? atol(argv[3]) : 0, got, sum = 0;
	int fd = open(file, !strcmp(verb, "store") ? O_RDWR : O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die(file);
	if (!strcmp(verb, "cold") || !strcmp(verb, "warm"))
		reads(fd, n, st.st_size / PAGE);
	else if (!strcmp(verb, "sequential")) {
		while ((got = read(fd, buffer, n ? n : PAGE)) > 0)
			sum += got;
		printf("read %ld\n", sum);
	} else if (!strcmp(verb, "drop"))
		return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	else if (!strcmp(verb, "truncate"))
		return truncate(file, n * PAGE);
	else if (!strcmp(verb, "unlink"))
		return unlink(file);
	else if (!strcmp(verb, "load") || !strcmp(verb, "store"))
		touches(fd, n, st.st_size / PAGE, !strcmp(verb, "store"));
	else if (!strcmp(verb, "cached"))
		cached(fd);
	else
		return 2;
	return 0;
}
