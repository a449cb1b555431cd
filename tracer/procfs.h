/* SPDX-License-Identifier: GPL-3.0-only */
/* procfs.h - where processes are read. In a PID namespace /proc may be that of another one, whose numbers are not ours. */
#ifndef IOT_PROCFS_H
#define IOT_PROCFS_H

#include <stdint.h>

/* Makes sure that what procfs() names has the numbers of our own PID namespace: where /proc has not, a proc of our own is mounted for
 * this process alone. Returns 0 or a negative errno; *why says then what is wrong. The second call does nothing. */
int procfs_open(const char **why);

/* The folder of processes: "/proc", or what procfs_open() made. */
const char *procfs(void);

#define PROCFS_PATH 96 /* bytes that PROCFS/PID/NAME needs, with names of at most 40 bytes */
/* The path of a file of a process; returns `path`. */
const char *procfs_path(char path[PROCFS_PATH], uint32_t pid, const char *name);

#endif
