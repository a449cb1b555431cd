/* SPDX-License-Identifier: GPL-3.0-only */
/* paint.h - colours of pictures: palette.def, and one for every word that it does not know. */
#ifndef IOT_ANALYZER_PAINT_H
#define IOT_ANALYZER_PAINT_H

#include <stdint.h>

/* The colour of a word, 0xRRGGBB; none of the n that the picture has already, unless all are
 * taken. */
uint32_t paint_of(const char *word, const uint32_t *taken, int n);

/* The colour of the sum of several words that have no place of their own. */
#define PAINT_OTHERS 0xcccccc

/* Fill of part number i where there are no colours: a grey, and the pattern of gnuplot over it, 0
 * for none. */
uint32_t paint_grey(int i, int *pattern);

#endif
