/* SPDX-License-Identifier: GPL-3.0-only */
/* compare_say.c - a comparison in words, as tables, and as what its picture is drawn from. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "compare_say.h"
#include "comparison.h"
#include "functions.h"
#include "memory.h"

#define WORD_OF_(n) #n
#define WORD_OF(n) WORD_OF_(n)
#define NAMED_MAX 8              /* differences that get a sentence each */

static const char *const verdict_names[] = { "differs", "no difference", "equal", "too few runs",
					     "not compared" };

/* A table of the answer with these columns, blank separated. */
static struct grid *add_table(struct answer *a, const char *name, const char *title,
			      const char *columns)
{
	struct grid *t = reallocarray(a->table, a->tables + 1, sizeof(*t));

	if (!t)
		return NULL;
	a->table = t;
	t += a->tables++;
	*t = (struct grid){ .name = strdup(name), .title = title ? strdup(title) : NULL };
	t->col = calloc(strlen(columns), sizeof(*t->col));
	while (t->col && *columns) {
		size_t len = strcspn(columns, " ");

		t->col[t->cols] = strndup(columns, len);
		if (!t->col[t->cols++])
			return NULL;
		columns += len + strspn(columns + len, " ");
	}
	return t->name && t->col ? t : NULL;
}

/* The next cell of a row. */
static int put_text(struct cell **c, const char *text)
{
	return text ? cell_text((*c)++, text, strlen(text)) : ((*c)++, 0);
}

static void put_number(struct cell **c, double n)
{
	if (!isnan(n))
		**c = fabs(n) < 9e15 && n == floor(n) ? (struct cell){ .type = CELL_INT, .i = n } :
							(struct cell){ .type = CELL_REAL, .r = n };
	++*c;
}

/* Puts a number with decimals, also a whole one: a column has them in all rows or in none. */
static void put_real(struct cell **c, double n)
{
	if (!isnan(n))
		**c = (struct cell){ .type = CELL_REAL, .r = n };
	++*c;
}

static int add_words(struct grid *t, const char *about, const char *words)
{
	struct cell *c = t ? grid_add(t) : NULL;

	return !c || put_text(&c, about) || put_text(&c, words) ? -ENOMEM : 0;
}

/* A value with its unit, and its bound. */
static void put_value(FILE *out, const struct quantity *q, double value, const char *bound)
{
	char text[SIZE_TEXT];

	if (isnan(value)) {
		fputs("n/a", out);
		return;
	}
	if (strcmp(bound, "exact"))
		fprintf(out, "%s ", bound);
	size_text(value, text);
	if (!strcmp(q->unit, "bytes"))
		fputs(text, out);
	else
		fprintf(out, strcmp(q->unit, "ratio") ? "%.0f" : "%.3f", value);
}

/* In percent, with one decimal where that is needed. */
static void put_percent(FILE *out, double by)
{
	fprintf(out, fabs(by) < 0.0995 ? "%+.1f" : "%+.0f", 100 * by);
}

static void put_difference(FILE *out, const struct comparison *c, const struct difference *d)
{
	size_t na = c->sets.set[0].runs, nb = c->sets.set[d->to].runs;

	if (strcmp(d->q->what, "all"))
		fprintf(out, "%s: ", d->q->who);
	fprintf(out, "%s: ", d->q->word);
	put_value(out, d->q, d->a, d->bound_a);
	fputs(" -> ", out);
	put_value(out, d->q, d->b, d->bound_b);
	if (d->verdict == NOT_COMPARED)
		fprintf(out, ", not compared: %s", d->why);
	else
		fputs(d->verdict == ALIKE ? ", no difference" :
		      d->verdict == EQUAL ? ", equal in every run" :
					    "",
		      out);
	if (d->verdict != EQUAL && !isnan(d->by)) {
		fputs(d->verdict == ALIKE ? ": " : ", ", out);
		put_percent(out, d->by);
		fputs(" %", out);
		if (d->change.known) {
			fputs(is_few(c, d->to) ? " (" : " [", out);
			put_percent(out, d->change.low);
			fputs(is_few(c, d->to) ? " to " : ", ", out);
			put_percent(out, d->change.high);
			fputc(is_few(c, d->to) ? ')' : ']', out);
		}
	}
	if (na == nb)
		fprintf(out, ", %zu run%s each.", na, na == 1 ? "" : "s");
	else
		fprintf(out, ", %zu and %zu runs.", na, nb);
}

static int say_difference(struct grid *t, const char *about, const struct comparison *c,
			  const struct difference *d)
{
	auto_free char *text = NULL;
	FILE *out = memory_open(&text, NULL);

	if (!out)
		return -ENOMEM;
	if (c->sets.n > 2)
		fprintf(out, "%s -> %s: ", c->sets.set[0].name, c->sets.set[d->to].name);
	put_difference(out, c, d);
	return fclose(out) ? -ENOMEM : add_words(t, about, text);
}

/* Is the difference one of the few that a change is about? They come first, whether they differ or
 * not; reads only where there are some. */
static bool is_answer(const struct difference *d)
{
	bool all = !strcmp(d->q->what, "all"), a = all ? d->a != 0 : d->a > 0,
	     b = all ? d->b != 0 : d->b > 0;

	return d->q->first && (a || b) && (d->verdict != NOT_COMPARED || !strncmp(d->q->name, "B", 1));
}

static int say_answers(struct grid *t, const struct comparison *c, size_t to)
{
	auto_free char *more = NULL;
	size_t i, said = 0;
	int ord, err = 0;

	for (ord = 0; ord < 100; ord++)
		for (i = 0; !err && i < c->differences; i++)
			if (c->difference[i].to == to && c->difference[i].q->ord == ord &&
			    is_answer(&c->difference[i]) && ++said <= 2 * NAMED_MAX)
				err = say_difference(t, "answer", c, &c->difference[i]);
	if (err || said <= 2 * NAMED_MAX)
		return err;
	return asprintf(&more, "%zu more, in table `differences`.", said - 2 * NAMED_MAX) < 0 ?
		       -ENOMEM :
		       add_words(t, "answer", more);
}

/* Sentences with the others that differ, the largest; the names of the rest are in the table. */
static int say_others(struct grid *t, const struct comparison *c, size_t to)
{
	size_t i, differ = 0, alike = 0, few = 0, more;
	auto_free char *text = NULL;
	int err = 0;

	for (i = 0; !err && i < c->differences; i++) {
		const struct difference *d = &c->difference[i];

		if (d->to != to || is_answer(d))
			continue;
		alike += d->verdict == ALIKE || d->verdict == EQUAL;
		few += d->verdict == TOO_FEW;
		if (d->verdict == DIFFERS && ++differ <= NAMED_MAX)
			err = say_difference(t, "differs", c, d);
	}
	more = differ > NAMED_MAX ? differ - NAMED_MAX : 0;
	if (!err && more && asprintf(&text, "%zu more, in table `differences`.", more) < 0)
		return -ENOMEM;
	if (!err && more)
		err = add_words(t, "differs", text);
	free(text);
	text = NULL;
	if (!err && alike && asprintf(&text, "No difference is shown in %zu other quantities.", alike) < 0)
		return -ENOMEM;
	if (!err && alike)
		err = add_words(t, "same", text);
	free(text);
	text = NULL;
	if (!err && few &&
	    asprintf(
		    &text,
		    "%zu other quantities cannot be shown to differ with so few runs: give 5 each or more.",
		    few) < 0)
		return -ENOMEM;
	return err ?: few ? add_words(t, "too few", text) : 0;
}

/* A sentence on the quantities that could not be compared, by reason. */
static int say_absent(struct grid *t, const struct comparison *c)
{
	auto_free char *text = NULL;
	FILE *out = memory_open(&text, NULL);
	size_t i, k, n = 0;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < c->differences; i++) {
		const struct difference *d = &c->difference[i];
		bool before = false;

		if (d->verdict != NOT_COMPARED || d->to != 1)
			continue;
		for (k = 0; k < i && !before; k++)
			before = c->difference[k].verdict == NOT_COMPARED &&
				 c->difference[k].to == 1 && !strcmp(c->difference[k].why, d->why);
		if (!before && ++n <= NAMED_MAX)
			fprintf(out, "%s%s (%s)", n > 1 ? "; " : "", d->q->word, d->why);
	}
	fputs(n > NAMED_MAX ? "; and others." : ".", out);
	return fclose(out) ? -ENOMEM : n ? add_words(t, "n/a", text) : 0;
}

static int say_test(struct grid *t, const struct comparison *c)
{
	size_t na = c->sets.set[0].runs, to;
	auto_free char *text = NULL, *few = NULL;
	const char *spans = "intervals: 95 %, bootstrap of the medians, seed " WORD_OF(STATS_SEED);
	double least = 1;

	for (to = 1; to < c->sets.n; to++) {
		least = fmin(least, stats_least_p(na, c->sets.set[to].runs));
		if (is_few(c, to))
			spans = "ranges of the runs, least to most: for intervals give " WORD_OF(
				STATS_INTERVAL_RUNS) " runs each or more";
	}
	if (asprintf(
		    &few,
		    "Ranges of the runs, least to most. Whether that is more than chance so few cannot show: of runs that are alike %.0f of 100"
		    " comparisons look like this; give %d each or more.",
		    100 * least, STATS_INTERVAL_RUNS) < 0 ||
	    asprintf(
		    &text,
		    "%zu comparisons; of 100 such as this, of runs that are alike, at most 4 say that anything differs (permutations of the runs, max-T); %s.",
		    c->tested, spans) < 0)
		return -ENOMEM;
	if (c->tested && least > ERRORS_FIRST)
		return add_words(t, "test", few);
	return c->tested ? add_words(t, "test", text) : 0;
}

static int say_idle(struct grid *t, const struct comparison *c)
{
	auto_free char *text = NULL;
	FILE *out = memory_open(&text, NULL);
	char bytes[SIZE_TEXT];
	size_t i, n = 0;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < c->sets.n; i++) {
		if (isnan(c->idle[i]))
			continue;
		size_text(c->idle[i], bytes);
		fprintf(out, "%s%s in %s", n++ ? ", " : "", bytes, c->sets.set[i].name);
	}
	fputs(", subtracted from nothing.", out);
	if (fclose(out))
		return -ENOMEM;
	return n ? add_words(t, "idle", text) : 0;
}

static int put_words(struct answer *a, const struct comparison *c)
{
	struct grid *t = add_table(a, "words", NULL, "about words");
	size_t to;
	int err = t ? 0 : -ENOMEM;

	if (t)
		t->words = true;
	if (!err && c->unlike)
		err = add_words(t, "FORCED", c->unlike);
	for (to = 1; !err && to < c->sets.n; to++)
		err = say_answers(t, c, to) ?: say_others(t, c, to);
	return err ?: say_absent(t, c) ?: say_idle(t, c) ?: say_test(t, c);
}

static int put_sets(struct answer *a, const struct comparison *c)
{
	struct grid *t =
		add_table(a, "sets",
			  "What was compared (idle: bytes that devices wrote in the control)",
			  "set run store label kernel device fs filters horizon seconds idle");
	size_t i;
	int err = t ? 0 : -ENOMEM;

	for (i = 0; !err && i < c->runs; i++) {
		static const char *const facts[] = { "kernel", "device", "fs", "filters", "horizon" };
		const struct set_run *r;
		size_t set = comparison_set(c, i, &r), k;
		const struct grid *f = &c->facts[i];
		struct cell *cell = grid_add(t);

		if (!cell || put_text(&cell, c->sets.set[set].name))
			return -ENOMEM;
		put_number(&cell, r->run);
		err = put_text(&cell, r->store) ?: put_text(&cell, r->label);
		for (k = 0; !err && k < N_OF(facts); k++)
			err = put_text(&cell, grid_cell(f, 0, grid_find(f, facts[k]))->text);
		put_real(&cell, grid_cell(f, 0, grid_find(f, "seconds"))->type == CELL_REAL ?
					grid_cell(f, 0, grid_find(f, "seconds"))->r :
					NAN);
		put_number(&cell, c->idle[set]);
	}
	return err;
}

static int put_row(struct cell *cell, const struct comparison *c, const struct difference *d)
{
	const struct set *a = &c->sets.set[0], *b = &c->sets.set[d->to];
	const double percent[] = { d->by, d->change.known ? d->change.low : NAN,
				   d->change.known ? d->change.high : NAN };
	bool ratio = !strcmp(d->q->unit, "ratio");
	void (*number)(struct cell **, double) = ratio ? put_real : put_number;
	size_t i;

	if (put_text(&cell, verdict_names[d->verdict]) || put_text(&cell, d->q->who) ||
	    put_text(&cell, d->q->name) || put_text(&cell, d->q->unit) ||
	    put_text(&cell, a->name) || put_text(&cell, b->name) || put_text(&cell, d->bound_a))
		return -ENOMEM;
	number(&cell, d->a);
	number(&cell, d->span_a.known ? d->span_a.low : NAN);
	number(&cell, d->span_a.known ? d->span_a.high : NAN);
	if (put_text(&cell, d->bound_b))
		return -ENOMEM;
	number(&cell, d->b);
	number(&cell, d->span_b.known ? d->span_b.low : NAN);
	number(&cell, d->span_b.known ? d->span_b.high : NAN);
	for (i = 0; i < N_OF(percent); i++)
		put_real(&cell, d->verdict == NOT_COMPARED ? NAN : 100 * percent[i]);
	put_real(&cell, d->p);
	put_number(&cell, a->runs);
	put_number(&cell, b->runs);
	return put_text(&cell, c->unlike ? "forced" : "") ?:
	       put_text(&cell, d->verdict == NOT_COMPARED ? d->why : "") ?:
	       put_text(&cell, is_few(c, d->to) ? "range" : "interval");
}

static bool is_few_anywhere(const struct comparison *c)
{
	for (size_t to = 1; to < c->sets.n; to++)
		if (is_few(c, to))
			return true;
	return false;
}

static int put_differences(struct answer *a, const struct comparison *c)
{
	struct grid *t = add_table(
		a, "differences",
		is_few_anywhere(c) ?
			"Medians, and the difference in percent of the first with the range of the runs, low to high (p: adjusted for all comparisons)" :
			"Medians, and the difference in percent of the first with its 95 % interval (p: adjusted for all comparisons)",
		"verdict who quantity unit from to bound_a a a_low a_high bound_b b b_low b_high percent low high p runs_a runs_b forced note span");
	size_t i;
	int err = t ? 0 : -ENOMEM;

	if (t && asprintf(&t->hide, " unit%s a_low a_high b_low b_high runs_a runs_b forced span",
			  c->sets.n > 2 ? "" : " from to") < 0)
		return -ENOMEM;
	for (i = 0; !err && i < c->differences; i++) {
		struct cell *cell = grid_add(t);

		err = cell ? put_row(cell, c, &c->difference[i]) : -ENOMEM;
	}
	return err;
}

/* Each value of each run: not printed, but for --table values. */
static int put_values(struct answer *a, const struct comparison *c)
{
	struct grid *t = add_table(a, "values", NULL, "set store run who quantity unit bound value");
	size_t i, k;
	int err = t ? 0 : -ENOMEM;

	if (t)
		t->plot = true;
	for (i = 0; !err && i < c->quantities; i++) {
		const struct quantity *q = &c->quantity[i];

		for (k = 0; !err && k < c->runs; k++) {
			const struct set_run *r;
			size_t set = comparison_set(c, k, &r);
			struct cell *cell = grid_add(t);

			if (!cell || put_text(&cell, c->sets.set[set].name) || put_text(&cell, r->store))
				return -ENOMEM;
			put_number(&cell, r->run);
			err = put_text(&cell, q->who) ?: put_text(&cell, q->name) ?:
			      put_text(&cell, q->unit) ?: put_text(&cell, q->bound[k]);
			put_number(&cell, q->value[k]);
		}
	}
	return err;
}

/* The rows of the picture: one for each difference that is known. */
static int put_dots(struct answer *a, const struct comparison *c)
{
	struct grid *t = add_table(a, "dots", NULL, "label percent low high differs set text");
	size_t i;

	if (!t)
		return -ENOMEM;
	t->plot = true;
	for (i = 0; i < c->differences && t->rows < 40; i++) {
		const struct difference *d = &c->difference[i];
		auto_free char *label = NULL, *text = NULL;
		struct cell *cell;
		FILE *out;

		if (isnan(d->by) || d->verdict == NOT_COMPARED || d->verdict == EQUAL)
			continue;
		cell = grid_add(t);
		out = memory_open(&text, NULL);
		if (!cell || !out)
			return -ENOMEM;
		put_value(out, d->q, d->a, d->bound_a);
		fputs(" -> ", out);
		put_value(out, d->q, d->b, d->bound_b);
		if (fclose(out) ||
		    asprintf(&label, "%s%s%s%s%s", strcmp(d->q->what, "all") ? d->q->who : "",
			     strcmp(d->q->what, "all") ? ": " : "", d->q->word,
			     c->sets.n > 2 ? ", " : "",
			     c->sets.n > 2 ? c->sets.set[d->to].name : "") < 0)
			return -ENOMEM;
		if (put_text(&cell, label))
			return -ENOMEM;
		put_real(&cell, 100 * d->by);
		put_real(&cell, 100 * (d->change.known ? d->change.low : d->by));
		put_real(&cell, 100 * (d->change.known ? d->change.high : d->by));
		put_number(&cell, d->verdict == DIFFERS);
		put_number(&cell, d->to);
		if (put_text(&cell, text))
			return -ENOMEM;
	}
	return 0;
}

/* The picture: a line from one end of the interval, or range, to the other, with a dot for the
 * difference of the medians. */
static int put_intervals(struct answer *a, const struct comparison *c)
{
	static const char *const says[] = {
		"-- plot: intervals\n-- chart: bars\n-- heading: Difference of medians (dot), with its 95 % interval (line)\n"
		"-- axis: difference\n-- unit: percent\n-- fold: no\n-- rows: 30\n",
		"-- plot: intervals\n-- chart: bars\n-- heading: Difference of medians (dot), with the range of the runs (line)\n"
		"-- axis: difference\n-- unit: percent\n-- fold: no\n-- rows: 30\n",
	};
	const struct grid *dots = &a->table[a->tables - 1];
	struct grid *t;
	size_t row;
	int err = 0, col;

	t = add_table(a, "intervals", NULL, "row part value low high label");
	if (!t)
		return -ENOMEM;
	dots = &a->table[a->tables - 2]; /* add_table() has moved it */
	t->plot = true;
	t->says = strdup(says[is_few_anywhere(c)]);
	for (row = 0; t->says && !err && row < dots->rows; row++) {
		const struct cell *from[] = { grid_cell(dots, row, 0), NULL, grid_cell(dots, row, 1),
					      grid_cell(dots, row, 2), grid_cell(dots, row, 3), grid_cell(dots, row, 6) };
		struct cell *cell = grid_add(t);

		if (!cell)
			return -ENOMEM;
		for (col = 0; !err && col < (int)N_OF(from); col++) {
			if (!from[col])
				err = put_text(&cell, grid_cell(dots, row, 4)->i ? "differs" : "no difference shown");
			else if (from[col]->type == CELL_TEXT)
				err = put_text(&cell, from[col]->text);
			else
				put_real(&cell, from[col]->r);
		}
	}
	return t->says ? err : -ENOMEM;
}

/* One line a set, as the head of every report. */
static int put_head(struct answer *a, const struct comparison *c)
{
	size_t i;
	struct grid *t = add_table(a, "head", NULL, "line");

	if (!t)
		return -ENOMEM;
	a->head = a->table[--a->tables];
	for (i = 0; i < c->sets.n; i++) {
		const struct set *s = &c->sets.set[i];
		struct cell *cell = grid_add(&a->head);
		auto_free char *text = NULL;

		if (!cell ||
		    asprintf(&text, "%c %s: %zu run%s of %s%s%s", (char)('A' + i % 26), s->name,
			     s->runs, s->runs == 1 ? "" : "s", s->run[0].store,
			     strcmp(s->run[0].store, s->run[s->runs - 1].store) ? " and others" :
										  "",
			     c->unlike ? "; NOT comparable, forced" : "") < 0 ||
		    put_text(&cell, text))
			return -ENOMEM;
	}
	return 0;
}

/* One line a set under the title of a picture: names only, those of stores without their folders. */
static int put_picture_head(struct answer *a, const struct comparison *c)
{
	struct grid *t = add_table(a, "head", NULL, "line");
	size_t i;

	if (!t)
		return -ENOMEM;
	a->picture = a->table[--a->tables];
	for (i = 0; i < c->sets.n; i++) {
		const struct set *s = &c->sets.set[i];
		const char *name = strrchr(s->name, '/') ? strrchr(s->name, '/') + 1 : s->name;
		size_t len = strlen(name);
		struct cell *cell = grid_add(&a->picture);
		auto_free char *text = NULL;

		if (len > 7 && !strcmp(name + len - 7, ".sqlite"))
			len -= 7;
		if (!cell ||
		    asprintf(&text, "%c %.*s: %zu run%s%s", (char)('A' + i % 26), (int)len, name,
			     s->runs, s->runs == 1 ? "" : "s",
			     c->unlike ? "; NOT comparable, forced" : "") < 0 ||
		    put_text(&cell, text))
			return -ENOMEM;
	}
	return 0;
}

int compare_answer(const struct comparison *c, struct answer *a)
{
	a->name = "compare";
	a->title = strdup("Comparison: what differs between sets of repeated runs");
	a->main = strdup("differences");
	a->about_store = true;
	if (!a->title || !a->main)
		return -ENOMEM;
	return put_head(a, c) ?: put_picture_head(a, c) ?: put_words(a, c) ?: put_differences(a, c) ?:
	       put_sets(a, c) ?: put_dots(a, c) ?: put_intervals(a, c) ?: put_values(a, c);
}
