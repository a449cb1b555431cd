/* SPDX-License-Identifier: GPL-3.0-only */
/* identity.h - checks that an open SQLite file is a store of iot, in a format that this version can
 * read or write, with all its tables. */
#ifndef IOT_STREAM_IDENTITY_H
#define IOT_STREAM_IDENTITY_H

#include "opener.h"

/* Checks the store and sets o->version. *fresh: the file is empty, and can become a store. Adds the
 * tables and columns that an older format lacks, as temporary and empty ones. Returns 0, or a
 * negative errno after a message. */
int identity_check(struct opener *o, bool *fresh);

#endif
