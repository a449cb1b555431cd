/* SPDX-License-Identifier: GPL-3.0-only */
/* uring.c - see uring.h. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "uring.h"

static char *map(int fd, size_t len, off_t off)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);

	return p == MAP_FAILED ? NULL : p;
}

int uring_open(struct uring *r, unsigned int entries, struct io_uring_params *p)
{
	char *sq, *cq;

	r->sqpoll = p->flags & IORING_SETUP_SQPOLL;
	r->fd = syscall(SYS_io_uring_setup, entries, p);
	if (r->fd < 0)
		return -1;
	sq = map(r->fd, p->sq_off.array + p->sq_entries * sizeof(unsigned int), IORING_OFF_SQ_RING);
	cq = map(r->fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	r->sqes = (struct io_uring_sqe *)map(r->fd, p->sq_entries * sizeof(struct io_uring_sqe),
					     IORING_OFF_SQES);
	if (!sq || !cq || !r->sqes)
		return -1;
	r->sq_tail = (unsigned int *)(sq + p->sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p->sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p->sq_off.array);
	r->sq_flags = (unsigned int *)(sq + p->sq_off.flags);
	r->cq_head = (unsigned int *)(cq + p->cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p->cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p->cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p->cq_off.cqes);
	return 0;
}

void uring_push(struct uring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, at = tail & *r->sq_mask;

	r->sqes[at] = *sqe;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

unsigned int uring_flags(const struct uring *r)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return IORING_ENTER_GETEVENTS |
	       (r->sqpoll && __atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP
			? IORING_ENTER_SQ_WAKEUP
			: 0);
}

int uring_pop(struct uring *r, uint64_t *user)
{
	unsigned int head = *r->cq_head;
	const struct io_uring_cqe *cqe = &r->cqes[head & *r->cq_mask];
	int res = cqe->res;

	*user = cqe->user_data;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}
