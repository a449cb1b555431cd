/* SPDX-License-Identifier: GPL-3.0-only */
/* event_batch.h - events that the kernel side puts into the ring several at a time (struct iot_packs): out of the ring, or out of what is not
 * full yet, each once, in the order of its processor.
 */
#ifndef IOT_EVENT_BATCH_H
#define IOT_EVENT_BATCH_H

#include <stddef.h>
#include "state.h"

struct event_batches {
	const struct iot_packs *all; /* of each processor, the kernel's own, mapped; NULL: there are none */
	struct event_batch_reader *of;     /* likewise */
	int cpus;
	u64 missing;                 /* events that the ring had no room for */
};

typedef void event_batch_event(void *arg, const struct iot_event *);

/* Maps the elements of `packs`, one a processor; cpus 0, or no map: there are no packs. Returns 0 or a negative errno after a message. */
int event_batch_open(struct event_batches *, int fd, int cpus);

/* A pack out of the ring. Returns how many of its events had not been taken. */
size_t event_batch_take(struct event_batches *, const struct iot_ring_pack *, event_batch_event *event, void *arg);

/* Notes what there is now; and, after all of the ring was read that was there by then, takes those events out of packs that were not in it. */
void event_batch_mark(struct event_batches *);
void event_batch_take_rest(struct event_batches *, event_batch_event *event, void *arg);

void event_batch_close(struct event_batches *);

#endif
