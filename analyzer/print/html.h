/* SPDX-License-Identifier: GPL-3.0-only */
/* html.h - text and tables of a page of HTML. */
#ifndef IOT_ANALYZER_HTML_H
#define IOT_ANALYZER_HTML_H

#include <stdio.h>
#include "grid.h"

/* Writes text with entities; html_lines(): each of its lines, with a line's end. */
void html_text(FILE *out, const char *text);
void html_lines(FILE *out, const char *text);

/* Writes a table, of a long one only the first rows, and says so. Returns 0 or -ENOMEM. */
int html_table(FILE *out, const struct grid *t);

#endif
