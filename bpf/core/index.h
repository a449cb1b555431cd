/* SPDX-License-Identifier: GPL-3.0-only */
/* index.h - indexes and signs that the verifier can bound, written so that no compiler undoes it.
 *
 * clang removes a mask whose effect it has proved, and turns a shift of the sign into a comparison.
 * The verifier has not proved the mask's effect and reports "invalid access to map value" (EACCES;
 * clang 15 and later, after a test of the same number in another register). Of the comparison it
 * follows both branches in each round of a loop, and reports "BPF program is too large" (E2BIG;
 * clang 18 and later). Both are written as single instructions here.
 */
#ifndef IOT_INDEX_H
#define IOT_INDEX_H

#include <linux/types.h>

/* A number as an index of an array of `size` elements, a power of two. The number is in range
 * already, or the element that it selects is not used. The mask has 64 bits: the verifier of 6.1
 * loses the bounds of values that are combined in 32 bits. */
#define INDEX(number, size) ({ \
	__u64 __index = (number); \
	_Static_assert((size) > 0 && !((size) & ((size) - 1)), "a power of two"); \
	asm volatile("%0 &= %1" : "+r"(__index) : "i"((size) - 1)); \
	__index; })

/* 1 for a negative number, else 0, without a jump. */
static __always_inline __u64 is_negative(__u64 number)
{
	asm volatile("%0 >>= 63" : "+r"(number));
	return number;
}

#endif
