/* SPDX-License-Identifier: GPL-3.0-only */
#ifndef IOT_ANALYZER_OVERLAP_H
#define IOT_ANALYZER_OVERLAP_H

struct sqlite3;

/* Gives the connection the aggregate function overlap() (overlap.c says what it does). Returns an
 * SQLite code. */
int overlap_register(struct sqlite3 *db);

#endif
