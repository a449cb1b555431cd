/* SPDX-License-Identifier: GPL-3.0-only */
/* lettering.h - text in pictures: measures it, shortens it to the room that it has, and writes it
 * to the data that gnuplot reads.
 *
 * Texts are `plain`: UTF-8 that text_terminal() has made printable. `size` is the size of the font;
 * widths are in the same unit as that. */
#ifndef IOT_ANALYZER_LETTERING_H
#define IOT_ANALYZER_LETTERING_H

#include <stdbool.h>
#include <stdio.h>

/* Returns the width of a text in DejaVu Sans, or more than that: never less. */
double lettering_width(const char *plain, double size, bool bold);

/* Returns a copy of the text that is no wider than `room`, to be freed: where the text is wider, an
 * ellipsis replaces its middle, and "" the whole if not even that fits. NULL: no memory. */
char *lettering_fit(const char *plain, double room, double size, bool bold);

/* Writes two columns of a data file: the text, and the text with U+FFFD in place of each character
 * that DejaVu Sans does not have. Both have at most TEXT_PLOT_CHARS characters. */
void lettering_put(FILE *data, const char *plain);

#endif
