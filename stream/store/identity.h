/* SPDX-License-Identifier: GPL-3.0-only */
/* identity.h - is an open file a store of iot, of which format, and is it complete? */
#ifndef IOT_STREAM_IDENTITY_H
#define IOT_STREAM_IDENTITY_H

#include "opener.h"

/* Checks the store. *fresh: it is empty. Sets o->version, and fills what an older format does not
 * have. Returns 0 or a negative errno, after having reported the error. */
int identity_check(struct opener *o, bool *fresh);

#endif
