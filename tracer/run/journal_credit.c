// SPDX-License-Identifier: GPL-3.0-only
/* journal_credit.c - names of the calls to which journal blocks are credited.
 *
 * To add a call: a row. Calls without a row are named by their number.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include "clean.h"
#include "journal_credit.h"

#define CALL(name) [PUT_CALL + SYS_##name] = #name

static const char *const names[] = {
	[PUT_OTHER] = "other", [PUT_KERNEL] = "writeback", [PUT_FAULT] = "fault",
		[PUT_WORKER] = "io_uring",
	CALL(read), CALL(pread64), CALL(readv), CALL(preadv), CALL(preadv2), CALL(getdents64),
	CALL(execve), CALL(mmap), CALL(close),
	CALL(write), CALL(pwrite64), CALL(writev), CALL(pwritev), CALL(pwritev2), CALL(sendfile),
	CALL(splice), CALL(copy_file_range),
	CALL(io_submit), CALL(io_getevents), CALL(io_uring_enter),
	CALL(fsync), CALL(fdatasync), CALL(sync), CALL(syncfs), CALL(sync_file_range), CALL(msync),
	CALL(munmap), CALL(exit_group),
	CALL(openat), CALL(openat2), CALL(truncate), CALL(ftruncate), CALL(fallocate), CALL(ioctl),
	CALL(renameat), CALL(renameat2), CALL(unlinkat), CALL(linkat), CALL(symlinkat),
	CALL(mkdirat), CALL(mknodat),
	CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr), CALL(lremovexattr),
	CALL(fremovexattr),
	CALL(fchmod), CALL(fchmodat), CALL(fchown), CALL(fchownat), CALL(utimensat), CALL(mount),
	CALL(umount2),
#ifdef SYS_fchmodat2
	CALL(fchmodat2),
#endif
#ifdef SYS_open /* older calls that new architectures lack */
	CALL(open), CALL(creat), CALL(rename), CALL(unlink), CALL(rmdir), CALL(link), CALL(symlink),
		CALL(mkdir), CALL(mknod),
	CALL(chmod), CALL(chown), CALL(lchown), CALL(utime), CALL(utimes), CALL(futimesat),
	CALL(getdents),
#endif
};

const char *journal_credit_call_name(u16 call, char *to, size_t size)
{
	if (call < N_OF(names) && names[call])
		return names[call];
	snprintf(to, size, "call %u", call - PUT_CALL);
	return to;
}
