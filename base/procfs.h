/* SPDX-License-Identifier: GPL-3.0-only */
/* procfs.h - where processes are read. In a PID namespace /proc may be that of another one, whose numbers are not ours. */
#ifndef IOT_PROCFS_H
#define IOT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes sure that what procfs() names has the numbers of our own PID namespace: where /proc has not, a proc of our own is mounted for
 * this process alone. Returns 0 or a negative errno; *why says then what is wrong. The second call does nothing. */
int procfs_open(const char **why);

/* The folder of processes: "/proc", or what procfs_open() made. */
const char *procfs(void);

/* The descriptor that this leads through; -1: none. */
int procfs_fd(void);

#define PROCFS_PATH 96 /* bytes that PROCFS/PID/NAME needs, with names of at most 40 bytes */
/* The path of a file of a process; returns `path`. */
const char *procfs_path(char path[PROCFS_PATH], uint32_t pid, const char *name);

/* All of a small file of a process, as read_file() does. */
ssize_t procfs_read(uint32_t pid, const char *name, char *buf, size_t size);

/* Says who answers what is asked about small files (ask.h); and, by who has become another user: is he shown the processes of others? If
 * not (hidepid), helpers read for procfs_read() and those below. */
void procfs_serve(void);
void procfs_look(void);

/* What PROCFS/PID/stat says. */
struct procfs_stat {
	char comm[64];          /* of the thread-group leader */
	uint32_t ppid;
	bool kthread;
	bool forked;            /* it has not run another program since it was forked */
	bool over;              /* its first thread ended, and was not waited for */
	uint32_t threads;       /* that live or were not waited for */
	uint64_t start_ticks;   /* since boot */
};
/* Returns 0, or -ESRCH silently. */
int procfs_stat(uint32_t pid, struct procfs_stat *);

/* Calls back for every process, with its parent. Returns 0 or a negative errno, silently. */
int procfs_list(void (*process)(void *arg, uint32_t pid, uint32_t ppid), void *arg);

/* "Is it the same process?": did one that began at so many ticks begin at `start_ns`? */
bool procfs_began(uint64_t start_ticks, uint64_t start_ns);
/* "And the same program?": is its leader called so? comm: at most 16 bytes, as the kernel keeps it. */
bool procfs_is_called(uint32_t pid, const char *comm);

/* The control groups of a process, in `text`, which has room for `size` bytes. */
struct procfs_cgroup {
	const char *v2;         /* its path in version 2; NULL: only version 1 is in use */
	const char *telling;    /* that of version 2 when it says anything, else the longest of version 1; NULL none */
};
struct procfs_cgroup procfs_cgroup(uint32_t pid, char *text, size_t size);

#endif
