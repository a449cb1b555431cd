/* SPDX-License-Identifier: GPL-3.0-only */
/* fileio.h - bytes by file and owner, summed while the events of a run go by. Not for other folders. */
#ifndef IOT_STREAM_FILEIO_H
#define IOT_STREAM_FILEIO_H

#include "stream.h"

struct fileio;

/* NULL when there is no memory; the other calls take NULL and then work from the store alone. */
struct fileio *fileio_open(void);
/* Sets the component of events that write back what threads wrote which tell it. */
void fileio_events(struct fileio *, struct iot_event *, size_t n);

/* Writes table `file_io` of a run whose records are all in the store: nothing when the run has no events, or lost some of layer fs. What
 * did not fit into memory is summed from the events of the store. db is a struct sqlite3 *. Returns 0 or a negative errno. */
int fileio_write(struct fileio *, void *db, long long run);
void fileio_close(struct fileio *);

#endif
