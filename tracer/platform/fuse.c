// SPDX-License-Identifier: GPL-3.0-only
/* fuse.c - finds the daemon of a FUSE mount: the process with a descriptor of /dev/fuse that has
 * the mount's number in PROCFS/PID/fdinfo.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ask.h"
#include "fuse.h"
#include "procfs.h"
#include "tracer.h"

#define CONNECTION "fuse_connection:"

struct wanted {
	unsigned int connection;
	u32 pid;
	u64 began;
};

bool fuse_is_mount(const struct rec_device *d)
{
	return d->fs && (!strcmp(d->fs, "fuse") || !strncmp(d->fs, "fuse.", strlen("fuse.")));
}

static bool is_connection(u32 pid, const char *fd, unsigned int connection)
{
	char name[40], text[1024];
	const char *at;

	snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
	if (procfs_read(pid, name, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, CONNECTION);
	return at && strtoul(at + strlen(CONNECTION), NULL, 10) == connection;
}

static void look(void *arg, u32 pid, u32 ppid)
{
	struct wanted *w = arg;
	char path[PROCFS_PATH], target[16];
	DIR *dir = opendir(procfs_path(path, pid, "fd"));
	struct procfs_stat s;
	struct dirent *e;
	bool holds = false;

	(void)ppid;
	while (dir && !holds && (e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		holds = !strcmp(target, "/dev/fuse") &&
			is_connection(pid, e->d_name, w->connection);
	}
	/* a parent that daemonises by forking holds the descriptor until the daemon runs, and
	 * programs started by the daemon may inherit it */
	if (holds && !procfs_stat(pid, &s) &&
	    (!w->pid || (s.forked && s.start_ticks >= w->began))) {
		w->pid = pid;
		w->began = s.start_ticks;
	}
	if (dir)
		closedir(dir);
}

static ssize_t answer_server(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	struct wanted w = { 0 };

	if (len != sizeof(w.connection) || room < sizeof(w.pid))
		return -EINVAL;
	memcpy(&w.connection, question, len);
	procfs_list(look, &w);
	memcpy(answer, &w.pid, sizeof(w.pid));
	return sizeof(w.pid);
}

void fuse_serve(void)
{
	ask_serve(ASK_SERVER, answer_server, NULL);
}

u32 fuse_server(u32 dev)
{
	unsigned int connection = dev & 0xfffff;
	u32 pid;

	return ask(ASK_SERVER, (struct ask_about){ 0 }, &connection, sizeof(connection), &pid,
		sizeof(pid)) == sizeof(pid) ? pid : 0;
}
