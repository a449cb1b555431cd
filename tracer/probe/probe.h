/* SPDX-License-Identifier: GPL-3.0-only */
/* probe.h - the kernel side as the rest of the tracer sees it: load, attach, gate, consume, read.
 *
 * Only the files probe*.c include libbpf, most by way of probe_parts.h. Every function that can fail
 * returns 0 or a negative errno and has reported the error on stderr by then.
 */
#ifndef IOT_PROBE_H
#define IOT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include "config.h"
#include "state.h"

struct probes;

/* The size of a kernel table, by the name of its map. */
struct probe_table {
	char name[16];
	u32 entries;
};
#define PROBE_TABLES 32

/* What to measure and of whom. A process is wanted when every filter that is set matches it; what is not
 * wanted is lumped together as PROC_OTHER in the aggregates and has no events. */
struct probe_opts {
	u32 layers;                 /* bit 1 << LAYER_x for each layer; 0: all */
	bool events;                /* deliver events, not only aggregates */
	u32 latency;                /* enum iot_latency: which calls are timed */
	size_t ring_bytes;          /* power of two; 0: default 16 MiB */
	bool by_pid;                /* filter: only processes given to probes_want_pid() and their children */
	char comm[IOT_COMM_LEN];    /* filter: name of the thread-group leader; "" none */
	bool by_group;              /* filter: only processes in control groups given to probes_want_group(), or below these */
	u32 dev;                    /* filter: device number of a disk; 0 none */
	const struct probe_table *tables; /* that get another size than usual; `cells` is one table */
	size_t n_tables;
	u32 keeper;                 /* a process whose calls, and those of its children, are the tracer's own; 0 none */
	bool reduced;               /* as on kernels that lack what the full tier needs */
	bool (*over)(void);         /* true, in whatever thread: nothing more is loaded. NULL: it never is */
	bool counts;                /* ask the verifier, too, how much stack each program takes */
	unsigned int verbose;       /* 1: why a program was refused, in brief; 2: all that libbpf says */
};

/* One program of the kernel side, after probes_open(). Strings belong to `struct probes`. */
struct probe_info {
	const char *name, *layer, *target;
	bool chosen;
	const char *reason;         /* why not; NULL when chosen */
	bool denied;                /* the kernel was given it and refused it */
	u32 frame_bytes;            /* the largest stack frame of its functions; 0 not asked for, or not known */
	u32 code_bytes;             /* machine code of all its functions */
	u32 verified;               /* instructions that the kernel looked at, on all paths, before it took it; 0 not known (before 5.16) */
};

/* Can the kernel be asked at all: are its types there, its own, and the programs made for this machine? 0, or a negative errno after a
 * message. */
int probes_check(void);
/* What is wrong with the types, behind their name, and for which other machine the programs were made; NULL: nothing. */
const char *probes_wrong_types(void);
const char *probes_wrong_machine(void);
/* Is a file system mounted, that we have programs for, whose code is a module? The types of modules are for CAP_SYS_ADMIN alone. */
bool probes_need_modules(void);

struct probe_callbacks {
	void *arg;
	/* in the ring itself: it is copied once, by who keeps it. ts_ns is CLOCK_MONOTONIC */
	void (*event)(void *arg, const struct iot_event *);
	void (*process)(void *arg, const struct iot_proc *);
	void (*path)(void *arg, const struct iot_path *);
};

/* Opens, loads and attaches everything with the gate closed: nothing is recorded yet. `out` may be set even
 * when an error is returned, so that probes_list() can say what was refused. -EINTR, silently: it is over. */
int probes_open(struct probes **out, const struct probe_opts *opts);
/* Without a capability: what would be loaded is `chosen` then. Whether the verifier takes it is not known. */
int probes_look(struct probes **out);
/* The programs whose names begin with `prefix` and "__". */
struct probe_group {
	size_t chosen;
	const struct probe_info *denied, *lacking; /* the first that the kernel refused, and that counts; the first that the full tier lacks; NULL none */
	bool waits;                 /* until a file system is mounted */
};
void probes_group(const struct probes *, const char *prefix, struct probe_group *);
size_t probes_list(const struct probes *, const struct probe_info **list);
size_t probes_copies(const struct probes *, u32 n); /* programs that are attached at least n times, since the kernel skips some; n: 2 to IOT_COPIES_MOST */
u64 probes_map_bytes(const struct probes *);   /* kernel memory of maps and ring */
u64 probes_ring_bytes(const struct probes *);  /* size of the ring of events */
const struct probe_info *probes_refused(const struct probes *); /* one that was asked for and that the full tier lacks; NULL */
/* Of the programs that the kernel was given and refused, those without which bytes are missing or have no owner: number n, from 0; NULL:
 * there are no more. */
const struct probe_info *probes_denied(const struct probes *, size_t n);
/* What is to be done about one of them. */
const char *probes_cure(const struct probe_info *denied);
/* After probes_stop(): those of file systems that were mounted during the run are among them from now on. Returns the first of these, NULL:
 * there is none. *ended: the process that attaches them had ended before. */
const struct probe_info *probes_denied_late(struct probes *, bool *ended);
/* What compiled the programs, such as "clang 14.0.6, for x86". */
const char *probes_made_by(void);
/* Kernel functions whose addresses are hidden from us (kernel.kptr_restrict), so that what they do is not recognised; NULL none. */
const char *probes_hidden(const struct probes *);
#define PROBES_HIDDEN_MEANS "bytes of loop devices can count twice, ext4's conversions and some direct I/O have no owner"
const char *probes_tier(const struct probes *); /* "full" or "reduced" */
const char *probes_lacks(const struct probes *); /* why only calls and devices are measured, as on older kernels; NULL: all is tried */
/* A layer is measured when the programs that its bytes come from are attached. Has it such programs? The first of them that is not
 * attached; NULL none. */
bool probes_feed(int layer);
const struct probe_info *probes_unfed(const struct probes *, int layer);
/* The name of file system `n` that has programs of its own, NULL: there are no more. *lacking: one that its full tier needs and that
 * is not attached, or that waits until one is mounted; NULL none. */
const char *probes_system(const struct probes *, size_t n, const struct probe_info **lacking);

/* Adds a process, by its number in our PID namespace, and its future children to the by_pid filter. Its present descendants are
 * the caller's to add. */
int probes_want_pid(struct probes *, u32 pid);
/* Wants a control group, and every later one of the same version and path. */
int probes_want_group(struct probes *, u64 group, const char *path);

/* Reads what opening the gate would be late for. */
void probes_ready(struct probes *);

/* After probes_stop(), before tables are read: what the kernel skips from now on, because they are read, is no loss of the run. May wait for
 * the process below, so that no time of the run is taken after it. */
void probes_skips_end(struct probes *);

/* Waits, in a process of its own, for file systems whose programs are left out because none is mounted: it attaches them when one
 * comes. To be called before privileges are dropped. */
int probes_watch(struct probes *);

/* Opens the gate: from here everything is recorded. Returns the start of the run (CLOCK_MONOTONIC, ns) in *start_ns. */
int probes_start(struct probes *, u64 *start_ns);
/* Closes the gate. What is in the ring and the maps stays to be read. */
int probes_stop(struct probes *);

/* Gives what is in the ring now to the callbacks; never blocks. Returns the number of records: PROBES_TAKE when there may be
 * more, so that a flood of events does not keep the caller from everything else. */
#define PROBES_TAKE 16384
size_t probes_consume(struct probes *, const struct probe_callbacks *);

/* Tells the kernel side that a volume is made of a device (a disk or a partition). */
void probes_hold(struct probes *, u32 dev, u32 volume);
/* Tells the kernel side that a device, or a file system by its number, is on the only disk that is wanted. */
void probes_want_device(struct probes *, u32 dev);
/* Once a second: tells the kernel side that time goes by, and lets it throw out what says nothing any more. */
void probes_second(struct probes *);

/* Calls back once for every aggregate in use, with its number and its sums since it got its key, over all processors. */
typedef void probes_cell(void *arg, u32 number, const struct iot_cell_key *, const struct iot_cell *);
int probes_cells(struct probes *, probes_cell *cell, void *arg);
/* More than half of the table of aggregates is in use. */
bool probes_cells_scarce(const struct probes *);
/* An aggregate is given back in two steps: from the first on nobody new finds it, and what is added for its key goes to another.
 * When the programs that had found it before have ended, a grace period of the kernel later, its sums are final; the second
 * zeroes them, and the number is used again. False: not now. */
bool probes_cell_close(struct probes *, u32 number);
void probes_cell_free(struct probes *, u32 number);

/* From now on what is counted for process `id`, which ended, is counted for process `to`. */
void probes_fold(struct probes *, u32 id, u32 to);
/* Whom it is counted for; 0: not known, or no longer. */
u32 probes_folded(const struct probes *, u32 id);
/* A process number that the kernel side does not use. */
u32 probes_new_process(struct probes *);
/* Gives the place of a process that ended back. */
void probes_forget_process(struct probes *, const struct iot_proc *);
/* Bytes that the programs saw complete on a disk while the gate was closed, since everything was attached: after probes_start() they
 * stay what they are until probes_stop(). False where layer block is not measured. */
bool probes_outside(const struct probes *, u32 disk, struct iot_outside *);
/* How many requests of a disk or partition the programs have seen complete that the kernel has not counted yet, and whose end nobody had told:
 * those are counted by it. 0 also where that is not known: before 5.14, of requests for which there was no room, and where layer block is not
 * measured. Looks through the whole table of requests: about 0.2 ms. */
u32 probes_unsettled(const struct probes *, u32 disk);
/* Bytes of a disk's requests that began while the gate was open and had not completed when it closed; only after probes_stop().
 * False where they are not known. */
bool probes_in_flight(const struct probes *, u32 disk, u64 *read, u64 *written);
/* Sums by file. Slots below *n_spare and from IOT_FILESUM_RESERVE to *n were used at some time; whose they are is read in place:
 * `used` is set when `key` is whole. Slot 0 is always in use. NULL: no layer has any. */
const struct iot_filesum_slot *probes_sums(const struct probes *, u32 *n_spare, u32 *n);
/* Are more than half of the slots used? */
bool probes_sums_are_many(const struct probes *);
/* Sums of a slot over all processors since the start; they go on when the slot is another's. */
int probes_sum(struct probes *, u32 slot, struct iot_filesum *);
/* Takes a slot out of the index. After probes_sums_epoch() and a while nobody adds to it any more: then it may be freed. */
void probes_sum_hide(struct probes *, u32 slot);
void probes_sums_epoch(struct probes *);
void probes_sum_free(struct probes *, u32 slot);
/* Whether the sums of a process need not be kept apart by the names of its threads. -E2BIG, silently: its number is too large. */
int probes_set_nameless(struct probes *, u32 proc, bool yes);
/* Calls back for every file whose path was never sent. */
int probes_files(struct probes *, void (*file)(void *arg, u32 id, u32 dev, u64 ino, u32 gen), void *arg);
/* Calls back for what calls put into journals. */
int probes_puts(struct probes *, void (*put)(void *arg, const struct iot_put_key *, const struct iot_put *), void *arg);
/* Calls back for every histogram bucket that is not empty. other: of sockets, pipes and what else is no file. */
int probes_hists(struct probes *, void (*hist)(void *arg, u8 kind, u32 group, bool other, u32 bucket, u64 n), void *arg);
/* Calls back for every process of the run, with its accounting so far. */
int probes_procs(struct probes *, void (*proc)(void *arg, const struct iot_proc *), void *arg);
/* Calls back for every flow of the run. Nothing where layer net is not measured. */
int probes_flows(struct probes *, void (*flow)(void *arg, const struct iot_flow_key *, const struct iot_flow *), void *arg);
/* How many elements of tables are in use. */
struct probe_use {
	u32 cells, flows, procs, files;
};
void probes_use(struct probes *, struct probe_use *);
/* More than half of the table of flows is in use. */
bool probes_flows_scarce(const struct probes *);
/* Reads a flow for the last time and gives its place back; what is added later makes it anew. False: it is not there, or the kernel
 * (before 5.14) cannot do it. */
bool probes_flow_take(struct probes *, const struct iot_flow_key *, struct iot_flow *);
/* How layer net is measured: SOCKETS_UNSEEN by tracepoints of the socket layer and, for the rest, by the calls; SOCKETS_ALL by
 * the calls alone; SOCKETS_NONE not at all. */
enum iot_sockets probes_sockets(const struct probes *);
/* So many events are gone of a process that was wanted only later. */
void probes_lose_late(struct probes *, u64 n);
/* Number of losses of each kind since the start. */
int probes_losses(struct probes *, u64 n[LOSS_MAX]);
/* Sets the histogram group of a process (0 .. 7). */
int probes_set_group(struct probes *, const struct iot_proc *, u32 group);
/* Time spent inside the programs, ns, when the kernel measures it (kernel.bpf_stats_enabled); else -ENODATA, silently. */
int probes_cpu_ns(struct probes *, u64 *ns);

void probes_close(struct probes *);

/* Prints the version, and of which compilers, libbpf and kernel types this program is, to stdout. Returns an exit status. */
int probes_version(void);

#endif
