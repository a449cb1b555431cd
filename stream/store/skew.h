/* SPDX-License-Identifier: GPL-3.0-only */
/* skew.h - how far one host's clock is ahead of another's, from what they sent each other. Not for other folders. */
#ifndef IOT_STREAM_SKEW_H
#define IOT_STREAM_SKEW_H

#include <sqlite3.h>
#include "stream.h"

/* A run of one host: its store, filled as older.h says, and the wall clock at its start. */
struct skew_side {
	sqlite3 *db;
	s64 run;
	u64 wall_ns;
};

struct skew {
	s64 ahead_ns;           /* b's clock minus a's */
	u64 error_ns;           /* in either direction; known: */
	bool known, two_ways;   /* without two_ways error_ns says nothing: data went one way only, and ahead_ns is a bound */
	unsigned int flows;
	u64 bytes;
};

/* No byte is received before it was sent: each byte of a connection whose ends were both recorded, whole, bounds the difference of the
 * clocks from above, or from below. A send's time is that of its call's begin, where the call was timed. Returns an SQLite code. */
int skew_find(const struct skew_side *a, const struct skew_side *b, struct skew *out);

#endif
