// SPDX-License-Identifier: GPL-3.0-only
/* siphash.c - SipHash-2-4, as the paper has it: two rounds for each word, four at the end. */
#include "siphash.h"

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32) + v[3];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* A little-endian word of n bytes, at most 8. */
static uint64_t word_of(const unsigned char *p, size_t n)
{
	uint64_t w = 0;

	while (n--)
		w = w << 8 | p[n];
	return w;
}

static void compress(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t siphash(const unsigned char key[SIPHASH_KEY], const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t k0 = word_of(key, 8), k1 = word_of(key + 8, 8), last = (uint64_t)n << 56;
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull,
		k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull };

	for (; n >= 8; n -= 8, p += 8)
		compress(v, word_of(p, 8));
	compress(v, last | word_of(p, n));
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
