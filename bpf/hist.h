/* SPDX-License-Identifier: GPL-3.0-only */
/* hist.h - log2 histograms with 8 sub-buckets an octave, the same in the kernel and outside.
 *
 * Values below 8 have a bucket each. From there, octave o (2^o <= v < 2^(o+1), o >= 3) is cut into 8 equal parts:
 * bucket = (o - 2) * 8 + ((v >> (o - 3)) & 7). A bucket is at most 1/8 of its lower bound wide, so its middle is
 * within 6.25 % of every value in it (METRICS section 5). 304 buckets reach 2^40 ns = 18 minutes; larger values
 * go to the last bucket.
 */
#ifndef IOT_HIST_H
#define IOT_HIST_H

#define HIST_BUCKETS 304

static inline unsigned int hist_bucket(unsigned long long v)
{
	unsigned int octave = 0, bucket;
	unsigned long long x = v;

	if (v < 8)
		return v;
	if (x >> 32) { octave += 32; x >>= 32; }
	if (x >> 16) { octave += 16; x >>= 16; }
	if (x >> 8) { octave += 8; x >>= 8; }
	if (x >> 4) { octave += 4; x >>= 4; }
	if (x >> 2) { octave += 2; x >>= 2; }
	if (x >> 1) octave += 1;
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
