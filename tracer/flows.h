/* SPDX-License-Identifier: GPL-3.0-only */
/* flows.h - what the kernel side counted of a flow, as a record. */
#ifndef IOT_FLOWS_H
#define IOT_FLOWS_H

#include "stream.h"

/* Room for a record and the texts that it points to. */
struct flow_text {
	struct rec_flow rec;
	char local[48], remote[48], protocol[8];
};

/* Fills `to` and returns the record in it, which lives as long as `to`. */
const struct rec_flow *flow_describe(const struct iot_flow_key *key, const struct iot_flow *sums, struct flow_text *to);

#endif
