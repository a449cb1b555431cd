// SPDX-License-Identifier: GPL-3.0-only
/* options_only.c - the filters of --only: KEY=VALUE, of processes or of events.
 *
 * To add a key: a row in `keys`, and the function that takes its value.
 */
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include "fail.h"
#include "number.h"
#include "options.h"
#include "procfs.h"

/* Takes the value of a key. Returns 0, or STATUS_USAGE after a message. */
typedef int take(struct options *, const char *value);

static const struct {
	const char *name;
	u8 kind;
} kinds[] = {
#define KIND(sym, layer, name, dir, text, doc) { name, KIND_##sym },
#include "kinds.def"
};
_Static_assert(KIND_MAX <= 256, "iot_only.kinds has 256 bits");

static int too_many(const char *key)
{
	return fail_usage("--only %s: more than %d values", key, IOT_ONLY_MOST);
}

/* The process of the thread is followed, as with --pid, and of its threads this one. */
static int take_tid(struct options *opts, const char *value)
{
	struct iot_only *k = &opts->only.kernel;
	char path[PROCFS_PATH], status[4096], *line;
	const char *why;
	u64 tid;

	if (parse_number(value, &tid) || !tid || tid > INT_MAX)
		return fail_usage("--only tid: '%s' is not the id of a thread", value);
	if (procfs_open(&why))
		return fail_usage("--only tid: %s", why);
	if (read_file(procfs_path(path, tid, "status"), status, sizeof(status)) < 0)
		return fail_usage("--only tid: there is no thread %s", value);
	if (k->n_tids == IOT_ONLY_MOST)
		return too_many("tid");
	if (opts->n_pids == MAX_PIDS)
		return fail_usage("more than %d processes", MAX_PIDS);
	line = strstr(status, "\nTgid:");
	opts->pids[opts->n_pids++] = line ? strtoull(line + 6, NULL, 10) : tid;
	k->tids[k->n_tids++] = tid;
	return 0;
}

static int take_uid(struct options *opts, const char *value)
{
	struct only *o = &opts->only;
	const struct passwd *user;
	u64 uid;

	if (parse_number(value, &uid)) {
		user = getpwnam(value);
		if (!user)
			return fail_usage("--only uid: there is no user '%s'", value);
		uid = user->pw_uid;
	}
	if (uid > UINT_MAX)
		return fail_usage("--only uid: '%s' is too large", value);
	if (o->kernel.n_uids == IOT_ONLY_MOST)
		return too_many("uid");
	o->kernel.uids[o->kernel.n_uids++] = uid;
	return 0;
}

static int take_exe(struct options *opts, const char *value)
{
	struct only *o = &opts->only;

	if (o->kernel.exe[0])
		return fail_usage("--only exe is given twice");
	if (strchr(value, '/'))
		return fail_usage("--only exe: '%s' is a path: give its last name", value);
	memcpy(o->kernel.exe, value, strnlen(value, sizeof(o->kernel.exe) - 1));
	return 0;
}

static int take_path(struct options *opts, const char *value)
{
	struct only *o = &opts->only;

	if (o->n_paths == IOT_ONLY_MOST)
		return too_many("path");
	o->paths[o->n_paths++] = value;
	return 0;
}

static int take_inode(struct options *opts, const char *value)
{
	struct only *o = &opts->only;
	u64 inode;

	if (parse_number(value, &inode))
		return fail_usage("--only inode: '%s' is not a number", value);
	if (o->n_inodes == IOT_ONLY_MOST)
		return too_many("inode");
	o->inodes[o->n_inodes++] = inode;
	return 0;
}

static int take_op(struct options *opts, const char *value)
{
	struct only *o = &opts->only;

	for (size_t i = KIND_NONE + 1; i < N_OF(kinds); i++) {
		if (strcmp(kinds[i].name, value))
			continue;
		o->kernel.kinds[i / 64] |= 1ULL << i % 64;
		o->kernel.events = 1;
		return 0;
	}
	return fail_usage("--only op: '%s' is not a kind of event, such as pwrite64", value);
}

static int take_min_size(struct options *opts, const char *value)
{
	struct only *o = &opts->only;

	if (parse_size(value, &o->kernel.min_size) || !o->kernel.min_size)
		return fail_usage("--only min-size: '%s' is not a number of bytes, such as 64K", value);
	o->kernel.events = 1;
	return 0;
}

/* A number with a unit: ns, us, ms or s. */
static int take_min_latency(struct options *opts, const char *value)
{
	struct only *o = &opts->only;
	static const struct {
		const char *name;
		u64 ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	size_t digits = strspn(value, "0123456789");
	char number[24];

	for (size_t i = 0; digits && digits < sizeof(number) && i < N_OF(units); i++) {
		u64 n;

		if (strcmp(value + digits, units[i].name))
			continue;
		memcpy(number, value, digits);
		number[digits] = '\0';
		if (parse_number(number, &n) || !n || n > ULLONG_MAX / units[i].ns)
			break;
		o->kernel.min_dur_ns = n * units[i].ns;
		o->kernel.events = 1;
		return 0;
	}
	return fail_usage("--only min-latency: '%s' is not a time, such as 10ms", value);
}

static const struct {
	const char *name;
	take *take;
	bool of_events;
} keys[] = {
	{ "tid", take_tid, false }, { "uid", take_uid, false }, { "exe", take_exe, false },
	{ "path", take_path, true }, { "inode", take_inode, true }, { "op", take_op, true },
	{ "min-size", take_min_size, true }, { "min-latency", take_min_latency, true },
};

int options_only(struct options *opts, const char *filter)
{
	struct only *o = &opts->only;
	size_t len = strcspn(filter, "=");

	for (size_t i = 0; filter[len] && filter[len + 1] && i < N_OF(keys); i++) {
		int status;

		if (strlen(keys[i].name) != len || strncmp(keys[i].name, filter, len))
			continue;
		if (o->n_text == MAX_ONLY)
			return fail_usage("more than %d filters", MAX_ONLY);
		o->text[o->n_text] = filter;
		o->of_events[o->n_text++] = keys[i].of_events;
		status = keys[i].take(opts, filter + len + 1);
		o->kernel.processes = o->kernel.n_tids || o->kernel.n_uids || o->kernel.exe[0];
		return status;
	}
	return fail_usage("--only '%s' is not KEY=VALUE with tid, uid, exe, path, inode, op, "
		"min-size or min-latency", filter);
}

int options_only_check(struct options *o)
{
	struct iot_only *k = &o->only.kernel;
	u64 any = 0;

	if (o->no_events && only_some_events(&o->only))
		return fail_usage("--only path, inode, op, min-size and min-latency choose events, "
			"and --no-events and --light record none");
	for (size_t i = 0; i < N_OF(k->kinds); i++)
		any |= k->kinds[i];
	for (size_t i = 0; i < N_OF(k->kinds) && !any; i++)
		k->kinds[i] = ~0ULL;
	return 0;
}
