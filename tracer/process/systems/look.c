/* SPDX-License-Identifier: GPL-3.0-only */
/* look.c - looks at the files that a process uses, for systems_learn(): its open files, its working
 * directory, and the directories that its arguments name. They tell which storage system the
 * process belongs to, and which data directories ("data roots") it serves. A helper reads /proc.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ask.h"
#include "procfs.h"
#include "rules.h"

#define PATH_BYTES 4096
#define FDS 256                 /* open files of one process, at most */
#define DRIVES 64               /* directories that one argument names, at most */
#define ARGS_LOOKED 256         /* arguments that may name directories, at most */

/* --- in a helper --- */

/* An answer that is being written: NUL-terminated texts, one after the other. */
struct texts {
	char *at;
	size_t left;
};

/* Appends `mark` and `text` as one text, if there is room. */
static void put_text(struct texts *t, const char *mark, const char *text, size_t len)
{
	size_t before = strlen(mark);

	if (t->left < before + len + 1)
		return;
	memcpy(t->at, mark, before);
	memcpy(t->at + before, text, len);
	t->at[before + len] = '\0';
	t->at += before + len + 1;
	t->left -= before + len + 1;
}

static void put_link(struct texts *t, uint32_t pid, const char *name)
{
	char path[PROCFS_PATH], link[PATH_BYTES];
	ssize_t n = readlink(procfs_path(path, pid, name), link, sizeof(link) - 3);

	put_text(t, "", link, n > 0 ? n : 0);
}

/* Appends the path of each open file after a mark: "w" when it is open for writing, else "r". */
static void put_files(struct texts *t, uint32_t pid)
{
	char path[PROCFS_PATH], link[PATH_BYTES];
	DIR *fds = opendir(procfs_path(path, pid, "fd"));
	struct dirent *d;
	int left = FDS;

	while (fds && left-- && (d = readdir(fds))) {
		ssize_t n = d->d_name[0] == '.' ? -1 :
			readlinkat(dirfd(fds), d->d_name, link, sizeof(link) - 1);
		struct stat st;

		if (n > 0 && link[0] == '/' &&
		    !fstatat(dirfd(fds), d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			put_text(t, st.st_mode & S_IWUSR ? "w" : "r", link, n);
	}
	if (fds)
		closedir(fds);
}

/* Answers ASK_FILES: the root of a process, its working directory, and its open files. */
static ssize_t answer_files(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	struct texts t = { answer, room };
	uint32_t pid;

	if (len != sizeof(pid))
		return -EINVAL;
	memcpy(&pid, question, len);
	put_link(&t, pid, "root");
	put_link(&t, pid, "cwd");
	put_files(&t, pid);
	return t.at - (char *)answer;
}

void sys_look_serve(void)
{
	ask_serve(ASK_FILES, answer_files, NULL);
}

/* --- asking side --- */

/* A look at one process. */
struct look {
	struct systems *db;
	uint32_t pid;
	struct sys_match *m;
	/* root directory of the process (chroot, container) as the tracer sees it: links in /proc
	 * begin with it, paths in its arguments do not */
	char root[PATH_BYTES];
	bool changed;
};

/* Learns from one path, as a link in /proc/PID gives it. `writes`: the file is open for writing. A
 * file that a process only reads does not say to which system the process belongs, so it is used
 * only when the system is known. */
static void learn_path(struct look *l, const char *path, bool writes)
{
	size_t len = strlen(l->root);
	struct sys_file f;

	if (len == 1)
		len = 0;
	if (len && (strncmp(path, l->root, len) || path[len] != '/'))
		return;
	path += len;
	if (path[0] != '/' || (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9)) ||
	    !strncmp(path, "/proc/", 6) || (!writes && !l->m->system))
		return;
	if (systems_file(l->db, path, (struct sys_view){ .pid = l->pid }, l->m, &f))
		l->changed |= systems_learn(l->db, l->m, &f, l->pid);
}

/* The next text of an answer, after which *at is moved; NULL: there is none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at;
	size_t len = strnlen(text, end - text);

	if (text + len == end)
		return NULL;
	*at = text + len + 1;
	return text;
}

static void learn_files(struct look *l, const char *at, const char *end)
{
	const char *file;

	while ((file = next_text(&at, end)))
		if (*file)
			learn_path(l, file + 1, *file == 'w');
}

/* A server without open files may still run in its data root (postgres). */
static void learn_folder(struct look *l, const char *folder)
{
	char path[PATH_BYTES];

	if (*folder && snprintf(path, sizeof(path), "%s/x", folder) < (int)sizeof(path))
		learn_path(l, path, false);
}

/* Learns from a directory that an argument names, by the path that a file in it would have. */
static void learn_name(struct look *l, const char *path)
{
	char inside[PATH_BYTES];
	struct sys_file f;
	int n = snprintf(inside, sizeof(inside), "%s/x", path);

	if (n < (int)sizeof(inside) && systems_file(l->db, inside,
	    (struct sys_view){ .pid = l->pid }, l->m, &f))
		l->changed |= systems_learn(l->db, l->m, &f, l->pid);
}

/* Learns from a path that may have a range, as MinIO's arguments: "/mnt/d{1...4}/data" names four
 * directories, and {01...16} keeps leading zeros. A second range in one path is not expanded. */
static void learn_range(struct look *l, const char *path)
{
	const char *open = strchr(path, '{'), *dots = open ? strstr(open, "...") : NULL,
		*end = dots ? strchr(dots, '}') : NULL;
	char one[PATH_BYTES];
	unsigned from, to;

	if (!end || sscanf(open, "{%5u...%5u}", &from, &to) != 2) {
		learn_name(l, path);
		return;
	}
	for (unsigned n = from; n <= to && n < from + DRIVES; n++) {
		snprintf(one, sizeof(one), "%.*s%0*u%s", (int)(open - path), path,
			(int)(dots - open - 1), n, end + 1);
		learn_name(l, one);
	}
}

/* Learns from the arguments of a process whose system is known. Each argument of the forms "/DIR",
 * "--dir=/DIR" and "http://host/DIR" may name a data root; systems_file() examines whether DIR is
 * one. */
static void learn_arguments(struct look *l)
{
	struct sys_ident id;

	if (systems_ident(l->pid, &id))
		return;
	for (size_t i = 1; i < id.proc.argc && i < ARGS_LOOKED; i++) {
		const char *arg = id.proc.argv[i], *value = strchr(arg, '='),
			*host = strstr(arg, "://");

		if (host)
			arg = strchr(host + 3, '/');
		else if (arg[0] != '/')
			arg = value ? value + 1 : NULL;
		if (arg && arg[0] == '/')
			learn_range(l, arg);
	}
	systems_ident_free(&id);
}

bool systems_look(struct systems *db, uint32_t pid, struct sys_match *m)
{
	static char answer[ASK_ROOM];
	struct look l = { .db = db, .pid = pid, .m = m };
	const char *at = answer, *end, *root, *folder;
	ssize_t n = m->client_of ? 0 : ask(ASK_FILES, (struct ask_about){ .pid = pid }, &pid,
		sizeof(pid), answer, sizeof(answer));

	end = answer + (n > 0 ? n : 0);
	root = next_text(&at, end);
	folder = root ? next_text(&at, end) : NULL;
	if (!folder || !*root || strlen(root) >= sizeof(l.root))
		return false;
	strcpy(l.root, root);
	learn_files(&l, at, end);
	if (m->system) {
		learn_folder(&l, folder);
		learn_arguments(&l);
	}
	return l.changed;
}
