/* SPDX-License-Identifier: GPL-3.0-only */
/* report.h - reports are files: reports/NAME.sql asks, and says how it is drawn (chart.h). They
 * are carried inside the program; a folder given with --reports adds to them and goes before them.
 *
 * A NAME.sql begins with lines "-- title: ..." and "-- caption: ..." (may be repeated; a line that
 * ends in \ goes on in the next one). Each statement answers one table, announced by
 * "-- table: WORD: heading", or "-- plot: WORD" when it is data of the picture only.
 * "-- hide: COLUMN ..." leaves columns out of the text format. In front, "-- main: WORD" names the
 * table for CSV and TSV (else the first), and "-- scope: store" says that the report is about all
 * runs. "-- systems: VIEW" names the view in whose column `system` the argument of --system must be
 * found (else v_process, the processes of the run; anything in a report about all runs).
 * "-- words: WORD" instead of "-- table:" makes sentences of the table's first two columns, what
 * it is about and what is said. "-- cases: COLUMN ..." says which columns name a row of a table
 * with a column `result`, whose rows are then the cases of --format junit. A column `result` that
 * holds MISMATCH, BROKEN or UNKNOWN makes the exit status 1. */
#ifndef IOT_ANALYZER_REPORT_H
#define IOT_ANALYZER_REPORT_H

#include "answer.h"
#include "query.h"

struct report_file {
	const char *name; /* "amplification.sql", "views/run.sql"; NULL ends the list */
	const char *text;
};

extern const struct report_file report_files[]; /* generated from reports/ */

/* The text of `name` in folder `dir` (NULL: none), else of the one inside the program; allocated,
 * NULL if there is none or it cannot be read (then errno is not ENOENT). */
char *report_text(const char *dir, const char *name);

/* Calls back with name (without .sql) and title of every report there is, sorted within each
 * place. 0 or an exit status. */
int report_each(const char *dir, void (*call)(const char *name, const char *title));

/* Value of the first line "-- KEY: value" in text, allocated, or NULL. */
char *report_line(const char *text, const char *key);

/* The values of all lines of that key, allocated, each with a newline unless it ends in \ (which is
 * left out); "" when there is no such line, NULL: no memory. */
char *report_lines(const char *text, const char *key);

/* Is the report of that text about all runs of a store ("-- scope: store")? */
bool report_about_store(const char *text);

/* Makes the views that the report's text needs, those of its pictures only when one is asked for,
 * and the view `systems`, which may be NULL. Returns 0 or an exit status. */
int report_views(struct store *s, const char *dir, const char *text, const char *systems);

/* Asks the store all statements of the report; free with answer_free(). `s` was asked with
 * store_ask(). */
int report_run(struct store *s, const char *name, const char *text, struct answer *a);

/* Returns 1 when a column `result` says that something is wrong, else 0. */
int answer_mismatch(const struct answer *a);

/* EXIT_DATA, with one line on stderr, when the run that the answer is of is incomplete. */
int answer_whole(const struct answer *a, const char *store);
void answer_free(struct answer *a);

#endif
