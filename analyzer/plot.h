/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.h - pictures as files. */
#ifndef IOT_ANALYZER_PLOT_H
#define IOT_ANALYZER_PLOT_H

#include "chart.h"
#include "print.h"

/* Draws report a->name. With the text of its script: by gnuplot, DIR/NAME.svg and .png, and beside them NAME.tsv and NAME.gp, from which
 * `gnuplot NAME.gp` draws the same again. With script NULL: its charts (chart.h) as DIR/NAME.svg, .png and .pdf, and NAME.tsv, their data.
 * Prints the names on stderr when it is a terminal. Returns 0 or an exit status. */
int plot_answer(const struct answer *a, const char *style, const char *script, const struct look *look, const char *dir);

#endif
