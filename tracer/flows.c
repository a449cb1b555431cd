// SPDX-License-Identifier: GPL-3.0-only
/* flows.c - addresses, protocols and roles of flows in words. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include "flows.h"
#include "tracer.h"

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

const struct rec_flow *flow_describe(const struct iot_flow_key *key, const struct iot_flow *sums, struct flow_text *to)
{
	*to = (struct flow_text){ .rec = {
		.owner = key->owner, .family = key->family == AF_INET ? "ipv4" : "ipv6", .protocol = to->protocol,
		.local = to->local, .local_port = key->local_port,
		.role = sums->role < N_OF(roles) ? roles[sums->role] : NULL, .loopback = sums->loopback,
		.sent_bytes = sums->sent_bytes, .recv_bytes = sums->recv_bytes, .sends = sums->sends, .recvs = sums->recvs,
	} };
	put_protocol(key->protocol, to->protocol, sizeof(to->protocol));
	put_address(key->family, key->local, to->local, sizeof(to->local));
	if (!key->remote_port)
		return &to->rec;
	put_address(key->family, key->remote, to->remote, sizeof(to->remote));
	to->rec.remote = to->remote;
	rec_set(&to->rec, flow, remote_port, key->remote_port);
	return &to->rec;
}
