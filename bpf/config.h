/* SPDX-License-Identifier: GPL-3.0-only */
/* config.h - what the tracer tells the kernel programs before it loads them: the configuration, the table of system
 * calls, and the kernel functions whose addresses it finds for them.
 */
#ifndef IOT_CONFIG_H
#define IOT_CONFIG_H

#include "wire.h"

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

#endif
