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

#ifndef __IOT_KERNEL__ /* there it is that of index.h */
static inline unsigned long long is_negative(unsigned long long number)
{
	return number >> 63;
}
#endif

/* Takes n bits off, if anything is above them; returns how many. Without a jump: the verifier would look at all combinations. */
static inline unsigned int hist_shift(unsigned long long *x, unsigned int n)
{
	unsigned long long above = *x >> n;
	unsigned int by = is_negative(above | -above) * n;

	*x >>= by;
	return by;
}

static inline unsigned int hist_bucket(unsigned long long v)
{
	unsigned int octave = 0, bucket;
	unsigned long long x = v;

	if (v < 8)
		return v;
	octave += hist_shift(&x, 32);
	octave += hist_shift(&x, 16);
	octave += hist_shift(&x, 8);
	octave += hist_shift(&x, 4);
	octave += hist_shift(&x, 2);
	octave += hist_shift(&x, 1);
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
