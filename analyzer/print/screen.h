/* SPDX-License-Identifier: GPL-3.0-only */
/* screen.h - text on a terminal: its width, bold heads, numbers with units. In files and pipes
 * text is plain and numbers are exact. */
#ifndef IOT_ANALYZER_SCREEN_H
#define IOT_ANALYZER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include "grid.h"

struct screen {
	size_t width;        /* columns; 0: as wide as it gets */
	bool units;          /* bytes and times with three digits and a unit */
	const char *bold, *alarm, *plain; /* sequences, or "" */
};

/* Of stdout. exact: no units. NO_COLOR and TERM=dumb mean no sequences. */
struct screen screen_find(bool exact);

/* A number of that column with its unit, allocated; NULL: the column is known to be neither bytes
 * nor microseconds, or no memory. */
char *screen_number(const char *column, const struct cell *c);

/* Cuts `s` so that it is `width` columns wide, in place, behind its first `head` columns, of which
 * there are fewer than `width` - 2: what is left of the width is of its end. It is UTF-8. */
void screen_cut(char *s, size_t width, size_t head);

/* Cuts `s` to `width` columns, in place, so that the text around its byte `at` is left. */
void screen_cut_around(char *s, size_t width, size_t at);

#endif
