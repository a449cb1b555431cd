/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_read.c - from the rows of a statement to a chart; what has no place of its own is folded,
 * and named. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"
#include "paint.h"
#include "report.h"
#include "text.h"

static const char *const kinds[] = {
	"bars", "lines", "areas", "points", "cells", "flow", "note"
}; /* enum chart_kind */

enum chart_kind chart_kind(const struct grid *t)
{
	auto_free char *word = t->says ? report_line(t->says, "chart") : NULL;
	size_t i;

	for (i = 0; word && i < N_OF(kinds); i++)
		if (!strcmp(kinds[i], word))
			return i;
	return NO_CHART;
}

/* Number of a name, added where it is new; takes the name. -1 without memory. */
static int name_number(struct names *n, char *name)
{
	char **grown;
	int i;

	if (!name)
		return -1;
	for (i = n->n; i--;) {
		if (!strcmp(n->name[i], name)) {
			free(name);
			return i;
		}
	}
	grown = reallocarray(n->name, n->n + 1, sizeof(*grown));
	if (!grown) {
		free(name);
		return -1;
	}
	n->name = grown;
	n->name[n->n] = name;
	return n->n++;
}

static int name_cell(struct names *n, const struct grid *t, size_t row, int col)
{
	return name_number(n, col < 0 ? strdup("") :
					cell_string(grid_cell(t, row, col), "n/a", text_terminal));
}

/* A number of a cell; false: there is none. */
static bool cell_number(const struct grid *t, size_t row, int col, double *out)
{
	const struct cell *c = col < 0 ? NULL : grid_cell(t, row, col);

	if (!c || (c->type != CELL_INT && c->type != CELL_REAL))
		return false;
	*out = c->type == CELL_INT ? c->i : c->r;
	return true;
}

struct columns {
	int panel, row, bar, part, value, low, high, x, line, label;
};

static int read_item(struct chart *c, const struct grid *t, size_t row, const struct columns *at)
{
	struct item *i = &c->item[c->items];
	double over = 0;

	i->panel = name_cell(&c->panel, t, row, at->panel);
	i->row = name_cell(&c->row, t, row, at->row);
	i->bar = name_cell(&c->bar, t, row, at->bar);
	i->part = name_cell(&c->part, t, row, at->part);
	if (i->panel < 0 || i->row < 0 || i->bar < 0 || i->part < 0)
		return -ENOMEM;
	i->ranged = cell_number(t, row, at->low, &i->low);
	i->ranged = cell_number(t, row, at->high, &i->high) && i->ranged;
	i->marked = cell_number(t, row, at->value, &i->value) && i->ranged;
	i->absent = !i->ranged && !cell_number(t, row, at->value, &i->value);
	if (cell_number(t, row, at->line, &over))
		i->over = over;
	if (at->x >= 0 && !cell_number(t, row, at->x, &i->x))
		i->absent = true;
	if (at->label >= 0 && grid_cell(t, row, at->label)->type != CELL_NULL)
		i->label = cell_string(grid_cell(t, row, at->label), "n/a", text_terminal);
	c->items++;
	return 0;
}

static enum unit read_unit(const char *says, const char *key)
{
	auto_free char *word = report_line(says, key);
	int i;

	for (i = 0; word && unit_names[i]; i++)
		if (!strcmp(unit_names[i], word))
			return i;
	return UNIT_RATIO;
}

static void read_says(struct chart *c, const char *says)
{
	auto_free char *log = report_line(says, "log"), *own = report_line(says, "own"),
		       *fold = report_line(says, "fold");
	auto_free char *rule = report_line(says, "rule"), *key = report_line(says, "key");

	c->heading = report_line(says, "heading");
	c->axis = report_line(says, "axis");
	c->across = report_line(says, "across");
	c->unit = read_unit(says, "unit");
	c->across_unit = read_unit(says, "across unit");
	c->log = log && strstr(log, "values");
	c->across_log = log && strstr(log, "across");
	c->own = own;
	c->fold = !fold;
	c->key = !key;
	c->rule = rule ? strtod(rule, NULL) : 0;
}

/* Amount of each name, to fold the smallest. */
struct weight {
	double amount;
	int from;
};

static int heavier(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return x->amount != y->amount ? x->amount < y->amount ? 1 : -1 : x->from - y->from;
}

static int *member(struct item *i, size_t offset)
{
	return (int *)((char *)i + offset);
}

/* More names than there is room for: the smallest become one, "7 others", in the last place. `sum`
 * false: they are left out, and the note says so. offset: of the number in struct item. */
static int fold_names(struct chart *c, struct names *n, size_t offset, int room, bool sum)
{
	auto_free struct weight *w = calloc(n->n + 1, sizeof(*w));
	auto_free int *to = calloc(n->n + 1, sizeof(*to));
	int i, k, kept = 0, others = n->n - room + sum;
	char *name = NULL;

	if (n->n <= room || room < 2)
		return 0;
	if (!w || !to ||
	    (sum ? asprintf(&name, "%d others", others) :
		   asprintf(&name, "not drawn: %d other%s (the tables have them)", others,
			    others > 1 ? "s" : "")) < 0)
		return -ENOMEM;
	for (i = 0; i < n->n; i++)
		w[i].from = i;
	for (i = 0; i < c->items; i++)
		w[*member(&c->item[i], offset)].amount += c->item[i].absent ?
								  0 :
								  fabs(c->item[i].value ?:
								       c->item[i].high);
	qsort(w, n->n, sizeof(*w), heavier);
	for (i = n->n - others; i < n->n; i++)
		to[w[i].from] = -1;
	for (i = 0; i < n->n; i++) {
		if (to[i] < 0) {
			free(n->name[i]);
			continue;
		}
		n->name[kept] = n->name[i];
		to[i] = kept++;
	}
	n->n = kept;
	for (i = k = 0; i < c->items; i++) {
		int *number = member(&c->item[i], offset);

		*number = to[*number] < 0 ? (sum ? kept : -1) : to[*number];
		if (*number < 0)
			free(c->item[i].label);
		else
			c->item[k++] = c->item[i];
	}
	c->items = k;
	return name_number(sum ? n : &c->note, name) < 0 ? -ENOMEM : 0;
}

/* Drops panels and parts all of whose rows were left out. */
static int drop_unused(struct chart *c, struct names *n, size_t offset)
{
	auto_free int *to = calloc(n->n + 1, sizeof(*to));
	int i, kept = 0;

	if (!to)
		return -ENOMEM;
	for (i = 0; i < c->items; i++)
		to[*member(&c->item[i], offset)] = 1;
	for (i = 0; i < n->n; i++) {
		if (!to[i]) {
			free(n->name[i]);
			continue;
		}
		n->name[kept] = n->name[i];
		to[i] = kept++;
	}
	n->n = kept;
	for (i = 0; i < c->items; i++)
		*member(&c->item[i], offset) = to[*member(&c->item[i], offset)];
	return 0;
}

/* A part is painted as its name up to a colon is; the sum of several parts has a colour of its
 * own. */
static int paint_parts(struct chart *c)
{
	bool named = c->kind == BARS && bars_name_parts(c); /* colours need not tell them apart */
	int i;

	c->colour = calloc(c->part.n + 1, sizeof(*c->colour));
	for (i = 0; c->colour && i < c->part.n; i++) {
		auto_free char *word = strdup(c->part.name[i]);

		if (word && strstr(word, ": "))
			*strstr(word, ": ") = '\0';
		c->colour[i] = word && strstr(word, " others") && *word <= '9' ?
				       PAINT_OTHERS :
				       paint_of(word ?: "", c->colour, named ? 0 : i);
	}
	return c->colour ? 0 : -ENOMEM;
}

int chart_read(struct chart *c, const struct grid *t, struct room room)
{
	const struct columns at = {
		.panel = grid_find(t, "panel"),
		.row = grid_find(t, "row"),
		.bar = grid_find(t, "bar"),
		.part = grid_find(t, "part"),
		.value = grid_find(t, "value"),
		.low = grid_find(t, "low"),
		.high = grid_find(t, "high"),
		.x = grid_find(t, "x"),
		.line = grid_find(t, "line"),
		.label = grid_find(t, "label"),
	};
	auto_free char *own = NULL;
	size_t row;
	int err = 0;

	*c = (struct chart){ .kind = chart_kind(t), .bin = 1 };
	read_says(c, t->says);
	if (c->kind == NOTE) {
		for (row = 0; row < t->rows; row++)
			if (grid_cell(t, row, 0)->type != CELL_NULL && name_cell(&c->note, t, row, 0) < 0)
				return -ENOMEM;
		return 0;
	}
	c->item = calloc(t->rows + 1, sizeof(*c->item));
	for (row = 0; c->item && !err && row < t->rows; row++)
		err = read_item(c, t, row, &at);
	if (t->rows)
		cell_number(t, 0, grid_find(t, "bin"), &c->bin);
	if (!c->item || err)
		return -ENOMEM;
	own = report_line(t->says, "rows");
	err = fold_names(c, &c->panel, offsetof(struct item, panel), room.panels, false);
	if (c->kind == BARS || c->kind == FLOW)
		err = err ?: fold_names(c, &c->row, offsetof(struct item, row),
				       own ? atoi(own) : room.rows, c->fold);
	if (c->kind == FLOW)
		err = err ?: fold_names(c, &c->bar, offsetof(struct item, bar), room.rows, true);
	err = err ?: drop_unused(c, &c->part, offsetof(struct item, part));
	err = err ?: fold_names(c, &c->part, offsetof(struct item, part), room.parts,
			       c->kind == BARS || c->kind == AREAS || c->kind == FLOW);
	return err ?: drop_unused(c, &c->panel, offsetof(struct item, panel)) ?: paint_parts(c);
}

static void names_free(struct names *n)
{
	while (n->n)
		free(n->name[--n->n]);
	free(n->name);
}

void chart_free(struct chart *c)
{
	while (c->items)
		free(c->item[--c->items].label);
	free(c->item);
	free(c->colour);
	free(c->heading);
	free(c->axis);
	free(c->across);
	names_free(&c->panel);
	names_free(&c->row);
	names_free(&c->bar);
	names_free(&c->part);
	names_free(&c->note);
}
