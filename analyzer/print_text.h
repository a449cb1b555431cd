/* SPDX-License-Identifier: GPL-3.0-only */
/* print_text.h - reports as text for people, on stdout. */
#ifndef IOT_ANALYZER_PRINT_TEXT_H
#define IOT_ANALYZER_PRINT_TEXT_H

#include "grid.h"

struct answer;

/* The whole report, or only that table. 0 or -ENOMEM. */
int print_text(const struct answer *a, const struct grid *only);

#endif
