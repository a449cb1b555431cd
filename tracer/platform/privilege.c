// SPDX-License-Identifier: GPL-3.0-only
/* privilege.c - who the processes of a run are, and what they may, once everything is attached. (What is needed before that: rights.c.)
 *
 * To change what one keeps: a row in `whose`.
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

/* The leak checker of sanitizers looks into the process. */
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

/* Asked without a map, with what capabilities there are: EPERM comes before EBADF. */
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

/* What each of them keeps for good. */
static const struct {
	int cap;
	enum who who;
	bool (*when)(const struct privilege_opts *); /* NULL: always */
} whose[] = {
	/* the tracer reads maps, for which it needs CAP_BPF before 5.19 (c8644cd0efe7) where unprivileged BPF is off */
	{ CAP_BPF, TRACER, reading_needs_bpf },
	/* executables, memory and accounting of others' processes; files that say what a process is, mount points to be synced */
	{ CAP_SYS_PTRACE, LOOKER }, { CAP_DAC_READ_SEARCH, LOOKER },
	/* what has a journal put in place (checkpoint.c) */
	{ CAP_DAC_READ_SEARCH, SETTLER }, { CAP_SYS_ADMIN, SETTLER, is_checkpoint },
	/* what lies beside a store, in folders of other users */
	{ CAP_DAC_OVERRIDE, ERRANDS }, { CAP_DAC_READ_SEARCH, ERRANDS },
	/* what the helpers keep, to make them other users, to end them, and to thaw what one left frozen */
	{ CAP_SYS_PTRACE, KEEPER }, { CAP_DAC_READ_SEARCH, KEEPER }, { CAP_SYS_ADMIN, KEEPER, is_checkpoint }, { CAP_DAC_OVERRIDE, KEEPER, has_store },
	{ CAP_SETUID, KEEPER }, { CAP_SETGID, KEEPER }, { CAP_KILL, KEEPER },
	/* CAP_SYSLOG: where kptr_restrict hides the addresses of functions; CAP_SYS_ADMIN: a module's types are nobody else's */
	{ CAP_BPF, LOADER }, { CAP_PERFMON, LOADER }, { CAP_SYSLOG, LOADER }, { CAP_SYS_ADMIN, LOADER, has_modules },
};

/* All that `who` keeps, and nothing else. */
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

/* Numbers of users that nobody has: behind those that containers get, before those that are reserved (systemd, UIDS-GIDS.md). Each process
 * has one of its own, so that none can do anything to another. */
#define NOBODYS 0x70000000u

/* Another user than root, whose files are then closed to it, with the same capabilities; false: it cannot be. Whoever is not root stays who
 * he is. Nobody else looks into it, nor finds its memory on a disk. */
static bool leave_root(void)
{
	uid_t uid = NOBODYS + getpid();
	bool left = (geteuid() && getuid()) || (!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !setgroups(0, NULL) &&
						!setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));

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
