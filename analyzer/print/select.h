/* SPDX-License-Identifier: GPL-3.0-only */
/* select.h - rows that --where keeps, the order of --sort, how many --top leaves. */
#ifndef IOT_ANALYZER_SELECT_H
#define IOT_ANALYZER_SELECT_H

#include "answer.h"

/* What is asked of rows. Text is that of the command line. */
struct selection {
	const char *where[16]; /* COLUMN=VALUE, and with != < <= > >= ~ (contains) in place of =; all must hold */
	int wheres;
	const char *sort;      /* COLUMN, numbers from the largest on; COLUMN:asc or COLUMN:desc; NULL: as the report has them */
	uint64_t top;          /* rows; 0: all */
};

/* While a table is read that may be long: takes out rows that answer_select() would take out of it, which those of --top count among `others`.
 * Leaves alone what is of a picture, and what says whether something is wrong. Returns 0 or an exit status, reported. */
int select_thin(struct grid *t, const struct selection *s);

/* Does it to all tables of the answer that have the column, but none of pictures; `only`: to that table alone. How many rows --top left out is in
 * the table's `others`. Returns 0 or, when no table has the column, EXIT_USAGE with one line on stderr. */
int answer_select(struct answer *a, const struct selection *s, const char *only);

#endif
