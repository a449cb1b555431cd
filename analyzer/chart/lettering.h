/* SPDX-License-Identifier: GPL-3.0-only */
/* lettering.h - how wide text is in a picture, cutting it to its room, and handing it to gnuplot.
 *
 * Text is plain (text_terminal()). Sizes and widths have one unit, whichever. */
#ifndef IOT_ANALYZER_LETTERING_H
#define IOT_ANALYZER_LETTERING_H

#include <stdbool.h>
#include <stdio.h>

/* Width of a plain text of that size, never less than it is. */
double lettering_width(const char *plain, double size, bool bold);

/* The text, or what of it fits into `room`: the middle is cut out. Allocated. */
char *lettering_fit(const char *plain, double room, double size, bool bold);

/* Two cells of data: the text, and the text with U+FFFD for what DejaVu Sans does not have. No
 * more than TEXT_PLOT_CHARS characters of it are drawn. */
void lettering_put(FILE *data, const char *plain);

#endif
