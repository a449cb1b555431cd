/* SPDX-License-Identifier: GPL-3.0-only */
/* state.h - keys and values of the maps that kernel programs and tracer share, and the state of a
 * run.
 */
#ifndef IOT_STATE_H
#define IOT_STATE_H

#include "wire.h"

/* An element of map `packs`, one a processor, which the tracer maps: the pack that is being filled,
 * and the one before. A pack is put into the ring when it is full, or when another call comes. The
 * tracer may read events earlier, and finds those that did not fit into the ring. */
struct iot_packs {
	u64 n;                 /* events so far */
	/* packs so far, times 2: the current one is pack[(begun / 2 - 1) % 2]. An odd number: the
	 * next is being initialised, over the oldest */
	u64 begun;
	u64 quick;             /* the calls that it holds: address of the struct fast_call, ... */
	u32 learned, tid;      /* ... its generation (fast_call.learned), and the thread */
	struct iot_ring_pack pack[2];
};

/* Journal credits: the system calls that added to a journal. `call` is the number of a system call
 * from PUT_CALL on, or one of these: */
enum {
	PUT_OTHER,         /* not known */
	/* a kernel thread: writeback, conversion of unwritten extents, inactivation of unlinked
	 * files */
	PUT_KERNEL,
	PUT_FAULT,         /* a fault on a mapped file */
	PUT_WORKER,        /* a worker of io_uring */
	PUT_CALL,
};

#define IOT_MAX_PUTS 65536

struct iot_put_key {
	u32 owner;             /* process.id */
	u32 dev;               /* the journal's disk or logical device, as in cells of commits */
	u32 file;              /* file.id; 0 not known */
	u16 call;
	u8 sub, blocks;        /* blocks: 1 when the sum is a number of blocks */
};

struct iot_put {
	u64 txns;              /* handles or transactions */
	/* blocks that these added to their transaction first; 0 where none are counted */
	u64 blocks;
	u64 weight;            /* the weight by which the owner's journal bytes are divided */
	u32 named;             /* 1: the name of the file was sent */
	u32 fs;                /* number of the file system */
};

/* One aggregate: its key, and its sums (one copy a processor, see map `cells`). */
struct iot_cell_key {
	u32 owner;             /* process.id */
	u32 dev;
	u8 kind, cause, how, sub;
	/* FLAG_DIRECT, FLAG_FUA, FLAG_PASSED, and of writing calls FLAG_SYNC and FLAG_DSYNC; above
	 * them CELL_OP() and CELL_CARRIER() */
	u32 flags;
};

/* Carrier and number within the kind (field `op` of an event) are parts of the key of an aggregate
 * that take no space: the two highest bytes of its flags. */
#define CELL_CARRIER_SHIFT 24
#define CELL_CARRIER(carrier) ((u32)(carrier) << CELL_CARRIER_SHIFT)
#define CELL_OP_SHIFT 16
#define CELL_OP(op) ((u32)(u8)(op) << CELL_OP_SHIFT)
#define CELL_FLAGS (CELL_OP(1) - 1)

struct iot_cell {
	u64 ops, errors, bytes, touched;
	u64 timed;             /* operations whose duration is in lat_ns */
	u64 lat_ns, max_ns;
	u64 unused;            /* each is one cache line */
};

/* The origin of a bio. */
enum iot_bio_from {
	BIO_SUBMITTED,         /* submitted by a file system or by direct I/O: F counts it */
	BIO_CLONED,            /* remapped by a logical device (dm, md), and not yet queued below */
	BIO_PASSED,            /* remapped by a logical device, and queued */
	BIO_OWN,               /* a logical device's own: its metadata, its superblock */
};

/* Sums of one owner on one file, one copy a processor: columns of record file_io. */
struct iot_filesum_key {
	u32 file, owner;       /* file.id, 0 not known; process.id */
	u64 comm[2];           /* name of the thread; "": any thread, or writeback */
	u32 direct, pad;       /* 1: O_DIRECT, where the name is there */
};

struct iot_filesum {
	u64 read_ops, read_bytes, write_ops, write_bytes, sync_ops;
	u64 fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes;
};

/* The key of a slot; gen distinguishes one use of the slot from the next. */
struct iot_filesum_slot {
	struct iot_filesum_key key;
	u32 gen, used;
	/* the user whose share of the table it takes: index in map `filesum_users` */
	u32 user, pad;
};

/* Per-process settings of the sums by file. */
struct iot_filesum_owner {
	/* 1: thread names do not tell components apart, and are not kept. Written by the tracer */
	u32 nameless;
	u32 user;              /* index in `filesum_users` + 1; 0: none yet */
};

/* The slot in which bytes were counted when they were submitted. slot 0: none */
struct iot_filesum_ref {
	u32 slot, gen;
};

#define IOT_MAX_FILESUMS 32768
/* iot_filesum_slot.used: another processor made the same key first; the slot can be given back */
#define IOT_FILESUM_LOST 2
#define IOT_FILESUM_USERS 1024
/* the first slots are for owners whose files are not known, when the others are used up */
#define IOT_FILESUM_RESERVE 1024

/* The class and owner of a bio: `many` is 1 when owners are looked up page by page, `from` an enum
 * iot_bio_from, `carrier` the thread that submitted it (enum iot_carrier), and `parts` the number
 * of the list of its parts (io_parts.bpf.h; 0: none). */
#define IOT_BIO_CLASS \
	u64 owner; \
	u32 file; \
	u8 cause, how, sub, many; \
	struct iot_filesum_ref sum; \
	u16 from, carrier; \
	u32 parts;

struct iot_bio_class {
	IOT_BIO_CLASS
};

/* The tag of a queued bio, until it completes. The first 64 bytes are all that a bio needs which no
 * logical device passes on. */
struct iot_bio {
	union {
		struct iot_bio_class class;
		struct {
			IOT_BIO_CLASS
		};
	};
	u32 disk;
	u32 demanded;          /* read: bytes on pages that the reader asked for */
	u32 off;               /* remapped: offset of its first byte in the top bio */
	/* on a logical device: bytes when it was queued; 0: counted with the bio that it was split
	 * from */
	u32 size;
	/* distinguishes one use of the struct bio from the next; 0: it is on no logical device */
	u64 use;
	/* remapped: the bio that was submitted at the top. Its pages tell the owners: those below
	 * may be encrypted */
	u64 top, top_use;
	u64 sector;            /* on a logical device: the sector of its first byte there */
	u32 idx, done;         /* bi_iter.bi_idx and bi_bvec_done, when it was queued */
};

/* A member of a logical device (dm, md): the value of map `held`. */
struct iot_held {
	u32 logical;           /* number of the logical device */
	u32 cached;            /* behind bcache: 1 + sectors before its data; 0: another member */
	/* bd_holder of the member when it was entered: if that changed, it is no longer a member;
	 * 0: not read yet */
	u64 holder;
};

/* Bytes of a transaction with too many owners to divide in the probe: the tracer passes each entry
 * to block__share(). */
struct iot_late {
	u64 owner, bytes, lat_ns;
	u32 ops, errors;
	struct iot_cell_key key;
};

/* The context of cache__sweep(). */
struct iot_clean_up {
	u32 min_age;           /* seconds since an entry was used last */
};

/* The context of block__sweep(). The program returns the number of requests that completed for
 * our programs and not yet for the kernel's counters, and of requests whose completion was not
 * traced. */
struct iot_sweep {
	u32 disk;              /* the disk, or a partition */
};

/* A request in flight: a value of map `requests`. Its bytes and its tag are used where its
 * completion is not traced: the kernel skips a program that already runs on the processor, and may
 * run tasks without tracepoints, on top of which interrupts complete the requests of others. */
struct iot_request {
	u64 address;           /* struct request *; 0: the entry is free */
	/* the last request that was here: the other fields are still its own, until the next
	 * comes */
	u64 last;
	u64 insert_ns, issue_ns;
	u64 start_ns;          /* distinguishes one use of the struct request from the next */
	u32 disk, bytes;       /* bytes that have not completed yet */
	u32 part;              /* the partition that it is for; 0: a whole disk */
	u32 tid;               /* thread that inserted it or, without an insertion, issued it */
	u32 place;             /* its index */
	u16 op;                /* REQ_OP_READ, REQ_OP_WRITE, ... */
	u8 same;               /* 1: all its bios are of class `tag` */
	u8 inside;             /* 1: inserted or issued while the gate was open */
	struct iot_bio_class tag;
};

/* Device bytes that completed while the gate was closed, since the programs were attached: the
 * value of map `outside`, by disk. They explain what the kernel's counters moved between a reading
 * and the opening of the gate. late: bytes of requests that were in flight when the gate closed.
 * Partitions and logical devices have an entry too, for their counters. */
struct iot_outside {
	u64 read, write, late_read, late_write;
	u64 last_ns;           /* when the last of these completed */
	/* of partitions and logical devices, which are in no aggregate: while the gate was open */
	u64 inside_read, inside_write;
	u64 unseen_read, unseen_write; /* during the run, without a call of block__complete */
	/* 1: a logical device that remapped bios without block_bio_remap (dm-raid) */
	u64 silent;
};

/* A ring of slots that were given back: numbers taken out and put in so far. */
struct iot_sum_ring {
	u32 begin, end;
};

/* The state of the kernel side for the whole run: the one element of map `state`. */
struct iot_state {
	u32 gate;              /* 1: record */
	u32 next_proc, next_file, next_cell;
	struct iot_sum_ring sum_free, sum_spare; /* in map `filesum_free` */
	u32 next_sum, next_spare; /* slots of sums by file that were never used */
	s32 sums;              /* slots in use, without those for files that are not known */
	u32 zero;              /* 0, a value that the verifier does not know */
	/* the process that waits for modules of file systems reports how many of their programs
	 * were skipped ... */
	u32 late_asked, late_answered;
	u64 late_skips;        /* ... here */
	/* how often the copy of the program of calls was skipped where the first was not */
	u64 spared;
	/* names of files with journal credits that were sent in that second */
	u32 put_second, put_names;
	u32 used_cells;        /* aggregates in use */
	u32 used_flows;        /* flows in the table */
	u32 next_flow;         /* flows that were made so far */
	u32 free_begin, free_end; /* of ring `free_cells` */
	u64 start_ns;          /* CLOCK_MONOTONIC when the gate opened */
	u64 boot_ns;           /* CLOCK_BOOTTIME when the gate opened */
	u64 next_space;        /* number of the next writer's claims on pages (page_owner.bpf.h) */
	s64 writers, claims;   /* entries in maps `writers` and `claims` */
	s64 urings;            /* entries in map `urings`, of requests in flight and ended ones */
	u32 second;            /* counted by the tracer: ages entries of tables */
	/* incremented when slots are taken back: the slot that a thread has kept is void then */
	u32 sum_epoch;
	u64 late;              /* pieces that were put into map `late` so far */
	u32 next_parts;        /* lists of parts that were made so far */
	/* incremented when a file with a single writer gets another one, or is clean again */
	u32 sole_epoch;
	u32 functions;         /* incremented when the tracer writes map `functions` */
	u32 passes;            /* 1: a logical device has remapped a bio */
	u32 grouped;           /* 1: map `groups` has entries */
	u32 moves;             /* incremented when a process is moved to another control group */
	/* pid of the process that, with its children, resolves paths for the tracer; 0: none */
	u32 keeper;
	/* when file data were submitted last; on a cache line of its own, apart from what every
	 * call reads */
	u64 carried_ns __attribute__((aligned(64)));
};

#define IOT_MAX_WRITERS (1 << 19) /* files that are dirty at one time */
#define IOT_MAX_BIOS 65536        /* bios in flight at one time */
#define IOT_MAX_REQUESTS 16384    /* requests in flight at one time */
#define IOT_MAX_URINGS 32768      /* requests of io_uring that are remembered at one time */
#define IOT_PLACE_WAYS 16         /* entries of a set in both tables: where one address can be */
#define IOT_MAX_CLAIMS (1 << 19)  /* ranges of files with several writers */

#define IOT_MAX_CELLS 65536
#define IOT_NO_CELL (1U << 30) /* larger than any index, on any processor */
/* kept for owner 0, so that bytes are still counted when the table is full */
#define IOT_CELL_RESERVE(max) ((max) > 4096 ? 1024 : (max) / 4)

/* The key of an aggregate, by its number: an element of map `cell_keys`, which the tracer maps. The
 * tracer frees a number: it removes the key from `cell_index`, reads the sums once more when no
 * program can add to them any longer, zeroes them, and puts the number into ring `free_cells`. */
struct iot_cell_slot {
	struct iot_cell_key key;
	u32 used;              /* IOT_CELL_x; 0: free */
	u32 pad;               /* array elements begin at multiples of 8 */
};

enum {
	IOT_CELL_NEW = 1,      /* its key is set, and it cannot be looked up yet */
	/* another entry has this key: nothing is added to it, and it can be freed */
	IOT_CELL_LOST,
	IOT_CELL_OPEN,         /* found by its key, and by its index in `recent_cells` */
	IOT_CELL_CLOSED,       /* not found any longer: it is about to be freed */
};

#define IOT_RECENT_BITS 12

/* A process that ended, and whose sums are added to another id from then on: an element of map
 * `folds`, which the tracer writes at index `id` modulo IOT_MAX_FOLDS. A later process overwrites
 * it; the tracer resolves what is added for the first after that. */
struct iot_fold {
	u32 id, to;            /* process.id */
};
#define IOT_MAX_FOLDS 131072   /* a power of two */
#define IOT_HIST_GROUPS 8

/* One histogram: of a kind, of a group of processes, and of files or of other descriptors (sockets,
 * pipes, ...). */
#define IOT_HISTS(kinds) (2 * IOT_HIST_GROUPS * (kinds))
#define IOT_HIST(kind, group, other, kinds) ((2 * (group) + (other)) * (kinds) + (kind))

/* --light: histograms of syncs and requests alone, by group of processes. A kind has row 0 when it
 * has none. */
#define IOT_LIGHT_KINDS 16
#define IOT_LIGHT_HISTS (IOT_LIGHT_KINDS * IOT_HIST_GROUPS)
#define IOT_LIGHT_ROW(kind) \
	((kind) >= KIND_FSYNC && (kind) <= KIND_MSYNC ? 1 + (kind) - KIND_FSYNC : \
	 (kind) >= KIND_FS_SYNC && (kind) <= KIND_FS_SYNC_FLUSH ? 7 + (kind) - KIND_FS_SYNC : \
	 (kind) >= KIND_BLK_READ && (kind) <= KIND_BLK_FLUSH ? 11 + (kind) - KIND_BLK_READ : \
	 (kind) == KIND_COMMIT ? 14 : (kind) == KIND_URING_FSYNC ? 15 : 0)
_Static_assert(IOT_LIGHT_ROW(KIND_MSYNC) == 6 && IOT_LIGHT_ROW(KIND_FS_SYNC_FLUSH) == 10 &&
	       IOT_LIGHT_ROW(KIND_BLK_FLUSH) == 13, "kinds share a row of histograms");

enum {
	ROLE_NONE,             /* not known */
	ROLE_CLIENT,           /* it called connect() */
	ROLE_SERVER,           /* accept() returned it */
};

/* One flow: a pair of socket addresses as one process sees it, and the bytes that it sent and
 * received. */
struct iot_flow_key {
	/* network byte order; AF_INET: the last 4 bytes, as in a mapped address */
	u8 local[16] __attribute__((aligned(8))), remote[16];
	u32 owner;             /* process.id */
	u16 family, protocol;  /* AF_INET or AF_INET6; IPPROTO_x */
	u16 local_port, remote_port;
	u32 pad;
};

struct iot_flow {
	u64 sent_bytes, recv_bytes, sends, recvs;
	u32 role, loopback;
	u32 id;                /* flow.id; 0: not set yet */
	/* where layer net is traced whole: calls that failed, calls of poll(2) for this socket
	 * alone, segments that TCP sent again, packets that this host dropped */
	u32 errors, polls, retransmits, drops, pad;
	/* from connect(2) until the connection was there, or the time in accept(2); 0: not known */
	u64 setup_ns;
};

#define IOT_MAX_FLOWS 32768
/* processes that can be in a group other than 0 at one time; a power of two */
#define IOT_MAX_GROUPED 65536
/* an element of map `groups`: process.id << IOT_GROUP_BITS | group */
#define IOT_GROUP_BITS 3

#endif
