// SPDX-License-Identifier: GPL-3.0-only
/* select.c - rows that --where keeps, the order of --sort, how many --top leaves. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "near.h"
#include "select.h"

enum test { EQUAL, UNEQUAL, LESS, LESS_EQUAL, MORE, MORE_EQUAL, CONTAINS };

/* Longer operators stand first. */
static const struct { const char *sign; enum test test; } signs[] = {
	{ "!=", UNEQUAL }, { "<=", LESS_EQUAL }, { ">=", MORE_EQUAL }, { "=", EQUAL },
	{ "<", LESS },     { ">", MORE },        { "~", CONTAINS },
};

struct condition {
	char name[64];
	enum test test;
	const char *value;
	struct cell number; /* the value where it is a number, also one with a unit, such as 64KiB
			       or 5ms (in microseconds); else CELL_NULL */
};

static const struct {
	const char *unit;
	double us;
} times[] = { { "ns", 1e-3 }, { "us", 1 }, { "µs", 1 }, { "ms", 1e3 }, { "s", 1e6 } };

static double cell_number(const struct cell *c)
{
	return c->type == CELL_INT ? (double)c->i : c->r;
}

/* -1, 0, 1. Integers as such: a double has 53 bits of them. */
static int compare_numbers(const struct cell *a, const struct cell *b)
{
	double x = cell_number(a), y = cell_number(b);

	return a->type == CELL_INT && b->type == CELL_INT ? (a->i > b->i) - (a->i < b->i) :
							    (x > y) - (x < y);
}

static bool is_number(const struct cell *c)
{
	return c->type == CELL_INT || c->type == CELL_REAL;
}

/* 5ms, for columns of microseconds. */
static bool read_time(struct condition *c)
{
	size_t len = strlen(c->name), i;
	char *end;
	double n = strtod(c->value, &end);

	if (len < 3 || strcmp(c->name + len - 3, "_us") || end == c->value)
		return false;
	for (i = 0; i < N_OF(times) && strcmp(end, times[i].unit); i++)
		;
	if (i == N_OF(times) || !isfinite(n))
		return false;
	c->number = (struct cell){ .type = CELL_REAL, .r = n * times[i].us };
	return true;
}

static void read_number(struct condition *c)
{
	uint64_t bytes;
	char *end;

	if (read_time(c))
		return;

	errno = 0;
	c->number.i = strtoll(c->value, &end, 10);
	if (end != c->value && !*end && !errno) {
		c->number.type = CELL_INT;
	} else if (!parse_size(c->value, &bytes) && bytes <= INT64_MAX) {
		c->number.i = bytes;
		c->number.type = CELL_INT;
	} else {
		c->number.r = strtod(c->value, &end);
		c->number.type = end != c->value && !*end && isfinite(c->number.r) ? CELL_REAL : CELL_NULL;
	}
}

static int read_condition(const char *text, struct condition *c)
{
	size_t len = strcspn(text, "=<>~!"), i;

	*c = (struct condition){ .number.type = CELL_NULL };
	for (i = 0; i < N_OF(signs) && strncmp(text + len, signs[i].sign, strlen(signs[i].sign)); i++)
		;
	if (i == N_OF(signs) || !len || len >= sizeof(c->name))
		return fail_as(EXIT_USAGE, 0,
			"--where: '%s' is not COLUMN=VALUE, such as who=etcd or 'B>64KiB' (= != < <= > >=, ~ contains)",
			text);
	memcpy(c->name, text, len);
	c->test = signs[i].test;
	c->value = text + len + strlen(signs[i].sign);
	read_number(c);
	if (c->number.type == CELL_NULL && c->test >= LESS && c->test <= MORE_EQUAL)
		return fail_as(EXIT_USAGE, 0, "--where: '%s' is not a number", c->value);
	return 0;
}

static bool is_printed_as(const struct cell *cell, const char *value)
{
	auto_free char *text = cell_string(cell, "n/a", NULL);

	return text && !strcmp(text, value);
}

/* A value that was not measured is neither more nor less than any other, and equals `n/a`. A
 * number with decimals equals its printed text. */
static bool holds(const struct condition *c, const struct cell *cell)
{
	auto_free char *text = NULL;
	int order;

	if (c->test != CONTAINS && is_number(&c->number) && is_number(cell)) {
		order = c->test <= UNEQUAL && cell->type == CELL_REAL &&
					is_printed_as(cell, c->value) ?
				0 :
				compare_numbers(cell, &c->number);
		return c->test == EQUAL ? !order : c->test == UNEQUAL ? order : c->test == LESS ? order < 0 :
		       c->test == LESS_EQUAL ? order <= 0 : c->test == MORE ? order > 0 : order >= 0;
	}
	if (c->test >= LESS && c->test <= MORE_EQUAL)
		return false;
	if (c->test != CONTAINS)
		return (c->test == EQUAL) == is_printed_as(cell, c->value);
	text = cell_string(cell, "n/a", NULL);
	return text && strstr(text, c->value);
}

static void free_row(struct grid *t, size_t row)
{
	int col;

	for (col = 0; col < t->cols; col++)
		free(grid_cell(t, row, col)->text);
}

static bool keep_rows(struct grid *t, const struct condition *c)
{
	int col = grid_find(t, c->name);
	size_t row, kept = 0;

	if (col < 0)
		return false;
	for (row = 0; row < t->rows; row++) {
		if (holds(c, grid_cell(t, row, col)))
			memmove(grid_cell(t, kept++, 0), grid_cell(t, row, 0), t->cols * sizeof(*t->cell));
		else
			free_row(t, row);
	}
	t->rows = kept;
	return true;
}

/* Compares two cells: -1, 0, 1. Absent values come last in either order. */
static int compare(const struct cell *a, const struct cell *b, bool down)
{
	int order;

	if (a->type == CELL_NULL || b->type == CELL_NULL)
		return (a->type == CELL_NULL) - (b->type == CELL_NULL);
	if (is_number(a) && is_number(b))
		order = compare_numbers(a, b);
	else if (a->type == CELL_TEXT && b->type == CELL_TEXT)
		order = strcmp(a->text, b->text);
	else
		order = is_number(b) - is_number(a);
	return down ? -order : order;
}

struct order {
	const struct grid *t;
	int col;
	bool down;
};

static int by_column(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return compare(grid_cell(o->t, x, o->col), grid_cell(o->t, y, o->col), o->down) ?: x < y ? -1 : 1;
}

/* Puts the rows into the order of their numbers in `row`. */
static int order_rows(struct grid *t, const size_t *row)
{
	struct cell *sorted = calloc(t->rows * t->cols + 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return fail_as(EXIT_DATA, ENOMEM, "--sort");
	for (i = 0; i < t->rows; i++)
		memcpy(sorted + i * t->cols, grid_cell(t, row[i], 0), t->cols * sizeof(*sorted));
	free(t->cell);
	t->cell = sorted;
	t->room = t->rows;
	return 0;
}

static int sort_rows(struct grid *t, int col, bool down)
{
	auto_free size_t *row = calloc(t->rows + 1, sizeof(*row));
	struct order o = { t, col, down };
	size_t i;

	if (!row)
		return fail_as(EXIT_DATA, ENOMEM, "--sort");
	for (i = 0; i < t->rows; i++)
		row[i] = i;
	qsort_r(row, t->rows, sizeof(*row), by_column, &o);
	return order_rows(t, row);
}

/* Numbers from the largest on, names from A to Z, unless it says otherwise. */
static int sort_table(struct grid *t, const char *sort, bool *found)
{
	const char *colon = strrchr(sort, ':');
	auto_free char *name = colon ? strndup(sort, colon - sort) : strdup(sort);
	int col = name ? grid_find(t, name) : -1;

	if (!name)
		return fail_as(EXIT_DATA, ENOMEM, "--sort");
	if (colon && strcmp(colon, ":asc") && strcmp(colon, ":desc"))
		return fail_as(EXIT_USAGE, 0,
			       "--sort: '%s' is neither COLUMN nor COLUMN:asc or COLUMN:desc",
			       sort);
	*found |= col >= 0;
	return col < 0 ? 0 : sort_rows(t, col, colon ? !strcmp(colon, ":desc") : column_numeric(t, col));
}

/* Once, where there is room. */
static void add_word(char *all, size_t size, const char *word)
{
	auto_free char *apart = NULL, *old = NULL;

	if (asprintf(&apart, " %s,", word) < 0 || asprintf(&old, " %s,", all) < 0 ||
	    strstr(old, apart) || strlen(all) + strlen(apart) >= size)
		return;
	snprintf(all + strlen(all), size - strlen(all), "%s%s", *all ? ", " : "", word);
}

/* Lists the columns, for a user who named another one. */
static int fail_column(const struct answer *a, const char *option, const char *text,
		       const char *only)
{
	auto_free char *name = strndup(text, strcspn(text, "=<>~!:"));
	struct near n = { .given = name ?: "" };
	char all[400] = "", hint[NEAR_HINT];
	int i, col;

	for (i = 0; i < a->tables; i++)
		for (col = 0;
		     !a->table[i].plot && (!only || !strcmp(a->table[i].name ?: "", only)) &&
		     col < a->table[i].cols;
		     col++) {
			add_word(all, sizeof(all), a->table[i].col[col]);
			near_try(&n, a->table[i].col[col]);
		}
	return fail_as(EXIT_USAGE, 0, "%s %s: report '%s' has no such column%s (there are %s)",
		       option, text, a->name, near_hint(&n, "", hint), all);
}

static int each_where(struct answer *a, const char *text, const char *only)
{
	struct condition c;
	bool found = false;
	int i, err = read_condition(text, &c);

	for (i = 0; !err && i < a->tables; i++)
		if (!a->table[i].plot && (!only || !strcmp(a->table[i].name ?: "", only)))
			found |= keep_rows(&a->table[i], &c);
	return err ?: found ? 0 : fail_column(a, "--where", text, only);
}

static int each_sort(struct answer *a, const char *sort, const char *only)
{
	bool found = false;
	int i, err = 0;

	for (i = 0; !err && i < a->tables; i++)
		if (!a->table[i].plot && (!only || !strcmp(a->table[i].name ?: "", only)))
			err = sort_table(&a->table[i], sort, &found);
	return err ?: found ? 0 : fail_column(a, "--sort", sort, only);
}

/* Rows by the sum of what their table says is most, the largest first. */
static int sort_most(struct grid *t)
{
	struct grid sum = { .cols = 1, .rows = t->rows };
	auto_free char *words = strdup(t->most);
	auto_free struct cell *cell = calloc(t->rows + 1, sizeof(*cell));
	auto_free size_t *row = calloc(t->rows + 1, sizeof(*row));
	struct order o = { &sum, 0, true };
	char *word, *rest = words;
	size_t i;
	int col;

	if (!words || !cell || !row)
		return fail_as(EXIT_DATA, ENOMEM, "--top");
	for (i = 0; i < t->rows; i++) {
		cell[i].type = CELL_REAL;
		row[i] = i;
	}
	while ((word = strsep(&rest, " "))) {
		col = grid_find(t, word);
		for (i = 0; col >= 0 && i < t->rows; i++)
			cell[i].r += is_number(grid_cell(t, i, col)) ? cell_number(grid_cell(t, i, col)) : 0;
	}
	sum.cell = cell;
	qsort_r(row, t->rows, sizeof(*row), by_column, &o);
	return order_rows(t, row);
}

/* The first N rows, the others are counted. */
static void keep_top(struct grid *t, uint64_t top)
{
	while (t->rows > top) {
		free_row(t, --t->rows);
		t->others++;
	}
}

int select_thin(struct grid *t, const struct selection *s)
{
	struct condition c;
	bool found;
	int i, err = 0;

	if (t->plot || grid_find(t, "result") >= 0)
		return 0;
	for (i = 0; i < s->wheres; i++) {
		err = read_condition(s->where[i], &c);
		if (err)
			return err;
		keep_rows(t, &c);
	}
	if (s->top && s->sort)
		err = sort_table(t, s->sort, &found);
	else if (s->top && t->most)
		err = sort_most(t);
	if (!err && s->top)
		keep_top(t, s->top);
	return err;
}

int answer_select(struct answer *a, const struct selection *s, const char *only)
{
	int i, err = 0;

	for (i = 0; !err && i < s->wheres; i++)
		err = each_where(a, s->where[i], only);
	if (!err && s->sort)
		err = each_sort(a, s->sort, only);
	for (i = 0; !err && s->top && i < a->tables; i++) {
		if (a->table[i].plot || a->table[i].words)
			continue;
		if (a->table[i].most && !s->sort)
			err = sort_most(&a->table[i]);
		if (!err)
			keep_top(&a->table[i], s->top);
	}
	return err;
}
