/* SPDX-License-Identifier: GPL-3.0-only */
/* range.bpf.h - the inode and the bytes that the call in progress asks for. Apart from call.bpf.h,
 * since a global function is compiled into each object that includes it, and this one is large.
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
	/* before 6.2 the verifier requires that a buffer which a helper fills is initialised */
	struct user_iovec v[IOVEC_CHUNK] = {};
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

/* The sum of the lengths of an iovec in user memory, as far as it is readable. */
static __noinline u64 iovec_len(u64 address, u64 n)
{
	struct iovec_walk w = { address, n > UIO_MAXIOV ? 0 : n };

	bpf_loop(UIO_MAXIOV / IOVEC_CHUNK, iovec_chunk, &w, 0);
	return w.sum;
}

/* The offset of a call on one open file, while it is in progress. */
static __always_inline u64 position_of(struct file *f, u8 shape, const struct call *k)
{
	if ((shape == SHAPE_PRW || shape == SHAPE_PRWV || shape == SHAPE_PRWV2) &&
	    (s64)k->arg[3] != -1)
		return k->arg[3];
	return NUMBER_AT(f, struct file, f_pos);
}

/* Fills in the range that the call in progress is to write. An append follows the end of the
 * file. */
static __always_inline void target_look(struct task_ctx *c, struct file *f, const struct call *k,
					u64 len)
{
	u32 flags = NUMBER_AT(f, struct file, f_flags);
	bool append = flags & O_APPEND;
	struct inode *i = data_inode(f);

	c->target.inode = (u64)i;
	c->target.len = len;
	c->target.direct = !!(flags & O_DIRECT);
	c->target.off = position_of(f, c->shape, k);
	if (c->shape == SHAPE_PRWV2)
		append = (append || k->arg[5] & RWF_APPEND) && !(k->arg[5] & RWF_NOAPPEND);
	if (append)
		c->target.off = NUMBER_AT(i, struct inode, i_size);
	if (c->shape == SHAPE_SPLICE && k->arg[3])
		bpf_probe_read_user(&c->target.off, sizeof(c->target.off), (void *)k->arg[3]);
}

/* Fills in the range that the call in progress asks for: for a read the bytes that it demands, for
 * a write the bytes and inode that it concerns. range_inode holds the pages, so that it can be
 * compared with the inode of a bio. The range of a copy is its source, its target is target_inode.
 * Outside of a call the page of a fault stays as it is (RANGE_FAULT). */
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
		if (c->range.state != RANGE_FAULT)
			c->range.state = RANGE_NOT_ASKED;
		return 0;
	}
	c->call = k.nr + 1;
	c->shape = call_row(k.nr)->shape;
	c->write = call_row(k.nr)->write;
	c->range.state = RANGE_NONE;
	c->target.inode = 0;
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
	c->range.inode = (u64)data_inode(f);
	c->range.off = c->range.inode == c->target.inode ? c->target.off :
		position_of(f, c->shape, &k);
	if (user_pos)
		bpf_probe_read_user(&c->range.off, sizeof(c->range.off), (void *)user_pos);
	c->range.node = (u64)i;
	c->range.len = len;
	c->range.blockdev = (mode & S_IFMT) == S_IFBLK;
	c->range.state = RANGE_KNOWN;
	return 0;
}

#endif
