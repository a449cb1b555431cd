/* SPDX-License-Identifier: GPL-3.0-only */
/* file.h - reads whole files. Nothing here prints. */
#ifndef IOT_BASE_FILE_H
#define IOT_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Reads a small file, as in /proc and /sys, up to size - 1 bytes, and puts a NUL after them, also
 * after an error. Returns the length or a negative errno. */
ssize_t read_file(const char *path, char *buf, size_t size);
/* Reads the first line, without its newline. */
ssize_t read_line(const char *path, char *buf, size_t size);

/* Reads a descriptor until the end. Returns a text with a NUL after it, to be freed, or NULL with
 * errno: EFBIG when it has more than `max` bytes, ... */
char *read_all(int fd, size_t max, size_t *len);

#endif
