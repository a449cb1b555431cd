// SPDX-License-Identifier: GPL-3.0-only
/* syscall.bpf.c - system calls on files: bytes returned, where, how long. One program walks a table of calls (tracer/probe_rows.c) when
 * they return: its arguments are still in the saved registers, and what it did is known. What a call asked for claims nothing:
 * it may fail, be short, append elsewhere, or come from somebody who may not write. The program at the entry is a clock.
 */
#include "dirty.bpf.h"
#include "file.bpf.h"
#include "filesum.bpf.h"
#include "net.bpf.h"
#include "quick.bpf.h"
#include "readahead.bpf.h"
#include "uring.bpf.h"

/* What a program on raw_syscalls:sys_exit is given (its `format` in tracefs). */
struct exit_event {
	u64 common;
	long id, ret;
};

/* One operation as it is recorded. */
struct op {
	u64 ts_ns, dur_ns, offset, size;
	s64 ret;
	u32 flags, tid;        /* tid: who asked for it, 0 the current thread */
	u8 kind, write;
};

/* The event, after the aggregate was made. Out of line: most runs of the hot path do not come here. */
static __always_inline void op_event(struct task_ctx *c, const struct op *o, u32 proc)
{
	struct iot_ring_event *r = event_reserve(LOSS_EVENT_SYSCALL);

	if (!r)
		return;
	r->e.ts_ns = o->ts_ns;
	r->e.dur_ns = o->dur_ns;
	r->e.offset = o->offset;
	r->e.size = o->size;
	r->e.task = r->e.owner = proc;
	r->e.tid = o->tid ?: current_thread();
	r->e.how = HOW_EXACT;
	r->e.kind = o->kind;
	r->e.flags = o->flags;
	r->e.file = c->seen_file;
	r->e.dev = c->seen_dev;
	r->e.sub = c->seen_type;
	if (o->ret < 0)
		r->e.err = -o->ret;
	else if (o->write != 2)
		r->e.bytes = o->ret;
	if (r->e.bytes < o->size && o->write != 2 && o->ret >= 0)
		r->e.flags |= FLAG_SHORT;
	event_submit(r);
}

/* Aggregate and event of one operation on the file in the context. o->write: 0 read, 1 write, 2 no bytes. */
__noinline int op_record(struct task_ctx *c, struct op *o, u32 proc)
{
	struct iot_cell_key k = {};
	u64 bytes = 0, touched = 0;
	u32 what;

	if (!c || !o)
		return 0;
	k.owner = proc;
	k.dev = c->seen_dev;
	/* its four small fields in one store: loading them at once after storing each stalls */
	what = o->kind | HOW_EXACT << 16 | c->seen_type << 24;
	*(u32 *)&k.kind = what;
	k.flags = o->flags & (o->write == 1 ? FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC : FLAG_DIRECT);
	if (o->ret > 0 && o->write != 2) {
		bytes = o->ret;
		if (o->write && is_storage(c->seen_type))
			touched = blocks_of(o->offset, bytes, c->seen_block);
	}
	if (c->cell_key.owner != k.owner || c->cell_key.dev != k.dev || *(u32 *)&c->cell_key.kind != what ||
	    c->cell_key.flags != k.flags || !k.owner) {
		c->cell = cell_find(&k);
		c->cell_key = k;
	}
	cell_add(c->cell, 1, bytes, touched, o->dur_ns, o->ret < 0);
	hist_add(proc, k.kind, k.sub, o->dur_ns);
	if (!o->write && !(o->flags & FLAG_DIRECT))
		ra_used(c->seen_host, o->offset, o->ret);
	if (wants_event(proc))
		op_event(c, o, proc);
	return 0;
}

/* A call of the current thread: the same, and what it adds to its file's sums. */
__noinline int call_record(struct task_ctx *c, struct op *o, u32 proc)
{
	if (!c || !o)
		return 0;
	op_record(c, o, proc);
	filesum_call(c, proc, o->kind, o->write, o->ret > 0 && o->write != 2 ? o->ret : 0, o->flags);
	return 0;
}

/* A call wrote bytes [off, off + len) of the context's file through the page cache. */
__noinline int written(struct task_ctx *c, u64 off, u64 len, u32 proc)
{
	return c ? wrote((struct inode *)c->seen_host, c->seen_type == SUB_FT_BLK ? c->seen_file : 0, off, len, proc) : 0;
}

/* What an operation wrote in the context's file. */
static __always_inline struct wrote_at *wrote_by(struct task_ctx *c, const struct op *o, u32 proc)
{
	struct wrote_at *w = wrote_of(c);

	w->off = o->offset;
	w->len = o->ret > 0 ? o->ret : 0;
	w->block = c->seen_block ?: PAGE_SIZE;
	w->ts_ns = o->ts_ns;
	w->proc = proc;
	return w;
}

/* What turned dirty beside what a call wrote. */
static __always_inline void wrote_beside(struct task_ctx *c, const struct op *o, u32 proc)
{
	if (c->fresh_inode && c->fresh_inode == c->seen_host)
		fresh_beside(c, wrote_by(c, o, proc));
}

#include "aio.bpf.h"

/* A descriptor's file into the context; no file: type other. */
static __always_inline struct file *see_fd(struct task_ctx *c, s32 fd)
{
	struct file *f = fd < 0 ? NULL : file_of(fd);

	if (f) {
		file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
		return f;
	}
	c->seen_inode = 0;
	c->seen_type = SUB_FT_OTHER;
	c->seen_dev = c->seen_file = 0;
	return NULL;
}

/* Bytes that a call moved on the socket behind `file`. Out of line: files do not come here. */
__noinline int socket_call(u64 file, u32 proc, u16 kind, s64 bytes)
{
	struct socket_use u = { .bytes = bytes, .proc = proc, .kind = kind, .derived = 1 };

	if (!file || bytes <= 0)
		return 0;
	u.sock = sock_of((struct file *)file);
	return u.sock ? socket_used(&u) : 0;
}

/* The offset at which a call on an open file moved its bytes, after it returned `ret`. */
static __always_inline u64 offset_of(struct task_ctx *c, struct file *f, const struct call *k, const struct op *o, u8 shape)
{
	bool positional = shape == SHAPE_PRW || shape == SHAPE_PRWV || (shape == SHAPE_PRWV2 && (s64)k->arg[3] != -1);
	u64 ret = o->ret > 0 ? o->ret : 0;

	if (!positional)
		return NUMBER_AT(f, struct file, f_pos) - ret;
	if (o->write && o->flags & FLAG_APPEND && ret) /* appends, whatever the offset: the end of the file is behind it */
		return NUMBER_AT(c->seen_host, struct inode, i_size) - ret;
	return k->arg[3];
}

/* read, write and their relatives. */
static __always_inline int exit_rw(struct task_ctx *c, const struct call *k, struct op *o, u8 shape, u32 proc)
{
	struct file *f;
	bool storage;

	if (!c || !k || !o)
		return 0;
	f = see_fd(c, k->arg[0]);
	storage = f && is_storage(c->seen_type);
	o->size = k->arg[2];
	if (shape >= SHAPE_RWV)
		o->size = o->ret > 0 ? o->ret : 0; /* the vector's length is not worth reading it again */
	if (f)
		o->flags = flags_of(NUMBER_AT(f, struct file, f_flags));
	if (shape == SHAPE_PRWV2)
		o->flags = flags_of_call(o->flags, k->arg[5]);
	if (storage)
		o->offset = offset_of(c, f, k, o, shape);
	call_record(c, o, proc);
	if (o->write && o->ret > 0 && storage && !(o->flags & FLAG_DIRECT))
		written(c, o->offset, o->ret, proc);
	if (o->write)
		wrote_beside(c, o, proc);
	if (cfg.sockets == SOCKETS_ALL && c->seen_type == SUB_FT_SOCK)
		socket_call((u64)f, proc, o->write ? KIND_NET_SEND : KIND_NET_RECV, o->ret);
	return 0;
}

/* sendfile, splice, copy_file_range: one record for each side that is a file. */
__noinline int exit_two(struct task_ctx *c, const struct call *k, struct op *o, u32 sends, u32 proc)
{
	/* sends: out, in, offset of in, size; else in, its offset, out, its offset, size */
	struct file *f;
	u64 pos;
	u8 kind;

	if (!c || !k || !o)
		return 0;
	kind = o->kind;
	o->size = k->arg[sends ? 3 : 4];
	for (int side = 0; side < 2; side++) {
		u64 user = sends ? (side ? 0 : k->arg[2]) : (side ? k->arg[3] : k->arg[1]);

		f = see_fd(c, sends ? (side ? k->arg[0] : k->arg[1]) : (side ? k->arg[2] : k->arg[0]));
		o->kind = kind + side;
		o->write = side;
		o->offset = 0;
		o->flags = f ? flags_of(BPF_CORE_READ(f, f_flags)) : 0;
		if (f && is_storage(c->seen_type)) {
			/* the position moved on: in the caller's variable when there is one, else in the file */
			pos = BPF_CORE_READ(f, f_pos);
			if (user)
				bpf_probe_read_user(&pos, sizeof(pos), (void *)user);
			o->offset = o->ret > 0 ? pos - o->ret : pos;
		}
		call_record(c, o, proc);
		if (side && f && o->ret > 0 && is_storage(c->seen_type))
			written(c, o->offset, o->ret, proc);
		if (side)
			wrote_beside(c, o, proc);
		if (!cfg.sockets || !f || c->seen_type != SUB_FT_SOCK)
			continue;
		if (cfg.sockets == SOCKETS_ALL || (!side && splices_itself(f)))
			socket_call((u64)f, proc, side ? KIND_NET_SEND : KIND_NET_RECV, o->ret);
	}
	return 0;
}

/* The beginning of struct msghdr of the user interface, its size in struct mmsghdr, and where that has the bytes moved. */
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

/* The peer's address that a message header names, or 0. */
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

/* sendto, sendmsg, sendmmsg and their readers: datagrams, whose peer the call names; every socket where nothing else tells
 * of its bytes. */
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

/* Calls that move no bytes. False: nothing to record. */
static __always_inline bool exit_plain(struct task_ctx *c, const struct call *k, struct op *o, u8 shape, s64 ret)
{
	o->write = 2;
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
			c->seen_type = SUB_NONE; /* nothing says that it is no file */
		break;
	case SHAPE_MMAP:
		if ((s32)k->arg[4] < 0)
			return false; /* anonymous memory */
		see_fd(c, k->arg[4]);
		o->offset = k->arg[5];
		o->size = k->arg[1];
		ra_mapped(c->seen_host, o->offset, o->size);
		if (ret > 0)
			o->ret = 0;
		break;
	case SHAPE_CLOSE:
		if (!cfg.events)
			see_fd(c, -1);
		break; /* else the file was seen at the entry */
	default:
		c->seen_inode = 0;
		c->seen_type = SUB_NONE;
		c->seen_dev = c->seen_file = 0;
	}
	return true;
}

/* io_uring was used, and its layer is not recorded. */
static __always_inline void uring_unseen(u32 proc)
{
	struct iot_cell_key k = { .owner = proc, .kind = KIND_URING_OTHER, .how = HOW_EXACT };

	count(&k, 1, 0, 0, false);
}

/* How long the call took that the current thread returns from, and when it began; 0 where it was not timed. */
static __always_inline u64 clock_stop(struct thread *th, u32 tid, u64 *began_ns)
{
	u64 was;

	if (!th || th->clock < IOT_SAMPLE)
		return 0;
	was = th->clock;
	th->clock = 0;
	if (was >> CLOCK_SHIFT != tid / THREAD_SLOTS)
		return 0; /* another thread's */
	*began_ns = was & ((1ULL << CLOCK_SHIFT) - 1);
	return bpf_ktime_get_ns() - *began_ns;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscall__enter, struct pt_regs *regs, long id)
{
	struct thread *th;
	u32 tid;
	u8 shape;

	if ((u64)id >= IOT_MAX_SYSCALL)
		return 0;
	shape = calls[id].shape;
	if (!shape || shape >= SHAPE_URING || !gate_open())
		return 0;
	tid = bpf_get_current_pid_tgid();
	th = thread_of(tid);
	if (!th)
		return 0;
	if (cfg.latency == LATENCY_SAMPLED && shape <= SHAPE_SPLICE) {
		u64 n = th->clock < IOT_SAMPLE ? th->clock + 1 : 1;

		if (n < IOT_SAMPLE) {
			th->clock = n;
			return 0;
		}
	}
	if (cfg.events && shape == SHAPE_CLOSE) { /* the only thing that is gone at the exit: the descriptor */
		struct task_ctx *c = ctx_make();

		if (c)
			see_fd(c, regs_arg0(regs));
	}
	th->clock = (u64)(tid / THREAD_SLOTS) << CLOCK_SHIFT | bpf_ktime_get_ns();
	return 0;
}

/* Since 7.0 a thread can be preempted inside a tp_btf program of a system call, and the kernel skips the program for
 * every other thread on that processor until the first goes on: one call in six, where processes take turns. There a
 * second copy of the program follows (`again`), attached in the older way, which disables preemption; it does the
 * work when the first was skipped. Both skipped is a loss.
 */
static __always_inline bool done_before(struct task_ctx *c, bool again)
{
	bool done = again && c->ended;

	if (cfg.again)
		c->ended = !again;
	return done;
}

/* 32-bit calls have other numbers. These read and write. */
static __always_inline bool compat_moves(u64 nr)
{
	switch (nr) {
	case 3: case 4: case 145: case 146: case 180: case 181: case 187: case 239: case 313: case 333: case 334: case 377: case 378: case 379:
		return true;
	}
	return false;
}

/* They are a loss when they moved bytes of a process that is wanted. */
__noinline int compat_ends(struct task_ctx *c, u64 nr, s64 ret)
{
	if (c && ret > 0 && compat_moves(nr) && proc_current(c) >= PROC_FIRST)
		lose(LOSS_COMPAT);
	return 0;
}

/* When a call began, and how long it took; 0 where it was not timed. */
struct timed {
	u64 ts_ns, dur_ns;
};

/* The event of a quick call. Out of line: most runs of the hot path do not come here. */
__noinline int quick_event(struct quick *q, const struct timed *when, u64 offset, u64 size, s64 ret)
{
	struct iot_ring_event *r;

	if (!q || !when)
		return 0;
	r = event_reserve(LOSS_EVENT_SYSCALL);
	if (!r)
		return 0;
	r->e.ts_ns = when->dur_ns ? when->ts_ns : bpf_ktime_get_ns();
	r->e.dur_ns = when->dur_ns;
	r->e.offset = offset;
	r->e.size = size;
	r->e.bytes = ret;
	r->e.task = r->e.owner = q->proc;
	r->e.tid = cfg.pid_level ? current_thread() : q->tid;
	r->e.how = HOW_EXACT;
	r->e.kind = q->kind;
	r->e.flags = q->flags | (ret < size ? FLAG_SHORT : 0);
	r->e.file = q->file;
	r->e.dev = q->dev;
	r->e.sub = q->type;
	event_submit(r);
	return 0;
}

/* Where a quick call moved its bytes. */
static __always_inline u64 quick_offset(const struct quick *q, struct file *f, const struct pt_regs *regs, s64 ret)
{
	return q->shape == SHAPE_PRW ? regs_arg3(regs) : NUMBER_AT(f, struct file, f_pos) - ret;
}

/* Counts a call that is like an earlier one of its thread. False: it is not. Out of line: its stack is not that of the others. */
static __noinline bool quick_call(struct task_struct *t, struct thread *th, const struct pt_regs *regs, u64 nr, s64 ret)
{
	u8 write = calls[nr & (IOT_MAX_SYSCALL - 1)].write;
	u32 tid = t->pid, fd = regs_arg0(regs);
	struct quick *q = quick_of(tid, fd, write);
	struct iot_state *s = run_state();
	struct iot_filesum *sum;
	struct timed when = {};
	u64 offset = 0, touched = 0;
	struct task_ctx *c;
	struct inode *i;
	struct file *f;

	if (!q || !s || q->tid != tid || q->stamp != th->stamp || q->nr != nr || q->epoch != s->sum_epoch)
		return false;
	f = file_of_task(t, fd);
	if (!f || q->open_flags != NUMBER_AT(f, struct file, f_flags))
		return false;
	i = (struct inode *)POINTER_AT(f, struct file, f_inode);
	if (q->inode != (u64)i || q->ino != inode_number(i) || q->gen != inode_generation(i))
		return false;
	if (write && q->block) {
		if (!is_sole(th, t, q->host))
			return false;
		offset = quick_offset(q, f, regs, ret);
		touched = ret ? blocks_of(offset, ret, q->block) : 0;
	} else if (ra_waits(q->host)) {
		return false;
	}
	if (cfg.latency)
		when.dur_ns = clock_stop(th, tid, &when.ts_ns);
	c = touched ? ctx_find() : NULL;
	if (c && c->fresh_inode && c->fresh_inode == q->host) {
		struct wrote_at *w = wrote_of(c);

		w->off = offset;
		w->len = ret;
		w->block = q->block;
		w->ts_ns = when.ts_ns;
		w->proc = q->proc;
		fresh_beside(c, w);
	}
	th->rchar = t->ioac.rchar;
	cell_add(q->cell, 1, ret, touched, when.dur_ns, false);
	hist_add(q->proc, q->kind, q->type, when.dur_ns);
	sum = q->sum == QUICK_NO_SUM ? NULL : bpf_map_lookup_elem(&filesums, &q->sum);
	if (sum) {
		sum_add(write ? &sum->write_ops : &sum->read_ops, 1);
		sum_add(write ? &sum->write_bytes : &sum->read_bytes, ret);
	}
	if (wants_event(q->proc))
		quick_event(q, &when, is_storage(q->type) ? quick_offset(q, f, regs, ret) : 0, regs_arg2(regs), ret);
	return true;
}

/* The call that was just recorded was one that the next can be like. */
static __always_inline void quick_learn(struct task_ctx *c, struct task_struct *t, const struct call *k, struct op *o, u8 shape, u32 proc)
{
	bool storage = is_storage(c->seen_type), writes = o->write && storage;
	struct iot_state *s = run_state();
	struct thread *th;
	struct quick *q;
	struct file *f;

	if (cfg.again || shape > SHAPE_PRW || !c->seen_inode || !proc || c->cell_key.owner != proc || c->cell >= IOT_MAX_CELLS ||
	    o->ret < 0 || (cfg.sockets == SOCKETS_ALL && c->seen_type == SUB_FT_SOCK))
		return;
	if (writes && (c->seen_type != SUB_FT_REG || o->ret == 0 || o->flags & (FLAG_DIRECT | FLAG_SYNC | FLAG_DSYNC) ||
		       (shape == SHAPE_PRW && o->flags & FLAG_APPEND)))
		return;
	th = thread_take(t);
	q = quick_of(t->pid, k->arg[0], o->write);
	f = file_of_task(t, k->arg[0]);
	if (!th || !q || !s || !f)
		return;
	q->tid = 0;
	q->inode = c->seen_inode;
	q->ino = c->seen_ino;
	q->gen = c->seen_gen;
	q->open_flags = NUMBER_AT(f, struct file, f_flags);
	q->host = !storage || o->flags & FLAG_DIRECT ? 0 : c->seen_host;
	q->block = writes ? c->seen_block : 0;
	q->epoch = s->sum_epoch;
	q->cell = c->cell;
	q->sum = storage && filesum_wanted(proc) ? c->sum_slot : QUICK_NO_SUM;
	q->proc = proc;
	q->file = c->seen_file;
	q->dev = c->seen_dev;
	q->flags = o->flags;
	q->nr = k->nr;
	q->shape = shape;
	q->kind = o->kind;
	q->write = o->write;
	q->type = c->seen_type;
	q->stamp = th->stamp;
	q->tid = t->pid;
}

static __always_inline int call_ends(const struct pt_regs *regs, u64 nr, long ret, bool again)
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
	row = &calls[nr];
	shape = row->shape;
	if ((!shape && !compat_moves(nr)) || !gate_open())
		return 0;
	t = current_task();
	if (!shape && !task_is_compat(t))
		return 0;
	th = thread_of(t->pid);
	if (shape <= SHAPE_PRW && ret >= 0 && th && th->task == (u64)t && !task_is_compat(t) && quick_call(t, th, regs, nr, ret))
		return 0;
	if (t->tgid == cfg.self_pid)
		return 0;
	c = ctx_make();
	if (!c || done_before(c, again))
		return 0;
	if (task_is_compat(t))
		return compat_ends(c, nr, ret);
	k = (struct call *)c->regs; /* not on the stack, which calls of libaio need */
	o = (struct op *)c->op;
	__builtin_memset(o, 0, sizeof(*o));
	call_of_regs(k, regs);
	c->range_known = 0;
	o->kind = row->kind;
	if (shape >= SHAPE_TO)
		return exit_message(c, k, shape, o->kind, ret);
	proc = proc_current(c);
	if (cfg.latency)
		o->dur_ns = clock_stop(th, t->pid, &o->ts_ns);
	if (cfg.events && !o->dur_ns)
		o->ts_ns = bpf_ktime_get_ns();
	o->ret = ret;
	o->write = row->write;
	if (shape <= SHAPE_SPLICE)
		c->rchar = t->ioac.rchar;
	switch (shape) {
	case SHAPE_RW:
	case SHAPE_PRW:
	case SHAPE_RWV:
	case SHAPE_PRWV:
	case SHAPE_PRWV2:
		exit_rw(c, k, o, shape, proc);
		quick_learn(c, t, k, o, shape, proc);
		return 0;
	case SHAPE_SENDFILE:
		return exit_two(c, k, o, true, proc);
	case SHAPE_SPLICE:
		return exit_two(c, k, o, false, proc);
	case SHAPE_AIO_SUBMIT:
		aio_submitted(c, k, ret, proc, o->dur_ns ? o->ts_ns : 0);
		break;
	case SHAPE_AIO_REAP:
		aio_reaped(c, k, ret);
		break;
	case SHAPE_URING:
		if (row->instead && ret > 0)
			uring_unseen(proc);
		uring_settle(c);
		return 0;
	case SHAPE_ADVISE:
		return 0;
	}
	if (c->aio_ring && shape < SHAPE_AIO_SUBMIT)
		aio_passing(c);
	if (exit_plain(c, k, o, shape, ret))
		call_record(c, o, proc);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall__exit, struct pt_regs *regs, long ret)
{
	return call_ends(regs, regs_nr(regs), ret, false);
}

SEC("tp/raw_syscalls/sys_exit")
int syscall__exit_again(struct exit_event *e)
{
	return call_ends(current_regs(), e->id, e->ret, true);
}
