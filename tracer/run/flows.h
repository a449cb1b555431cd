/* SPDX-License-Identifier: GPL-3.0-only */
/* flows.h - what the kernel side counted of a flow, as a record, and when its place is given back. */
#ifndef IOT_FLOWS_H
#define IOT_FLOWS_H

#include "probe.h"
#include "stream.h"

/* Room for a record and the texts that it points to. */
struct flow_text {
	struct rec_flow rec;
	char local[48], remote[48], protocol[8];
};

/* Fills `to` and returns the record in it, which lives as long as `to`. */
const struct rec_flow *flow_describe(const struct iot_flow_key *key, const struct iot_flow *sums, struct flow_text *to);

struct flows;

/* Returns 0 or a negative errno after a message. */
int flows_new(struct flows **out);
void flows_free(struct flows *);

/* Where the kernel's table of flows is more than half full: takes those out that moved nothing since the last call, or whose owner is
 * over, and calls back for each. One that goes on later has another row then. */
void flows_collect(struct flows *, struct probes *, bool (*over)(void *arg, u32 owner),
		   void (*flow)(void *arg, const struct iot_flow_key *, const struct iot_flow *), void *arg);

#endif
