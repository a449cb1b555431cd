// SPDX-License-Identifier: GPL-3.0-only
/* probe_version.c - versions of the compilers, of libbpf, and of the kernel's types. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "probe.h"
#include "tracer.h"

/* First line of the file that the build writes next to the objects: "clang 14.0.6, for x86". */
__asm__(".section .rodata\n.globl objects_made_by\n"
	"objects_made_by:\n.incbin \"made_by\"\n.byte 0\n.previous\n");
extern const char objects_made_by[];

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

int probes_version(void)
{
	static const char types[] = "/sys/kernel/btf/vmlinux";
	int len = strcspn(objects_made_by, "\n");
	const char *libbpf = libbpf_version_string();
	struct utsname u;

	if (uname(&u))
		return fail_as(STATUS_FAILED, errno, "cannot ask for the kernel's name");
	printf("iot-trace %s\nkernel objects: %.*s\nprogram: %s, headers of libbpf %d.%d\n",
		IOT_VERSION, len, objects_made_by, COMPILER,
	       LIBBPF_MAJOR_VERSION, LIBBPF_MINOR_VERSION);
	printf("libbpf: %s\n", libbpf + (*libbpf == 'v'));
	if (access(types, R_OK))
		printf("kernel types: none: %s cannot be read (%s)\n", types, strerror(errno));
	else
		printf("kernel types: %s of Linux %s\n", types, u.release);
	return fflush(stdout) ? fail_as(STATUS_FAILED, errno, "cannot write standard output") :
		STATUS_OK;
}
