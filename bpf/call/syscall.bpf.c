// SPDX-License-Identifier: GPL-3.0-only
/* syscall.bpf.c - system calls on files: bytes returned, offset, duration. One program walks a
 * table of calls (tracer/probe/probe_rows.c) when they return: the arguments are still in the saved
 * registers, and the result is known. The arguments alone claim nothing: a call may fail, be short,
 * append elsewhere, or come from a process that may not write. The program at the entry is only a
 * clock.
 */
#include "aio.bpf.h"
#include "ext4_inode.bpf.h"
#include "folio.bpf.h"
#include "net_call.bpf.h"
#include "remote_write.bpf.h"
#include "fastpath.bpf.h"
#include "uring.bpf.h"
#include "whole.bpf.h"

/* The context of a program on raw_syscalls:sys_enter or sys_exit (its `format` in tracefs); ret: of
 * the latter. */
struct call_event {
	u64 common;
	long id, ret;
};

/* Fills in the context's file from a descriptor; no file: type other. */
static __always_inline struct file *see_fd(struct task_ctx *c, s32 fd)
{
	struct file *f = fd < 0 ? NULL : file_of(fd);

	if (f) {
		file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
		return f;
	}
	c->seen.inode = 0;
	c->seen.type = SUB_FT_OTHER;
	c->seen.dev = c->seen.file = 0;
	return NULL;
}

/* True when the context's file is on overlayfs: its pages are those of a file below. */
static __always_inline bool is_overlaid(const struct task_ctx *c, struct file *f)
{
	return f && c->seen.host != c->seen.inode &&
	       is_on((struct inode *)POINTER_AT(f, struct file, f_inode), OVERLAYFS_SUPER_MAGIC);
}

/* The offset at which a call on an open file moved its bytes, after it returned. */
static __always_inline u64 offset_of(struct task_ctx *c, struct file *f, const struct call *k,
				     const struct op *o, u8 shape)
{
	u64 ret = o->ret > 0 ? o->ret : 0;

	if (!is_positional(shape, k))
		return NUMBER_AT(f, struct file, f_pos) - ret;
	/* an append ignores the offset: the end of the file is behind it */
	if (o->write && o->flags & FLAG_APPEND && ret)
		return NUMBER_AT(c->seen.host, struct inode, i_size) - ret;
	return k->arg[3];
}

/* An operation wrote through the page cache, or into an inode. */
static __always_inline void wrote_here(struct task_ctx *c, const struct op *o, u32 proc)
{
	if (!REDUCED)
		c->inlined = wrote_data(c->seen.host, c->seen.type == SUB_FT_BLK ? c->seen.file : 0,
					o->offset, o->ret, c->seen.block, proc);
}

/* read(), write() and their relatives. */
static __always_inline int exit_rw(struct task_ctx *c, const struct call *k, struct op *o, u8 shape,
				   u32 proc)
{
	struct file *f;
	bool storage;

	if (!c || !k || !o)
		return 0;
	f = see_fd(c, k->arg[0]);
	storage = f && is_storage(c->seen.type);
	o->size = k->arg[2];
	if (shape >= SHAPE_RWV)
		o->size = o->ret > 0 ? o->ret : 0; /* the vector is not read again for its length */
	if (f)
		o->flags = flags_of(NUMBER_AT(f, struct file, f_flags));
	if (VFS_WHOLE && shape == SHAPE_PRWV2)
		o->arg = k->arg[5];
	/* overlayfs does not pass RWF_NOAPPEND down: the file below appends */
	if (shape == SHAPE_PRWV2)
		o->flags = flags_of_call(o->flags,
					 is_overlaid(c, f) ? k->arg[5] & ~RWF_NOAPPEND : k->arg[5]);
	if (storage)
		o->offset = offset_of(c, f, k, o, shape);
	if (o->flags & FLAG_DIRECT && o->write && o->ret > 0 && storage && !REDUCED &&
	    (went_through_cache(c, c->seen.host, o->offset) ||
	     is_indirect(c->seen.host, o->offset))) {
		o->flags &= ~FLAG_DIRECT;
		o->queue_ns = o->queue_ns ?: dirtied_after(&c->direct.ns, o->ts_ns);
	}
	call_record(c, o, proc);
	if (o->write && o->ret > 0 && storage && !(o->flags & FLAG_DIRECT))
		wrote_here(c, o, proc);
	if (o->write)
		wrote_beside(c, o, proc);
	if (!REDUCED && o->write && c->seen.type == SUB_FT_PSEUDO)
		c->inlined = remote_written_by_call(c, proc);
	if (!REDUCED && cfg.sockets == SOCKETS_ALL && c->seen.type == SUB_FT_SOCK)
		socket_call((u64)f, proc, o->write ? KIND_NET_SEND : KIND_NET_RECV, o->ret);
	return 0;
}

__noinline int is_cached(u64 inode, u64 off)
{
	return !!folio_at(POINTER_AT(inode, struct inode, i_mapping), off >> PAGE_SHIFT);
}

/* A copy_file_range() wrote, or the file system shared the extents, which leaves nothing of them
 * in the page cache. Either writes back dirty pages first, and the old end of the file may be
 * zeroed. */
static __always_inline void copy_ends(struct task_ctx *c, struct file *f, struct op *o)
{
	u64 after = dirtied_after(&c->copy.ns, o->ts_ns);

	if (o->ret <= 0 || o->kind != KIND_COPY_OUT)
		return;
	if (is_overlaid(c, f)) {
		c->apart.read += o->ret;
		c->apart.wrote += o->ret;
	}
	if (!(o->flags & FLAG_DIRECT) && !is_cached(c->seen.host, o->offset + o->ret - 1))
		o->flags |= FLAG_SHARED;
	else
		o->queue_ns = after ?: o->queue_ns;
}

/* sendfile(), splice(), copy_file_range(): one record for each side that is a file. */
__noinline int exit_two(struct task_ctx *c, const struct call *k, struct op *o, u32 sends, u32 proc)
{
	/* sends: out, in, offset of in, size; else in, its offset, out, its offset, size */
	struct file *f;
	u64 pos, queue_ns;
	u8 kind;

	if (!c || !k || !o)
		return 0;
	kind = o->kind;
	queue_ns = o->queue_ns;
	o->size = k->arg[sends ? 3 : 4];
	if (VFS_WHOLE && kind == KIND_SPLICE_IN)
		o->arg = k->arg[5];
	for (int side = 0; side < 2; side++) {
		u64 user = sends ? (side ? 0 : k->arg[2]) : (side ? k->arg[3] : k->arg[1]);

		f = see_fd(c, sends ? (side ? k->arg[0] : k->arg[1]) :
			   (side ? k->arg[2] : k->arg[0]));
		o->kind = kind + side;
		o->write = side;
		o->queue_ns = side ? queue_ns : 0;
		o->offset = 0;
		o->flags = f ? flags_of(BPF_CORE_READ(f, f_flags)) : 0;
		if (f && is_storage(c->seen.type)) {
			/* the position has moved: in the caller's variable if there is one, else in
			 * the file */
			pos = BPF_CORE_READ(f, f_pos);
			if (user)
				bpf_probe_read_user(&pos, sizeof(pos), (void *)user);
			o->offset = o->ret > 0 ? pos - o->ret : pos;
			if (!REDUCED && side)
				copy_ends(c, f, o);
		}
		call_record(c, o, proc);
		if (side && f && o->ret > 0 && is_storage(c->seen.type) &&
		    !(o->flags & FLAG_SHARED))
			wrote_here(c, o, proc);
		if (side)
			wrote_beside(c, o, proc);
		if (REDUCED || !cfg.sockets || !f || c->seen.type != SUB_FT_SOCK)
			continue;
		if (cfg.sockets == SOCKETS_ALL || (!side && splices_itself(f)))
			socket_call((u64)f, proc, side ? KIND_NET_SEND : KIND_NET_RECV, o->ret);
	}
	return 0;
}

/* Calls that move no bytes. False: nothing to record. */
static __always_inline bool exit_plain(struct task_ctx *c, const struct call *k, struct op *o,
				       u8 shape, s64 ret)
{
	o->write = MOVES_NOTHING;
	switch (shape) {
	case SHAPE_FD:
		see_fd(c, k->arg[0]);
		break;
	case SHAPE_FTRUNCATE:
		see_fd(c, k->arg[0]);
		o->offset = k->arg[1];
		break;
	case SHAPE_FALLOCATE:
		see_fd(c, k->arg[0]);
		o->offset = k->arg[2];
		o->size = k->arg[3];
		break;
	case SHAPE_OPEN:
		see_fd(c, ret);
		if (ret < 0)
			c->seen.type = SUB_NONE; /* its type is not known */
		break;
	case SHAPE_MMAP:
		if ((s32)k->arg[4] < 0)
			return false; /* anonymous memory */
		see_fd(c, k->arg[4]);
		o->offset = k->arg[5];
		o->size = k->arg[1];
		if (!REDUCED)
			ra_mapped(c->seen.host, o->offset, o->size);
		if (ret > 0)
			o->ret = 0;
		break;
	case SHAPE_CLOSE:
		if (!cfg.events)
			see_fd(c, -1);
		break; /* else the file was resolved at the entry */
	case SHAPE_WHOLE:
		if (!REDUCED)
			break; /* whole_call() */
	case SHAPE_UNLINKAT:
		if (shape == SHAPE_UNLINKAT && k->arg[2] & AT_REMOVEDIR)
			o->kind = KIND_RMDIR;
	default:
		c->seen.inode = 0;
		c->seen.type = SUB_NONE;
		c->seen.dev = c->seen.file = 0;
	}
	return true;
}

/* io_uring was used, and its layer is not traced. */
static __noinline int uring_unseen(u32 proc)
{
	struct iot_cell_key k = { .owner = proc, .kind = KIND_URING_OTHER, .how = HOW_EXACT };

	if (proc != PROC_OTHER)
		count(&k, 1, 0, 0, false);
	return 0;
}

static __always_inline void uring_entered(struct task_ctx *c, bool unseen, long ret, u32 proc)
{
	if (unseen && ret > 0)
		uring_unseen(proc);
	if (!REDUCED)
		uring_settle(c);
}

/* True when the call that begins is timed. One in IOT_SAMPLE is, each with the same probability
 * whatever was timed before: a program whose calls have a rhythm cannot be in step with the
 * sampling. The highest bits of a linear congruential generator decide (multiplier and increment:
 * Press et al., Numerical Recipes, 1992), one generator for each entry, with a random seed: the
 * first call of a thread has the same probability, and threads are independent. */
static __always_inline bool is_drawn(struct thread *th)
{
	u32 dice = th->dice ?: bpf_get_prandom_u32();

	dice = dice * 1664525 + 1013904223;
	th->dice = dice;
	return dice < (1ULL << 32) / IOT_SAMPLE;
}

/* True for the calls that --latency syncs times. */
static __always_inline bool syncs(u8 kind)
{
	return kind >= KIND_FSYNC && kind <= KIND_MSYNC;
}

/* True for calls that are timed where layer vfs is whole alone. */
static __always_inline bool begins_whole(u8 shape)
{
	return VFS_WHOLE && (shape == SHAPE_WHOLE || shape == SHAPE_ADVISE ||
			     shape == SHAPE_MADVISE);
}

/* twin: as in done_before(); the clock shows that the first copy ran. Sampled calls do not need the
 * copy. */
static __always_inline int call_begins(const struct pt_regs *regs, long id, bool twin)
{
	struct thread *th;
	u64 now;
	u32 tid;
	u8 shape;

	if ((u64)id >= IOT_MAX_SYSCALL)
		return 0;
	shape = call_row(id)->shape;
	if (cfg.latency == LATENCY_SYNCS && !syncs(call_row(id)->kind))
		return 0;
	if (!shape || (shape >= SHAPE_URING && !begins_whole(shape) &&
		       !(NET_WHOLE && shape >= SHAPE_TO) &&
		       !(cfg.events && call_row(id)->kind == KIND_NET_SEND)) || !gate_open())
		return 0;
	tid = bpf_get_current_pid_tgid();
	th = thread_of(tid);
	if (!th || (twin && clock_begin(th) && th->clock >> CLOCK_SHIFT == thread_above(tid)))
		return 0;
	if (cfg.latency == LATENCY_SAMPLED && shape <= SHAPE_SPLICE) {
		if (twin)
			return 0;
		if (!is_drawn(th)) {
			if (th->clock)
				th->clock = 0; /* of a call that never returned */
			return 0;
		}
	}
	/* the descriptor is the only thing that is gone at the exit */
	if (cfg.events && shape == SHAPE_CLOSE) {
		struct task_ctx *c = ctx_make();

		if (c)
			see_fd(c, regs_arg0(regs));
	}
	if (VFS_WHOLE && is_munmap(id))
		munmap_begins(regs_arg0(regs));
	now = bpf_ktime_get_ns();
	if (VFS_WHOLE && shape == SHAPE_CLOSE)
		folder_closes(regs_arg0(regs), now);
	th->clock = thread_above(tid) << CLOCK_SHIFT | now;
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscall__enter, struct pt_regs *regs, long id)
{
	return call_begins(regs, id, false);
}

#ifndef IOT_REDUCED
/* --latency syncs: a clock for each of these calls, so that no other call pays for one. The kernel
 * has these tracepoints with CONFIG_FTRACE_SYSCALLS; else syscall__enter is attached. */
static __always_inline int sync_begins(void)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct thread *th = gate_open() ? thread_of(tid) : NULL;

	if (th)
		th->clock = thread_above(tid) << CLOCK_SHIFT | bpf_ktime_get_ns();
	return 0;
}

#define SYNC_CLOCK(call)				\
SEC("tp/syscalls/sys_enter_" #call)			\
int syscall__enter_##call(void *ctx)			\
{							\
	return sync_begins();				\
}

SYNC_CLOCK(fsync)
SYNC_CLOCK(fdatasync)
SYNC_CLOCK(sync)
SYNC_CLOCK(syncfs)
SYNC_CLOCK(sync_file_range)
SYNC_CLOCK(msync)
#endif

static __always_inline void twin_spared(void)
{
	struct iot_state *s = run_state();

	if (s)
		__sync_fetch_and_add(&s->spared, 1);
}

/* Since 7.0 a thread can be preempted inside a tp_btf program of a system call, and the kernel
 * skips the program for every other thread on that processor until the first one continues: one
 * call in six, where processes take turns. There a second copy of the program follows (its twin),
 * attached to the ordinary tracepoint, where preemption is disabled; it does the work when the
 * first copy was skipped. A call that both were skipped for is a loss. A skip of the twin after the
 * first has done the work is none. */
static __always_inline bool done_before(struct task_ctx *c, bool twin)
{
	bool done = twin && c->ended;

	if (cfg.twins) {
		if (!twin && c->ended)
			twin_spared();
		c->ended = !twin;
	}
	return done;
}

/* A 32-bit call has returned. It is a loss when it moved bytes of a selected process, or wrote
 * memory for it; where layer vfs is whole, any is. */
__noinline int compat_ends(struct task_ctx *c, u64 nr, s64 ret)
{
	bool moves = ret > 0 && compat_moves(nr);
	bool pokes = compat_remote_write(nr, ret);

	if (!c || !(moves || pokes || VFS_WHOLE) || proc_current(c) < PROC_FIRST)
		return 0;
	if (moves || pokes)
		lose(moves ? LOSS_COMPAT : LOSS_POKE);
	else
		lose(LOSS_COMPAT_WHOLE);
	return 0;
}

/* A failed execve() has read the begin of the file, which task accounting has and no call returned.
 * A successful one is for core__exec. */
__noinline int exec_ends(struct task_ctx *c, long ret)
{
	struct task_struct *t = current_task();
	struct iot_state *s = run_state();
	u64 last;

	if (!c || !s || !ret)
		return 0;
	last = thread_rchar(t, TASK(t, pid), c->rchar);
	if (last || TASK(t, start_boottime) >= s->boot_ns)
		c->apart.read += TASK(t, ioac.rchar) - last;
	c->rchar = TASK(t, ioac.rchar);
	return 0;
}

static __always_inline void op_timed(struct op *o, struct thread *th, u32 tid)
{
	if (cfg.latency)
		o->dur_ns = clock_stop(th, tid, &o->ts_ns);
	if (!REDUCED && cfg.events && th && o->write)
		o->queue_ns = dirtied_when(th, &o->ts_ns);
	if (cfg.events && !o->ts_ns)
		o->ts_ns = bpf_ktime_get_ns();
}

/* True when the call is counted without the context of its thread, or not at all. */
static __always_inline bool ends_quickly(struct task_struct *t, struct thread *th,
					 const struct pt_regs *regs, u64 nr, long ret)
{
	u8 shape = call_row(nr)->shape;

	if (REDUCED || task_is_compat(t))
		return false;
	if (!VFS_WHOLE && shape == SHAPE_MADVISE && regs_arg2(regs) != MADV_POPULATE_WRITE)
		return true;
	if (VFS_WHOLE && is_idle(nr, regs))
		return clock_drop(th);
	if (shape >= SHAPE_TO)
		return !NET_WHOLE && !cfg.twins && !message_counts(t, regs_arg0(regs), ret) &&
			clock_drop(th);
	return shape <= SHAPE_PRW && ret >= 0 && th && th->task == (u64)t &&
	       fastpath_call(t, th, regs, nr, ret);
}

/* A call that may write the memory of a process has returned. */
static __always_inline int memory_written(struct task_ctx *c, u32 proc)
{
	if (!REDUCED)
		remote_written_by_call(c, proc);
	return 0;
}

/* True for the number of a 32-bit call that matters. */
static __always_inline bool compat_counts(u64 nr)
{
	return VFS_WHOLE || compat_moves(nr) || nr == COMPAT_PTRACE || nr == COMPAT_VM_WRITEV;
}

static __always_inline void aio_ends(struct task_ctx *c, const struct call *k, u8 shape, long ret,
				     u32 proc, u64 ts_ns)
{
	if (shape == SHAPE_AIO_SUBMIT)
		aio_submitted(c, k, ret, proc, ts_ns);
	else
		aio_reaped(c, k, ret);
}

/* A call on sockets has returned. */
static __always_inline int socket_ends(struct task_ctx *c, struct thread *th,
				       const volatile struct iot_syscall *row, long ret)
{
	u8 shape = row->shape;
	struct op *o = &c->op;

	if (shape <= SHAPE_MMSG)
		exit_message(c, &c->regs, shape, o->kind, ret);
	o->dur_ns = clock_stop(th, TASK(CURRENT_TASK, pid), &o->ts_ns);
	return NET_WHOLE ? net_call_ends(c, &c->regs, row->kind, shape, ret) : 0;
}

/* A call that moves no bytes has returned. */
static __always_inline int plain_ends(struct task_ctx *c, const struct call *k, struct op *o,
				      u8 shape, long ret, u32 proc)
{
	if (c->aio.ring && shape < SHAPE_AIO_SUBMIT)
		aio_passing(c);
	if (exit_plain(c, k, o, shape, ret)) {
		if (VFS_WHOLE) {
			whole_call(c);
			if (wants_event(proc))
				whole_paths(c);
		}
		call_record(c, o, proc);
	}
	return NET_WHOLE && shape == SHAPE_CLOSE ? net_close_ends(ret) : 0;
}

static __always_inline int call_ends(const struct pt_regs *regs, u64 nr, long ret, bool twin)
{
	const volatile struct iot_syscall *row;
	struct task_struct *t;
	struct task_ctx *c;
	struct thread *th;
	struct call *k;
	struct op *o;
	u32 proc;
	u8 shape;

	if (nr >= IOT_MAX_SYSCALL)
		return 0;
	row = call_row(nr);
	shape = row->shape;
	if ((!shape && !compat_counts(nr)) || !gate_open())
		return 0;
	t = CURRENT_TASK;
	if (!shape && !task_is_compat(t))
		return 0;
	th = thread_of(TASK(t, pid));
	if (ends_quickly(t, th, regs, nr, ret) || TASK(t, tgid) == cfg.self_pid)
		return 0;
	c = ctx_make();
	if (!c || done_before(c, twin))
		return 0;
	fresh_gather(c, th, t);
	if (task_is_compat(t))
		return compat_ends(c, nr, ret);
	k = &c->regs; /* not on the stack, which libaio calls need */
	o = __builtin_memset(&c->op, 0, sizeof(*o));
	call_of_regs(k, regs);
	c->range.state = RANGE_NOT_ASKED;
	o->kind = row->kind;
	if (shape == SHAPE_EXEC)
		return exec_ends(c, ret);
	if (!REDUCED && shape >= SHAPE_TO)
		return socket_ends(c, th, row, ret);
	if ((proc = proc_current(c)) == PROC_SELF)
		return 0;
	o->write = row->write;
	op_timed(o, th, TASK(t, pid));
	o->ret = ret;
	if (shape <= SHAPE_SPLICE)
		c->rchar = TASK(t, ioac.rchar);
	switch (shape) {
	case SHAPE_RW:
	case SHAPE_PRW:
	case SHAPE_RWV:
	case SHAPE_PRWV:
	case SHAPE_PRWV2:
		exit_rw(c, k, o, shape, proc);
		if (!REDUCED && !(o->write && c->inlined))
			fastpath_learn(c, t, k, o, shape, proc);
		return 0;
	case SHAPE_SENDFILE:
	case SHAPE_SPLICE:
		return exit_two(c, k, o, shape == SHAPE_SENDFILE, proc);
	case SHAPE_AIO_SUBMIT:
	case SHAPE_AIO_REAP:
		aio_ends(c, k, shape, ret, proc, o->dur_ns ? o->ts_ns : 0);
		break;
	case SHAPE_URING:
		uring_entered(c, row->instead, ret, proc);
		return 0;
	case SHAPE_ADVISE:
		if (!VFS_WHOLE)
			return 0;
		break;
	case SHAPE_AIO_DESTROY:
		return aio_destroyed(c, k->arg[0], ret);
	case SHAPE_POKE ... SHAPE_MADVISE:
		if (shape != SHAPE_MADVISE || k->arg[2] == MADV_POPULATE_WRITE)
			memory_written(c, proc);
		if (!VFS_WHOLE || shape != SHAPE_MADVISE)
			return 0;
	}
	return plain_ends(c, k, o, shape, ret, proc);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall__exit, struct pt_regs *regs, long ret)
{
	return call_ends(regs, regs_nr(regs), ret, false);
}

#ifndef IOT_REDUCED
SEC("tp/raw_syscalls/sys_enter")
int syscall__enter_twin(struct call_event *e)
{
	return call_begins(current_regs(), e->id, true);
}

SEC("tp/raw_syscalls/sys_exit")
int syscall__exit_twin(struct call_event *e)
{
	return call_ends(current_regs(), e->id, e->ret, true);
}
#endif
