// SPDX-License-Identifier: GPL-3.0-only
/* settle.c - a thread that syncs, so that the ring is read meanwhile. It belongs to the tracer's process: what it
 * calls is not recorded, and what it causes belongs to those who made the bytes dirty. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "place.h"
#include "settle.h"

struct settle_job {
	char **mounts;
	size_t n;
	int err;
	atomic_bool over;
};

/* A folder, or a file, which can be mounted on too. Whoever can write a folder on the way may have put another thing there: to open a
 * device may be an order to it (watchdog, tape). */
static int open_mount(const char *mount)
{
	auto_close int at = open(mount, O_PATH | O_CLOEXEC);
	struct stat st;
	char path[32];
	int fd;

	if (at < 0 || fstat(at, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return -PLACE_EXCHANGED;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int sync_mount(const char *mount)
{
	auto_close int fd = open_mount(mount);

	return fd < 0 || syncfs(fd) ? fail(fd < 0 ? fd : errno, "cannot sync the file system at %s", mount) : 0;
}

static void *job_run(void *arg)
{
	struct settle_job *j = arg;

	for (size_t i = 0; i < j->n; i++) {
		int err = sync_mount(j->mounts[i]);

		j->err = j->err ? j->err : err;
	}
	if (!j->n)
		sync();
	atomic_store(&j->over, true);
	return NULL;
}

int settle_start(struct settle_job **out, const char *const *mounts, size_t n)
{
	struct settle_job *j = calloc(1, sizeof(*j));
	pthread_t thread;
	int err;

	*out = j;
	if (!j || !(j->mounts = calloc(n + 1, sizeof(*j->mounts))))
		return fail(ENOMEM, "settling");
	for (j->n = 0; j->n < n; j->n++)
		if (!(j->mounts[j->n] = strdup(mounts[j->n])))
			return fail(ENOMEM, "settling");
	err = pthread_create(&thread, NULL, job_run, j);
	if (err)
		return fail(err, "cannot start the thread that syncs");
	pthread_detach(thread);
	return 0;
}

bool settle_over(struct settle_job *j, int *err)
{
	if (!atomic_load(&j->over))
		return false;
	*err = j->err;
	return true;
}

void settle_free(struct settle_job *j)
{
	for (size_t i = 0; j && i < j->n; i++)
		free(j->mounts[i]);
	if (j)
		free(j->mounts);
	free(j);
}
