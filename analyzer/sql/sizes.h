/* SPDX-License-Identifier: GPL-3.0-only */
#ifndef IOT_ANALYZER_SIZES_H
#define IOT_ANALYZER_SIZES_H

struct sqlite3;

/* Gives the connection the aggregate functions access_sizes() and access_cells() (sizes.c says
 * what they do). Returns an SQLite code. */
int sizes_register(struct sqlite3 *db);

#endif
