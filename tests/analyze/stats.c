/* SPDX-License-Identifier: GPL-3.0-only */
/* stats.c - drives analyzer/command/stats.c on sets of numbers with known answers.
 *
 * usage: stats PAIRS RUNS NOISE EFFECT QUANTITIES SEED    pairs of two sets of RUNS normal values each, of QUANTITIES quantities; in the
 *        second set the first of them is larger by EFFECT. Prints of how many pairs: found (the first has p <= 0.05), false (any other has),
 *        covered (EFFECT is in the interval of the first)
 *        stats p NA VALUES...                             p of one quantity: the first NA values are the first set
 *        stats span NA VALUES...                          the difference of medians and its interval
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../analyzer/command/stats.h"

#define MOST 1024

static double uniform(void)
{
	return (random() + 0.5) / 2147483648.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static int simulate(char **arg)
{
	size_t pairs = atoi(arg[0]), n = atoi(arg[1]), m = atoi(arg[4]), pair, i, k, found = 0,
	       wrong = 0, covered = 0;
	double noise = atof(arg[2]), effect = atof(arg[3]);
	double *value = calloc(2 * n * m, sizeof(*value));
	struct sample *s = calloc(m, sizeof(*s));

	srandom(atoi(arg[5]));
	for (pair = 0; value && s && pair < pairs; pair++) {
		struct span by;
		int any = 0;

		for (i = 0; i < m; i++) {
			for (k = 0; k < 2 * n; k++)
				value[i * 2 * n + k] = 1e6 * (1 + noise * normal()) * (!i && k >= n ? 1 + effect : 1);
			s[i].value = value + i * 2 * n;
		}
		if (stats_differ(s, m, n, n) || stats_change_span(value, n, value + n, n, &by))
			return 1;
		for (i = effect != 0; i < m; i++)
			any |= s[i].p <= 0.05;
		found += s[0].p <= 0.05;
		wrong += any;
		covered += by.low <= effect && by.high >= effect;
	}
	free(value);
	free(s);
	printf("found %zu false %zu covered %zu\n", found, wrong, covered);
	return 0;
}

int main(int argc, char **argv)
{
	double value[MOST];
	struct sample s = { .value = value };
	struct span by;
	int i, na;

	if (argc == 7 && atoi(argv[1]) > 0)
		return simulate(argv + 1);
	if (argc < 5 || argc > MOST)
		return 2;
	na = atoi(argv[2]);
	for (i = 3; i < argc; i++)
		value[i - 3] = atof(argv[i]);
	if (!strcmp(argv[1], "p")) {
		if (stats_differ(&s, 1, na, argc - 3 - na))
			return 1;
		return printf("%.6f\n", s.p) < 0;
	}
	if (stats_change_span(value, na, value + na, argc - 3 - na, &by))
		return 1;
	return (by.known ? printf("%.4f %.4f\n", by.low, by.high) : printf("n/a\n")) < 0;
}
