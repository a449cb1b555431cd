/* SPDX-License-Identifier: GPL-3.0-only */
/* fileio.h - what is written back by the component that wrote it, while the events of a run go by. Not for other folders. */
#ifndef IOT_STREAM_FILEIO_H
#define IOT_STREAM_FILEIO_H

#include "stream.h"

struct fileio;

/* NULL when there is no memory; the other calls take NULL and then do nothing. */
struct fileio *fileio_open(void);
/* Sets the component of events that write back what threads wrote which tell it. */
void fileio_events(struct fileio *, struct iot_event *, size_t n);

/* Splits what is `shared` in table `file_io` of a run whose records are all in the store, where the events tell. What they do not tell, because
 * some were lost, or because there was no memory, stays. db is a struct sqlite3 *. Returns 0 or a negative errno. */
int fileio_write(struct fileio *, void *db, long long run);
void fileio_close(struct fileio *);

#endif
