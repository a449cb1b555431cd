// SPDX-License-Identifier: GPL-3.0-only
/* rights.c - the capabilities that the tracer uses, and those of its user.
 *
 * To add one: a row in `rights`, which --doctor prints too, and one in the manual (section
 * SECURITY).
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "clean.h"
#include "probe.h"
#include "rights.h"
#include "tracer.h"

/* Before 5.11 the memory of BPF maps counted against RLIMIT_MEMLOCK. */
static bool has_old_limit(void)
{
	unsigned int major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
		(major < 5 || (major == 5 && minor < 11));
}

static const struct right rights[] = {
	{ CAP_BPF, "CAP_BPF", true, NULL, "no program and no table can be loaded into the kernel" },
	{ CAP_PERFMON, "CAP_PERFMON", true, NULL, "no program can be attached to tracepoints" },
	{ CAP_SYSLOG, "CAP_SYSLOG", false, NULL,
		"functions of the kernel are not recognised where their addresses are hidden: " PROBES_HIDDEN_MEANS },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, NULL,
	  "executables, files and accounting of other users' processes are not known, nor storage systems recognised by them" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, NULL,
	  "folders that are closed to you are not looked into: storage systems are not recognised there, and nothing is synced at the end by its mount" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false, probes_need_modules,
	  "types of kernel modules cannot be read: journals and owners of a file system that is a module are not known" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE", false, NULL,
		"it is not run before others on a busy machine, and events may be lost" },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", false, has_old_limit,
		"memory of tables is limited by RLIMIT_MEMLOCK (ulimit -l) before Linux 5.11" },
};

static bool borrowed;            /* the capabilities come from the file, not from the user */

const struct right *right_row(size_t n)
{
	return n < N_OF(rights) ? &rights[n] : NULL;
}

static int get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data);
}

static void set_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(SYS_capset, &header, data)) {
		fail(errno, "cannot give up capabilities");
		_exit(STATUS_FAILED);
	}
}

/* The first namespace maps every user id to itself. */
bool rights_foreign(void)
{
	unsigned long long inside, outside, n;
	auto_fclose FILE *f = fopen("/proc/self/uid_map", "re");

	return f && fscanf(f, "%llu %llu %llu", &inside, &outside, &n) == 3 &&
		(inside || outside || n != 4294967295u);
}

bool right_held(const struct right *r)
{
	struct __user_cap_data_struct data[2] = {};

	return !get_caps(data) && data[r->cap / 32].permitted & 1u << r->cap % 32 &&
		!rights_foreign();
}

/* Also drops CAP_DAC_OVERRIDE for good, even if the program file has it: callers need no override
 * to write their own files. */
void rights_lower(void)
{
	struct __user_cap_data_struct data[2] = {};

	borrowed = getauxval(AT_SECURE) && geteuid();
	if (!borrowed || get_caps(data))
		return;
	data[CAP_DAC_OVERRIDE / 32].permitted &= ~(1u << CAP_DAC_OVERRIDE % 32);
	data[0].effective = data[1].effective = data[0].inheritable = data[1].inheritable = 0;
	set_caps(data);
}

void rights_raise(void)
{
	struct __user_cap_data_struct data[2] = {};

	if (!borrowed || get_caps(data))
		return;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	set_caps(data);
}

void rights_shed(void)
{
	struct __user_cap_data_struct none[2] = {};

	if (!borrowed)
		return;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	set_caps(none);
}

/* Appends a name to a list in words. */
static void list(char *buf, size_t size, const char *name, const char *between)
{
	size_t n = strlen(buf);

	snprintf(buf + n, size - n, "%s%s", n ? between : "", name);
}

int rights_check(void)
{
	char missing[128] = "";

	for (size_t i = 0; i < N_OF(rights); i++)
		if (rights[i].needed && !right_held(&rights[i]))
			list(missing, sizeof(missing), rights[i].name, " and ");
	if (!*missing)
		return 0;
	if (rights_foreign())
		return fail(0,
			"BPF takes no capability of a user namespace: run it outside, or without one (as root, --userns=host)");
	return fail(EPERM,
		"must be run as root, or with capabilities: %s missing (--doctor has the line for setcap)", missing);
}

void rights_note(void)
{
	char missing[256] = "";

	for (size_t i = 0; i < N_OF(rights); i++)
		if (rights[i].cap != CAP_SYSLOG && (!rights[i].wanted || rights[i].wanted()) &&
		    !right_held(&rights[i]))
			list(missing, sizeof(missing), rights[i].name, ", ");
	if (*missing)
		note("without %s less is known (--doctor says what)", missing);
}

void rights_text(char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; i < N_OF(rights); i++)
		if (!rights[i].wanted || rights[i].wanted())
			list(buf, size, rights[i].name, ",");
	for (char *c = buf; *c; c++)
		*c = tolower(*c);
	list(buf, size, "ep", "=");
}
