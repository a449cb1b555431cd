// SPDX-License-Identifier: GPL-3.0-only
/* options_light.c - what --light implies, and what does not go with it. */
#include "fail.h"
#include "options.h"

#define BIT_OF(layer) (1u << (layer))

int options_light(struct options *o)
{
	const u32 all = BIT_OF(LAYER_MAX) - BIT_OF(LAYER_NONE + 1),
		without = BIT_OF(LAYER_CACHE) | BIT_OF(LAYER_NET);

	if (!o->light)
		return 0;
	if ((o->layers | o->whole) & BIT_OF(LAYER_CACHE))
		return fail_usage("--light does not record layer cache");
	if (o->latency > LATENCY_SYNCS)
		return fail_usage("--light times only syncs: give --latency syncs, or none");
	for (size_t i = 0; i < o->n_outputs; i++)
		if (o->outputs[i].format != FORMAT_STORE)
			return fail_usage("--light records sums for a store (FILE.sqlite), not '%s'",
				o->outputs[i].path);
	o->no_events = true;
	o->layers = o->layers ?: all & ~without;
	if (o->latency < 0)
		o->latency = LATENCY_SYNCS;
	return 0;
}
