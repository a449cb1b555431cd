/* SPDX-License-Identifier: GPL-3.0-only */
/* select.h - rows that --where keeps, the order of --sort, how many --top leaves. */
#ifndef IOT_ANALYZER_SELECT_H
#define IOT_ANALYZER_SELECT_H

#include "answer.h"

/* Selection and order of rows. The texts are those of the command line. */
struct selection {
	const char *where[16]; /* COLUMN=VALUE, and with != < <= > >= ~ (contains) in place of =;
				  all must hold */
	int wheres;
	const char *sort; /* COLUMN, numbers from the largest on; COLUMN:asc or COLUMN:desc; NULL:
			     as the report has them */
	uint64_t top;          /* rows; 0: all */
};

/* Takes rows out of a long table while it is read, those that answer_select() would take out of
 * it; rows that --top leaves out are counted in `others`. Leaves tables of pictures alone, and
 * those with a column `result`. Returns 0 or an exit status, reported. */
int select_thin(struct grid *t, const struct selection *s);

/* Selects and orders the rows of all tables of the answer that have the columns, but not those of
 * pictures; `only`: of that table alone. Rows that --top leaves out are counted in the table's
 * `others`. Returns 0 or, when no table has the column, EXIT_USAGE with one line on stderr. */
int answer_select(struct answer *a, const struct selection *s, const char *only);

#endif
