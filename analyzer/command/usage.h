/* SPDX-License-Identifier: GPL-3.0-only */
/* usage.h - the help of one command: how it is called, its tables, its options, an example. */
#ifndef IOT_ANALYZER_USAGE_H
#define IOT_ANALYZER_USAGE_H

#include "options.h"

/* Prints it of a command that is no report, by its row in main.c; takes: the general options that
 * it takes, between blanks, NULL: all. Returns an exit status. */
int usage_command(const char *name, const char *args, const char *doc, const char *takes);

/* Prints it of a report, of which `text` is the SQL. Returns an exit status. */
int usage_report(const struct options *o, const char *name, const char *text);

/* Fails with EXIT_USAGE because there is no command or report of that name: which one may have
 * been meant. commands: names, the last NULL. */
int usage_unknown(const struct options *o, const char *name, const char *const *commands);

#endif
