/* SPDX-License-Identifier: GPL-3.0-only */
/* payload.h - the ledger of a workload: what its clients had acknowledged, as a JSON document. */
#ifndef IOT_ANALYZER_PAYLOAD_H
#define IOT_ANALYZER_PAYLOAD_H

#include <stdlib.h>
#include "stream.h"

struct cJSON;

/* A ledger as the record that a run has of it. The members below own its texts. */
struct payload {
	struct rec_load load;
	struct cJSON *keep;
	char *devices;
};

/* Reads the ledger in `path` ("-": stdin). Members that it does not know are left alone; those
 * that it knows must have the right type, and numbers that are bytes or operations must be whole,
 * not negative and below 2^63. Returns 0, or EXIT_DATA with one line on stderr. Free with
 * payload_free(), also after an error. */
int payload_read(struct payload *p, const char *path);
void payload_free(struct payload *p);

#endif
