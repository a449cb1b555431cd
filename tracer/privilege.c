// SPDX-License-Identifier: GPL-3.0-only
/* privilege.c - capabilities: drops all but a few once everything is attached. (What is needed: rights.c.)
 *
 * To change what is kept: a row in `rows`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "privilege.h"
#include "sandbox.h"

enum kept { DROPPED, KEPT, KEPT_STORE, KEPT_OLD_KERNEL, KEPT_CHECKPOINT };

static const struct row {
	int cap;
	enum kept kept;         /* used while recording */
} rows[] = {
	{ CAP_BPF, KEPT_OLD_KERNEL },   /* load; read maps before 5.19 (c8644cd0efe7), where unprivileged BPF is off */
	{ CAP_PERFMON, DROPPED },   /* tracing programs */
	{ CAP_SYS_PTRACE, KEPT },           /* executables and accounting of others' processes */
	{ CAP_DAC_READ_SEARCH, KEPT }, /* mount points to be synced, files that say what a process is */
	{ CAP_DAC_OVERRIDE, KEPT_STORE }, /* the store's log, in folders of other users */
	{ CAP_SYS_ADMIN, KEPT_CHECKPOINT },  /* what has a journal put in place (checkpoint.c) */
};

static int get_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) ? fail(errno, "cannot read capabilities") : 0;
}

static int set_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, data) ? fail(errno, "cannot drop privileges") : 0;
}

static bool is_kept(enum kept kept, bool needs_bpf, const struct sandbox_opts *o)
{
	return kept == KEPT || (kept == KEPT_OLD_KERNEL && needs_bpf) || (kept == KEPT_STORE && o->store) || (kept == KEPT_CHECKPOINT && o->checkpoint);
}

/* All but what is kept; in the effective set alone, or for good. */
static int keep(struct __user_cap_data_struct data[2], bool needs_bpf, const struct sandbox_opts *o, bool for_good)
{
	u32 kept[2] = {};

	for (size_t i = 0; i < N_OF(rows); i++)
		if (is_kept(rows[i].kept, needs_bpf, o))
			kept[rows[i].cap / 32] |= 1u << rows[i].cap % 32;
	for (int i = 0; i < 2; i++) {
		data[i].effective = data[i].permitted & kept[i];
		data[i].permitted = for_good ? data[i].effective : data[i].permitted;
		data[i].inheritable = 0;
	}
	return set_caps(data);
}

/* Asked without a map, with what capabilities there are: EPERM comes before EBADF. */
static bool reading_needs_bpf(void)
{
	union bpf_attr nothing = { .map_fd = -1 };

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &nothing, sizeof(nothing)) && errno == EPERM;
}

int privilege_drop(const struct sandbox_opts *o)
{
	struct __user_cap_data_struct data[2] = {};
	int err = get_caps(data);

	if (!err)
		err = keep(data, false, o, false);
	if (err)
		return err;
	err = keep(data, reading_needs_bpf(), o, true);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = fail(errno, "cannot drop privileges");
	if (err)
		return err;
	err = sandbox_enter(o);
	if (err)
		note("the kernel has no filter for system calls (seccomp: %s); continuing without it", strerror(-err));
	return 0;
}

/* Numbers of users that nobody has: behind those that containers get, below those that are refused (systemd's UIDS-GIDS). Each process
 * of ours has one of its own, so that none can do anything to another. */
#define NOBODYS 0x70000000u

/* Another user than root, with the same capabilities. What is root's alone can be written by it no longer. */
static int leave_root(void)
{
	uid_t uid = NOBODYS + getpid();

	if (geteuid() && getuid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return fail(errno, "cannot become another user than root");
	return 0;
}

static int keep_these(const int *caps, size_t n)
{
	struct __user_cap_data_struct data[2] = {}, kept[2] = {};
	int err = get_caps(data);

	for (size_t i = 0; i < n; i++)
		kept[caps[i] / 32].permitted |= data[caps[i] / 32].permitted & 1u << caps[i] % 32;
	for (int i = 0; i < 2; i++)
		kept[i].effective = kept[i].permitted;
	return err ?: set_caps(kept);
}

int privilege_keep_helping(bool checkpoint)
{
	static const int caps[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_SYS_ADMIN };

	prctl(PR_SET_DUMPABLE, 0);
	return keep_these(caps, N_OF(caps) - !checkpoint);
}

int privilege_keep_looking(bool checkpoint)
{
	static const int caps[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN };
	int err = leave_root() ?: keep_these(caps, N_OF(caps) - !checkpoint);

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = fail(errno, "cannot drop privileges");
	prctl(PR_SET_DUMPABLE, 0);
	return err;
}

int privilege_keep_loading(bool modules)
{
	/* the last but one: where kptr_restrict hides the addresses of functions; the last: a module's types are nobody else's */
	static const int caps[] = { CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_SYS_ADMIN };
	struct __user_cap_data_struct data[2] = {}, kept[2] = {};
	int err = get_caps(data);

	for (size_t i = 0; i < N_OF(caps) - !modules; i++)
		kept[caps[i] / 32].permitted |= data[caps[i] / 32].permitted & 1u << caps[i] % 32;
	for (int i = 0; i < 2; i++)
		kept[i].effective = kept[i].permitted;
	if (err || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err ? err : fail(errno, "cannot drop privileges");
	return set_caps(kept);
}
