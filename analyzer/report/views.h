/* SPDX-License-Identifier: GPL-3.0-only */
/* views.h - the views of reports/views/, of which a report gets those that it names, and those that these name. */
#ifndef IOT_ANALYZER_VIEWS_H
#define IOT_ANALYZER_VIEWS_H

#include "query.h"

/* Where the statement at p ends: behind its semicolon, or at the end of the text. What strings and comments hold ends nothing. */
const char *statement_end(const char *p);

/* The views of all files: those in folder `dir` (NULL: none) go before those inside the program. Free with views_free(), also
 * after an error, which was reported; NULL: no memory. */
struct views *views_load(struct store *s, const char *dir);
void views_free(struct views *v);

/* Makes what the `len` bytes of SQL at `text` name, unless it is there already. Returns 0 or an exit status. */
int views_need(struct views *v, const char *text, size_t len);

/* Calls back with the name of each view, and the first sentence of what is said of it, or "". */
void views_each(const struct views *v, void (*call)(const char *name, const char *doc));

#endif
