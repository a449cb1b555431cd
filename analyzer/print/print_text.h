/* SPDX-License-Identifier: GPL-3.0-only */
/* print_text.h - reports as text for people, on stdout. */
#ifndef IOT_ANALYZER_PRINT_TEXT_H
#define IOT_ANALYZER_PRINT_TEXT_H

#include "grid.h"

struct answer;

/* The whole report, or only that table. 0 or -ENOMEM. */
int print_text(const struct answer *a, const struct grid *only);

/* Prints words and a line's end, from column `from` on, where what is printed stands already;
 * further lines begin there too, and have at most `width` columns, but for a word that is longer. */
void print_words(const char *words, size_t from, size_t width);

#endif
