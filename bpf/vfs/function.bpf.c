// SPDX-License-Identifier: GPL-3.0-only
/* function.bpf.c - programs at the entry and return of functions of the VFS (vfs.def). fentry and
 * fexit are attached to one function each, so each has a program; all kprobes share one, and all
 * kretprobes, and a cookie tells the function.
 */
#include "vfs_op.bpf.h"

/* Argument n of a function that a program of type fentry is attached to. */
static __always_inline u64 entered_with(void *ctx, u32 n)
{
	u64 arg = 0;

	bpf_get_func_arg(ctx, n, &arg);
	return arg;
}

static __always_inline u64 returned(void *ctx)
{
	u64 value = 0;

	bpf_get_func_ret(ctx, &value);
	return value;
}

/* The context of fentry lies in the stack of the thread, below the frame of the caller. */
#define VFS(function, kind, from, arg)								\
SEC("fexit/" #function)										\
int vfs__##function##_end(u64 *ctx)								\
{												\
	return vfs_end(VFS_FN_##function, returned(ctx));					\
}												\
SEC("fentry/" #function)									\
int vfs__##function(u64 *ctx)									\
{												\
	return vfs_begin(VFS_WHAT(VFS_FN_##function, KIND_VFS_##kind, VFS_FROM_##from, arg),	\
			 entered_with(ctx, arg), entered_with(ctx, 1), number_of(ctx));		\
}

#define COMPLETION(function)									\
SEC("fentry/" #function)									\
int vfs__##function(u64 *ctx)									\
{												\
	return vfs_complete(entered_with(ctx, 0), entered_with(ctx, 1));			\
}

#define LEAVES(function)									\
SEC("fentry/" #function)									\
int vfs__##function(u64 *ctx)									\
{												\
	return vfs_leave();									\
}

#include "vfs.def"

SEC("kretprobe")
int vfs__kprobe_end(struct pt_regs *regs)
{
	return vfs_end(bpf_get_attach_cookie(regs), function_result(regs));
}

SEC("kprobe")
int vfs__kprobe(struct pt_regs *regs)
{
	u64 what = bpf_get_attach_cookie(regs);
	u64 object = function_arg(regs, VFS_ARG_OF(what)), next = function_arg(regs, 1);

	if (VFS_FROM_OF(what) == VFS_FROM_COMPLETION)
		return vfs_complete(object, next);
	if (VFS_FROM_OF(what) == VFS_FROM_LEAVES)
		return vfs_leave();
	return vfs_begin(what, object, next, function_stack(regs));
}
