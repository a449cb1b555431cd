/* SPDX-License-Identifier: GPL-3.0-only */
/* pattern.h - shell-like patterns for names and paths, matched in time linear in pattern x subject.
 *
 *   c       the byte c                  \c      the byte c, without its special meaning
 *   ?       one byte, not '/'           [a-z_]  one byte of these, [!a-z] one outside; not '/'
 *   *       any bytes, not '/'          **      any bytes
 *           ** followed by '/' at the start or after a '/': any number of components, also none
 *   {uuid}  8-4-4-4-12 hex digits       {digits} {hex}  one or more; {digits:8} {hex:24} exactly N
 *
 * There is no backtracking: the time is at most states x bytes for any pattern.
 */
#ifndef IOT_PATTERN_H
#define IOT_PATTERN_H

#include <stdbool.h>

#define PATTERN_MAX 512        /* longest pattern, bytes */
#define PATTERN_TOKENS 256     /* longest pattern, compiled: {hex:24} counts 24 */
#define PATTERN_CLASSES 16     /* classes in one pattern */

struct pattern;

/* Compiles `text`, which must be NUL-terminated. Without `path` the subject is not a path, and '/'
 * has no special meaning. Returns NULL when it is not a pattern, or without memory; then *why is a
 * constant string that says what is wrong. Freed with pattern_free(). */
struct pattern *pattern_new(const char *text, bool path, const char **why);
void pattern_free(struct pattern *);

/* Returns true when the whole of `subject` matches. */
bool pattern_match(const struct pattern *, const char *subject);

/* Returns the text of the pattern, owned by it; and its number of compiled tokens, for budgets. */
const char *pattern_text(const struct pattern *);
unsigned pattern_tokens(const struct pattern *);
#endif
