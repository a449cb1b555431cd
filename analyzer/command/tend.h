/* SPDX-License-Identifier: GPL-3.0-only */
/* tend.h - commands that look after stores: merge, prune, migrate, anonymize. */
#ifndef IOT_ANALYZER_TEND_H
#define IOT_ANALYZER_TEND_H

#include "options.h"

/* Each returns an exit status, the error reported. */
int tend_merge(const struct options *o);
int tend_prune(const struct options *o);
int tend_migrate(const struct options *o);
int tend_anonymize(const struct options *o);

#endif
