/* SPDX-License-Identifier: GPL-3.0-only */
/* limit.h - a limit of the command `check`. */
#ifndef IOT_ANALYZER_LIMIT_H
#define IOT_ANALYZER_LIMIT_H

#include <stdbool.h>

enum limit_kind { LIMIT_MOST, LIMIT_LEAST, LIMIT_WITHIN }; /* --max, --min, --against */
struct limit {
	char name[64];           /* of a ratio */
	double value, low;       /* low: LIMIT_WITHIN only */
	bool unknown;            /* LIMIT_WITHIN: the base has no exact value */
	const char *text;        /* as it was given */
	const char *who;         /* whose ratio; NULL: everybody's */
	enum limit_kind kind;
};

#endif
