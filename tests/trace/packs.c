/* SPDX-License-Identifier: GPL-3.0-only */
/* packs.c - drives tracer/probe/event_batch.c: a thread in the place of the kernel side writes packs
 * as fastpath_pack() does (bpf/call/fastpath.bpf.h), while they are read, into a ring that is often
 * full.
 *
 * usage: packs EVENTS SEED    exit status 0: each event came once, in order, as it was written, or was counted as missing. Prints how many came
 *                             out of the ring, out of packs, and not
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "event_batch.h"

#define SLOTS 16

static struct iot_packs *all;
static struct iot_ring_pack slot[SLOTS];
static atomic_ulong sent, received;
static atomic_bool over;
static u64 events, got, looked, expected;
static u32 *who; /* the thread of each event */
static bool *dropped; /* is it of a pack for which the ring had no room? */
static struct event_batches batches;
static unsigned int seed;

static void publish(u64 *at, u64 n)
{
	__atomic_store_n(at, n, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Now and then the other side goes on in between. */
static void rest(unsigned int *random, unsigned int one_in)
{
	if (rand_r(random) % one_in == 0)
		usleep(rand_r(random) % 64);
}

static void send_pack(struct iot_ring_pack *p, u64 n)
{
	p->n = n;
	if (sent - received == SLOTS) {
		for (u64 i = 0; i < n; i++)
			dropped[p->first + i] = true;
		return;
	}
	slot[sent % SLOTS] = *p;
	atomic_fetch_add(&sent, 1);
}

static struct iot_ring_pack *begin(u32 tid, unsigned int *random)
{
	u64 begun = all->begun;
	struct iot_ring_pack *p = &all->pack[begun / 2 & 1];

	publish(&all->begun, begun + 1);
	rest(random, 256);
	p->first = all->n;
	rest(random, 256);
	p->proc = tid;
	p->tid = all->tid = tid;
	publish(&all->begun, begun + 2);
	return p;
}

static void *write_events(void *arg)
{
	unsigned int random = seed;
	u32 tid = 1;

	for (u64 n = 0; n < events; n++) {
		struct iot_ring_pack *p = &all->pack[(all->begun / 2 - 1) & 1];
		u64 at = n - p->first;

		tid += rand_r(&random) % 8 == 0;
		who[n] = tid;
		if (all->tid != tid || at >= IOT_PACK) {
			if (at && at < IOT_PACK)
				send_pack(p, at);
			p = begin(tid, &random);
			at = 0;
		}
		p->e[at] = (struct iot_moved){ .ts_ns = n, .offset = n * 7, .size = 9, .bytes = tid % 10 };
		publish(&all->n, n + 1);
		if (at == IOT_PACK - 1)
			send_pack(p, IOT_PACK);
		rest(&random, 64);
	}
	over = true;
	return NULL;
}

/* Those that do not come had no room. */
static void skip_to(u64 n)
{
	for (; expected < n; expected++)
		if (!dropped[expected]) {
			printf("event %llu did not come, and there was room\n", (unsigned long long)expected);
			exit(1);
		}
}

static void check(void *arg, const struct iot_event *e)
{
	if (e->ts_ns < expected || e->ts_ns >= events || e->offset != e->ts_ns * 7 ||
	    e->tid != who[e->ts_ns] || e->owner != e->tid || e->bytes != e->tid % 10 ||
	    !(e->flags & FLAG_SHORT) != (e->bytes >= e->size)) {
		printf("event %llu of thread %u, offset %llu: %llu of thread %u was to come, or a later one\n",
		       (unsigned long long)e->ts_ns, e->tid, (unsigned long long)e->offset,
		       (unsigned long long)expected, who[expected < events ? expected : 0]);
		exit(1);
	}
	skip_to(e->ts_ns);
	expected = e->ts_ns + 1;
	++*(u64 *)arg;
}

/* One look, as probes_consume() has it. */
static void look(unsigned int *random)
{
	unsigned long end;

	event_batch_mark(&batches);
	rest(random, 2);
	end = sent;
	while (received < end) {
		event_batch_take(&batches, &slot[received % SLOTS], check, &got);
		atomic_fetch_add(&received, 1);
	}
	rest(random, 2);
	event_batch_take_rest(&batches, check, &looked);
}

int main(int n, char **arg)
{
	int fd = memfd_create("packs", 0);
	unsigned int random;
	pthread_t writer;

	if (n != 3)
		return 2;
	events = strtoull(arg[1], NULL, 10);
	seed = atoi(arg[2]);
	random = seed + 1;
	who = calloc(events, sizeof(*who));
	dropped = calloc(events, sizeof(*dropped));
	if (fd < 0 || !who || !dropped || ftruncate(fd, sizeof(*all)) || event_batch_open(&batches, fd, 1))
		return 2;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED || pthread_create(&writer, NULL, write_events, NULL))
		return 2;
	while (!over) {
		look(&random);
		rest(&random, 1);
	}
	pthread_join(writer, NULL);
	look(&random);
	skip_to(events);
	printf("%llu %llu %llu\n", (unsigned long long)got, (unsigned long long)looked,
	       (unsigned long long)batches.missing);
	return got + looked + batches.missing != events;
}
