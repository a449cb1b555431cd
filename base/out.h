/* SPDX-License-Identifier: GPL-3.0-only */
/* out.h - writes to pipes, FIFOs and terminals, whose readers may block; and messages, which go to
 * such places too. */
#ifndef IOT_OUT_H
#define IOT_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called every few milliseconds while a descriptor is not writable, for `waited_ns` so far. Returns
 * false to give up. NULL: wait without a limit. */
extern bool (*out_patience)(uint64_t waited_ns);

/* Writes everything, even if the descriptor does not block and the other end is slow. Returns 0, or
 * silently a negative errno: -EPIPE the reader left, -ETIME it was given up, others of write(2). */
int out_write(int fd, const void *buf, size_t len);

/* Returns the meaning of such an error, or of any negative errno, for a message. Valid until the
 * next call. */
const char *out_error(int err);

/* Opens a descriptor of our own for the pipe or terminal behind fd on which no call blocks, without
 * changing fd for others that share it. Returns it, a duplicate of fd if that is not possible, or a
 * negative errno. */
int out_own(int fd);

/* Makes a pipe or FIFO as large as users may, so that a reader that pauses (for a commit) does not
 * block the writer. */
void out_enlarge(int fd);

/* Makes output to the FILE `stdout` go through out_write(). Call it before anything is printed. */
void out_standard(void);

/* Writes one line "PROGRAM: MESSAGE" to stderr, followed by ": REASON" unless that is NULL, in one
 * write. Characters that are not plain text are escaped for terminals (utf8.h). */
void out_message(const char *program, const char *reason, const char *format, va_list args);

#endif
