/* SPDX-License-Identifier: GPL-3.0-only */
/* siphash.h - SipHash-2-4: a keyed hash of short texts. Without the key nobody finds the text by
 * trying likely ones (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). */
#ifndef IOT_BASE_SIPHASH_H
#define IOT_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY 16         /* bytes */

uint64_t siphash(const unsigned char key[SIPHASH_KEY], const void *bytes, size_t n);

#endif
