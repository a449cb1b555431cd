/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.h - pictures as files. */
#ifndef IOT_ANALYZER_PLOT_H
#define IOT_ANALYZER_PLOT_H

#include "chart.h"
#include "answer.h"

/* Draws the charts of a report (chart.h) as DIR/NAME.svg, .png and .pdf, with NAME.gp and
 * NAME.dat, from which gnuplot draws them again, and NAME.tsv, the numbers. Makes DIR. Returns 0
 * or an exit status, the error reported. */
int plot_answer(const struct answer *a, const struct look *look, const char *dir);

/* Draws the charts of the answer and writes them as one element <svg>; `name` begins its ids.
 * Returns 0 or an exit status. */
int plot_inline(const struct answer *a, const struct look *look, const char *name, FILE *out);

#endif
