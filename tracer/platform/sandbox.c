// SPDX-License-Identifier: GPL-3.0-only
/* sandbox.c - limits a process that parses untrusted bytes: system calls by a seccomp filter, files
 * by Landlock.
 *
 * The tracer reads bytes that anyone may have chosen: records, names, rule files, and the answers
 * of helpers, which read /proc of other users' processes. An attacker who exploits a fault in that
 * controls a process that is no longer root. The filter leaves it the calls to read, and to write
 * to open files: it cannot start a program, create a socket or device, load a BPF program, touch
 * another process, mount, remove, rename, link, make a file executable, turn memory into code, or
 * open a file for writing by openat(2). Helpers may make two more kinds of calls: openat2(2), which
 * they need to stay inside a container and whose flags a filter cannot see because they are in
 * memory, and those that sync.
 *
 * Landlock denies the same for files whatever the call, and denies looking into processes outside
 * of its domain (ptrace(2), /proc/PID/mem). The tracer is in such a domain. Its helpers cannot be:
 * their purpose is to look at other processes.
 *
 * To allow a call: a row.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "checkpoint.h"
#include "sandbox.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* The leak checker of sanitizers attaches to the process with ptrace(2). */
#ifdef __SANITIZE_ADDRESS__
#undef ARCH
#define NO_LANDLOCK 1
#else
#define NO_LANDLOCK 0
#endif

#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define B(cmd) (1u << BPF_##cmd)
#define MAP_CALLS (B(MAP_LOOKUP_ELEM) | B(MAP_UPDATE_ELEM) | B(MAP_DELETE_ELEM) | \
	B(MAP_GET_NEXT_KEY) | B(PROG_TEST_RUN) | B(OBJ_GET_INFO_BY_FD) | \
	B(MAP_LOOKUP_AND_DELETE_ELEM) | B(MAP_LOOKUP_BATCH) | B(MAP_LOOKUP_AND_DELETE_BATCH) | \
	B(MAP_UPDATE_BATCH) | B(MAP_DELETE_BATCH))

enum when { ALWAYS, RECORDING, LOOKING };
enum test { ANY, NONE_OF, SOME_OF, EQUAL, NUMBER_IN };

static const struct call {
	int number;
	enum when when;
	/* compares the low half of argument `arg` with `value`; NUMBER_IN: the argument is below 32
	 * and its bit is set in `value` */
	enum test test;
	int arg;
	u32 value;
} calls[] = {
	/* most frequent first: the kernel caches the verdict only of calls without a test */
	{ SYS_bpf, RECORDING, NUMBER_IN, 0, MAP_CALLS },
	{ SYS_openat, ALWAYS, NONE_OF, 2, WRITES },
	{ SYS_mmap, ALWAYS, NONE_OF, 2, PROT_EXEC },
	{ SYS_mprotect, ALWAYS, NONE_OF, 2, PROT_EXEC },
	/* descriptors */
	{ SYS_read }, { SYS_readv }, { SYS_pread64 }, { SYS_preadv }, { SYS_write }, { SYS_writev },
	{ SYS_pwrite64 }, { SYS_pwritev }, { SYS_sendto }, { SYS_recvfrom }, { SYS_close },
	{ SYS_lseek }, { SYS_ftruncate }, { SYS_fallocate }, { SYS_fsync }, { SYS_fdatasync },
	{ SYS_sync_file_range }, { SYS_fadvise64 }, { SYS_flock }, { SYS_fcntl }, { SYS_dup },
	{ SYS_dup3 }, { SYS_ppoll }, { SYS_pselect6 }, { SYS_epoll_ctl }, { SYS_epoll_pwait },
	{ SYS_ioctl, ALWAYS, EQUAL, 1, TCGETS }, { SYS_ioctl, ALWAYS, EQUAL, 1, FIONREAD },
	/* metadata of files */
	{ SYS_newfstatat }, { SYS_fstat }, { SYS_statx }, { SYS_statfs }, { SYS_fstatfs },
	{ SYS_readlinkat }, { SYS_getdents64 }, { SYS_getxattr }, { SYS_lgetxattr },
	{ SYS_fgetxattr }, { SYS_faccessat }, { SYS_faccessat2 }, { SYS_getcwd },
	/* memory, time, threads, the process itself */
	{ SYS_brk }, { SYS_munmap }, { SYS_mremap }, { SYS_madvise }, { SYS_membarrier },
	{ SYS_futex }, { SYS_sched_yield }, { SYS_sched_getaffinity }, { SYS_set_robust_list },
	{ SYS_rseq }, { SYS_getrandom }, { SYS_clock_gettime }, { SYS_clock_nanosleep },
	{ SYS_nanosleep }, { SYS_gettimeofday }, { SYS_getrusage },
	{ SYS_prlimit64, ALWAYS, EQUAL, 2, 0 }, { SYS_sysinfo }, { SYS_uname }, { SYS_getpid },
	{ SYS_gettid }, { SYS_getppid }, { SYS_getuid }, { SYS_geteuid }, { SYS_getgid },
	{ SYS_getegid }, { SYS_rt_sigtimedwait }, { SYS_rt_sigprocmask }, { SYS_rt_sigaction },
	{ SYS_rt_sigreturn }, { SYS_sigaltstack }, { SYS_restart_syscall }, { SYS_tgkill },
	{ SYS_wait4 }, { SYS_exit }, { SYS_exit_group },
	{ SYS_clone, RECORDING, SOME_OF, 0, CLONE_THREAD },
	/* for helpers: files inside a container, and syncs and checkpoints where they have the
	 * right to them */
	/* opens a control group by its id */
	{ SYS_open_by_handle_at, LOOKING, NONE_OF, 2, WRITES },
	{ SYS_openat2, LOOKING }, { SYS_syncfs, LOOKING }, { SYS_sync, LOOKING },
	{ SYS_ioctl, LOOKING, EQUAL, 1, (u32)FS_IOC_GETVERSION },
	{ SYS_ioctl, LOOKING, EQUAL, 1, (u32)EXT4_CHECKPOINT },
	{ SYS_ioctl, LOOKING, EQUAL, 1, (u32)FIFREEZE },
	{ SYS_ioctl, LOOKING, EQUAL, 1, (u32)FITHAW },
#ifdef __x86_64__ /* older names of some of them */
	{ SYS_poll }, { SYS_select }, { SYS_epoll_wait }, { SYS_stat }, { SYS_lstat },
	{ SYS_readlink }, { SYS_access }, { SYS_getpgrp }, { SYS_time },
#endif
};

#define ROW_MAX 8               /* instructions of one row, at most */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/* The argument is loaded after the jump that skips a row. A test that fails loads the call's number
 * again, for the next row. */
static size_t put_test(struct sock_filter *p, const struct call *c)
{
	static const u16 jumps[] = { [NONE_OF] = BPF_JSET, [SOME_OF] = BPF_JSET, [EQUAL] = BPF_JEQ,
		[NUMBER_IN] = BPF_JSET };
	bool yes = c->test != NONE_OF; /* outcome that the jump must find */
	size_t n = 0;

	/* little-endian, as all supported machines */
	p[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, args) + 8 * c->arg);
	if (c->test == NUMBER_IN) {
		p[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 31, 5, 0);
		p[n++] = (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0);
		p[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 1);
		p[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0);
	}
	p[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[c->test] | BPF_K, c->value,
		yes ? 0 : 1, yes ? 1 : 0);
	p[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	p[n++] = (struct sock_filter)LOAD(nr);
	return n;
}

static size_t put_call(struct sock_filter *p, const struct call *c)
{
	size_t n = 1;

	if (c->test == ANY)
		p[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	else
		n += put_test(p + n, c);
	p[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->number, 0, n - 1);
	return n;
}

int sandbox_calls(enum sandbox whose)
{
#ifdef ARCH
	struct sock_filter code[(ROW_MAX + 2) * N_OF(calls)];
	struct sock_fprog program = { .filter = code };
	size_t n = 0;
	long err;

	code[n++] = (struct sock_filter)LOAD(arch);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)LOAD(nr);
	/* the flags of clone3(2) are in memory, where no filter sees them; libc then falls back to
	 * clone(2) */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS);
	for (size_t i = 0; i < N_OF(calls); i++)
		if (calls[i].when == ALWAYS ||
		    (calls[i].when == LOOKING) == (whose == SANDBOX_HELPER))
			n += put_call(code + n, &calls[i]);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	program.len = n;
	err = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	/* positive: id of a thread that could not be given the filter */
	return err < 0 ? -errno : err ? -EBUSY : 0;
#else
	return -ENOSYS;
#endif
}

/* --- Landlock --- */

/* Numbers of the calls: the headers may be older than the kernel. */
#define LANDLOCK_CREATE 444
#define LANDLOCK_RESTRICT 446
#define LANDLOCK_VERSION 1

struct landlock_rules {
	u64 files, ports, scopes;
};

/* Rights that each version of Landlock can deny, all but reading. A version that added some has a
 * row. */
static const struct {
	int version;
	struct landlock_rules denied;
} landlock[] = {
	{ 1, { 0x1ff3 } },                      /* execute, write, remove, create (5.13) */
	{ 2, { 0x2000 } },                      /* link or rename into another directory (5.19) */
	{ 3, { 0x4000 } },                      /* truncate (6.2) */
	{ 4, { 0, 0x3 } },                      /* bind and connect (6.7) */
	{ 5, { 0x8000 } },                      /* ioctl on devices (6.10) */
	{ 6, { 0, 0, 0x3 } }, /* abstract sockets and signals outside of the domain (6.12) */
};

int sandbox_files(void)
{
	long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
	struct landlock_rules rules = { 0 };
	size_t size = version < 4 ? offsetof(struct landlock_rules, ports) : version < 6 ?
		offsetof(struct landlock_rules, scopes) : sizeof(rules);
	auto_close int fd = -1;

	if (version < 0 || NO_LANDLOCK)
		return version < 0 ? -errno : -ENOSYS;
	for (size_t i = 0; i < N_OF(landlock) && landlock[i].version <= version; i++) {
		rules.files |= landlock[i].denied.files;
		rules.ports |= landlock[i].denied.ports;
		rules.scopes |= landlock[i].denied.scopes;
	}
	fd = syscall(LANDLOCK_CREATE, &rules, size, 0);
	return fd < 0 || syscall(LANDLOCK_RESTRICT, fd, 0) ? -errno : 0;
}
