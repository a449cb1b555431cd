/* SPDX-License-Identifier: GPL-3.0-only */
/* sectors.h - which parts of files were seen already: how much of what is submitted is there for the first time. Not for other folders.
 *
 * A bit a sector of 512 bytes, 64 of them by file and place in one hash table: no call costs more for a file that is written at random.
 */
#ifndef IOT_STREAM_SECTORS_H
#define IOT_STREAM_SECTORS_H

#include <stdbool.h>
#include "wire.h"

/* One table; all zero: empty. */
struct sectors {
	struct sectors_part *part;
	size_t n, room;
};

/* Marks [from, to) of the file, rounded out to sectors. Returns true, and the bytes that were not marked before in *fresh; or false:
 * there is no room or memory for all of them, or they are more than a request can be. */
bool sectors_add(struct sectors *, u32 file, u64 from, u64 to, u64 *fresh);

void sectors_free(struct sectors *);

#endif
