// SPDX-License-Identifier: GPL-3.0-only
/* uring.bpf.c - io_uring requests from submission to completion, on whatever thread they run. A ring's threads belong
 * to the process of its owner, so the current process is the owner also for polling threads and workers.
 */
#include "owner.bpf.h"
#include "net.bpf.h"
#include "filesum.bpf.h"

#define IORING_SETUP_SQPOLL 2
#define IORING_CQE_F_MORE 2
#define IORING_CQE_F_NOTIF 8

struct uring_request {
	u64 ts_ns, offset, size;
	u32 proc, tid, flags;
	u32 opcode;
	u64 comm[2];           /* name of the thread that asked */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);      /* request */
	__type(value, struct uring_request);
} urings SEC(".maps");

/* Opcodes are part of the user interface and never change. */
static __always_inline u8 kind_of(u32 opcode)
{
	switch (opcode) {
	case 1:  /* READV */
	case 4:  /* READ_FIXED */
	case 22: /* READ */
		return KIND_URING_READ;
	case 2:  /* WRITEV */
	case 5:  /* WRITE_FIXED */
	case 23: /* WRITE */
		return KIND_URING_WRITE;
	case 3:  /* FSYNC */
	case 8:  /* SYNC_FILE_RANGE */
		return KIND_URING_FSYNC;
	}
	return KIND_URING_OTHER;
}

static __always_inline int submit(struct io_kiocb *req)
{
	struct task_struct *t = current_task();
	struct uring_request u = {};
	struct io_rw *rw;
	u64 key = (u64)req;
	u8 kind;

	if (!req || !gate_open() || t->tgid == cfg.self_pid)
		return 0;
	u.opcode = BPF_CORE_READ(req, opcode);
	kind = kind_of(u.opcode);
	u.proc = proc_current(ctx_make());
	u.tid = bpf_get_current_pid_tgid();
	filesum_comm(u.comm);
	if (BPF_CORE_READ(req, ctx, flags) & IORING_SETUP_SQPOLL)
		u.flags |= FLAG_SQPOLL;
	if (kind == KIND_URING_READ || kind == KIND_URING_WRITE) {
		rw = (struct io_rw *)((u64)req + bpf_core_field_offset(struct io_kiocb, cmd));
		u.offset = BPF_CORE_READ(rw, kiocb.ki_pos);
		u.size = BPF_CORE_READ(rw, len);
		if (u.opcode == 1 || u.opcode == 2)
			u.size = 0; /* the length counts vectors here, not bytes */
	}
	u.ts_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&urings, &key, &u, BPF_ANY))
		lose(LOSS_URING_TABLE);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(uring__submit, struct io_kiocb *req)
{
	return submit(req);
}

/* Before 6.4 the tracepoint was called io_uring_submit_sqe, with the request first since 6.0. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(uring__submit_sqe, struct io_kiocb *req)
{
	return submit(req);
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(uring__worker, struct io_kiocb *req)
{
	u64 key = (u64)req;
	struct uring_request *u;

	if (!gate_open())
		return 0;
	u = bpf_map_lookup_elem(&urings, &key);
	if (u)
		u->flags |= FLAG_WORKER;
	return 0;
}

struct target {
	u32 dev, file, type, flags, block;
};

/* The file of a request; only regular files and block devices have a number. */
static __always_inline void target_see(struct file *f, struct target *t)
{
	struct inode *i;
	u32 mode;

	t->type = SUB_FT_OTHER;
	if (!f)
		return;
	i = BPF_CORE_READ(f, f_inode);
	mode = BPF_CORE_READ(i, i_mode) & S_IFMT;
	t->dev = BPF_CORE_READ(i, i_sb, s_dev);
	if (mode == S_IFSOCK)
		t->type = SUB_FT_SOCK;
	else if (mode == S_IFIFO)
		t->type = SUB_FT_PIPE;
	else if (mode == S_IFREG)
		t->type = SUB_FT_REG;
	else if (mode == S_IFBLK)
		t->type = SUB_FT_BLK;
	if (mode == S_IFBLK)
		t->dev = BPF_CORE_READ(i, i_rdev);
	if (t->type == SUB_FT_REG || t->type == SUB_FT_BLK) {
		t->file = file_number(i);
		t->block = block_bytes(f);
	}
	if (BPF_CORE_READ(f, f_flags) & O_DIRECT)
		t->flags |= FLAG_DIRECT;
}

static __always_inline void done_event(const struct uring_request *u, const struct target *t, u8 kind, u64 now, u64 bytes,
				       s32 res)
{
	struct iot_ring_event *r;

	if (!wants_event(u->proc))
		return;
	r = event_reserve(LOSS_EVENT_URING);
	if (!r)
		return;
	r->e.ts_ns = u->ts_ns;
	r->e.dur_ns = now - u->ts_ns;
	r->e.offset = u->offset;
	r->e.size = u->size ? u->size : bytes;
	r->e.bytes = bytes;
	r->e.task = r->e.owner = u->proc;
	r->e.tid = u->tid;
	r->e.file = t->file;
	r->e.dev = t->dev;
	r->e.flags = u->flags | t->flags | (bytes < u->size && res >= 0 ? FLAG_SHORT : 0);
	r->e.err = res < 0 ? -res : 0;
	r->e.kind = kind;
	r->e.how = HOW_EXACT;
	r->e.sub = t->type;
	event_submit(r);
}

/* Whether an operation sends or receives on a socket. */
static __always_inline u16 socket_kind(u32 opcode)
{
	switch (opcode) {
	case 2:  /* WRITEV */
	case 5:  /* WRITE_FIXED */
	case 9:  /* SENDMSG */
	case 23: /* WRITE */
	case 26: /* SEND */
	case 47: /* SEND_ZC */
	case 48: /* SENDMSG_ZC */
		return KIND_NET_SEND;
	case 1:  /* READV */
	case 4:  /* READ_FIXED */
	case 10: /* RECVMSG */
	case 22: /* READ */
	case 27: /* RECV */
		return KIND_NET_RECV;
	}
	return KIND_NONE;
}

/* Bytes of a request on a socket, where the socket layer does not tell them itself. */
static __always_inline void socket_done(struct io_kiocb *req, u32 opcode, u32 proc, s32 res, u32 cqe_flags)
{
	struct socket_use u = { .bytes = res, .proc = proc, .kind = socket_kind(opcode), .derived = 1 };
	struct file *f = BPF_CORE_READ(req, file);
	struct io_sr_msg *m = (struct io_sr_msg *)((u64)req + bpf_core_field_offset(struct io_kiocb, cmd));

	if (!u.kind || !f || cqe_flags & IORING_CQE_F_NOTIF)
		return;
	if ((opcode == 10 || opcode == 27) && BPF_CORE_READ(m, msg_flags) & (MSG_PEEK | MSG_ERRQUEUE))
		return;
	u.sock = sock_of(f);
	if (u.sock)
		socket_used(&u);
}

static __always_inline int complete(struct io_kiocb *req, s32 res, u32 cqe_flags)
{
	struct iot_cell_key k = {};
	struct uring_request *u;
	struct target t = {};
	u64 key = (u64)req, now, bytes = 0, touched = 0;
	u8 kind;

	if (!req || !gate_open())
		return 0;
	u = bpf_map_lookup_elem(&urings, &key);
	if (!u)
		return 0;
	now = bpf_ktime_get_ns();
	kind = kind_of(u->opcode);
	target_see(BPF_CORE_READ(req, file), &t);
	if (res > 0 && (kind == KIND_URING_READ || kind == KIND_URING_WRITE))
		bytes = res;
	if (kind == KIND_URING_WRITE && bytes && t.file)
		touched = blocks_of(u->offset, bytes, t.block);
	k.owner = u->proc;
	k.dev = t.dev;
	k.kind = kind;
	k.how = HOW_EXACT;
	k.sub = t.type;
	k.flags = t.flags & FLAG_DIRECT;
	cell_add(cell_find(&k), 1, bytes, touched, now - u->ts_ns, res < 0);
	hist_add(u->proc, kind, now - u->ts_ns);
	filesum_async(u->comm, t.file, t.type, u->proc, kind, kind == KIND_URING_READ ? 0 : kind == KIND_URING_WRITE ? 1 : 2, bytes, t.flags);
	done_event(u, &t, kind, now, bytes, res);
	if (cfg.sockets == SOCKETS_ALL && t.type == SUB_FT_SOCK && res > 0)
		socket_done(req, u->opcode, u->proc, res, cqe_flags);
	if (!(cqe_flags & IORING_CQE_F_MORE))
		bpf_map_delete_elem(&urings, &key);
	return 0;
}

/* Since 6.15 the completion comes as an entry of the queue. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring__complete, void *ring_ctx, void *req, struct io_uring_cqe *cqe)
{
	if (!cqe)
		return 0;
	return complete(req, BPF_CORE_READ(cqe, res), BPF_CORE_READ(cqe, flags));
}

/* 6.0 to 6.14: result and flags are arguments. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring__complete_args, void *ring_ctx, void *req, u64 user_data, int res, unsigned int cqe_flags)
{
	return complete(req, res, cqe_flags);
}
