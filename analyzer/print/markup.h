/* SPDX-License-Identifier: GPL-3.0-only */
/* markup.h - tables for papers and pages: LaTeX and Markdown. */
#ifndef IOT_ANALYZER_MARKUP_H
#define IOT_ANALYZER_MARKUP_H

#include "answer.h"

/* Each prints the tables of an answer to stdout, or `only` that one; the columns and bounds are
 * those of the text. LaTeX: a tabular each, to be read with \input, which needs no package;
 * Markdown: tables as GitHub reads them. Return 0 or -ENOMEM. */
int print_latex(const struct answer *a, const struct grid *only);
int print_markdown(const struct answer *a, const struct grid *only);

#endif
