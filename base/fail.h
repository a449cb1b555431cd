/* SPDX-License-Identifier: GPL-3.0-only */
/* fail.h - report an error and return in one expression. */
#ifndef IOT_BASE_FAIL_H
#define IOT_BASE_FAIL_H

/* Prints "PROGRAM: MESSAGE: REASON" in one line on stderr; what in it is no plain text is escaped. err: an errno, positive or
 * negative, or a refusal of place.h, or 0 for no reason behind the message. Returns -err, or -EINVAL when err is 0:
 * `return fail(errno, "cannot open %s", path);` */
__attribute__((format(printf, 2, 3))) int fail(int err, const char *format, ...);

/* The same, and returns `result`, such as an exit status. */
__attribute__((format(printf, 3, 4))) int fail_as(int result, int err, const char *format, ...);

/* What is wrong with the command line; the reason behind it is where help is. Returns 2, to leave main() with. */
__attribute__((format(printf, 1, 2))) int fail_usage(const char *format, ...);

#endif
