/* SPDX-License-Identifier: GPL-3.0-only */
/* config.h - what the tracer tells the kernel programs before it loads them: the configuration, the
 * table of system calls, and the kernel functions whose addresses it finds for them.
 */
#ifndef IOT_CONFIG_H
#define IOT_CONFIG_H

#include "wire.h"

/* The context of who__self(), which fills in how the kernel identifies the calling process: its
 * namespaces and root are addresses to compare with. */
struct iot_self {
	u32 tgid;              /* in the initial PID namespace */
	u32 pid_level;         /* depth of its PID namespace; 0: the initial one */
	u64 pid_ns, mnt_ns, root;
};

#define IOT_COPIES 3           /* copies of a program, each with scratch memory of its own */
#define IOT_COPIES_MOST 6      /* copies of the programs without which bytes would have no owner */
#define IOT_OBJECTS 8          /* a power of two */

#define IOT_ONLY_MOST 8        /* values of one key of --only */

/* Filters of --only. Processes: those that have any of the values of each key that is given; what
 * other processes do is theirs in sums, too. Events: those of which all hold; sums have every
 * operation. All zero: no filter. */
struct iot_only {
	u32 processes;         /* 1: tids, uids or exe are given */
	u32 n_tids, n_uids;
	u32 tids[IOT_ONLY_MOST]; /* threads, by their id in the tracer's PID namespace */
	u32 uids[IOT_ONLY_MOST]; /* effective users, in the initial user namespace */
	/* file name of the executable, as much of it as fits; "": any */
	char exe[IOT_EXE_LEN] __attribute__((aligned(8)));
	u32 events;            /* 1: the rest is given */
	u32 pad;
	u64 kinds[4];          /* a bit each, by number; all 1 where none is named */
	u64 min_size, min_dur_ns; /* bytes asked for or moved; 0: any */
};

/* The configuration that the tracer writes before it loads the objects (read-only data of each). */
struct iot_config {
	u32 self_pid;          /* the tracer, as struct iot_self.tgid */
	u32 by_pid;            /* 1: only processes in map `want_pids` are selected */
	u32 dev;               /* only this disk; 0: every disk */
	u32 events;            /* 1: deliver events */
	u32 sockets;           /* enum iot_sockets */
	/* 1: programs have copies, since this kernel skips some (program_copies.bpf.h) */
	u32 twins;
	u32 latency;           /* enum iot_latency */
	/* 1: the kernel has a tracepoint for each fault that looks into the page cache */
	u32 faults;
	/* as in struct iot_self; 0: process numbers are those of the initial PID namespace */
	u32 pid_level;
	u64 pid_ns, mnt_ns, root; /* as in struct iot_self; 0: not known */
	u32 calls;             /* 1: system calls are traced */
	/* 1: owners are kept by file, not by page, and nothing is recorded for the dirty ledger */
	u32 light;
	u32 uring;             /* 1: requests of io_uring are traced */
	u32 max_cells;         /* capacity of the table of aggregates, at most IOT_MAX_CELLS */
	u32 max_writers, max_claims; /* sizes of those tables */
	u32 max_filesums;      /* at most IOT_MAX_FILESUMS */
	u32 max_urings;        /* the size of that table */
	u32 bio_bits, request_bits;  /* log2 of the sets of tables `bios` and `requests` */
	/* 1: owners of dirty pages are needed, by layer cache, fs or block */
	u32 claims;
	/* layers that are traced whole, with operations that move no bytes: bits 1 << LAYER_x */
	u32 whole;
	/* layer cache traced whole: events are of one span of pages in so many; 0, 1: of all */
	u32 cache_sample;
	u32 hist_kinds;        /* kinds that have histograms: those below this number */
	u32 copies;            /* 1: more programs than that of system calls have copies */
	u32 object;            /* the number of this object, less than IOT_OBJECTS */
	/* addresses of the kernel variables of these names; 0: this kernel has none */
	u64 preempt_count, per_cpu_offset, vmemmap_base, page_offset_base;
	/* 1: only processes in a control group of map `want_groups`, or below one, are selected */
	u32 by_group;
	char comm[IOT_COMM_LEN]; /* only processes whose leader has this comm; "": any */
	struct iot_only only;
};

/* The system calls that are timed. */
enum iot_latency {
	LATENCY_NONE,
	LATENCY_SYNCS,         /* calls of the fsync family alone */
	/* of calls that move data one in IOT_SAMPLE, drawn at random; all others */
	LATENCY_SAMPLED,
	LATENCY_ALL,
};
#define IOT_SAMPLE 16

/* The socket bytes that are counted when the call returns. */
enum iot_sockets {
	SOCKETS_NONE,          /* layer net is not measured */
	/* those that the tracepoints of net.bpf.c do not report, or report without the peer */
	SOCKETS_UNSEEN,
	SOCKETS_ALL,           /* all: the kernel has no such tracepoints */
};

/* The layout of a system call's arguments. */
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
	/* fd; closed by the exit, so it is resolved at the entry where events are recorded */
	SHAPE_CLOSE,
	SHAPE_MMAP,      /* address, length, protection, flags, fd, offset */
	SHAPE_PATH,      /* no descriptor */
	SHAPE_UNLINKAT,  /* folder, path, flags */
	SHAPE_AIO_SUBMIT,
	SHAPE_AIO_REAP,
	SHAPE_URING,     /* io_uring_enter: noted, not recorded */
	SHAPE_ADVISE,    /* fd, offset, count: readahead, fadvise; not recorded */
	SHAPE_AIO_DESTROY, /* ring; not recorded */
	SHAPE_EXEC,      /* not recorded; an exec that fails has read the file, too */
	/* process, vectors, count, its vectors, count: writes the memory of another process; not
	 * recorded */
	SHAPE_POKE,
	SHAPE_PTRACE,    /* request, process, address: writes memory, too */
	/* address, length, advice: makes pages writable (MADV_POPULATE_WRITE); not recorded */
	SHAPE_MADVISE,
	SHAPE_WHOLE,     /* as struct iot_args says; only where layer vfs is traced whole */
	/* socket, buffer, size, flags, address, its length; from here: socket calls, only for the
	 * net layer */
	SHAPE_TO,
	SHAPE_MSG,       /* socket, message header, flags */
	/* socket, message headers, count, flags; returns how many messages moved */
	SHAPE_MMSG,
	/* domain, type, protocol; from here: calls that are recorded only where layer net is
	 * traced whole */
	SHAPE_SOCKET,
	SHAPE_SOCKETPAIR, /* the same, and two descriptors */
	SHAPE_BIND,      /* socket, address, its length */
	SHAPE_LISTEN,    /* socket, backlog */
	SHAPE_ACCEPT,    /* socket, address, its length; returns a socket */
	SHAPE_ACCEPT4,   /* the same, and flags */
	SHAPE_CONNECT,   /* socket, address, its length */
	SHAPE_SHUTDOWN,  /* socket, direction */
	SHAPE_SOCKOPT,   /* socket, level, option, value, its length */
	SHAPE_POLL,      /* descriptors, their number, timeout; returns how many are ready */
	SHAPE_SELECT,    /* highest descriptor + 1, three sets, timeout; the same result */
	SHAPE_EPOLL_CREATE,
	SHAPE_EPOLL_CREATE1, /* flags */
	SHAPE_EPOLL_CTL, /* epoll, operation, descriptor, event */
	SHAPE_EPOLL_WAIT, /* epoll, events, their number, timeout; returns how many are ready */
};

/* One row of the table of system calls. */
struct iot_syscall {
	u8 kind, shape, write;
	/* 1: recorded only because the layer that would report more is not traced */
	u8 instead;
};
#define IOT_MAX_SYSCALL 512

/* Calls with arguments that need more than a register. */
enum iot_special {
	SPECIAL_NONE,
	SPECIAL_CREAT,         /* its flags are implied */
	SPECIAL_OPENAT2,       /* its flags are in a struct */
	SPECIAL_FCNTL,         /* recorded only when it locks */
	SPECIAL_MREMAP,        /* the area is where it returns */
	SPECIAL_MUNMAP,        /* the area is gone at the exit: resolved at the entry */
	SPECIAL_CHDIR,         /* its path is the new working directory */
	SPECIAL_READAHEAD,
	SPECIAL_SYMLINK,       /* the first path is a text */
	SPECIAL_BYTES,         /* returns bytes */
};

/* The registers that hold the arguments of a call, counted from 1; 0: it has no such argument. Used
 * where layer vfs is traced whole. */
struct iot_args {
	u8 fd;                 /* the file */
	u8 area;               /* an address in the memory area that maps the file */
	u8 offset, size, arg, op; /* as in struct iot_event */
	u8 at, path;           /* the folder that the path begins at, and the path */
	u8 at2, path2;
	u8 name;               /* of an extended attribute */
	u8 special;            /* enum iot_special */
	u8 empty;              /* 1: `at` may be the file itself, with an empty path, or none */
	u8 pad[3];
};

/* Field offsets in md's struct stripe_head, and in the struct r5dev that it has for each member.
 * Both types belong to a module, raid456. */
struct iot_stripe_layout {
	u32 members, first_member; /* struct stripe_head */
	u32 member_size;       /* 0: not known */
	/* struct r5dev: bios, and the sector in the array */
	u32 to_read, to_write, written, sector;
};

/* Work functions and bi_end_io functions that identify what they end. The tracer resolves their
 * addresses. */
enum iot_function {
	FN_NONE,
	FN_LOOP_WORK,       /* worker of a loop device: its work is in a struct loop_worker */
	FN_LOOP_ROOT_WORK,  /* the same: its work is in the struct loop_device */
	FN_EXT4_CONVERT,    /* ext4 converts unwritten extents after a write */
	FN_END_DIRECT,      /* ends direct I/O of a file system (iomap) */
	FN_END_BUFFER,      /* ends a buffer head */
	FN_END_DEVICE,      /* ends direct I/O of a block device: bi_private is its blkdev_dio */
	FN_END_DEVICE_ASYNC, /* the same with a single bio, which is embedded in its blkdev_dio */
	FN_URING_EXIT,      /* ends a ring of io_uring */
	FN_END_SWAP,        /* ends a swap-in */
	FN_END_CHAIN,       /* ends a part of another bio, which bi_private points to */
	FN_END_WAIT,        /* ends a bio that its submitter waits for */
	FN_XFS_LOG,         /* ends a log write of XFS: bi_private is its struct xlog_in_core */
	FN_XFS_BUFFER,      /* ends a metadata buffer of XFS: bi_private is its struct xfs_buf */
	FN_XFS_PUSH,        /* writes a checkpoint of XFS into the log */
	FN_XFS_CONVERT,     /* XFS converts unwritten extents after a write */
	FN_DIRECT_ENDED,    /* ends a direct write that is synchronous, or has extents to convert */
	FN_BTRFS_BIO,       /* ends a bio of btrfs that is embedded in a struct btrfs_bio */
	/* ends another copy of such a bio: bi_private is its struct btrfs_io_stripe */
	FN_BTRFS_COPY,
	FN_BTRFS_SUPER,     /* ends a superblock: bi_private is its struct btrfs_device */
	FN_BTRFS_SCRUBBED,  /* ends a bio of scrub (until 6.3), or is of a struct btrfs_bio */
	/* ends I/O of a stripe with parity: bi_private is its struct btrfs_raid_bio */
	FN_BTRFS_PARITY,
	FN_BTRFS_DIRECT,    /* of a struct btrfs_bio: direct I/O */
	FN_BTRFS_COMPRESSED, /* of a struct btrfs_bio: compressed data */
	FN_BTRFS_ORDERED,   /* inserts an extent into the trees after it was written */
	/* ends a page of a stripe with parity: bi_private is its struct stripe_head */
	FN_STRIPE,
};

#endif
