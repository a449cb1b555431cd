// SPDX-License-Identifier: GPL-3.0-only
/* privilege.c - users and capabilities of the processes of a run after everything is attached.
 * (rights.c has what is needed before that.)
 *
 * To change what a process keeps: a row in `whose`.
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

/* The leak checker of sanitizers inspects its own process. */
#ifdef __SANITIZE_ADDRESS__
#define NO_SANDBOX 1
#else
#define NO_SANDBOX 0
#endif

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

static void close_memory(void)
{
	if (!NO_SANDBOX)
		prctl(PR_SET_DUMPABLE, 0);
}

/* Tries the call without a map, with the present capabilities: EPERM is returned before EBADF. */
static bool reading_needs_bpf(const struct privilege_opts *o)
{
	struct __user_cap_data_struct data[2] = {}, none[2] = {};
	union bpf_attr nothing = { .map_fd = -1 };
	bool needs;

	if (get_caps(data))
		return true;
	none[0].permitted = data[0].permitted;
	none[1].permitted = data[1].permitted;
	set_caps(none);
	needs = syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &nothing, sizeof(nothing)) && errno == EPERM;
	set_caps(data);
	return needs;
}

static bool is_checkpoint(const struct privilege_opts *o)
{
	return o->checkpoint;
}

static bool has_store(const struct privilege_opts *o)
{
	return o->store;
}

static bool has_modules(const struct privilege_opts *o)
{
	return o->modules;
}

enum who { TRACER, KEEPER, LOOKER, SETTLER, ERRANDS, LOADER };

/* Capabilities that each process keeps for good. */
static const struct {
	int cap;
	enum who who;
	bool (*when)(const struct privilege_opts *); /* NULL: always */
} whose[] = {
	/* reading maps needs CAP_BPF before 5.19 (c8644cd0efe7) where unprivileged BPF is off */
	{ CAP_BPF, TRACER, reading_needs_bpf },
	/* executables, memory and accounting of other users' processes; files that identify a
	 * process; mount points to sync */
	{ CAP_SYS_PTRACE, LOOKER }, { CAP_DAC_READ_SEARCH, LOOKER },
	/* checkpoints of journals (checkpoint.c) */
	{ CAP_DAC_READ_SEARCH, SETTLER }, { CAP_SYS_ADMIN, SETTLER, is_checkpoint },
	/* files next to a store, in directories of other users */
	{ CAP_DAC_OVERRIDE, ERRANDS }, { CAP_DAC_READ_SEARCH, ERRANDS },
	/* all that the helpers keep; to change their users, to end them, and to thaw what one left
	 * frozen */
	{ CAP_SYS_PTRACE, KEEPER }, { CAP_DAC_READ_SEARCH, KEEPER },
	{ CAP_SYS_ADMIN, KEEPER, is_checkpoint }, { CAP_DAC_OVERRIDE, KEEPER, has_store },
	{ CAP_SETUID, KEEPER }, { CAP_SETGID, KEEPER }, { CAP_KILL, KEEPER },
	/* CAP_SYSLOG: kernel addresses under kptr_restrict; CAP_SYS_ADMIN: types of modules */
	{ CAP_BPF, LOADER }, { CAP_PERFMON, LOADER }, { CAP_SYSLOG, LOADER },
	{ CAP_SYS_ADMIN, LOADER, has_modules },
};

/* Keeps the capabilities of `who` and no others. */
static int keep(enum who who, const struct privilege_opts *o)
{
	struct __user_cap_data_struct data[2] = {}, kept[2] = {};
	int err = get_caps(data);

	for (size_t i = 0; i < N_OF(whose); i++)
		if (whose[i].who == who && (!whose[i].when || whose[i].when(o)))
			kept[whose[i].cap / 32].permitted |= data[whose[i].cap / 32].permitted & 1u << whose[i].cap % 32;
	for (int i = 0; i < 2; i++)
		kept[i].effective = kept[i].permitted;
	if (!err)
		err = set_caps(kept);
	if (!err && who != KEEPER && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = fail(errno, "cannot drop privileges");
	return err;
}

/* User ids that belong to nobody: above those of containers, below the reserved ones (systemd,
 * UIDS-GIDS.md). Each process gets one of its own, so that none can signal or inspect another. */
#define NOBODYS 0x70000000u

/* Changes a root process to an unused user with the same capabilities, whose access to root's files
 * ends with that. Returns false when it cannot. A process that is not root keeps its user. It
 * becomes undumpable: no other process can inspect it, and no core file holds its memory. */
static bool leave_root(void)
{
	uid_t uid = NOBODYS + getpid();
	bool left = (geteuid() && getuid()) || (!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
		!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));

	close_memory();
	return left;
}

int privilege_drop(void)
{
	static const struct privilege_opts none;
	bool left = leave_root();
	int err = keep(TRACER, &none);

	if (err)
		return err;
	if (!left)
		note("the tracer stays root: it cannot become another user here");
	err = sandbox_files();
	if (err && !NO_SANDBOX)
		note("the kernel has no Landlock (%s); continuing without it", strerror(-err));
	err = sandbox_calls(SANDBOX_TRACER);
	if (err)
		note("the kernel has no filter for system calls (seccomp: %s); continuing without it", strerror(-err));
	return 0;
}

int privilege_keep_helping(const struct privilege_opts *o)
{
	close_memory();
	return keep(KEEPER, o);
}

int privilege_keep_looking(void)
{
	static const struct privilege_opts none;
	int err;

	leave_root();
	err = keep(LOOKER, &none);
	if (!err)
		sandbox_calls(SANDBOX_HELPER);
	return err;
}

int privilege_keep_settling(const struct privilege_opts *o)
{
	int err;

	leave_root();
	err = keep(SETTLER, o);
	if (!err)
		sandbox_calls(SANDBOX_HELPER);
	return err;
}

int privilege_keep_errands(void)
{
	static const struct privilege_opts none;

	return keep(ERRANDS, &none);
}

int privilege_keep_loading(bool modules)
{
	const struct privilege_opts o = { .modules = modules };

	leave_root();
	return keep(LOADER, &o);
}
