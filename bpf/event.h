/* SPDX-License-Identifier: GPL-3.0-only */
/* event.h - what both sides share: enums and the event struct made from the tables, ring records,
 * map keys and values, and the configuration that the tracer writes before loading. */
#ifndef IOT_EVENT_H
#define IOT_EVENT_H

#ifndef __IOT_KERNEL__
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int64_t s64;
typedef int32_t s32;
#endif

enum iot_layer {
#define LAYER(sym, name, text, doc) LAYER_##sym,
#include "kinds.def"
	LAYER_MAX
};

enum iot_kind {
#define KIND(sym, layer, name, dir, text, doc) KIND_##sym,
#include "kinds.def"
	KIND_MAX
};

enum iot_cause {
#define CAUSE(sym, name, doc) CAUSE_##sym,
#include "kinds.def"
	CAUSE_MAX
};

enum iot_how {
#define HOW(sym, name, doc) HOW_##sym,
#include "kinds.def"
	HOW_MAX
};

enum iot_sub {
#define SUB(sym, name, doc) SUB_##sym,
#include "kinds.def"
	SUB_MAX
};

enum iot_carrier {
#define CARRIER(sym, name, doc) CARRIER_##sym,
#include "kinds.def"
	CARRIER_MAX
};

enum iot_flag {
#define FLAG(sym, bit, name, doc) FLAG_##sym = 1 << bit,
#include "kinds.def"
};

/* One operation. Times are since boot (CLOCK_MONOTONIC) in the kernel and since the start of the run
 * in everything the tracer writes. */
struct iot_event {
#define FIELD(type, name, presence, unit, doc) type name;
#include "fields.def"
};

/* Process ids that have a fixed meaning; real processes start at PROC_FIRST. */
enum {
	PROC_NONE = 0,    /* not known */
	PROC_SELF = 1,    /* the tracer and its outputs */
	PROC_OTHER = 2,   /* everything that the filters exclude, lumped together */
	PROC_FIRST = 3,
};

/* Bit of an owner on the kernel side: what a loop device's worker, and its file system, do on his behalf for the file of the device. Its bytes
 * have causes of their own, on devices below the one that he uses. */
#define OWNER_LOOP (1U << 31)

/* Their causes, as bits. */
#define IOT_BELOW_LOOP (1ULL << CAUSE_LOOPBACK | 1ULL << CAUSE_LOOP_JOURNAL | 1ULL << CAUSE_LOOP_METADATA)

#define IOT_COMM_LEN 16
#define IOT_EXE_LEN 24
#define IOT_NAME_MAX 255   /* longest file name, without its end */
#define IOT_PATH_PARTS 32  /* deepest path that is resolved */
#define IOT_PATH_MAX 1024  /* no component begins behind this; a power of two for the verifier */

/* What a ring record is: the first u32 of each. Events come as struct iot_ring_event. */
enum iot_ring_type {
	RING_EVENT = 1,
	RING_PROCESS,      /* struct iot_proc: a process seen for the first time, or gone */
	RING_PATH,         /* struct iot_path */
	RING_PACK,         /* struct iot_ring_pack */
};

struct iot_ring_event {
	u32 type, pad;
	struct iot_event e;
};

/* Calls that move bytes and are alike but for when, where and how many: one after the other on one processor, by one thread on one file.
 * One record for all costs less than one for each, and needs a third of the room. */
#define IOT_PACK 16
struct iot_moved {
	u64 ts_ns, offset;
	u32 dur_ns, size, bytes, pad;
};

struct iot_ring_pack {
	u32 type;              /* RING_PACK */
	u16 cpu, n;            /* n: how many there are, once it was put into the ring */
	u64 first;             /* number of the first of them, counted from 0 on this processor */
	u32 proc, tid, file, dev, flags; /* as in struct iot_event; flags: without FLAG_SHORT */
	u8 kind, sub;
	u16 pad;
	struct iot_moved e[IOT_PACK];
};

/* An element of map `packs`, one a processor, which the tracer has mapped: the pack that fills, and the one before. It is put into the ring
 * when it is full, or another call comes; the tracer may take events before that, and finds those missing that the ring had no room for. */
struct iot_packs {
	u64 n;                 /* events so far */
	u64 begun;             /* packs so far, times 2: the one that fills is pack[(begun / 2 - 1) % 2]. Odd: the next is being begun, over the oldest */
	u64 quick;             /* the calls that it is of: the address of what is known of them, ... */
	u32 learned, tid;      /* ... the number of that knowledge, and whose it is */
	struct iot_ring_pack pack[2];
};

/* flags of iot_proc */
enum {
	PROC_KTHREAD = 1 << 0,
	PROC_WANTED = 1 << 1,  /* passes the filters */
	PROC_BORN = 1 << 2,    /* forked inside the run: its accounting starts at zero */
	PROC_EXITED = 1 << 3,  /* its last thread ended inside the run */
	PROC_AWAY = 1 << 4,    /* its paths are not the tracer's: another mount namespace, or another root (chroot) */
	PROC_DYING = 1 << 5,   /* and this is what it did behind that: it may have had another number before */
	PROC_UNSURE = 1 << 6,  /* of its end: another of its threads may still have to say what it did */
	PROC_MOVED = 1 << 7,   /* cgroup_attach_task was seen: the process has another number when it is in another control group */
};

/* A program of a process: tgid in the initial PID namespace, number of its exec, start of its leader since boot. */
struct iot_proc_key {
	u32 tgid, exec_no;
	u64 start_ns;
};

/* A process as the kernel side knows it; also the value of map `procs`. */
struct iot_proc {
	u32 type;              /* RING_PROCESS, for the ring */
	u32 id;                /* process.id */
	u32 pid, ppid;         /* thread-group ids in the tracer's PID namespace; 0: it has none there */
	u32 flags;
	u32 uid;               /* effective user id, in the first user namespace */
	union {                /* its key in the map, so that it stands on the stack once */
		struct iot_proc_key key;
		struct {
			u32 tgid, exec_no;
			u64 start_ns;
		};
	};
	u64 cgroup;            /* cgroup v2 id */
	u64 cgroup1;           /* id of the control group that its memory is charged to; of version 1 where that has the memory controller */
	u64 mounts, root;      /* of PROC_AWAY: number of its mount namespace, which no later one has, and its root, an address; 0: not known */
	u64 rchar, wchar;      /* task accounting of the threads that ended, without what exec read itself */
	char comm[IOT_COMM_LEN];
	char exe[IOT_EXE_LEN]; /* file name of its executable, cut; "": none */
};

/* A control group: kernfs_node.id, which is the inode number of its folder. Ids of version 1 are apart from those of version 2. */
#define IOT_GROUP_1 (1ULL << 63)

#define IOT_FNV_BASIS 0xcbf29ce484222325ULL
#define IOT_FNV_PRIME 0x100000001b3ULL
#define IOT_GROUP_PATH 1024    /* of control groups that are wanted: longer paths are not recognised when the group is made again */

/* How far the walk to a file's path came. */
enum iot_path_whole {
	PATH_CUT,
	PATH_WHOLE,            /* to the root of the process */
	PATH_WHOLE_OUTSIDE,    /* only to that of its mount namespace */
	PATH_INSIDE,           /* only to that of its file system */
};

/* The path of a file, components from the leaf to the root, each ended by a NUL. */
struct iot_path {
	u32 type;              /* RING_PATH */
	u32 file;              /* file.id */
	u32 dev, gen;
	u64 ino;
	u32 parts;             /* number of components */
	u32 len;               /* bytes of buf in use */
	u32 whole;             /* enum iot_path_whole */
	u32 user;              /* process.id of who used it when this was sent */
	u32 writes;            /* 1: it was open for writing then */
	u32 block;             /* bytes of a block of its file system */
	u32 node;              /* 1: the node of a block device */
	char buf[IOT_PATH_MAX + IOT_NAME_MAX + 1];
};

/* What calls put into journals. `call` is a system call's number from PUT_CALL on, below: */
enum {
	PUT_OTHER,         /* none that is known */
	PUT_KERNEL,        /* a thread of the kernel: writeback, conversion of what was written, files that were unlinked */
	PUT_FAULT,         /* a fault on a mapped file */
	PUT_WORKER,        /* a worker of io_uring */
	PUT_CALL,
};

#define IOT_MAX_PUTS 65536

struct iot_put_key {
	u32 owner;             /* process.id */
	u32 dev;               /* disk or volume of the journal, as in the aggregates of commits */
	u32 file;              /* file.id; 0 not known */
	u16 call;
	u8 sub, blocks;        /* blocks: 1 when what is summed are blocks */
};

struct iot_put {
	u64 txns;              /* handles or transactions */
	u64 blocks;            /* that these were the first to put into their transaction; 0 where none are counted */
	u64 weight;            /* by which the owner's journal bytes are divided */
	u32 named;             /* 1: the file's name was sent */
	u32 fs;                /* number of the file system */
};

/* One aggregate: what it is about, and its sums (one copy a processor, see map `cells`). */
struct iot_cell_key {
	u32 owner;             /* process.id */
	u32 dev;
	u8 kind, cause, how, sub;
	u32 flags;             /* FLAG_DIRECT, FLAG_FUA, FLAG_PASSED, and of writing calls FLAG_SYNC, FLAG_DSYNC only; above them CELL_CARRIER() */
};

/* Who ran it is a part of the key of an aggregate that costs no room: the highest byte of its flags. */
#define CELL_CARRIER_SHIFT 24
#define CELL_CARRIER(carrier) ((u32)(carrier) << CELL_CARRIER_SHIFT)
#define CELL_FLAGS (CELL_CARRIER(1) - 1)

struct iot_cell {
	u64 ops, errors, bytes, touched;
	u64 timed;             /* operations whose duration is in lat_ns */
	u64 lat_ns, max_ns;
};

/* Where a bio came from. */
enum iot_bio_from {
	BIO_SUBMITTED,         /* a file system or a direct call: F counts it */
	BIO_CLONED,            /* a volume passes it on, and it was not queued below yet */
	BIO_PASSED,            /* the same, queued */
	BIO_OWN,               /* a volume's own: its metadata, its superblock */
};

/* What one owner did to one file, one copy a processor: columns of record file_io. */
struct iot_filesum_key {
	u32 file, owner;       /* file.id, 0 not known; process.id */
	u64 comm[2];           /* name of the thread; "": of any, or written back for it */
	u32 direct, pad;       /* 1: O_DIRECT, where the name is there */
};

struct iot_filesum {
	u64 read_ops, read_bytes, write_ops, write_bytes, sync_ops;
	u64 fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes;
};

/* Whose slot it is; gen tells one user of the slot from the next. */
struct iot_filesum_slot {
	struct iot_filesum_key key;
	u32 gen, used;
	u32 user, pad;         /* whose share of the table it takes: place in map `filesum_users` */
};

/* What the sums of a process need. */
struct iot_filesum_owner {
	u32 nameless;          /* 1: its threads tell nothing, their names need not be kept apart. Written by the tracer */
	u32 user;              /* place in `filesum_users` + 1; 0: none yet */
};

/* Where bytes were counted when they were submitted. slot 0: nowhere */
struct iot_filesum_ref {
	u32 slot, gen;
};

#define IOT_MAX_FILESUMS 32768
#define IOT_FILESUM_LOST 2     /* iot_filesum_slot.used: another processor made the same one first; it can be given back */
#define IOT_FILESUM_USERS 1024
#define IOT_FILESUM_RESERVE 1024 /* the first of them are for owners of files that are not known, when the others are used up */

/* What a queued bio is, until it completes. */
struct iot_bio {
	u64 owner;
	u64 use;               /* tells one use of the same struct bio from the next; 0: it is on no volume */
	u64 top, top_use;      /* passed on: the bio that was submitted at the top. Its pages tell whose the bytes are: those below may be encrypted */
	u64 sector;            /* on a volume: where its first byte lies there */
	u32 size;              /* on a volume: bytes when it was queued; 0: counted with the bio that it was split from */
	u32 off;               /* passed on: its first byte in the top bio */
	u32 idx, done;         /* bi_iter's, when it was queued */
	u32 disk, file;
	u32 demanded;          /* read: bytes on pages that the reader had asked for */
	u8 cause, how, sub;
	u8 many;               /* 1: owners are looked up page by page */
	struct iot_filesum_ref sum;
	u16 from;              /* enum iot_bio_from */
	u16 carrier;           /* who submitted it: enum iot_carrier */
	u32 parts;             /* number of the list of its parts (io_parts.bpf.h); 0: it has none */
};

/* A device that a volume is made of: the value of map `held`. */
struct iot_held {
	u32 volume, pad;       /* a disk */
	u64 holder;            /* who held the device then: another one and it is the volume's no more; 0: not looked at */
};

/* Bytes of a transaction that has too many owners to be divided where they were seen: the tracer hands each to block__share(). */
struct iot_late {
	u64 owner, bytes, lat_ns;
	u32 ops, errors;
	struct iot_cell_key key;
};

/* What cache__sweep() is called with. */
struct iot_clean_up {
	u32 min_age;           /* seconds since an entry was used last */
};

/* What block__sweep() is called with. It returns how many requests there our programs have seen complete that the kernel has not
 * counted yet, and whose end nobody had told. */
struct iot_sweep {
	u32 disk;              /* or partition */
};

/* A request under way: a value of map `requests`. Its bytes and what they are serve
 * where nobody tells that it completed: the kernel skips a program that runs on the processor already, and it may run
 * tasks without tracepoints, on top of which interrupts complete the requests of others. */
struct iot_request {
	u64 address;           /* struct request *; 0: there is none here */
	u64 last;              /* the last one that was here: the rest is its still, until the next comes */
	u64 insert_ns, issue_ns;
	u64 start_ns;          /* tells one use of the same struct request from the next */
	u32 disk, bytes;       /* bytes that did not complete yet */
	u32 op;                /* REQ_OP_READ, REQ_OP_WRITE, ... */
	u32 part;              /* the partition, where it is for one; else 0 */
	u32 tid;               /* thread that inserted it; without an insertion, that issued it */
	u16 same;              /* 1: all its bios are like `tag` */
	u16 inside;            /* 1: inserted or issued while the gate was open */
	struct iot_bio tag;
};

/* Device bytes that completed while the gate was closed, since the programs are attached: the value of map `outside`, whose
 * key is the disk. What the kernel's counters moved between a reading and the gate is known by it. late: of requests that were
 * under way when it closed. Partitions and volumes have one too, for their counters. */
struct iot_outside {
	u64 read, write, late_read, late_write;
	u64 last_ns;           /* of these */
	u64 inside_read, inside_write; /* of partitions and volumes, which are in no aggregate: while it was open */
	u64 unseen_read, unseen_write; /* inside the run, without a call of block__complete */
	u64 silent;            /* 1: of a volume that passed bios on without a word: md below dm */
};

/* What who__self() is called with: it fills in how the kernel itself names the process that calls, and its namespaces and root,
 * as addresses to compare with. */
struct iot_self {
	u32 tgid;              /* in the initial PID namespace */
	u32 pid_level;         /* depth of its PID namespace; 0: the initial one */
	u64 pid_ns, mnt_ns, root;
};

#define IOT_COPIES 3           /* of a program, with scratch memory of their own */
#define IOT_COPIES_MOST 6      /* of those without which bytes are nobody's */
#define IOT_OBJECTS 8          /* a power of two */

/* What the tracer tells the kernel side before loading (read-only data of every object). */
struct iot_config {
	u32 self_pid;          /* the tracer, as struct iot_self.tgid */
	u32 by_pid;            /* 1: only processes in map `want_pids` are wanted */
	u32 dev;               /* only this disk; 0: every disk */
	u32 events;            /* 1: deliver events */
	u32 sockets;           /* enum iot_sockets */
	u32 twins;             /* 1: programs have copies, since the kernel skips some (program_copies.bpf.h) */
	u32 latency;           /* enum iot_latency */
	u32 faults;            /* 1: the kernel tells of each fault that looks into the page cache */
	u32 pid_level;         /* struct iot_self; 0: numbers of processes are those of the initial PID namespace */
	u64 pid_ns, mnt_ns, root; /* likewise; 0: not known */
	u32 calls;             /* 1: system calls are seen */
	u32 max_cells;         /* aggregates that there is room for, at most IOT_MAX_CELLS */
	u32 max_writers, max_claims, max_bios, max_requests; /* sizes of those tables */
	u32 claims;            /* 1: whose a dirty page is is asked for: by the cache, file systems or devices */
	u32 copies;            /* 1: not only that of calls has one */
	u32 object;            /* the number of this one, less than IOT_OBJECTS */
	u64 preempt_count, per_cpu_offset, vmemmap_base, page_offset_base; /* addresses of the kernel's variables of these names, where it has them */
	u32 by_group;          /* 1: only processes in a control group of map `want_groups`, or below one */
	char comm[IOT_COMM_LEN]; /* only this leader; "": any */
};

/* A ring of slots that were given back: how many were taken out and put in so far. */
struct iot_sum_ring {
	u32 begin, end;
};

/* What the kernel side keeps for the whole run: the one element of map `state`. */
struct iot_state {
	u32 gate;              /* 1: record */
	u32 next_proc, next_file, next_cell;
	struct iot_sum_ring sum_free, sum_spare; /* in map `filesum_free` */
	u32 next_sum, next_spare; /* slots of sums by file that were never used */
	s32 sums;              /* of them, in use, but for those of files that are not known */
	u32 zero;              /* 0, which the verifier does not know */
	u32 late_asked, late_answered; /* the process that waits for file systems says how many of their programs were skipped ... */
	u64 late_skips;        /* ... here */
	u64 spared;            /* how often the copy of the program of calls was skipped where the first was not */
	u32 put_second, put_names; /* names sent in that second of files that calls put into journals */
	u32 used_cells;        /* aggregates in use */
	u32 used_flows;        /* flows in the table */
	u32 free_begin, free_end; /* of ring `free_cells` */
	u64 start_ns;          /* CLOCK_MONOTONIC when the gate opened */
	u64 boot_ns;           /* CLOCK_BOOTTIME when the gate opened */
	u64 next_space;        /* of claims on pages (page_owner.bpf.h) */
	s64 writers, claims;   /* entries of those tables */
	u32 second;            /* counted by the tracer: tells old entries from new ones */
	u32 sum_epoch;         /* moves when slots are taken back: what a thread remembers of its slot is void */
	u64 late;              /* pieces that were put into map `late` so far */
	u32 next_parts;        /* lists of parts that were made */
	u32 sole_epoch;        /* moves when a file that one process dirtied has another writer, or is not dirty any more */
	u32 functions;         /* how often the tracer told what functions mean */
	u32 passes;            /* 1: a volume has passed a bio on */
	u32 moves;             /* how often a process was put into another control group */
	u32 keeper;            /* number of the process that, with its children, looks at others for the tracer; 0 none */
	u64 carried_ns __attribute__((aligned(64))); /* when file data were submitted last; apart from what every call reads */
};

#define IOT_MAX_WRITERS (1 << 19) /* files that are dirty at once */
#define IOT_MAX_BIOS 65536        /* under way at once */
#define IOT_MAX_REQUESTS 16384    /* likewise */
#define IOT_PLACE_WAYS 16         /* of both tables: places where the same one may be */
#define IOT_MAX_CLAIMS (1 << 19)  /* ranges of files that several processes dirtied */

#define IOT_MAX_CELLS 65536
#define IOT_NO_CELL (1U << 30) /* beyond all, of all processors */
#define IOT_CELL_RESERVE(max) ((max) > 4096 ? 1024 : (max) / 4) /* kept for owner 0, so that bytes stay counted when the table is full */

/* What the aggregate of a number is about: an element of map `cell_keys`, which the tracer has mapped. The number is given back
 * by the tracer: it takes the key out of `cell_index`, reads the sums once more when no program can be adding to them any longer,
 * zeroes them, and puts the number into the ring `free_cells`. */
struct iot_cell_slot {
	struct iot_cell_key key;
	u32 used;              /* IOT_CELL_x; 0: free */
	u32 pad;               /* elements of an array begin at multiples of 8 */
};

enum {
	IOT_CELL_NEW = 1,      /* it has its key, and may not be found yet */
	IOT_CELL_LOST,         /* another has this key: nobody adds to it, and it can be given back */
	IOT_CELL_OPEN,         /* found by its key, and by its place in `recent_cells` */
	IOT_CELL_CLOSED,       /* by nobody new: it is about to be given back */
};

#define IOT_RECENT_BITS 12

/* A process that ended and whose sums belong to another from then on: an element of map `folds`, which the tracer writes at
 * place `id` modulo IOT_MAX_FOLDS. A later one overwrites it; what comes for the first after that is for the tracer to resolve. */
struct iot_fold {
	u32 id, to;            /* process.id */
};
#define IOT_MAX_FOLDS 131072   /* a power of two */
#define IOT_HIST_GROUPS 8

/* One histogram: of a kind, of a group of processes, and of files or of what is none (sockets, pipes, ...). */
#define IOT_HISTS (2 * IOT_HIST_GROUPS * KIND_MAX)
#define IOT_HIST(kind, group, other) ((2 * (group) + (other)) * KIND_MAX + (kind))
/* Which system calls are timed. */
enum iot_latency {
	LATENCY_NONE,
	LATENCY_SAMPLED,       /* one in IOT_SAMPLE of those that move data, drawn at random; all others */
	LATENCY_ALL,
};
#define IOT_SAMPLE 16

/* Which socket bytes are counted where the call returns. */
enum iot_sockets {
	SOCKETS_NONE,          /* layer net is not measured */
	SOCKETS_UNSEEN,        /* those that the tracepoints of net.bpf.c do not see, or see without the peer */
	SOCKETS_ALL,           /* every one: the kernel has no such tracepoints */
};

enum {
	ROLE_NONE,             /* not known */
	ROLE_CLIENT,           /* it connected */
	ROLE_SERVER,           /* it was accepted */
};

/* One flow: a pair of socket addresses as one process sees it, and what it sent and received there. */
struct iot_flow_key {
	u8 local[16] __attribute__((aligned(8))), remote[16]; /* as on the wire; AF_INET: the last 4 bytes, as in a mapped address */
	u32 owner;             /* process.id */
	u16 family, protocol;  /* AF_INET or AF_INET6; IPPROTO_x */
	u16 local_port, remote_port;
	u32 pad;
};

struct iot_flow {
	u64 sent_bytes, recv_bytes, sends, recvs;
	u32 role, loopback;
};

#define IOT_MAX_FLOWS 32768
#define IOT_MAX_GROUPED 65536  /* processes that can be in a group other than 0 at one time; a power of two */
#define IOT_GROUP_BITS 3       /* an element of map `groups`: process.id << IOT_GROUP_BITS | group */

/* How the arguments of a system call are read. */
enum iot_shape {
	SHAPE_NONE,
	SHAPE_RW,        /* fd, buffer, count; at the file position */
	SHAPE_PRW,       /* fd, buffer, count, offset */
	SHAPE_RWV,       /* fd, iovec, count; at the file position */
	SHAPE_PRWV,      /* fd, iovec, count, offset */
	SHAPE_PRWV2,     /* fd, iovec, count, offset, high, flags */
	SHAPE_SENDFILE,  /* out, in, offset pointer, count */
	SHAPE_SPLICE,    /* in, offset pointer, out, offset pointer, count */
	SHAPE_FD,        /* fd; no bytes */
	SHAPE_FTRUNCATE, /* fd, length */
	SHAPE_FALLOCATE, /* fd, mode, offset, length */
	SHAPE_OPEN,      /* returns fd */
	SHAPE_CLOSE,     /* fd, gone at the exit: seen at the entry where events are recorded */
	SHAPE_MMAP,      /* address, length, protection, flags, fd, offset */
	SHAPE_PATH,      /* no descriptor */
	SHAPE_AIO_SUBMIT,
	SHAPE_AIO_REAP,
	SHAPE_URING,     /* io_uring_enter: only remembered, not recorded */
	SHAPE_ADVISE,    /* fd, offset, count: readahead, fadvise; not recorded */
	SHAPE_AIO_DESTROY, /* ring; not recorded */
	SHAPE_EXEC,      /* not recorded; when it fails, it has read all the same */
	SHAPE_POKE,      /* process, vectors, count, its vectors, count: what writes another's memory; not recorded */
	SHAPE_PTRACE,    /* request, process, address; likewise */
	SHAPE_MADVISE,   /* address, length, advice: likewise, where it makes pages writable */
	SHAPE_TO,        /* socket, buffer, size, flags, address, its length; from here: socket calls, only for the net layer */
	SHAPE_MSG,       /* socket, message header, flags */
	SHAPE_MMSG,      /* socket, message headers, count, flags; returns how many messages moved */
};

/* One row of the table of system calls. */
struct iot_syscall {
	u8 kind, shape, write;
	u8 instead;            /* 1: it is recorded only because the layer that would say more is not */
};
#define IOT_MAX_SYSCALL 512

/* Where fields lie in md's struct stripe_head, and in the struct r5dev that it has for each member: of a module, raid456. */
struct iot_stripe_layout {
	u32 members, first_member; /* struct stripe_head */
	u32 member_size;       /* 0: not known */
	u32 to_read, to_write, written, sector; /* struct r5dev: bios; where in the array */
};

/* Work functions and end-of-bio functions that mean something; the tracer finds their addresses. */
enum iot_function {
	FN_NONE,
	FN_LOOP_WORK,       /* a loop device's worker: its work is in a struct loop_worker, */
	FN_LOOP_ROOT_WORK,  /* or in the struct loop_device */
	FN_EXT4_CONVERT,    /* ext4 converts unwritten extents behind a write */
	FN_END_DIRECT,      /* ends direct I/O of a file system */
	FN_END_BUFFER,      /* ends a buffer head */
	FN_END_DEVICE,      /* ends direct I/O of a block device: bi_private is its blkdev_dio */
	FN_END_DEVICE_ASYNC, /* the same in one bio, which sits in its blkdev_dio */
	FN_URING_EXIT,      /* ends a ring of io_uring */
	FN_END_SWAP,        /* ends a page that comes back from swap */
	FN_END_CHAIN,       /* ends a part of another bio: bi_private is that */
	FN_END_WAIT,        /* ends a bio that its submitter waits for */
	FN_XFS_LOG,         /* ends a log write of XFS: bi_private is its struct xlog_in_core */
	FN_XFS_BUFFER,      /* ends a metadata buffer of XFS: bi_private is its struct xfs_buf */
	FN_XFS_PUSH,        /* writes a checkpoint of XFS into the log */
	FN_XFS_CONVERT,     /* XFS converts unwritten extents behind a write */
	FN_DIRECT_ENDED,    /* ends a direct write that is synchronous, or has extents to convert */
	FN_XFS_INACTIVE,    /* XFS frees what unlinked files had */
	FN_BTRFS_BIO,       /* ends a bio of btrfs that is in a struct btrfs_bio */
	FN_BTRFS_COPY,      /* ends another copy of one: bi_private is its struct btrfs_io_stripe */
	FN_BTRFS_SUPER,     /* ends a superblock: bi_private is its struct btrfs_device */
	FN_BTRFS_SCRUBBED,  /* ends a bio of scrub (until 6.4), or is of a struct btrfs_bio */
	FN_BTRFS_PARITY,    /* ends what a stripe with parity reads or writes: bi_private is its struct btrfs_raid_bio */
	FN_BTRFS_DIRECT,    /* of a struct btrfs_bio: direct I/O */
	FN_BTRFS_COMPRESSED, /* of a struct btrfs_bio: compressed data */
	FN_BTRFS_ORDERED,   /* enters an extent into the trees when it is on disk */
	FN_STRIPE,          /* ends a page of a stripe with parity: bi_private is its struct stripe_head */
};

/* Losses, counted per processor in map `losses`. */
enum iot_loss {
#define LOSS(sym, layer, what, effect, spoils) LOSS_##sym,
#include "kinds.def"
	LOSS_MAX
};

#endif
