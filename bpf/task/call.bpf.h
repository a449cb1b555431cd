/* SPDX-License-Identifier: GPL-3.0-only */
/* call.bpf.h - the system call that the current thread is in: its number, its file, the bytes that it asks for. All of it is read
 * from the registers that the thread saved, where something happens inside of the call: nothing is noted when it begins.
 */
#ifndef IOT_CALL_BPF_H
#define IOT_CALL_BPF_H

#include "arch.h"

#define OVERLAYFS_SUPER_MAGIC 0x794c7630

const volatile struct iot_syscall calls[IOT_MAX_SYSCALL] = {};

/* The row of a system call, by its number. */
static __always_inline const volatile struct iot_syscall *call_row(u64 nr)
{
	return &calls[INDEX(nr, IOT_MAX_SYSCALL)];
}

/* A vector in the memory of a process. */
struct user_iovec {
	u64 base, len;
};

static __always_inline bool is_blockdev(struct inode *i)
{
	return (inode_mode(i) & S_IFMT) == S_IFBLK;
}

static __always_inline bool is_storage_mode(u32 mode)
{
	return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFBLK;
}

/* The open file of the file system below overlayfs; any other file is its own. */
static __always_inline struct file *real_file(struct file *f)
{
	struct inode *i = (struct inode *)POINTER_AT(f, struct file, f_inode);
	struct ovl_file *o;
	u64 below;

	if (!is_on(i, OVERLAYFS_SUPER_MAGIC) || (inode_mode(i) & S_IFMT) != S_IFREG)
		return f;
	below = POINTER_AT(f, struct file, private_data);
	if (!below)
		return f;
	/* before 6.13 it is the file: an inode's mapping is its own, which the word at that place of a struct ovl_file is not */
	i = (struct inode *)POINTER_AT(below, struct file, f_inode);
	if (i && POINTER_AT(i, struct inode, i_mapping) && POINTER_AT(i, struct inode, i_mapping) == POINTER_AT(below, struct file, f_mapping))
		return (struct file *)below;
	o = (struct ovl_file *)below;
	f = (struct file *)pointer_at((u64)o + 8);      /* upperfile: copied up after it was opened */
	return f ?: (struct file *)pointer_at((u64)o); /* realfile */
}

/* Does a call say where in its file it begins? */
static __always_inline bool is_positional(u8 shape, const struct call *k)
{
	return shape == SHAPE_PRW || shape == SHAPE_PRWV || (shape == SHAPE_PRWV2 && (s64)k->arg[3] != -1);
}

/* Does a call write one file from memory? */
static __always_inline bool writes_simply(const volatile struct iot_syscall *row)
{
	return row->write && row->shape && row->shape <= SHAPE_PRWV2;
}

/* The inode that holds the pages of a file. */
static __always_inline struct inode *data_inode(struct file *f)
{
	return (struct inode *)POINTER_AT(POINTER_AT(real_file(f), struct file, f_mapping), struct address_space, host);
}

/* io_uring's own threads and the like: they belong to a process and have saved registers that say nothing. */
static __always_inline bool is_worker(struct task_struct *t)
{
	return t->flags & (PF_IO_WORKER | PF_USER_WORKER);
}

/* The call that the current thread is in, when it is in the table. An exec asks for no bytes of a file, nor does who writes the memory of a
 * process: what they read is like a fault's. */
static __always_inline bool call_now(struct call *k)
{
	struct task_struct *t = current_task();
	const struct pt_regs *regs;
	u8 shape;

	if (t->flags & PF_KTHREAD || is_worker(t))
		return false;
	regs = current_regs();
	if (!regs_in_call(regs) || regs_nr(regs) >= IOT_MAX_SYSCALL)
		return false;
	shape = call_row(regs_nr(regs))->shape;
	if (!shape || (shape >= SHAPE_EXEC && shape <= SHAPE_MADVISE))
		return false;
	call_of_regs(k, regs);
	return true;
}

#endif
