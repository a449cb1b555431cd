// SPDX-License-Identifier: GPL-3.0-only
/* iot-trace.c - main(): reads the options, then traces, lists or explains. */
#include <time.h>
#include "command.h"
#include "completion.h"
#include "doctor.h"
#include "options.h"
#include "out.h"
#include "rights.h"
#include "run.h"

int main(int argc, char **argv)
{
	u64 begun_ns = clock_now(CLOCK_MONOTONIC);
	struct options o;
	int status;

	rights_lower();
	command_given();
	out_standard();
	status = options_parse(&o, argc, argv);
	if (status >= 0)
		return status;
	switch (o.mode) {
	case MODE_DOCTOR:
		return doctor(&o);
	case MODE_PROBES:
		return run_probes(&o, begun_ns);
	case MODE_SYSTEMS:
		return run_systems(&o);
	case MODE_COMPLETION:
		return completion(o.shell);
	case MODE_VERSION:
		return probes_version();
	default:
		return run_trace(&o, begun_ns);
	}
}
