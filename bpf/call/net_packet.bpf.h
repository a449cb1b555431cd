/* SPDX-License-Identifier: GPL-3.0-only */
/* net_packet.bpf.h - segments that TCP sends again, and packets that this host drops, where layer
 * net is traced whole. A drop has the kernel's own reason. A segment that is sent again has the
 * reason of the drop of its earlier copy, where that was dropped on this host.
 */
#ifndef IOT_NET_PACKET_BPF_H
#define IOT_NET_PACKET_BPF_H

#include "net_op.bpf.h"

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

#define DROPS 128              /* the last drops of a connection that are remembered */

/* A segment that was dropped: its sequence numbers, and when. ns 0: none, or a segment that was
 * sent again for it. */
struct net_dropped {
	u64 ns;
	u32 seq, end;
	u32 reason, pad;
};

struct net_drops {
	struct net_dropped at[DROPS];
	u32 next, pad;
};

/* By the addresses that the segments have, with owner 0. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct iot_flow_key);
	__type(value, struct net_drops);
} net_dropped_of SEC(".maps");

/* The headers of a packet. */
struct packet {
	struct iot_flow_key key; /* local: the sender; owner 0 */
	u32 seq, end;          /* TCP; end: behind its last byte */
	u32 len;               /* of the packet of layer 3 */
};

struct ip4_head {
	u8 version, tos;
	u16 len, id, fragment;
	u8 ttl, protocol;
	u16 check;
	u32 from, to;
};

struct ip6_head {
	u32 version;
	u16 len;
	u8 next, limit;
	u8 from[16], to[16];
};

struct tcp_head {
	u16 from, to;
	u32 seq, ack;
	u8 words, flags;
};

/* Reads the headers of a TCP or UDP packet from its memory. False: it is another packet, or has no
 * headers yet. */
static __always_inline bool packet_read(struct packet *p, u64 head, u32 at, u16 protocol)
{
	union {
		struct ip4_head v4;
		struct ip6_head v6;
		struct tcp_head tcp;
	} h;
	u32 len;

	if (bpf_probe_read_kernel(&h, sizeof(h.v6), (void *)(head + at)))
		return false;
	if (protocol == __builtin_bswap16(ETH_P_IP) && h.v4.version >> 4 == 4) {
		p->key.family = AF_INET;
		p->key.protocol = h.v4.protocol;
		put_mapped(p->key.local, h.v4.from);
		put_mapped(p->key.remote, h.v4.to);
		at += (h.v4.version & 15) * 4;
		p->len = swap16(h.v4.len);
		len = p->len - (h.v4.version & 15) * 4;
	} else if (protocol == __builtin_bswap16(ETH_P_IPV6) && (h.v6.version & 0xf0) == 0x60) {
		p->key.family = AF_INET6;
		p->key.protocol = h.v6.next;
		__builtin_memcpy(p->key.local, h.v6.from, 16);
		__builtin_memcpy(p->key.remote, h.v6.to, 16);
		at += 40;
		len = swap16(h.v6.len);
		p->len = len + 40;
	} else {
		return false;
	}
	if ((p->key.protocol != IPPROTO_TCP && p->key.protocol != IPPROTO_UDP) ||
	    bpf_probe_read_kernel(&h, sizeof(h.tcp), (void *)(head + at)))
		return false;
	p->key.local_port = swap16(h.tcp.from);
	p->key.remote_port = swap16(h.tcp.to);
	if (p->key.protocol == IPPROTO_TCP) {
		p->seq = __builtin_bswap32(h.tcp.seq);
		/* SYN and FIN have a number each */
		p->end = p->seq + len - (h.tcp.words >> 4) * 4 +
			(h.tcp.flags & 1) + (h.tcp.flags >> 1 & 1);
	}
	return true;
}

static __always_inline void key_swap(struct iot_flow_key *k)
{
	u8 address[16] __attribute__((aligned(8)));
	u16 port = k->local_port;

	__builtin_memcpy(address, k->local, 16);
	__builtin_memcpy(k->local, k->remote, 16);
	__builtin_memcpy(k->remote, address, 16);
	k->local_port = k->remote_port;
	k->remote_port = port;
}

/* Sets the owner of the flow that has these addresses. False: no flow is known. */
static __always_inline bool key_owner(struct iot_flow_key *k)
{
	u32 *owner = bpf_map_lookup_elem(&flow_owners, k);

	if (owner)
		k->owner = *owner;
	return owner;
}

static __always_inline void drop_note(const struct packet *p, u32 reason)
{
	static const struct net_drops none;
	struct net_drops *d = bpf_map_lookup_elem(&net_dropped_of, &p->key);
	struct net_dropped *at;

	if (!d) {
		bpf_map_update_elem(&net_dropped_of, &p->key, &none, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&net_dropped_of, &p->key);
	}
	if (!d)
		return;
	at = &d->at[INDEX(d->next, DROPS)];
	d->next++;
	at->seq = p->seq;
	at->end = p->end;
	at->reason = reason;
	at->ns = bpf_ktime_get_ns();
}

/* Sends what happened to a packet: to the flow with its addresses, or else to nobody. */
static __always_inline void packet_record(struct net_op *o)
{
	if (o->key.owner)
		o->place = is_own(o->key.remote) ||
			same_address(o->key.local, o->key.remote) ? SUB_NET_LOOPBACK :
			SUB_NET_REMOTE;
	o->proc = o->key.owner;
	o->ts_ns = bpf_ktime_get_ns();
	net_op_record(o);
}

/* A packet was dropped. Global: verified once. */
__noinline int packet_dropped(u64 head, u32 at, u32 protocol, u32 reason)
{
	struct packet p = {};
	struct net_op o = { .kind = KIND_NET_DROP, .ops = 1, .arg = reason,
			    .op = reason < 255 ? reason : 255 };

	if (!packet_read(&p, head, at, protocol))
		return 0;
	if (p.end != p.seq)
		drop_note(&p, reason);
	if (!key_owner(&p.key)) {
		key_swap(&p.key);
		if (!key_owner(&p.key))
			key_swap(&p.key);
	}
	o.key = p.key;
	o.size = o.bytes = p.len;
	packet_record(&o);
	return 0;
}

struct drop_walk {
	struct net_drops *drops;
	u64 sent_ns;
	u32 seq, end, reason, pad;
};

static long drop_of(u32 n, struct drop_walk *w)
{
	struct net_dropped *at = &w->drops->at[INDEX(n, DROPS)];

	if (!at->ns || at->ns >= w->sent_ns || (s32)(at->seq - w->end) >= 0 ||
	    (s32)(w->seq - at->end) >= 0)
		return 0;
	/* a longer one is sent again in pieces */
	if ((s32)(w->end - at->end) >= 0)
		at->ns = 0;
	w->reason = at->reason;
	return 1;
}

/* The reason of the drop of an earlier copy of a segment; 0: none was seen on this host. sent_ns:
 * when this copy was sent, which may have been dropped, too. */
static __always_inline u32 dropped_before(struct iot_flow_key *k, u32 seq, u32 end, u64 sent_ns)
{
	struct drop_walk w = { .sent_ns = sent_ns, .seq = seq, .end = end, .reason = some_zero() };

	w.drops = bpf_map_lookup_elem(&net_dropped_of, k);
	if (w.drops)
		bpf_loop(DROPS, drop_of, &w, 0);
	return w.reason;
}

/* TCP has sent a segment again. Global: verified once. */
__noinline int segment_again(u64 sock, u64 skb, u32 err)
{
	struct net_op o = { .kind = KIND_RETRANSMIT, .err = err };
	struct tcp_skb_cb cb;
	u64 at = skb + bpf_core_field_offset(struct sk_buff, cb);

	if (!sock || !is_internet(sock) || bpf_probe_read_kernel(&cb, sizeof(cb), (void *)at))
		return 0;
	key_addresses(&o.key, sock);
	o.arg = NUMBER_AT(sock, struct sock, __sk_common.skc_state);
	o.op = dropped_before(&o.key, cb.seq, cb.end_seq, NUMBER_AT(skb, struct sk_buff, tstamp));
	o.ops = cb.tcp_gso_segs ?: 1;
	o.size = o.bytes = NUMBER_AT(skb, struct sk_buff, len);
	key_owner(&o.key);
	packet_record(&o);
	return 0;
}

/* A server has sent the answer to a connection request again. The connection is no flow yet. */
__noinline int answer_again(u64 request)
{
	struct net_op o = { .kind = KIND_RETRANSMIT, .arg = TCP_NEW_SYN_RECV, .ops = 1 };

	key_addresses(&o.key, request);
	o.key.protocol = IPPROTO_TCP;
	packet_record(&o);
	return 0;
}

#endif
