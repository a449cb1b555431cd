/* SPDX-License-Identifier: GPL-3.0-only */
/* functions.h - what views say in one word. */
#ifndef IOT_ANALYZER_FUNCTIONS_H
#define IOT_ANALYZER_FUNCTIONS_H

struct sqlite3;

/* Gives the connection sum_if(), listed(), measured(), devno() and size() (functions.c says what they do). Returns an SQLite code. */
int functions_register(struct sqlite3 *db);

#endif
