/* SPDX-License-Identifier: GPL-3.0-only */
/* print.h - answers on stdout: text for people, CSV, TSV and JSON for programs. */
#ifndef IOT_ANALYZER_PRINT_H
#define IOT_ANALYZER_PRINT_H

#include "grid.h"

#define ABSENT "n/a"

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_TSV, FORMAT_JSON, FORMAT_JUNIT, FORMAT_LATEX, FORMAT_MARKDOWN };

/* Everything that a report says. */
struct answer {
	const char *name, *title;
	char *caption;               /* lines */
	char *none;                  /* what text says where no table has a row; NULL: that there is nothing */
	char *main;                  /* name of the table for CSV and TSV; NULL: the first */
	struct grid head;           /* lines above a text report: columns ord, line */
	struct grid picture;        /* lines above a picture: line; nothing that names the machine or the command */
	struct grid run;            /* one row: the run */
	struct grid lost;           /* what could not be recorded */
	struct grid *table;         /* the tables of the report, in order */
	int tables;
	bool exact;                  /* --bytes: numbers without units also on a terminal */
	bool about_store;            /* says something about all runs: no head */
};

/* What a column `result` says. */
enum result { RESULT_OK, RESULT_ABSENT, RESULT_FAILED, RESULT_UNKNOWN };
enum result result_of(const char *text);

/* Print to stdout. CSV and TSV hold one table: `only` names it, NULL takes the report's main one.
 * Return 0 or an exit status. */
int print_answer(const struct answer *a, enum format format, const char *only);

/* What text does with a column: it is left out; it is a bound, printed in front of the next one; all it holds is numbers. */
bool column_hidden(const struct grid *t, int col);
bool column_bound(const struct grid *t, int col);
bool column_numeric(const struct grid *t, int col);

/* One cell as a plain number or as text escaped by `escape` (NULL: as it is, up to its first NUL), allocated; NULL without memory. absent: what NULL
 * prints as. */
char *cell_string(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t));

#endif
