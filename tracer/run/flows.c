// SPDX-License-Identifier: GPL-3.0-only
/* flows.c - addresses, protocols and roles of flows as text, and finished flows. Nothing reports
 * the end of a flow: one that moves nothing is taken for finished.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "flows.h"
#include "hash.h"
#include "tracer.h"

#define LOOK_NS NSEC            /* between two looks */

/* Sums of a flow at the last look; another flow may have taken its position. */
struct look {
	u32 check, ops;
};

struct flows {
	struct look looks[2 * IOT_MAX_FLOWS];
	struct iot_flow_key over[IOT_MAX_FLOWS]; /* flows to take out */
	size_t n_over;
	u64 looked_ns;
	bool (*is_over)(void *arg, u32 owner);  /* set during flows_collect() */
	void *arg;
};

static const char *const roles[] = { [ROLE_CLIENT] = "client", [ROLE_SERVER] = "server" };

static const struct {
	u16 number;
	const char *name;
} protocols[] = {
	{ IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" },
	{ 262, "mptcp" },
};

static void put_protocol(u16 number, char *to, size_t size)
{
	for (size_t i = 0; i < N_OF(protocols); i++)
		if (protocols[i].number == number) {
			snprintf(to, size, "%s", protocols[i].name);
			return;
		}
	snprintf(to, size, "%u", number);
}

static void put_address(u16 family, const u8 *address, char *to, size_t size)
{
	inet_ntop(family, family == AF_INET ? address + 12 : address, to, size);
}

struct flow_known flow_known(const struct probes *p, u32 whole)
{
	return (struct flow_known){
		.calls = whole >> LAYER_NET & 1,
		.retransmits = probes_chosen(p, "net__retransmit") ||
			probes_chosen(p, "net__retransmit_two"),
		.drops = probes_chosen(p, "net__drop") || probes_chosen(p, "net__drop_three"),
	};
}

static void describe_known(const struct iot_flow *sums, struct flow_known known,
	struct rec_flow *to)
{
	if (known.calls && sums->setup_ns)
		rec_set(to, flow, setup_ns, sums->setup_ns);
	if (known.calls) {
		rec_set(to, flow, errors, sums->errors);
		rec_set(to, flow, polls, sums->polls);
	}
	if (known.retransmits)
		rec_set(to, flow, retransmits, sums->retransmits);
	if (known.drops)
		rec_set(to, flow, drops, sums->drops);
}

const struct rec_flow *flow_describe(const struct iot_flow_key *key, const struct iot_flow *sums,
	struct flow_known known, struct flow_text *to)
{
	*to = (struct flow_text){ .rec = {
		.owner = key->owner, .family = key->family == AF_INET ? "ipv4" : "ipv6",
			.protocol = to->protocol,
		.local = to->local, .local_port = key->local_port,
		.role = sums->role < N_OF(roles) ? roles[sums->role] : NULL,
		.loopback = sums->loopback,
		.sent_bytes = sums->sent_bytes, .recv_bytes = sums->recv_bytes,
		.sends = sums->sends, .recvs = sums->recvs,
	} };
	if (sums->id)
		rec_set(&to->rec, flow, id, sums->id);
	describe_known(sums, known, &to->rec);
	put_protocol(key->protocol, to->protocol, sizeof(to->protocol));
	put_address(key->family, key->local, to->local, sizeof(to->local));
	if (!key->remote_port)
		return &to->rec;
	put_address(key->family, key->remote, to->remote, sizeof(to->remote));
	to->rec.remote = to->remote;
	rec_set(&to->rec, flow, remote_port, key->remote_port);
	return &to->rec;
}

int flows_new(struct flows **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : fail(ENOMEM, "flows");
}

void flows_free(struct flows *f)
{
	free(f);
}

static void look(void *arg, const struct iot_flow_key *key, const struct iot_flow *sums)
{
	struct flows *f = arg;
	const u64 h = hash_bytes(HASH_START, key, sizeof(*key));
	struct look *l = &f->looks[h % N_OF(f->looks)],
		now = { h >> 32, sums->sends + sums->recvs };

	if (f->n_over < N_OF(f->over) && (f->is_over(f->arg, key->owner) ||
	    (l->check == now.check && l->ops == now.ops)))
		f->over[f->n_over++] = *key;
	*l = now;
}

void flows_collect(struct flows *f, struct probes *p, bool (*over)(void *, u32),
		   void (*flow)(void *, const struct iot_flow_key *, const struct iot_flow *),
		   void *arg)
{
	u64 now = clock_now(CLOCK_MONOTONIC);
	struct iot_flow sums;

	if (!probes_flows_scarce(p) || now - f->looked_ns < LOOK_NS)
		return;
	f->looked_ns = now;
	f->is_over = over;
	f->arg = arg;
	f->n_over = 0;
	probes_flows(p, look, f);
	for (size_t i = 0; i < f->n_over; i++)
		if (probes_flow_take(p, &f->over[i], &sums))
			flow(arg, &f->over[i], &sums);
}
