/* SPDX-License-Identifier: GPL-3.0-only */
/* sql.h - questions of one's own. */
#ifndef IOT_ANALYZER_SQL_H
#define IOT_ANALYZER_SQL_H

#include "options.h"

/* `iot-analyze sql STORE [STATEMENTS]`: answers each statement, from the command line or from
 * standard input, with the views that it names. Returns 0 or an exit status. */
int sql(const struct options *o);

#endif
