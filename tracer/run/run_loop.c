// SPDX-License-Identifier: GPL-3.0-only
/* run_loop.c - the loop of a run: empties the ring, closes the second, waits.
 *
 * Programs never wake the tracer, because a wake-up costs more than the event that it announces
 * (iot-trace(8), OVERHEAD): the loop wakes up every few milliseconds by itself.
 */
#include "run_parts.h"
#include "stop.h"

#define POLL_NS (5 * NSEC / 1000)
#define ROUND_NS (NSEC / 4)           /* interval of reading aggregates when their table fills up */

void run_record_until(struct run *r, bool (*over)(struct run *))
{
	u64 deadline = r->opts->duration_ns;

	while (!r->err && !stop_again()) {
		u64 now, wait = run_drain(r) ? 0 : POLL_NS;

		now = since_start(r);
		if (now >= r->next_ns)
			run_end_second(r);
		else if (probes_cells_scarce(r->probes) &&
			clock_now(CLOCK_MONOTONIC) - r->round_ns >= ROUND_NS)
			run_end_round(r);
		if (over(r))
			return;
		if (deadline > now && deadline - now < wait)
			wait = deadline - now;
		stop_wait(wait);
	}
}
