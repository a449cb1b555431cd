/* SPDX-License-Identifier: GPL-3.0-only */
/* layout.h - positions of the columns of a table on a terminal. */
#ifndef IOT_ANALYZER_LAYOUT_H
#define IOT_ANALYZER_LAYOUT_H

#include "grid.h"

struct layout {
	size_t width, whole; /* in columns of the terminal: as printed, and before names were cut */
	bool shown, right;
	bool key;            /* tells rows apart: it stands in each block */
	int block;
};

/* Lays `t`, whose cells are printed as `cell`, out on `screen` columns (0: without end); `l` has
 * room for each column of the table. Where the table is wider, names are shortened in place, the
 * longest first, never numbers. A table that is still too wide becomes several blocks, one below
 * the other. Returns the number of blocks, or -ENOMEM. */
int layout_make(const struct grid *t, char **cell, size_t screen, struct layout *l);

#endif
