// SPDX-License-Identifier: GPL-3.0-only
/* sandbox.c - tries calls inside the filter of the tracer, and prints those that are not what they should be.
 *
 * usage: sandbox plain|store|report      as in a run without a store, with one, and with a table at its end
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sandbox.h"

enum { PLAIN = 1, STORE = 2, REPORT = 4, ALL = 7 };

static char *const nothing[] = { NULL };
static union bpf_attr attr = { .map_fd = -1 };

/* What is tried, and in which modes it is stopped (EPERM). To try more: a row. The numbers make calls fail that are let through. */
static const struct {
	const char *name;
	int stopped;
	long call[7];
} tries[] = {
	{ "start a program", PLAIN | STORE, { SYS_execve, (long)"/nowhere", (long)nothing, (long)nothing } },
	{ "start a program by descriptor", PLAIN | STORE, { SYS_execveat, -1, (long)"", (long)nothing, (long)nothing, AT_EMPTY_PATH } },
	{ "write to a file by name", PLAIN, { SYS_openat, -1, (long)"x", O_WRONLY } },
	{ "make a file", PLAIN, { SYS_openat, -1, (long)"x", O_RDONLY | O_CREAT, 0600 } },
	{ "make a file without a name", PLAIN, { SYS_openat, -1, (long)"x", O_TMPFILE | O_RDWR, 0600 } },
	{ "read a file", 0, { SYS_openat, -1, (long)"x", O_RDONLY } },
	{ "remove a file", PLAIN, { SYS_unlinkat, -1, (long)"x", 0 } },
	{ "rename a file", ALL, { SYS_renameat2, -1, (long)"x", -1, (long)"y", 0 } },
	{ "link a file", ALL, { SYS_linkat, -1, (long)"x", -1, (long)"y", 0 } },
	{ "make a symbolic link", ALL, { SYS_symlinkat, (long)"x", -1, (long)"y" } },
	{ "make a folder", ALL, { SYS_mkdirat, -1, (long)"x", 0700 } },
	{ "make a device", ALL, { SYS_mknodat, -1, (long)"x", 020600, 0x103 } },
	{ "change a mode", ALL, { SYS_fchmodat, -1, (long)"x", 04755 } },
	{ "change an owner", ALL, { SYS_fchownat, -1, (long)"x", 0, 0, 0 } },
	{ "mount", ALL, { SYS_mount, 0, 0, 0, 0, 0 } },
	{ "unmount", ALL, { SYS_umount2, (long)"/nowhere", 0 } },
	{ "another root", ALL, { SYS_chroot, (long)"/nowhere" } },
	{ "other namespaces", ALL, { SYS_unshare, CLONE_NEWNS } },
	{ "enter namespaces", ALL, { SYS_setns, -1, 0 } },
	{ "open a socket", ALL, { SYS_socket, 2, 1, 0 } },
	{ "connect", ALL, { SYS_connect, -1, 0, 0 } },
	{ "trace a process", ALL, { SYS_ptrace, 16, 1, 0, 0 } },
	{ "write into a process", ALL, { SYS_process_vm_writev, 1, 0, 0, 0, 0, 0 } },
	{ "signal a process", PLAIN | STORE, { SYS_kill, 0x3ffffff, 0 } },
	{ "load a BPF program", ALL, { SYS_bpf, BPF_PROG_LOAD, (long)&attr, sizeof(attr) } },
	{ "make a BPF map", ALL, { SYS_bpf, BPF_MAP_CREATE, (long)&attr, sizeof(attr) } },
	{ "attach a BPF program", ALL, { SYS_bpf, BPF_LINK_CREATE, (long)&attr, sizeof(attr) } },
	{ "find others' BPF maps", ALL, { SYS_bpf, BPF_MAP_GET_FD_BY_ID, (long)&attr, sizeof(attr) } },
	{ "a BPF command of a large number", ALL, { SYS_bpf, 33, (long)&attr, sizeof(attr) } },
	{ "read a BPF map", 0, { SYS_bpf, BPF_MAP_LOOKUP_ELEM, (long)&attr, sizeof(attr) } },
	{ "load a module", ALL, { SYS_finit_module, -1, (long)"", 0 } },
	{ "another kernel", ALL, { SYS_kexec_load, 0, 0, 0, 0 } },
	{ "another user", ALL, { SYS_setresuid, 0, 0, 0 } },
	{ "perf events", ALL, { SYS_perf_event_open, 0, 0, -1, -1, 0 } },
	{ "io_uring, past the filter", ALL, { SYS_io_uring_setup, 0, 0 } },
	{ "memory that is code", PLAIN | STORE, { SYS_mmap, 0, 0, PROT_READ | PROT_EXEC, 0, -1, 0 } },
	{ "memory that becomes code", PLAIN | STORE, { SYS_mprotect, 4097, 4096, PROT_READ | PROT_EXEC } },
	{ "a new process", PLAIN | STORE, { SYS_clone, 0, 0, 0, 0, 0 } },
	{ "set the clock", ALL, { SYS_clock_settime, 99, 0 } },
	{ "keys", ALL, { SYS_keyctl, 0, 0, 0, 0, 0 } },
	{ "type on a terminal", ALL, { SYS_ioctl, -1, 0x5412, 0 } },
	{ "freeze a file system", ALL, { SYS_ioctl, -1, FIFREEZE, 0 } },
	{ "is it a terminal", 0, { SYS_ioctl, -1, 0x5401, 0 } },
};

int main(int argc, char **argv)
{
	struct sandbox_opts o = { .store = argc > 1 && strcmp(argv[1], "plain"), .report = argc > 1 && !strcmp(argv[1], "report") };
	int mode = o.report ? REPORT : o.store ? STORE : PLAIN, bad = 0, stopped = 0, err;
	size_t i;

	if (argc != 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 2;
	err = sandbox_enter(&o);
	if (err) {
		fprintf(stderr, "sandbox: %s\n", strerror(-err));
		return 2;
	}
	for (i = 0; i < N_OF(tries); i++) {
		const long *c = tries[i].call;
		bool want = tries[i].stopped & mode, got;

		if (c[0] == SYS_clone && !want)
			continue; /* it would make one */
		errno = 0;
		got = syscall(c[0], c[1], c[2], c[3], c[4], c[5], c[6]) < 0 && errno == EPERM;
		stopped += got;
		if (got == want)
			continue;
		printf("%s is %sstopped: %s\n", tries[i].name, got ? "" : "not ", strerror(errno));
		bad++;
	}
	printf("%s: %zu calls tried, %d stopped, %d not as they should be\n", argv[1], i, stopped, bad);
	return bad != 0;
}
