/* SPDX-License-Identifier: GPL-3.0-only */
/* fresh.c - a new store that is written under no name and appears in one step. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include "fresh.h"
#include "schema.h"

#define PREFIX ".iot-"
#define DIGITS 16
#define TRIES 3

/* ---- files that a killed process left ---- */

static bool is_our_name(const char *name)
{
	if (strncmp(name, PREFIX, strlen(PREFIX)) || strlen(name) != strlen(PREFIX) + DIGITS)
		return false;
	for (name += strlen(PREFIX); isxdigit((unsigned char)*name); name++)
		;
	return !*name;
}

/* Removes a file that no process has locked: one of ours or, for root, of the folder's owner. */
static void clear_one(int dir, const char *name, uid_t owner)
{
	auto_close int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char journal[NAME_MAX + sizeof("-journal")];
	struct stat st, at;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return;
	if (st.st_uid != geteuid() && (geteuid() || st.st_uid != owner))
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstatat(dir, name, &at, AT_SYMLINK_NOFOLLOW) ||
	    at.st_ino != st.st_ino || at.st_dev != st.st_dev)
		return;
	unlinkat(dir, name, 0);
	snprintf(journal, sizeof(journal), "%s-journal", name); /* version 0.1 made one */
	unlinkat(dir, journal, 0);
}

static void clear_dead(const struct place *to)
{
	int dir = openat(to->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *e;
	struct stat st;

	if (!d) {
		if (dir >= 0)
			close(dir);
		return;
	}
	while (!fstat(dir, &st) && (e = readdir(d)))
		if (is_our_name(e->d_name))
			clear_one(dir, e->d_name, st.st_uid);
	closedir(d);
}

/* ---- the new store ---- */

/* Makes the path of a temporary name. Its folder is resolved, so that it is that of the
 * descriptor. */
static int name_it(struct fresh *f)
{
	unsigned long long chance;
	char link[64], dir[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->to.dir);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n <= 0 || getrandom(&chance, sizeof(chance), 0) < 0)
		return fail_as(-errno, 0, "cannot write next to %s: %s", f->final, strerror(errno));
	dir[n] = 0;
	snprintf(f->name, sizeof(f->name), PREFIX "%016llx", chance);
	if (asprintf(&f->path, "%s/%s", dir, f->name) < 0) {
		f->path = NULL;
		return fail_as(-ENOMEM, 0, "%s: no memory", f->final);
	}
	return 0;
}

/* Opens a store with a temporary name, again if another process took it for an abandoned one and
 * removed it before it was locked. */
static int open_named(struct fresh *f)
{
	bool fresh = false;
	int err = 0;

	for (int i = 0; !err && i < TRIES; i++) {
		struct stat st;

		err = name_it(f) ?: opener_open(&f->o, f->path, true, &fresh);
		if (err || fstat(f->o.fd, &st) || st.st_nlink)
			return err;
		opener_close(&f->o);
		free(f->path);
		f->path = NULL;
	}
	return err ?: fail_as(-EPERM, 0, "cannot write %s: somebody removes what is written next to it",
			      f->final);
}

int fresh_open(struct fresh *f, const char *final)
{
	int err, rc;

	*f = (struct fresh){ .o = { .at = { .dir = -1 }, .fd = -1 }, .to = { .dir = -1 }, .final = final };
	err = place_find(&f->to, final);
	if (err)
		return output_fail(final, err);
	clear_dead(&f->to);
	err = opener_make_nameless(&f->o, &f->to, final);
	if (err == -EOPNOTSUPP) {
		opener_close(&f->o);
		err = open_named(f);
	}
	if (err)
		return err;
	f->o.path = final; /* for messages */
	/* nobody reads it before it is complete and synced; the journal of an empty file takes no
	 * memory */
	rc = sqlite3_exec(f->o.db, "PRAGMA page_size = 16384; PRAGMA journal_mode = MEMORY;"
			  " PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL);
	rc = rc ?: schema_create(f->o.db) ?: schema_dictionaries(f->o.db);
	return rc == SQLITE_OK ? 0 : opener_fail(&f->o, rc, "cannot make its tables");
}

static int link_it(struct fresh *f, const char *name)
{
	char self[OPENER_SELF];

	return linkat(AT_FDCWD, opener_self(&f->o, self), f->to.dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Gives the store its name. A store without one gets it by link(2), which replaces nothing. */
static int name_at_last(struct fresh *f, bool replace)
{
	struct stat at;
	int err;

	if (f->o.nameless && !replace)
		return link_it(f, f->to.name);
	if (f->o.nameless) {
		err = name_it(f) ?: link_it(f, f->name);
		if (err) {
			*f->name = 0;
			return err;
		}
	}
	if (fstatat(f->to.dir, f->name, &at, AT_SYMLINK_NOFOLLOW) ||
	    at.st_ino != f->o.main.st_ino || at.st_dev != f->o.main.st_dev)
		return -PLACE_EXCHANGED;
	if (renameat2(f->to.dir, f->name, f->to.dir, f->to.name, replace ? 0 : RENAME_NOREPLACE))
		return -errno;
	*f->name = 0;
	return 0;
}

int fresh_place(struct fresh *f, const struct stat *like)
{
	int rc = sqlite3_exec(f->o.db, "COMMIT", NULL, NULL, NULL), err;

	if (rc != SQLITE_OK)
		return opener_fail(&f->o, rc, "cannot be written");
	if (like && (fchown(f->o.fd, like->st_uid, like->st_gid) || fchmod(f->o.fd, like->st_mode & 0777)))
		return fail_as(-errno, 0, "cannot give %s the owner that it had: %s", f->final, strerror(errno));
	err = fsync(f->o.fd) ? -errno : name_at_last(f, like);
	if (err)
		return fail_as(place_errno(err), err, "cannot write %s", f->final);
	rc = openat(f->to.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the descriptor is O_PATH */
	if (rc >= 0) {
		fsync(rc);
		close(rc);
	}
	return 0;
}

void fresh_close(struct fresh *f)
{
	if (*f->name && f->path)
		unlinkat(f->to.dir, f->name, 0);
	opener_close(&f->o);
	free(f->path);
	place_leave(&f->to);
}
