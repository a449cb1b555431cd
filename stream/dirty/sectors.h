/* SPDX-License-Identifier: GPL-3.0-only */
/* sectors.h - remembers which sectors of files were submitted in the run, to tell how many bytes of
 * a request are submitted for the first time.
 *
 * There is one bit for each sector of 512 bytes. A hash table has 64 of them in a row, so that
 * random writes cost no more than sequential ones.
 */
#ifndef IOT_STREAM_SECTORS_H
#define IOT_STREAM_SECTORS_H

#include <stdbool.h>
#include "hash.h"
#include "wire.h"

/* One table; all zero: empty. */
struct sectors {
	struct hash_array parts;
};

/* Marks [from, to) of the file, rounded out to sectors. Returns true, and the bytes that were not
 * marked before in *fresh. Returns false when there is no room or memory for all of them, or when
 * the range is longer than a request can be. */
bool sectors_add(struct sectors *, u32 file, u64 from, u64 to, u64 *fresh);

void sectors_free(struct sectors *);

#endif
