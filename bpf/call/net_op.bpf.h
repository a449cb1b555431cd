/* SPDX-License-Identifier: GPL-3.0-only */
/* net_op.bpf.h - one operation on sockets, where layer net is traced whole: its flow, its sums, its
 * event.
 */
#ifndef IOT_NET_OP_BPF_H
#define IOT_NET_OP_BPF_H

#include "net.bpf.h"

static __always_inline u16 family_of(u64 sock)
{
	return NUMBER_AT(sock, struct sock, __sk_common.skc_family);
}

/* Fills in the socket of an operation: its addresses and its place. name: user address of the
 * peer's address, for a socket that has no peer; 0: none. */
static __always_inline void net_op_on(struct net_op *o, u64 sock, u64 name)
{
	if (!sock)
		return;
	o->sock = sock;
	if (family_of(sock) == AF_UNIX)
		o->place = SUB_NET_UNIX;
	if (!is_internet(sock))
		return;
	key_addresses(&o->key, sock);
	if (name && !o->key.remote_port)
		key_peer(&o->key, name);
	o->key.owner = o->proc;
	/* a socket without a peer has no place */
	o->place = o->key.remote_port ? peer_place(&o->key, sock) : SUB_NONE;
}

static __always_inline void flow_count(struct iot_flow *f, const struct net_op *o)
{
	if (o->err)
		__sync_fetch_and_add(&f->errors, 1);
	if (o->kind == KIND_POLL)
		__sync_fetch_and_add(&f->polls, 1);
	if (o->kind == KIND_RETRANSMIT)
		__sync_fetch_and_add(&f->retransmits, o->ops);
	if (o->kind == KIND_NET_DROP)
		__sync_fetch_and_add(&f->drops, 1);
	if (o->setup_ns)
		f->setup_ns = o->setup_ns;
}

static __always_inline void net_op_event(const struct net_op *o, u32 flow)
{
	struct iot_cell_key c = { .owner = o->proc, .kind = o->kind, .sub = o->place,
				  .flags = CELL_OP(o->op),
				  .how = o->proc ? HOW_EXACT : HOW_NONE };
	struct iot_ring_event *r = event_reserve(LOSS_EVENT_NET);

	if (!r)
		return;
	event_fill(&r->e, o->proc, &c);
	r->e.ts_ns = o->ts_ns ?: bpf_ktime_get_ns();
	r->e.dur_ns = o->dur_ns;
	r->e.tid = o->tid;
	r->e.size = o->size;
	r->e.bytes = o->bytes;
	r->e.offset = flow_offset(&o->key, flow);
	r->e.arg = o->arg;
	r->e.err = o->err;
	event_submit(r);
}

/* Counts an operation in the sums and in its flow, and sends its event. Global: verified once. */
__noinline int net_op_record(struct net_op *o)
{
	struct iot_flow_key k;
	struct iot_cell_key c = {};
	struct iot_flow *f = NULL;

	if (!o)
		return 0;
	k = o->key; /* until 6.2 a key must be on the stack of the function that looks it up */
	/* the flow of bytes that moved was made with them, or is counted as lost */
	if (k.remote_port && wants_flow(o->proc))
		f = o->bytes && o->kind >= KIND_SEND_CALL ? bpf_map_lookup_elem(&flows, &k) :
			flow_find(&k, o->sock, o->place == SUB_NET_LOOPBACK);
	if (f)
		flow_count(f, o);
	if (wants_event(o->proc))
		net_op_event(o, f ? f->id : 0);
	c.owner = o->proc;
	c.kind = o->kind;
	c.how = o->proc ? HOW_EXACT : HOW_NONE;
	c.sub = o->place;
	c.flags = CELL_OP(o->op);
	hist_add(o->proc, o->kind, SUB_NONE, o->dur_ns);
	cell_add(cell_find(&c), o->ops, o->bytes, 0, o->dur_ns, o->err);
	return 0;
}

#endif
