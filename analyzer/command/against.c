/* SPDX-License-Identifier: GPL-3.0-only */
/* against.c - `check --against`: the ratios of other runs become limits. */
#include <errno.h>
#include <math.h>
#include "against.h"
#include "analyzer.h"
#include "options.h"

/* The sets to read: the base, and the run that is checked, which must be comparable with it. */
static int find_sets(struct comparison *c, const struct options *o, int64_t run)
{
	struct set *grown;
	int err = sets_find(&c->sets, &o->against, 1);

	if (err)
		return err;
	if (c->sets.n != 1)
		return fail_as(EXIT_USAGE, 0,
			"--against %s: which of its runs? labels are there such as '%s': name one, as in %s:%s",
			o->against, c->sets.n ? c->sets.set[0].name : "", o->against,
			c->sets.n ? c->sets.set[0].name : "LABEL");
	grown = reallocarray(c->sets.set, 2, sizeof(*grown));
	if (!grown)
		return fail_as(EXIT_DATA, ENOMEM, "%s", o->against);
	c->sets.set = grown;
	grown[1] = (struct set){ .name = strdup(o->arg[1]),
				 .run = calloc(1, sizeof(*grown[1].run)),
				 .runs = 1 };
	c->sets.n = 2;
	if (!grown[1].name || !grown[1].run)
		return fail_as(EXIT_DATA, ENOMEM, "%s", o->against);
	grown[1].run[0] = (struct set_run){
		.store = strdup(o->arg[1]), .label = strdup(""), .uuid = strdup(""), .run = run
	};
	return grown[1].run[0].store && grown[1].run[0].label && grown[1].run[0].uuid ?
		       0 :
		       fail_as(EXIT_DATA, ENOMEM, "%s", o->against);
}

/* The median of the base's runs with room on both sides; not known where one of them has no exact
 * value. */
static int set_limit(struct limit *l, const struct quantity *q, size_t runs, double within,
		     char **text)
{
	auto_free double *v = calloc(runs, sizeof(*v));
	double median;
	size_t i;

	if (!v)
		return -ENOMEM;
	*l = (struct limit){ .kind = LIMIT_WITHIN, .who = q->who };
	snprintf(l->name, sizeof(l->name), "%s", q->name);
	for (i = 0; i < runs; i++) {
		v[i] = q->value[i];
		l->unknown |= isnan(v[i]) || strcmp(q->bound[i], "exact");
	}
	median = l->unknown ? 0 : stats_median(v, runs);
	l->low = median * (1 - within);
	l->value = median * (1 + within);
	if ((l->unknown ? asprintf(text, "(the base has no exact value)") :
			  asprintf(text, "%.9g %% of %.9g", 100 * within, median)) < 0)
		return -ENOMEM;
	l->text = *text;
	return 0;
}

int against(struct comparison *c, const struct options *o, int64_t run, struct limit **list, int *n)
{
	double within = o->has_within ? o->within : 0.05;
	size_t i, k;
	int err = find_sets(c, o, run) ?: comparison_read(c, o);

	if (err)
		return err;
	*list = calloc(o->limits + c->quantities + 1, sizeof(**list));
	c->text = calloc(c->quantities + 1, sizeof(*c->text));
	if (!*list || !c->text)
		return fail_as(EXIT_DATA, ENOMEM, "%s", o->against);
	memcpy(*list, o->limit, o->limits * sizeof(**list));
	*n = o->limits;
	for (i = 0; i < c->quantities; i++) {
		const struct quantity *q = &c->quantity[i];
		bool based = false;

		for (k = 0; k < c->sets.set[0].runs; k++)
			based |= !isnan(q->value[k]) || strcmp(q->bound[k], "n/a");
		if (strcmp(q->unit, "ratio") || !based)
			continue;
		if (set_limit(&(*list)[*n], q, c->sets.set[0].runs, within, &c->text[i]))
			return fail_as(EXIT_DATA, ENOMEM, "%s", o->against);
		++*n;
	}
	return 0;
}
