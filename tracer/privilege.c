// SPDX-License-Identifier: GPL-3.0-only
/* privilege.c - capabilities: refuses early when one is missing, drops all but a few once everything is attached.
 *
 * To change what is needed or kept: a row in `rows`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "privilege.h"

#define TYPES "/sys/kernel/btf/vmlinux"

static const struct row {
	int cap;
	const char *name;
	bool needed;            /* nothing works without */
	bool kept;              /* used while recording */
} rows[] = {
	{ CAP_BPF, "CAP_BPF", true, true },              /* load; read maps */
	{ CAP_PERFMON, "CAP_PERFMON", true, false },     /* tracing programs */
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, true },           /* executables and accounting of others' processes */
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, true }, /* mount points to be synced */
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", false, true },       /* the store's log, in folders of other users */
};

static int get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) ? fail(errno, "cannot read capabilities") : 0;
}

static bool has(const struct __user_cap_data_struct data[2], int cap)
{
	return data[cap / 32].effective & 1u << cap % 32;
}

int privilege_check(void)
{
	struct __user_cap_data_struct data[2] = {};
	char missing[128] = "";
	int err = get_caps(data);

	if (err)
		return err;
	for (size_t i = 0; i < N_OF(rows); i++)
		if (rows[i].needed && !has(data, rows[i].cap))
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s", *missing ? " and " : "", rows[i].name);
	if (*missing)
		return fail(EPERM, "must be run as root: %s missing", missing);
	if (access(TYPES, R_OK))
		return fail(errno, "the kernel does not show its types (built without CONFIG_DEBUG_INFO_BTF?): cannot read " TYPES);
	return 0;
}

int privilege_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	u32 keep[2] = {};
	int err = get_caps(data);

	if (err)
		return err;
	for (size_t i = 0; i < N_OF(rows); i++)
		if (rows[i].kept)
			keep[rows[i].cap / 32] |= 1u << rows[i].cap % 32;
	for (int i = 0; i < 2; i++) {
		data[i].effective &= keep[i];
		data[i].permitted &= keep[i];
		data[i].inheritable = 0;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &header, data))
		return fail(errno, "cannot drop privileges");
	return 0;
}
