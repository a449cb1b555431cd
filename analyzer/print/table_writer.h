/* SPDX-License-Identifier: GPL-3.0-only */
/* table_writer.h - rows of a table in one markup: CSV, TSV, LaTeX, Markdown or HTML.
 *
 * To add a markup: a row in table_writer.c, its declaration here, and the function of text.h that
 * escapes text for it. */
#ifndef IOT_ANALYZER_TABLE_WRITER_H
#define IOT_ANALYZER_TABLE_WRITER_H

#include <stdio.h>
#include "grid.h"

struct table_markup {
	char *(*escape)(const char *, size_t);
	const char *begin_row, *between, *end_row;
	const char *begin_text, *begin_number, *end_cell; /* around a cell, by its type */
	const char *begin_names, *end_names;              /* NULL: as around a row */
	const char *begin_name, *end_name;
	/* Marks before a value that is a lower or an upper bound ("≥ "), in place of the column of
	 * bounds (">=", "<="). NULL: that column is written instead. */
	const char *least, *most;
	const char *absent;       /* written for NULL; NULL: n/a */
	bool all;                 /* hidden columns as well */
	bool exact;               /* numbers with all their digits */
	bool plain_names;         /* names of columns as they are, not escaped */
	bool terminal;            /* control characters escaped, for output to a terminal */
};

/* markup_stream: CSV in which NULL is an empty cell. */
extern const struct table_markup markup_csv, markup_stream, markup_tsv, markup_latex,
	markup_markdown, markup_html;

/* True when the markup writes the column: all of them with `all`, else neither hidden columns nor
 * columns with bounds that `least` and `most` replace. */
bool table_shows(const struct grid *t, int col, const struct table_markup *m);

/* Write the line with the names of the columns, and one row. Return 0 or -ENOMEM. */
int table_names(FILE *out, const struct grid *t, const struct table_markup *m);
int table_row(FILE *out, const struct grid *t, size_t row, const struct table_markup *m);

#endif
