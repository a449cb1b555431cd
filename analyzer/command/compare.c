/* SPDX-License-Identifier: GPL-3.0-only */
/* compare.c - `compare`: the differences between sets of repeated runs, and those of one store for
 * a page. */
#include <errno.h>
#include "analyzer.h"
#include "compare.h"
#include "compare_say.h"
#include "comparison.h"
#include "options.h"
#include "plot.h"
#include "print.h"
#include "report.h"

static int no_memory(void)
{
	return fail_as(EXIT_DATA, ENOMEM, "compare");
}

static int say(const struct comparison *c, const struct options *o)
{
	struct look look = { .title = o->title, .no_head = o->no_head, .grey = o->grey };
	struct answer a = { 0 };
	int err = look_size(&look, o->size ?: "screen") ? fail_size(o->size) :
		  compare_answer(c, &a)                ? no_memory() :
							 0;

	if (!err)
		err = answer_select(&a, &o->select, o->table) ?: print_answer(&a, o->format, o->table);
	if (!err && o->plot)
		err = plot_answer(&a, &look, o->plot);
	answer_free(&a);
	return err;
}

int compare_store(const struct options *o, const char *store, struct answer *a, char **unlike)
{
	struct options forced = { .per = o->per,
				  .has_per = o->has_per,
				  .system = o->system,
				  .reports = o->reports,
				  .force = true };
	struct comparison c = { 0 };
	bool wanted = o->per <= PER_ALL && (!o->has_per || strcmp(per_names[o->per], "pid"));
	int err = sets_find(&c.sets, &store, 1);

	if (!err && wanted && c.sets.n > 1)
		err = comparison_read(&c, &forced) ?: comparison_test(&c) ?: compare_answer(&c, a) ?
			      no_memory() :
			      0;
	*unlike = !err && c.unlike ? strdup(c.unlike) : NULL;
	comparison_free(&c);
	return err;
}

int compare(const struct options *o)
{
	struct comparison c = { 0 };
	int err;

	if (o->has_per && !strcmp(per_names[o->per], "pid"))
		return fail_as(EXIT_USAGE, 0,
			"--by pid: the number of a process is of one run only (--by comm compares programs)");
	if (o->per == PER_CARRIER)
		return fail_by_carrier("compare");
	if (o->per > PER_ALL)
		return fail_as(EXIT_USAGE, 0, "--by %s belongs to the command 'timeline'", per_names[o->per]);
	if (o->limits || o->seed)
		return fail_as(EXIT_USAGE, 0, "%s belongs to another command than 'compare'",
			       o->seed ? "--seed" : "a limit");
	if (o->run || o->ledger)
		return fail_as(EXIT_USAGE, 0,
			"%s: of which run? compare names runs as STORE:RUN (iot-analyze attach puts a ledger into a run)",
			o->run ? "--run" : "--ledger");
	err = sets_find(&c.sets, o->arg + 1, o->args - 1);
	if (!err && c.sets.n < 2)
		err = fail_as(EXIT_USAGE, 0,
			"compare with what? only %s is there (iot-analyze compare A B, or a store whose runs have two labels)",
			c.sets.n ? c.sets.set[0].name : "nothing");
	err = err ?: comparison_read(&c, o) ?: comparison_test(&c) ?: say(&c, o);
	comparison_free(&c);
	return err;
}
