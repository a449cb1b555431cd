/* SPDX-License-Identifier: GPL-3.0-only */
/* stats.c - bootstrap intervals of medians, and permutations of runs. stats.h says whose formulas
 * these are. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "stats.h"

#define ARRANGEMENTS_MAX 20000

/* xorshift64* (S. Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016):
 * below n. */
static size_t draw(uint64_t *state, size_t n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 0x2545f4914f6cdd1dull >> 32) * n >> 32;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *value, size_t n)
{
	qsort(value, n, sizeof(*value), by_value);
	return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

/* The values between which 95 % of `count` sorted ones lie. */
static struct span percentiles(const double *sorted, size_t count)
{
	size_t outside = count / 40;

	return (struct span){ .known = true, .low = sorted[outside], .high = sorted[count - 1 - outside] };
}

static double median_of_resample(uint64_t *state, const double *value, size_t n, double *room)
{
	size_t i;

	for (i = 0; i < n; i++)
		room[i] = value[draw(state, n)];
	return stats_median(room, n);
}

int stats_median_span(const double *value, size_t n, struct span *out)
{
	auto_free double *all = malloc(STATS_RESAMPLES * sizeof(*all)),
			 *room = malloc((n ?: 1) * sizeof(*room));
	uint64_t state = STATS_SEED;
	size_t i;

	*out = (struct span){ 0 };
	if (!all || !room)
		return -ENOMEM;
	if (n < 2)
		return 0;
	for (i = 0; i < STATS_RESAMPLES; i++)
		all[i] = median_of_resample(&state, value, n, room);
	qsort(all, STATS_RESAMPLES, sizeof(*all), by_value);
	*out = percentiles(all, STATS_RESAMPLES);
	return 0;
}

int stats_change_span(const double *a, size_t na, const double *b, size_t nb, struct span *out)
{
	size_t most = na > nb ? na : nb, i;
	auto_free double *all = malloc(STATS_RESAMPLES * sizeof(*all)),
			 *room = malloc((most ?: 1) * sizeof(*room));
	uint64_t state = STATS_SEED;

	*out = (struct span){ 0 };
	if (!all || !room)
		return -ENOMEM;
	if (na < 2 || nb < 2)
		return 0;
	for (i = 0; i < STATS_RESAMPLES; i++) {
		double from = median_of_resample(&state, a, na, room),
		       upto = median_of_resample(&state, b, nb, room);

		if (from <= 0)
			return 0;
		all[i] = upto / from - 1;
	}
	qsort(all, STATS_RESAMPLES, sizeof(*all), by_value);
	*out = percentiles(all, STATS_RESAMPLES);
	return 0;
}

struct span stats_range(const double *value, size_t n)
{
	struct span s = { .known = n > 1, .low = n ? value[0] : 0, .high = n ? value[0] : 0 };

	for (size_t i = 1; i < n; i++) {
		s.low = value[i] < s.low ? value[i] : s.low;
		s.high = value[i] > s.high ? value[i] : s.high;
	}
	return s;
}

struct span stats_change_range(const double *a, size_t na, const double *b, size_t nb)
{
	struct span from = stats_range(a, na), to = stats_range(b, nb);

	if (!from.known || !to.known || from.low <= 0)
		return (struct span){ 0 };
	return (struct span){ .known = true,
			      .low = to.low / from.high - 1,
			      .high = to.high / from.low - 1 };
}

/* Of n things, k: how many arrangements; stops counting beyond what can be tried. */
static double choose(size_t n, size_t k)
{
	double all = 1;
	size_t i;

	for (i = 1; i <= k && all < 1e15; i++)
		all = all * (n - k + i) / i;
	return floor(all + 0.5);
}

double stats_least_p(size_t na, size_t nb)
{
	double all = choose(na + nb, na < nb ? na : nb);

	return all > ARRANGEMENTS_MAX ? 1.0 / (STATS_PERMUTATIONS + 1) : (na == nb ? 2 : 1) / all;
}

/* |t| of Welch, where `first` says which runs are of the first set. Without any noise it is 0 or
 * infinite. */
static double welch(const double *value, const bool *first, size_t n)
{
	double sum[2] = { 0 }, square[2] = { 0 }, count[2] = { 0 }, mean[2], noise = 0, most = 0;
	size_t i;
	int k;

	for (i = 0; i < n; i++) {
		sum[first[i]] += value[i] - value[0];
		count[first[i]]++;
		most = fmax(most, fabs(value[i] - value[0]));
	}
	for (k = 0; k < 2; k++)
		mean[k] = sum[k] / count[k];
	for (i = 0; i < n; i++)
		square[first[i]] += (value[i] - value[0] - mean[first[i]]) *
				    (value[i] - value[0] - mean[first[i]]);
	for (k = 0; k < 2; k++)
		noise += count[k] > 1 ? square[k] / (count[k] - 1) / count[k] : 0;
	if (fabs(mean[0] - mean[1]) <= 1e-12 * most || most == 0)
		return 0;
	return noise <= 1e-24 * most * most ? INFINITY : fabs(mean[0] - mean[1]) / sqrt(noise);
}

/* The next of all arrangements, as the next number in binary with as many ones (R. Gosper, HAKMEM
 * 175, 1972). */
static bool next_arrangement(bool *first, size_t n)
{
	size_t i, ones = 0, k;

	for (i = 0; i + 1 < n && !(first[i] && !first[i + 1]); i++)
		ones += first[i];
	if (i + 1 >= n)
		return false;
	first[i] = false;
	first[i + 1] = true;
	for (k = 0; k < i; k++)
		first[k] = k < ones;
	return true;
}

static void shuffle(uint64_t *state, bool *first, size_t n)
{
	size_t i;

	for (i = n - 1; i > 0; i--) {
		size_t k = draw(state, i + 1);
		bool b = first[i];

		first[i] = first[k];
		first[k] = b;
	}
}

struct ranked {
	double t;
	size_t i, above;
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->t != y->t ? (x->t < y->t) - (x->t > y->t) : (x->i > y->i) - (x->i < y->i);
}

/* Counts, for each quantity, whether any of those behind it, or itself, is as large in this
 * arrangement as it is in truth. */
static void count_above(struct ranked *r, const struct sample *s, size_t m, const bool *first,
			size_t n)
{
	double most = 0;
	size_t i;

	for (i = m; i-- > 0;) {
		most = fmax(most, welch(s[r[i].i].value, first, n));
		r[i].above += isinf(r[i].t) ? isinf(most) : most >= r[i].t * (1 - 1e-9);
	}
}

int stats_differ(struct sample *s, size_t m, size_t na, size_t nb)
{
	size_t n = na + nb, i, tried = 0;
	auto_free struct ranked *r = calloc(m ?: 1, sizeof(*r));
	auto_free bool *first = calloc(n ?: 1, sizeof(*first));
	bool all = choose(n, na < nb ? na : nb) <= ARRANGEMENTS_MAX;
	uint64_t state = STATS_SEED;
	double p = 0;

	if (!r || !first)
		return -ENOMEM;
	for (i = 0; i < na; i++)
		first[i] = true;
	for (i = 0; i < m; i++)
		r[i] = (struct ranked){ .t = welch(s[i].value, first, n), .i = i };
	qsort(r, m, sizeof(*r), largest_first);
	if (!all) { /* what was seen is one of the arrangements */
		count_above(r, s, m, first, n);
		tried = 1;
	}
	do {
		if (!all)
			shuffle(&state, first, n);
		count_above(r, s, m, first, n);
		tried++;
	} while (all ? next_arrangement(first, n) : tried <= STATS_PERMUTATIONS);
	for (i = 0; i < m; i++) {
		p = fmax(p, (double)r[i].above / tried);
		s[r[i].i].p = p;
	}
	return 0;
}
