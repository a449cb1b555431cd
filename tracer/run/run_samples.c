// SPDX-License-Identifier: GPL-3.0-only
/* run_samples.c - samples of the processes of a run, where they were asked for. */
#include "run_parts.h"

static void give_sample(void *arg, const struct rec_process_sample *rec)
{
	struct run *r = arg;

	take_error(r, r->sink->record(r->sink, REC_process_sample, rec));
}

void run_sample_new(struct run *r, const struct iot_proc *p)
{
	if (r->samples)
		samples_add(r->samples, p, since_start(r), give_sample, r);
}

void run_sample(struct run *r, bool end)
{
	if (!r->samples)
		return;
	samples_take(r->samples, since_start(r), end, give_sample, r);
	if (end && samples_left_out(r->samples))
		note("%llu processes were not sampled: at most 4096 are",
			(unsigned long long)samples_left_out(r->samples));
}
