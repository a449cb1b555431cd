/* SPDX-License-Identifier: GPL-3.0-only */
/* stats.h - medians, their bootstrap intervals, and tests of two sets of repeats. Every call
 * starts from the same seed, so the same values give the same answer. */
#ifndef IOT_ANALYZER_STATS_H
#define IOT_ANALYZER_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_SEED 20261107
#define STATS_RESAMPLES 1999     /* for intervals */
#define STATS_PERMUTATIONS 9999

struct span {
	bool known;
	double low, high;
};

/* The values of one quantity in the runs of two sets, n of them in all: those of the first set are
 * in front. */
struct sample {
	const double *value;
	double p;               /* out: see stats_differ() */
};

/* The median of n >= 1 values, which it sorts. */
double stats_median(double *value, size_t n);

/* 95 % interval of the median of n values: the percentile bootstrap (B. Efron and R. Tibshirani,
 * An Introduction to the Bootstrap, 1993, chapter 13). Of means it is too narrow for few values
 * (T. Hesterberg, arXiv:1411.5279, section 4.3); of medians it is not: with 5 values it reaches
 * from the least to the largest, which hold the median of any distribution in 93.75 % (1 - 2/2^5),
 * and that of a difference of medians, below, holds it in 95 to 97 % (tests/analyze/compare.bats). Below 5
 * values it is too narrow. Not known for n < 2. 0 or -ENOMEM. */
int stats_median_span(const double *value, size_t n, struct span *out);

/* 95 % interval of median(b) / median(a) - 1, by the same bootstrap. Not known where either has
 * fewer than 2 values, or median(a) may be 0. */
int stats_change_span(const double *a, size_t na, const double *b, size_t nb, struct span *out);

/* For fewer than STATS_INTERVAL_RUNS values, for which intervals say nothing: the range of the
 * values, and that of b / a - 1. Not known where either has fewer than 2 values, or a value of a
 * may be 0. */
#define STATS_INTERVAL_RUNS 5
struct span stats_range(const double *value, size_t n);
struct span stats_change_range(const double *a, size_t na, const double *b, size_t nb);

/* For each of m quantities, the probability p that a difference as large as its own appears in any
 * of them, if none differs: adjusted by permutation, step-down max-T (P. Westfall and S. Young,
 * Resampling-Based Multiple Testing, 1993, algorithm 4.1), with the t of Welch as the statistic.
 * Runs are permuted with all their quantities together: nothing is assumed about the distribution
 * of quantities or about their correlation. Up to 20000 arrangements are all tried, of more
 * STATS_PERMUTATIONS are. 0 or -ENOMEM. */
int stats_differ(struct sample *s, size_t m, size_t na, size_t nb);

/* The smallest p that so many runs can have: 2 of all arrangements when there are as many in both
 * sets, else 1. */
double stats_least_p(size_t na, size_t nb);

#endif
