/* SPDX-License-Identifier: GPL-3.0-only */
/* wire.h - what the kernel programs send to the tracer: the vocabulary, made from kinds.def,
 * events, made from fields.def, and the records of the ring buffers.
 */
#ifndef IOT_WIRE_H
#define IOT_WIRE_H

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

/* Kinds from here on are recorded only where their layer is traced whole. */
#define KIND_WHOLE_FIRST KIND_MUNMAP

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

/* One operation. Its times are CLOCK_MONOTONIC in the kernel, and since the start of the run in all
 * that the tracer writes. */
struct iot_event {
#define FIELD(type, name, presence, unit, doc) type name;
#include "fields.def"
};

/* Process ids with a fixed meaning. Real processes start at PROC_FIRST. */
enum {
	PROC_NONE = 0,    /* not known */
	PROC_SELF = 1,    /* the tracer and its outputs */
	PROC_OTHER = 2,   /* all processes that the filters exclude */
	PROC_FIRST = 3,
};

/* A bit of an owner on the kernel side: the worker of a loop device, or the file system below, acts
 * for the owner on the device's backing file. These bytes have causes of their own, on devices
 * below the one that the owner uses. */
#define OWNER_LOOP (1U << 31)

/* The causes of such bytes, as bits. */
#define IOT_BELOW_LOOP \
	(1ULL << CAUSE_LOOPBACK | 1ULL << CAUSE_LOOP_JOURNAL | 1ULL << CAUSE_LOOP_METADATA)

#define IOT_COMM_LEN 16
#define IOT_EXE_LEN 24
#define IOT_NAME_MAX 255   /* longest file name, without the final NUL */
#define IOT_PATH_PARTS 32  /* deepest path that is resolved */
#define IOT_PATH_MAX 1024  /* no component begins beyond this; a power of two for the verifier */

/* The type of a ring record: the first u32 of each. Events come as struct iot_ring_event. */
enum iot_ring_type {
	RING_EVENT = 1,
	RING_PROCESS,      /* struct iot_proc: a process seen for the first time, or ended */
	RING_PATH,         /* struct iot_path */
	RING_PACK,         /* struct iot_ring_pack */
	RING_CALL_PATH,    /* struct iot_call_path */
};

struct iot_ring_event {
	u32 type, pad;
	struct iot_event e;
};

/* Calls of one thread on one file, in sequence on one processor, that differ only in time, offset
 * and size. One record for all of them costs less than one record each, and takes a third of the
 * space. */
#define IOT_PACK 16
struct iot_moved {
	u64 ts_ns, offset;
	u32 dur_ns, size, bytes, pad;
};

struct iot_ring_pack {
	u32 type;              /* RING_PACK */
	u16 cpu, n;            /* n: number of events, set when the pack is put into the ring */
	u64 first;             /* number of the first event, counted from 0 on this processor */
	u32 proc, tid, file, dev, flags; /* as in struct iot_event; flags: without FLAG_SHORT */
	u8 kind, sub;
	u16 pad;
	struct iot_moved e[IOT_PACK];
};

/* flags of iot_proc */
enum {
	PROC_KTHREAD = 1 << 0,
	PROC_WANTED = 1 << 1,  /* selected by the filters */
	PROC_BORN = 1 << 2,    /* forked during the run: its task accounting starts at zero */
	PROC_EXITED = 1 << 3,  /* its last thread ended during the run */
	/* it resolves paths otherwise than the tracer: in another mount namespace, or below another
	 * root (chroot) */
	PROC_AWAY = 1 << 4,
	/* a process that does I/O after its exit was recorded; it may have had another id before */
	PROC_DYING = 1 << 5,
	PROC_UNSURE = 1 << 6,  /* at its end: the accounting of another thread may still be added */
	/* cgroup_attach_task fired: the process gets another id if its control group differs */
	PROC_MOVED = 1 << 7,
};

/* A program that a process executes: tgid in the initial PID namespace, number of the exec, start
 * of the thread-group leader since boot. */
struct iot_proc_key {
	u32 tgid, exec_no;
	u64 start_ns;
};

/* A process as the kernel side knows it; also the value of map `procs`. */
struct iot_proc {
	u32 type;              /* RING_PROCESS, for the ring */
	u32 id;                /* process.id */
	/* thread-group ids in the tracer's PID namespace; 0: it has none there */
	u32 pid, ppid;
	u32 flags;
	u32 uid;               /* effective user id, in the first user namespace */
	union {                /* also the key in the map, so that it is on the stack once */
		struct iot_proc_key key;
		struct {
			u32 tgid, exec_no;
			u64 start_ns;
		};
	};
	u64 cgroup;            /* cgroup v2 id */
	/* id of the control group that the memory is charged to: of version 1 where that has the
	 * memory controller */
	u64 cgroup1;
	/* with PROC_AWAY: number of the mount namespace, which is never reused, and address of the
	 * root; 0: not known */
	u64 mounts, root;
	/* task accounting of the threads that ended, without what execve() itself read */
	u64 rchar, wchar;
	char comm[IOT_COMM_LEN];
	char exe[IOT_EXE_LEN]; /* file name of the executable, truncated; "": none */
};

/* A control group: kernfs_node.id, the inode number of its directory. Ids of version 1 have this
 * bit, so that they differ from those of version 2. */
#define IOT_GROUP_1 (1ULL << 63)

#define IOT_FNV_BASIS 0xcbf29ce484222325ULL
#define IOT_FNV_PRIME 0x100000001b3ULL
/* of control groups selected by --cgroup: a longer path is not recognised when the group is created
 * again */
#define IOT_GROUP_PATH 1024

/* The end of the walk from a file to its root. */
enum iot_path_whole {
	PATH_CUT,
	PATH_WHOLE,            /* to the root of the process */
	PATH_WHOLE_OUTSIDE,    /* only to the root of its mount namespace */
	PATH_INSIDE,           /* only to the root of its file system */
};

/* The path of a file: components from the leaf to the root, each with a final NUL. */
struct iot_path {
	u32 type;              /* RING_PATH */
	u32 file;              /* file.id */
	u32 dev, gen;
	u64 ino;
	u32 parts;             /* number of components */
	u32 len;               /* bytes of buf in use */
	u32 whole;             /* enum iot_path_whole */
	u32 user;              /* process.id of the process that used the file when this was sent */
	u32 writes;            /* 1: the file was open for writing then */
	u32 block;             /* bytes of a block of its file system */
	u32 node;              /* 1: the file is the node of a block device */
	char buf[IOT_PATH_MAX + IOT_NAME_MAX + 1];
};

/* Bits of iot_call_path.what. */
enum iot_path_what {
	PATH_FIRST = 1 << 0,
	PATH_SECOND = 1 << 1,
	PATH_NAME = 1 << 2,    /* the name of an extended attribute */
	PATH_LAST = 1 << 3,    /* no other record of this call follows */
	PATH_RELATIVE = 1 << 4, /* base: the folder that it begins at */
	PATH_UNREAD = 1 << 5,  /* it could not be read */
	PATH_PLAIN = 1 << 6,   /* a text that is no path of its own, of symlink() */
	PATH_REQUEST = 1 << 7, /* of a request of io_uring */
	PATH_KERNEL = 1 << 8,  /* the text was in memory of the kernel */
};
#define IOT_CALL_PATH_MAX 4096 /* with the final NUL, as the kernel limits it */

/* One path of a call: the event of this thread and time follows in the same ring. */
struct iot_call_path {
	u32 type;              /* RING_CALL_PATH */
	u32 tid;
	u64 ts_ns;
	u32 what;
	u32 len;               /* bytes of the text, with its NUL; 0: none */
	/* the folder, as a path of a file, and the process (user); the text follows its last byte
	 * in use */
	struct iot_path base;
	char rest[8192 - sizeof(((struct iot_path *)0)->buf)];
};

/* Losses, counted per processor in map `losses`. */
enum iot_loss {
#define LOSS(sym, layer, what, effect, spoils) LOSS_##sym,
#include "kinds.def"
	LOSS_MAX
};

#endif
