/* SPDX-License-Identifier: GPL-3.0-only */
/* out.h - bytes to where nobody may take them: pipes, FIFOs, terminals; and messages, which go to such places too. */
#ifndef IOT_OUT_H
#define IOT_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asked every few milliseconds while a descriptor takes nothing; `waited_ns`: for how long it took nothing. False: it is
 * given up. NULL: it is waited for without an end. */
extern bool (*out_patience)(uint64_t waited_ns);

/* Writes all of it, also where the descriptor does not block and the other end is slow. Returns 0, or without a message a
 * negative errno: -EPIPE the reader left, -ETIME it was given up, others of write(2). */
int out_write(int fd, const void *buf, size_t len);

/* The meaning of an error of it, or of any negative errno, for a message. Valid until the next call. */
const char *out_error(int err);

/* A descriptor of our own for the pipe or terminal behind fd, one on which no call waits: whoever shares fd sees no change. A
 * duplicate where there is none to be had. Returns it, or a negative errno. */
int out_own(int fd);

/* Makes a pipe or FIFO as large as anyone may have it, so that a reader that stops for a moment (a commit) holds up nothing. */
void out_enlarge(int fd);

/* Makes what goes to the FILE `stdout` go through out_write(). Call it before anything is printed. */
void out_standard(void);

/* One line "PROGRAM: MESSAGE" on stderr, behind it ": REASON" unless that is NULL, in one piece. Whatever in it is not plain text
 * is escaped as a terminal may have it (utf8.h). */
void out_message(const char *program, const char *reason, const char *format, va_list args);

#endif
