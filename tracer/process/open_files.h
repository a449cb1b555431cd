/* SPDX-License-Identifier: GPL-3.0-only */
/* open_files.h - names of files that a process has open. */
#ifndef IOT_OPEN_FILES_H
#define IOT_OPEN_FILES_H

#include "wire.h"
#include "tracer.h"

#define OPEN_FILES_MAX 4096     /* files per search */

/* Registers the helper's answer (ask.h). */
void open_files_serve(void);

/* Searches for at most OPEN_FILES_MAX files by dev, ino and gen. Calls back for each one that is
 * found. */
void open_files_find(const struct iot_path *files, size_t n,
	void (*found)(void *arg, const struct iot_path *, const char *path), void *arg);

#endif
