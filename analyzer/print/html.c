/* SPDX-License-Identifier: GPL-3.0-only */
/* html.c - text and tables of a page of HTML. */
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "clean.h"
#include "html.h"
#include "table_writer.h"
#include "text.h"

#define ROWS_MAX 200  /* of a table; the command says the others */
#define TEXT_LETTERS 24 /* of a column of text, before it is wrapped on paper */

/* Width of a letter or a digit of DejaVu Sans, which is a wide font; bold heads are wider. */
#define LETTER_EM 0.65

void html_text(FILE *out, const char *text)
{
	auto_free char *safe = text_xml(text, strlen(text));

	fputs(safe ?: "", out);
}

void html_lines(FILE *out, const char *text)
{
	size_t len;

	for (; *text; text += len + (text[len] == '\n')) {
		auto_free char *line = strndup(text, len = strcspn(text, "\n"));

		html_text(out, line ?: "");
		fputc('\n', out);
	}
}

/* The width of a column, in letters; longer text is wrapped. */
static size_t letters(const struct grid *t, int col, size_t rows)
{
	size_t most = strlen(t->col[col]), row;

	for (row = 0; row < rows; row++) {
		const struct cell *c = grid_cell(t, row, col);
		auto_free char *s = c->type == CELL_TEXT ? NULL : cell_string(c, ABSENT, text_xml);
		size_t len = s ? strlen(s) : c->len < TEXT_LETTERS ? c->len : TEXT_LETTERS;

		most = len > most ? len : most;
	}
	return most;
}

/* The width of a table, in heights of its letters: a table wider than the paper is printed in
 * small letters. */
static double table_em(const struct grid *t, size_t rows)
{
	double em = 1;
	int col;

	for (col = 0; col < t->cols; col++)
		if (table_shows(t, col, &markup_html))
			em += letters(t, col, rows) * LETTER_EM + 0.9;
	return em;
}

int html_table(FILE *out, const struct grid *t)
{
	size_t row, n = t->rows < ROWS_MAX ? t->rows : ROWS_MAX;
	int err;

	fprintf(out, "<div class=\"scroll\"><table style=\"--em:%.0f\"><caption>", table_em(t, n));
	html_text(out, t->title ?: t->name ?: "");
	if (t->rows > n)
		fprintf(out, " (the first %zu of %zu rows)", n, t->rows);
	fputs("</caption>\n", out);
	err = table_names(out, t, &markup_html);
	for (row = 0; !err && row < n; row++)
		err = table_row(out, t, row, &markup_html);
	fputs("</tbody></table></div>\n", out);
	return err;
}
