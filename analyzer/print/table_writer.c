/* SPDX-License-Identifier: GPL-3.0-only */
/* table_writer.c - rows of a table in one markup. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "clean.h"
#include "table_writer.h"
#include "text.h"

/* For formats that programs read: all columns, one row a line. */
#define FOR_PROGRAMS .end_row = "\n", .all = true, .plain_names = true

const struct table_markup markup_csv = { text_csv, .between = ",", .exact = true, FOR_PROGRAMS };
const struct table_markup markup_stream = {
	text_csv, .between = ",", .absent = "", .exact = true, FOR_PROGRAMS
};
const struct table_markup markup_tsv = { text_tsv, .between = "\t", FOR_PROGRAMS };
const struct table_markup markup_latex = {
	text_latex, .between = " & ", .end_row = " \\\\\n", .least = "$\\geq$ ", .most = "$\\leq$ ",
};
const struct table_markup markup_markdown = {
	text_markdown, .begin_row = "| ", .between = " | ", .end_row = " |\n", .least = "≥ ", .most = "≤ ",
};
const struct table_markup markup_html = {
	text_xml, .begin_row = "<tr>", .end_row = "</tr>\n", .begin_text = "<td>",
	.begin_number = "<td class=\"n\">", .end_cell = "</td>", .begin_names = "<thead><tr>",
	.end_names = "</tr></thead>\n<tbody>", .begin_name = "<th>", .end_name = "</th>",
};

static void put(FILE *out, const char *text)
{
	if (text)
		fputs(text, out);
}

bool table_shows(const struct grid *t, int col, const struct table_markup *m)
{
	return m->all || (!column_hidden(t, col) && !(m->least && column_bound(t, col)));
}

/* The text of a cell in the markup, to be freed; NULL: no memory. */
static char *cell_written(const struct cell *c, const struct table_markup *m)
{
	char *s = (m->exact ? cell_exact : cell_string)(c, m->absent ?: ABSENT, m->escape), *safe;

	if (!s || !m->terminal)
		return s;
	safe = text_terminal(s, strlen(s));
	free(s);
	return safe;
}

/* The mark that is written before a value which is a bound; NULL: none. Bounds stand in the column
 * before that of the value. */
static const char *bound_of(const struct grid *t, size_t row, int col, const struct table_markup *m)
{
	const struct cell *c = m->least && col && column_bound(t, col - 1) ?
				       grid_cell(t, row, col - 1) :
				       NULL;

	if (!c || c->type != CELL_TEXT)
		return NULL;
	return !strcmp(c->text, ">=") ? m->least : !strcmp(c->text, "<=") ? m->most : NULL;
}

static int put_cell(FILE *out, const struct grid *t, size_t row, int col,
		    const struct table_markup *m)
{
	const struct cell *c = grid_cell(t, row, col);
	auto_free char *s = cell_written(c, m);

	if (!s)
		return -ENOMEM;
	put(out, c->type == CELL_TEXT ? m->begin_text : m->begin_number);
	put(out, bound_of(t, row, col, m));
	put(out, s);
	put(out, m->end_cell);
	return 0;
}

int table_row(FILE *out, const struct grid *t, size_t row, const struct table_markup *m)
{
	int col, n = 0, err = 0;

	put(out, m->begin_row);
	for (col = 0; !err && col < t->cols; col++) {
		if (!table_shows(t, col, m))
			continue;
		put(out, n++ ? m->between : NULL);
		err = put_cell(out, t, row, col, m);
	}
	put(out, m->end_row);
	return err;
}

int table_names(FILE *out, const struct grid *t, const struct table_markup *m)
{
	int col, n = 0;

	put(out, m->begin_names ?: m->begin_row);
	for (col = 0; col < t->cols; col++) {
		const char *name = t->col[col];
		auto_free char *s = m->plain_names ? strdup(name) : m->escape(name, strlen(name));

		if (!s)
			return -ENOMEM;
		if (!table_shows(t, col, m))
			continue;
		put(out, n++ ? m->between : NULL);
		put(out, m->begin_name);
		put(out, s);
		put(out, m->end_name);
	}
	put(out, m->end_names ?: m->end_row);
	return 0;
}
