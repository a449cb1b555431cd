/* SPDX-License-Identifier: GPL-3.0-only */
/* markup.c - tables in LaTeX and in Markdown. Names are from strangers: what means anything there
 * is escaped. */
#include <errno.h>
#include "analyzer.h"
#include "markup.h"
#include "table_writer.h"
#include "text.h"

#define PAGE_ROWS 50 /* of a table in LaTeX */

/* A sentence each, behind what it is about. */
static int put_sentences(const struct grid *t, const char *begin, const char *between,
			 char *(*text)(const char *, size_t))
{
	size_t row;

	for (row = 0; row < t->rows; row++) {
		auto_free char *about = cell_string(grid_cell(t, row, 0), ABSENT, text),
			       *words = cell_string(grid_cell(t, row, 1), ABSENT, text);

		if (!about || !words)
			return -ENOMEM;
		printf("%s%s%s%s\n", begin, about, between, words);
	}
	return 0;
}

/* The rows from that one on, as many as a page holds. */
static int latex_page(const struct grid *t, size_t from)
{
	size_t row;
	int col, err;

	printf("\\begin{tabular}{");
	for (col = 0; col < t->cols; col++)
		if (table_shows(t, col, &markup_latex))
			putchar(column_numeric(t, col) ? 'r' : 'l');
	printf("}\n\\hline\n");
	err = table_names(stdout, t, &markup_latex);
	printf("\\hline\n");
	for (row = from; !err && row < from + PAGE_ROWS && row < t->rows; row++)
		err = table_row(stdout, t, row, &markup_latex);
	printf("\\hline\n\\end{tabular}\n\n");
	return err;
}

/* TeX breaks no tabular, and keeps all of it in its memory: a long table is several. */
static int latex_table(const struct grid *t)
{
	size_t row;
	int err;

	if (t->title) {
		auto_free char *title = text_terminal(t->title, strlen(t->title));

		if (!title)
			return -ENOMEM;
		printf("%% %s\n", title);
	}
	if (t->words) {
		printf("\\begin{description}\n");
		err = put_sentences(t, "\\item[", "] ", text_latex);
		printf("\\end{description}\n\n");
		return err;
	}
	for (row = 0, err = latex_page(t, 0); !err && (row += PAGE_ROWS) < t->rows;)
		err = latex_page(t, row);
	if (t->others)
		printf("%% and %zu other%s\n", t->others, t->others > 1 ? "s" : "");
	return err;
}

static int markdown_table(const struct grid *t)
{
	size_t row;
	int col, err;

	if (t->title) {
		auto_free char *title = text_markdown(t->title, strlen(t->title));

		if (!title)
			return -ENOMEM;
		printf("### %s\n\n", title);
	}
	if (t->words) {
		err = put_sentences(t, "- **", "**: ", text_markdown);
		printf("\n");
		return err;
	}
	err = table_names(stdout, t, &markup_markdown);
	for (col = 0; col < t->cols; col++)
		if (table_shows(t, col, &markup_markdown))
			printf("|%s", column_numeric(t, col) ? "---:" : "---");
	printf("|\n");
	for (row = 0; !err && row < t->rows; row++)
		err = table_row(stdout, t, row, &markup_markdown);
	if (t->others)
		printf("\nand %zu other%s\n", t->others, t->others > 1 ? "s" : "");
	printf("\n");
	return err;
}

static int each_table(const struct answer *a, const struct grid *only,
		      int (*table)(const struct grid *))
{
	int i, err = 0;

	if (only)
		return table(only);
	for (i = 0; !err && i < a->tables; i++)
		if (!a->table[i].plot && a->table[i].rows)
			err = table(&a->table[i]);
	return err;
}

int print_latex(const struct answer *a, const struct grid *only)
{
	return each_table(a, only, latex_table);
}

int print_markdown(const struct answer *a, const struct grid *only)
{
	return each_table(a, only, markdown_table);
}
