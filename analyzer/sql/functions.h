/* SPDX-License-Identifier: GPL-3.0-only */
/* functions.h - what views say in one word. */
#ifndef IOT_ANALYZER_FUNCTIONS_H
#define IOT_ANALYZER_FUNCTIONS_H

struct sqlite3;

/* Gives the connection sum_if(), listed(), measured(), devno() and size() (functions.c says what
 * they do). Returns an SQLite code. */
int functions_register(struct sqlite3 *db);

/* "512 bytes", "1.5 KiB", "64 MiB": three digits, as unit_text(). */
#define SIZE_TEXT 48
void size_text(double bytes, char text[SIZE_TEXT]);

#endif
