// SPDX-License-Identifier: GPL-3.0-only
/* tsc.c - prints the frequency in kHz of this processor's time stamp counter, by which a guest
 * keeps time. The guest would measure it while it boots, and be wrong by a factor where the
 * emulator has to wait for a processor meanwhile. Exit status: 1 where the processor has none. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>

struct moment {
	int64_t ns, ticks;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Both clocks at one time: of many readings the one that took least, in which nothing came between.
 */
static struct moment moment(void)
{
	struct moment best = { 0, 0 };
	int64_t least = INT64_MAX;

	for (int n = 0; n < 1000; n++) {
		int64_t before = now_ns(), ticks = (int64_t)__rdtsc(), after = now_ns();

		if (after - before < least) {
			least = after - before;
			best = (struct moment){ before + least / 2, ticks };
		}
	}
	return best;
}

int main(void)
{
	struct moment a = moment(), b;

	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	b = moment();
	printf("%.0f\n", (double)(b.ticks - a.ticks) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}
#else
int main(void)
{
	return 1;
}
#endif
