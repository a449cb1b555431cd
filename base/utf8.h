/* SPDX-License-Identifier: GPL-3.0-only */
/* utf8.h - names are bytes from strangers: characters in them, and which of those do more than being read. */
#ifndef IOT_UTF8_H
#define IOT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* One character at p (len > 0 bytes left): how many bytes it takes and its number. Bytes that are not UTF-8 take one
 * byte and give -1. */
size_t utf8_next(const char *p, size_t len, long *code);

/* Control characters: C0, DEL, C1. */
bool utf8_is_control(long code);

/* Characters that reorder the text around them, or are invisible (Unicode TR36, TR39). */
bool utf8_is_tricky(long code);

/* The longest form of one character that utf8_escape() writes, with its NUL. */
#define UTF8_ESCAPE_MAX 12

/* One character (n bytes at p, from utf8_next()) as a terminal may have it: controls, tricky characters and bytes that are not
 * UTF-8 become \n, \t, \xHH or \u{HHHH}, a backslash becomes two. Returns the end, where it puts a NUL behind an escape. */
char *utf8_escape(char *out, const char *p, size_t n, long code);

/* The escape of JSON: \uXXXX, or a pair of them. Returns the end. */
char *utf8_json(char *out, long code);

/* Room for a text of len bytes in that form: a byte becomes at most four. */
#define UTF8_PLAIN_MAX(len) (4 * (len) + UTF8_ESCAPE_MAX)

/* A whole text of len bytes in that form into `out`, where there is room for it. Returns its end, where it puts a NUL. */
char *utf8_put(char *out, const char *text, size_t len);

/* The same, allocated; NULL without memory. */
char *utf8_plain(const char *text, size_t len);

#endif
