// SPDX-License-Identifier: GPL-3.0-only
/* sandbox.c - stands for an intruder in a process of the tracer's: tries what he would do next, and prints what was not refused, or was
 * though a run needs it.
 *
 * usage: sandbox tracer|helper FILE PID      in the process that records, or in one that looks; FILE is root's, PID a process of root's
 *        sandbox landlock FILE PID           without the filter of system calls
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "privilege.h"
#include "sandbox.h"

enum { TRACER = 1, HELPER = 2, LANDLOCK = 4, BOTH = TRACER | HELPER, ALL = 7 };

static char *const nothing[] = { NULL };
static union bpf_attr attr = { .map_fd = -1 };
static long file, folder, mem, pid; /* of the arguments: a name, its folder, /proc/PID/mem */
static struct open_how to_write = { .flags = O_WRONLY }, to_read = { .flags = O_RDONLY };

/* Arguments that are known only at run time. */
#define FILE_NAME ((long)&file)
#define MEMORY ((long)&mem)
#define PROCESS ((long)&pid)
#define IN_FOLDER ((long)&folder)

/* The calls to try, and the processes that must be refused them: EPERM or EACCES. To try more: a
 * row. A `needed` call must not be EPERM; numbers that mean nothing make it fail otherwise. */
static const struct {
	const char *name;
	int refused, needed;
	long call[7];
} tries[] = {
	{ "start a program", BOTH, 0, { SYS_execve, (long)"/bin/true", (long)nothing, (long)nothing } },
	{ "start a program by descriptor", BOTH, 0, { SYS_execveat, AT_FDCWD, (long)"/bin/true", (long)nothing, (long)nothing, 0 } },
	{ "write to a file of root's", ALL, 0, { SYS_openat, AT_FDCWD, FILE_NAME, O_WRONLY } },
	{ "write to a file of root's by openat2", ALL, 0, { SYS_openat2, AT_FDCWD, FILE_NAME, (long)&to_write, sizeof(to_write) } },
	{ "empty a file of root's", ALL, 0, { SYS_truncate, FILE_NAME, 0 } },
	{ "write into the kernel's settings", ALL, 0, { SYS_openat2, AT_FDCWD, (long)"/proc/sys/kernel/core_pattern", (long)&to_write, sizeof(to_write) } },
	{ "write into /dev/kmsg", ALL, 0, { SYS_openat2, AT_FDCWD, (long)"/dev/kmsg", (long)&to_write, sizeof(to_write) } },
	{ "write into a device", ALL, 0, { SYS_openat2, AT_FDCWD, (long)"/dev/loop-control", (long)&to_write, sizeof(to_write) } },
	{ "write into a process of root's", ALL, 0, { SYS_openat2, AT_FDCWD, MEMORY, (long)&to_write, sizeof(to_write) } },
	{ "read a process of root's", TRACER | LANDLOCK, 0, { SYS_openat, AT_FDCWD, MEMORY, O_RDONLY } },
	{ "make a file beside root's", ALL, 0, { SYS_openat, IN_FOLDER, (long)"x", O_RDONLY | O_CREAT, 0600 } },
	{ "make a file without a name", ALL, 0, { SYS_openat, AT_FDCWD, (long)"/tmp", O_TMPFILE | O_RDWR, 0600 } },
	{ "make a file where everybody may", TRACER | LANDLOCK, 0, { SYS_openat, AT_FDCWD, (long)"/tmp/.iot-sandbox", O_RDONLY | O_CREAT, 0600 } },
	{ "remove a file of root's", ALL, 0, { SYS_unlinkat, AT_FDCWD, FILE_NAME, 0 } },
	{ "rename a file of root's", ALL, 0, { SYS_renameat2, AT_FDCWD, FILE_NAME, AT_FDCWD, (long)"/tmp/.iot-y", 0 } },
	{ "link a file of root's", ALL, 0, { SYS_linkat, AT_FDCWD, FILE_NAME, AT_FDCWD, (long)"/tmp/.iot-y", 0 } },
	{ "make a symbolic link", ALL, 0, { SYS_symlinkat, (long)"x", IN_FOLDER, (long)"y" } },
	{ "make a folder", ALL, 0, { SYS_mkdirat, IN_FOLDER, (long)"x", 0700 } },
	{ "make a device", ALL, 0, { SYS_mknodat, AT_FDCWD, (long)"/tmp/.iot-null", S_IFCHR | 0600, 0x103 } },
	{ "change a mode", ALL, 0, { SYS_fchmodat, AT_FDCWD, FILE_NAME, 04755 } },
	{ "change an owner", ALL, 0, { SYS_fchownat, AT_FDCWD, FILE_NAME, 12345, 12345, 0 } },
	{ "change an attribute", ALL, 0, { SYS_setxattr, FILE_NAME, (long)"user.x", (long)"x", 1, 0 } },
	{ "mount", ALL, 0, { SYS_mount, (long)"none", (long)"/tmp", (long)"tmpfs", 0, 0 } },
	{ "unmount", ALL, 0, { SYS_umount2, (long)"/proc", 2 } },
	{ "another root", ALL, 0, { SYS_chroot, (long)"/" } },
	{ "other namespaces", ALL, 0, { SYS_unshare, CLONE_NEWNS } },
	{ "namespaces of users", BOTH, 0, { SYS_unshare, CLONE_NEWUSER } },
	{ "enter namespaces", BOTH, 0, { SYS_setns, 0, 0 } },
	{ "open a socket", BOTH, 0, { SYS_socket, 2, 1, 0 } },
	{ "connect", BOTH, 0, { SYS_connect, -1, 0, 0 } },
	{ "trace a process", ALL, 0, { SYS_ptrace, 16, PROCESS, 0, 0 } },
	{ "write into a process by its number", BOTH, 0, { SYS_process_vm_writev, PROCESS, 0, 0, 0, 0, 0 } },
	{ "signal a process", ALL, 0, { SYS_kill, PROCESS, 0 } },
	{ "signal a thread", ALL, 0, { SYS_tgkill, PROCESS, PROCESS, 0 } },
	{ "take a process's descriptors", BOTH, 0, { SYS_pidfd_getfd, -1, 0, 0 } },
	{ "load a BPF program", ALL, 0, { SYS_bpf, BPF_PROG_LOAD, (long)&attr, sizeof(attr) } },
	{ "make a BPF map", BOTH, 0, { SYS_bpf, BPF_MAP_CREATE, (long)&attr, sizeof(attr) } },
	{ "attach a BPF program", BOTH, 0, { SYS_bpf, BPF_LINK_CREATE, (long)&attr, sizeof(attr) } },
	{ "find others' BPF maps", ALL, 0, { SYS_bpf, BPF_MAP_GET_FD_BY_ID, (long)&attr, sizeof(attr) } },
	{ "a BPF command of a large number", BOTH, 0, { SYS_bpf, 33, (long)&attr, sizeof(attr) } },
	{ "load a module", BOTH, 0, { SYS_finit_module, -1, (long)"", 0 } },
	{ "another kernel", BOTH, 0, { SYS_kexec_load, 0, 0, 0, 0 } },
	{ "be root again", ALL, 0, { SYS_setresuid, 0, 0, 0 } },
	{ "perf events", BOTH, 0, { SYS_perf_event_open, 0, 0, -1, -1, 0 } },
	{ "io_uring, past the filter", BOTH, 0, { SYS_io_uring_setup, 1, 0 } },
	{ "faults of memory", BOTH, 0, { SYS_userfaultfd, 0 } },
	{ "memory that is code", BOTH, 0, { SYS_mmap, 0, 0, PROT_READ | PROT_EXEC, 0, -1, 0 } },
	{ "memory that becomes code", BOTH, 0, { SYS_mprotect, 4097, 4096, PROT_READ | PROT_EXEC } },
	{ "a new process", BOTH, 0, { SYS_clone, 0x11, -1, 0, 0, 0 } },
	{ "set the clock", ALL, 0, { SYS_clock_settime, 0, (long)&(long[2]){ 1, 0 } } },
	{ "keys", BOTH, 0, { SYS_keyctl, 0, 0, 0, 0, 0 } },
	{ "type on a terminal", BOTH, 0, { SYS_ioctl, 0, 0x5412, 0 } },
	{ "freeze a file system", ALL, 0, { SYS_ioctl, IN_FOLDER, FIFREEZE, 0 } },
	{ "read a BPF map", HELPER, TRACER, { SYS_bpf, BPF_MAP_LOOKUP_ELEM, (long)&attr, sizeof(attr) } },
	{ "read a file", 0, ALL, { SYS_openat, AT_FDCWD, (long)"/proc/self/mountinfo", O_RDONLY } },
	{ "look where a path leads", TRACER, HELPER, { SYS_openat2, AT_FDCWD, (long)"/", (long)&to_read, sizeof(to_read) } },
	{ "is it a terminal", 0, ALL, { SYS_ioctl, -1, 0x5401, 0 } },
};

/* An argument that is known by now. */
static long known(long argument)
{
	long *const all[] = { &file, &folder, &mem, &pid };

	for (size_t i = 0; i < N_OF(all); i++)
		if (argument == (long)all[i])
			return *all[i];
	return argument;
}

static int prepare(char **argv)
{
	static char path[64];
	char *dir = strdup(argv[2]);

	file = (long)argv[2];
	*strrchr(dir, '/') = '\0';
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	pid = atol(argv[3]);
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[3]);
	mem = (long)path;
	if (!strcmp(argv[1], "helper"))
		return privilege_keep_looking() ? 0 : HELPER;
	if (!strcmp(argv[1], "tracer"))
		return privilege_drop() ? 0 : TRACER;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setresgid(77777, 77777, 77777) ||
			       setresuid(77777, 77777, 77777) || sandbox_files()
		       ? 0
		       : LANDLOCK;
}

int main(int argc, char **argv)
{
	int mode, bad = 0, refused = 0, tried = 0;

	mode = argc == 4 && strchr(argv[2], '/') ? prepare(argv) : 0;
	if (!mode)
		return 2;
	for (size_t i = 0; i < N_OF(tries); i++) {
		long a[7], got;

		if (!((tries[i].refused | tries[i].needed) & mode))
			continue;
		for (size_t n = 0; n < N_OF(a); n++)
			a[n] = known(tries[i].call[n]);
		errno = 0;
		got = syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
		tried++;
		if (tries[i].refused & mode ? got < 0 && (errno == EPERM || errno == EACCES)
					    : got >= 0 || errno != EPERM) {
			refused += !!(tries[i].refused & mode);
			continue;
		}
		printf("%s is %srefused: %s\n", tries[i].name, got < 0 ? "" : "not ", strerror(errno));
		bad++;
	}
	printf("%s: %d ways tried, %d refused, %d not as they should be\n", argv[1], tried, refused, bad);
	return bad != 0;
}
