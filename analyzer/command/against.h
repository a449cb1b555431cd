/* SPDX-License-Identifier: GPL-3.0-only */
/* against.h - limits of the option --against. */
#ifndef IOT_ANALYZER_AGAINST_H
#define IOT_ANALYZER_AGAINST_H

#include "comparison.h"

/* The limits that `check --against` must keep: one for each ratio of the base. The list and what
 * it points to live until comparison_free(); the limits of the command line are in front of it.
 * Returns 0 or an exit status, the error reported. */
int against(struct comparison *c, const struct options *o, int64_t run, struct limit **list,
	    int *n);

#endif
