/* SPDX-License-Identifier: GPL-3.0-only */
/* range.bpf.h - which bytes of which inode the call in progress asks for. Apart from call.bpf.h: it is a large function, and a global one
 * is compiled into each object that sees it.
 */
#ifndef IOT_RANGE_BPF_H
#define IOT_RANGE_BPF_H

#include "call.bpf.h"

#define UIO_MAXIOV 1024        /* an iovec is never longer */

#define IOVEC_CHUNK 8

struct iovec_walk {
	u64 at, left, sum;
};

static long iovec_chunk(u32 n, struct iovec_walk *w)
{
	struct user_iovec v[IOVEC_CHUNK] = {}; /* until 6.2 the verifier wants what a helper fills to be written before */
	u32 here = w->left < IOVEC_CHUNK ? w->left : IOVEC_CHUNK;

	if (!here || bpf_probe_read_user(v, here * sizeof(*v), (void *)w->at))
		return 1;
	for (u32 i = 0; i < IOVEC_CHUNK; i++)
		if (i < here)
			w->sum += v[i].len;
	w->at += sizeof(v);
	w->left -= here;
	return 0;
}

/* Sum of the lengths of an iovec in user memory, as far as it can be read. */
static __noinline u64 iovec_len(u64 address, u64 n)
{
	struct iovec_walk w = { address, n > UIO_MAXIOV ? 0 : n };

	bpf_loop(UIO_MAXIOV / IOVEC_CHUNK, iovec_chunk, &w, 0);
	return w.sum;
}

/* Where a call on one open file begins, while it is in progress. */
static __always_inline u64 position_of(struct file *f, u8 shape, const struct call *k)
{
	if ((shape == SHAPE_PRW || shape == SHAPE_PRWV || shape == SHAPE_PRWV2) && (s64)k->arg[3] != -1)
		return k->arg[3];
	return NUMBER_AT(f, struct file, f_pos);
}

/* What the call in progress is asked to write. An append moves on with the end of the file. */
static __always_inline void target_look(struct task_ctx *c, struct file *f, const struct call *k, u64 len)
{
	u32 flags = NUMBER_AT(f, struct file, f_flags);
	bool append = flags & O_APPEND;
	struct inode *i = data_inode(f);

	c->target_inode = (u64)i;
	c->target_len = len;
	c->target_direct = !!(flags & O_DIRECT);
	c->target_off = position_of(f, c->shape, k);
	if (c->shape == SHAPE_PRWV2)
		append = (append || k->arg[5] & RWF_APPEND) && !(k->arg[5] & RWF_NOAPPEND);
	if (append)
		c->target_off = NUMBER_AT(i, struct inode, i_size);
	if (c->shape == SHAPE_SPLICE && k->arg[3])
		bpf_probe_read_user(&c->target_off, sizeof(c->target_off), (void *)k->arg[3]);
}

/* Looks which bytes of which inode the call in progress asks for: a read knows then what it demanded, a write whom it concerns.
 * range_inode holds the pages, so that it compares with those of a bio. A copy's range is its source, its target is target_inode.
 * Outside of a call a fault's page stays what it is (RANGE_FAULT).
 */
__noinline int range_look(struct task_ctx *c)
{
	struct call k = {};
	u64 len, fd, to_fd, user_pos = 0;
	struct inode *i;
	struct file *f;
	u32 mode;

	if (!c)
		return 0;
	c->call = 0;
	if (!call_now(&k) || k.nr >= IOT_MAX_SYSCALL) {
		if (c->range_state != RANGE_FAULT)
			c->range_state = RANGE_NOT_ASKED;
		return 0;
	}
	c->call = k.nr + 1;
	c->shape = call_row(k.nr)->shape;
	c->write = call_row(k.nr)->write;
	c->range_state = RANGE_NONE;
	c->target_inode = 0;
	fd = to_fd = k.arg[0];
	len = k.arg[2];
	switch (c->shape) {
	case SHAPE_RW:
	case SHAPE_PRW:
		break;
	case SHAPE_RWV:
	case SHAPE_PRWV:
	case SHAPE_PRWV2:
		len = iovec_len(k.arg[1], k.arg[2]);
		break;
	case SHAPE_SENDFILE:
		fd = k.arg[1];
		user_pos = k.arg[2];
		len = k.arg[3];
		break;
	case SHAPE_SPLICE:
		to_fd = k.arg[2];
		user_pos = k.arg[1];
		len = k.arg[4];
		break;
	default:
		return 0;
	}
	f = file_of(to_fd);
	if (c->write && f)
		target_look(c, f, &k, len);
	f = file_of(fd);
	if (!f)
		return 0;
	i = (struct inode *)POINTER_AT(f, struct file, f_inode);
	mode = inode_mode(i);
	if (!is_storage_mode(mode))
		return 0;
	c->range_inode = (u64)data_inode(f);
	c->range_off = c->range_inode == c->target_inode ? c->target_off : position_of(f, c->shape, &k);
	if (user_pos)
		bpf_probe_read_user(&c->range_off, sizeof(c->range_off), (void *)user_pos);
	c->range_node = (u64)i;
	c->range_len = len;
	c->range_blockdev = (mode & S_IFMT) == S_IFBLK;
	c->range_state = RANGE_KNOWN;
	return 0;
}

#endif
