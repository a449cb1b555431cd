/* SPDX-License-Identifier: GPL-3.0-only */
/* settle.c - syncs what its arguments name, as at the end of a run: prints 0, or the error. */
#include <stdio.h>
#include <unistd.h>
#include "settle.h"

int main(int argc, char **argv)
{
	struct settle_job *job;
	struct settle_place places[argc];
	struct settle_what what = { .places = places };
	int err, checkpoint_err;

	for (; argv[1 + what.n]; what.n++)
		places[what.n] = (struct settle_place){ .mount = argv[1 + what.n] };
	settle_serve();
	err = settle_start(&job, &what);
	while (!err && !settle_over(job, &err, &checkpoint_err))
		usleep(1000);
	settle_free(job);
	printf("%d\n", err);
	return !!err;
}
