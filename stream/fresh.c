/* SPDX-License-Identifier: GPL-3.0-only */
/* fresh.c - a new store, written beside its place and put there in one step. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include "fresh.h"
#include "schema.h"

/* The folder behind every link, so that its path is that of the descriptor. */
static int name_it(struct fresh *f)
{
	unsigned long long chance;
	char link[64], dir[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->to.dir);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n <= 0 || getrandom(&chance, sizeof(chance), 0) < 0)
		return fail_as(-errno, 0, "cannot write beside %s: %s", f->final, strerror(errno));
	dir[n] = 0;
	snprintf(f->name, sizeof(f->name), ".iot-%016llx", chance);
	if (asprintf(&f->path, "%s/%s", dir, f->name) < 0) {
		f->path = NULL;
		return fail_as(-ENOMEM, 0, "%s: no memory", f->final);
	}
	return 0;
}

int fresh_open(struct fresh *f, const char *final)
{
	bool fresh = false;
	int err, rc;

	*f = (struct fresh){ .o = { .at = { .dir = -1 }, .fd = -1 }, .to = { .dir = -1 }, .final = final };
	err = place_find(&f->to, final);
	if (err)
		return output_fail(final, err);
	err = name_it(f) ?: opener_open(&f->o, f->path, true, &fresh);
	if (err)
		return err;
	f->o.path = final; /* for messages */
	/* nobody reads it before it is whole and synced */
	rc = sqlite3_exec(f->o.db, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL);
	rc = rc ?: schema_create(f->o.db) ?: schema_dictionaries(f->o.db);
	return rc == SQLITE_OK ? 0 : opener_fail(&f->o, rc, "cannot make its tables");
}

int fresh_place(struct fresh *f, const struct stat *like)
{
	int rc = sqlite3_exec(f->o.db, "COMMIT", NULL, NULL, NULL);
	struct stat at;

	if (rc != SQLITE_OK)
		return opener_fail(&f->o, rc, "cannot be written");
	if (like && (fchown(f->o.fd, like->st_uid, like->st_gid) || fchmod(f->o.fd, like->st_mode & 0777)))
		return fail_as(-errno, 0, "cannot give %s the owner that it had: %s", f->final, strerror(errno));
	if (fsync(f->o.fd))
		return fail_as(-errno, 0, "cannot write %s: %s", f->final, strerror(errno));
	if (fstatat(f->to.dir, f->name, &at, AT_SYMLINK_NOFOLLOW) || at.st_ino != f->o.main.st_ino || at.st_dev != f->o.main.st_dev)
		return fail_as(-EPERM, 0, "cannot write %s: somebody exchanged its folder", f->final);
	if (renameat2(f->to.dir, f->name, f->to.dir, f->to.name, like ? 0 : RENAME_NOREPLACE))
		return fail_as(-errno, 0, "cannot write %s: %s", f->final, strerror(errno));
	*f->name = 0;
	rc = openat(f->to.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the descriptor is O_PATH */
	if (rc >= 0) {
		fsync(rc);
		close(rc);
	}
	return 0;
}

void fresh_close(struct fresh *f)
{
	opener_close(&f->o);
	if (*f->name && f->path)
		unlinkat(f->to.dir, f->name, 0);
	free(f->path);
	place_leave(&f->to);
}
