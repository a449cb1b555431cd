/* SPDX-License-Identifier: GPL-3.0-only */
/* socket_call.bpf.h - calls on sockets, where tracepoints do not report their bytes or the peer.
 */
#ifndef IOT_SOCKET_CALL_BPF_H
#define IOT_SOCKET_CALL_BPF_H

#include "net.bpf.h"

/* Counts the bytes that a call moved on the socket of `file`. Out of line: calls on files do not
 * come here. */
__noinline int socket_call(u64 file, u32 proc, u16 kind, s64 bytes)
{
	struct socket_use u = { .bytes = bytes, .proc = proc, .kind = kind, .derived = 1 };

	if (!file || bytes <= 0)
		return 0;
	u.sock = sock_of((struct file *)file);
	return u.sock ? socket_used(&u) : 0;
}

/* The begin of struct msghdr of the user interface, its size in struct mmsghdr, and the offset
 * there of the bytes that moved. */
struct user_msghdr {
	u64 name;
	u32 name_len, pad;
};
#define MSGHDR_BYTES 56
#define MMSGHDR_BYTES 64

struct message_walk {
	struct socket_use use;
	u64 base;
};

/* The address of the peer that a message header names, or 0. */
static __always_inline u64 message_name(u64 header)
{
	struct user_msghdr m;

	return bpf_probe_read_user(&m, sizeof(m), (void *)header) || !m.name_len ? 0 : m.name;
}

static long message_one(u32 n, struct message_walk *w)
{
	u64 header = w->base + n * MMSGHDR_BYTES;
	u32 len = 0;

	if (bpf_probe_read_user(&len, sizeof(len), (void *)(header + MSGHDR_BYTES))) {
		lose(LOSS_NET_UNREAD);
		return 1;
	}
	w->use.name = message_name(header);
	w->use.bytes = len;
	socket_used(&w->use);
	return 0;
}

/* True when exit_message() may count a call on descriptor `fd`. */
static __always_inline bool message_counts(struct task_struct *t, u32 fd, s64 ret)
{
	struct file *f = ret > 0 ? file_of_task(t, fd) : NULL;
	u64 sock = f ? sock_of(f) : 0;

	return sock && (cfg.sockets == SOCKETS_ALL || is_datagram(sock));
}

/* sendto(), sendmsg(), sendmmsg() and their readers: datagrams, whose peer the call names, and all
 * sockets where there is no tracepoint for their bytes. */
__noinline int exit_message(struct task_ctx *c, const struct call *k, u8 shape, u8 kind, s64 ret)
{
	struct message_walk w = { .use = { .kind = kind, .derived = 1 } };
	struct file *f;
	u64 flags;

	if (!c || !k || ret <= 0)
		return 0;
	flags = k->arg[shape == SHAPE_MSG ? 2 : 3];
	f = file_of(k->arg[0]);
	if (!f || (kind == KIND_NET_RECV && flags & (MSG_PEEK | MSG_ERRQUEUE)))
		return 0;
	w.use.sock = sock_of(f);
	if (!w.use.sock || (cfg.sockets != SOCKETS_ALL && !is_datagram(w.use.sock)))
		return 0;
	w.use.proc = proc_current(c);
	w.use.bytes = ret;
	w.base = k->arg[1];
	if (shape == SHAPE_MMSG) {
		bpf_loop(ret & (2 * MAX_MESSAGES - 1), message_one, &w, 0);
		return 0;
	}
	w.use.name = shape == SHAPE_TO ? k->arg[4] : message_name(w.base);
	return socket_used(&w.use);
}

#endif
