/* SPDX-License-Identifier: GPL-3.0-only */
/* journal_credit.h - the names of the calls that put something into journals. */
#ifndef IOT_JOURNAL_CREDIT_H
#define IOT_JOURNAL_CREDIT_H

#include <stddef.h>
#include "event.h"

/* The name of iot_put_key.call; `to` is where one without a name is written, by its number. */
const char *journal_credit_call_name(u16 call, char *to, size_t size);

#endif
