/* SPDX-License-Identifier: GPL-3.0-only */
/* tracer.h - the few things that every file of the tracer uses: messages, clocks, numbers, cleanup. */
#ifndef IOT_TRACER_H
#define IOT_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include "event.h"

#define NSEC 1000000000ull
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* Exit statuses of iot-trace, beside those of the command that it runs (iot-trace(8) documents them). */
enum {
	STATUS_OK = 0,          /* the run is complete */
	STATUS_FAILED = 1,      /* it could not be made, or is incomplete */
	STATUS_USAGE = 2,       /* the command line is wrong */
	STATUS_NOT_RUN = 126,   /* the command exists and cannot be run */
	STATUS_NOT_FOUND = 127, /* the command does not exist */
	STATUS_SIGNAL = 128,    /* + number of the signal that ended the command, or the run at once */
};

/* Prints "iot-trace: MESSAGE: reason" in one line on stderr. err: an errno, positive or negative, or 0 for no
 * reason behind the message. Returns -err, or -EINVAL when err is 0: `return fail(errno, "cannot open %s", path);` */
__attribute__((format(printf, 2, 3))) int fail(int err, const char *format, ...);

/* The same for the command line: the message, and status 2 to leave main() with. */
__attribute__((format(printf, 1, 2))) int fail_usage(const char *format, ...);

/* Says something that is not an error, on stderr, unless -q was given. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
void note_quiet(bool quiet);
/* A line that the next one covers, where a terminal takes it at once. */
__attribute__((format(printf, 1, 2))) void note_progress(const char *format, ...);

/* Time of a clock in ns. clock: CLOCK_MONOTONIC, ... */
u64 clock_now(int clock);

/* Numbers from users: decimal digits only, whole text, no sign, no blanks, no overflow. 0 or -EINVAL, silently. */
int parse_number(const char *text, u64 *out);
/* Seconds with an optional fraction, "2" or "0.25", to ns; more than 0 and at most 10 years. */
int parse_seconds(const char *text, u64 *ns);
/* A number with an optional K, M or G behind it (powers of 1024). */
int parse_size(const char *text, u64 *out);

/* First line of a small file without its line end, as in /proc and /sys. Returns its length or a negative errno, silently. */
int read_line(const char *path, char *buf, size_t size);
/* All of a small file, up to size - 1 bytes; a NUL is put behind them. Returns the length or a negative errno, silently. */
int read_file(const char *path, char *buf, size_t size);

/* Growing arrays: makes room for one more element behind n of them. Returns 0 or -ENOMEM, silently. */
int grow(void **array, size_t n, size_t *room, size_t size);

void close_fd(int *fd);
void close_file(void *file);
void free_memory(void *memory);
#define auto_close __attribute__((cleanup(close_fd)))
#define auto_fclose __attribute__((cleanup(close_file)))
#define auto_free __attribute__((cleanup(free_memory)))

#endif
