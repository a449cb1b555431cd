/* SPDX-License-Identifier: GPL-3.0-only */
/* vfs.h - functions of the VFS by number, and what a program needs to know of its function: made
 * from vfs.def.
 */
#ifndef IOT_VFS_H
#define IOT_VFS_H

#include "wire.h"

/* The source of what is known of the file of an operation. */
enum vfs_from {
	VFS_FROM_NONE,
	VFS_FROM_VOID,         /* as NONE, of a function that returns nothing */
	VFS_FROM_FILE,         /* struct file; NULL: no operation */
	VFS_FROM_DENTRY,       /* struct dentry: the file system alone */
	VFS_FROM_PATH,         /* struct path: of its dentry */
	VFS_FROM_VOID_PATH,    /* the same, of a function that returns nothing */
	VFS_FROM_KIOCB,        /* struct kiocb; the next argument is a struct iov_iter */
	/* the return value, a struct file or an error; NULL: no operation */
	VFS_FROM_RETURN,
	VFS_FROM_COMPLETION,   /* struct kiocb; the next argument is the result */
	VFS_FROM_LEAVES,       /* nothing: the thread ends */
};

enum vfs_function {
#define VFS(function, kind, from, arg) VFS_FN_##function,
#define COMPLETION(function) VFS_FN_##function,
#define LEAVES(function) VFS_FN_##function,
#include "vfs.def"
	VFS_FUNCTIONS
};

/* A function in one number, which is also the cookie of a kprobe. */
#define VFS_WHAT(function, kind, from, arg) \
	((u64)(function) | (u64)(kind) << 8 | (u64)(from) << 16 | (u64)(arg) << 24)
#define VFS_FUNCTION_OF(what) ((u8)(what))
#define VFS_KIND_OF(what) ((u8)((what) >> 8))
#define VFS_FROM_OF(what) ((u8)((what) >> 16))
#define VFS_ARG_OF(what) ((u8)((what) >> 24))

#endif
