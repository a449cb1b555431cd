/* SPDX-License-Identifier: GPL-3.0-only */
/* comparison.c - asks each run of several sets for the same quantities, checks that the runs are
 * comparable, and tests which quantities differ between sets of repeats. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "comparison.h"
#include "memory.h"
#include "options.h"
#include "report.h"
#include "stream.h"

size_t comparison_set(const struct comparison *c, size_t run, const struct set_run **which)
{
	size_t i;

	for (i = 0; run >= c->sets.set[i].runs; i++)
		run -= c->sets.set[i].runs;
	*which = &c->sets.set[i].run[run];
	return i;
}

static int no_memory(void)
{
	return fail_as(EXIT_DATA, ENOMEM, "compare");
}

static int ask_run(const struct options *o, const struct set_run *r, const char *rules,
		   struct grid *values, struct grid *facts)
{
	static const char what[] =
		"SELECT * FROM v_compare WHERE CASE WHEN :each OR :system IS NOT NULL THEN rank < 4 ELSE rank = 4 END";
	static const char which[] = "SELECT * FROM v_compare_run";
	struct ask ask = options_ask(o, rules);
	struct store *s = NULL;
	int err;

	ask.run = r->run;
	ask.per = per_names[o->per];
	err = store_open(&s, r->store) ?: store_ask(s, &ask) ?:
	      report_views(s, o->reports, what, "v_process v_compare_run") ?:
	      store_asked(s, o->system);
	if (!err)
		err = store_query(s, "compare", what, NULL, values);
	if (!err)
		err = store_query(s, "compare", which, NULL, facts);
	store_close(s);
	return err;
}

static int ask_runs(struct comparison *c, const struct options *o, const char *rules)
{
	const struct set_run *r;
	size_t i;
	int err = 0;

	for (i = 0; i < c->sets.n; i++)
		c->runs += c->sets.set[i].runs;
	c->values = calloc(c->runs ?: 1, sizeof(*c->values));
	c->facts = calloc(c->runs ?: 1, sizeof(*c->facts));
	if (!c->values || !c->facts)
		return no_memory();
	for (i = 0; !err && i < c->runs; i++) {
		comparison_set(c, i, &r);
		err = ask_run(o, r, rules, &c->values[i], &c->facts[i]);
	}
	return err;
}

/* Reads the bytes that devices wrote in the controls, when no load ran. */
static int ask_idle(struct comparison *c, const struct options *o, const char *rules)
{
	size_t i, k, row;
	int err = 0;

	c->idle = calloc(c->sets.n, sizeof(*c->idle));
	if (!c->idle)
		return no_memory();
	for (i = 0; !err && i < c->sets.n; i++) {
		const struct set *s = &c->sets.set[i];
		auto_free double *wrote = calloc(s->idles ?: 1, sizeof(*wrote));
		struct options all = *o;

		all.has_per = false;
		all.system = NULL;
		c->idle[i] = NAN;
		for (k = 0; wrote && !err && k < s->idles; k++) {
			struct grid t = { 0 }, facts = { 0 };

			err = ask_run(&all, &s->idle[k], rules, &t, &facts);
			for (row = 0; !err && row < t.rows; row++)
				if (!strcmp(grid_cell(&t, row, grid_find(&t, "name"))->text, "B"))
					wrote[k] = grid_cell(&t, row, grid_find(&t, "value"))->i;
			grid_free(&t);
			grid_free(&facts);
		}
		if (wrote && s->idles)
			c->idle[i] = stats_median(wrote, s->idles);
	}
	return err;
}

/* Facts that must be alike. To add one: a column of v_compare_run and a row here. */
static const struct { const char *column, *word, *only; } facts[] = {
	{ "state", "state", "complete" },
	{ "status", "exit status of the command", "0" },
	{ "lost", "records lost", "nothing" },
	{ "kernel", "kernel" },
	{ "machine", "machine" },
	{ "device", "device" },
	{ "fs", "file system" },
	{ "filters", "filters" },
	{ "layers", "layers" },
	{ "tier", "tier" },
	{ "horizon", "horizon" },
};

/* A fact as text. Filters by number of a process, or by name of a device, are equal in all runs:
 * the number and the name differ each time. */
static void fact_text(const struct comparison *c, size_t run, const char *column, char *out,
		      size_t size)
{
	const struct cell *v = grid_cell(&c->facts[run], 0, grid_find(&c->facts[run], column));
	const char *p = v->type == CELL_TEXT ? v->text : "n/a";
	size_t n = 0, len;

	for (; *p && n + 1 < size; p += len) {
		bool named = !strcmp(column, "filters") && (!strncmp(p, "pid=", 4) || !strncmp(p, "dev=", 4));

		len = strcspn(p, " ") ?: 1;
		n += snprintf(out + n, size - n, "%.*s", named ? 3 : (int)len, p);
		n = n < size ? n : size - 1;
	}
	out[n] = '\0';
}

/* Checks a fact in all runs, and writes to `out` the first run in which it is not what it must be. */
static void check_fact(const struct comparison *c, size_t f, FILE *out, int *bad)
{
	char first[512], text[512];
	const struct set_run *r, *q;
	size_t i, set;

	fact_text(c, 0, facts[f].column, first, sizeof(first));
	for (i = 0; i < c->runs; i++) {
		set = comparison_set(c, i, &r);
		fact_text(c, i, facts[f].column, text, sizeof(text));
		if (!strcmp(text, facts[f].only ?: first) ||
		    (!strcmp(facts[f].column, "status") && !strcmp(text, "unknown")))
			continue;
		fprintf(out, "%s%s: %s in %s (%s:%lld)", (*bad)++ ? "; " : "", facts[f].word, text,
			c->sets.set[set].name, r->store, (long long)r->run);
		if (!facts[f].only) {
			set = comparison_set(c, 0, &q);
			fprintf(out, ", %s in %s (%s:%lld)", first, c->sets.set[set].name, q->store, (long long)q->run);
		}
		return;
	}
}

static int check_alike(struct comparison *c, const struct options *o)
{
	FILE *out = memory_open(&c->unlike, NULL);
	size_t f;
	int bad = 0;

	if (!out)
		return no_memory();
	for (f = 0; f < N_OF(facts); f++)
		check_fact(c, f, out, &bad);
	if (fclose(out))
		return no_memory();
	if (bad && !o->force)
		return fail_as(EXIT_DATA, 0,
			"not comparable: %s (--force compares them nevertheless, and says so)",
			c->unlike);
	if (!bad) {
		free(c->unlike);
		c->unlike = NULL;
	}
	return 0;
}

/* One row of what a run answered. */
struct entry {
	const char *what, *who, *name;
	const struct grid *t;
	size_t row, run;
};

static const char *text_of(const struct grid *t, size_t row, const char *col)
{
	const struct cell *v = grid_cell(t, row, grid_find(t, col));

	return v->type == CELL_TEXT ? v->text : NULL;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->what, y->what) ?: strcmp(x->who, y->who) ?: strcmp(x->name, y->name) ?:
	       (x->run > y->run) - (x->run < y->run);
}

static int list_entries(const struct comparison *c, struct entry **out, size_t *n)
{
	size_t i, row, all = 0;

	for (i = 0; i < c->runs; i++)
		all += c->values[i].rows;
	*out = calloc(all ?: 1, sizeof(**out));
	if (!*out)
		return no_memory();
	for (*n = 0, i = 0; i < c->runs; i++) {
		const struct grid *t = &c->values[i];

		for (row = 0; row < t->rows; row++)
			(*out)[(*n)++] = (struct entry){ .what = text_of(t, row, "what"),
							 .who = text_of(t, row, "who"),
							 .name = text_of(t, row, "name"),
							 .t = t,
							 .row = row,
							 .run = i };
	}
	qsort(*out, *n, sizeof(**out), by_key);
	return 0;
}

/* The quantity that entry e is of: what it is in each run. */
static int begin_quantity(struct comparison *c, const struct entry *e)
{
	struct quantity *q = &c->quantity[c->quantities++];
	size_t i;

	*q = (struct quantity){ .what = e->what,
				.who = e->who,
				.name = e->name,
				.word = text_of(e->t, e->row, "word"),
				.unit = text_of(e->t, e->row, "unit"),
				.ord = grid_cell(e->t, e->row, grid_find(e->t, "ord"))->i,
				.first = grid_cell(e->t, e->row, grid_find(e->t, "first"))->i };
	q->value = calloc(c->runs, sizeof(*q->value));
	q->bound = calloc(c->runs, sizeof(*q->bound));
	if (!q->value || !q->bound)
		return no_memory();
	for (i = 0; i < c->runs; i++) {
		q->value[i] = NAN;
		q->bound[i] = "n/a";
	}
	return 0;
}

static void take_value(struct quantity *q, const struct entry *e)
{
	const struct cell *v = grid_cell(e->t, e->row, grid_find(e->t, "value"));
	const char *note = text_of(e->t, e->row, "note");

	q->bound[e->run] = text_of(e->t, e->row, "bound");
	if (v->type == CELL_INT || v->type == CELL_REAL)
		q->value[e->run] = v->type == CELL_INT ? v->i : v->r;
	if (strcmp(q->bound[e->run], "exact") && !q->note && note && *note)
		q->note = note;
}

static int find_quantities(struct comparison *c)
{
	auto_free struct entry *e = NULL;
	size_t n = 0, i;
	int err = list_entries(c, &e, &n);

	c->quantity = calloc(n ?: 1, sizeof(*c->quantity));
	if (!c->quantity && !err)
		err = no_memory();
	for (i = 0; !err && i < n; i++) {
		if (!i || strcmp(e[i].what, e[i - 1].what) || strcmp(e[i].who, e[i - 1].who) ||
		    strcmp(e[i].name, e[i - 1].name))
			err = begin_quantity(c, &e[i]);
		if (!err)
			take_value(&c->quantity[c->quantities - 1], &e[i]);
	}
	return err;
}

/* The median of a set's runs, with the bound that all of them allow. range: `span` is that of the
 * values, not an interval of the median. */
static int describe(const struct quantity *q, size_t from, size_t n, bool range, double *median,
		    const char **bound, struct span *span)
{
	auto_free double *v = malloc(n * sizeof(*v));
	size_t i;

	if (!v)
		return no_memory();
	*bound = "exact";
	for (i = 0; i < n; i++) {
		v[i] = q->value[from + i];
		if (isnan(v[i])) {
			*median = NAN;
			*bound = "n/a";
			return 0;
		}
		if (strcmp(q->bound[from + i], "exact"))
			*bound = q->bound[from + i];
	}
	*median = stats_median(v, n);
	if (strcmp(*bound, "exact"))
		return 0;
	if (!range)
		return stats_median_span(v, n, span) ? no_memory() : 0;
	*span = stats_range(v, n);
	return 0;
}

static bool is_constant(const struct quantity *q, size_t from_a, size_t na, size_t from_b,
			size_t nb)
{
	size_t i;

	for (i = 0; i < na + nb; i++)
		if (q->value[i < na ? from_a + i : from_b + i - na] != q->value[from_a])
			return false;
	return true;
}

bool is_few(const struct comparison *c, size_t to)
{
	return c->sets.set[0].runs < STATS_INTERVAL_RUNS || c->sets.set[to].runs < STATS_INTERVAL_RUNS;
}

static int fill_difference(struct comparison *c, struct difference *d, const struct quantity *q,
			   size_t to, size_t from_b)
{
	size_t na = c->sets.set[0].runs, nb = c->sets.set[to].runs;
	bool range = is_few(c, to);
	int err;

	*d = (struct difference){ .q = q, .to = to, .by = NAN, .p = NAN, .verdict = NOT_COMPARED };
	err = describe(q, 0, na, range, &d->a, &d->bound_a, &d->span_a) ?:
	      describe(q, from_b, nb, range, &d->b, &d->bound_b, &d->span_b);
	if (err)
		return err;
	if (strcmp(d->bound_a, "exact") || strcmp(d->bound_b, "exact")) {
		d->why = isnan(d->a) || isnan(d->b) ? q->note ?: "not in every run" :
						      q->note ?: "a bound in one run";
		return 0;
	}
	d->verdict = is_constant(q, 0, na, from_b, nb) ? EQUAL : ALIKE;
	if (d->a > 0)
		d->by = d->b / d->a - 1;
	if (!range)
		return stats_change_span(q->value, na, q->value + from_b, nb, &d->change) ? no_memory() : 0;
	d->change = stats_change_range(q->value, na, q->value + from_b, nb);
	return 0;
}

/* Puts one family of a pair of sets to the test, at `errors` for all of it. *shown: whether every
 * one differs. */
static int test_family(struct comparison *c, size_t to, size_t from_b, bool first, double errors,
		       bool *shown)
{
	size_t na = c->sets.set[0].runs, nb = c->sets.set[to].runs, n = 0, i, k;
	auto_free struct sample *s = calloc(c->differences ?: 1, sizeof(*s));
	auto_free struct difference **d = calloc(c->differences ?: 1, sizeof(*d));
	auto_free double *room = NULL;

	for (i = 0; d && i < c->differences; i++)
		if (c->difference[i].to == to && c->difference[i].verdict == ALIKE &&
		    (c->difference[i].q->first == c->about) == first)
			d[n++] = &c->difference[i];
	room = calloc((n ?: 1) * (na + nb), sizeof(*room));
	if (!s || !d || !room)
		return no_memory();
	for (i = 0; i < n; i++) {
		for (k = 0; k < na + nb; k++)
			room[i * (na + nb) + k] = d[i]->q->value[k < na ? k : from_b + k - na];
		s[i].value = room + i * (na + nb);
	}
	c->tested += n;
	*shown = true;
	if (stats_differ(s, n, na, nb))
		return no_memory();
	for (i = 0; i < n; i++) {
		const struct span *by = &d[i]->change;

		d[i]->p = s[i].p;
		if (stats_least_p(na, nb) > errors)
			d[i]->verdict = TOO_FEW;
		else if (s[i].p <= errors && (!by->known || by->low > 0 || by->high < 0))
			d[i]->verdict = DIFFERS;
		*shown &= d[i]->verdict == DIFFERS;
	}
	return 0;
}

static int largest_first(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	double p = isnan(x->by) ? INFINITY : fabs(x->by), q = isnan(y->by) ? INFINITY : fabs(y->by);

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->q->who, y->q->who) ?: (x->q->ord > y->q->ord) - (x->q->ord < y->q->ord) ?:
	       strcmp(x->q->name, y->q->name);
}

/* Is the comparison about writes (1) or reads (2)? Exchanging runs between the sets does not
 * change that. */
static int find_about(const struct comparison *c)
{
	double sum[3] = { 0 };
	size_t i, k;

	for (i = 0; i < c->quantities; i++)
		for (k = 0; k < c->runs && !strcmp(c->quantity[i].unit, "bytes"); k++)
			sum[c->quantity[i].first] += isnan(c->quantity[i].value[k]) ? 0 : c->quantity[i].value[k];
	return sum[2] > sum[1] ? 2 : 1;
}

int comparison_test(struct comparison *c)
{
	size_t pairs = c->sets.n - 1, to, from = c->sets.set[0].runs, i;
	bool shown;
	int err = 0;

	c->difference = calloc(c->quantities * pairs ?: 1, sizeof(*c->difference));
	if (!c->difference)
		return no_memory();
	c->about = find_about(c);
	for (to = 1; !err && to < c->sets.n; to++) {
		for (i = 0; !err && i < c->quantities; i++)
			err = store_interrupted() ? fail_as(EXIT_DATA, 0, "interrupted") :
			      fill_difference(c, &c->difference[c->differences++], &c->quantity[i], to, from);
		if (!err)
			err = test_family(c, to, from, true, ERRORS_FIRST / pairs, &shown);
		if (!err)
			err = test_family(c, to, from, false,
					  (ERRORS_REST + (shown ? ERRORS_FIRST : 0)) / pairs,
					  &shown);
		from += c->sets.set[to].runs;
	}
	qsort(c->difference, c->differences, sizeof(*c->difference), largest_first);
	return err;
}

void comparison_free(struct comparison *c)
{
	size_t i;

	for (i = 0; i < c->quantities; i++) {
		free(c->quantity[i].value);
		free(c->quantity[i].bound);
		if (c->text)
			free(c->text[i]);
	}
	free(c->text);
	for (i = 0; i < c->runs; i++) {
		if (c->values)
			grid_free(&c->values[i]);
		if (c->facts)
			grid_free(&c->facts[i]);
	}
	free(c->values);
	free(c->facts);
	free(c->quantity);
	free(c->difference);
	free(c->unlike);
	free(c->idle);
	sets_free(&c->sets);
}

int comparison_read(struct comparison *c, const struct options *o)
{
	auto_free char *rules = report_text(NULL, "systems.json");

	if (!rules)
		return no_memory();
	return ask_runs(c, o, rules) ?: check_alike(c, o) ?: ask_idle(c, o, rules) ?: find_quantities(c);
}
