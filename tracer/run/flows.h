/* SPDX-License-Identifier: GPL-3.0-only */
/* flows.h - sums of a flow as a record, and the time when its table element is freed. */
#ifndef IOT_FLOWS_H
#define IOT_FLOWS_H

#include "probe.h"
#include "stream.h"

/* A record, with room for the texts that it points to. */
struct flow_text {
	struct rec_flow rec;
	char local[48], remote[48], protocol[8];
};

/* Numbers of a flow that are measured: errors and waits, where layer net is traced whole; segments
 * sent again; packets dropped. */
struct flow_known {
	bool calls, retransmits, drops;
};

struct flow_known flow_known(const struct probes *, u32 whole);

/* Fills `to` and returns the record inside it. */
const struct rec_flow *flow_describe(const struct iot_flow_key *key, const struct iot_flow *sums,
	struct flow_known, struct flow_text *to);

struct flows;

/* Returns 0 or a negative errno after a message. */
int flows_new(struct flows **out);
void flows_free(struct flows *);

/* If more than half of the kernel's table of flows is in use: takes out flows that moved nothing
 * since the last call, or whose owner has ended, and calls back for each. A flow that continues
 * gets another row. */
void flows_collect(struct flows *, struct probes *, bool (*over)(void *arg, u32 owner),
		   void (*flow)(void *arg, const struct iot_flow_key *, const struct iot_flow *),
		   void *arg);

#endif
