/* SPDX-License-Identifier: GPL-3.0-only */
/* pattern.h - shell-like patterns for names and paths, matched in time linear in pattern x subject.
 *
 *   c       the byte c                  \c      the byte c, whatever it means otherwise
 *   ?       one byte, not '/'           [a-z_]  one byte of the class, [!a-z] one outside it; never '/'
 *   *       any bytes, not '/'          **      any bytes
 *           ** followed by '/' at the start or behind a '/': any number of whole path components, none included
 *   {uuid}  8-4-4-4-12 hex digits       {digits} {hex}  one or more;  {digits:8} {hex:24}  exactly so many
 *
 * There is no backtracking: a pattern that makes other matchers run for years costs states x bytes here.
 */
#ifndef IOT_PATTERN_H
#define IOT_PATTERN_H

#include <stdbool.h>

#define PATTERN_MAX 512        /* longest pattern, bytes */
#define PATTERN_TOKENS 256     /* longest pattern, compiled: {hex:24} counts 24 */
#define PATTERN_CLASSES 16     /* classes in one pattern */

struct pattern;

/* Compiles `text`, which must be NUL-terminated. Without `path` the subject is no path, and '/' is a byte like any
 * other: what is said about it above does not apply. Returns NULL when it is no pattern, or without memory, and then
 * *why is a constant string that says what is wrong. Freed with pattern_free(). */
struct pattern *pattern_new(const char *text, bool path, const char **why);
void pattern_free(struct pattern *);

/* True when the whole of `subject` matches. */
bool pattern_match(const struct pattern *, const char *subject);

/* The text the pattern was made from, owned by it; and its number of compiled tokens, for budgets. */
const char *pattern_text(const struct pattern *);
unsigned pattern_tokens(const struct pattern *);
#endif
