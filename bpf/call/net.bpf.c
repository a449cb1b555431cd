// SPDX-License-Identifier: GPL-3.0-only
/* net.bpf.c - bytes on sockets as the socket layer reports them, since 6.3 (6e6eda44b939): each
 * send and receive of any call, of io_uring and of the kernel itself. On older kernels calls report
 * them (syscall.bpf.c, uring.bpf.c).
 */
#include "net_call.bpf.h"
#include "net_packet.bpf.h"
#include "program_copies.bpf.h"

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
	if (NET_WHOLE && from == TCP_SYN_SENT)
		connect_ends(number_of(sock), to);
	return 0;
}

/* ---- only where layer net is traced whole ---- */

/* close(2) begins: its socket is still there. */
SEC("tp_btf/sys_enter")
int PROBE(net__close, struct pt_regs *regs, long id)
{
	struct net_op o = { .kind = KIND_SOCKET_CLOSE, .ops = 1 };
	u32 tid = bpf_get_current_pid_tgid();
	struct task_ctx *c;
	u64 sock;

	if ((u64)id >= IOT_MAX_SYSCALL || call_row(id)->shape != SHAPE_CLOSE || !gate_open() ||
	    task_is_compat(CURRENT_TASK))
		return 0;
	sock = sock_of_fd(regs_arg0(regs));
	c = sock ? ctx_make() : NULL;
	o.proc = c ? proc_current(c) : PROC_SELF;
	if (o.proc == PROC_SELF)
		return 0;
	net_op_on(&o, sock, 0);
	o.tid = current_thread();
	o.ts_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&net_closing, &tid, &o, BPF_ANY))
		lose(LOSS_NET_TABLE);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int PROBE(net__retransmit, struct sock *sock, struct sk_buff *skb, int err) /* since 6.17 */
{
	return gate_open() ? segment_again(number_of(sock), number_of(skb), err < 0 ? -err : 0) : 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int PROBE(net__retransmit_two, struct sock *sock, struct sk_buff *skb) /* until 6.16 */
{
	return gate_open() ? segment_again(number_of(sock), number_of(skb), 0) : 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int PROBE(net__answer, struct sock *sock, struct request_sock *request)
{
	return gate_open() ? answer_again(number_of(request)) : 0;
}

static __always_inline int dropped(struct sk_buff *skb, u32 reason)
{
	u16 protocol = skb->protocol;

	if (!gate_open() || (protocol != swap16(ETH_P_IP) && protocol != swap16(ETH_P_IPV6)))
		return 0;
	return packet_dropped(POINTER_AT(number_of(skb), struct sk_buff, head),
			      skb->network_header, protocol, reason);
}

SEC("tp_btf/kfree_skb")
int PROBE(net__drop, struct sk_buff *skb, void *location, u32 reason, struct sock *receiver)
{
	return dropped(skb, reason); /* since 6.11 */
}

SEC("tp_btf/kfree_skb")
int PROBE(net__drop_three, struct sk_buff *skb, void *location, u32 reason)
{
	return dropped(skb, reason); /* since 5.17, until 6.10 */
}
