// SPDX-License-Identifier: GPL-3.0-only
/* settle.c - a thread that syncs, and has journals emptied, so that the ring is read meanwhile. It belongs to the tracer's process: what it
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
#include "checkpoint.h"
#include "place.h"
#include "settle.h"

struct settle_job {
	char **mounts;
	u32 *devs;
	size_t n;
	bool all, checkpoint;
	int err, checkpoint_err;
	atomic_bool over;
};

/* A folder, or a file, which can be mounted on too. Whoever can write a folder on the way may have put another thing there: to open a
 * device may be an order to it (watchdog, tape). */
int settle_open(const char *mount)
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

static void first(int *to, int err)
{
	*to = *to ? *to : err;
}

static void settle_mount(struct settle_job *j, size_t i)
{
	const char *mount = j->mounts[i];
	auto_close int fd = settle_open(mount);

	if (fd < 0 || syncfs(fd))
		first(&j->err, fail(fd < 0 ? fd : errno, "cannot sync the file system at %s", mount));
	else if (j->checkpoint)
		first(&j->checkpoint_err, checkpoint_mount(fd, mount, j->devs[i]));
}

static void *job_run(void *arg)
{
	struct settle_job *j = arg;

	if (j->all)
		sync();
	for (size_t i = 0; i < j->n; i++)
		settle_mount(j, i);
	atomic_store(&j->over, true);
	return NULL;
}

int settle_start(struct settle_job **out, const struct settle_what *what)
{
	struct settle_job *j = calloc(1, sizeof(*j));
	const size_t n = what->n;
	pthread_t thread;
	int err;

	*out = j;
	if (!j || !(j->mounts = calloc(n + 1, sizeof(*j->mounts))) || !(j->devs = calloc(n + 1, sizeof(*j->devs))))
		return fail(ENOMEM, "settling");
	if (what->devs)
		memcpy(j->devs, what->devs, n * sizeof(*j->devs));
	for (j->n = 0; j->n < n; j->n++)
		if (!(j->mounts[j->n] = strdup(what->mounts[j->n])))
			return fail(ENOMEM, "settling");
	j->all = what->all;
	j->checkpoint = what->checkpoint;
	err = pthread_create(&thread, NULL, job_run, j);
	if (err)
		return fail(err, "cannot start the thread that syncs");
	pthread_detach(thread);
	return 0;
}

bool settle_over(struct settle_job *j, int *err, int *checkpoint_err)
{
	if (!atomic_load(&j->over))
		return false;
	*err = j->err;
	*checkpoint_err = j->checkpoint_err;
	return true;
}

void settle_free(struct settle_job *j)
{
	for (size_t i = 0; j && i < j->n; i++)
		free(j->mounts[i]);
	if (j) {
		free(j->mounts);
		free(j->devs);
	}
	free(j);
}
