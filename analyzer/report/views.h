/* SPDX-License-Identifier: GPL-3.0-only */
/* views.h - the views of reports/views/, of which a report gets those that it names, and those
 * that these name. */
#ifndef IOT_ANALYZER_VIEWS_H
#define IOT_ANALYZER_VIEWS_H

#include "query.h"

/* The end of the statement at p: behind its semicolon, or the end of the text. Semicolons in
 * strings and comments end nothing. */
const char *statement_end(const char *p);

/* The views of all files: those in folder `dir` (NULL: none) go before those inside the program.
 * Free with views_free(), also after an error, which was reported; NULL: no memory. */
struct views *views_load(struct store *s, const char *dir);
void views_free(struct views *v);

/* Makes the views that the `len` bytes of SQL at `text` name and that are not made yet. Returns 0
 * or an exit status. */
int views_need(struct views *v, const char *text, size_t len);

/* Calls back with the name of each view and the first sentence of its comment, or "". */
void views_each(const struct views *v, void (*call)(const char *name, const char *doc));

#endif
