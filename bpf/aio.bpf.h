/* SPDX-License-Identifier: GPL-3.0-only */
/* aio.bpf.h - libaio: requests from io_submit to the call that reaps them. Part of syscall.bpf.c, whose records it makes. */
#ifndef IOT_AIO_BPF_H
#define IOT_AIO_BPF_H

#define MAX_IOCB 1024
#define AIO_FILE_ANY (~0U)     /* no request seen yet */

/* The user interface of libaio (include/uapi/linux/aio_abi.h), which never changes. */
struct user_iocb {
	u64 data;
	u32 key, rw_flags;
	u16 opcode;
	s16 reqprio;
	u32 fd;
	u64 buf, nbytes;
	s64 offset;
	u64 reserved;
	u32 flags, resfd;
};

struct user_io_event {
	u64 data, obj;
	s64 res, res2;
};

struct aio_key {
	u64 iocb;
	u32 pid, pad;
};

/* A libaio request on its way. */
struct aio {
	u64 ts_ns, offset, size;
	u32 file, dev, flags, proc, tid;
	u16 block;
	u8 kind, type;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct aio_key);
	__type(value, struct aio);
} aios SEC(".maps");

struct aio_walk {
	u64 base, ts_ns;
	u32 proc, pad;
	struct task_ctx *c;
};

/* One control block of io_submit: what it asks for is kept until its event is reaped. */
static __noinline int aio_begin(u64 address, struct task_ctx *c, u32 proc, u64 ts_ns)
{
	struct aio_key k = { address, bpf_get_current_pid_tgid() >> 32 };
	struct user_iocb b;
	struct aio a = {};
	struct file *f;
	struct inode *i;

	if (!c)
		return 0;
	if (bpf_probe_read_user(&b, sizeof(b), (void *)address)) {
		lose(LOSS_AIO_UNREAD);
		return 0;
	}
	f = file_of(b.fd);
	if (!f)
		return 0;
	i = BPF_CORE_READ(f, f_inode);
	file_see(c, f, i);
	if (c->aio_file == AIO_FILE_ANY)
		c->aio_file = c->seen_file;
	else if (c->aio_file != c->seen_file)
		c->aio_file = 0;
	a.ts_ns = ts_ns;
	a.offset = b.offset;
	a.file = c->seen_file;
	a.dev = c->seen_dev;
	a.type = c->seen_type;
	a.block = c->seen_block;
	a.flags = flags_of(BPF_CORE_READ(f, f_flags));
	a.proc = proc;
	a.tid = bpf_get_current_pid_tgid();
	a.size = b.nbytes;
	switch (b.opcode) {
	case 7: /* IOCB_CMD_PREADV */
		a.size = iovec_len(b.buf, b.nbytes);
		/* fall through */
	case 0: /* IOCB_CMD_PREAD */
		a.kind = KIND_AIO_READ;
		break;
	case 8: /* IOCB_CMD_PWRITEV */
		a.size = iovec_len(b.buf, b.nbytes);
		/* fall through */
	case 1: /* IOCB_CMD_PWRITE */
		a.kind = KIND_AIO_WRITE;
		break;
	case 2: /* IOCB_CMD_FSYNC */
	case 3: /* IOCB_CMD_FDSYNC */
		a.kind = KIND_AIO_FSYNC;
		a.offset = a.size = 0;
		break;
	default:
		return 0;
	}
	if (bpf_map_update_elem(&aios, &k, &a, BPF_ANY))
		lose(LOSS_AIO_TABLE);
	return 0;
}

static long aio_begin_one(u32 n, struct aio_walk *w)
{
	u64 address = 0;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)(w->base + n * sizeof(address)))) {
		lose(LOSS_AIO_UNREAD);
		return 1;
	}
	aio_begin(address, w->c, w->proc, w->ts_ns);
	return 0;
}

static __always_inline void aio_submitted(struct task_ctx *c, const struct call *k, s64 taken, u32 proc, u64 ts_ns)
{
	struct aio_walk w = { .base = k->arg[2], .proc = proc, .c = c, .ts_ns = ts_ns };

	c->aio_file = AIO_FILE_ANY;
	if (taken > 0)
		bpf_loop(taken & (2 * MAX_IOCB - 1), aio_begin_one, &w, 0);
}

/* One event of io_getevents: the request is done. */
static long aio_end_one(u32 n, struct aio_walk *w)
{
	struct aio_key k = { 0, bpf_get_current_pid_tgid() >> 32 };
	struct task_ctx *c = w->c;
	struct user_io_event e;
	struct op o = {};
	struct aio *a;

	if (bpf_probe_read_user(&e, sizeof(e), (void *)(w->base + n * sizeof(e)))) {
		lose(LOSS_AIO_UNREAD);
		return 1;
	}
	k.iocb = e.obj;
	a = bpf_map_lookup_elem(&aios, &k);
	if (!a)
		return 0; /* submitted before the run, or not a file operation */
	c->seen_inode = 0; /* the context's file is replaced by the request's */
	c->seen_dev = a->dev;
	c->seen_file = a->file;
	c->seen_type = a->type;
	c->seen_block = a->block;
	o.ts_ns = a->ts_ns;
	o.dur_ns = bpf_ktime_get_ns() - a->ts_ns;
	o.offset = a->offset;
	o.size = a->size;
	o.ret = e.res;
	o.flags = a->flags;
	o.tid = a->tid;
	o.kind = a->kind;
	o.write = a->kind == KIND_AIO_WRITE ? 1 : a->kind == KIND_AIO_READ ? 0 : 2;
	op_record(c, &o, a->proc);
	bpf_map_delete_elem(&aios, &k);
	return 0;
}

static __always_inline void aio_reaped(struct task_ctx *c, const struct call *k, s64 n)
{
	struct aio_walk w = { .base = k->arg[3], .c = c };

	if (n > 0)
		bpf_loop(n & (2 * MAX_IOCB - 1), aio_end_one, &w, 0);
}

#endif
