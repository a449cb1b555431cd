/* SPDX-License-Identifier: GPL-3.0-only */
/* event_batch.h - events that the kernel side submits to the ring in batches (struct iot_packs).
 * Each is read once, from the ring or from the batch that is being filled. Events of one processor
 * are read in their order.
 */
#ifndef IOT_EVENT_BATCH_H
#define IOT_EVENT_BATCH_H

#include <stddef.h>
#include "state.h"

struct event_batches {
	/* one per processor: map `packs` in the tracer's memory; NULL: there are no batches */
	const struct iot_packs *all;
	struct event_batch_reader *of;     /* one per processor */
	int cpus;
	u64 missing;                 /* events for which the ring had no room */
};

typedef void event_batch_event(void *arg, const struct iot_event *);

/* Maps the elements of map `packs`, one a processor. Without the map, or with cpus 0, there are no
 * batches. Returns 0 or a negative errno after a message. */
int event_batch_open(struct event_batches *, int fd, int cpus);

/* Takes a batch from the ring. Returns how many of its events had not been taken. */
size_t event_batch_take(struct event_batches *, const struct iot_ring_pack *,
	event_batch_event *event, void *arg);

/* Marks the events that exist now. The caller then reads the records that the ring holds, and
 * event_batch_take_rest() takes the marked events that were not among them. */
void event_batch_mark(struct event_batches *);
void event_batch_take_rest(struct event_batches *, event_batch_event *event, void *arg);

void event_batch_close(struct event_batches *);

#endif
