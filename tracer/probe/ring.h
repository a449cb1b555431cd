/* SPDX-License-Identifier: GPL-3.0-only */
/* ring.h - takes records out of a BPF ring buffer (Documentation/bpf/ringbuf.rst). libbpf gives
 * room back after every record, in the cache line that each writer reads; this reader gives it back
 * in larger pieces.
 */
#ifndef IOT_RING_H
#define IOT_RING_H

#include <stddef.h>
#include "wire.h"

struct ring;

/* Maps the ring of a map's descriptor; `size` is its number of bytes, a power of two. Returns 0 or
 * a negative errno. */
int ring_open(struct ring **, int fd, size_t size);

/* Position of the writers. */
u64 ring_end(const struct ring *);

/* Position of the reader. */
u64 ring_at(const struct ring *);

/* Gives the records before `end` to `record`, which returns how many items a record holds, until
 * there were `limit` items. The record's memory is valid during the call. Never blocks. Returns the
 * number of items. */
size_t ring_take(struct ring *, size_t limit, u64 end,
	size_t (*record)(void *arg, const void *data), void *arg);

void ring_close(struct ring *);

#endif
