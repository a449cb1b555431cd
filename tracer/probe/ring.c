// SPDX-License-Identifier: GPL-3.0-only
/* ring.c - the reading side of a BPF ring buffer. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <linux/bpf.h>
#include "ring.h"

#define RECORD_MAX 4096 /* the largest record: struct iot_path */
/* bytes read before the writers get the room back; a quarter of a smaller ring */
#define GIVE_BACK 65536

struct ring {
	size_t page, size, give_back;
	u64 *taken;            /* position of the reader: a page that this process writes */
	/* position of the writers: a page that the kernel writes, followed by the data */
	const u64 *written;
	const char *data;
	u64 whole[RECORD_MAX / sizeof(u64)]; /* a record that wraps around the end of the ring */
};

int ring_open(struct ring **out, int fd, size_t size)
{
	struct ring *r = calloc(1, sizeof(*r));
	void *p;

	*out = r;
	if (!r)
		return -ENOMEM;
	r->page = sysconf(_SC_PAGESIZE);
	r->size = size;
	r->give_back = size / 4 < GIVE_BACK ? size / 4 : GIVE_BACK;
	p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->taken = p;
	p = mmap(NULL, r->page + size, PROT_READ, MAP_SHARED, fd, r->page);
	if (p == MAP_FAILED)
		return -errno;
	r->written = p;
	r->data = (const char *)p + r->page;
	return 0;
}

/* Bytes of a record after its header. A second mapping of the data would make them contiguous, but
 * count twice as the tracer's memory. */
static const void *record_at(struct ring *r, u64 at, u32 len)
{
	size_t from = at & (r->size - 1), first = r->size - from;

	if (len <= first || len > sizeof(r->whole))
		return r->data + from;
	memcpy(r->whole, r->data + from, first);
	memcpy((char *)r->whole + first, r->data, len - first);
	return r->whole;
}

u64 ring_end(const struct ring *r)
{
	return __atomic_load_n(r->written, __ATOMIC_ACQUIRE);
}

u64 ring_at(const struct ring *r)
{
	return *r->taken;
}

size_t ring_take(struct ring *r, size_t limit, u64 end, size_t (*record)(void *, const void *),
	void *arg)
{
	u64 at = *r->taken, given = at;
	size_t n = 0;

	while (at < end && n < limit) {
		const char *head = r->data + (at & (r->size - 1));
		u32 len = __atomic_load_n((const u32 *)head, __ATOMIC_ACQUIRE);

		if (len & BPF_RINGBUF_BUSY_BIT)
			break; /* still being written, as are those after it */
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			n += record(arg, record_at(r, at + BPF_RINGBUF_HDR_SZ, len));
		len &= ~BPF_RINGBUF_DISCARD_BIT;
		at += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
		if (at - given >= r->give_back)
			__atomic_store_n(r->taken, given = at, __ATOMIC_RELEASE);
	}
	__atomic_store_n(r->taken, at, __ATOMIC_RELEASE);
	return n;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	if (r->taken)
		munmap(r->taken, r->page);
	if (r->written)
		munmap((void *)r->written, r->page + r->size);
	free(r);
}
