// SPDX-License-Identifier: GPL-3.0-only
/* event_batch.c - reads events that the kernel side collects in batches (struct iot_packs).
 *
 * Each processor numbers its events and fills two batches by turns in mapped memory. A batch that
 * is full, or that another call ends, is copied into the ring. So an event is read from the ring,
 * or from the mapped memory while its batch is not in the ring yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "event_batch.h"
#include "tracer.h"

/* The reader's position in the events of one processor. */
struct event_batch_reader {
	u64 taken;              /* events taken or given up so far: the number of the next one */
	u64 n, begun;           /* iot_packs.n and .begun when event_batch_mark() was called */
};

int event_batch_open(struct event_batches *p, int fd, int cpus)
{
	void *at;

	if (fd < 0 || !cpus)
		return 0;
	at = mmap(NULL, cpus * sizeof(*p->all), PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return fail(errno, "cannot map the packs of events");
	p->all = at;
	p->cpus = cpus;
	p->of = calloc(cpus, sizeof(*p->of));
	return p->of ? 0 : fail(ENOMEM, "packs of events");
}

/* Counts events with numbers below n that were not taken as missing: they will not come. */
static void miss_before(struct event_batches *p, struct event_batch_reader *r, u64 n)
{
	if (n <= r->taken)
		return;
	p->missing += n - r->taken;
	r->taken = n;
}

/* Gives the events of a batch with numbers below `to` that were not taken. Returns their number. */
static size_t give(struct event_batch_reader *r, const struct iot_ring_pack *p, u64 to,
	event_batch_event *event, void *arg)
{
	struct iot_event e = {
		.task = p->proc, .tid = p->tid, .owner = p->proc, .file = p->file, .dev = p->dev,
			.cpu = p->cpu, .kind = p->kind, .sub = p->sub,
		.how = HOW_EXACT,
	};
	u64 from = r->taken;

	for (; r->taken < to; r->taken++) {
		const struct iot_moved *m = &p->e[r->taken - p->first];

		e.ts_ns = m->ts_ns;
		e.dur_ns = m->dur_ns;
		e.offset = m->offset;
		e.size = m->size;
		e.bytes = m->bytes;
		e.flags = p->flags | (m->bytes < m->size ? FLAG_SHORT : 0);
		event(arg, &e);
	}
	return r->taken - from;
}

size_t event_batch_take(struct event_batches *p, const struct iot_ring_pack *pack,
	event_batch_event *event, void *arg)
{
	struct event_batch_reader *r = &p->of[pack->cpu];

	miss_before(p, r, pack->first); /* batches of one processor come in order */
	return give(r, pack, pack->first + pack->n, event, arg);
}

void event_batch_mark(struct event_batches *p)
{
	for (int cpu = 0; cpu < p->cpus; cpu++) {
		p->of[cpu].n = __atomic_load_n(&p->all[cpu].n, __ATOMIC_ACQUIRE);
		p->of[cpu].begun = __atomic_load_n(&p->all[cpu].begun, __ATOMIC_ACQUIRE);
	}
}

/* Copies both batches of a processor: the current one and the one before it. False: the kernel side
 * began another batch meanwhile, over the older one, so that the copy is not of one instant. */
static bool copy(const struct iot_packs *all, u64 *begun, struct iot_ring_pack *before,
	struct iot_ring_pack *now)
{
	*begun = __atomic_load_n(&all->begun, __ATOMIC_ACQUIRE);
	*now = all->pack[(*begun / 2 - 1) % 2];
	*before = all->pack[*begun / 2 % 2];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return *begun % 2 == 0 && __atomic_load_n(&all->begun, __ATOMIC_RELAXED) == *begun;
}

void event_batch_take_rest(struct event_batches *p, event_batch_event *event, void *arg)
{
	for (int cpu = 0; cpu < p->cpus; cpu++) {
		struct event_batch_reader *r = &p->of[cpu];
		struct iot_ring_pack before, now;
		u64 begun;

		if (r->taken >= r->n || !copy(&p->all[cpu], &begun, &before, &now))
			continue; /* an overwritten batch was put into the ring before */
		/* No batch was begun since the mark. So all batches before these two were put into
		 * the ring before it, and the ring has been read since: an event of theirs that was
		 * not taken found the ring full. */
		if (begun == r->begun)
			miss_before(p, r, before.first);
		if (r->taken < before.first)
			continue; /* a batch before these two is in the ring still */
		give(r, &before, now.first < r->n ? now.first : r->n, event, arg);
		give(r, &now, r->n, event, arg);
	}
}

void event_batch_close(struct event_batches *p)
{
	if (p->all)
		munmap((void *)p->all, p->cpus * sizeof(*p->all));
	free(p->of);
	*p = (struct event_batches){ 0 };
}
