// SPDX-License-Identifier: GPL-3.0-only
/* run_events.c - passes events to the outputs: in batches, and only those of the layers that were
 * asked for.
 */
#include "run_parts.h"

void run_flush(struct run *r)
{
	if (!r->n_batch)
		return;
	take_error(r, r->sink->events(r->sink, r->batch, r->n_batch));
	r->events += r->n_batch;
	r->n_batch = 0;
}

/* - */
void run_give(struct run *r, const struct iot_event *e)
{
	r->batch[r->n_batch++] = *e;
	if (r->n_batch == IOT_EVENT_BATCH)
		run_flush(r);
}

static const u8 kind_layers[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = LAYER_##layer,
#include "kinds.def"
};

/* The use of io_uring is recorded even where its layer was not asked for: calls did not move all
 * bytes then. */
bool run_keeps(const struct run *r, u32 kind)
{
	return !r->opts->layers || kind == KIND_URING_OTHER || kind >= KIND_MAX ||
		r->opts->layers & 1u << kind_layers[kind];
}
