/* SPDX-License-Identifier: GPL-3.0-only */
/* text.h - bytes from strangers, escaped so that terminals, spreadsheets and parsers take them as
 * text. */
#ifndef IOT_ANALYZER_TEXT_H
#define IOT_ANALYZER_TEXT_H

#include <stddef.h>

/* Each returns an allocated string, NULL without memory.
 *
 * For terminals: control characters (C0, DEL, C1), characters that change the direction of
 * writing, and bytes that are not UTF-8 become \n, \t, \xHH or \u{HHHH}; a backslash becomes two. */
char *text_terminal(const char *text, size_t len);

/* One field of CSV (RFC 4180): quoted where needed; a text that a spreadsheet would take as a
 * formula gets a ' in front. */
char *text_csv(const char *text, size_t len);

/* One field of TSV: tab, line feed, carriage return, NUL and backslash become \t \n \r \0 \\. */
char *text_tsv(const char *text, size_t len);

/* One field of a file that gnuplot reads: as for terminals, so that the picture shows that; at
 * most so many characters. */
#define TEXT_PLOT_CHARS 200
char *text_plot(const char *text, size_t len);

/* One field for gnuplot of a string that text_terminal() made. */
char *text_plot_plain(const char *plain);

/* A JSON string with its quotes. Control characters and those that change the direction of writing
 * are escaped. A byte XX that is not UTF-8 becomes \udcXX, as in the records of a run. */
char *text_json(const char *text, size_t len);

/* Text of XML, or the value of an attribute: as for terminals, and & < > " ' become entities. */
char *text_xml(const char *text, size_t len);

/* Text of XML of a string that text_terminal() made. */
char *text_entities(const char *plain);

/* For LaTeX and Markdown: text that stands for nothing but itself there. Escaped as for terminals;
 * in LaTeX also what lies beyond the letters of European languages, which not every font has. */
char *text_latex(const char *text, size_t len);
char *text_markdown(const char *text, size_t len);

/* Columns that a string made by text_terminal() takes. */
size_t text_width(const char *text);

#endif
