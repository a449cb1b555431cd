/* SPDX-License-Identifier: GPL-3.0-only */
/* faulty.h - what faulty.c tells faulty-run.c. */
#ifndef FAULTY_H
#define FAULTY_H
#include <stddef.h>
#include <stdint.h>

#define FAULTY_FD 99
#define FAULT_LIMIT_S 60 /* who takes longer hangs */
#define FAULT_HASH 0xcbf29ce484222325

/* A child with a fault: at which call, its status as of wait(), and the hash of all that was put
 * out (FAULT_HASH: nothing). */
struct fault_end {
	long n;
	int status;
	uint64_t output;
};

/* The hash h continued by n bytes (FNV-1a). */
static inline uint64_t fault_mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	while (n--)
		h = (h ^ *c++) * 0x100000001b3;
	return h;
}

#endif
