/* SPDX-License-Identifier: GPL-3.0-only */
/* compare.h - the command `compare`. */
#ifndef IOT_ANALYZER_COMPARE_H
#define IOT_ANALYZER_COMPARE_H

#include "options.h"

struct answer;

/* Compares the sets of the store for a page, as an answer; *unlike says why not, when the runs are
 * not comparable (to be freed). No set to compare with: an answer without tables. Returns 0 or an
 * exit status. */
int compare_store(const struct options *o, const char *store, struct answer *a, char **unlike);

/* iot-analyze compare. Returns an exit status. */
int compare(const struct options *o);

#endif
