/* SPDX-License-Identifier: GPL-3.0-only */
#ifndef IOT_FOLD_H
#define IOT_FOLD_H

struct sqlite3;

/* Gives the connection the aggregate function fold() (fold.c says what it does). Returns an SQLite
 * code. */
int fold_register(struct sqlite3 *db);

#endif
