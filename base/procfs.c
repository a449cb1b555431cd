// SPDX-License-Identifier: GPL-3.0-only
/* procfs.c - the folder of processes, with the ids of our own PID namespace. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "ask.h"
#include "clock.h"
#include "file.h"
#include "number.h"
#include "procfs.h"

#define COMM_LEN 16            /* TASK_COMM_LEN */
#define SMALL_BYTES 4096
#define TICK_SLACK 1           /* the kernel rounds the start of a process down to a tick */

/* from the kernel's include/linux/sched.h; field 9 of /proc/PID/stat */
#define PF_FORKNOEXEC 0x00000040u
#define PF_KTHREAD 0x00200000u

static char folder[32] = "/proc";
static int folder_fd = -1;
static bool opened, hides;

const char *procfs(void)
{
	return folder;
}

const char *procfs_path(char path[PROCFS_PATH], uint32_t pid, const char *name)
{
	snprintf(path, PROCFS_PATH, "%s/%u/%.40s", folder, pid, name);
	return path;
}

/* Returns our process id in a proc file system; 0: it belongs to a PID namespace without us, or is
 * none. */
static long self_in(const char *proc)
{
	char path[64], number[32];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/self", proc);
	n = readlink(path, number, sizeof(number) - 1);
	number[n > 0 ? n : 0] = '\0';
	return strtol(number, NULL, 10);
}

/* Makes a proc file system that is mounted nowhere: only its descriptor leads to it. */
static int mount_own(void)
{
	int fs = fsopen("proc", FSOPEN_CLOEXEC), fd = -1;

	if (fs >= 0 && !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fs >= 0)
		close(fs);
	return fd;
}

int procfs_open(const char **why)
{
	long self = opened ? 0 : self_in(folder);
	char own[32];
	int fd;

	if (opened || self == getpid()) {
		opened = true;
		return 0;
	}
	*why = "/proc is not that of this PID namespace; mount it: mount -t proc proc /proc";
	fd = self ? mount_own() : -1;
	if (fd < 0)
		return -ENOENT;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (self_in(own) != getpid()) {
		close(fd);
		return -ENOENT;
	}
	strcpy(folder, own);
	folder_fd = fd;
	opened = true;
	return 0;
}

int procfs_fd(void)
{
	return folder_fd;
}

/* Is it a file of a process that can be read without blocking? Helpers read these for users who may
 * not see processes of others. */
static bool is_small(const char *name)
{
	static const char *const names[] = { "stat", "comm", "cgroup" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "task/", 5) && strspn(name + 5, "0123456789") == strlen(name + 5) - 5 &&
		!strcmp(name + strlen(name) - 5, "/comm");
}

static ssize_t answer_small(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const char *name = (const char *)question + sizeof(uint32_t);
	char path[PROCFS_PATH];
	uint32_t pid;
	ssize_t n;

	if (len <= sizeof(pid) || name[len - sizeof(pid) - 1] || !is_small(name))
		return -EINVAL;
	memcpy(&pid, question, sizeof(pid));
	n = read_file(procfs_path(path, pid, name), answer, room < SMALL_BYTES ? room : SMALL_BYTES);
	return n;
}

void procfs_serve(void)
{
	ask_serve(ASK_SMALL, answer_small, NULL);
}

void procfs_look(void)
{
	char path[PROCFS_PATH];

	hides = access(procfs_path(path, 1, "stat"), R_OK);
}

/* Reads a file in a helper, where /proc hides the processes of others (hidepid). */
static ssize_t ask_small(uint32_t pid, const char *name, char *buf, size_t size)
{
	char question[sizeof(pid) + 64];
	size_t len = strlen(name) + 1;
	ssize_t n;

	if (len > sizeof(question) - sizeof(pid) || !is_small(name))
		return -EACCES;
	memcpy(mempcpy(question, &pid, sizeof(pid)), name, len);
	n = ask(ASK_SMALL, (struct ask_about){ 0 }, question, sizeof(pid) + len, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t procfs_read(uint32_t pid, const char *name, char *buf, size_t size)
{
	char path[PROCFS_PATH];
	ssize_t n = read_file(procfs_path(path, pid, name), buf, size);

	return n < 0 && hides ? ask_small(pid, name, buf, size) : n;
}

/* Parses "pid (comm) state ppid ... flags ... starttime"; comm may hold any byte, and ends at the
 * last ')'. */
int procfs_stat(uint32_t pid, struct procfs_stat *s)
{
	char text[2048], state, *open, *end;
	unsigned long long start;
	unsigned int flags;

	if (procfs_read(pid, "stat", text, sizeof(text)) <= 0)
		return -ESRCH;
	open = strchr(text, '(');
	end = strrchr(text, ')');
	if (!open || !end ||
	    sscanf(end + 1, " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d"
		   " %llu",
		   &state, &s->ppid, &flags, &s->threads, &start) != 5)
		return -ESRCH;
	*end = '\0';
	snprintf(s->comm, sizeof(s->comm), "%s", open + 1);
	s->start_ticks = start;
	s->kthread = flags & PF_KTHREAD;
	s->forked = flags & PF_FORKNOEXEC;
	s->over = state == 'Z' || state == 'X';
	return 0;
}

int procfs_list(void (*process)(void *arg, uint32_t pid, uint32_t ppid), void *arg)
{
	DIR *d = opendir(folder);
	struct procfs_stat s;
	struct dirent *e;
	uint64_t pid;

	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (!parse_number(e->d_name, &pid) && !procfs_stat(pid, &s))
			process(arg, pid, s.ppid);
	closedir(d);
	return 0;
}

bool procfs_began(uint64_t start_ticks, uint64_t start_ns)
{
	uint64_t want = start_ns / (NSEC / sysconf(_SC_CLK_TCK));

	return start_ticks + TICK_SLACK >= want && start_ticks <= want + TICK_SLACK;
}

bool procfs_is_called(uint32_t pid, const char *comm)
{
	char its[64];

	if (procfs_read(pid, "comm", its, sizeof(its)) < 0)
		return false;
	its[strcspn(its, "\n")] = '\0';
	return !strncmp(its, comm, COMM_LEN);
}

/* Lines are "HIERARCHY:CONTROLLERS:PATH"; that of version 2 is "0::PATH". */
struct procfs_cgroup procfs_cgroup(uint32_t pid, char *text, size_t size)
{
	struct procfs_cgroup g = { NULL, NULL };
	char *line, *next = text;

	if (procfs_read(pid, "cgroup", text, size) <= 0)
		return g;
	while ((line = strsep(&next, "\n"))) {
		const char *first = strchr(line, ':'), *path = first ? strchr(first + 1, ':') : NULL;

		if (!path)
			continue;
		if (!strncmp(line, "0::", 3))
			g.v2 = path + 1;
		if (!g.telling || strlen(path + 1) > strlen(g.telling))
			g.telling = path + 1;
	}
	if (g.v2 && strcmp(g.v2, "/"))
		g.telling = g.v2;
	return g;
}
