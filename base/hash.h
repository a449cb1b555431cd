/* SPDX-License-Identifier: GPL-3.0-only */
/* hash.h - numbers from bytes, for tables. Whoever has the table knows how large it is and when it is full. */
#ifndef IOT_BASE_HASH_H
#define IOT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 14695981039346656037ull

/* FNV-1a, going on from `h`: HASH_START, or what came before. */
static inline uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n--; p++)
		h = (h ^ *p) * 1099511628211ull;
	return h;
}

/* Of two small numbers; its lower bits are the good ones. */
static inline uint64_t hash_pair(uint32_t a, uint32_t b)
{
	return ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull >> 32;
}

#endif
