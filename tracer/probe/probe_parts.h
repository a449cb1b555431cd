/* SPDX-License-Identifier: GPL-3.0-only */
/* probe_parts.h - what the probe files of the tracer share, and nobody else: the only files that know libbpf. */
#ifndef IOT_PROBE_PARTS_H
#define IOT_PROBE_PARTS_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "probe.h"
#include "event_batch.h"
#include "ring.h"
#include "thread.h"
#include "tracer.h"

/* --- tables (probe_rows.c) --- */

/* One kernel object. The first has the maps that others share. */
struct object {
	const char *name, *data, *end;
	u32 layers;            /* bits of the layers that it serves; 0: always */
	const char *fs;        /* NULL, or only while a file system of this type is mounted, and its programs' names begin with it */
	const char *no_cast, *no_cast_end; /* the same for kernels without bpf_rdonly_cast() */
	const char *reduced, *reduced_end; /* the same for kernels that lack what the others need (bpf/core/reduced.bpf.h); NULL: none */
};
enum { OBJECT_MAPS, OBJECT_PAGES, OBJECT_CALLS };
#define FS_OBJECT "fs_"        /* and the name of a file system, with which the names of its programs begin too */
#define MAX_OBJECTS 16
extern const struct object objects[];
extern const size_t n_objects;
extern const char obj_who[], obj_who_end[]; /* a program that is asked once, by itself */

/* Which layers need programs of a layer; one that is not here is needed by all that its object is for. */
struct wanted_by {
	const char *layer;
	u32 layers;            /* any of them: 1 << LAYER_x */
};
extern const struct wanted_by wanted_by[];
extern const size_t n_wanted_by;

/* What the kernel must have, as a value of its enum bpf_func_id, or it gets the objects of the reduced tier; and how that is said. */
struct needed {
	const char *function, *why;
};
extern const struct needed needed[];
extern const size_t n_needed;

/* What a program must be for, where its tracepoint had other arguments in other kernels. args: how many arguments
 * the tracepoint must have, 0 any. full: the full tier needs it (INTERNALS section 9). twin: a second copy that is not preempted, for kernels
 * that skip the first. reduced: only objects of the reduced tier have it. most: IOT_COPIES_MOST. spare: without it no byte is missing and none
 * has another owner. */
struct program {
	const char *name, *layer;
	int args;
	bool full, twin, reduced, most, spare;
};
#define MAX_PROGRAMS 96
extern const struct program programs[];
extern const size_t n_programs;
/* The row of a program; -1 none. */
int program_row(const char *name);
#define NOT_MOUNTED "no file system of this type was mounted: attached when one is, what it did before is not known"
#define NOT_ASKED "layer not asked for" /* why a program was left out that nothing is wrong with */
#define NOT_NEEDED "for older kernels"

/* The bytes of a layer come from one of these programs: it is measured when one of each of its rows is attached. */
struct feed {
	int layer;
	const char *programs[2];
};
extern const struct feed feeds[];
extern const size_t n_feeds;

/* A system call: what it is, and how its arguments are read. */
struct call_row {
	int nr;
	struct iot_syscall call;
};
extern const struct call_row call_rows[];
extern const size_t n_call_rows;

/* A kernel function whose address tells what a thread or a bio is doing. */
struct function_row {
	const char *name;
	u32 function;
};
extern const struct function_row function_rows[];
extern const size_t n_function_rows;

/* --- all of it --- */

#define MAX_MAPS 192
#define MAX_SYMBOLS 64 /* as map `functions` */
#define SKIPPED_FIRST LOSS_MAX /* the first of two copies: the second did its work */
#define SKIPS (LOSS_MAX + 1)   /* losses, and SKIPPED_FIRST */
#define SHARE_BATCH 256 /* more than a bucket of map `late` may hold */

/* A map that has all its elements once for each processor, those of one behind each other. Mapped as far as they are used: what is mapped counts as
 * the tracer's memory. */
struct each {
	int fd;
	size_t size;           /* of an element; 0: the map is not there */
	u32 n;                 /* elements of a processor */
	struct part {
		char *at;
		size_t bytes;
	} *part;               /* of each processor */
};

struct probes {
	struct probe_opts opts;
	struct iot_self self;
	struct bpf_object *obj[MAX_OBJECTS];
	struct bpf_link *link[MAX_PROGRAMS];
	struct bpf_link *copy_link[IOT_COPIES_MOST][MAX_PROGRAMS]; /* where `copies`; the first is not here */
	bool alone[MAX_PROGRAMS]; /* a copy of it was refused, or cannot call it: it has none */
	struct probe_info info[MAX_PROGRAMS];
	char reason[MAX_PROGRAMS][256], target[MAX_PROGRAMS][64];
	bool casts;            /* the kernel has bpf_rdonly_cast() */
	bool looks;            /* nothing is loaded: probes_look() */
	bool modules_hidden;   /* the types of modules are not for us: CAP_SYS_ADMIN */
	const char *lacks;     /* why the objects of the reduced tier are used; NULL: they are not */
	struct bpf_map *maps[MAX_MAPS]; /* the first of each name: the others share it */
	size_t n_maps;
	struct btf *vmlinux;   /* the kernel's types; NULL: given back */
	struct types *types;   /* its tracepoints among them; NULL: not looked through yet, or given back */
	int handler;           /* of libbpf, for programs of tracepoints; 0 none */
	char hidden[768];      /* functions whose address the kernel hides */
	struct {               /* of the kernel, that mean something; found by a thread of its own */
		struct symbol {
			u64 address;
			u32 function;
		} at[MAX_SYMBOLS];
		size_t n;
		bool skips;            /* it has SYMBOL_SKIPS */
		u64 preempt_count, per_cpu_offset, vmemmap_base, page_offset_base; /* as in struct iot_config; 0 not known */
		bool apart;
		pthread_t thread;
	} symbols;
	bool skips;            /* the kernel preempts a probe, and skips it for the next thread on that processor */
	bool copies;           /* so there are copies */
	struct ring *ring, *names;     /* events; processes and paths */
	u64 late;                      /* LOSS_LATE */
	struct event_batches batches;            /* events that are put into the ring several at a time */
	struct iot_state *state;       /* the kernel's own, mapped */
	u64 shared;                    /* of state->late: those that were divided */
	const struct probe_callbacks *callbacks; /* during probes_consume() */
	const struct iot_filesum_slot *sum_slots; /* whose sums by file are, mapped; NULL: no layer has any */
	s64 *sum_users;                /* how many of them each user has, mapped */
	struct each sums;              /* theirs: struct iot_filesum */
	u64 misses_before[SKIPS];   /* skipped while the gate was still closed */
	u64 misses[SKIPS];          /* skipped inside the run, where misses_known: probes_skips_end() */
	bool misses_known;
	int cpus;
	u32 max_cells, max_writers, max_claims, max_bios, max_requests;
	struct iot_cell_slot *cell_slots; /* the kernel's own, mapped, as are the next */
	struct each cells;             /* struct iot_cell */
	u64 *free_cells;
	struct iot_fold *folds;
	pid_t watcher;         /* loads what comes late; 0: nothing is waited for */
	int watcher_pipe;      /* asks it; ends it */
	struct late_denied *late_denied; /* what it was refused, shared with it */
};

/* Programs of a file system that came during the run, by their rows: those that the kernel refused. */
struct late_denied {
	char reason[MAX_PROGRAMS][256]; /* "": it was not refused */
};

/* Is nothing more to be loaded? */
static inline bool probes_over(const struct probes *p)
{
	return p->opts.over && p->opts.over();
}

/* Switches a program off and notes why: this kernel has no place for it, or nobody asked for it. */
void program_refuse(struct probes *, const char *name, const char *why);
/* The same for one that the kernel was given and refused, which is a fault (probe_info.denied). */
void program_deny(struct probes *, const char *name, const char *why);

/* Adds those that count (probes_denied()) to the losses of their layers. */
void denied_losses(const struct probes *, u64 n[LOSS_MAX]);
/* Of file systems that come during the run: the memory that two processes share, to be made before the second is; in that, tells what was
 * refused. */
int late_denied_begin(struct probes *);
void late_denied_tell(const struct probes *);
void late_denied_end(struct probes *);

/* A map by its name, whichever object brought it; NULL, or -ENOENT, where there is none. */
struct bpf_map *map_of(const struct probes *, const char *name);
int map_fd(const struct probes *, const char *name);
/* Entries of a table by the name of its map: what was asked for, or what this machine needs; 0: what its object says. */
u32 map_entries(const struct probes *, const char *name);
/* Begins and ends the use of a map that has its elements once for each processor: n elements of `size` bytes. Returns 0 or a negative errno after a
 * message. */
int each_begin(struct probes *, struct each *, const char *map, size_t size, u32 n);
void each_end(struct probes *, struct each *);
/* Element n of a processor; NULL: it cannot be mapped. Until the next call for that processor. */
void *each_at(struct each *, int cpu, u32 n);
/* Gives a map that is not made yet the size that was asked for it. */
void size_map(struct probes *, struct bpf_map *);

/* Messages of libbpf: shown as `verbose` says (struct probe_opts), and the last complaint to this thread kept, with the program
 * that it was about; "" none. */
void libbpf_listen(unsigned int verbose);
struct complaint {
	char text[128], program[64];
	char line[160];        /* the last of the verifier's log that says why; "" none */
};
struct complaint *libbpf_complaint(void);
/* The largest stack frame, in bytes, that the verifier counted in the program of a row; 0 not known. */
u32 libbpf_frame(int row);

/* Looks for the functions of function_rows, beside what else there is to do before the kernel side needs them; waits for that;
 * tells the kernel side what was found. */
void functions_begin(struct probes *);
void functions_wait(struct probes *);
void functions_tell(struct probes *);

#define TYPES_FOLDER "/sys/kernel/btf"
#define TYPES_FILE TYPES_FOLDER "/vmlinux"
/* May the types of modules be asked for? libbpf gives up where they may not (1.1). */
bool types_hide_modules(void);

/* A tracepoint of the running kernel that programs can be attached to: its type, typedef `id` of `types`; and a descriptor of the types of the
 * module that has it, 0 the kernel itself. Lives until types_drop(). */
struct tracepoint {
	const struct btf *types;
	u32 id;
	int module;
};
#define TRACEPOINT "tp_btf/"   /* sections of such programs begin so */
/* False: there is none of this name, or the kernel's types cannot be read. From several threads. */
bool tracepoint_find(struct probes *, const char *name, struct tracepoint *out);
/* Number of its arguments without the first, that every one has; -1 not known. */
int tracepoint_args(const struct tracepoint *);
/* Before the first object is opened: libbpf asks here where programs are to be attached. Returns 0 or a negative errno after a message. */
int types_begin(struct probes *);
/* Gives the kernel's types back, several megabytes; who asks for them afterwards has them read again. */
void types_drop(struct probes *);
/* The same, and libbpf does not ask any more: when all objects are closed. */
void types_end(struct probes *);

/* Leaves out what this kernel cannot have and loads the rest of the objects that were opened. */
struct bpf_object *object_open(struct probes *, size_t n);
int objects_load(struct probes *);
/* Instead: opens all and chooses, so that `chosen` is what would be loaded. */
int objects_look(struct probes *);
/* For a kernel that gets the objects of the reduced tier: refuses what they lack. */
int objects_reduce(struct probes *, size_t n);
int object_load(struct probes *, size_t n);
void object_attach(struct probes *, struct bpf_object *);
/* Is that the program that starts the clock of calls, or its twin? The kernel cuts names. */
static inline bool is_clock(const char *name)
{
	return !strncmp(name, "syscall__enter", strlen("syscall__enter"));
}

/* What bpf/core/program_copies.bpf.h puts beside each program: what is attached as its copies, "copy", a number and its name, and the table through which
 * they call it. */
#define COPY_OF "copy"
#define WORK_OF "work_"
/* The name of the program that this, by its name, is a copy of; NULL: of none. number: NULL, or gets which one, from 1 on. */
const char *copy_first(const char *name, u32 *number);
bool map_is_work(const struct bpf_map *);
/* Where the kernel skips programs: of an object that was opened, those copies are to be loaded whose first is. */
void copies_choose(struct probes *, struct bpf_object *);
/* Of one that is loaded: tells the copies what they are copies of. Then attaches those whose first is attached. */
void copies_tell(struct probes *, struct bpf_object *);
void copies_attach(struct probes *, struct bpf_object *);
/* How often they did the work of the first in object n; less than 0: that had no memory for its mark, and nobody did it. */
s64 copies_stood_in(const struct probes *, u32 n);
void copies_close(struct probes *);
/* Is a file system of this type mounted somewhere? The programs of an object for which none is are refused for that. */
bool fs_is_mounted(const char *type);
void objects_wait(struct probes *, size_t n);
void probes_unwatch(struct probes *);
/* Fills n with how often the kernel skipped programs of all objects, by the loss that this is. */
void skips_sum(const struct probes *, u64 n[SKIPS]);
/* How many programs the kernel skipped, of object n, and of those of file systems that came during the run. */
u64 object_skips(const struct probes *, size_t n);
u64 late_skips(const struct probes *);
/* Every table that was given a size must be there, and be one that can have another. */
int maps_check(const struct probes *);
int maps_plan(struct probes *);
/* Which socket bytes the calls must tell. */
enum iot_sockets sockets_by_call(const struct probes *);

/* Calls a program of type syscall with its context; returns what it returns, 0 also where it is not loaded or cannot be called. */
u32 program_call(const struct probes *, const char *name, void *ctx, u32 size);
/* Calls a program of type raw_tp on every processor; one that is offline refuses. */
void program_call_each(const struct probes *, const char *name);
/* Lets the kernel side divide what its probes left: bytes of transactions with too many owners. */
void late_share(struct probes *);

#endif
