/* SPDX-License-Identifier: GPL-3.0-only */
/* compare_say.h - a comparison as an answer. */
#ifndef IOT_ANALYZER_COMPARE_SAY_H
#define IOT_ANALYZER_COMPARE_SAY_H

#include "answer.h"

struct comparison;

/* Tables and sentences of a comparison, as an answer to be printed and drawn. 0 or -ENOMEM. */
int compare_answer(const struct comparison *c, struct answer *a);

#endif
