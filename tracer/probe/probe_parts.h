/* SPDX-License-Identifier: GPL-3.0-only */
/* probe_parts.h - shared by the files of tracer/probe/, the only ones that use libbpf. */
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
#include "vfs.h"

/* --- tables (probe_rows.c) --- */

/* A kernel object. The first one has the maps that others share. */
struct object {
	const char *name, *data, *end;
	u32 layers;            /* bits of the layers that it serves; 0: all */
	/* file system type: loaded only while one is mounted, and the names of its programs begin
	 * with it; NULL: always loaded */
	const char *fs;
	const char *no_cast, *no_cast_end; /* variant for kernels without bpf_rdonly_cast() */
	/* legacy object for kernels before 5.17, from bpf/reduced/; NULL: there is none */
	const char *reduced, *reduced_end;
	bool whole;            /* loaded only where one of its layers is traced whole */
};
/* OBJECT_VFS: loaded only where its layer is traced whole, and a mechanism works (vfs_choose()) */
enum { OBJECT_MAPS, OBJECT_PAGES, OBJECT_CALLS, OBJECT_VFS = 7 };
/* followed by the name of a file system, with which the names of its programs begin */
#define FS_OBJECT "fs_"
#define MAX_OBJECTS 16
extern const struct object objects[];
extern const size_t n_objects;
extern const char obj_who[], obj_who_end[]; /* a program that runs once, before all others */

/* Layers that need the programs of a layer. A layer without a row is needed by all layers of its
 * object. */
struct wanted_by {
	const char *layer;
	u32 layers;            /* any of them: 1 << LAYER_x */
};
extern const struct wanted_by wanted_by[];
extern const size_t n_wanted_by;

/* Functions that a kernel must have for the full objects, as enumerators of its enum bpf_func_id,
 * and the reason that is given where one is missing and the legacy objects are used. */
struct needed {
	const char *function, *why;
};
extern const struct needed needed[];
extern const size_t n_needed;

/* A program, and the tracepoint that it fits.
 *
 * args: number of arguments that the tracepoint must have; 0: any. full: without it the tier is
 * reduced. twin: a second program that is not preempted, for kernels that skip the first. reduced:
 * only in the legacy objects. most: has IOT_COPIES_MOST copies. spare: no byte is missing, and no
 * owner is wrong, without it. or: the program that does its work on other kernels; with neither of
 * both the tier is reduced. heavy: left out by --light, which serves no dirty ledger, page cache or
 * journal credits. light: only with --light. whole: only where its layer is traced whole.
 */
struct program {
	const char *name, *layer;
	int args;
	bool full, twin, reduced, most, spare, heavy, light, whole;
	const char *or;
};
#define MAX_PROGRAMS 256
extern const struct program programs[];
extern const size_t n_programs;
/* Row of a program; -1: none. */
int program_row(const char *name);
/* True when the layer of that name is among these bits 1 << LAYER_x. */
bool layer_is_in(const char *name, u32 layers);
#define NOT_MOUNTED \
	"no file system of this type was mounted: attached when one is, what it did before is not known"
#define NOT_ASKED "layer not asked for" /* reason for a program that is left out and not missed */
#define NOT_NEEDED "for older kernels"
#define NOT_LIGHT "left out by --light"
#define ONLY_LIGHT "only with --light"
#define ONLY_WHOLE "only where --layers names its layer"

/* Programs that report the bytes of a layer: it is measured when one program of each of its rows is
 * attached. */
struct feed {
	int layer;
	const char *programs[2];
};
extern const struct feed feeds[];
extern const size_t n_feeds;

/* A system call, and how its arguments are read. whole: bits 1 << LAYER_x; the row is used only
 * where one of these layers is traced whole, in place of an earlier row of the call. 0: always. */
struct call_row {
	int nr;
	struct iot_syscall call;
	u32 whole;
};
extern const struct call_row call_rows[];
extern const size_t n_call_rows;
/* Adds the calls that are recorded only where layer net is traced whole, by number of the call. */
void net_calls_fill(struct iot_syscall *);

/* Numbers of calls that C libraries may not know yet; they are the same on all architectures. */
#define NR_fchmodat2 452
#define NR_setxattrat 463
#define NR_getxattrat 464
#define NR_listxattrat 465
#define NR_removexattrat 466

/* Fills in the registers of arguments, by number of the call; NULL: nothing. */
void args_fill(struct iot_args *);

/* A kernel function whose address identifies the work of a thread or a bio. */
struct function_row {
	const char *name;
	u32 function;
};
extern const struct function_row function_rows[];
extern const size_t n_function_rows;

/* Functions of the VFS by number (enum vfs_function). what: VFS_WHAT(); moves: without it bytes
 * would be missing. */
struct vfs_row {
	const char *name;
	u64 what;
	bool moves;
};
extern const struct vfs_row vfs_functions[];
/* Number of the function of that name; -1: none. */
int vfs_function(const char *name);

/* --- state --- */

#define MAX_MAPS 192
#define MAX_SYMBOLS 64 /* as in map `functions` */
#define SKIPPED_FIRST LOSS_MAX /* skips of a first program whose twin did the work */
#define SKIPS (LOSS_MAX + 1)   /* kinds of losses, and SKIPPED_FIRST */
#define SHARE_BATCH 256 /* more than a bucket of map `late` holds */

/* A map whose elements exist once per processor, those of one processor in a row. Only the used
 * part is mapped, since mapped memory counts as the tracer's. */
struct each {
	int fd;
	size_t size;           /* of an element; 0: there is no such map */
	u32 n;                 /* elements per processor */
	struct part {
		char *at;
		size_t bytes;
	} *part;               /* one per processor */
};

struct probes {
	struct probe_opts opts;
	struct iot_self self;
	struct bpf_object *obj[MAX_OBJECTS];
	struct bpf_link *link[MAX_PROGRAMS];
	/* links of copies, if `copies`; element 0 is unused */
	struct bpf_link *copy_link[IOT_COPIES_MOST][MAX_PROGRAMS];
	bool alone[MAX_PROGRAMS]; /* it has no copies: one was refused, or cannot call it */
	struct probe_info info[MAX_PROGRAMS];
	char reason[MAX_PROGRAMS][256], target[MAX_PROGRAMS][64];
	bool casts;            /* the kernel has bpf_rdonly_cast() */
	bool looks;            /* nothing is loaded: see probes_look() */
	bool modules_hidden;   /* types of modules cannot be read without CAP_SYS_ADMIN */
	const char *lacks; /* why the legacy objects are used; NULL: they are not */
	struct bpf_map *maps[MAX_MAPS]; /* the first map of each name, which the others share */
	size_t n_maps;
	struct btf *vmlinux;   /* types of the kernel; NULL: freed */
	struct types *types;   /* tracepoints among them; NULL: not read yet, or freed */
	int handlers[3];       /* of libbpf, for programs that types_begin() names; 0: none */
	char hidden[768];      /* functions whose addresses the kernel hides */
	char *ops[OPS_MAX][256]; /* names of numbers; NULL: the kernel has none */
	struct {               /* addresses of kernel symbols, read by a thread of its own */
		struct symbol {
			u64 address;
			u32 function;
		} at[MAX_SYMBOLS];
		size_t n;
		bool skips;            /* the kernel has SYMBOL_SKIPS */
		/* as in struct iot_config; 0: not known */
		u64 preempt_count, per_cpu_offset, vmemmap_base, page_offset_base;
		bool apart;
		pthread_t thread;
	} symbols;
	/* the kernel may preempt a probe, and then skips it for the next thread on that
	 * processor */
	bool skips;
	bool copies;           /* programs have copies for that reason */
	struct ring *ring, *names;     /* events; processes and paths */
	u64 late;                      /* LOSS_LATE */
	struct event_batches batches;            /* events that are submitted in batches */
	struct iot_state *state;       /* kernel memory, mapped */
	u64 shared;                    /* value of state->late up to which bytes were divided */
	const struct probe_callbacks *callbacks; /* set during probes_consume() */
	/* owners of the sums by file, mapped; NULL: no layer has any */
	const struct iot_filesum_slot *sum_slots;
	s64 *sum_users;                /* number of slots of each user, mapped */
	struct each sums;              /* the sums: struct iot_filesum */
	u64 misses_before[SKIPS];   /* skips while the gate was still closed */
	u64 misses[SKIPS]; /* skips inside the run, if misses_known: see probes_skips_end() */
	bool misses_known;
	int cpus;
	u32 hist_kinds;        /* kinds that have histograms: those below this number */
	u32 max_cells, max_writers, max_claims, max_bios, max_requests, max_urings,
		max_filesums;
	struct iot_cell_slot *cell_slots; /* kernel memory, mapped, as are the next two */
	struct each cells;             /* of struct iot_cell */
	u64 *free_cells;
	struct iot_fold *folds;
	struct vfs {           /* how the VFS is measured (probe_vfs.c) */
		u8 may;                /* 1 << VFS_BY_x: mechanisms that may be used */
		bool measured;
		char why[320];         /* reason why it is not measured */
		struct vfs_at {
			u32 id;        /* number of the function in the types; 0: not there */
			int module;    /* as in struct tracepoint */
			u8 by;         /* enum vfs_by */
			struct bpf_link *entry, *end;
		} at[VFS_FUNCTIONS];
	} vfs;
	pid_t watcher; /* process that loads programs of file systems mounted later; 0: none */
	int watcher_pipe;      /* asks it for its skips; closing ends it */
	struct late_denied *late_denied; /* refusals in that process, in shared memory */
};

/* Reasons of refusals among the programs of file systems mounted during the run, by row. */
struct late_denied {
	char reason[MAX_PROGRAMS][256]; /* "": not refused */
};

/* True when nothing more is to be loaded. */
static inline bool probes_over(const struct probes *p)
{
	return p->opts.over && p->opts.over();
}

/* Switches a program off, with the reason: this kernel has no place for it, or nobody asked for
 * it. */
void program_refuse(struct probes *, const char *name, const char *why);
/* Switches off a program that the kernel refused, which is a fault (probe_info.denied). */
void program_deny(struct probes *, const char *name, const char *why);
/* True when the full tier needs the program of a row, and neither it nor the one of column `or` is
 * attached. */
bool program_lacks(const struct probes *, size_t row);
/* Adds to the reasons of programs without which the tier is reduced that the other one is not
 * attached either. Call it when all programs are chosen. */
void programs_name_others(struct probes *);

/* Adds refused programs (probes_denied()) to the losses of their layers. */
void denied_losses(const struct probes *, u64 n[LOSS_MAX]);
/* Refusals of file systems mounted during the run. late_denied_begin() makes the memory that the
 * tracer shares with the loading process, before that is forked; late_denied_tell() reports
 * refusals there. */
int late_denied_begin(struct probes *);
void late_denied_tell(const struct probes *);
void late_denied_end(struct probes *);

/* Map by its name, of whatever object; NULL, or -ENOENT, when there is none. */
struct bpf_map *map_of(const struct probes *, const char *name);
int map_fd(const struct probes *, const char *name);
/* Entries of a table by the name of its map: as asked for, or as this machine needs; 0: as in its
 * object. */
u32 map_entries(const struct probes *, const char *name);
/* Begin and end the use of a map with elements per processor, n of `size` bytes each. Returns 0 or
 * a negative errno after a message. */
int each_begin(struct probes *, struct each *, const char *map, size_t size, u32 n);
void each_end(struct probes *, struct each *);
/* Element n of a processor, valid until the next call for that processor; NULL: it cannot be
 * mapped. */
void *each_at(struct each *, int cpu, u32 n);
/* Sets the size of a map that is not created yet. */
void size_map(struct probes *, struct bpf_map *);

/* Prints messages of libbpf as `verbose` says (struct probe_opts), and keeps the last complaint of
 * each thread with its program; "": none. */
void libbpf_listen(unsigned int verbose);
struct complaint {
	char text[128], program[64];
	char line[160];        /* last line of the verifier's log that gives a reason; "": none */
};
struct complaint *libbpf_complaint(void);
/* Largest stack frame, in bytes, that the verifier counted in the program of a row; 0: not
 * known. */
u32 libbpf_frame(int row);

/* functions_begin() starts the search for the functions of function_rows in a thread;
 * functions_wait() waits for it; functions_tell() gives the results to the kernel side. */
void functions_begin(struct probes *);
void functions_wait(struct probes *);
void functions_tell(struct probes *);

#define TYPES_FOLDER "/sys/kernel/btf"
#define TYPES_FILE TYPES_FOLDER "/vmlinux"
/* True when types of modules may not be read. libbpf 1.1 gives up when they may not. */
bool types_hide_modules(void);

/* A tracepoint of the running kernel: its type, typedef `id` of `types`, and a descriptor of the
 * types of its module, 0 for the kernel itself. Lives until types_drop(). */
struct tracepoint {
	const struct btf *types;
	u32 id;
	int module;
};
#define TRACEPOINT "tp_btf/"   /* prefix of the section names of such programs */
/* Returns false when there is no tracepoint of this name, or the kernel's types cannot be read. May
 * be called from several threads. */
bool tracepoint_find(struct probes *, const char *name, struct tracepoint *out);
/* Number of its arguments without the first, which all have; -1: not known. */
int tracepoint_args(const struct tracepoint *);
/* Makes libbpf ask here for the targets of programs. Call it before the first object is opened.
 * Returns 0 or a negative errno after a message. */
int types_begin(struct probes *);
/* Calls body for each function of the kernel and its modules that is in their types. */
void types_each_function(struct probes *, void (*body)(struct probes *, const char *name,
	const struct tracepoint *at));
/* Frees the kernel's types, several megabytes; they are read again when they are needed. */
void types_drop(struct probes *);
/* Frees them, and undoes types_begin(). Call it when all objects are closed. */
void types_end(struct probes *);

/* Reads names of numbers from the kernel's types (probes_op()), and frees them. */
void ops_read(struct probes *);
void ops_free(struct probes *);
enum vfs_by { VFS_BY_NONE, VFS_BY_FENTRY, VFS_BY_KPROBE };
/* Chooses how functions of the VFS are reached, by trying. Returns false where none is: then the
 * VFS is derived, and object OBJECT_VFS is not needed. */
bool vfs_choose(struct probes *);
/* Sets why a program of the VFS is left out; "": it is not. */
void vfs_judge(const struct probes *, const char *program, char *why, size_t size);
/* Attaches the programs of the loaded object. Where a function that moves bytes cannot be reached
 * all are detached, and the VFS is derived. */
void vfs_attach(struct probes *, struct bpf_object *);
void vfs_close(struct probes *);

/* object_open() opens an object; objects_load() loads all opened ones, without the programs that
 * this kernel cannot have. */
struct bpf_object *object_open(struct probes *, size_t n);
int objects_load(struct probes *);
/* Opens all objects and chooses instead, so that `chosen` marks programs that would be loaded. */
int objects_look(struct probes *);
/* Opens the legacy variant of an object, and gives programs that it lacks as refused. */
int objects_reduce(struct probes *, size_t n);
int object_load(struct probes *, size_t n);
void object_attach(struct probes *, struct bpf_object *);
/* True for the program that starts the clock of calls, and for its twin. The kernel truncates
 * names. */
static inline bool is_clock(const char *name)
{
	return !strncmp(name, "syscall__enter", strlen("syscall__enter"));
}

/* Names in bpf/core/program_copies.bpf.h: of a program's copies ("copy", a number, the program's
 * name), and of the table through which they call it. */
#define COPY_OF "copy"
#define WORK_OF "work_"
/* Name of the program that `name` is a copy of; NULL: none. number: NULL, or gets the copy's
 * number, from 1. */
const char *copy_first(const char *name, u32 *number);
bool map_is_work(const struct bpf_map *);
/* Has the copies of chosen programs loaded, where the kernel skips programs. For an opened
 * object. */
void copies_choose(struct probes *, struct bpf_object *);
/* copies_tell() gives the copies of a loaded object the programs to call. copies_attach() attaches
 * the copies of attached programs. */
void copies_tell(struct probes *, struct bpf_object *);
void copies_attach(struct probes *, struct bpf_object *);
/* Number of times that copies did the work of the first program, in object n. Negative: the first
 * one had no memory for its mark, and nobody did the work. */
s64 copies_stood_in(const struct probes *, u32 n);
void copies_close(struct probes *);
/* True when a file system of this type is mounted somewhere. objects_wait() refuses the programs of
 * an object for which none is. */
bool fs_is_mounted(const char *type);
void objects_wait(struct probes *, size_t n);
void probes_unwatch(struct probes *);
/* Fills n with skips of all objects' programs, by kind of loss. */
void skips_sum(const struct probes *, u64 n[SKIPS]);
/* Skips of the programs of object n, and of those of file systems mounted during the run. */
u64 object_skips(const struct probes *, size_t n);
u64 late_skips(const struct probes *);
/* Checks that every table that was given a size exists and is resizable. */
int maps_check(const struct probes *);
int maps_plan(struct probes *);
/* Socket bytes that calls must report. */
enum iot_sockets sockets_by_call(const struct probes *);

/* Runs a program of type syscall with its context. Returns what it returns; 0 also when it is not
 * loaded or cannot be run. */
u32 program_call(const struct probes *, const char *name, void *ctx, u32 size);
/* Runs a program of type raw_tp on every processor; an offline one refuses. */
void program_call_each(const struct probes *, const char *name);
/* Has the kernel side divide the bytes that its probes left: those of transactions with too many
 * owners. */
void late_share(struct probes *);

#endif
