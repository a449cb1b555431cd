/* SPDX-License-Identifier: GPL-3.0-only */
/* uring.h - an io_uring without its library: for workloads, and programs of the tests. */
#ifndef IOT_URING_H
#define IOT_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>

/* Operations that an installed header may be too old for. */
enum {
	OP_READV_FIXED = 60,     /* 6.15 */
	OP_WRITEV_FIXED = 61,
};

struct uring {
	int fd;
	bool sqpoll;             /* a kernel thread submits */
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

/* Sets up a ring and maps it. Returns 0, or -1 (errno). */
int uring_open(struct uring *, unsigned int entries, struct io_uring_params *);
void uring_push(struct uring *, const struct io_uring_sqe *);
/* Flags with which io_uring_enter() submits what was pushed, and waits. */
unsigned int uring_flags(const struct uring *);
/* Takes one completion, which must be there: returns its result; what was pushed with it is in
 * *user. */
int uring_pop(struct uring *, uint64_t *user);

#endif
