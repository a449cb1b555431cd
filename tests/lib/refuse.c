// SPDX-License-Identifier: GPL-3.0-only
/* refuse.c - preloaded into the tracer: the kernel refuses the program that IOT_REFUSE names, with
 * a verifier's log of 1009 lines, and its types have none of the tracepoints that IOT_HIDE names,
 * with blanks in between.
 *
 * No kernel refuses the same program for the same reason, or has renamed each tracepoint, so tests
 * of what is then said and done bring their own refusal. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define LOG_LINES 1009
#define TYPE_OF_TRACEPOINT "btf_trace_"

static long refuse(const union bpf_attr *attr)
{
	char *log = (char *)(unsigned long)attr->log_buf;
	size_t n = 0;

	for (int i = 1; log && i <= LOG_LINES && n + 64 < attr->log_size; i++)
		n += snprintf(log + n, attr->log_size - n, "%d: (85) refused for a test\n", i);
	errno = EACCES;
	return -1;
}

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const char *name = getenv("IOT_REFUSE");
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && name &&
	    !strncmp(((union bpf_attr *)a[1])->prog_name, name, BPF_OBJ_NAME_LEN - 1))
		return refuse((union bpf_attr *)a[1]);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int is_hidden(const char *tracepoint)
{
	const char *hidden = getenv("IOT_HIDE");
	size_t n = strlen(tracepoint);

	for (const char *at = hidden; at && (at = strstr(at, tracepoint)); at += n)
		if ((at == hidden || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return 1;
	return 0;
}

/* The tracer reads the names of types by this function of libbpf. */
const char *btf__name_by_offset(const void *btf, unsigned int offset)
{
	static const char *(*next)(const void *, unsigned int);
	const char *name;

	if (!next)
		next = (const char *(*)(const void *, unsigned int))dlsym(RTLD_NEXT, "btf__name_by_offset");
	name = next(btf, offset);
	return name && !strncmp(name, TYPE_OF_TRACEPOINT, strlen(TYPE_OF_TRACEPOINT)) &&
			       is_hidden(name + strlen(TYPE_OF_TRACEPOINT)) ?
		       "" :
		       name;
}
