/* SPDX-License-Identifier: GPL-3.0-only */
/* select.h - rows that --where keeps, the order of --sort, how many --top leaves. */
#ifndef IOT_ANALYZER_SELECT_H
#define IOT_ANALYZER_SELECT_H

#include "print.h"

/* What is asked of rows. Text is that of the command line. */
struct selection {
	const char *where[16]; /* COLUMN=VALUE, and with != < <= > >= ~ (contains) in place of =; all must hold */
	int wheres;
	const char *sort;      /* COLUMN, numbers from the largest on; COLUMN:asc or COLUMN:desc; NULL: as the report has them */
	uint64_t top;          /* rows; 0: all */
};

/* Does it to all tables of the answer that have the column, but none of pictures; `only`: to that table alone. How many rows --top left out is in
 * the table's `others`. Returns 0 or, when no table has the column, EXIT_USAGE with one line on stderr. */
int answer_select(struct answer *a, const struct selection *s, const char *only);

#endif
