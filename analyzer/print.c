/* SPDX-License-Identifier: GPL-3.0-only */
/* print.c - the formats of a report. What was not measured is n/a, and null in JSON. */
#include <cjson/cJSON.h>
#include <errno.h>
#include "analyzer.h"
#include "markup.h"
#include "print.h"
#include "screen.h"
#include "text.h"

#define ABSENT "n/a"
#define WORDS_WIDTH 80
#define CUT_LEAST 24 /* names are not cut shorter */

char *cell_string(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t))
{
	char *s = NULL;
	int n = 0;

	switch (c->type) {
	case CELL_TEXT:
		return escape ? escape(c->text, c->len) : strdup(c->text);
	case CELL_INT:
		n = asprintf(&s, "%lld", (long long)c->i);
		break;
	case CELL_REAL:
		n = asprintf(&s, "%.3f", c->r);
		break;
	case CELL_NULL:
		return strdup(absent);
	}
	return n < 0 ? NULL : s;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; words && (words = strstr(words, word)); words += len) {
		if ((words[-1] == ' ') && (!words[len] || words[len] == ' '))
			return true;
	}
	return false;
}

enum result result_of(const char *text)
{
	if (!strcmp(text, "MISMATCH") || !strcmp(text, "BROKEN"))
		return RESULT_FAILED;
	if (!strcmp(text, "UNKNOWN"))
		return RESULT_UNKNOWN;
	return strcmp(text, "n/a") ? RESULT_OK : RESULT_ABSENT;
}

bool column_hidden(const struct grid *t, int col)
{
	return t->hide && has_word(t->hide, t->col[col]);
}

bool column_numeric(const struct grid *t, int col)
{
	size_t r;
	bool any = false;

	for (r = 0; r < t->rows; r++) {
		if (grid_cell(t, r, col)->type == CELL_TEXT)
			return false;
		any |= grid_cell(t, r, col)->type != CELL_NULL;
	}
	return any;
}

/* In text a column `bound...` (exact, >=, <=, n/a) is printed with the value behind it. */
bool column_bound(const struct grid *t, int col)
{
	return col + 1 < t->cols && !strncmp(t->col[col], "bound", 5);
}

static char *text_cell(const struct grid *t, size_t row, int col, const struct screen *screen)
{
	auto_free char *unit = screen->units ? screen_number(t->col[col], grid_cell(t, row, col)) : NULL;
	auto_free char *value = unit ? strdup(unit) : cell_string(grid_cell(t, row, col), ABSENT, text_terminal);
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

struct layout {
	size_t width;
	bool shown, right;
};

static int text_layout(const struct grid *t, char **cell, struct layout *l)
{
	int col, last = 0;
	size_t row, width;

	for (col = 0; col < t->cols; col++) {
		l[col].shown = !column_hidden(t, col) && !column_bound(t, col);
		l[col].right = column_numeric(t, col);
		l[col].width = text_width(t->col[col]);
		if (l[col].shown)
			last = col;
		for (row = 0; row < t->rows; row++) {
			width = text_width(cell[row * t->cols + col]);
			if (width > l[col].width)
				l[col].width = width;
		}
	}
	return last;
}

/* Names are cut where the table is wider than the screen, the longest first; numbers never. */
static void fit(const struct grid *t, char **cell, struct layout *l, size_t screen)
{
	size_t all = 0, row;
	int col, widest = -1;

	for (col = 0; col < t->cols; col++)
		all += l[col].shown ? l[col].width + 2 : 0;
	for (; screen && all > screen + 2; all--) {
		for (widest = -1, col = 0; col < t->cols; col++)
			if (l[col].shown && !l[col].right && l[col].width > CUT_LEAST && l[col].width > text_width(t->col[col]) &&
			    (widest < 0 || l[col].width > l[widest].width))
				widest = col;
		if (widest < 0)
			break;
		l[widest].width--;
	}
	for (col = 0; screen && col < t->cols; col++)
		for (row = 0; !l[col].right && row < t->rows; row++)
			screen_cut(cell[row * t->cols + col], l[col].width);
}

static void put_head(const struct grid *t, const struct layout *l, int last, const struct screen *screen)
{
	int col;

	fputs(screen->bold, stdout);
	for (col = 0; col < t->cols; col++)
		if (l[col].shown)
			put_padded(t->col[col], l[col].width, l[col].right, col == last);
	fputs(screen->plain, stdout);
}

static bool is_alarm(const struct grid *t, size_t row, int result)
{
	const struct cell *c = result < 0 ? NULL : grid_cell(t, row, result);

	return c && c->type == CELL_TEXT && result_of(c->text) == RESULT_FAILED;
}

static int text_rows(const struct grid *t, char **cell, const struct screen *screen)
{
	struct layout *l = calloc(t->cols, sizeof(*l));
	int col, last, result = grid_find(t, "result");
	size_t row;

	if (!l)
		return -ENOMEM;
	last = text_layout(t, cell, l);
	fit(t, cell, l, screen->width);
	put_head(t, l, last, screen);
	for (row = 0; row < t->rows; row++) {
		bool alarm = is_alarm(t, row, result);

		fputs(alarm ? screen->alarm : "", stdout);
		for (col = 0; col < t->cols; col++) {
			if (l[col].shown)
				put_padded(cell[row * t->cols + col], l[col].width, l[col].right, col == last);
		}
		fputs(alarm ? screen->plain : "", stdout);
	}
	free(l);
	return 0;
}

static int text_table(const struct grid *t, const struct screen *screen)
{
	size_t n = t->rows * t->cols, i;
	char **cell = calloc(n ? n : 1, sizeof(*cell));
	int err = cell ? 0 : -ENOMEM;

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

/* One paragraph, whose lines are behind the column that says what it is about. */
static void put_words(const char *about, const char *words)
{
	size_t at = 10, len, width = text_width(about);

	printf("%s%*s", about, (int)(width < at ? at - width : 0), "");
	if (width >= at)
		printf("\n%*s", (int)at, "");
	for (; *words; words += len + (words[len] == ' ')) {
		auto_free char *word = strndup(words, len = strcspn(words, " "));

		width = word ? text_width(word) : len;

		if (at > 10 && at + 1 + width > WORDS_WIDTH)
			at = printf("\n%*s", 10, "") - 1;
		at += (at > 10 ? printf(" ") : 0) + width;
		printf("%.*s", (int)len, words);
	}
	printf("\n");
}

static int text_words(const struct grid *t)
{
	size_t row;

	for (row = 0; row < t->rows; row++) {
		auto_free char *about = cell_string(grid_cell(t, row, 0), ABSENT, text_terminal);
		auto_free char *words = cell_string(grid_cell(t, row, 1), ABSENT, text_terminal);
		const struct cell *before = row ? grid_cell(t, row - 1, 0) : NULL, *now = grid_cell(t, row, 0);

		if (!about || !words)
			return -ENOMEM;
		put_words(before && before->text && now->text && !strcmp(before->text, now->text) ? "" : about, words);
	}
	return 0;
}

/* What --top left out is said, not dropped. */
static void put_others(const struct grid *t)
{
	if (t->others)
		printf("(%zu other%s)\n", t->others, t->others > 1 ? "s" : "");
}

static int print_text(const struct answer *a)
{
	int line = grid_find(&a->head, "line"), i, err = 0;
	struct screen screen = screen_find(a->exact);
	bool any = false;
	size_t row;

	printf("%s%s%s\n", screen.bold, a->title, screen.plain);
	for (row = 0; line >= 0 && row < a->head.rows; row++) {
		auto_free char *s = cell_string(grid_cell(&a->head, row, line), ABSENT, text_terminal);

		if (!s)
			return -ENOMEM;
		printf("%s\n", s);
	}
	for (i = 0; !err && i < a->tables; i++) {
		if (a->table[i].plot || !a->table[i].rows)
			continue;
		any = true;
		printf("\n%s%s", a->table[i].title ?: "", a->table[i].title ? "\n" : "");
		err = a->table[i].words ? text_words(&a->table[i]) : text_table(&a->table[i], &screen);
		put_others(&a->table[i]);
	}
	if (!any && !err)
		printf("\n%s\n", a->none ?: "There is nothing of this kind to show.");
	if (a->caption)
		printf("\n%s", a->caption);
	return err;
}

static int put_line(const struct grid *t, size_t row, bool tty, char between, char *(*escape)(const char *, size_t))
{
	int col;

	for (col = 0; col < t->cols; col++) {
		auto_free char *s = cell_string(grid_cell(t, row, col), ABSENT, escape), *safe = NULL;

		if (s && tty)
			safe = text_terminal(s, strlen(s));
		if (!s || (tty && !safe))
			return -ENOMEM;
		printf("%s%c", safe ?: s, col + 1 < t->cols ? between : '\n');
	}
	return 0;
}

static int print_lines(const struct grid *t, char between, char *(*escape)(const char *, size_t))
{
	bool tty = isatty(STDOUT_FILENO);
	int col, err = 0;
	size_t row;

	for (col = 0; col < t->cols; col++)
		printf("%s%c", t->col[col], col + 1 < t->cols ? between : '\n');
	for (row = 0; !err && row < t->rows; row++)
		err = put_line(t, row, tty, between, escape);
	return err;
}

/* cJSON keeps numbers in doubles: integers go in as their own text, and so do strings that it would not escape. */
static cJSON *json_cell(const struct cell *c)
{
	auto_free char *s = cell_string(c, "null", text_json);

	return s ? cJSON_CreateRaw(s) : NULL;
}

static cJSON *json_row(const struct grid *t, size_t row)
{
	cJSON *object = cJSON_CreateObject(), *value;
	int col;

	for (col = 0; object && col < t->cols; col++) {
		value = json_cell(grid_cell(t, row, col));
		if (!value || !cJSON_AddItemToObject(object, t->col[col], value)) {
			cJSON_Delete(value);
			cJSON_Delete(object);
			return NULL;
		}
	}
	return object;
}

static bool json_rows(cJSON *parent, const char *name, const struct grid *t)
{
	cJSON *array = cJSON_AddArrayToObject(parent, name), *row;
	size_t r;

	for (r = 0; array && r < t->rows; r++) {
		row = json_row(t, r);
		if (!row)
			return false;
		cJSON_AddItemToArray(array, row);
	}
	return array;
}

static bool json_build(cJSON *root, const struct answer *a, const struct grid *only)
{
	cJSON *tables;
	int i;

	if (!cJSON_AddStringToObject(root, "report", a->name) || !cJSON_AddStringToObject(root, "title", a->title))
		return false;
	if (a->run.rows && !a->about_store && !cJSON_AddItemToObject(root, "run", json_row(&a->run, 0)))
		return false;
	if (!a->about_store && !json_rows(root, "lost", &a->lost))
		return false;
	tables = cJSON_AddObjectToObject(root, "tables");
	for (i = 0; tables && i < a->tables; i++) {
		if (!a->table[i].plot && (!only || only == &a->table[i]) && !json_rows(tables, a->table[i].name ?: "rows", &a->table[i]))
			return false;
	}
	return tables;
}

static int print_json(const struct answer *a, const struct grid *only)
{
	cJSON *root = cJSON_CreateObject();
	char *text = root && json_build(root, a, only) ? cJSON_Print(root) : NULL;

	if (text)
		printf("%s\n", text);
	cJSON_free(text);
	cJSON_Delete(root);
	return text ? 0 : -ENOMEM;
}

/* The cells of a row as attributes or text of XML: of the columns that name the case, or all others, each with its name. */
static int put_cells(const struct grid *t, size_t row, bool named)
{
	int col, n = 0;

	for (col = 0; col < t->cols; col++) {
		auto_free char *s = NULL, *name = NULL;

		if (has_word(t->cases, t->col[col]) != named)
			continue;
		s = cell_string(grid_cell(t, row, col), ABSENT, text_xml);
		name = text_xml(t->col[col], strlen(t->col[col]));
		if (!s || !name)
			return -ENOMEM;
		printf("%s%s%s%s", n++ ? named ? " " : ", " : "", named ? "" : name, named ? "" : ": ", s);
	}
	return 0;
}

/* As the servers that run tests read it: a case a row, failed where something is wrong, skipped where nothing can be said. */
static int print_junit(const struct answer *a, const struct grid *t)
{
	static const char *const words[] = { NULL, "skipped", "failure", "error" }; /* enum result */
	size_t row, n[RESULT_UNKNOWN + 1] = { 0 };
	int col = grid_find(t, "result"), err = 0;

	for (row = 0; row < t->rows; row++)
		n[result_of(grid_cell(t, row, col)->text ?: "")]++;
	printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"iot-analyze %s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\""
	       " skipped=\"%zu\">\n", a->name, t->rows, n[RESULT_FAILED], n[RESULT_UNKNOWN], n[RESULT_ABSENT]);
	for (row = 0; row < t->rows && !err; row++) {
		const char *word = words[result_of(grid_cell(t, row, col)->text ?: "")];

		printf("  <testcase classname=\"iot-analyze.%s\" name=\"", a->name);
		err = put_cells(t, row, true);
		printf(word ? "\"><%s message=\"" : "\"/>\n", word);
		if (word && !err)
			err = put_cells(t, row, false);
		if (word)
			printf("\"/></testcase>\n");
	}
	printf("</testsuite>\n");
	return err;
}

static const struct grid *choose(const struct answer *a, const char *only)
{
	int i;

	for (i = 0; i < a->tables; i++) {
		const struct grid *t = &a->table[i];

		if (only ? t->name && !strcmp(t->name, only) : !t->plot)
			return t;
	}
	return NULL;
}

int print_answer(const struct answer *a, enum format format, const char *only)
{
	const struct grid *t = choose(a, only ?: a->main);
	struct screen screen;
	int err = 0;

	if (!t)
		return fail_as(EXIT_USAGE, 0, "report '%s' has no table '%s'", a->name, only ?: "");
	if (format == FORMAT_JUNIT && !t->cases)
		return fail_as(EXIT_USAGE, 0, "report '%s' has no cases that pass or fail: --format junit is for check and verify", a->name);
	switch (format) {
	case FORMAT_JUNIT:
		err = print_junit(a, t);
		break;
	case FORMAT_TEXT:
		screen = screen_find(a->exact);
		err = only ? text_table(t, &screen) : print_text(a);
		if (only)
			put_others(t);
		break;
	case FORMAT_CSV:
		err = print_lines(t, ',', text_csv);
		break;
	case FORMAT_TSV:
		err = print_lines(t, '\t', text_tsv);
		break;
	case FORMAT_JSON:
		err = print_json(a, only ? t : NULL);
		break;
	case FORMAT_LATEX:
		err = print_latex(a, only ? t : NULL);
		break;
	case FORMAT_MARKDOWN:
		err = print_markdown(a, only ? t : NULL);
		break;
	}
	return err ? fail_as(EXIT_DATA, -err, "cannot print report '%s'", a->name) : 0;
}
