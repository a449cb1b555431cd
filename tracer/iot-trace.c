// SPDX-License-Identifier: GPL-3.0-only
/* iot-trace.c - main. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include "options.h"
#include "out.h"
#include "run.h"

/* A descriptor below 3 that is closed would be given to an output, and messages would end up in it. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	u64 begun_ns = clock_now(CLOCK_MONOTONIC);
	struct options o;
	int status;

	fill_standard_descriptors();
	out_standard();
	status = options_parse(&o, argc, argv);
	if (status >= 0)
		return status;
	switch (o.mode) {
	case MODE_PROBES:
		return run_probes(&o, begun_ns);
	case MODE_SYSTEMS:
		return run_systems(&o);
	default:
		return run_trace(&o, begun_ns);
	}
}
