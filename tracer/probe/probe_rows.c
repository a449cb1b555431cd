// SPDX-License-Identifier: GPL-3.0-only
/* probe_rows.c - tables of the kernel side: its objects and programs, the calls that it decodes,
 * the kernel functions that it recognises.
 *
 * To add a probe, or a variant for other kernels: the program in bpf/, and a row in `programs`.
 * Comments say since which kernel version, or until which, a tracepoint or function is as the row
 * expects; both include the version named. They are for readers: no code compares versions.
 */
#include <string.h>
#include <sys/syscall.h>
#include "probe_parts.h"
#include "vfs.h"

/* Each object is included in the executable as bytes, between two symbols. */
#define CARRY_FILE(name, file) \
	__asm__(".section .rodata\n.balign 16\n.globl obj_" #name ", obj_" #name "_end\n" \
		"obj_" #name ":\n.incbin \"" file ".bpf.o\"\n" \
		"obj_" #name "_end:\n.byte 0\n.previous\n"); \
	extern const char obj_##name[] __asm__("obj_" #name); \
	extern const char obj_##name##_end[] __asm__("obj_" #name "_end")
#define CARRY(name) CARRY_FILE(name, #name)
#define CARRY_BOTH(name) CARRY(name); CARRY_FILE(name##_no_cast, #name ".no_cast")

CARRY(who);
CARRY_BOTH(maps);
CARRY_BOTH(calls);
CARRY_BOTH(pages);
CARRY_BOTH(cached);
CARRY_BOTH(fs_ext4);
CARRY_BOTH(fs_xfs);
CARRY_BOTH(fs_btrfs);
CARRY_BOTH(vfs);
CARRY(reduced_maps);
CARRY(reduced_calls);
CARRY(reduced_block);

#define OBJECT(name, layers, fs) #name, obj_##name, obj_##name##_end, layers, fs, \
	obj_##name##_no_cast, obj_##name##_no_cast_end
#define REDUCED(name) .reduced = obj_reduced_##name, .reduced_end = obj_reduced_##name##_end

const struct object objects[] = {
	{ OBJECT(maps, 0, NULL), REDUCED(maps) },
	/* two threads load these in turn: the order keeps both busy for about the same time */
	{ OBJECT(pages, 1 << LAYER_FS | 1 << LAYER_BLOCK | 1 << LAYER_CACHE, NULL), REDUCED(block) },
	{ OBJECT(calls, 0, NULL), REDUCED(calls) },
	{ OBJECT(cached, 1 << LAYER_CACHE, NULL), .whole = true },
	{ OBJECT(fs_ext4, 1 << LAYER_FS | 1 << LAYER_BLOCK, "ext4") },
	{ OBJECT(fs_xfs, 1 << LAYER_FS | 1 << LAYER_BLOCK, "xfs") },
	{ OBJECT(fs_btrfs, 1 << LAYER_FS | 1 << LAYER_BLOCK, "btrfs") },
	{ OBJECT(vfs, 1 << LAYER_VFS, NULL) }, /* OBJECT_VFS */
};
const size_t n_objects = N_OF(objects);

const struct wanted_by wanted_by[] = {
	{ "net", 1 << LAYER_NET },
	/* calls on sockets are counted by these programs where no probe of sockets is attached */
	{ "syscall", 1 << LAYER_SYSCALL | 1 << LAYER_VFS | 1 << LAYER_NET },
	{ "uring", 1 << LAYER_URING | 1 << LAYER_VFS | 1 << LAYER_NET },
};
const size_t n_wanted_by = N_OF(wanted_by);

const struct needed needed[] = {
	{ "BPF_FUNC_loop", "this kernel is older than 5.17: it has no bpf_loop()" },
	{ "BPF_FUNC_task_storage_get", "this kernel is older than 5.11: it has no task storage" },
};
const size_t n_needed = N_OF(needed);

const struct program programs[] = {
	{ "core__fork", "all", 0, true },
	{ "core__exec", "all", 0, true },
	{ "core__exit", "all", 0, true },
	{ "core__move", "all", 0, false, .spare = true },
	{ "core__group", "all", 0, false, .spare = true }, /* only for filters by control group */
	{ "core__rename", "all", 0, false, .spare = true },
	{ "core__signal", "all", 0, false, .spare = true },
	{ "core__writeback_begin", "fs", 0, true },
	{ "core__writeback_end", "fs", 0, true },
	{ "core__work_begin", "all", 0, true },
	{ "net__send", "net", 3, false, .spare = true }, /* since 6.3 */
	{ "net__recv", "net", 3, false, .spare = true },
	{ "net__state", "net", 3, false, .spare = true },
	{ "net__close", "net", 2, false, .spare = true, .whole = true },
	{ "net__retransmit", "net", 3, false, .spare = true, .whole = true }, /* since 6.17 */
	{ "net__retransmit_two", "net", 2, false, .spare = true, .whole = true }, /* until 6.16 */
	{ "net__answer", "net", 2, false, .spare = true, .whole = true },
	{ "net__drop", "net", 4, false, .spare = true, .whole = true }, /* since 6.11 */
	{ "net__drop_three", "net", 3, false, .spare = true, .whole = true }, /* until 6.10 */
	/* these start the clock of a call: attached only where calls are timed */
	{ "syscall__enter", "syscall", 0, false, .spare = true },
	{ "syscall__enter_twin", "syscall", 0, false, true, .spare = true },
	{ "syscall__enter_fsync", "syscall", 0, false, .spare = true }, /* --latency syncs */
	{ "syscall__enter_fdatasync", "syscall", 0, false, .spare = true },
	{ "syscall__enter_sync", "syscall", 0, false, .spare = true },
	{ "syscall__enter_syncfs", "syscall", 0, false, .spare = true },
	{ "syscall__enter_sync_file_range", "syscall", 0, false, .spare = true },
	{ "syscall__enter_msync", "syscall", 0, false, .spare = true },
	{ "syscall__exit", "syscall", 0, true },
	/* without it, events of calls for which syscall__exit was skipped are counted as lost */
	{ "syscall__exit_twin", "syscall", 0, false, true, .spare = true },
	{ "file__dirtied", "fs", 2, true, .light = true },
	{ "cache__dirty", "cache", 2, true, .heavy = true },
	{ "cache__buffer", "cache", 1, true, .heavy = true },
	{ "cache__fault_user", "cache", 3, false, .heavy = true },  /* only on x86 */
	{ "cache__fault_kernel", "cache", 3, false, .heavy = true },
	{ "cache__sweep", "cache", 0, false, .spare = true }, /* since 5.14; called by the tracer */
	{ "cache__stock", "cache", 0, false, .heavy = true },       /* called by the tracer */
	{ "cache__fault", "cache", 2, false, .heavy = true },       /* since 6.12 */
	{ "pagecache__added", "cache", 1, .whole = true },
	{ "pagecache__dirtied", "cache", 2, .whole = true },
	{ "pagecache__removed", "cache", 1, .whole = true },
	{ "pagecache__trap_user", "cache", 3, .whole = true },      /* only on x86 */
	{ "pagecache__trap_kernel", "cache", 3, .whole = true },
	{ "pagecache__fault", "cache", 2, .whole = true },          /* since 6.12 */
	{ "pagecache__map", "cache", 3, .whole = true },            /* since 6.12 */
	/* until 5.10 five of these tracepoints have the request_queue as one more, first argument */
	{ "block__queue", "block", 1, true, .most = true }, /* since 5.11 */
	{ "block__remap", "block", 3, true },        /* since 5.11 */
	{ "block__split", "block", 2, true },        /* since 5.11 */
	{ "block__bio_end", "block", 2, true },
	{ "block__insert", "block", 1, true, .heavy = true },       /* since 5.11 */
	{ "block__issue", "block", 1, true },        /* since 5.11 */
	{ "block__insert_queue", "block", 2, .reduced = true }, /* until 5.10 */
	{ "block__issue_queue", "block", 2, .reduced = true },  /* until 5.10 */
	{ "block__complete", "block", 3, true },
	{ "block__sweep", "block", 0, false, .spare = true }, /* since 5.14; called by the tracer */
	{ "block__share", "block", 0, false },       /* since 5.14; called by the tracer */
	{ "ext4__commit_begin", "fs", 0, true },
	{ "ext4__commit_end", "fs", 0, true },
	{ "ext4__handle", "fs", 0, true },
	{ "ext4__mark", "fs", 0, true, .heavy = true },
	{ "ext4__start", "fs", 0, false, .heavy = true },           /* since 6.3 */
	{ "ext4__journal_super", "fs", 0, true },
	{ "ext4__checkpoint", "fs", 0, false },
	{ "ext4__sync_begin", "fs", 0, false },
	{ "ext4__sync_end", "fs", 0, false },
	{ "ext4__writepages", "fs", 0, true },
	{ "ext4__evict", "fs", 0, true },
	{ "ext4__truncate", "fs", 0, true, .heavy = true },
	{ "ext4__punch", "fs", 0, true, .heavy = true },
	{ "ext4__forget", "fs", 0, true, .heavy = true },
	{ "ext4__zero", "fs", 0, true, .heavy = true },
	{ "ext4__collapse", "fs", 0, true, .heavy = true },
	{ "ext4__fastcommit_begin", "fs", 0, false },
	{ "ext4__fastcommit_end", "fs", 0, false },
	{ "xfs__commit", "fs", 0, true },
	{ "xfs__log_write", "fs", 0, true },
	{ "xfs__checkpoints_end", "fs", 0, true },
	{ "xfs__force", "fs", 0, false, .heavy = true },
	{ "xfs__buffer", "fs", 0, true },
	{ "xfs__work_begin", "fs", 0, true },
	{ "xfs__inactive", "fs", 0, true },
	{ "xfs__write", "fs", 0, true },
	{ "xfs__writeback", "fs", 3, .or = "xfs__writeback_page" }, /* since 6.17 */
	{ "xfs__writeback_page", "fs", 3, false },   /* until 6.16 */
	{ "xfs__zero", "fs", 3, false, .heavy = true },             /* since 6.18 */
	{ "xfs__step", "fs", 3, true, .heavy = true },
	{ "xfs__evict", "fs", 0, true },
	{ "xfs__truncate", "fs", 0, true, .heavy = true },
	{ "btrfs__unlock", "fs", 0, true, .most = true },
	{ "btrfs__copy", "fs", 0, true },
	{ "btrfs__reserve", "fs", 0, true, .most = true },
	{ "btrfs__commit_end", "fs", 0, true },
	{ "btrfs__extent", "fs", 0, true },
	{ "btrfs__work_begin", "fs", 0, true },
	{ "btrfs__work_end", "fs", 0, true },
	{ "btrfs__writeback", "fs", 0, .or = "btrfs__writeback_page" }, /* since 6.12 */
	{ "btrfs__writeback_page", "fs", 0, false }, /* until 6.11 */
	{ "btrfs__mark", "fs", 0, true, .most = true, .heavy = true },
	{ "btrfs__sync_enter", "fs", 0, .or = "btrfs__sync", .heavy = true }, /* since 7.1 */
	{ "btrfs__sync", "fs", 0, false, .heavy = true }, /* until 7.0 */
	{ "btrfs__inline", "fs", 0, true },
	{ "btrfs__evict", "fs", 0, true },
	{ "btrfs__page_gone", "fs", 0, true, .heavy = true },
	{ "btrfs__dirty", "fs", 2, true, .heavy = true },
	{ "uring__submit", "uring", 1, false },      /* since 6.4 */
	{ "uring__submit_sqe", "uring", 2, false },  /* since 6.0, until 6.3 */
	{ "uring__worker", "uring", 2, false },      /* since 6.0 */
	{ "uring__poll", "uring", 3, false, .spare = true, .whole = true }, /* since 6.0 */
	{ "uring__refused", "uring", 3, false, .spare = true, .whole = true }, /* since 6.0 */
	{ "uring__complete", "uring", 3, false },    /* since 6.15 */
	{ "uring__complete_args", "uring", 7, false }, /* since 6.0, until 6.14 */
	{ "uring__sweep", "uring", 0, false, .spare = true }, /* since 5.14; called by the tracer */
	{ "aio__sweep", "syscall", 0, false, .spare = true }, /* since 5.14; called by the tracer */
	/* each function of vfs.def by fentry and fexit; of others by one pair of kprobes */
#define VFS_ROW(name) { name, "vfs", 0, false, .spare = true, .whole = true },
#define VFS(function, kind, from, arg) \
	VFS_ROW("vfs__" #function) VFS_ROW("vfs__" #function "_end")
#define COMPLETION(function) VFS_ROW("vfs__" #function)
#define LEAVES(function) VFS_ROW("vfs__" #function)
#include "vfs.def"
	VFS_ROW("vfs__kprobe")
	VFS_ROW("vfs__kprobe_end")
};
const size_t n_programs = N_OF(programs);

const struct feed feeds[] = {
	{ LAYER_SYSCALL, { "syscall__exit" } },
	{ LAYER_URING, { "uring__submit", "uring__submit_sqe" } },
	{ LAYER_URING, { "uring__complete", "uring__complete_args" } },
	{ LAYER_CACHE, { "block__queue" } },         /* missed bytes */
	{ LAYER_CACHE, { "cache__dirty" } },
	{ LAYER_FS, { "block__queue" } },
	{ LAYER_BLOCK, { "block__complete" } },
};
const size_t n_feeds = N_OF(feeds);

/* The last column is 1 for calls that write. */
const struct call_row call_rows[] = {
	{ SYS_read, { KIND_READ, SHAPE_RW, 0 } },
	{ SYS_pread64, { KIND_PREAD, SHAPE_PRW, 0 } },
	{ SYS_readv, { KIND_READV, SHAPE_RWV, 0 } },
	{ SYS_preadv, { KIND_PREADV, SHAPE_PRWV, 0 } },
	{ SYS_preadv2, { KIND_PREADV, SHAPE_PRWV2, 0 } },
	{ SYS_write, { KIND_WRITE, SHAPE_RW, 1 } },
	{ SYS_pwrite64, { KIND_PWRITE, SHAPE_PRW, 1 } },
	{ SYS_writev, { KIND_WRITEV, SHAPE_RWV, 1 } },
	{ SYS_pwritev, { KIND_PWRITEV, SHAPE_PRWV, 1 } },
	{ SYS_pwritev2, { KIND_PWRITEV, SHAPE_PRWV2, 1 } },
	{ SYS_sendfile, { KIND_SENDFILE_IN, SHAPE_SENDFILE, 1 } },
	{ SYS_splice, { KIND_SPLICE_IN, SHAPE_SPLICE, 1 } },
	{ SYS_copy_file_range, { KIND_COPY_IN, SHAPE_SPLICE, 1 } },
	{ SYS_io_submit, { KIND_AIO_SUBMIT, SHAPE_AIO_SUBMIT, 0 } },
	{ SYS_io_getevents, { KIND_AIO_REAP, SHAPE_AIO_REAP, 0 } },
	{ SYS_io_pgetevents, { KIND_AIO_REAP, SHAPE_AIO_REAP, 0 } },
	{ SYS_io_destroy, { KIND_NONE, SHAPE_AIO_DESTROY, 0 } },
	{ SYS_io_uring_enter, { KIND_NONE, SHAPE_URING, 0 } },
	{ SYS_readahead, { KIND_NONE, SHAPE_ADVISE, 0 } },
	{ SYS_fadvise64, { KIND_NONE, SHAPE_ADVISE, 0 } },
	{ SYS_process_vm_writev, { KIND_NONE, SHAPE_POKE, 0 } },
	{ SYS_ptrace, { KIND_NONE, SHAPE_PTRACE, 0 } },
	{ SYS_madvise, { KIND_NONE, SHAPE_MADVISE, 0 } },
	{ SYS_execve, { KIND_NONE, SHAPE_EXEC, 0 } },
	{ SYS_execveat, { KIND_NONE, SHAPE_EXEC, 0 } },
	/* 0 in the last column: bytes sent to a socket are not written to a file */
	{ SYS_sendto, { KIND_NET_SEND, SHAPE_TO, 0 } },
	{ SYS_sendmsg, { KIND_NET_SEND, SHAPE_MSG, 0 } },
	{ SYS_sendmmsg, { KIND_NET_SEND, SHAPE_MMSG, 0 } },
	{ SYS_recvfrom, { KIND_NET_RECV, SHAPE_TO, 0 } },
	{ SYS_recvmsg, { KIND_NET_RECV, SHAPE_MSG, 0 } },
	{ SYS_recvmmsg, { KIND_NET_RECV, SHAPE_MMSG, 0 } },
	{ SYS_fsync, { KIND_FSYNC, SHAPE_FD, 0 } },
	{ SYS_fdatasync, { KIND_FDATASYNC, SHAPE_FD, 0 } },
	{ SYS_sync, { KIND_SYNC, SHAPE_PATH, 0 } },
	{ SYS_syncfs, { KIND_SYNCFS, SHAPE_FD, 0 } },
	{ SYS_sync_file_range, { KIND_SYNC_RANGE, SHAPE_FD, 0 } },
	{ SYS_msync, { KIND_MSYNC, SHAPE_PATH, 0 } },
	{ SYS_openat, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_openat2, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_close, { KIND_CLOSE, SHAPE_CLOSE, 0 } },
	{ SYS_truncate, { KIND_TRUNCATE, SHAPE_PATH, 0 } },
	{ SYS_ftruncate, { KIND_TRUNCATE, SHAPE_FTRUNCATE, 0 } },
	{ SYS_fallocate, { KIND_FALLOCATE, SHAPE_FALLOCATE, 0 } },
	{ SYS_renameat, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_renameat2, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_unlinkat, { KIND_UNLINK, SHAPE_UNLINKAT, 0 } },
	{ SYS_linkat, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_symlinkat, { KIND_SYMLINK, SHAPE_PATH, 0 } },
	{ SYS_mkdirat, { KIND_MKDIR, SHAPE_PATH, 0 } },
	{ SYS_mmap, { KIND_MMAP, SHAPE_MMAP, 0 } },
	{ SYS_setxattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_lsetxattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_fsetxattr, { KIND_XATTR, SHAPE_FD, 0 } },
	{ SYS_removexattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_lremovexattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_fremovexattr, { KIND_XATTR, SHAPE_FD, 0 } },
#ifdef SYS_open /* calls that architectures newer than the ...at() calls do not have */
	{ SYS_open, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_creat, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_rename, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_unlink, { KIND_UNLINK, SHAPE_PATH, 0 } },
	{ SYS_rmdir, { KIND_RMDIR, SHAPE_PATH, 0 } },
	{ SYS_link, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_symlink, { KIND_SYMLINK, SHAPE_PATH, 0 } },
	{ SYS_mkdir, { KIND_MKDIR, SHAPE_PATH, 0 } },
#endif
#define VFS (1u << LAYER_VFS)
	/* only where layer vfs is whole; their arguments: probe_args.c */
	{ SYS_munmap, { KIND_MUNMAP, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_mremap, { KIND_MREMAP, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_newfstatat, { KIND_STAT, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_statx, { KIND_STAT, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fstat, { KIND_STAT, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_faccessat, { KIND_ACCESS, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_faccessat2, { KIND_ACCESS, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_readlinkat, { KIND_READLINK, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fchmod, { KIND_CHMOD, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fchmodat, { KIND_CHMOD, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fchown, { KIND_CHOWN, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fchownat, { KIND_CHOWN, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_utimensat, { KIND_UTIMES, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_chdir, { KIND_CHDIR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fchdir, { KIND_CHDIR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_getdents64, { KIND_GETDENTS, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_mknodat, { KIND_MKNOD, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_getxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_lgetxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fgetxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_listxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_llistxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_flistxattr, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_flock, { KIND_FLOCK, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_fcntl, { KIND_FLOCK, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_vmsplice, { KIND_VMSPLICE, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_tee, { KIND_TEE, SHAPE_WHOLE, 0 }, VFS },
	{ NR_fchmodat2, { KIND_CHMOD, SHAPE_WHOLE, 0 }, VFS },
	{ NR_setxattrat, { KIND_XATTR, SHAPE_WHOLE, 0 }, VFS },
	{ NR_getxattrat, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ NR_listxattrat, { KIND_GETXATTR, SHAPE_WHOLE, 0 }, VFS },
	{ NR_removexattrat, { KIND_XATTR, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_madvise, { KIND_MADVISE, SHAPE_MADVISE, 0 }, VFS },
	{ SYS_fadvise64, { KIND_FADVISE, SHAPE_ADVISE, 0 }, VFS },
	{ SYS_readahead, { KIND_FADVISE, SHAPE_ADVISE, 0 }, VFS },
#ifdef SYS_open
	{ SYS_stat, { KIND_STAT, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_lstat, { KIND_STAT, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_access, { KIND_ACCESS, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_readlink, { KIND_READLINK, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_chmod, { KIND_CHMOD, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_chown, { KIND_CHOWN, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_lchown, { KIND_CHOWN, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_utime, { KIND_UTIMES, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_utimes, { KIND_UTIMES, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_futimesat, { KIND_UTIMES, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_getdents, { KIND_GETDENTS, SHAPE_WHOLE, 0 }, VFS },
	{ SYS_mknod, { KIND_MKNOD, SHAPE_WHOLE, 0 }, VFS },
#endif
#undef VFS
};
const size_t n_call_rows = N_OF(call_rows);

const struct function_row function_rows[] = {
	{ "loop_workfn", FN_LOOP_WORK },
	{ "loop_rootcg_workfn", FN_LOOP_ROOT_WORK },
	{ "ext4_end_io_rsv_work", FN_EXT4_CONVERT },
	{ "iomap_dio_bio_end_io", FN_END_DIRECT },
	{ "iomap_dio_complete_work", FN_DIRECT_ENDED },
	{ "blkdev_bio_end_io", FN_END_DEVICE },
	{ "blkdev_bio_end_io_async", FN_END_DEVICE_ASYNC },
	{ "end_swap_bio_read", FN_END_SWAP },
	{ "end_bio_bh_io_sync", FN_END_BUFFER },         /* until 7.1 */
	{ "journal_end_buffer_io_sync", FN_END_BUFFER }, /* since 7.2 each submitter has its own */
	{ "io_ring_exit_work", FN_URING_EXIT },
	{ "bio_chain_endio", FN_END_CHAIN },
	{ "submit_bio_wait_endio", FN_END_WAIT },        /* until 7.1 */
	{ "bio_wait_end_io", FN_END_WAIT },              /* since 7.2 */
	{ "xlog_bio_end_io", FN_XFS_LOG },
	{ "xfs_buf_bio_end_io", FN_XFS_BUFFER },
	{ "xlog_cil_push_work", FN_XFS_PUSH },
	{ "xfs_end_io", FN_XFS_CONVERT },
	{ "btrfs_simple_end_io", FN_BTRFS_BIO },
	{ "btrfs_orig_write_end_io", FN_BTRFS_BIO },
	{ "btrfs_raid56_end_io", FN_BTRFS_BIO },
	{ "btrfs_clone_write_end_io", FN_BTRFS_COPY },
	{ "btrfs_end_super_write", FN_BTRFS_SUPER },
	{ "scrub_read_endio", FN_BTRFS_SCRUBBED },       /* since 6.4, as the next two */
	{ "scrub_repair_read_endio", FN_BTRFS_SCRUBBED },
	{ "scrub_write_endio", FN_BTRFS_SCRUBBED },
	{ "scrub_bio_end_io", FN_BTRFS_SCRUBBED },       /* until 6.3, as the next */
	{ "scrub_wr_bio_end_io", FN_BTRFS_SCRUBBED },
	{ "raid_wait_write_end_io", FN_BTRFS_PARITY },
	{ "raid_wait_read_end_io", FN_BTRFS_PARITY },
	{ "raid_write_end_io", FN_BTRFS_PARITY },        /* until 6.2 */
	{ "btrfs_dio_end_io", FN_BTRFS_DIRECT },         /* since 6.2 */
	{ "btrfs_end_dio_bio", FN_BTRFS_DIRECT },        /* until 6.1 */
	{ "end_bbio_compressed_write", FN_BTRFS_COMPRESSED }, /* since 6.10 */
	{ "end_compressed_bio_write", FN_BTRFS_COMPRESSED },  /* until 6.9 */
	{ "finish_ordered_fn", FN_BTRFS_ORDERED },
	{ "raid5_end_read_request", FN_STRIPE },
	{ "raid5_end_write_request", FN_STRIPE },
};
const size_t n_function_rows = N_OF(function_rows);

const struct vfs_row vfs_functions[] = {
#define VFS(function, kind, from, arg) [VFS_FN_##function] = { #function, \
	VFS_WHAT(VFS_FN_##function, KIND_VFS_##kind, VFS_FROM_##from, arg), false },
#define MOVES(function, kind) [VFS_FN_##function] = { #function, \
	VFS_WHAT(VFS_FN_##function, KIND_VFS_##kind, VFS_FROM_KIOCB, 0), true },
#define COMPLETION(function) [VFS_FN_##function] = { #function, \
	VFS_WHAT(VFS_FN_##function, KIND_NONE, VFS_FROM_COMPLETION, 0), true },
#define LEAVES(function) [VFS_FN_##function] = { #function, \
	VFS_WHAT(VFS_FN_##function, KIND_NONE, VFS_FROM_LEAVES, 0), false },
#include "vfs.def"
};
_Static_assert(VFS_FUNCTIONS <= 256, "VFS_FUNCTION_OF() has eight bits");

/* Asked for each function of the kernel: most begin with another letter than one of ours. */
int vfs_function(const char *name)
{
	for (size_t i = 0; i < VFS_FUNCTIONS; i++)
		if (*name == *vfs_functions[i].name && !strcmp(name, vfs_functions[i].name))
			return i;
	return -1;
}

int program_row(const char *name)
{
	for (size_t i = 0; i < n_programs; i++)
		if (!strcmp(programs[i].name, name))
			return i;
	return -1;
}

/* Socket bytes that calls must report: see enum iot_sockets. */
enum iot_sockets sockets_by_call(const struct probes *p)
{
	u32 layers = p->opts.layers ? p->opts.layers : ~0u;

	if (!(layers & 1 << LAYER_NET) || p->lacks)
		return SOCKETS_NONE;
	return p->info[program_row("net__send")].reason ||
		p->info[program_row("net__recv")].reason ? SOCKETS_ALL : SOCKETS_UNSEEN;
}

bool layer_is_in(const char *name, u32 layers)
{
	static const char *const names[] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = name,
#include "kinds.def"
	};

	for (size_t i = LAYER_NONE + 1; i < LAYER_MAX; i++)
		if (!strcmp(names[i], name))
			return layers >> i & 1;
	return false;
}

_Static_assert(N_OF(objects) <= MAX_OBJECTS && N_OF(objects) <= IOT_OBJECTS &&
	N_OF(programs) <= MAX_PROGRAMS, "struct probes has no room for them");
