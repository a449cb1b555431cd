/* SPDX-License-Identifier: GPL-3.0-only */
/* identity.h - is a file that was opened a store of iot, of which format, and whole? Not for
 * other folders. */
#ifndef IOT_STREAM_IDENTITY_H
#define IOT_STREAM_IDENTITY_H

#include "opener.h"

/* *fresh: there is nothing in it yet. Sets o->version, and fills what an older format does not
 * have. Returns 0 or a negative errno, after having reported the error. */
int identity_check(struct opener *o, bool *fresh);

#endif
