/* SPDX-License-Identifier: GPL-3.0-only */
/* probe.h - the kernel side as the rest of the tracer sees it: load, attach, gate, consume, read.
 *
 * Only the files of tracer/probe/ include libbpf. A function that can fail returns 0 or a negative
 * errno after a message.
 */
#ifndef IOT_PROBE_H
#define IOT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include "config.h"
#include "state.h"

/* inode number of the initial PID namespace since 3.8 (PROC_PID_INIT_INO) */
#define FIRST_PID_NS 0xEFFFFFFCu

struct probes;

/* The size of a kernel table, by the name of its map. */
struct probe_table {
	char name[16];
	u32 entries;
};
#define PROBE_TABLES 32

/* Mechanism by which functions of the VFS are traced: the first that works, one alone, or none. */
enum probe_prefer { PREFER_ANY, PREFER_FENTRY, PREFER_KPROBE, PREFER_DERIVED };

/* Options: the layers to measure, and the processes. A process is wanted when every filter that is
 * set matches it. Processes that are not wanted share PROC_OTHER in the aggregates and have no
 * events. */
struct probe_opts {
	u32 layers;                 /* bit 1 << LAYER_x for each layer; 0: all */
	u32 whole;                  /* the same, for those that are traced whole */
	enum probe_prefer prefer;   /* for layer vfs */
	bool events;                /* deliver events, not only aggregates */
	bool light;                 /* owners by file, no dirty ledger, small tables */
	u32 cache_sample;           /* as in struct iot_config */
	u32 latency;                /* enum iot_latency: which calls are timed */
	size_t ring_bytes;          /* power of two; 0: default 16 MiB */
	bool by_pid; /* filter: only processes given to probes_want_pid() and their children */
	char comm[IOT_COMM_LEN];    /* filter: name of the thread-group leader; "" none */
	/* filter: only processes in control groups given to probes_want_group(), or in descendants
	 * of these */
	bool by_group;
	u32 dev;                    /* filter: device number of a disk; 0: none */
	struct iot_only only;       /* filters of processes and events */
	/* tables with another size than the default; `cells` is one table */
	const struct probe_table *tables;
	size_t n_tables;
	/* process whose calls, and those of its children, belong to the tracer itself; 0: none */
	u32 keeper;
	bool reduced; /* use the legacy objects, for kernels before 5.17, on any kernel */
	bool (*over)(void);         /* true, in any thread: load nothing more. NULL: never */
	bool counts;                /* also ask the verifier for the stack depth of each program */
	/* 1: why a program was refused, in brief; 2: everything that libbpf prints */
	unsigned int verbose;
};

/* One program of the kernel side, after probes_open(). Strings belong to `struct probes`. */
struct probe_info {
	const char *name, *layer, *target;
	bool chosen;
	const char *reason;         /* why it was not chosen; NULL when chosen */
	bool denied;                /* the kernel refused to load or attach it */
	u32 frame_bytes; /* largest stack frame of its functions; 0: not asked for, or not known */
	u32 code_bytes;             /* machine code of all its functions */
	/* instructions that the verifier processed on all paths; 0: not known (before 5.16) */
	u32 verified;
};

/* Checks that the kernel's own types can be read and that the programs were compiled for this
 * machine. Returns 0 or a negative errno after a message. */
int probes_check(void);
/* Say what is wrong with the types, as the end of a sentence about them, and for which other
 * machine the programs were compiled; NULL: nothing is wrong. */
const char *probes_wrong_types(void);
const char *probes_wrong_machine(void);
/* True when a mounted file system that has programs is a module. Types of modules need
 * CAP_SYS_ADMIN. */
bool probes_need_modules(void);

struct probe_callbacks {
	void *arg;
	/* the event lies in the ring: copy it to keep it. ts_ns is CLOCK_MONOTONIC */
	void (*event)(void *arg, const struct iot_event *);
	void (*process)(void *arg, const struct iot_proc *);
	void (*path)(void *arg, const struct iot_path *);
	/* one path of the call whose event follows */
	void (*call_path)(void *arg, const struct iot_call_path *);
};

/* Opens, loads and attaches everything with the gate closed: nothing is recorded yet. *out may be
 * set even when an error is returned, so that probes_list() can say what was refused. Returns
 * -EINTR, silently, when opts->over says so. */
int probes_open(struct probes **out, const struct probe_opts *opts);
/* Opens the objects without a capability: `chosen` then marks programs that would be loaded. The
 * verifier is not asked. */
int probes_look(struct probes **out);
/* Summary of the programs whose names begin with `prefix` and "__". */
struct probe_group {
	size_t chosen;
	/* denied: the first one that the kernel refused and without which figures are wrong;
	 * lacking: the first one that the full tier needs and that is not attached; NULL: none */
	const struct probe_info *denied, *lacking;
	bool waits;                 /* some wait until a file system is mounted */
};
void probes_group(const struct probes *, const char *prefix, struct probe_group *);
size_t probes_list(const struct probes *, const struct probe_info **list);
/* number of programs that are attached at least n times because the kernel skips programs; n: 2 to
 * IOT_COPIES_MOST */
size_t probes_copies(const struct probes *, u32 n);
u64 probes_map_bytes(const struct probes *);   /* kernel memory of maps and ring */
u64 probes_ring_bytes(const struct probes *);  /* size of the ring of events */
/* First program that was asked for, is needed by the full tier and is not attached; NULL: none. */
const struct probe_info *probes_refused(const struct probes *);
/* Program number n, from 0, among those that the kernel refused and without which bytes are missing
 * or have no owner; NULL: there are no more. */
const struct probe_info *probes_denied(const struct probes *, size_t n);
/* Advice about a refused program. */
const char *probes_cure(const struct probe_info *denied);
/* Includes programs of file systems that were mounted during the run in probes_denied() from now
 * on. Call it after probes_stop(). Returns the first of them; NULL: none. *ended: the process that
 * attaches such programs had ended before. */
const struct probe_info *probes_denied_late(struct probes *, bool *ended);
/* Compiler of the programs, such as "clang 14.0.6, for x86". */
const char *probes_made_by(void);
/* Kernel functions whose addresses are hidden (kernel.kptr_restrict), so that their work is not
 * recognised; NULL: none. */
const char *probes_hidden(const struct probes *);
#define PROBES_HIDDEN_MEANS \
	"bytes of loop devices can count twice, ext4's conversions and some direct I/O have no owner"
/* "full"; "light": so was asked for; or "reduced": the legacy objects are used, a program that
 * either needs is not attached, or addresses of kernel functions are hidden. */
const char *probes_tier(const struct probes *);
/* Reason why the legacy objects are used, which measure calls and devices only; NULL: the full ones
 * are. */
const char *probes_lacks(const struct probes *);
/* Name of a number in this kernel, without the prefix that all have; NULL: it has none. OPS_URING:
 * opcodes of io_uring (IORING_OP_x); OPS_DROP: reasons of drops (SKB_DROP_REASON_x, since 5.17). */
enum probe_ops { OPS_URING, OPS_DROP, OPS_MAX };
const char *probes_op(const struct probes *, enum probe_ops, u32 op);
/* A layer is measured when the programs that report its bytes are attached. probes_feed(): it has
 * such programs. probes_unfed(): the first of them that is not attached; NULL: none. */
bool probes_feed(int layer);
const struct probe_info *probes_unfed(const struct probes *, int layer);
/* True when the program of that name is attached. */
bool probes_chosen(const struct probes *, const char *program);
/* True when the VFS is measured by programs of its own; else *why is the reason, "" where the layer
 * is not traced whole. */
bool probes_vfs(const struct probes *, const char **why);
/* True when a function of an operation (kind of layer VFS) is traced, where the VFS is measured; else
 * *why is the reason. */
bool probes_vfs_has(const struct probes *, u8 kind, const char **why);
bool probes_is_vfs(const struct probe_info *); /* one of those programs */
/* Name of the n-th file system that has programs of its own; NULL: there are no more. *lacking: a
 * program of its full tier that is not attached, or waits for a mount; NULL: none. */
const char *probes_system(const struct probes *, size_t n, const struct probe_info **lacking);

/* Adds a process, by its id in the PID namespace of iot-trace, and its future children to the
 * by_pid filter. The caller adds its present descendants. */
int probes_want_pid(struct probes *, u32 pid);
/* Adds a control group, and every later one of its version and path, to the by_group filter. */
int probes_want_group(struct probes *, u64 group, const char *path);

/* Reads counts that must be read before the gate opens. */
void probes_ready(struct probes *);

/* Ends the count of skipped programs: those that the kernel skips later, because tables are read,
 * are no losses of the run. Call it after probes_stop(), before tables are read. It may wait for
 * the process of probes_watch(). */
void probes_skips_end(struct probes *);

/* Forks a process that waits for file systems whose programs were left out because none was
 * mounted, and attaches them when one is. Call it before privileges are dropped. */
int probes_watch(struct probes *);

/* Opens the gate: from here everything is recorded. Returns the start of the run (CLOCK_MONOTONIC,
 * ns) in *start_ns. */
int probes_start(struct probes *, u64 *start_ns);
/* Closes the gate. The ring and the maps can still be read. */
int probes_stop(struct probes *);

/* Gives the present records of the rings to the callbacks; never blocks. Returns their number: at
 * least PROBES_TAKE when there may be more. The bound keeps a flood of events from starving the
 * caller's other work. */
#define PROBES_TAKE 16384
size_t probes_consume(struct probes *, const struct probe_callbacks *);

/* Tells the kernel side that a disk or partition is a member of a logical device (dm, md, bcache).
 * cached: devices_cached(). */
void probes_hold(struct probes *, u32 dev, u32 logical, u32 cached);
/* Tells the kernel side that a device, or a file system by its number, lies on the only wanted
 * disk. */
void probes_want_device(struct probes *, u32 dev);
/* Tells the kernel side once a second that time passes, and lets it drop stale entries. */
void probes_second(struct probes *);

/* Calls back once for every aggregate in use, with its number and its sums over all processors
 * since it got its key. */
typedef void probes_cell(void *arg, u32 number, const struct iot_cell_key *,
	const struct iot_cell *);
int probes_cells(struct probes *, probes_cell *cell, void *arg);
/* True when more than half of the table of aggregates is in use. */
bool probes_cells_scarce(const struct probes *);
/* An aggregate is given back in two steps. After probes_cell_close() no program finds it, and new
 * operations with its key go to another one. After a grace period of the kernel, when all programs
 * that had found it have ended, its sums are final, and probes_cell_free() zeroes them for the next
 * user of the number. Returns false when it cannot be closed now. */
bool probes_cell_close(struct probes *, u32 number);
void probes_cell_free(struct probes *, u32 number);

/* Folds an ended process: what is counted for `id` from now on is counted for `to`. */
void probes_fold(struct probes *, u32 id, u32 to);
/* The process that it is folded into; 0: not known, or no longer. */
u32 probes_folded(const struct probes *, u32 id);
/* Allocates a process number that the kernel side does not use. */
u32 probes_new_process(struct probes *);
/* Frees the kernel side's entry of an ended process. */
void probes_forget_process(struct probes *, const struct iot_proc *);
/* Bytes that the programs saw complete on a disk while the gate was closed. They do not change
 * between probes_start() and probes_stop(). Returns false where layer block is not measured. */
bool probes_outside(const struct probes *, u32 disk, struct iot_outside *);
/* Number of requests of a disk or partition that the programs saw complete and the kernel has not
 * counted, and whose completion no tracepoint had reported; it counts those as complete. 0 also
 * where it is not known: before 5.14, for requests that found no room in the table, and where layer
 * block is not measured. Walks the whole table of requests: about 0.2 ms. */
u32 probes_unsettled(const struct probes *, u32 disk);
/* Bytes of a disk's requests that began while the gate was open and had not completed when it
 * closed; only after probes_stop(). Returns false where they are not known. */
bool probes_in_flight(const struct probes *, u32 disk, u64 *read, u64 *written);
/* Sums by file. Slots below *n_spare, and those from IOT_FILESUM_RESERVE to *n, have been used;
 * their keys are read in place: `used` is set when `key` is complete. Slot 0 is always in use.
 * NULL: no layer has sums by file. */
const struct iot_filesum_slot *probes_sums(const struct probes *, u32 *n_spare, u32 *n);
/* True when more than half of the slots are used. */
bool probes_sums_are_many(const struct probes *);
/* Sums of a slot over all processors since the start. They continue when the slot gets another
 * key. */
int probes_sum(struct probes *, u32 slot, struct iot_filesum *);
/* A slot is given back in steps. probes_sum_hide() removes it from the index. After
 * probes_sums_epoch() and a while no program adds to it any more; then probes_sum_free() may free
 * it. */
void probes_sum_hide(struct probes *, u32 slot);
void probes_sums_epoch(struct probes *);
void probes_sum_free(struct probes *, u32 slot);
/* Sets whether the sums of a process are kept without the names of its threads. Returns -E2BIG,
 * silently, when its number is too large. */
int probes_set_nameless(struct probes *, u32 proc, bool yes);
/* Calls back for every file whose path was not sent. */
int probes_files(struct probes *, void (*file)(void *arg, u32 id, u32 dev, u64 ino, u32 gen),
	void *arg);
/* Calls back for the journal credits of calls. */
int probes_puts(struct probes *, void (*put)(void *arg, const struct iot_put_key *,
	const struct iot_put *), void *arg);
/* Calls back for every histogram bucket that is not empty. other: sockets, pipes and other
 * descriptors that are not files. */
int probes_hists(struct probes *, void (*hist)(void *arg, u8 kind, u32 group, bool other,
	u32 bucket, u64 n), void *arg);
/* Calls back for every process of the run, with its accounting so far. */
int probes_procs(struct probes *, void (*proc)(void *arg, const struct iot_proc *), void *arg);
/* Calls back for every flow of the run; for none where layer net is not measured. */
int probes_flows(struct probes *, void (*flow)(void *arg, const struct iot_flow_key *,
	const struct iot_flow *), void *arg);
/* Numbers of table elements in use. */
struct probe_use {
	u32 cells, flows, procs, files;
};
void probes_use(struct probes *, struct probe_use *);
/* True when more than half of the table of flows is in use. */
bool probes_flows_scarce(const struct probes *);
/* Reads a flow for the last time and frees its element; later traffic creates another one. Returns
 * false when it does not exist, or when the kernel cannot do it (before 5.14). */
bool probes_flow_take(struct probes *, const struct iot_flow_key *, struct iot_flow *);
/* Source of layer net. SOCKETS_UNSEEN: tracepoints of the socket layer, and calls for the rest;
 * SOCKETS_ALL: calls alone; SOCKETS_NONE: not measured. */
enum iot_sockets probes_sockets(const struct probes *);
/* Counts lost events of a process that became wanted later. */
void probes_lose_late(struct probes *, u64 n);
/* Numbers of losses since the start, by kind. */
int probes_losses(struct probes *, u64 n[LOSS_MAX]);
/* Sets the histogram group of a process (0 .. 7). */
int probes_set_group(struct probes *, const struct iot_proc *, u32 group);
/* Time spent inside the programs, in ns, when the kernel measures it (kernel.bpf_stats_enabled);
 * else returns -ENODATA, silently. */
int probes_cpu_ns(struct probes *, u64 *ns);
/* Calls body for each loaded program that ran: how often, and for how long in all, as the kernel
 * measures it. Programs that another program calls are part of that one. */
void probes_each_time(struct probes *, void (*body)(const char *program, u64 runs, u64 ns));

void probes_close(struct probes *);

/* Prints the versions of iot-trace, its compilers, libbpf and the kernel's types to stdout. Returns
 * an exit status. */
int probes_version(void);

#endif
