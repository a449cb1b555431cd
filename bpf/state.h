/* SPDX-License-Identifier: GPL-3.0-only */
/* state.h - keys and values of the maps that kernel programs and tracer share, and the state of a run.
 */
#ifndef IOT_STATE_H
#define IOT_STATE_H

#include "wire.h"

/* An element of map `packs`, one a processor, which the tracer has mapped: the pack that fills, and the one before. It is put into the ring
 * when it is full, or another call comes; the tracer may take events before that, and finds those missing that the ring had no room for. */
struct iot_packs {
	u64 n;                 /* events so far */
	u64 begun;             /* packs so far, times 2: the one that fills is pack[(begun / 2 - 1) % 2]. Odd: the next is being begun, over the oldest */
	u64 quick;             /* the calls that it is of: the address of what is known of them, ... */
	u32 learned, tid;      /* ... the number of that knowledge, and whose it is */
	struct iot_ring_pack pack[2];
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

#endif
