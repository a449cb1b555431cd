/* SPDX-License-Identifier: GPL-3.0-only */
/* utf8.h - names are bytes from strangers: their characters, and escapes for those that are not
 * plain text. */
#ifndef IOT_UTF8_H
#define IOT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes one character at p (len > 0 bytes left): returns its length, and its number in *code.
 * Bytes that are not UTF-8 have length 1 and number -1. */
size_t utf8_next(const char *p, size_t len, long *code);

/* Control characters: C0, DEL, C1. */
bool utf8_is_control(long code);

/* Is it a character that reorders the text around it, or is invisible (Unicode TR36, TR39)? */
bool utf8_is_tricky(long code);

/* Room for the longest escape that utf8_escape() writes, with its NUL. */
#define UTF8_ESCAPE_MAX 12

/* Writes one character (n bytes at p, from utf8_next()) for a terminal: controls, tricky characters
 * and bytes that are not UTF-8 become \n, \t, \xHH or \u{HHHH}, a backslash becomes two. Returns
 * the end, where it puts a NUL after an escape. */
char *utf8_escape(char *out, const char *p, size_t n, long code);

/* Writes the escape of JSON: \uXXXX, or a pair of them. Returns the end. */
char *utf8_json(char *out, long code);

/* Room for the escaped form of len bytes: a byte becomes at most four. */
#define UTF8_PLAIN_MAX(len) (4 * (len) + UTF8_ESCAPE_MAX)

/* Writes len bytes of text in escaped form into `out`, which has that room. Returns the end, where
 * it puts a NUL. */
char *utf8_put(char *out, const char *text, size_t len);

/* Returns the escaped form of a text, allocated; NULL without memory. */
char *utf8_plain(const char *text, size_t len);

#endif
