/* SPDX-License-Identifier: GPL-3.0-only */
/* fail.h - report an error and return in one expression. */
#ifndef IOT_BASE_FAIL_H
#define IOT_BASE_FAIL_H

/* Prints "PROGRAM: MESSAGE: REASON" in one line on stderr, with characters escaped that are not
 * plain text. err: an errno, positive or negative, or a refusal of place.h, or 0 for no reason.
 * Returns -err, or -EINVAL when err is 0: `return fail(errno, "cannot open %s", path);` */
__attribute__((format(printf, 2, 3))) int fail(int err, const char *format, ...);

/* Does so, and returns `result`, such as an exit status. */
__attribute__((format(printf, 3, 4))) int fail_as(int result, int err, const char *format, ...);

/* Reports an error in the command line, and where to find help. Returns 2, the exit status of
 * main(). */
__attribute__((format(printf, 1, 2))) int fail_usage(const char *format, ...);

#endif
