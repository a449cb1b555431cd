/* SPDX-License-Identifier: GPL-3.0-only */
/* sync_write.bpf.h - writes that are written back before they return (O_SYNC, O_DSYNC, RWF_DSYNC,
 * RWF_SYNC), and the request that an io_submit() executes: it executes them one after the other,
 * and does not reveal which one is being processed. Used by the objects of file systems.
 */
#ifndef IOT_SYNC_WRITE_BPF_H
#define IOT_SYNC_WRITE_BPF_H

#include "aio_times.bpf.h"
#include "range.bpf.h"

#define SOMEWHERE ~0ULL

/* The range that the call or request in progress writes. */
struct sync_write {
	u64 inode, off, len;
	/* of a libaio request: user address of its first byte; SOMEWHERE: not in its first vector,
	 * which is empty */
	u64 memory;
	bool direct, syncs, appends; /* syncs: it is written back before it returns */
};

static __always_inline void sync_write_flags(struct sync_write *t, struct file *f, u64 rwf)
{
	u32 flags = NUMBER_AT(f, struct file, f_flags);

	t->direct = !!(flags & O_DIRECT);
	t->syncs = flags & O_DSYNC || rwf & (RWF_DSYNC | RWF_SYNC);
	t->appends = flags & O_APPEND || rwf & RWF_APPEND;
}

/* True when the current thread is in io_submit(). */
static __always_inline bool in_io_submit(void)
{
	struct task_struct *t = current_task();
	const struct pt_regs *regs;

	if (t->flags & PF_KTHREAD || is_worker(t))
		return false;
	regs = current_regs();
	return regs_in_call(regs) && regs_nr(regs) < IOT_MAX_SYSCALL &&
	       call_row(regs_nr(regs))->shape == SHAPE_AIO_SUBMIT;
}

#define AIO_LOOKED 256         /* control blocks of one io_submit() that are searched */

enum aio_what {
	AIO_AT,                /* the one that a search found before */
	/* from there on the first one of `inode` that goes through the cache and is synced */
	AIO_SYNCS,
	AIO_BEGINS,            /* as AIO_SYNCS, and begins at `from` or appends */
	AIO_WRITES,            /* the first one that writes `inode` */
	/* from there on the first one for direct I/O that covers byte `from` or appends; ~0: any.
	 * With `least`: that begins there, or has no more than that to its end */
	AIO_DIRECT,
};

struct aio_search {
	u64 list, inode, from;
	u64 number;            /* with `inode` 0: the inode's number */
	/* lower bound of its length: more was written than an earlier one asked for, which
	 * failed */
	u64 least;
	u64 address;           /* address of the one that was found */
	struct sync_write t;
	u32 n, first, what, found;
};

struct aio_vectors {
	struct task_ctx *c;
	u64 at, left, sum;
};

static long aio_vectors_add(u32 n, struct aio_vectors *v)
{
	struct aio_block *b = &v->c->scratch.aio_block;
	u64 here = v->left < AIO_VECTORS ? v->left : AIO_VECTORS;

	if (!here || bpf_probe_read_user(b->vector, here * sizeof(*b->vector), (void *)v->at))
		return 1;
	for (u32 i = 0; i < AIO_VECTORS; i++)
		v->sum += i < here ? b->vector[i].len : 0;
	v->at += here * sizeof(*b->vector);
	v->left -= here;
	return 0;
}

/* The sum of the lengths of the vectors, as far as they are readable. */
static __always_inline u64 aio_vectors_len(struct task_ctx *c, const struct aio_block *b)
{
	struct aio_vectors v = { c, b->iocb.aio_buf,
				 b->iocb.aio_nbytes > UIO_MAXIOV ? 0 : b->iocb.aio_nbytes };

	bpf_loop(UIO_MAXIOV / AIO_VECTORS, aio_vectors_add, &v, 0);
	return v.sum;
}

/* The user address of the first byte of the vectors. */
static __always_inline u64 aio_vectors_memory(const struct aio_block *b)
{
	struct user_iovec first = {};

	bpf_probe_read_user(&first, sizeof(first), (void *)b->iocb.aio_buf);
	return first.len ? first.base : SOMEWHERE;
}

/* Reads a control block into c->scratch: there is not enough stack left for iovec_len(). False: it
 * is no write. */
static __noinline int aio_read(struct task_ctx *c, struct sync_write *t, u64 address)
{
	struct aio_block *b;
	struct file *f;

	if (!c || !t)
		return 0;
	b = &c->scratch.aio_block;
	if (bpf_probe_read_user(&b->iocb, sizeof(b->iocb), (void *)address) ||
	    (b->iocb.aio_lio_opcode != IOCB_CMD_PWRITE &&
	     b->iocb.aio_lio_opcode != IOCB_CMD_PWRITEV))
		return 0;
	f = file_of(b->iocb.aio_fildes);
	if (!f)
		return 0;
	sync_write_flags(t, f, b->iocb.aio_rw_flags);
	t->inode = (u64)data_inode(f);
	t->off = t->appends ? NUMBER_AT(t->inode, struct inode, i_size) : (u64)b->iocb.aio_offset;
	t->len = b->iocb.aio_lio_opcode == IOCB_CMD_PWRITE ? b->iocb.aio_nbytes :
		aio_vectors_len(c, b);
	t->memory = b->iocb.aio_lio_opcode == IOCB_CMD_PWRITE ? b->iocb.aio_buf :
		aio_vectors_memory(b);
	return 1;
}

static __always_inline bool aio_matches(const struct aio_search *s)
{
	const struct sync_write *t = &s->t;
	u8 first;

	if (s->what == AIO_AT)
		return true;
	if (s->inode ? t->inode != s->inode : inode_number((struct inode *)t->inode) != s->number)
		return false;
	if (s->what == AIO_WRITES)
		return true;
	if (t->len < s->least)
		return false;
	if (s->what == AIO_DIRECT)
		return t->direct && (s->from == ~0ULL || t->appends ||
				     (s->least ? t->off == s->from ||
				      s->from + s->least == t->off + t->len :
										   s->from >= t->off && s->from - t->off < t->len));
	if (!t->syncs || t->direct)
		return false;
	if (s->what != AIO_SYNCS && !t->appends && t->off != s->from)
		return false;
	/* else it failed with EFAULT, and wrote nothing back */
	return t->memory == SOMEWHERE ||
	       !bpf_probe_read_user(&first, sizeof(first), (void *)t->memory);
}

/* The context of bpf_loop(). */
struct aio_at {
	struct task_ctx *c;
	struct aio_search *s;
};

static long aio_look_at(u32 n, struct aio_at *a)
{
	struct aio_search *s = a->s;
	u32 at = s->first + n;

	if (at >= s->n || bpf_probe_read_user(&s->address, sizeof(s->address),
					      (void *)(s->list + (u64)at * sizeof(u64))))
		return 1;
	if (!aio_read(a->c, &s->t, s->address) || !aio_matches(s))
		return 0;
	s->found = at + 1;
	return 1;
}

/* Searches the control blocks of the io_submit() in progress; s->found: number + 1 of the match.
 * Global: verified once. */
__noinline int aio_search(struct aio_search *s)
{
	struct aio_at a = { ctx_find(), s };
	const struct pt_regs *regs = current_regs();

	if (!s || !a.c)
		return 0;
	s->n = regs_arg1(regs) < AIO_LOOKED ? regs_arg1(regs) : AIO_LOOKED;
	s->list = regs_arg2(regs);
	bpf_loop(AIO_LOOKED, aio_look_at, &a, 0);
	return s->found;
}

/* True when the io_submit() in progress writes the inode. Otherwise it dirties pages of the inode
 * by reading into a mapping of it. */
static __noinline bool aio_writes(struct task_ctx *c, u64 inode)
{
	struct aio_search s = { .inode = inode, .what = AIO_WRITES };

	return regs_arg1(current_regs()) > AIO_LOOKED || aio_search(&s);
}

/* The request of this control block is written back from now on, from the page cache: it dirtied
 * its pages just before, not when io_submit() began. */
static __always_inline void aio_copied(u64 address)
{
	struct aio_time_key k = { address, bpf_get_current_pid_tgid() >> 32 };
	struct task_ctx *c = ctx_find(); /* of an excluded process it is no loss */
	u64 now = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&aio_times, &k, &now, BPF_ANY) && (!c || c->proc != PROC_OTHER))
		lose(LOSS_AIO_TIME);
}

#endif
