// SPDX-License-Identifier: GPL-3.0-only
/* probe_args.c - the registers that hold the arguments of calls, where layer vfs is traced whole.
 *
 * To add a call: a row here, and one of call_rows in probe_rows.c. Members are registers counted
 * from 1 (struct iot_args of bpf/config.h).
 */
#include <sys/syscall.h>
#include "probe_parts.h"

/* A call, and the registers of its arguments. */
static const struct {
	int nr;
	struct iot_args args;
} args_rows[] = {
	{ SYS_openat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_openat2, { .at = 1, .path = 2, .special = SPECIAL_OPENAT2 } },
	{ SYS_truncate, { .path = 1, .offset = 2 } },
	{ SYS_fallocate, { .arg = 2 } },
	{ SYS_mmap, { .arg = 4, .op = 3 } },
	{ SYS_sync_file_range, { .offset = 2, .size = 3, .arg = 4 } },
	{ SYS_msync, { .area = 1, .size = 2, .arg = 3 } },
	{ SYS_renameat, { .at = 1, .path = 2, .at2 = 3, .path2 = 4 } },
	{ SYS_renameat2, { .at = 1, .path = 2, .at2 = 3, .path2 = 4, .arg = 5 } },
	{ SYS_unlinkat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_linkat, { .at = 1, .path = 2, .at2 = 3, .path2 = 4, .arg = 5, .empty = 1 } },
	{ SYS_symlinkat, { .path = 1, .at2 = 2, .path2 = 3, .special = SPECIAL_SYMLINK } },
	{ SYS_mkdirat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_setxattr, { .path = 1, .name = 2, .size = 4, .arg = 5 } },
	{ SYS_lsetxattr, { .path = 1, .name = 2, .size = 4, .arg = 5 } },
	{ SYS_fsetxattr, { .fd = 1, .name = 2, .size = 4, .arg = 5 } },
	{ SYS_removexattr, { .path = 1, .name = 2 } },
	{ SYS_lremovexattr, { .path = 1, .name = 2 } },
	{ SYS_fremovexattr, { .fd = 1, .name = 2 } },
	{ SYS_munmap, { .area = 1, .size = 2, .special = SPECIAL_MUNMAP } },
	{ SYS_mremap, { .area = 1, .size = 3, .arg = 4, .special = SPECIAL_MREMAP } },
	{ SYS_newfstatat, { .at = 1, .path = 2, .arg = 4, .empty = 1 } },
	{ SYS_statx, { .at = 1, .path = 2, .arg = 3, .empty = 1 } },
	{ SYS_fstat, { .fd = 1 } },
	{ SYS_faccessat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_faccessat2, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_readlinkat, { .at = 1, .path = 2, .size = 4 } },
	{ SYS_fchmod, { .fd = 1, .arg = 2 } },
	{ SYS_fchmodat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_fchown, { .fd = 1 } },
	{ SYS_fchownat, { .at = 1, .path = 2, .arg = 5, .empty = 1 } },
	{ SYS_utimensat, { .at = 1, .path = 2, .arg = 4, .empty = 1 } },
	{ SYS_chdir, { .path = 1, .special = SPECIAL_CHDIR } },
	{ SYS_fchdir, { .fd = 1 } },
	{ SYS_getdents64, { .fd = 1, .size = 3 } },
	{ SYS_mknodat, { .at = 1, .path = 2, .arg = 3 } },
	{ SYS_getxattr, { .path = 1, .name = 2, .size = 4 } },
	{ SYS_lgetxattr, { .path = 1, .name = 2, .size = 4 } },
	{ SYS_fgetxattr, { .fd = 1, .name = 2, .size = 4 } },
	{ SYS_listxattr, { .path = 1, .size = 3 } },
	{ SYS_llistxattr, { .path = 1, .size = 3 } },
	{ SYS_flistxattr, { .fd = 1, .size = 3 } },
	{ SYS_flock, { .fd = 1, .arg = 2 } },
	{ SYS_fcntl, { .fd = 1, .special = SPECIAL_FCNTL } },
	{ SYS_vmsplice, { .fd = 1, .arg = 4, .special = SPECIAL_BYTES } },
	{ SYS_tee, { .fd = 1, .size = 3, .arg = 4, .special = SPECIAL_BYTES } },
	{ SYS_madvise, { .area = 1, .size = 2, .arg = 3 } },
	{ SYS_fadvise64, { .fd = 1, .offset = 2, .size = 3, .arg = 4 } },
	{ SYS_readahead, { .fd = 1, .offset = 2, .size = 3, .special = SPECIAL_READAHEAD } },
	/* since 6.6, and since 6.13 */
	{ NR_fchmodat2, { .at = 1, .path = 2, .arg = 3 } },
	{ NR_setxattrat, { .at = 1, .path = 2, .name = 4, .empty = 1 } },
	{ NR_getxattrat, { .at = 1, .path = 2, .name = 4, .empty = 1 } },
	{ NR_listxattrat, { .at = 1, .path = 2, .size = 5, .empty = 1 } },
	{ NR_removexattrat, { .at = 1, .path = 2, .name = 4, .empty = 1 } },
#ifdef SYS_open /* calls that architectures newer than the ...at() calls do not have */
	{ SYS_open, { .path = 1, .arg = 2 } },
	{ SYS_creat, { .path = 1, .special = SPECIAL_CREAT } },
	{ SYS_rename, { .path = 1, .path2 = 2 } },
	{ SYS_unlink, { .path = 1 } },
	{ SYS_rmdir, { .path = 1 } },
	{ SYS_link, { .path = 1, .path2 = 2 } },
	{ SYS_symlink, { .path = 1, .path2 = 2, .special = SPECIAL_SYMLINK } },
	{ SYS_mkdir, { .path = 1, .arg = 2 } },
	{ SYS_stat, { .path = 1 } },
	{ SYS_lstat, { .path = 1 } },
	{ SYS_access, { .path = 1, .arg = 2 } },
	{ SYS_readlink, { .path = 1, .size = 3 } },
	{ SYS_chmod, { .path = 1, .arg = 2 } },
	{ SYS_chown, { .path = 1 } },
	{ SYS_lchown, { .path = 1 } },
	{ SYS_utime, { .path = 1 } },
	{ SYS_utimes, { .path = 1 } },
	{ SYS_futimesat, { .at = 1, .path = 2, .empty = 1 } },
	{ SYS_getdents, { .fd = 1, .size = 3 } },
	{ SYS_mknod, { .path = 1, .arg = 2 } },
#endif
};

void args_fill(struct iot_args *args)
{
	for (size_t i = 0; args && i < N_OF(args_rows); i++)
		args[args_rows[i].nr] = args_rows[i].args;
}
