/* SPDX-License-Identifier: GPL-3.0-only */
/* comparison.h - two or more sets of runs, their quantities, and the differences between them. */
#ifndef IOT_ANALYZER_COMPARISON_H
#define IOT_ANALYZER_COMPARISON_H

#include "grid.h"
#include "sets.h"
#include "stats.h"

/* Of 100 comparisons of what is alike at most 4 may say that something differs, wherever: 3 of
 * them for device bytes and their ratio to what was asked for, written or read, whichever is more;
 * 1 for all else, and all 4 for that once every one of the first differs (fallback procedure: B.
 * Wiens, Pharmaceutical Statistics 2, 2003). */
#define ERRORS_FIRST 0.03
#define ERRORS_REST 0.01

struct options;
struct limit;

/* One quantity of one line of a report, in all runs. Texts are cells of a run's answer. */
struct quantity {
	const char *what, *who, *name, *word, *unit;
	const char *note;        /* why it is not exact in one run, or NULL */
	int ord;
	int first; /* of the few that a change is about: 1 what is written, 2 what is read; 0: none
		      of them */
	double *value;           /* a run each; NAN: not measured there */
	const char **bound;      /* one for each value: "exact", ">=", "<=", "n/a" */
};

enum verdict {
	DIFFERS, ALIKE,
	EQUAL,                   /* the same number in every run: nothing to test */
	TOO_FEW,                 /* so few runs show nothing, whatever they measured */
	NOT_COMPARED,            /* absent, or a bound */
};

/* The difference of a quantity between the first set and another one. */
struct difference {
	const struct quantity *q;
	size_t to;               /* number of the other set */
	double a, b;             /* medians; NAN: not measured in every run */
	const char *bound_a, *bound_b;
	/* intervals; ranges where either set has fewer than STATS_INTERVAL_RUNS */
	struct span span_a, span_b, change;
	double by;               /* b/a - 1; NAN: a is 0 */
	double p;
	enum verdict verdict;
	const char *why;         /* NOT_COMPARED */
};

struct comparison {
	struct sets sets;
	size_t runs;             /* of all sets, one behind the other */
	struct grid *values, *facts; /* a run each: what it answered */
	struct quantity *quantity;
	size_t quantities;
	struct difference *difference; /* largest first */
	size_t differences;
	int about; /* which of these it is about: the larger in all runs together, whichever set
		      they are of */
	size_t tested;           /* of them, those that were put to the test */
	char *unlike;            /* why the runs are not comparable, with --force; else NULL */
	char **text;             /* of limits, a quantity each; NULL: none */
	double *idle;            /* a set each: median of what devices wrote in its controls; NAN: none */
};

/* The number of the set that a run is of, by its number among the runs of all sets. */
size_t comparison_set(const struct comparison *c, size_t run, const struct set_run **which);

/* Has one of the two sets too few runs for intervals, so that ranges are given? */
bool is_few(const struct comparison *c, size_t to);

/* Asks all runs of the sets, refuses those that are not comparable, and collects their quantities.
 * Returns 0 or an exit status. */
int comparison_read(struct comparison *c, const struct options *o);

/* Finds what differs from the first set to each other one. Returns 0 or an exit status. */
int comparison_test(struct comparison *c);

void comparison_free(struct comparison *c);

#endif
