/* SPDX-License-Identifier: GPL-3.0-only */
/* file.h - files that are read whole. Nothing here prints. */
#ifndef IOT_BASE_FILE_H
#define IOT_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* All of a small file, as in /proc and /sys, up to size - 1 bytes; a NUL is put behind them, also after an error. Returns the length
 * or a negative errno. */
ssize_t read_file(const char *path, char *buf, size_t size);
/* Its first line without its end. */
ssize_t read_line(const char *path, char *buf, size_t size);

/* All that a descriptor gives, with a NUL behind it, to be freed; NULL with errno: EFBIG when it is more than `max` bytes, ... */
char *read_all(int fd, size_t max, size_t *len);

#endif
