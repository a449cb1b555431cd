/* SPDX-License-Identifier: GPL-3.0-only */
/* unit.h - numbers as people read them: bytes in powers of 1024 (KiB, MiB), counts in powers of
 * 1000 (k, M), times in µs, ms, s. */
#ifndef IOT_ANALYZER_UNIT_H
#define IOT_ANALYZER_UNIT_H

#include <stddef.h>

enum unit { UNIT_BYTES, UNIT_COUNT, UNIT_US, UNIT_S, UNIT_RATIO, UNIT_PERCENT };
extern const char *const unit_names[]; /* ends with NULL */

#define UNIT_TEXT 32

/* Three digits and the unit; `buf` has UNIT_TEXT bytes. Returns it. */
const char *unit_text(char *buf, double value, enum unit unit);

/* A round step for at most `count` ticks from 0 to `most`. */
double unit_step(double most, int count, enum unit unit);

#endif
