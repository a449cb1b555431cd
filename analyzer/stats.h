/* SPDX-License-Identifier: GPL-3.0-only */
/* stats.h - medians, their bootstrap intervals, and whether two sets of repeats differ. Nothing here is random twice: every call starts
 * from the same seed.
 */
#ifndef IOT_ANALYZER_STATS_H
#define IOT_ANALYZER_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_SEED 20261107
#define STATS_RESAMPLES 9999

struct span {
	bool known;
	double low, high;
};

/* The values of one quantity in the runs of two sets, n of them in all: those of the first set are in front. */
struct sample {
	const double *value;
	double p;               /* out: see stats_differ() */
};

/* The median of n >= 1 values, which it sorts. */
double stats_median(double *value, size_t n);

/* 95 % interval of the median of n values. Expanded percentile bootstrap (T. Hesterberg, What Teachers Should Know About the Bootstrap,
 * arXiv:1411.5279, section 4.3): the plain percentile interval of n values is too narrow, as if the normal distribution stood for t and n for n - 1; so the
 * percentile is taken further out, at Phi(-sqrt(n / (n - 1)) t(0.975, n - 1)). Not known for n < 2. 0 or -ENOMEM. */
int stats_median_span(const double *value, size_t n, struct span *out);

/* 95 % interval of median(b) / median(a) - 1 likewise, with n the smaller number and na + nb - 2 degrees of freedom. Not known where either has fewer than 2
 * values, or median(a) may be 0. */
int stats_change_span(const double *a, size_t na, const double *b, size_t nb, struct span *out);

/* For each of m quantities, the probability p that a difference as large as its own appears in any of them, if none differs: adjusted by
 * permutation, step-down max-T (P. Westfall and S. Young, Resampling-Based Multiple Testing, 1993, algorithm 4.1), with the t of Welch as
 * the statistic. What is permuted is the runs, all quantities of a run together: nothing is assumed about how they are distributed, or hang together. Of at
 * most 20000 arrangements all are tried, else STATS_RESAMPLES. 0 or -ENOMEM. */
int stats_differ(struct sample *s, size_t m, size_t na, size_t nb);

/* The smallest p that so many runs can have: 2 of all arrangements when there are as many in both sets, else 1. */
double stats_least_p(size_t na, size_t nb);

#endif
