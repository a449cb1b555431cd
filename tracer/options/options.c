// SPDX-License-Identifier: GPL-3.0-only
/* options.c - one table of options, from which the parser (glibc's argp, base/arguments.h) and
 * --help are made.
 *
 * To add an option: a row in `rows`, and the function that takes its value.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "arguments.h"
#include "mounts.h"
#include "options.h"
#include "procfs.h"

/* STOP ends the parsing: the rest of the command line is not read. */
enum { STOP = -1 };

/* Takes the value of an option (NULL when it has none). Returns 0, or STATUS_USAGE after a
 * message. */
typedef int take(struct options *, const char *value);

static take take_duration, take_output, take_format, take_pid, take_comm, take_cgroup,
	take_container, take_unit, take_dev, take_all, take_layers, take_ready,
	take_no_events, take_light, take_latency, take_settle, take_label, take_reduced, take_ring,
	take_table, take_probes, take_system, take_systems, take_wide, take_quiet, take_anonymize,
	take_sample_processes, take_sample, take_snapshot_fs, take_snapshot_every;
static take take_only, take_verbose, take_partial, take_doctor, take_completion, take_version;

/* A row: letter (0: none), name (NULL: the heading of a group), name of the value (NULL: no value;
 * after "?": the value is optional), function (NULL: --help, or a heading), help. */
static const struct row {
	char letter;
	const char *name, *value;
	take *take;
	const char *help;
} rows[] = {
	{ 0, NULL, NULL, NULL, "Recording:" },
	{ 'd', "duration", "SECONDS", take_duration,
		"record for so long; fractions allowed (default: until the command ends, or Ctrl-C)" },
	{ 'l', "layers", "LIST", take_layers,
		"only these layers, comma separated, each whole; default: as without this; all: everything" },
	{ 0, "prefer", "HOW", options_prefer,
		"layer vfs by fentry, kprobe, or derived (default: the first that works)" },
	{ 0, "no-events", NULL, take_no_events, "only exact sums, no record of every operation" },
	{ 0, "light", NULL, take_light,
		"for always: sums, owners by file, no page cache; at most 24 MiB in the kernel" },
	{ 0, "sample", "cache=N", take_sample,
		"layer cache traced whole: events of one span of 64 cached pages in N; sums are of all" },
	{ 0, "latency", "WHICH", take_latency,
		"calls that are timed: all, sampled (1 in 16 of those that move data), syncs, none (default: all with events, syncs with --light, else sampled)" },
	{ 0, "settle", "HOW", take_settle,
		"dirty bytes at the end: sync, checkpoint (journals, too), none, or SECONDS (default: sync for a command, else none)" },
	{ 0, "reduced", NULL, take_reduced,
		"measure as on kernels before 5.17: calls and devices, without owners" },
	{ 0, "partial", NULL, take_partial,
		"record also where the kernel refuses a program that is needed: bounds and n/a instead of an error" },
	{ 0, NULL, NULL, NULL, "Processes (default: all; with a command: its own):" },
	{ 'a', "all", NULL, take_all,
		"with a command: everything, not only the command's processes" },
	{ 'p', "pid", "PID", take_pid,
		"only this process and its children, present and future; can be repeated" },
	{ 0, "comm", "NAME", take_comm, "only processes whose leader has this name" },
	{ 0, "cgroup", "PATH", take_cgroup,
		"only processes in this control group or below it; can be repeated" },
	{ 0, "container", "NAME|ID", take_container,
		"only processes in this container; can be repeated" },
	{ 0, "unit", "NAME", take_unit,
		"only processes of this unit of systemd, such as etcd or user.slice; can be repeated" },
	{ 0, "system", "NAME", take_system, "only processes of this storage system, such as etcd" },
	{ 0, "dev", "NAME", take_dev,
		"only requests of this disk, and calls on files that are on it, such as sda or 8:0" },
	{ 0, "only", "KEY=VALUE", take_only,
		"tid, uid, exe: only such threads or processes; path, inode, op, min-size, "
		"min-latency: only such events, sums stay whole; can be repeated" },
	{ 0, NULL, NULL, NULL, "Outputs:" },
	{ 'o', "output", "FILE", take_output,
		"write FILE.sqlite (a store, appended to), FILE.jsonl, - (standard output), "
		"or CSV streams into FOLDER/; can be repeated" },
	{ 'f', "format", "FORMAT", take_format,
		"text, table or jsonl: for outputs that are not a store (default output: -); "
		"csv-streams: for FOLDER/" },
	{ 0, "wide", NULL, take_wide,
		"JSON Lines: add to each event comm and container of its owner, and the path of its file" },
	{ 0, "anonymize", "?KEYFILE", take_anonymize,
		"hashes in place of names; KEYFILE has their key, and is made when absent (default: none)" },
	{ 0, "label", "NAME", take_label, "label of the run in the store" },
	{ 0, "ready", "FD|FILE", take_ready,
		"when recording has begun: a line to a descriptor or a FIFO, or FILE appears" },
	{ 0, "sample-processes", "SECONDS", take_sample_processes,
		"memory, processor time and I/O of traced processes so often, at first sight and at the end" },
	{ 0, "snapshot-fs", "PATH[:DEPTH]", take_snapshot_fs,
		"names, sizes and times in a folder before the run, DEPTH levels (3); can be repeated" },
	{ 0, "snapshot-every", "SECONDS", take_snapshot_every,
		"these folders again so often, and at the end" },
	{ 'q', "quiet", NULL, take_quiet,
		"only errors on standard error, and the start of recording if it took more than a second" },
	{ 'v', "verbose", NULL, take_verbose,
		"also why the kernel refuses a probe; twice (-vv): every message about each" },
	{ 0, NULL, NULL, NULL, "Memory and rules:" },
	{ 0, "ring", "SIZE", take_ring,
		"size of the event buffer, a power of two such as 64M (default 4M a processor, from 8M to 16M)" },
	{ 0, "table", "NAME=N", take_table,
		"size of a table, such as cells=4096, procs, files or told (see iot-trace(8)); can be repeated" },
	{ 0, "systems", "?FILE", take_systems,
		"with a FILE: add rules of storage systems; without: list those that run now, with the evidence" },
	{ 0, NULL, NULL, NULL, "Instead of recording:" },
	{ 0, "doctor", NULL, take_doctor,
		"tell what a full run would lack on this machine, and the cure for each gap" },
	{ 0, "probes", NULL, take_probes,
		"list the probes: how each is attached, or why it is not" },
	{ 0, "completion", "SHELL", take_completion,
		"the script by which bash or zsh completes command lines" },
	{ 'h', "help", NULL, NULL, "this list" },
	{ 'V', "version", NULL, take_version,
		"versions of the program, its compilers, libbpf and the kernel's types" },
};

static const char *const shells[] = { "bash", "zsh", NULL };
/* Names of enumerators in their order: from FORMAT_TEXT, LATENCY_NONE and SETTLE_NONE on. */
static const char *const format_names[] = { "text", "table", "jsonl", "csv-streams", NULL };
static const char *const latency_names[] = { "none", "syncs", "sampled", "all", NULL };
static const char *const settle_names[] = { "none", "sync", "checkpoint", NULL };

static int take_duration(struct options *o, const char *value)
{
	if (parse_seconds(value, &o->duration_ns))
		return fail_usage("duration '%s' is not a number of seconds above 0", value);
	return 0;
}

static int take_output(struct options *o, const char *value)
{
	if (!*value)
		return fail_usage("the name of an output is empty");
	if (o->n_outputs == MAX_OUTPUTS)
		return fail_usage("more than %d outputs", MAX_OUTPUTS);
	o->outputs[o->n_outputs++].path = value;
	return 0;
}

static int take_format(struct options *o, const char *value)
{
	for (size_t i = 0; format_names[i]; i++)
		if (!strcmp(value, format_names[i])) {
			o->format = FORMAT_TEXT + i;
			return 0;
		}
	return fail_usage("unknown format '%s' (text, table, jsonl or csv-streams)", value);
}

/* Threads have directories in /proc too, but only whole processes can be followed. */
static int take_pid(struct options *o, const char *value)
{
	char path[PROCFS_PATH], status[4096], *line;
	const char *why;
	u64 pid, leader;

	if (parse_number(value, &pid) || !pid || pid > INT_MAX)
		return fail_usage("process id '%s' is not a number", value);
	if (procfs_open(&why))
		return fail_usage("--pid %s: %s", value, why);
	if (read_file(procfs_path(path, pid, "status"), status, sizeof(status)) < 0)
		return fail_usage("there is no process %s", value);
	line = strstr(status, "\nTgid:");
	leader = line ? strtoull(line + 6, NULL, 10) : pid;
	if (leader != pid)
		return fail_usage("%s is a thread of process %llu: give the process", value,
			(unsigned long long)leader);
	if (o->n_pids == MAX_PIDS)
		return fail_usage("more than %d processes", MAX_PIDS);
	o->pids[o->n_pids++] = pid;
	return 0;
}

static int take_comm(struct options *o, const char *value)
{
	if (!*value || strlen(value) >= sizeof(o->comm))
		return fail_usage("process name '%s' must have 1 to %d bytes: the kernel keeps no more", value, IOT_COMM_LEN - 1);
	strcpy(o->comm, value);
	return 0;
}

static int take_group(struct options *o, enum group_kind kind, const char *option,
	const char *value)
{
	if (o->n_group_names == MAX_GROUP_NAMES)
		return fail_usage("more than %d control groups, containers and units",
			MAX_GROUP_NAMES);
	o->group_kinds[o->n_group_names] = option;
	o->group_names[o->n_group_names++] = value;
	return groups_add(&o->groups, kind, value);
}

static int take_cgroup(struct options *o, const char *value)
{
	return take_group(o, GROUP_PATH, "cgroup", value);
}

static int take_container(struct options *o, const char *value)
{
	return take_group(o, GROUP_CONTAINER, "container", value);
}

static int take_unit(struct options *o, const char *value)
{
	return take_group(o, GROUP_UNIT, "unit", value);
}

static int take_dev(struct options *o, const char *value)
{
	const char *name = strncmp(value, "/dev/", 5) ? value : value + 5;
	char path[PATH_MAX], text[32];
	unsigned int major, minor;
	int end = 0;

	if (o->dev_name)
		return fail_usage("two disks, %s and %s: give one, or none for all", o->dev_name,
			value);
	o->dev_name = value;
	if (sscanf(value, "%u:%u%n", &major, &minor, &end) == 2 && !value[end])
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/", major, minor);
	else if (!strchr(name, '/') && *name != '.' && strlen(name) < 64)
		snprintf(path, sizeof(path), "/sys/class/block/%s/", name);
	else
		return fail_usage("'%s' is not the name of a disk", value);
	end = strlen(path);
	strcpy(path + end, "dev");
	if (read_line(path, text, sizeof(text)) < 0 || sscanf(text, "%u:%u", &major, &minor) != 2)
		return fail_usage("there is no disk '%s'", value);
	strcpy(path + end, "partition");
	if (!access(path, F_OK))
		return fail_usage("'%s' is a partition: requests belong to its disk, give that",
			value);
	strcpy(path + end, "mq");
	if (access(path, F_OK))
		return fail_usage("'%s' has no requests of its own: give a disk below it", value);
	o->dev = major << 20 | minor;
	return 0;
}

static int take_only(struct options *o, const char *value)
{
	return options_only(o, value);
}

static int take_all(struct options *o, const char *value)
{
	o->all = true;
	return 0;
}

static int take_layers(struct options *o, const char *value)
{
	return options_layers(o, value);
}

static int take_no_events(struct options *o, const char *value)
{
	o->no_events = true;
	return 0;
}

static int take_light(struct options *o, const char *value)
{
	o->light = true;
	return 0;
}

static int take_sample(struct options *o, const char *value)
{
	return options_sample(o, value);
}

static int take_latency(struct options *o, const char *value)
{
	for (size_t i = 0; latency_names[i]; i++)
		if (!strcmp(value, latency_names[i])) {
			o->latency = i;
			return 0;
		}
	return fail_usage("latency '%s' is not all, sampled, syncs or none", value);
}

static int take_settle(struct options *o, const char *value)
{
	o->settle_text = value;
	for (o->settle = SETTLE_NONE; settle_names[o->settle - SETTLE_NONE]; o->settle++)
		if (!strcmp(value, settle_names[o->settle - SETTLE_NONE]))
			return 0;
	if (parse_seconds(value, &o->settle_ns))
		return fail_usage("settle '%s' is not sync, checkpoint, none or a number of seconds above 0", value);
	return 0;
}

static int take_label(struct options *o, const char *value)
{
	o->label = value;
	return 0;
}

static int take_ring(struct options *o, const char *value)
{
	u64 page = sysconf(_SC_PAGESIZE);

	if (parse_size(value, &o->ring_bytes) || o->ring_bytes < page || o->ring_bytes > 1u << 30 ||
	    o->ring_bytes & (o->ring_bytes - 1))
		return fail_usage("ring size '%s' is not a power of two from %lluK to 1G", value,
			(unsigned long long)page / 1024);
	return 0;
}

static int take_table(struct options *o, const char *value)
{
	struct probe_table *t = &o->tables[o->n_tables];
	const char *sign = strchr(value, '=');
	u64 n;

	if (!sign || sign == value || sign - value >= (int)sizeof(t->name) ||
	    parse_number(sign + 1, &n) || n < 32 || n > 1u << 24)
		return fail_usage("table '%s' is not the name of a table, '=' and a number from 32 to 16777216", value);
	if (!strncmp(value, "told=", 5)) {
		o->told = n;
		return 0;
	}
	if (o->n_tables == PROBE_TABLES)
		return fail_usage("more than %d tables", PROBE_TABLES);
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, value, sign - value);
	t->entries = n;
	o->n_tables++;
	return 0;
}

static int take_reduced(struct options *o, const char *value)
{
	o->reduced = true;
	return 0;
}

static int take_partial(struct options *o, const char *value)
{
	o->partial = true;
	return 0;
}

static int take_doctor(struct options *o, const char *value)
{
	o->mode = MODE_DOCTOR;
	return 0;
}

static int take_probes(struct options *o, const char *value)
{
	o->mode = MODE_PROBES;
	return 0;
}

/* The name is checked after all rules have been read. */
static int take_system(struct options *o, const char *value)
{
	if (!*value)
		return fail_usage("the name of a storage system is empty");
	o->system = value;
	return 0;
}

static int take_systems(struct options *o, const char *value)
{
	if (!value) {
		o->mode = MODE_SYSTEMS;
		return 0;
	}
	if (!*value)
		return fail_usage("the name of a file of rules is empty");
	if (access(value, F_OK) && errno == ENOENT)
		return fail_usage("no file of rules '%s'", value);
	if (o->n_rules == MAX_RULES)
		return fail_usage("more than %d files of rules", MAX_RULES);
	o->rules[o->n_rules++] = value;
	return 0;
}

/* A number is a descriptor, which must be one that iot-trace was started with. */
static int take_ready(struct options *o, const char *value)
{
	u64 fd;
	int flags;

	if (o->ready)
		return fail_usage("--ready is given twice");
	if (!*value)
		return fail_usage("the name of the file of --ready is empty");
	o->ready = value;
	o->ready_fd = -1;
	if (value[strspn(value, "0123456789")])
		return 0;
	flags = parse_number(value, &fd) || fd > INT_MAX ? -1 : fcntl(fd, F_GETFL);
	if (flags < 0)
		return fail_usage("descriptor %s (--ready) is not open: a file of such a name is given as ./%s", value, value);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return fail_usage("descriptor %s (--ready) cannot be written", value);
	o->ready_fd = fd;
	return 0;
}

static int take_wide(struct options *o, const char *value)
{
	o->wide = true;
	return 0;
}

static int take_anonymize(struct options *o, const char *value)
{
	if (value && !*value)
		return fail_usage("the name of the key file is empty");
	o->anonymize = true;
	o->key_file = value;
	return 0;
}

static int take_snapshot_fs(struct options *o, const char *value)
{
	if (!*value || *value == ':')
		return fail_usage("the name of the folder of --snapshot-fs is empty");
	if (o->n_snapshots == MAX_SNAPSHOTS)
		return fail_usage("more than %d snapshots", MAX_SNAPSHOTS);
	o->snapshots[o->n_snapshots++] = value;
	return 0;
}

static int take_snapshot_every(struct options *o, const char *value)
{
	if (parse_seconds(value, &o->snapshot_ns) || o->snapshot_ns < NSEC)
		return fail_usage("snapshot-every '%s' is no number of seconds from 1 on", value);
	return 0;
}

static int take_sample_processes(struct options *o, const char *value)
{
	if (parse_seconds(value, &o->sample_ns) || o->sample_ns < NSEC)
		return fail_usage("sample-processes '%s' is no number of seconds from 1 on", value);
	return 0;
}

static int take_quiet(struct options *o, const char *value)
{
	o->quiet = true;
	return 0;
}

static int take_verbose(struct options *o, const char *value)
{
	o->verbose++;
	return 0;
}

static int take_version(struct options *o, const char *value)
{
	o->mode = MODE_VERSION;
	return STOP;
}

static int take_completion(struct options *o, const char *value)
{
	if (strcmp(value, "bash") && strcmp(value, "zsh"))
		return fail_usage("completion: '%s' is neither bash nor zsh", value);
	o->mode = MODE_COMPLETION;
	o->shell = value;
	return STOP;
}

void options_each(void (*call)(const struct completed *))
{
	static const struct {
		const char *name;
		const char *const *choices;
		bool list;
		const char *bash, *zsh; /* scripts, as complete.h takes them */
	} known[] = {
		{ "layers", option_layers + LAYER_NONE + 1, true },
		{ "prefer", option_prefers },
		{ "latency", latency_names },
		{ "settle", settle_names },
		{ "format", format_names },
		{ "completion", shells },
		{ "pid", NULL, false, "$(cd /proc && echo [0-9]*)", "_pids" },
		{ "dev", NULL, false, "$(ls /sys/block)", "{compadd - /sys/block/*(N\\:t)}" },
	};

	for (size_t i = 0; i < N_OF(rows); i++) {
		struct completed c = { .letter = rows[i].letter, .doc = rows[i].help };
		char name[64];

		if (!rows[i].name)
			continue;
		snprintf(name, sizeof(name), "--%s", rows[i].name);
		c.name = name;
		c.value = rows[i].value && *rows[i].value == '?' ? rows[i].value + 1 :
			rows[i].value;
		for (size_t k = 0; k < N_OF(known); k++)
			if (!strcmp(known[k].name, rows[i].name)) {
				c.choices = known[k].choices;
				c.list = known[k].list;
				c.bash = known[k].bash;
				c.zsh = known[k].zsh;
			}
		call(&c);
	}
}

static struct argument row_argument(size_t i)
{
	return (struct argument){ rows[i].letter, rows[i].name, rows[i].value, rows[i].help };
}

static int take_row(void *into, size_t i, const char *value);

static int take_command(void *into, char **words, bool behind)
{
	struct options *o = into;

	if (!behind)
		return fail_usage("'%s' is not an option: a command stands behind --", *words);
	if (!*words)
		return fail_usage("no command behind --");
	o->command = words;
	return 0;
}

static const struct arguments arguments = {
	.usage = "[-- COMMAND [ARGUMENT]...]",
	.doc = "Records every layer that a byte crosses between an application and a device, and on whose behalf. "
		"Without an output, the end says in words what happened (iot-analyze STORE).",
	.n = N_OF(rows), .row = row_argument, .take = take_row, .word = take_command, .rest = true,
};

static int print_help(void)
{
	int err = arguments_help(&arguments);

	printf("\nLayers:");
	for (size_t i = LAYER_NONE + 1; option_layers[i]; i++)
		printf(" %s", option_layers[i]);
	printf("\nExit status: the command's; else 0 complete, 1 failed or incomplete, 2 wrong\n"
	       "usage, 126 command cannot be run, 127 command not found, 141 the reader of\n"
	       "standard output left. See iot-trace(8).\n");
	return err ? STATUS_FAILED : 0;
}

static int take_row(void *into, size_t i, const char *value)
{
	if (rows[i].take)
		return rows[i].take(into, value);
	if (print_help())
		return STATUS_FAILED;
	return fflush(stdout) ? fail_as(STATUS_FAILED, errno, "cannot write standard output") :
		STOP;
}

static int finish(struct options *o)
{
	int status;

	if (o->settle == SETTLE_DEFAULT) {
		o->settle = o->command ? SETTLE_SYNC : SETTLE_NONE;
		o->settle_text = o->command ? "sync" : "none";
	}
	for (size_t i = 0; i < o->n_outputs; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(o->outputs[i].path, o->outputs[j].path))
				return fail_usage("output '%s' is given twice", o->outputs[i].path);
	if (o->snapshot_ns && !o->n_snapshots)
		return fail_usage("--snapshot-every needs a folder: --snapshot-fs");
	status = options_outputs(o) ?: options_light(o) ?: options_only_check(o);
	if (o->latency < 0)
		o->latency = o->no_events ? LATENCY_SAMPLED : LATENCY_ALL;
	return status;
}

int options_parse(struct options *o, int argc, char **argv)
{
	int status;

	*o = (struct options){ .latency = -1 };
	status = arguments_read(&arguments, o, argc, argv) ?: finish(o);
	return status == STOP && o->mode == MODE_TRACE ? STATUS_OK : status == STOP ? -1 : status ?:
		-1;
}
