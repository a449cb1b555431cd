/* SPDX-License-Identifier: GPL-3.0-only */
/* journal_credit.h - names of the calls to which journal blocks are credited. */
#ifndef IOT_JOURNAL_CREDIT_H
#define IOT_JOURNAL_CREDIT_H

#include <stddef.h>
#include "state.h"

/* Name of iot_put_key.call. A call without a name is written to `to`, as its number. */
const char *journal_credit_call_name(u16 call, char *to, size_t size);

#endif
