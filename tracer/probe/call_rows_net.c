// SPDX-License-Identifier: GPL-3.0-only
/* call_rows_net.c - the system calls that are decoded only where layer net is traced whole.
 *
 * To add a call: a row here, and what bpf/call/net_call.bpf.h says.
 */
#include <sys/syscall.h>
#include "probe_parts.h"

static const struct call_row net_call_rows[] = {
	{ SYS_socket, { KIND_SOCKET, SHAPE_SOCKET, 0 } },
	{ SYS_socketpair, { KIND_SOCKET, SHAPE_SOCKETPAIR, 0 } },
	{ SYS_bind, { KIND_BIND, SHAPE_BIND, 0 } },
	{ SYS_listen, { KIND_LISTEN, SHAPE_LISTEN, 0 } },
	{ SYS_accept, { KIND_ACCEPT, SHAPE_ACCEPT, 0 } },
	{ SYS_accept4, { KIND_ACCEPT, SHAPE_ACCEPT4, 0 } },
	{ SYS_connect, { KIND_CONNECT, SHAPE_CONNECT, 0 } },
	{ SYS_shutdown, { KIND_SHUTDOWN, SHAPE_SHUTDOWN, 0 } },
	{ SYS_setsockopt, { KIND_SETSOCKOPT, SHAPE_SOCKOPT, 0 } },
	{ SYS_getsockopt, { KIND_GETSOCKOPT, SHAPE_SOCKOPT, 0 } },
	{ SYS_ppoll, { KIND_POLL, SHAPE_POLL, 0 } },
	{ SYS_pselect6, { KIND_SELECT, SHAPE_SELECT, 0 } },
	{ SYS_epoll_create1, { KIND_EPOLL_CREATE, SHAPE_EPOLL_CREATE1, 0 } },
	{ SYS_epoll_ctl, { KIND_EPOLL_CTL, SHAPE_EPOLL_CTL, 0 } },
	{ SYS_epoll_pwait, { KIND_EPOLL_WAIT, SHAPE_EPOLL_WAIT, 0 } },
	{ SYS_epoll_pwait2, { KIND_EPOLL_WAIT, SHAPE_EPOLL_WAIT, 0 } },
#ifdef SYS_poll /* calls that newer architectures do not have */
	{ SYS_poll, { KIND_POLL, SHAPE_POLL, 0 } },
	{ SYS_select, { KIND_SELECT, SHAPE_SELECT, 0 } },
	{ SYS_epoll_create, { KIND_EPOLL_CREATE, SHAPE_EPOLL_CREATE, 0 } },
	{ SYS_epoll_wait, { KIND_EPOLL_WAIT, SHAPE_EPOLL_WAIT, 0 } },
#endif
};

void net_calls_fill(struct iot_syscall *calls)
{
	for (size_t i = 0; i < N_OF(net_call_rows); i++)
		calls[net_call_rows[i].nr] = net_call_rows[i].call;
}
