/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.h - pictures by gnuplot. */
#ifndef IOT_ANALYZER_PLOT_H
#define IOT_ANALYZER_PLOT_H

#include "print.h"

/* Draws report a->name with the text of its script: DIR/NAME.svg and DIR/NAME.png, and beside them NAME.tsv and NAME.gp,
 * from which `gnuplot NAME.gp` draws the same again. Prints the names on stderr when it is a terminal. Returns 0 or an exit
 * status. */
int plot_answer(const struct answer *a, const char *style, const char *script, const char *dir);

#endif
