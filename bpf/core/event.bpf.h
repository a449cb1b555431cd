/* SPDX-License-Identifier: GPL-3.0-only */
/* event.bpf.h - events: a ring buffer to the tracer.
 */
#ifndef IOT_EVENT_BPF_H
#define IOT_EVENT_BPF_H

#include "process.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

static __always_inline bool wants_event(u32 owner)
{
	return cfg.events && (owner >= PROC_FIRST || (!owner && !filtered()));
}

/* Reserves a zeroed event in the ring; counts the loss when the ring is full. */
static __always_inline struct iot_ring_event *event_reserve(u32 loss)
{
	struct iot_ring_event *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		lose(loss);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->type = RING_EVENT;
	return r;
}

/* Fills in the process that executed an operation (task), and what an event has in common with the
 * aggregate that counts the operation. */
static __always_inline void event_fill(struct iot_event *e, u32 task, const struct iot_cell_key *k)
{
	e->task = task;
	e->owner = k->owner;
	e->dev = k->dev;
	e->kind = k->kind;
	e->cause = k->cause;
	e->how = k->how;
	e->sub = k->sub;
	e->carrier = k->flags >> CELL_CARRIER_SHIFT;
	e->op = k->flags >> CELL_OP_SHIFT;
}

/* True when the filters of events (--only) choose an event like this. The tracer asks them of each
 * event again, with those that need its file. */
static __always_inline bool event_chosen(u8 kind, u64 size, u64 bytes, u64 dur_ns)
{
	if (!(cfg.only.kinds[INDEX(kind / 64, 4)] >> kind % 64 & 1))
		return false;
	return (size >= cfg.only.min_size || bytes >= cfg.only.min_size) &&
	       dur_ns >= cfg.only.min_dur_ns;
}

static __always_inline void event_submit(struct iot_ring_event *r)
{
	if (cfg.only.events &&
	    !event_chosen(r->e.kind, r->e.size, r->e.bytes, r->e.dur_ns)) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		return;
	}
	r->e.cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

#endif
