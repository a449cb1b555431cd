/* SPDX-License-Identifier: GPL-3.0-only */
/* options.h - the command line of iot-trace, checked as far as possible without the kernel side. */
#ifndef IOT_OPTIONS_H
#define IOT_OPTIONS_H

#include "complete.h"
#include "groups.h"
#include "probe.h"
#include "tracer.h"

#define MAX_OUTPUTS 8
#define MAX_PIDS 64
#define MAX_RULES 16
#define MAX_GROUP_NAMES 16
#define MAX_ONLY 16
#define MAX_SNAPSHOTS 16

enum format { FORMAT_NONE, FORMAT_TEXT, FORMAT_TABLE, FORMAT_JSONL, FORMAT_STREAMS,
	FORMAT_JSONL_WIDE, FORMAT_STORE };
enum settle { SETTLE_DEFAULT, SETTLE_NONE, SETTLE_SYNC, SETTLE_CHECKPOINT, SETTLE_WAIT };
enum mode { MODE_TRACE, MODE_PROBES, MODE_SYSTEMS, MODE_DOCTOR, MODE_COMPLETION, MODE_VERSION };

struct output {
	const char *path;       /* "-": standard output */
	enum format format;
};

/* Filters of --only: those that the kernel side knows, and those that need the file of an event. */
struct only {
	struct iot_only kernel;
	const char *paths[IOT_ONLY_MOST]; /* patterns of fnmatch(3) */
	u64 inodes[IOT_ONLY_MOST];
	size_t n_paths, n_inodes;
	const char *text[MAX_ONLY]; /* each as it was given, such as "op=fsync" */
	bool of_events[MAX_ONLY];
	size_t n_text;
};

/* All that a command line asks for. Strings point into argv. */
struct options {
	enum mode mode;
	u64 duration_ns;        /* 0: until the command ends, or a signal comes */
	struct output outputs[MAX_OUTPUTS];
	size_t n_outputs;       /* 0: print the first screen at the end */
	enum format format;
	u32 pids[MAX_PIDS];
	size_t n_pids;
	char comm[IOT_COMM_LEN];
	struct groups groups;   /* control groups, of which one must hold the process */
	/* as on the command line, such as "unit=etcd": the option's name and its value */
	const char *group_names[MAX_GROUP_NAMES];
	const char *group_kinds[MAX_GROUP_NAMES];
	size_t n_group_names;
	const char *dev_name;
	u32 dev;                /* device number of a disk; 0: none */
	struct only only;
	const char *rules[MAX_RULES]; /* files that add rules of storage systems */
	size_t n_rules;
	const char *system;     /* only processes of this storage system */
	bool all;               /* record all processes although a command is given */
	u32 layers;             /* bits of LAYER_x; 0: all */
	/* layers of which all operations are wanted, not only those that move bytes or change files */
	u32 whole;
	u32 cache_sample;       /* events of one span of cached pages in so many; 0: of all */
	enum probe_prefer prefer; /* mechanism of layer vfs */
	bool no_events;
	bool light;             /* owners by file, no dirty ledger, small tables */
	bool reduced;           /* measure as on older kernels */
	bool partial;           /* record although the kernel refused programs */
	int latency;            /* enum iot_latency; -1 while parsing: depends on events */
	enum settle settle;     /* never SETTLE_DEFAULT after parsing */
	u64 settle_ns;          /* of SETTLE_WAIT */
	const char *settle_text;
	const char *label;
	const char *snapshots[MAX_SNAPSHOTS]; /* as given: PATH or PATH:DEPTH */
	size_t n_snapshots;
	u64 snapshot_ns;        /* interval of further walks of these folders; 0: none */
	u64 sample_ns;          /* interval of samples of processes; 0: none */
	bool anonymize;
	const char *key_file;   /* of anonymize; NULL: nobody keeps the key */
	u64 ring_bytes;         /* 0: default */
	struct probe_table tables[PROBE_TABLES];
	size_t n_tables;
	u32 told; /* number of processes that have rows of their own whatever they do; 0: default */
	/* descriptor or file that gets a line when recording begins, as given; NULL: none */
	const char *ready;
	int ready_fd;           /* the descriptor; -1: `ready` names a file */
	const char *shell;      /* of MODE_COMPLETION: bash or zsh */
	bool wide;              /* JSON Lines with names in each event */
	bool quiet;
	unsigned int verbose;  /* as in struct probe_opts */
	char **command;         /* NULL-terminated; NULL: none */
};

/* Fills *o. Returns -1 to go on, or the exit status to leave with: STATUS_OK after --help or
 * --version, STATUS_USAGE after a message. */
int options_parse(struct options *o, int argc, char **argv);

/* Names that options_layers() takes, by number of the layer; behind them "default" and "all", then
 * NULL. Element 0 is of no layer. */
extern const char *const option_layers[];

/* Sets the layers from a list of names, separated by commas. Returns 0, or STATUS_USAGE after a
 * message. */
int options_layers(struct options *, const char *list);
/* Names of enum probe_prefer, from its second value on; then NULL. options_prefer() takes one, with
 * the same results as options_layers(). */
extern const char *const option_prefers[];
int options_prefer(struct options *, const char *name);

/* Chooses the format of each output, and adds standard output where --format needs it. Returns 0,
 * or STATUS_USAGE after a message. */
int options_outputs(struct options *);

/* Adds a filter, KEY=VALUE. Returns 0, or STATUS_USAGE after a message. */
int options_only(struct options *, const char *filter);

/* Completes the filters, and checks that they go with the rest of the command line. Returns 0, or
 * STATUS_USAGE after a message. */
int options_only_check(struct options *);

/* True when only some events are recorded: reports that need all of them have none. */
static inline bool only_some_events(const struct only *o)
{
	return o->kernel.events || o->n_paths || o->n_inodes;
}

/* Describes the filters of events, such as "op=fsync min-size=4096"; "" when there are none. */
void options_only_events(const struct options *, char *buf, size_t size);

/* Sets of what events are sampled, such as "cache=16". Returns 0, or STATUS_USAGE after a
 * message. */
int options_sample(struct options *, const char *value);

/* Sets what --light implies. Returns 0, or STATUS_USAGE after a message. */
int options_light(struct options *);

/* True when only the process trees of the command and of --pid are wanted. */
bool options_by_pid(const struct options *);

/* Describes the filters, such as "command pid=12 dev=8:0"; "" when there are none. */
void options_filters(const struct options *, char *buf, size_t size);

/* Calls back with each option of the table, as completion wants it. The strings live until the call
 * returns. */
void options_each(void (*call)(const struct completed *));

#endif
