/* SPDX-License-Identifier: GPL-3.0-only */
/* fail.h - report an error and return in one expression, and locals that free themselves. */
#ifndef IOT_ANALYZER_FAIL_H
#define IOT_ANALYZER_FAIL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit statuses of iot-analyze, documented in iot-analyze(1). */
enum {
	EXIT_OK = 0,
	EXIT_DATA = 1,   /* the store, a file or a check is not as it must be */
	EXIT_USAGE = 2,  /* the command line asks for something that there is not */
};

/* Writes one line "iot-analyze: MESSAGE" to stderr and returns `status`. err: an errno or a refusal of place.h
 * whose text is appended, or 0. What in it is no plain text is escaped, so that it stays one line. */
int fail(int status, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline void free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define auto_free __attribute__((cleanup(free_ptr)))
#define auto_close __attribute__((cleanup(close_fd)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
