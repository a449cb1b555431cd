/* SPDX-License-Identifier: GPL-3.0-only */
/* place.c - walks a path component by component. Each symbolic link is judged by its owner and by
 * who can write its folder, and only then followed. The walk holds descriptors, so that nothing can
 * be exchanged between judgement and use.
 *
 * Each step opens one name without a slash, with O_NOFOLLOW. openat2() with RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS does that for a whole path, but would also refuse the links that may be
 * followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "place.h"

#define SYMLINKS_MAX 40  /* the kernel's limit */
#define TRIES 8          /* in case somebody makes and removes the name again and again */

struct walk {
	int dir;                /* O_PATH */
	bool swapped;           /* somebody else can replace this folder with another */
	int links;
	char path[PATH_MAX];    /* the rest of it */
};

static bool is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Has the file an access control list? The bits of the group are then the list's mask. */
static bool has_list(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* Can another user write it? fd -1: without its access control list. */
static bool others_can_write(int fd, const struct stat *st)
{
	if (!is_ours(st) || st->st_mode & S_IWOTH)
		return true;
	return st->st_mode & S_IWGRP && (st->st_gid != getegid() || (fd >= 0 && has_list(fd)));
}

/* Can another user give the name of `st`, in the folder `at`, to another file? */
static bool is_movable(int dir, const struct stat *at, const struct stat *st)
{
	return others_can_write(dir, at) && !(is_ours(at) && at->st_mode & S_ISVTX && is_ours(st));
}

static bool is_magic(int dir)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

static int start(struct walk *w)
{
	int fd = open(*w->path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	w->dir = fd;
	return 0;
}

/* Removes the first component of the path. */
static int split(struct walk *w, char name[NAME_MAX + 1])
{
	const char *p = w->path + strspn(w->path, "/");
	size_t n = strcspn(p, "/");

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, n ? p : ".", n ? n : 1);
	name[n ? n : 1] = 0;
	p += n;
	memmove(w->path, p, strlen(p) + 1);
	return 0;
}

/* Inserts the target of a symbolic link before the rest of the path. */
static int follow(struct walk *w, int link, const struct stat *at, const struct stat *st)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t n;

	if (others_can_write(w->dir, at) && !is_ours(st))
		return -PLACE_LINK;
	if (++w->links > SYMLINKS_MAX)
		return -ELOOP;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	n = snprintf(joined, sizeof(joined), "%s%s", target, w->path);
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(w->path, joined, n + 1);
	if (*w->path != '/')
		return 0;
	close(w->dir);
	w->dir = -1;
	return start(w);
}

/* Walks one component. Returns 0 when it was entered or followed; 1 when it is the last, and absent
 * or not a link: the walk ends there. */
static int step(struct walk *w, const char *name, bool last)
{
	int fd = openat(w->dir, name, O_PATH | O_CLOEXEC | (is_magic(w->dir) ? 0 : O_NOFOLLOW)), err;
	struct stat at, st;
	bool movable;

	if (fd < 0)
		return last && errno == ENOENT ? 1 : -errno;
	err = fstat(w->dir, &at) || fstat(fd, &st) ? -errno : 0;
	if (err || (last && !S_ISLNK(st.st_mode))) {
		close(fd);
		return err ? err : 1;
	}
	movable = strcmp(name, ".") && strcmp(name, "..") && is_movable(w->dir, &at, &st);
	if (S_ISLNK(st.st_mode)) {
		err = follow(w, fd, &at, &st);
		close(fd);
	} else {
		close(w->dir);
		w->dir = fd;
	}
	w->swapped |= movable;
	return err;
}

/* Walks the path. to_enter: the last component is a folder, and is entered too. */
static int walk(struct place *p, const char *path, bool to_enter)
{
	struct walk w = { .dir = -1 };
	struct stat st;
	int err;

	*p = (struct place){ .dir = -1 };
	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(w.path))
		return -ENAMETOOLONG;
	strcpy(w.path, path);
	err = start(&w);
	while (!err) {
		err = split(&w, p->name);
		if (!err && !*w.path && to_enter && !strcmp(p->name, "."))
			break;
		if (!err)
			err = step(&w, p->name, !to_enter && !*w.path);
		if (!err && !*w.path)
			strcpy(w.path, ".");
	}
	if (err >= 0 && fstat(w.dir, &st))
		err = -errno;
	if (err < 0) {
		if (w.dir >= 0)
			close(w.dir);
		return err;
	}
	p->dir = w.dir;
	p->magic = is_magic(w.dir);
	p->shared = !p->magic && (w.swapped || others_can_write(w.dir, &st));
	return 0;
}

int place_find(struct place *p, const char *path)
{
	return walk(p, path, false);
}

int place_enter(struct place *p, const char *path)
{
	struct stat st;
	int err = walk(p, path, true);

	if (!err && !fstat(p->dir, &st) && S_ISDIR(st.st_mode))
		return 0;
	place_leave(p);
	return err ? err : -ENOTDIR;
}

void place_leave(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

int place_judge(const struct place *p, int fd, const struct stat *st)
{
	if (!p->shared)
		return 0;
	if (!is_ours(st))
		return -PLACE_FOREIGN;
	if (others_can_write(fd, st))
		return -PLACE_WRITABLE;
	return S_ISREG(st->st_mode) && st->st_nlink > 1 ? -PLACE_NAMES : 0;
}

/* Opens the file behind the O_PATH descriptor `at`. Without /proc: by its name, if that still is
 * the same file. */
static int reopen(const struct place *p, const char *name, int at, const struct stat *judged,
		  int flags)
{
	struct stat st;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	fd = openat(p->dir, name, (flags & ~O_TRUNC) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_dev == judged->st_dev && st.st_ino == judged->st_ino &&
	    fcntl(fd, F_SETFL, flags & O_APPEND) >= 0 &&
	    (!(flags & O_TRUNC) || !ftruncate(fd, 0)))
		return fd;
	close(fd);
	return -PLACE_EXCHANGED;
}

int place_look(const struct place *p, const char *name, struct stat *st)
{
	int at = openat(p->dir, name, O_PATH | O_CLOEXEC | (p->magic ? 0 : O_NOFOLLOW)), err;

	if (at < 0)
		return -errno;
	err = fstat(at, st) ? -errno : S_ISLNK(st->st_mode) ? -PLACE_LINK : place_judge(p, at, st);
	if (!err)
		return at;
	close(at);
	return err;
}

/* Opens an existing file; -ENOENT: there is none. */
static int open_old(const struct place *p, const char *name, int flags)
{
	struct stat st;
	int at = place_look(p, name, &st), fd;

	if (at < 0)
		return at;
	fd = flags & O_EXCL ? -EEXIST : reopen(p, name, at, &st, flags & ~O_CREAT);
	close(at);
	return fd;
}

int place_open(const struct place *p, const char *name, int flags)
{
	int fd, i;

	for (i = 0; i < TRIES; i++) {
		fd = open_old(p, name, flags);
		if (fd != -ENOENT || !(flags & O_CREAT))
			return fd;
		fd = openat(p->dir, name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -PLACE_EXCHANGED;
}

int place_open_path(const char *path, int flags)
{
	struct place p;
	int fd = place_find(&p, path);

	if (!fd)
		fd = place_open(&p, p.name, flags);
	place_leave(&p);
	return fd;
}

bool place_has(const struct place *p, const char *name)
{
	struct stat st;

	return !fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

static const struct { int err; const char *read, *write; } sentences[] = {
	{ PLACE_LINK, "will not read through a symbolic link that somebody else made in a folder that others can write",
	              "will not write through a symbolic link that somebody else made in a folder that others can write" },
	{ PLACE_FOREIGN, "will not trust what belongs to somebody else in a folder that others can write: copy it to a folder of your own first",
	                 "will not write to what belongs to somebody else in a folder that others can write: remove it, or give a name in a folder of your own" },
	{ PLACE_WRITABLE, "will not trust what others can write, in a folder that others can write: take that away (chmod go-w), or copy it to a folder of your own",
	                  "will not write to what others can write, in a folder that others can write: remove it, or give a name in a folder of your own" },
	{ PLACE_NAMES, "has other names (hard links) in a folder that others can write: copy it to a folder of your own first",
	               "has other names (hard links): will not write over it" },
	{ PLACE_EXCHANGED, "somebody exchanged it at this moment", "somebody exchanged it at this moment" },
};

const char *place_error(int err, bool to_write)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (sentences[i].err == -err)
			return to_write ? sentences[i].write : sentences[i].read;
	return strerror(-err);
}

int place_errno(int err)
{
	return err <= -PLACE_LINK ? -EPERM : err;
}
