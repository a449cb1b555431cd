// SPDX-License-Identifier: GPL-3.0-only
/* uring.bpf.c - io_uring requests from submission to completion, on any thread. The threads of a
 * ring belong to its process, so the current process is the owner also in polling threads and
 * workers.
 */
#include "uring_paths.bpf.h"
#include "net.bpf.h"
#include "readahead.bpf.h"
#include "program_copies.bpf.h"

#define SPLICE_FD_IN_FIXED (1U << 31)
#define FFS_MASK 7UL           /* flags in the address of a registered file */
#define FREE_REQUESTS 4096     /* requests of one ring that are walked when it ends */

/* A file that is registered with the ring, by its index; 0: not known. */
static __always_inline u64 registered_file(struct io_ring_ctx *ring, u32 n)
{
	struct io_ring_ctx___array *old = (void *)ring;
	u64 nodes, file = 0;

	if (HAS_URING_NODES) {
		if (n >= BPF_CORE_READ(ring, file_table.data.nr))
			return 0;
		nodes = (u64)BPF_CORE_READ(ring, file_table.data.nodes);
		nodes = pointer_at(nodes + n * sizeof(u64));
		if (nodes)
			file = POINTER_AT(nodes, struct io_rsrc_node, file_ptr);
	} else if (HAS_URING_FILES) {
		if (n >= BPF_CORE_READ(old, nr_user_files))
			return 0;
		nodes = (u64)BPF_CORE_READ(old, file_table.files);
		file = pointer_at(nodes + n * bpf_core_type_size(struct io_fixed_file));
	}
	return file & ~FFS_MASK;
}

static __always_inline u64 submitted_file(struct io_ring_ctx *ring, s32 fd, bool registered)
{
	if (fd < 0)
		return 0;
	return registered ? registered_file(ring, fd) : (u64)file_of(fd);
}

/* The file of a descriptor, or of a registered number, that the request closes or changes. */
static __always_inline void see_closed(struct task_ctx *c, struct io_ring_ctx *ring,
				       struct uring_request *u, s32 fd)
{
	if (fd >= 0 || (u->slot && uring_op(u->opcode)->flags & OP_FD))
		uring_file_see(c, u->slot ? registered_file(ring, u->slot - 1) :
			       (u64)file_of(fd), &u->to);
}

/* The file that a request has opened; 0: not known. */
static __always_inline u64 opened_file(struct io_ring_ctx *ring, const struct uring_request *u,
				       s32 res)
{
	if (u->slot)
		return registered_file(ring, u->slot == ~0U ? res : u->slot - 1);
	return (u64)file_of(res);
}

/* Sets the offset of a request. -1 is the file position; for an append the file determines it. */
static __always_inline void place(struct uring_file *f, u64 offset, bool append)
{
	f->offset = offset;
	if (!is_storage(f->type) || !f->file) {
		f->offset = (s64)offset == -1 ? 0 : offset;
		return;
	}
	if (append) {
		f->moving = 1;
		f->offset = NUMBER_AT(f->host, struct inode, i_size);
	} else if ((s64)offset == -1) {
		f->moving = 1;
		f->offset = NUMBER_AT(f->file, struct file, f_pos);
	}
}

static __always_inline void place_rw(struct task_ctx *c, u64 req, struct uring_request *u)
{
	u64 rw = uring_cmd(req);
	bool append = uring_kind(u->opcode) == KIND_URING_WRITE &&
		      (u->to.flags & FLAG_APPEND ||
		       NUMBER_AT(rw, struct io_rw, flags) & RWF_APPEND);

	place(&u->to, uring_pos(req), append);
	if (!(uring_op(u->opcode)->flags & OP_VECTOR))
		u->size = NUMBER_AT(rw, struct io_rw, len);
}

static __always_inline void place_splice(struct task_ctx *c, u64 req, struct io_ring_ctx *ring,
					 struct uring_request *u)
{
	u64 sp = uring_cmd(req);
	bool registered = NUMBER_AT(sp, struct io_splice, flags) & SPLICE_FD_IN_FIXED;

	place(&u->to, NUMBER_AT(sp, struct io_splice, off_out), false);
	u->size = NUMBER_AT(sp, struct io_splice, len);
	uring_file_see(c, submitted_file(ring, NUMBER_AT(sp, struct io_splice, splice_fd_in),
					 registered), &u->from);
	place(&u->from, NUMBER_AT(sp, struct io_splice, off_in), false);
}

/* The struct is reused, so the earlier request is complete; its result is still there. */
static __always_inline void used_again(u64 req)
{
	struct uring_request *old = uring_find(req);

	if (!old)
		return;
	if (old->multi)
		uring_multi_remove(req, old);
	uring_finish(old, uring_result(req), 0, 0);
	uring_leave(req, old);
}

/* A request that is being submitted: too large for the stack. One for each processor: a program is
 * never entered twice on one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES);
	__type(key, u32);
	__type(value, struct uring_request);
} uring_new SEC(".maps");

/* An empty request of the current thread, whose state becomes *c. NULL: it is not recorded. */
static __always_inline struct uring_request *uring_begin(u64 req, struct task_ctx **c)
{
	struct task_struct *t = current_task();
	struct uring_request *u;
	u32 copy = copy_working();

	if (!req || !gate_open() || t->tgid == cfg.self_pid)
		return NULL;
	*c = ctx_make();
	u = bpf_map_lookup_elem(&uring_new, &copy);
	if (!*c || !u)
		return NULL;
	used_again(req);
	__builtin_memset(u, 0, sizeof(*u));
	u->proc = proc_current(*c);
	u->tid = current_thread();
	filesum_comm(u->comm);
	return u;
}

static __always_inline int submit(struct io_kiocb *r)
{
	u64 req = (u64)r;
	struct io_ring_ctx *ring;
	struct task_ctx *c = NULL;
	struct uring_request *u = uring_begin(req, &c);
	u32 flags;
	bool moves;

	if (!u || !c)
		return 0;
	uring_settle(c);
	ring = (struct io_ring_ctx *)POINTER_AT(req, struct io_kiocb, ctx);
	flags = NUMBER_AT(req, struct io_kiocb, flags);
	u->opcode = NUMBER_AT(req, struct io_kiocb, opcode);
	u->skip = flags >> IOSQE_CQE_SKIP_SUCCESS_BIT & 1;
	u->waits = c->uring.links || flags & 1U << IOSQE_IO_DRAIN_BIT;
	if (uring_whole() && c->uring.links)
		u->flags |= FLAG_LINK;
	c->uring.links = flags & (1U << IOSQE_IO_LINK_BIT | 1U << IOSQE_IO_HARDLINK_BIT);
	if (u->waits || c->uring.links)
		c->uring.chain[INDEX(c->uring.chained++, URING_CHAIN)] = req;
	if (NUMBER_AT(ring, struct io_ring_ctx, flags) & IORING_SETUP_SQPOLL)
		u->flags |= FLAG_SQPOLL;
	moves = uring_op(u->opcode)->flags & OP_MOVES;
	if (moves)
		u->flags |= uring_op(u->opcode)->flags & OP_SPLICE ? 0 :
			flags_of_call(0, NUMBER_AT(uring_cmd(req), struct io_rw, flags));
	u->multi = u->opcode == OP_READ_MULTISHOT;
	if (uring_whole())
		see_closed(c, ring, u, uring_note_entry((u64)ring, req, u, flags));
	if (moves || u->skip)
		uring_file_see(c, submitted_file(ring, NUMBER_AT(req, struct io_kiocb, cqe.fd),
						 flags >> IOSQE_FIXED_FILE_BIT & 1),
			       &u->to);
	if (uring_op(u->opcode)->flags & OP_SPLICE)
		place_splice(c, req, ring, u);
	else if (moves)
		place_rw(c, req, u);
	u->ts_ns = bpf_ktime_get_ns();
	c->uring.req = req;
	c->uring.waits = u->waits;
	if (u->multi)
		uring_multi_add((u64)ring, req, u);
	if (!uring_enter(req, u) && u->proc >= PROC_FIRST && (moves || uring_whole()))
		lose(LOSS_URING_TABLE);
	if (uring_whole() && wants_event(u->proc))
		uring_send_paths(c, req, u);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int PROBE(uring__submit, struct io_kiocb *req)
{
	return submit(req);
}

/* Before 6.4 the tracepoint was called io_uring_submit_sqe, with the request as its first argument
 * since 6.0. */
SEC("tp_btf/io_uring_submit_sqe")
int PROBE(uring__submit_sqe, struct io_kiocb *req)
{
	return submit(req);
}

/* A request that the kernel refuses before it submits it: its completion follows. It has no file,
 * and moves nothing. */
static __always_inline int refuse(const struct io_uring_sqe *entry, u64 req)
{
	struct task_ctx *c = NULL;
	struct uring_request *u = uring_begin(req, &c);

	if (!entry || !u || !c)
		return 0;
	u->ts_ns = bpf_ktime_get_ns();
	uring_refused(c, entry, u);
	if (!uring_enter(req, u) && u->proc >= PROC_FIRST)
		lose(LOSS_URING_TABLE);
	return 0;
}

SEC("tp_btf/io_uring_req_failed")
int PROBE(uring__refused, struct io_uring_sqe *sqe, struct io_kiocb *req)
{
	return refuse(sqe, (u64)req);
}

SEC("tp_btf/io_uring_queue_async_work")
int PROBE(uring__worker, struct io_kiocb *req)
{
	struct uring_request *u;

	if (!gate_open())
		return 0;
	u = uring_find((u64)req);
	if (u)
		u->flags |= FLAG_WORKER;
	return 0;
}

/* The request would have blocked, and waits until its file is ready. */
SEC("tp_btf/io_uring_poll_arm")
int PROBE(uring__poll, struct io_kiocb *req)
{
	struct uring_request *u;

	if (!gate_open())
		return 0;
	u = uring_find((u64)req);
	if (u)
		u->flags |= FLAG_POLLED;
	return 0;
}

/* Counts bytes of a request on a socket, where the socket layer does not report them. */
static __always_inline void socket_done(u64 req, u32 opcode, u32 proc, s32 res, u32 cqe_flags)
{
	struct socket_use u = { .bytes = res, .proc = proc, .kind = uring_op(opcode)->net,
				.derived = 1 };
	u64 f = POINTER_AT(req, struct io_kiocb, file);

	if (!u.kind || !f || cqe_flags & IORING_CQE_F_NOTIF)
		return;
	if ((opcode == IORING_OP_RECVMSG || opcode == IORING_OP_RECV) &&
	    NUMBER_AT(uring_cmd(req), struct io_sr_msg, msg_flags) & (MSG_PEEK | MSG_ERRQUEUE))
		return;
	u.sock = sock_of((struct file *)f);
	if (u.sock)
		socket_used(&u);
}

/* req: 0 where the completion is one of several, and not the last. */
static __always_inline int complete(u64 ring, u64 req, u64 user_data, s32 res, u32 cqe_flags)
{
	struct uring_request *u;
	struct task_ctx *c;
	bool more = !req;
	u64 file;

	if (!gate_open())
		return 0;
	if (more)
		req = uring_multi_of(ring, user_data);
	u = req ? uring_find(req) : NULL;
	if (!u)
		return 0;
	file = POINTER_AT(req, struct io_kiocb, file);
	if (uring_whole() && uring_op(u->opcode)->flags & OP_OPENS && res >= 0)
		file = opened_file((void *)ring, u, res) ?: file;
	/* another file by then: a request that it was linked to opened it */
	if (file && file != u->to.file) {
		c = ctx_make();
		uring_file_see(c, file, &u->to);
	}
	/* linked to one that a worker executed, which goes on with it and does not queue it */
	if (uring_whole() && current_task()->flags & PF_IO_WORKER)
		u->flags |= FLAG_WORKER;
	if (more)
		u->flags |= FLAG_MORE;
	else
		u->flags &= ~FLAG_MORE;
	uring_finish(u, res, uring_op(u->opcode)->flags & OP_SPLICE ? 0 : uring_pos(req),
		     bpf_ktime_get_ns() - u->ts_ns);
	if (cfg.sockets == SOCKETS_ALL && u->to.type == SUB_FT_SOCK && res > 0)
		socket_done(req, u->opcode, u->proc, res, cqe_flags);
	if (more)
		return 0;
	if (u->multi)
		uring_multi_remove(req, u);
	uring_leave(req, u);
	return 0;
}

/* Since 6.15 the completion is passed as an entry of the queue. */
SEC("tp_btf/io_uring_complete")
int PROBE(uring__complete, void *ring_ctx, void *req, struct io_uring_cqe *cqe)
{
	if (!cqe)
		return 0;
	return complete((u64)ring_ctx, (u64)req, BPF_CORE_READ(cqe, user_data),
			BPF_CORE_READ(cqe, res), BPF_CORE_READ(cqe, flags));
}

/* From 6.0 to 6.14 result and flags are arguments. */
SEC("tp_btf/io_uring_complete")
int PROBE(uring__complete_args, void *ring_ctx, void *req, u64 user_data, int res,
	  unsigned int cqe_flags)
{
	return complete((u64)ring_ctx, (u64)req, user_data, res, cqe_flags);
}

/* ---- requests without a reported completion ---- */

struct free_walk {
	u64 node;              /* struct io_wq_work_node of the next free request */
	u64 want;              /* checks whether this one is free; 0: all free ones are finished */
	u32 found;
};

static __always_inline void finish_late(struct uring_request *u, u64 req, u64 pos)
{
	if (u->ts_ns && u->multi)
		uring_multi_remove(req, u);
	if (u->ts_ns)
		uring_finish(u, uring_result(req), pos, 0);
	uring_delete(req);
}

/* One request on a ring's list of free ones: it is complete. */
static long free_one(u32 n, struct free_walk *w)
{
	u64 req = w->node - bpf_core_field_offset(struct io_kiocb, comp_list);
	struct uring_request *u;

	if (!w->node)
		return 1;
	w->node = POINTER_AT(w->node, struct io_wq_work_node, next);
	if (w->want) {
		w->found = w->want == req;
		return w->found;
	}
	u = bpf_map_lookup_elem(&urings, &req);
	if (u)
		finish_late(u, req, uring_pos(req));
	return 0;
}

/* Walks the free requests of a ring. False: there are more than the walk covers. */
static __always_inline bool free_walk(u64 ring, struct free_walk *w)
{
	if (!HAS_URING_FREE_LIST)
		return false;
	w->node = pointer_at(ring +
			     bpf_core_field_offset(struct io_ring_ctx, submit_state.free_list));
	bpf_loop(FREE_REQUESTS, free_one, w, 0);
	if (!w->found && !w->node &&
	    HAS_URING_LOCKED_LIST) {
		w->node = pointer_at(ring +
				     bpf_core_field_offset(struct io_ring_ctx___array,
							   locked_free_list));
		bpf_loop(FREE_REQUESTS, free_one, w, 0);
	}
	return !w->node;
}

/* A ring ends: the memory of its requests is freed. `work`: its work item (io_ring_exit_work()).
 * Called by core__work_begin. */
__noinline int uring_ring_end(u64 work)
{
	struct free_walk w = {};

	if (!cfg.uring || !gate_open() || !HAS_URING_EXIT)
		return 0;
	if (!free_walk(work - bpf_core_field_offset(struct io_ring_ctx, exit_work), &w))
		lose(LOSS_URING_UNSEEN);
	return 0;
}

/* A request that is left at the end of the run: in flight, or without a reported completion. */
static long sweep_one(void *map, u64 *key, struct uring_request *u, void *ctx)
{
	struct free_walk w = { .want = *key };
	bool whole;

	if (!u->ts_ns)
		return 0; /* it has ended */
	if (uring_moved(w.want, u)) {
		finish_late(u, w.want, uring_pos(w.want));
		return 0;
	}
	whole = free_walk(POINTER_AT(w.want, struct io_kiocb, ctx), &w);
	if (w.found)
		finish_late(u, w.want, uring_pos(w.want));
	else if (!whole && u->proc >= PROC_FIRST && uring_op(u->opcode)->flags & OP_MOVES &&
		 is_storage(u->to.type))
		lose(LOSS_URING_UNSEEN);
	return 0;
}

/* Called by the tracer after it has closed the gate. */
SEC("syscall")
int uring__sweep(void *ctx)
{
	bpf_for_each_map_elem(&urings, sweep_one, NULL, 0);
	return 0;
}
