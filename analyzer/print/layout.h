/* SPDX-License-Identifier: GPL-3.0-only */
/* layout.h - where the columns of a table stand on a terminal. */
#ifndef IOT_ANALYZER_LAYOUT_H
#define IOT_ANALYZER_LAYOUT_H

#include "grid.h"

struct layout {
	size_t width, whole; /* in columns of the terminal: as printed, and before names were cut */
	bool shown, right;
	bool key;            /* tells rows apart: it stands in each block */
	int block;
};

/* How `t`, whose cells are printed as `cell`, fits into `screen` columns (0: there is no end); `l` has room for each column of it.
 * Names are cut in place where the table is wider, the longest first, and never a number. What is still too wide becomes several
 * blocks, one below the other. How many there are, or -ENOMEM. */
int layout_make(const struct grid *t, char **cell, size_t screen, struct layout *l);

#endif
