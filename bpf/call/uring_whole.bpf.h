/* SPDX-License-Identifier: GPL-3.0-only */
/* uring_whole.bpf.h - the details of io_uring requests that are recorded where layer uring is
 * traced whole: flags and argument of the submission entry (SQE), and requests with several
 * completions.
 */
#ifndef IOT_URING_WHOLE_BPF_H
#define IOT_URING_WHOLE_BPF_H

#include "uring.bpf.h"

/* The begin of struct io_uring_sqe, by the names of its commonest meaning. */
struct sqe_begin {
	u8 opcode, flags;
	u16 ioprio;
	s32 fd;
	u64 off, addr;
	u32 len, op_flags;     /* op_flags: rw_flags, open_flags, msg_flags, ... */
	u64 user_data;
	u16 buf_index, personality;
	u32 file_index;        /* number of a registered file + 1; 0: none */
};
_Static_assert(__builtin_offsetof(struct io_uring_sqe, rw_flags) ==
	       __builtin_offsetof(struct sqe_begin, op_flags) &&
	       __builtin_offsetof(struct io_uring_sqe, file_index) ==
	       __builtin_offsetof(struct sqe_begin, file_index), "not the layout of an SQE");

/* Bits of the user interface that the installed header may lack. They never change. */
#define RING_SQE128 (1U << 10)
#define RING_NO_SQARRAY (1U << 16)      /* 6.6 */
#define RECV_MULTI (1U << 1)            /* ioprio; 6.0 */
#define SEND_RECV_FIXED_BUF (1U << 2)   /* ioprio; 6.0 */
#define SEND_RECV_BUNDLE (1U << 4)      /* ioprio; 6.10 */
#define ACCEPT_MULTI (1U << 0)          /* ioprio; 5.19 */
#define POLL_MULTI (1U << 0)            /* len; 5.13 */
#define TIMEOUT_MULTI (1U << 6)         /* op_flags; 6.4 */

/* Reads the entry that was taken from the queue last. The queue is memory of the process, which may
 * have changed it since: false where the entry is not that of the request. */
static __always_inline bool sqe_read(u64 ring, u64 req, struct sqe_begin *e)
{
	u32 entries = NUMBER_AT(ring, struct io_ring_ctx, sq_entries);
	u32 flags = NUMBER_AT(ring, struct io_ring_ctx, flags), at;
	u64 array = POINTER_AT(ring, struct io_ring_ctx, sq_array);
	u64 sqes = POINTER_AT(ring, struct io_ring_ctx, sq_sqes);

	at = (NUMBER_AT(ring, struct io_ring_ctx, cached_sq_head) - 1) & (entries - 1);
	if (!(flags & RING_NO_SQARRAY) && array)
		at = (u32)pointer_at(array + at * sizeof(u32));
	if (at >= entries)
		return false;
	if (flags & RING_SQE128)
		at *= 2;
	if (bpf_probe_read_kernel(e, sizeof(*e), (void *)(sqes + at * sizeof(struct io_uring_sqe))))
		return false;
	return e->opcode == NUMBER_AT(req, struct io_kiocb, opcode) &&
	       e->user_data == NUMBER_AT(req, struct io_kiocb, cqe.user_data);
}

static __always_inline bool is_multi(const struct sqe_begin *e)
{
	switch (e->opcode) {
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
		return e->ioprio & (RECV_MULTI | SEND_RECV_BUNDLE);
	case IORING_OP_SEND:
		return e->ioprio & SEND_RECV_BUNDLE;
	case IORING_OP_ACCEPT:
		return e->ioprio & ACCEPT_MULTI;
	case IORING_OP_POLL_ADD:
		return e->len & POLL_MULTI;
	case IORING_OP_TIMEOUT:
		return e->op_flags & TIMEOUT_MULTI;
	case OP_RECV_ZC:
		return true;
	}
	return false;
}

static __always_inline u32 flags_of_entry(const struct sqe_begin *e)
{
	u32 op = uring_op(e->opcode)->flags, flags = 0;

	if (e->flags & IOSQE_ASYNC)
		flags |= FLAG_ASYNC;
	if (e->flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK))
		flags |= FLAG_LINK;
	if (e->flags & IOSQE_IO_DRAIN)
		flags |= FLAG_DRAIN;
	if (e->flags & IOSQE_FIXED_FILE)
		flags |= FLAG_FIXED_FILE;
	if (e->flags & IOSQE_BUFFER_SELECT)
		flags |= FLAG_PROVIDED;
	if (op & OP_BUFFER || (op & OP_BYTES && e->ioprio & SEND_RECV_FIXED_BUF &&
			       uring_op(e->opcode)->net == KIND_NET_SEND))
		flags |= FLAG_FIXED_BUF;
	return flags;
}

/* Fills in flags, argument and size of a request. */
static __always_inline void uring_of_entry(const struct sqe_begin *e, struct uring_request *u)
{
	u32 op = uring_op(e->opcode)->flags;

	u->flags |= flags_of_entry(e);
	u->arg = op & OP_LENGTH ? e->len : e->op_flags;
	if (e->opcode == IORING_OP_OPENAT2) /* struct open_how begins with its flags */
		bpf_probe_read_user(&u->arg, sizeof(u->arg), (void *)e->off);
	if (e->opcode == IORING_OP_UNLINKAT && e->op_flags & AT_REMOVEDIR)
		u->to.type = SUB_FT_DIR;
	if (op & OP_BYTES)
		u->size = e->len;
}

/* Notes what the submission entry of a request says. req_flags: of the request, which has
 * IOSQE_ASYNC also where the kernel has set it, because the operation always needs a worker or
 * another request drains. Returns the descriptor of an operation with OP_FD; -1: none. */
static __noinline int uring_note_entry(u64 ring, u64 req, struct uring_request *u, u32 req_flags)
{
	struct sqe_begin e;

	if (!sqe_read(ring, req, &e))
		return -1;
	uring_of_entry(&e, u);
	if (req_flags & IOSQE_ASYNC && !(e.flags & IOSQE_ASYNC))
		u->flags |= FLAG_BLOCKS;
	u->multi |= is_multi(&e);
	if (uring_op(e.opcode)->flags & (OP_FD | OP_OPENS))
		u->slot = e.file_index;
	return uring_op(e.opcode)->flags & OP_FD && !u->slot ? e.fd : -1;
}

/* Requests with several completions: all but the last are reported without the request, by ring and
 * user_data. */
struct uring_multi_key {
	u64 ring, user_data;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct uring_multi_key);
	__type(value, u64);    /* request */
} uring_multi SEC(".maps");

static __noinline int uring_multi_add(u64 ring, u64 req, struct uring_request *u)
{
	struct uring_multi_key k = { ring, NUMBER_AT(req, struct io_kiocb, cqe.user_data) };

	u->user_data = k.user_data;
	if (bpf_map_update_elem(&uring_multi, &k, &req, BPF_ANY) && u->proc >= PROC_FIRST)
		lose(LOSS_URING_TABLE);
	return 0;
}

static __noinline int uring_multi_remove(u64 req, const struct uring_request *u)
{
	struct uring_multi_key k = { POINTER_AT(req, struct io_kiocb, ctx), u->user_data };

	bpf_map_delete_elem(&uring_multi, &k);
	return 0;
}

/* The request of a completion that is reported without one; 0: not known. */
static __noinline u64 uring_multi_of(u64 ring, u64 user_data)
{
	struct uring_multi_key k = { ring, user_data };
	u64 *req = bpf_map_lookup_elem(&uring_multi, &k);

	return req ? *req : 0;
}

#endif
