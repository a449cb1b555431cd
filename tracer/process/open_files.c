// SPDX-License-Identifier: GPL-3.0-only
/* open_files.c - searches the open files of all processes for files without a known name. A helper
 * does it (ask.h), since an open file may be on a file system that does not answer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "ask.h"
#include "open_files.h"
#include "procfs.h"

#define FDS_MAX 200000         /* descriptors examined, at most */

/* A wanted file. */
struct wanted {
	u32 dev, gen;
	u64 ino;                /* 0: found */
};

/* Part of an answer: number of the file in the question, followed by its name. */
struct named {
	u32 number;
};

/* --- in a helper --- */

struct search {
	struct wanted wanted[OPEN_FILES_MAX];
	size_t n, left, fds;
	char *to;
	size_t room;
};

/* True when the open file at `path` has this generation: another file may have had its inode number
 * before or since. */
static bool is_generation(const char *path, u32 gen)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int have = 0;

	return fd >= 0 && !ioctl(fd, FS_IOC_GETVERSION, &have) && (u32)have == gen;
}

static void put_name(struct search *s, size_t i, const char *path)
{
	struct named named = { i };
	char name[4096];
	ssize_t len = readlink(path, name, sizeof(name) - 1);

	if (len <= 0 || *name != '/' || s->room < sizeof(named) + len + 1)
		return;
	s->to = mempcpy(mempcpy(s->to, &named, sizeof(named)), name, len);
	*s->to++ = '\0';
	s->room -= sizeof(named) + len + 1;
	s->wanted[i].ino = 0;
	s->left--;
}

/* Remote file systems are not examined: one that does not answer would block. */
static void look_at(struct search *s, const char *path)
{
	struct statx st;
	u32 dev;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) ||
	    !S_ISREG(st.stx_mode) || !st.stx_nlink)
		return;
	dev = st.stx_dev_major << 20 | st.stx_dev_minor;
	for (size_t i = 0; i < s->n; i++) {
		if (s->wanted[i].ino != st.stx_ino || s->wanted[i].dev != dev ||
		    !is_generation(path, s->wanted[i].gen))
			continue;
		put_name(s, i, path);
		return;
	}
}

static void look_at_process(void *arg, u32 pid, u32 ppid)
{
	struct search *s = arg;
	char folder[64], path[sizeof(folder) + 256];
	struct dirent *e;
	DIR *d;

	if (!s->left || s->fds >= FDS_MAX)
		return;
	snprintf(folder, sizeof(folder), "%s/%u/fd", procfs(), pid);
	d = opendir(folder);
	while (d && s->left && s->fds++ < FDS_MAX && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (*e->d_name != '.')
			look_at(s, path);
	}
	if (d)
		closedir(d);
}

static ssize_t answer_open_files(void *arg, const void *question, size_t len, void *answer,
	size_t room)
{
	static struct search s;

	if (!len || len % sizeof(*s.wanted) || len > sizeof(s.wanted))
		return -EINVAL;
	s.n = s.left = len / sizeof(*s.wanted);
	memcpy(s.wanted, question, len);
	s.to = answer;
	s.room = room;
	s.fds = 0;
	procfs_list(look_at_process, &s);
	return s.to - (char *)answer;
}

void open_files_serve(void)
{
	ask_serve(ASK_OPEN_FILES, answer_open_files, NULL);
}

/* --- asking side --- */

void open_files_find(const struct iot_path *files, size_t n,
	void (*found)(void *, const struct iot_path *, const char *), void *arg)
{
	static struct wanted wanted[OPEN_FILES_MAX];
	static char answer[ASK_ROOM];
	const char *at = answer;
	struct named named;
	ssize_t len;

	n = n < OPEN_FILES_MAX ? n : OPEN_FILES_MAX;
	for (size_t i = 0; i < n; i++)
		wanted[i] = (struct wanted){ files[i].dev, files[i].gen, files[i].ino };
	len = ask(ASK_OPEN_FILES, (struct ask_about){ 0 }, wanted, n * sizeof(*wanted), answer,
		sizeof(answer) - 1);
	answer[len > 0 ? len : 0] = '\0';
	while (at + sizeof(named) < answer + (len > 0 ? len : 0)) {
		memcpy(&named, at, sizeof(named));
		at += sizeof(named);
		if (named.number < n)
			found(arg, &files[named.number], at);
		at += strlen(at) + 1;
	}
}
