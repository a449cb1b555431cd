/* SPDX-License-Identifier: GPL-3.0-only */
/* skew.h - the difference of two hosts' clocks, from the data that they sent each other. */
#ifndef IOT_STREAM_SKEW_H
#define IOT_STREAM_SKEW_H

#include <sqlite3.h>
#include "stream.h"

/* A run of one host: its store, filled by older_fill(), and the wall clock at its start. */
struct skew_side {
	sqlite3 *db;
	s64 run;
	u64 wall_ns;
};

struct skew {
	s64 ahead_ns;           /* b's clock minus a's */
	u64 error_ns;           /* in either direction, if two_ways */
	bool known, two_ways;   /* not two_ways: data went one way only, ahead_ns is a bound */
	unsigned int flows;
	u64 bytes;
};

/* Finds the difference. No byte is received before it was sent: each byte of a connection whose
 * ends were both recorded completely bounds the difference from above or from below. The time of a
 * send is the begin of its call, where calls were timed. Returns an SQLite code. */
int skew_find(const struct skew_side *a, const struct skew_side *b, struct skew *out);

#endif
