/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.h - pictures as files. */
#ifndef IOT_ANALYZER_PLOT_H
#define IOT_ANALYZER_PLOT_H

#include "chart.h"
#include "print.h"

/* Draws report a->name. With the text of its script: DIR/NAME.svg and .png, and beside them NAME.tsv and NAME.gp, from which
 * `gnuplot NAME.gp` draws the same again. With script NULL: its charts (chart.h) as DIR/NAME.svg, .png and .pdf, beside them NAME.gp and
 * NAME.dat, from which it draws them again, and NAME.tsv, the numbers. Prints the names on stderr when it is a terminal. Returns 0 or an
 * exit status. */
int plot_answer(const struct answer *a, const char *style, const char *script, const struct look *look, const char *dir);

/* Draws the charts of the answer and writes them as one element <svg>; `name` begins its ids. Returns 0 or an exit status. */
int plot_inline(const struct answer *a, const struct look *look, const char *name, FILE *out);

#endif
