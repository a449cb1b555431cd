/* SPDX-License-Identifier: GPL-3.0-only */
/* number.h - numbers from users: decimal digits, no sign, no blanks, no overflow, nothing after
 * them. All functions return 0 or -EINVAL, silently. */
#ifndef IOT_BASE_NUMBER_H
#define IOT_BASE_NUMBER_H

#include <stdint.h>

int parse_number(const char *text, uint64_t *out);
/* Parses a number that an SQLite integer can hold. */
int parse_number_63(const char *text, uint64_t *out);
/* Parses seconds with an optional fraction, "2" or "0.25", into ns; more than 0 and at most 10
 * years. */
int parse_seconds(const char *text, uint64_t *ns);
/* Parses a number with an optional K, M, G or T, or KiB, MiB, GiB, TiB (powers of 1024). */
int parse_size(const char *text, uint64_t *out);

#endif
