// SPDX-License-Identifier: GPL-3.0-only
/* net.bpf.c - bytes on sockets as the socket layer reports them, since 6.3 (6e6eda44b939): each
 * send and receive of any call, of io_uring and of the kernel itself. On older kernels calls report
 * them (syscall.bpf.c, uring.bpf.c).
 */
#include "net.bpf.h"
#include "program_copies.bpf.h"

/* Arguments of tcp_set_state(), part of the user interface. */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7

static __always_inline int moved(struct sock *sock, int bytes, u16 kind)
{
	struct socket_use u = { .sock = (u64)sock, .kind = kind };
	struct call k = {};

	if (!sock || bytes <= 0 || !gate_open() || !is_internet(u.sock))
		return 0;
	/* the peer of a datagram is known when the call returns */
	if (is_datagram(u.sock) && call_now(&k) && k.nr < IOT_MAX_SYSCALL &&
	    call_row(k.nr)->shape >= SHAPE_TO)
		return 0;
	u.bytes = bytes;
	u.proc = proc_cached();
	return socket_used(&u);
}

SEC("tp_btf/sock_send_length")
int PROBE(net__send, struct sock *sock, int bytes, int flags)
{
	return moved(sock, bytes, KIND_NET_SEND);
}

SEC("tp_btf/sock_recv_length")
int PROBE(net__recv, struct sock *sock, int bytes, int flags)
{
	return flags & (MSG_PEEK | MSG_ERRQUEUE) ? 0 : moved(sock, bytes, KIND_NET_RECV);
}

/* The gate does not matter: a connection that began shortly before the run is known, too. */
SEC("tp_btf/inet_sock_set_state")
int PROBE(net__state, struct sock *sock, int from, int to)
{
	u64 key = (u64)sock;
	u32 role = from == TCP_SYN_SENT ? ROLE_CLIENT : ROLE_SERVER;

	if (to == TCP_CLOSE)
		bpf_map_delete_elem(&socket_roles, &key);
	else if (to == TCP_ESTABLISHED && (from == TCP_SYN_SENT || from == TCP_SYN_RECV))
		bpf_map_update_elem(&socket_roles, &key, &role, BPF_ANY);
	return 0;
}
