/* SPDX-License-Identifier: GPL-3.0-only */
/* hist.h - log2 histograms with 8 sub-buckets an octave, the same in the kernel and outside.
 *
 * Values below 8 have a bucket each. From there, octave o (2^o <= v < 2^(o+1), o >= 3) is cut into
 * 8 equal parts: bucket = (o - 2) * 8 + ((v >> (o - 3)) & 7). A bucket is at most 1/8 of its lower
 * bound wide, so its middle is within 6.25 % of every value in it (METRICS section 5). 304 buckets
 * reach 2^40 ns = 18 minutes; larger values go to the last bucket.
 */
#ifndef IOT_HIST_H
#define IOT_HIST_H

#define HIST_BUCKETS 304

/* The number of the highest bit that is set in a number other than 0. There is no jump, since the
 * verifier would follow all combinations: all bits below the highest are set, and the product with
 * a de Bruijn sequence then has a distinct value in its highest six bits (Leiserson, Prokop and
 * Randall, 1998). */
static inline unsigned int highest_bit(unsigned long long v)
{
	static const unsigned char bit[64] = {
		0,  47, 1,  56, 48, 27, 2,  60, 57, 49, 41, 37, 28, 16, 3,  61, 54, 58, 35, 52, 50,
			42, 21, 44, 38, 32, 29, 23, 17, 11, 4,  62,
		46, 55, 26, 59, 40, 36, 15, 53, 34, 51, 20, 43, 31, 22, 10, 45, 25, 39, 14, 33, 19,
		30, 9,  24, 13, 18, 8,  12, 7,  6,  5,  63,
	};

	for (unsigned int by = 1; by < 64; by *= 2)
		v |= v >> by;
	return bit[v * 0x03f79d71b4cb0a89ULL >> 58];
}

static inline unsigned int hist_bucket(unsigned long long v)
{
	unsigned int octave, bucket;

	if (v < 8)
		return v;
	octave = highest_bit(v);
	bucket = (octave - 2) * 8 + ((v >> (octave - 3)) & 7);
	return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

/* Lower bound of a bucket, inclusive; hist_low_ns(b + 1) is its upper bound, exclusive. */
static inline unsigned long long hist_low_ns(unsigned int bucket)
{
	unsigned int octave = bucket / 8 + 2;

	if (bucket < 8)
		return bucket;
	return (8ULL + bucket % 8) << (octave - 3);
}

#endif
