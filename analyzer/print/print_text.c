/* SPDX-License-Identifier: GPL-3.0-only */
/* print_text.c - reports as text for people. */
#include <errno.h>
#include "analyzer.h"
#include "answer.h"
#include "layout.h"
#include "print_text.h"
#include "screen.h"
#include "text.h"

#define WORDS_WIDTH 80

static char *text_cell(const struct grid *t, size_t row, int col, const struct screen *screen)
{
	auto_free char *unit = screen->units ? screen_number(t->col[col], grid_cell(t, row, col)) : NULL;
	auto_free char *value = unit ? strdup(unit) :
				       cell_string(grid_cell(t, row, col), ABSENT, text_terminal);
	const struct cell *bound = col && column_bound(t, col - 1) ? grid_cell(t, row, col - 1) : NULL;
	char *both = NULL;

	if (!value || !bound || bound->type != CELL_TEXT || *bound->text == 'e' || *bound->text == 'n')
		return value ? strdup(value) : NULL;
	return asprintf(&both, "%s %s", bound->text, value) < 0 ? NULL : both;
}

static void put_padded(const char *s, size_t width, bool right, bool last)
{
	size_t have = text_width(s), pad = width > have ? width - have : 0;

	if (right)
		printf("%*s%s", (int)pad, "", s);
	else
		printf("%s%*s", s, last ? 0 : (int)pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

/* The next column of a block that is printed, or t->cols. */
static int next_column(const struct grid *t, const struct layout *l, int block, int col)
{
	for (col++; col < t->cols && !(l[col].shown && (l[col].key || l[col].block == block)); col++)
		;
	return col;
}

static void put_head(const struct grid *t, const struct layout *l, int block,
		     const struct screen *screen)
{
	int col, next;

	fputs(screen->bold, stdout);
	for (col = next_column(t, l, block, -1); col < t->cols; col = next) {
		next = next_column(t, l, block, col);
		put_padded(t->col[col], l[col].width, l[col].right, next == t->cols);
	}
	fputs(screen->plain, stdout);
}

static bool is_alarm(const struct grid *t, size_t row, int result)
{
	const struct cell *c = result < 0 ? NULL : grid_cell(t, row, result);

	return c && c->type == CELL_TEXT && result_of(c->text) == RESULT_FAILED;
}

static void put_block(const struct grid *t, char **cell, const struct layout *l, int block,
		      const struct screen *screen)
{
	int col, next, result = grid_find(t, "result");
	size_t row;

	put_head(t, l, block, screen);
	for (row = 0; row < t->rows; row++) {
		bool alarm = is_alarm(t, row, result);

		fputs(alarm ? screen->alarm : "", stdout);
		for (col = next_column(t, l, block, -1); col < t->cols; col = next) {
			next = next_column(t, l, block, col);
			put_padded(cell[row * t->cols + col], l[col].width, l[col].right, next == t->cols);
		}
		fputs(alarm ? screen->plain : "", stdout);
	}
}

static int text_rows(const struct grid *t, char **cell, const struct screen *screen)
{
	auto_free struct layout *l = calloc(t->cols, sizeof(*l));
	int block, blocks = l ? layout_make(t, cell, screen->width, l) : -ENOMEM;

	for (block = 0; block < blocks; block++) {
		fputs(block ? "\n" : "", stdout);
		put_block(t, cell, l, block, screen);
	}
	return blocks < 0 ? blocks : 0;
}

/* The columns in the order in which text shows them: those that `first` names, then the others.
 * `at` has room for all. */
static int order_columns(const struct grid *t, int *at)
{
	auto_free char *words = strdup(t->first);
	char *word, *rest = words;
	int n = 0, col, i;

	while (rest && (word = strsep(&rest, " "))) {
		col = grid_find(t, word);
		if (col >= 0 && n < t->cols)
			at[n++] = col;
	}
	for (col = 0; col < t->cols; col++) {
		for (i = 0; i < n && at[i] != col; i++)
			;
		if (i == n && n < t->cols)
			at[n++] = col;
	}
	return words ? 0 : -ENOMEM;
}

static int text_table(const struct grid *t, const struct screen *screen);

/* A table whose columns stand in another order than in what programs read. */
static int text_ordered(const struct grid *t, const struct screen *screen)
{
	struct grid o = *t;
	auto_free int *at = calloc(t->cols + 1, sizeof(*at));
	auto_free char **name = calloc(t->cols + 1, sizeof(*name));
	auto_free struct cell *cell = calloc(t->rows * t->cols + 1, sizeof(*cell));
	size_t i;

	if (!at || !name || !cell || order_columns(t, at))
		return -ENOMEM;
	for (i = 0; i < (size_t)t->cols; i++)
		name[i] = t->col[at[i]];
	for (i = 0; i < t->rows * t->cols; i++)
		cell[i] = *grid_cell(t, i / t->cols, at[i % t->cols]);
	o.first = NULL;
	o.col = name;
	o.cell = cell;
	return text_table(&o, screen);
}

static int text_table(const struct grid *t, const struct screen *screen)
{
	size_t n = t->rows * t->cols, i;
	char **cell;
	int err;

	if (t->first)
		return text_ordered(t, screen);
	cell = calloc(n ? n : 1, sizeof(*cell));
	err = cell ? 0 : -ENOMEM;
	for (i = 0; !err && i < n; i++) {
		cell[i] = text_cell(t, i / t->cols, i % t->cols, screen);
		err = cell[i] ? 0 : -ENOMEM;
	}
	if (!err)
		err = text_rows(t, cell, screen);
	for (i = 0; cell && i < n; i++)
		free(cell[i]);
	free(cell);
	return err;
}

void print_words(const char *words, size_t from, size_t width)
{
	size_t at = from, len, n;

	for (; *words; words += len + (words[len] != '\0')) {
		auto_free char *word = strndup(words, len = strcspn(words, " \n"));

		n = word ? text_width(word) : len;
		if (at > from && at + 1 + n > width)
			at = printf("\n%*s", (int)from, "") - 1;
		at += (at > from ? printf(" ") : 0) + n;
		printf("%.*s", (int)len, words);
	}
	printf("\n");
}

/* Lines as they are, or where there is a terminal filled up to its width. */
static void put_lines(const char *lines, size_t width)
{
	size_t len = strlen(lines);

	if (width)
		print_words(lines, 0, width);
	else
		printf("%s%s", lines, len && lines[len - 1] == '\n' ? "" : "\n");
}

/* One paragraph, whose lines stand behind the column that says its subject. */
static void put_paragraph(const char *about, const char *words, size_t screen)
{
	size_t at = 10, width = text_width(about);

	printf("%s%*s", about, (int)(width < at ? at - width : 0), "");
	if (width >= at)
		printf("\n%*s", (int)at, "");
	print_words(words, at, screen && screen < WORDS_WIDTH ? screen : WORDS_WIDTH);
}

static int text_words(const struct grid *t, size_t screen)
{
	size_t row;

	for (row = 0; row < t->rows; row++) {
		auto_free char *about = cell_string(grid_cell(t, row, 0), ABSENT, text_terminal);
		auto_free char *words = cell_string(grid_cell(t, row, 1), ABSENT, text_terminal);
		const struct cell *before = row ? grid_cell(t, row - 1, 0) : NULL, *now = grid_cell(t, row, 0);

		if (!about || !words)
			return -ENOMEM;
		put_paragraph(before && before->text && now->text &&
					      !strcmp(before->text, now->text) ?
				      "" :
				      about,
			      words, screen);
	}
	return 0;
}

/* Says how many rows --top left out. */
static void put_others(const struct grid *t)
{
	if (t->others)
		printf("(%zu other%s)\n", t->others, t->others > 1 ? "s" : "");
}

/* Prints sentences that --table names as a table too, except on a terminal, which would cut them. */
static int put_only(const struct grid *t, const struct screen *screen)
{
	int err = t->words && screen->width ? text_words(t, screen->width) : text_table(t, screen);

	put_others(t);
	return err;
}

static int put_head_lines(const struct answer *a, size_t width)
{
	int line = grid_find(&a->head, "line");
	size_t row;

	for (row = 0; line >= 0 && row < a->head.rows; row++) {
		auto_free char *s = cell_string(grid_cell(&a->head, row, line), ABSENT, text_terminal);

		if (!s)
			return -ENOMEM;
		put_lines(s, width);
	}
	return 0;
}

int print_text(const struct answer *a, const struct grid *only)
{
	struct screen screen = screen_find(a->exact);
	int i, err = 0;
	bool any = false;

	if (only)
		return put_only(only, &screen);
	fputs(screen.bold, stdout);
	put_lines(a->title, screen.width);
	fputs(screen.plain, stdout);
	err = put_head_lines(a, screen.width);
	for (i = 0; !err && i < a->tables; i++) {
		const struct grid *t = &a->table[i];

		if (t->plot || !t->rows)
			continue;
		any = true;
		printf("\n");
		if (t->title)
			put_lines(t->title, screen.width);
		err = t->words ? text_words(t, screen.width) : text_table(t, &screen);
		put_others(t);
	}
	if (!any && !err) {
		printf("\n");
		put_lines(a->none ?: "There is nothing of this kind to show.", screen.width);
	}
	if (a->caption) {
		printf("\n");
		put_lines(a->caption, screen.width);
	}
	return err;
}
