/* SPDX-License-Identifier: GPL-3.0-only */
/* print.h - answers on stdout: text for people, CSV, TSV and JSON for programs. */
#ifndef IOT_ANALYZER_PRINT_H
#define IOT_ANALYZER_PRINT_H

#include "answer.h"

enum format {
	FORMAT_TEXT, FORMAT_CSV, FORMAT_TSV, FORMAT_JSON, FORMAT_JUNIT, FORMAT_LATEX,
	FORMAT_MARKDOWN,
};

/* Prints to stdout. CSV and TSV hold one table: `only` names it, NULL takes the report's main one.
 * Returns 0 or an exit status. */
int print_answer(const struct answer *a, enum format format, const char *only);

#endif
