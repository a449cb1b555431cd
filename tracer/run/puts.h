/* SPDX-License-Identifier: GPL-3.0-only */
/* puts.h - the names of the calls that put something into journals. */
#ifndef IOT_PUTS_H
#define IOT_PUTS_H

#include <stddef.h>
#include "state.h"

/* The name of iot_put_key.call; `to` is where one without a name is written, by its number. */
const char *put_call_name(u16 call, char *to, size_t size);

#endif
