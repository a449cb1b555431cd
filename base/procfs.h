/* SPDX-License-Identifier: GPL-3.0-only */
/* procfs.h - the folder of processes. In a PID namespace /proc may belong to another one, whose ids
 * are not ours. */
#ifndef IOT_PROCFS_H
#define IOT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes procfs() name a folder with the ids of our own PID namespace: if /proc has others, a proc
 * file system is mounted for this process alone. Returns 0 or a negative errno, with the reason in
 * *why. A second call does nothing. */
int procfs_open(const char **why);

/* Returns the folder of processes: "/proc", or the one that procfs_open() made. */
const char *procfs(void);

/* Returns the descriptor of that folder; -1: it is /proc. */
int procfs_fd(void);

#define PROCFS_PATH 96 /* bytes that PROCFS/PID/NAME needs, with names of at most 40 bytes */
/* Writes the path of a file of a process; returns `path`. */
const char *procfs_path(char path[PROCFS_PATH], uint32_t pid, const char *name);

/* Reads a small file of a process like read_file(). */
ssize_t procfs_read(uint32_t pid, const char *name, char *buf, size_t size);

/* Sets the function that answers questions about small files (ask.h). procfs_look(), after
 * setuid(), checks whether the new user sees processes of others; if not (hidepid), helpers read
 * for procfs_read() and the functions below. */
void procfs_serve(void);
void procfs_look(void);

/* The contents of PROCFS/PID/stat. */
struct procfs_stat {
	char comm[64];          /* of the thread-group leader */
	uint32_t ppid;
	bool kthread;
	bool forked;            /* it has not called exec since it was forked */
	bool over;              /* its first thread ended, and is a zombie */
	uint32_t threads;       /* including zombies */
	uint64_t start_ticks;   /* since boot */
};
/* Returns 0, or -ESRCH silently. */
int procfs_stat(uint32_t pid, struct procfs_stat *);

/* Calls back for each process, with its parent. Returns 0 or a negative errno, silently. */
int procfs_list(void (*process)(void *arg, uint32_t pid, uint32_t ppid), void *arg);

/* Is a process that began at start_ticks the one that began at `start_ns`? */
bool procfs_began(uint64_t start_ticks, uint64_t start_ns);
/* Is this also the name of its leader? comm: at most 16 bytes, as in the kernel. */
bool procfs_is_called(uint32_t pid, const char *comm);

/* The control groups of a process, in `text`, which has room for `size` bytes. */
struct procfs_cgroup {
	const char *v2;         /* its path in version 2; NULL: only version 1 is in use */
	const char *telling;    /* v2 unless that is "/", else the longest path; NULL none */
};
struct procfs_cgroup procfs_cgroup(uint32_t pid, char *text, size_t size);

#endif
