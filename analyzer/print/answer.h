/* SPDX-License-Identifier: GPL-3.0-only */
/* answer.h - everything that a report answers, before it is printed or drawn. */
#ifndef IOT_ANALYZER_ANSWER_H
#define IOT_ANALYZER_ANSWER_H

#include "grid.h"

#define ABSENT "n/a"

struct answer {
	const char *name, *title;
	char *caption;       /* lines */
	char *none;          /* text when no table has a row; NULL: a general sentence */
	char *main;          /* name of the table for CSV and TSV; NULL: the first */
	struct grid head;    /* lines above a text report: columns ord, line */
	struct grid picture; /* lines above a picture: line; without names of machine and command */
	struct grid run;     /* one row: the run */
	struct grid lost;    /* records that were lost */
	struct grid *table;  /* the tables of the report, in order */
	int tables;
	bool exact;          /* --bytes: numbers without units also on a terminal */
	bool about_store;    /* about all runs of the store: no head */
};

/* Meaning of a cell of column `result`. */
enum result { RESULT_OK, RESULT_ABSENT, RESULT_FAILED, RESULT_UNKNOWN };
enum result result_of(const char *text);

/* Is `word` one of `words`, which blanks separate? NULL: there are none. */
bool has_word(const char *words, const char *word);

/* Properties of a column in formats for people: left out; a bound, printed in front of the next
 * column; numbers only, of which there is at least one. */
bool column_hidden(const struct grid *t, int col);
bool column_bound(const struct grid *t, int col);
bool column_numeric(const struct grid *t, int col);

/* One cell as a plain number or as text escaped by `escape` (NULL: as it is, up to its first NUL),
 * allocated; NULL without memory. `absent` is printed for NULL. */
char *cell_string(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t));

/* Like cell_string(), for programs: with as many decimals as it takes to read the same number
 * again, at least three. */
char *cell_exact(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t));

#endif
