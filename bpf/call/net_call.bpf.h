/* SPDX-License-Identifier: GPL-3.0-only */
/* net_call.bpf.h - calls on sockets, and calls that wait for descriptors, where layer net is traced
 * whole: each with its arguments, its duration and its error, also where it failed. Payload is
 * never read.
 *
 * To add a call: a shape in bpf/config.h, a row of net_call_rows in tracer/probe/call_rows_net.c,
 * and a case of net_call_of().
 */
#ifndef IOT_NET_CALL_BPF_H
#define IOT_NET_CALL_BPF_H

#include "net_op.bpf.h"
#include "socket_call.bpf.h"

/* Arguments of tcp_set_state(), part of the user interface. */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7

/* Field `op` of a connect: 0, the call; of one that did not wait, its result, or that the socket
 * was closed before there was one. */
#define CONNECT_RESULT 1
#define CONNECT_GIVEN_UP 2

#define EINPROGRESS 115
#define EPOLL_CTL_DEL 2
#define POLLIN 1
#define POLLPRI 2
#define POLLOUT 4
#define MOST_READY 1024        /* descriptors of one call that are looked at */

/* Calls of close(2) in progress, by thread: the socket is gone when they return. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct net_op);
} net_closing SEC(".maps");

/* Connections that connect(2) began and did not wait for, by address of struct sock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct net_op);
} net_connecting SEC(".maps");

static __always_inline u64 sock_of_fd(s32 fd)
{
	struct file *f = fd < 0 ? NULL : file_of(fd);

	return f ? sock_of(f) : 0;
}

/* ---- what is ready: the union of masks, by the bits of POLLIN, POLLOUT, ... ---- */

struct ready_walk {
	u64 base;
	u32 mask, set;
};

struct user_pollfd {
	s32 fd;
	u16 events, revents;
};

/* struct epoll_event: packed on x86 */
#if defined(__TARGET_ARCH_arm64)
#define EPOLL_EVENT_BYTES 16
#else
#define EPOLL_EVENT_BYTES 12
#endif

static long ready_poll(u32 n, struct ready_walk *w)
{
	struct user_pollfd p;

	if (bpf_probe_read_user(&p, sizeof(p), (void *)(w->base + n * sizeof(p))))
		return 1;
	w->mask |= p.revents;
	return 0;
}

static long ready_epoll(u32 n, struct ready_walk *w)
{
	u32 events;

	if (bpf_probe_read_user(&events, sizeof(events),
				(void *)(w->base + n * EPOLL_EVENT_BYTES)))
		return 1;
	w->mask |= events;
	return 0;
}

static long ready_select(u32 n, struct ready_walk *w)
{
	u64 word;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)(w->base + n * sizeof(word))))
		return 1;
	if (word)
		w->mask |= w->set;
	return 0;
}

/* select(2) leaves in each set the descriptors that are ready. */
static __always_inline u32 select_ready(const struct call *k)
{
	static const u8 bits[3] = { POLLIN, POLLOUT, POLLPRI };
	struct ready_walk w = { .mask = some_zero() };
	u32 words = ((u32)k->arg[0] + 63) / 64;

	words = words < MOST_READY / 64 ? words : MOST_READY / 64;
	for (u32 i = 0; i < 3; i++) {
		w.base = k->arg[1 + i];
		w.set = bits[i];
		if (w.base)
			bpf_loop(words, ready_select, &w, 0);
	}
	return w.mask;
}

/* poll(2), select(2), epoll_wait(2): size: descriptors asked for; arg: how many are ready; op: of
 * which kind. */
__noinline int net_waited(const struct call *k, struct net_op *o, u32 shape, s64 ret)
{
	struct ready_walk w = { .mask = some_zero() };
	u32 n;

	if (!k || !o)
		return 0;
	o->arg = ret > 0 ? ret : 0;
	o->size = k->arg[shape == SHAPE_SELECT ? 0 : shape == SHAPE_POLL ? 1 : 2];
	if (ret <= 0)
		return 0;
	w.base = k->arg[shape == SHAPE_POLL ? 0 : 1];
	if (shape == SHAPE_SELECT) {
		o->op = select_ready(k);
		return 0;
	}
	n = shape == SHAPE_POLL ? o->size : ret;
	n = n < MOST_READY ? n : MOST_READY;
	if (shape == SHAPE_POLL)
		bpf_loop(n, ready_poll, &w, 0);
	else
		bpf_loop(n, ready_epoll, &w, 0);
	o->op = w.mask;
	return 0;
}

/* ---- sends and receives ---- */

static long message_bytes(u32 n, struct message_walk *w)
{
	u32 len = 0;

	if (bpf_probe_read_user(&len, sizeof(len),
				(void *)(w->base + n * MMSGHDR_BYTES + MSGHDR_BYTES)))
		return 1;
	w->use.bytes += len;
	return 0;
}

/* The bytes of a call that moved several messages. */
__noinline u64 messages_bytes(u64 base, u64 n)
{
	struct message_walk w = { .base = base, .use = { .bytes = some_zero() } };

	bpf_loop(n & (2 * MAX_MESSAGES - 1), message_bytes, &w, 0);
	return w.use.bytes;
}

/* Fills in a call that sends or receives. Bytes that are looked at or that tell an error are no
 * payload. */
static __always_inline void net_moved(const struct call *k, struct net_op *o, u32 shape, s64 ret)
{
	u32 flags = k->arg[shape == SHAPE_MSG ? 2 : 3];
	u64 name = 0;

	o->arg = flags;
	if (shape == SHAPE_TO) {
		o->size = k->arg[2];
		name = k->arg[4];
	} else if (shape == SHAPE_MSG) {
		name = message_name(k->arg[1]);
	}
	if (o->kind == KIND_RECV_CALL && ret <= 0)
		name = 0; /* nobody filled it in */
	net_op_on(o, sock_of_fd(k->arg[0]), name);
	if (ret <= 0 || (o->kind == KIND_RECV_CALL && flags & (MSG_PEEK | MSG_ERRQUEUE)))
		return;
	o->bytes = shape == SHAPE_MMSG ? messages_bytes(k->arg[1], ret) : ret;
}

/* ---- the life of a socket ---- */

/* The socket that a call is about, by its arguments. */
static __always_inline u64 sock_of_call(const struct call *k, u32 shape, s64 ret)
{
	s32 fd = k->arg[0];

	switch (shape) {
	case SHAPE_SOCKET:
		fd = ret;
		break;
	case SHAPE_SOCKETPAIR:
		if (ret || bpf_probe_read_user(&fd, sizeof(fd), (void *)k->arg[3]))
			fd = -1;
		break;
	case SHAPE_ACCEPT:
	case SHAPE_ACCEPT4:
		fd = ret < 0 ? fd : ret;
		break;
	case SHAPE_EPOLL_CTL:
		fd = k->arg[2];
		break;
	case SHAPE_POLL:
		if (k->arg[1] != 1 || bpf_probe_read_user(&fd, sizeof(fd), (void *)k->arg[0]))
			fd = -1;
		break;
	case SHAPE_SELECT ... SHAPE_EPOLL_CREATE1:
	case SHAPE_EPOLL_WAIT:
		fd = -1;
		break;
	}
	return sock_of_fd(fd);
}

/* Fills in `op` and `arg` of a call. */
static __always_inline void net_arguments(const struct call *k, struct net_op *o, u32 shape)
{
	switch (shape) {
	case SHAPE_SOCKET:
	case SHAPE_SOCKETPAIR:
		o->op = k->arg[0];
		o->arg = k->arg[1];
		break;
	case SHAPE_LISTEN:
		o->arg = k->arg[1];
		break;
	case SHAPE_ACCEPT4:
		o->arg = k->arg[3];
		break;
	case SHAPE_SHUTDOWN:
		o->op = k->arg[1];
		break;
	case SHAPE_SOCKOPT:
		o->op = k->arg[1] > 255 ? 255 : k->arg[1];
		o->arg = (u32)k->arg[1] << 16 | (k->arg[2] & 0xffff);
		break;
	case SHAPE_EPOLL_CREATE1:
		o->arg = k->arg[0];
		break;
	case SHAPE_EPOLL_CTL:
		o->op = k->arg[1];
		if (k->arg[1] != EPOLL_CTL_DEL)
			bpf_probe_read_user(&o->arg, sizeof(o->arg), (void *)k->arg[3]);
	}
}

/* A connection that connect(2) did not wait for is there, or has failed: net__state sees it when
 * it happens, which may be before connect(2) returned. Whoever takes the entry first records it. */
__noinline int connect_ends(u64 sock, u32 state)
{
	struct net_op *o = bpf_map_lookup_elem(&net_connecting, &sock);

	if (!o || (!REDUCED && __sync_val_compare_and_swap(&o->ops, 0, 1)))
		return 0;
	o->err = state == TCP_CLOSE ? NUMBER_AT(sock, struct sock, sk_err) : 0;
	o->op = state == TCP_CLOSE && !o->err ? CONNECT_GIVEN_UP : CONNECT_RESULT;
	o->dur_ns = cfg.latency ? bpf_ktime_get_ns() - o->ts_ns : 0;
	o->setup_ns = state == TCP_CLOSE ? 0 : o->dur_ns;
	if (gate_open())
		net_op_record(o);
	bpf_map_delete_elem(&net_connecting, &sock);
	return 0;
}

/* connect(2) has begun a connection and does not wait. Returns the state of the socket. */
__noinline int connect_goes_on(struct net_op *begun)
{
	struct net_op o; /* until 6.2 a value must be on the stack */
	u64 sock;

	if (!begun)
		return TCP_SYN_SENT;
	o = *begun;
	sock = o.sock;
	if (!sock || o.key.protocol != IPPROTO_TCP)
		return TCP_SYN_SENT;
	o.ops = 0;
	o.ts_ns = o.ts_ns ?: bpf_ktime_get_ns();
	if (bpf_map_update_elem(&net_connecting, &sock, &o, BPF_ANY)) {
		lose(LOSS_NET_TABLE);
		return TCP_SYN_SENT;
	}
	return NUMBER_AT(sock, struct sock, __sk_common.skc_state);
}

/* A call of layer net has returned. began: its duration and begin, where it was timed. Global:
 * verified once. */
__noinline int net_call_ends(struct task_ctx *c, const struct call *k, u32 kind, u32 shape,
			     s64 ret)
{
	struct net_op *o; /* not on the stack: 6.1 allows this chain of calls 512 bytes */
	u32 proc, state;

	if (!c || !k)
		return 0;
	proc = proc_current(c);
	if (proc == PROC_SELF)
		return 0;
	o = __builtin_memset(&c->scratch.net, 0, sizeof(*o));
	o->kind = kind;
	o->ops = 1;
	o->proc = proc;
	o->ts_ns = c->op.ts_ns;
	o->dur_ns = c->op.dur_ns;
	o->tid = current_thread();
	o->err = ret < 0 ? -ret : 0;
	if (shape <= SHAPE_MMSG) {
		o->kind = kind == KIND_NET_SEND ? KIND_SEND_CALL : KIND_RECV_CALL;
		net_moved(k, o, shape, ret);
	} else {
		net_op_on(o, sock_of_call(k, shape, ret),
			  shape == SHAPE_CONNECT ? k->arg[1] : 0);
		net_arguments(k, o, shape);
	}
	if (shape == SHAPE_POLL || shape == SHAPE_SELECT || shape == SHAPE_EPOLL_WAIT)
		net_waited(k, o, shape, ret);
	if (ret >= 0 && shape >= SHAPE_ACCEPT && shape <= SHAPE_CONNECT &&
	    o->key.protocol == IPPROTO_TCP)
		o->setup_ns = o->dur_ns;
	net_op_record(o);
	if (ret != -EINPROGRESS || shape != SHAPE_CONNECT)
		return 0;
	state = connect_goes_on(o);
	return state == TCP_SYN_SENT ? 0 : connect_ends(o->sock, state);
}

/* close(2) has returned. */
__noinline int net_close_ends(s64 ret)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct net_op *was = bpf_map_lookup_elem(&net_closing, &tid), o;

	if (!was)
		return 0;
	o = *was;
	bpf_map_delete_elem(&net_closing, &tid);
	o.err = ret < 0 ? -ret : 0;
	if (cfg.latency)
		o.dur_ns = bpf_ktime_get_ns() - o.ts_ns;
	return net_op_record(&o);
}

#endif
