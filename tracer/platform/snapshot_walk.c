// SPDX-License-Identifier: GPL-3.0-only
/* snapshot_walk.c - walks a folder, in a child: level by level, so that where it is cut it has the
 * upper ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "snapshot.h"
#include "snapshot_walk.h"

struct walk {
	FILE *to;
	int root;
	const char *path;       /* absolute */
	dev_t dev;
	u32 depth;
	char **folders;         /* relative, in the order in which they were found */
	u32 *level;             /* of each */
	size_t n, next, room_folders, room_level;
	u64 entries, unread;
	bool cut;
};

static char type_of_mode(mode_t mode)
{
	return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' :
		S_ISBLK(mode) ? 'b' : S_ISCHR(mode) ? 'c' : S_ISFIFO(mode) ? 'p' : 's';
}

static void put_entry(struct walk *w, const char *relative, const struct stat *s, u32 depth)
{
	const char *slash = *relative && strcmp(w->path, "/") ? "/" : "";
	struct snapshot_entry e = { .size = s->st_size, .allocated = s->st_blocks * 512ull,
		.ino = s->st_ino, .links = s->st_nlink, .depth = depth,
		.mtime_ns = s->st_mtim.tv_sec * (s64)NSEC + s->st_mtim.tv_nsec,
		.type = type_of_mode(s->st_mode) };

	e.len = strlen(w->path) + strlen(slash) + strlen(relative);
	fwrite(&e, sizeof(e), 1, w->to);
	fprintf(w->to, "%s%s%s", w->path, slash, relative);
	w->entries++;
}

static void add_folder(struct walk *w, const char *relative, u32 depth)
{
	if (grow((void **)&w->folders, w->n, &w->room_folders, sizeof(*w->folders)) ||
	    grow((void **)&w->level, w->n, &w->room_level, sizeof(*w->level)) ||
	    !(w->folders[w->n] = strdup(relative))) {
		w->unread++;
		return;
	}
	w->level[w->n++] = depth;
}

/* Opens a folder below the root; a link that took the place of one since is not followed. */
static int open_folder(const struct walk *w, const char *relative)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
		O_NONBLOCK, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

	return syscall(SYS_openat2, w->root, *relative ? relative : ".", &how, sizeof(how));
}

static void take_name(struct walk *w, int dir, const char *folder, const char *name, u32 depth)
{
	auto_free char *relative = NULL;
	struct stat s;

	if (w->entries == SNAPSHOT_ENTRIES) {
		w->cut = true;
		return;
	}
	if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) ||
	    asprintf(&relative, "%s%s%s", folder, *folder ? "/" : "", name) < 0) {
		w->unread += errno != ENOENT; /* else it was removed meanwhile */
		return;
	}
	put_entry(w, relative, &s, depth);
	if (S_ISDIR(s.st_mode) && s.st_dev == w->dev && depth < w->depth)
		add_folder(w, relative, depth);
}

static void read_folder(struct walk *w, const char *folder, u32 depth)
{
	int fd = open_folder(w, folder);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		w->unread++;
		if (fd >= 0)
			close(fd);
		return;
	}
	while (errno = 0, !w->cut && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			take_name(w, fd, folder, e->d_name, depth + 1);
	w->unread += !w->cut && errno; /* the rest of it was not given */
	closedir(dir);
}

int snapshot_walk(const char *path, u32 depth, int to)
{
	auto_free char *absolute = realpath(path, NULL);
	auto_close int root = absolute ? open(absolute, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					      O_NONBLOCK) : -1;
	struct walk w = { .path = absolute, .depth = depth, .root = root };
	struct stat s;

	if (root < 0 || fstat(root, &s))
		return errno;
	w.to = fdopen(to, "w");
	if (!w.to)
		return errno;
	w.dev = s.st_dev;
	put_entry(&w, "", &s, 0);
	if (depth)
		add_folder(&w, "", 0);
	for (; w.next < w.n; w.next++) {
		if (!w.cut)
			read_folder(&w, w.folders[w.next], w.level[w.next]);
		free(w.folders[w.next]);
	}
	free(w.folders);
	free(w.level);
	fwrite(&(struct snapshot_entry){ .unread = w.unread, .cut = w.cut },
		sizeof(struct snapshot_entry), 1, w.to);
	return fclose(w.to) ? errno : 0;
}
