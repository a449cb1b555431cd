/* SPDX-License-Identifier: GPL-3.0-only */
/* anonymous_parts.h - the state that the files anonymous*.c share. */
#ifndef IOT_ANONYMOUS_PARTS_H
#define IOT_ANONYMOUS_PARTS_H

#include "siphash.h"

struct anonymizer {
	unsigned char key[SIPHASH_KEY];
};

#endif
