/* SPDX-License-Identifier: GPL-3.0-only */
/* call.bpf.h - the system call that the current thread is in: its number, its file, the bytes that
 * it asks for. All of it is read from the saved registers of the thread, when something happens
 * inside the call: nothing is noted at the entry.
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

static __always_inline bool is_blockdev(struct inode *i)
{
	return (inode_mode(i) & S_IFMT) == S_IFBLK;
}

static __always_inline bool is_storage_mode(u32 mode)
{
	return (mode & S_IFMT) == S_IFREG || (mode & S_IFMT) == S_IFBLK;
}

/* The open file of the file system below overlayfs; of another file system, the file itself. */
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
	/* before 6.13 private_data is the file: an inode's mapping equals that of its file, which
	 * is not so for the word at that offset of a struct ovl_file */
	i = (struct inode *)POINTER_AT(below, struct file, f_inode);
	if (i && POINTER_AT(i, struct inode, i_mapping) &&
	    POINTER_AT(i, struct inode, i_mapping) == POINTER_AT(below, struct file, f_mapping))
		return (struct file *)below;
	o = (struct ovl_file *)below;
	/* upperfile: copied up after it was opened */
	f = (struct file *)pointer_at((u64)o + 8);
	return f ?: (struct file *)pointer_at((u64)o); /* realfile */
}

/* True when a call has the offset as an argument. */
static __always_inline bool is_positional(u8 shape, const struct call *k)
{
	return shape == SHAPE_PRW || shape == SHAPE_PRWV ||
	       (shape == SHAPE_PRWV2 && (s64)k->arg[3] != -1);
}

/* True for calls that write one file from memory. */
static __always_inline bool writes_simply(const volatile struct iot_syscall *row)
{
	return row->write && row->shape && row->shape <= SHAPE_PRWV2;
}

/* The inode that holds the pages of a file. */
static __always_inline struct inode *data_inode(struct file *f)
{
	return (struct inode *)POINTER_AT(POINTER_AT(real_file(f), struct file, f_mapping),
					  struct address_space, host);
}

/* True for threads of io_uring and other kernel threads of a process: their saved registers mean
 * nothing. */
static __always_inline bool is_worker(struct task_struct *t)
{
	return t->flags & (PF_IO_WORKER | PF_USER_WORKER);
}

/* Fills in the call that the current thread is in, when it is in the table. execve() asks for no
 * bytes of a file, nor does a call that writes the memory of a process: their reads count as those
 * of a fault. */
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
	if (!shape || (shape >= SHAPE_EXEC && shape <= SHAPE_WHOLE))
		return false;
	call_of_regs(k, regs);
	return true;
}

#endif
