/* SPDX-License-Identifier: GPL-3.0-only */
/* markup.h - tables for papers and pages: LaTeX and Markdown. */
#ifndef IOT_ANALYZER_MARKUP_H
#define IOT_ANALYZER_MARKUP_H

#include "print.h"

/* Each prints the tables of an answer to stdout, or `only` that one; the columns and bounds are those of the text. LaTeX: a tabular each,
 * to be read with \input, which needs no package; Markdown: tables as GitHub reads them. Return 0 or -ENOMEM. */
int print_latex(const struct answer *a, const struct grid *only);
int print_markdown(const struct answer *a, const struct grid *only);

/* Allocated, NULL without memory: text that stands for nothing but itself there. What is not for a terminal is escaped as there; in LaTeX also
 * what lies beyond the letters of European languages, which not every font has. */
char *text_latex(const char *text, size_t len);
char *text_markdown(const char *text, size_t len);

#endif
