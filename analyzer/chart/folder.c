/* SPDX-License-Identifier: GPL-3.0-only */
/* folder.c - private folders, and files that leave them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include "analyzer.h"
#include "folder.h"
#include "place.h"

int folder_make(struct folder *f)
{
	const char *tmp = getenv("TMPDIR");
	struct stat st;

	*f = (struct folder){ .fd = -1 };
	if (asprintf(&f->path, "%s/iot-XXXXXX", tmp && *tmp == '/' ? tmp : "/var/tmp") < 0) {
		f->path = NULL;
		return fail_as(EXIT_DATA, ENOMEM, "temporary folder");
	}
	if (!mkdtemp(f->path)) {
		int err = fail_as(EXIT_DATA, errno,
				  "cannot make a temporary folder %s (TMPDIR names another place)",
				  f->path);

		free(f->path);
		f->path = NULL;
		return err;
	}
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return fail_as(EXIT_DATA, errno, "cannot enter the temporary folder %s", f->path);
	if (fstat(f->fd, &st) || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700)
		return fail_as(EXIT_DATA, 0,
			"cannot enter the temporary folder %s: somebody exchanged it at this moment",
			f->path);
	return 0;
}

void folder_remove(struct folder *f)
{
	DIR *d = f->fd >= 0 ? fdopendir(f->fd) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	if (f->path)
		rmdir(f->path); /* an empty one, whosever it is */
	free(f->path);
	*f = (struct folder){ .fd = -1 };
}

FILE *folder_create(const struct folder *f, const char *name)
{
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

int folder_may_place(const struct place *to, const char *dir, const char *name)
{
	struct stat st, behind;
	auto_close int at = openat(to->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int err = at < 0         ? (errno == ENOENT ? 0 : -errno) :
		  fstat(at, &st) ? -errno :
				   place_judge(to, at, &st);

	/* it would be replaced, /dev/null for everybody */
	if (at >= 0 && !err && !S_ISREG(fstatat(to->dir, name, &behind, 0) ? S_IFREG : behind.st_mode))
		return fail_as(EXIT_DATA, 0, "cannot write %s/%s: it is there, and no regular file", dir, name);
	return err ? fail_as(EXIT_DATA, 0, "cannot write %s/%s: %s", dir, name,
			     place_error(err, true)) :
		     0;
}

static int copy(int from, int to)
{
	char buf[1 << 14]; /* a stack may be small */
	ssize_t n, done, w;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		for (done = 0; done < n; done += w) {
			w = write(to, buf + done, n - done);
			if (w < 0)
				return -errno;
		}
	return n < 0 ? -errno : 0;
}

static int copy_to(const struct folder *f, const struct place *to, const char *name,
		   const char *temporary)
{
	auto_close int in = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int out = in < 0 ? -1 :
				      openat(to->dir, temporary,
					     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					     0600);
	int err;

	if (out < 0)
		return -errno;
	err = copy(in, out);
	if (!err && renameat(to->dir, temporary, to->dir, name))
		err = -errno;
	if (err)
		unlinkat(to->dir, temporary, 0);
	return err;
}

int folder_place(const struct folder *f, const struct place *to, const char *dir, const char *name)
{
	unsigned long long chance = 0;
	char temporary[32];
	int err = folder_may_place(to, dir, name);

	if (err)
		return err;
	if (getrandom(&chance, sizeof(chance), 0) < 0)
		return fail_as(EXIT_DATA, errno, "cannot write %s/%s", dir, name);
	snprintf(temporary, sizeof(temporary), ".iot-%016llx", chance);
	err = copy_to(f, to, name, temporary);
	if (err)
		return fail_as(EXIT_DATA, -err, "cannot write %s/%s", dir, name);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "iot-analyze: wrote %s/%s\n", dir, name);
	return 0;
}
