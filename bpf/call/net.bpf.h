/* SPDX-License-Identifier: GPL-3.0-only */
/* net.bpf.h - bytes on sockets, by owner and by flow. They are reported by the socket layer's
 * tracepoints (net.bpf.c) or by calls (syscall.bpf.c, uring.bpf.c), as cfg.sockets says. Payload is
 * never read.
 */
#ifndef IOT_NET_BPF_H
#define IOT_NET_BPF_H

#include "aggregate.bpf.h"
#include "call.bpf.h"
#include "event.bpf.h"
#include "thread.bpf.h"

/* True where layer net is traced whole: each call on a socket, not only the bytes. */
#define NET_WHOLE (!REDUCED && cfg.whole >> LAYER_NET & 1)

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IFF_LOOPBACK 8
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define MAX_MESSAGES 1024      /* messages of one sendmmsg() or recvmmsg(): UIO_MAXIOV */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_flow_key);
	__type(value, struct iot_flow);
} flows SEC(".maps");

/* The side of its connection that a socket is, for connections that began while the programs were
 * attached. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* socket */
	__type(value, u32);    /* ROLE_x */
} socket_roles SEC(".maps");

/* Layer net whole: the process whose flow a pair of addresses is, as its side sees them: packets
 * are found by their addresses alone. The key has owner 0. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct iot_flow_key);
	__type(value, u32);    /* process.id */
} flow_owners SEC(".maps");

/* The bytes that a socket operation moved. */
struct socket_use {
	u64 sock;              /* address of struct sock */
	/* user address of the peer's address; 0: the peer that the socket is connected to */
	u64 name;
	u64 bytes;
	u32 proc;
	u16 kind, derived;     /* KIND_NET_x; 1: known from the call */
};

/* The socket of a file; 0: it is no socket. */
static __always_inline u64 sock_of(struct file *f)
{
	if ((inode_mode((struct inode *)POINTER_AT(f, struct file, f_inode)) & S_IFMT) != S_IFSOCK)
		return 0;
	return POINTER_AT(POINTER_AT(f, struct file, private_data), struct socket, sk);
}

/* True when splice() reads from such a socket without the socket layer's tracepoint; others are
 * read by an ordinary receive. */
static __always_inline bool splices_itself(struct file *f)
{
	struct socket *s = BPF_CORE_READ(f, private_data);

	return BPF_CORE_READ(s, ops, splice_read);
}

static __always_inline u16 swap16(u16 v)
{
	return __builtin_bswap16(v);
}

static __always_inline bool is_internet(u64 sock)
{
	u16 family = NUMBER_AT(sock, struct sock, __sk_common.skc_family);

	return family == AF_INET || family == AF_INET6;
}

/* True for an IPv4 address in the form of an IPv6 address: 10 zeroes, 2 times 255 in front. */
static __always_inline bool is_mapped(const u8 *address)
{
	const u32 *word = (const u32 *)address;

	return !word[0] && !word[1] && word[2] == __builtin_bswap32(0xffff);
}

static __always_inline void put_mapped(u8 *address, u32 v4)
{
	u32 *word = (u32 *)address;

	word[2] = __builtin_bswap32(0xffff);
	word[3] = v4;
}

/* Fills in the two addresses of a socket, as far as it has them. */
static __always_inline void key_addresses(struct iot_flow_key *k, u64 sock)
{
	k->family = AF_INET;
	k->protocol = NUMBER_AT(sock, struct sock, sk_protocol);
	k->local_port = NUMBER_AT(sock, struct sock, __sk_common.skc_num);
	if (!k->local_port) /* TCP has ended, and gave its port back */
		k->local_port = swap16(NUMBER_AT(sock, struct inet_sock, inet_sport));
	k->remote_port = swap16(NUMBER_AT(sock, struct sock, __sk_common.skc_dport));
	if (NUMBER_AT(sock, struct sock, __sk_common.skc_family) == AF_INET) {
		put_mapped(k->local, NUMBER_AT(sock, struct sock, __sk_common.skc_rcv_saddr));
		put_mapped(k->remote, NUMBER_AT(sock, struct sock, __sk_common.skc_daddr));
		return;
	}
	k->family = AF_INET6;
	if (!HAS_IPV6)
		return;
	bpf_probe_read_kernel(k->local, 16,
			      (void *)(sock + bpf_core_field_offset(struct sock,
								    __sk_common.skc_v6_rcv_saddr)));
	bpf_probe_read_kernel(k->remote, 16,
			      (void *)(sock + bpf_core_field_offset(struct sock,
								    __sk_common.skc_v6_daddr)));
	if (is_mapped(k->remote))
		k->family = AF_INET;
}

/* Fills in the peer of one message, from the address that the caller passed or received. */
static __always_inline void key_peer(struct iot_flow_key *k, u64 name)
{
	struct {
		u16 family, port;
		u32 v4;
	} head;

	if (!name || bpf_probe_read_user(&head, sizeof(head), (void *)name))
		return;
	if (head.family == AF_INET) {
		__builtin_memset(k->remote, 0, sizeof(k->remote));
		put_mapped(k->remote, head.v4);
	} else if (head.family != AF_INET6 ||
		   bpf_probe_read_user(k->remote, sizeof(k->remote),
				       (void *)(name + sizeof(head)))) {
		return;
	}
	k->remote_port = swap16(head.port);
	k->family = is_mapped(k->remote) ? AF_INET : AF_INET6;
}

static __always_inline bool same_address(const u8 *a, const u8 *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	return x[0] == y[0] && x[1] == y[1];
}

/* True for 127.0.0.0/8, ::1, and the former as a mapped address. */
static __always_inline bool is_own(const u8 *address)
{
	static const u8 one[16] __attribute__((aligned(8))) = { [15] = 1 };

	return is_mapped(address) ? address[12] == 127 : same_address(address, one);
}

/* True when the peer is on this host: by its address, or by the device of the connection's route.
 * For a datagram that was received without the address, on a socket that is not connected, the
 * socket's own address decides: the kernel drops what other hosts send to a loopback address
 * (ip_route_input_slow(), ip6_rcv_core()). */
static __always_inline bool is_loopback(const struct iot_flow_key *k, u64 sock)
{
	u64 route, device;

	if (!k->remote_port)
		return is_own(k->local);
	if (is_own(k->remote))
		return true;
	if (same_address(k->local, k->remote))
		return true;
	route = POINTER_AT(sock, struct sock, sk_dst_cache);
	if (!route)
		return false;
	device = POINTER_AT(route, struct dst_entry, dev);
	return device && NUMBER_AT(device, struct net_device, flags) & IFF_LOOPBACK;
}

/* The place of the peer, as field `sub` has it. */
static __always_inline u8 peer_place(const struct iot_flow_key *k, u64 sock)
{
	return is_loopback(k, sock) ? SUB_NET_LOOPBACK : k->remote_port ? SUB_NET_REMOTE :
		SUB_NET_UNKNOWN;
}

/* The role of a socket in its connection. Of a connection from before the run only this is known: a
 * port that connect() itself chose is in a bind bucket with a negative fastreuse. */
static __always_inline u32 role_of(u64 sock, u16 protocol)
{
	u32 *r = bpf_map_lookup_elem(&socket_roles, &sock);
	struct inet_bind_bucket *b;

	if (r)
		return *r;
	if (protocol != IPPROTO_TCP)
		return ROLE_NONE;
	b = BPF_CORE_READ((struct inet_connection_sock *)sock, icsk_bind_hash);
	return b && BPF_CORE_READ(b, fastreuse) < 0 ? ROLE_CLIENT : ROLE_NONE;
}

/* Flows of excluded processes are not kept. */
static __always_inline bool wants_flow(u32 proc)
{
	return proc >= PROC_FIRST || (!proc && !filtered());
}

static __always_inline void flow_owner_note(struct iot_flow_key *k)
{
	u32 owner = k->owner;

	k->owner = 0;
	bpf_map_update_elem(&flow_owners, k, &owner, BPF_ANY);
	k->owner = owner;
}

static __always_inline struct iot_flow *flow_find(struct iot_flow_key *k, u64 sock, bool loopback)
{
	/* not on the stack: 6.1 allows this chain of calls 512 bytes */
	static const struct iot_flow none;
	struct iot_flow *f = bpf_map_lookup_elem(&flows, k);
	struct iot_state *s = run_state();

	if (f || !s)
		return f;
	if (!bpf_map_update_elem(&flows, k, &none, BPF_NOEXIST))
		__sync_fetch_and_add(&s->used_flows, 1);
	f = bpf_map_lookup_elem(&flows, k);
	if (!f) {
		lose(LOSS_FLOW_TABLE);
		return NULL;
	}
	f->role = role_of(sock, k->protocol);
	f->loopback = loopback;
	if (!REDUCED)
		__sync_val_compare_and_swap(&f->id, 0, NEXT_NUMBER(s, next_flow) + 1);
	if (NET_WHOLE)
		flow_owner_note(k);
	return f;
}

/* A time at which the bytes were not sent yet: the begin of the call, if it is timed. The other end
 * may receive them before the call returns. */
static __always_inline u64 began_sending(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_ns(), began;
	struct thread *th = REDUCED ? NULL : thread_of(tid);

	if (!th || !th->clock || th->clock >> CLOCK_SHIFT != thread_above(tid))
		return now;
	began = th->clock & ((1ULL << CLOCK_SHIFT) - 1);
	return began < now ? began : now;
}

/* Field `offset` of an event: its flow, and both ports. */
static __always_inline u64 flow_offset(const struct iot_flow_key *k, u32 flow)
{
	return (u64)flow << 32 | (u32)k->local_port << 16 | k->remote_port;
}

static __always_inline void net_event(const struct socket_use *u, const struct iot_flow_key *k,
				      u8 sub, u32 flow)
{
	struct iot_cell_key c = { .owner = u->proc, .kind = u->kind, .how = HOW_EXACT,
				  .sub = sub };
	struct iot_ring_event *r;

	if (!wants_event(u->proc))
		return;
	r = event_reserve(LOSS_EVENT_NET);
	if (!r)
		return;
	event_fill(&r->e, u->proc, &c);
	r->e.ts_ns = u->kind == KIND_NET_SEND ? began_sending() : bpf_ktime_get_ns();
	r->e.tid = current_thread();
	r->e.bytes = u->bytes;
	r->e.offset = flow_offset(k, flow);
	r->e.flags = u->derived ? FLAG_DERIVED : 0;
	event_submit(r);
}

/* Counts the bytes that a socket operation moved. Global: verified once, not for each caller. */
__noinline int socket_used(struct socket_use *u)
{
	struct iot_flow_key k = {};
	struct iot_cell_key c = {};
	struct iot_flow *f;

	if (!u || !u->bytes || !is_internet(u->sock))
		return 0;
	key_addresses(&k, u->sock);
	if (u->name)
		key_peer(&k, u->name);
	c.owner = k.owner = u->proc;
	c.kind = u->kind;
	c.how = u->proc ? HOW_EXACT : HOW_NONE;
	c.sub = peer_place(&k, u->sock);
	cell_add(cell_find(&c), 1, u->bytes, 0, 0, false);
	f = wants_flow(u->proc) ? flow_find(&k, u->sock, c.sub == SUB_NET_LOOPBACK) : NULL;
	net_event(u, &k, c.sub, f ? f->id : 0);
	if (!f)
		return 0;
	__sync_fetch_and_add(u->kind == KIND_NET_SEND ? &f->sent_bytes : &f->recv_bytes, u->bytes);
	__sync_fetch_and_add(u->kind == KIND_NET_SEND ? &f->sends : &f->recvs, 1);
	return 0;
}

/* True for protocols whose peer the call names. */
static __always_inline bool is_datagram(u64 sock)
{
	return NUMBER_AT(sock, struct sock, sk_protocol) == IPPROTO_UDP;
}

#endif
