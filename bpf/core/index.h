/* SPDX-License-Identifier: GPL-3.0-only */
/* index.h - numbers that the verifier must believe, written so that no compiler can undo it.
 *
 * clang removes a mask whose effect it has proved, and turns a shift of the sign into a comparison. The verifier has not proved the first:
 * "invalid access to map value" (EACCES; clang 15 and later, after a test of the same number in another register). It follows both ways
 * of the second, in each turn of a loop: "BPF program is too large" (E2BIG; clang 18 and later). Both are written as instructions here.
 */
#ifndef IOT_INDEX_H
#define IOT_INDEX_H

#include <linux/types.h>

/* The number as an index of an array of `size` elements, a power of two. It is one already, or what it selects is of no use. In 64 bits:
 * the verifier of 6.1 loses the bounds of what is put together in 32. */
#define INDEX(number, size) ({ \
	__u64 __index = (number); \
	_Static_assert((size) > 0 && !((size) & ((size) - 1)), "a power of two"); \
	asm volatile("%0 &= %1" : "+r"(__index) : "i"((size) - 1)); \
	__index; })

/* 1 for a number below 0, else 0, without a jump. */
static __always_inline __u64 is_negative(__u64 number)
{
	asm volatile("%0 >>= 63" : "+r"(number));
	return number;
}

#endif
