/* SPDX-License-Identifier: GPL-3.0-only */
/* export.h - the command that writes the events of a run as CSV streams. */
#ifndef IOT_ANALYZER_EXPORT_H
#define IOT_ANALYZER_EXPORT_H

#include "options.h"

/* Writes one file a stream into the folder arg[2], which is made if it is absent. A stream that the
 * run did not record has no file. Returns an exit status. */
int export_streams(const struct options *o);

#endif
