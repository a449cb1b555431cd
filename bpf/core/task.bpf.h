/* SPDX-License-Identifier: GPL-3.0-only */
/* task.bpf.h - the base of every program: the configuration, the gate, losses, the context of a
 * thread, and how kernel structures are read. The maps are declared in every object that includes
 * this, and exist once: the tracer hands the maps of the first object to the later ones.
 */
#ifndef IOT_TASK_BPF_H
#define IOT_TASK_BPF_H

#include <linux/fs.h>
#include "kernel.h"
#include "config.h"
#include "state.h"
#include "index.h"
#include "scratch.h"
#include "compat.bpf.h"
#include "reduced.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct iot_config cfg = {};

/* Owners have 64 bits on the kernel side: a process id, or a journal transaction whose handles
 * share the bytes. */
#define OWNER_TXN (1ULL << 63)

/* The kind of work that a kernel thread does on behalf of an owner. */
enum behalf {
	BEHALF_NONE,
	BEHALF_INODE,      /* behalf_id: the inode that is written back or converted */
	BEHALF_TXN,        /* behalf_id: owner of the transaction that is committed */
	BEHALF_FASTCOMMIT, /* a fast commit of ext4, of the current process */
	BEHALF_LOOP,       /* a loop device's worker; behalf_id: the inode of its file */
	BEHALF_OWNER,      /* behalf_id: the owner itself */
};

/* State of the byte range that the call in progress asks for. */
enum range_state {
	RANGE_NOT_ASKED,
	RANGE_KNOWN,
	RANGE_NONE,
	RANGE_FAULT,       /* the range is the page of a fault */
};

/* Blocks of one file that were dirtied in one call, or for one request: [from, to) covers them, and
 * `bytes` is their sum. */
struct fresh {
	u64 inode, from, to, bytes;
};

#define SYNC_PARTS 4           /* kinds from KIND_FS_SYNC on: the whole, and its three parts */
#define URING_CHAIN 64         /* linked io_uring requests that are remembered of each thread */

/* The context of a thread, while it lives: a struct for each layer. */
struct task_ctx {
	u32 proc;          /* process.id, 0 not resolved */
	/* number of the exec that `proc` belongs to: core__exec can be skipped (cfg.twins) */
	u32 exec_no;
	u32 moves;         /* iot_state.moves when `proc` was found */
	u32 behalf;
	u32 ended;         /* 1: the first of two copies of the exit program ran (cfg.twins) */
	u32 executor;      /* a kernel thread: process.id; `moves` says when it was found */
	u64 behalf_id;
	/* the call in progress, valid after range_look() only, as are range and target */
	u32 call;          /* number + 1 of the system call, when that is in the table; else 0 */
	u8 shape, write;   /* of that call */
	struct {           /* the bytes that the call asks for */
		u64 inode, off, len;
		u64 node;  /* for a block device: the inode of the node that was opened */
		u16 state; /* enum range_state */
		u16 blockdev;
	} range;
	struct {           /* the bytes that the call is to write */
		u64 inode, off, len;
		u16 direct;
	} target;
	struct {           /* requests of io_uring that the thread submits */
		u64 req;   /* struct io_kiocb that it submitted last */
		u32 links; /* not 0: the next request is linked to its last one */
		u32 waits; /* 1: the last request is linked to an earlier one */
		u64 chain[URING_CHAIN]; /* linked requests: a ring of the newest ... */
		u64 chained;            /* ... and their number so far */
	} uring;
	struct {           /* libaio */
		u64 ring, ns; /* the ring of the last io_submit(), and when that returned */
		/* io_submit() in progress (sync_write.bpf.h): number of the request that was synced
		 * last, and of the byte that was written back last, both + 1; 0: none */
		u64 now, from;
		/* io_submit() in progress: control block of the request that XFS copies, and when
		 * that first dirtied something; 0: not yet */
		u64 copies, dirtied_ns;
		/* control block of a direct request, until its data are written back from the page
		 * cache; 0: none */
		u64 direct;
	} aio;
	struct {           /* the file that it used last: resolved once, compared afterwards */
		u64 inode, ino;
		u64 host;  /* the inode that holds its pages */
		u32 gen, dev, block, file, type;
	} seen;
	/* the aggregate that it used last */
	struct iot_cell_key cell_key;
	u32 cell;
	struct {           /* the sums by file that it used last (filesum.bpf.h); epoch 0: none */
		u32 slot, file, owner, direct, epoch;
	} sum;
	u64 rchar;         /* task accounting when its last reading call returned */
	/* parts of the task accounting that are counted elsewhere: bytes of earlier programs, bytes
	 * that execve() itself read (program headers), and copies on overlayfs, which the kernel
	 * counts there and again below */
	struct {
		u64 read, wrote;
	} apart;
	/* ioac.wchar + 1 when the last signal was delivered, 0: none was. What a core dump adds
	 * after that is of no call */
	u64 signal_wrote;
	u64 proc_tried_ns; /* when the process table was full: tried again a second later */
	struct {           /* the fault in progress */
		u64 address; /* of a store to a page that is not mapped */
		/* the page that the fault is for; other pages of its folio may become writable with
		 * it */
		u64 inode, index;
		u64 call;  /* of a fault inside a call: number of the call + 1 */
		u64 first, last; /* first and last page of the area that is mapped there */
		u64 folio; /* the folio that it dirtied last */
		/* the page, when it may be dirty and no selected process dirtied it */
		u64 over_inode, over_index;
		/* the page, when it may be dirty, and its owner before; was_call: as call */
		u64 was_inode, was_index, was_owner, was_call;
	} fault;
	/* 1: its last write went into the inode, or into memory (remote_write.bpf.h) */
	u32 inlined;
	/* dirtied in the call in progress; that of simple calls is in struct thread (thread.bpf.h)
	 * until the call returns */
	struct fresh fresh;
	/* `fresh` is a piece of what several requests dirty, since this time; 0: `fresh` is of a
	 * single call or request */
	u64 fresh_ns;
	u64 fresh_sum;     /* bytes of all pieces so far */
	struct {           /* a direct write in progress */
		/* the request that had its range written back (0: a call's), and fresh.bytes at
		 * that time */
		u64 request, fresh;
		u64 ns;    /* it falls back to the page cache: when dirty pages were flushed */
		/* the inode that it has reserved space in (btrfs_sync_write.bpf.h) */
		u64 reserved;
		/* the inode, when it is written back from the page cache, all of it perhaps dirty
		 * before */
		u64 fell;
	} direct;
	/* the range that it writes, or wrote last, through iomap: of a folio that is dirtied only
	 * this part is (XFS) */
	struct {
		u64 inode, from, to;
	} part;
	struct {           /* a copy into the page cache in progress: copy_note() on btrfs */
		u64 what, from, to, flushed_from, flushed_to;
		u64 lock;  /* the extent bit of the blocks that it locks; 0: not known yet */
		u64 ns;    /* copy_file_range(): when it dirtied its first page */
	} copy;
	/* the inode that the journal handle in progress changes (journal_credit.bpf.h) */
	u64 handle_inode;
	struct {           /* the hole that it punches (ext4__punch()) */
		u64 inode, block, off, end;
	} punch;
	struct {           /* fsync() in progress */
		u32 dev;
		u64 ns, flush_ns;
		/* the aggregates that its last one was counted in, one for each part of its time,
		 * and the owner and device of their keys */
		u32 owner, counted;
		u32 cell[SYNC_PARTS];
	} sync;
	/* calls where layer vfs is whole (whole.bpf.h): offset of the memory area in its file; 1:
	 * the call was given a descriptor in place of a path */
	u64 whole_offset, whole_by_fd;
	/* of the program in progress (scratch.h) */
	struct op op;
	struct call regs;
	struct wrote_at wrote;
	struct dirtied dirtied_range;
	union scratch scratch;
	/* layer cache traced whole, at the end, so that other members keep their offsets: bytes of
	 * the pages that had to be read for what it reads, since they were last taken (reads_end()),
	 * and a read that ended, for which there is no stack left on 6.1 */
	u64 missed;
	struct cache_op cache;
};

#ifdef IOT_REDUCED
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);      /* thread id; core__exit deletes the entry */
	__type(value, struct task_ctx);
} tasks SEC(".maps");

/* The initial context of a thread: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_ctx);
} new_task SEC(".maps");
#else
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* the tracer opens the gate with a store */
	__type(key, u32);
	__type(value, struct iot_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_MAX);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

static __always_inline struct iot_state *run_state(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&state, &zero);
}

static __always_inline bool gate_open(void)
{
	struct iot_state *s = run_state();

	return s && s->gate;
}

/* Adds to a sum of this processor. Where programs can be preempted another thread may be in the
 * middle of the same. */
static __always_inline void sum_add(u64 *sum, u64 n)
{
	if (!REDUCED && cfg.twins)
		__sync_fetch_and_add(sum, n);
	else
		*sum += n;
}

static __always_inline void lose(u32 what)
{
	u64 *n = bpf_map_lookup_elem(&losses, &what);

	if (n)
		sum_add(n, 1);
}

/* Puts a number into a map by an address. An existing entry is updated in place: an insertion costs
 * ten times as much. */
static __always_inline void number_keep(void *map, const u64 *key, const u32 *number)
{
	u32 *old = bpf_map_lookup_elem(map, key);

	if (old)
		*(volatile u32 *)old = *number;
	else
		bpf_map_update_elem(map, key, number, BPF_ANY);
}

#ifdef IOT_REDUCED
static __always_inline struct task_ctx *ctx_of(struct task_struct *t)
{
	u32 tid = TASK(t, pid);

	return bpf_map_lookup_elem(&tasks, &tid);
}

static __always_inline struct task_ctx *ctx_find(void)
{
	u32 tid = bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&tasks, &tid);
}

static __always_inline struct task_ctx *ctx_make(void)
{
	u32 tid = bpf_get_current_pid_tgid(), zero = 0;
	struct task_ctx *c = bpf_map_lookup_elem(&tasks, &tid), *new;

	if (c)
		return c;
	new = bpf_map_lookup_elem(&new_task, &zero);
	if (new)
		bpf_map_update_elem(&tasks, &tid, new, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&tasks, &tid);
	if (!c)
		lose(LOSS_TASK_STORAGE);
	return c;
}

static __always_inline void ctx_drop(struct task_struct *t)
{
	u32 tid = TASK(t, pid);

	bpf_map_delete_elem(&tasks, &tid);
}
#else
/* the kernel frees task storage itself */
static __always_inline void ctx_drop(struct task_struct *t) {}

static __always_inline struct task_ctx *ctx_of(struct task_struct *t)
{
	return bpf_task_storage_get(&tasks, t, 0, 0);
}

static __always_inline struct task_ctx *ctx_find(void)
{
	return ctx_of(bpf_get_current_task_btf());
}

static __always_inline struct task_ctx *ctx_make(void)
{
	struct task_ctx *c = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0,
						  BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!c)
		lose(LOSS_TASK_STORAGE);
	return c;
}
#endif

/* Reads a number of a struct at an address: by following a pointer where the kernel can cast
 * addresses (bpf_rdonly_cast()), by a helper call where it cannot. The asm statement hides the
 * value from the compiler, which would merge both ways into one instruction that reads from an
 * address or from our own memory, and the verifier refuses that. */
#define NUMBER_AT(address, type, field) ({ \
	typeof(((type *)0)->field) __v; \
	u64 __a = (u64)(address); /* a field of our own structs has no offset in the kernel */ \
	if (HAS_CAST) { \
		__v = ((type *)bpf_rdonly_cast((void *)__a, bpf_core_type_id_kernel(type)))->field; \
		asm volatile("" : "+r"(__v)); \
	} else { \
		__v = BPF_CORE_READ((type *)__a, field); \
	} \
	__v; })

/* The pointer at an address, as a number: a typed pointer cannot be compared, or passed to a
 * function. Any struct with a 64-bit number serves for the cast. */
static __always_inline u64 pointer_at(u64 address)
{
	u64 v = 0;

	if (HAS_CAST)
		return NUMBER_AT(address - bpf_core_field_offset(struct task_io_accounting, rchar),
				 struct task_io_accounting, rchar);
	bpf_probe_read_kernel(&v, sizeof(v), (void *)address);
	return v;
}

/* 0, a value that the verifier does not know. Until 6.6 it verifies the callback of bpf_loop()
 * once, and takes the stack after one round for the result of the loop: branches behind the loop
 * that depend on a later round are pruned. A variable that begins with this value can be
 * anything. */
static __always_inline u32 some_zero(void)
{
	return bpf_get_smp_processor_id() >> 31;
}

static __always_inline u32 number_at(u64 address)
{
	u32 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)address);
	return v;
}

/* A pointer that a program was given, as a number. It is read back from the stack, since the
 * verifier allows no arithmetic on it. Out of line: its callers have no stack left. */
static __noinline u64 number_of(const void *pointer)
{
	volatile u64 on_stack = (u64)pointer;

	return NUMBER_AT(&on_stack, struct timespec64, tv_sec);
}

/* A pointer that the verifier does not trust. A trusted one makes it search all type names of the
 * kernel at each step of each path: half of the time to attach. */
#define UNTRUSTED(pointer, type) \
	(HAS_CAST ? (type *)bpf_rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)) : \
	 (pointer))

static __always_inline struct task_struct *current_task(void)
{
	return UNTRUSTED(CURRENT_TASK, struct task_struct);
}

#define POINTER_AT(address, type, field) \
	pointer_at((u64)(address) + bpf_core_field_offset(type, field))

/* As NUMBER_AT(), for a struct that may belong to a module: bpf_rdonly_cast() knows no types of
 * modules. Reads eight bytes. */
#define MODULE_AT(address, type, field) \
	((typeof(((type *)0)->field))pointer_at((u64)(address) + \
						bpf_core_field_offset(type, field)))

/* The number of `size` bytes at an address, for types of modules. */
static __always_inline u64 sized_at(u64 address, u32 size)
{
	u64 v = 0;

	if (!HAS_CAST) {
		bpf_probe_read_kernel(&v, size, (void *)address);
		return v;
	}
	switch (size) {
	case 1:
		return NUMBER_AT(address - bpf_core_field_offset(struct inode, i_blkbits),
				 struct inode, i_blkbits);
	case 2:
		return NUMBER_AT(address - bpf_core_field_offset(struct inode, i_mode),
				 struct inode, i_mode);
	case 4:
		return NUMBER_AT(address - bpf_core_field_offset(struct inode, i_generation),
				 struct inode, i_generation);
	}
	return pointer_at(address);
}

/* FOLLOW(p, a, b, c): p->a->b->c as BPF_CORE_READ() does it, for structs that may belong to a
 * module, without a helper call for each arrow. */
#define FOLLOW_ONE(p, field) ({ \
	__auto_type __from = (p); \
	(typeof(__from->field))sized_at((u64)__from + bpf_core_field_offset(typeof(*__from), field), \
					sizeof(__from->field)); })
#define FOLLOW_1(p, a) FOLLOW_ONE(p, a)
#define FOLLOW_2(p, a, b) FOLLOW_ONE(FOLLOW_1(p, a), b)
#define FOLLOW_3(p, a, b, c) FOLLOW_ONE(FOLLOW_2(p, a, b), c)
#define FOLLOW_4(p, a, b, c, d) FOLLOW_ONE(FOLLOW_3(p, a, b, c), d)
#define FOLLOW_5(p, a, b, c, d, e) FOLLOW_ONE(FOLLOW_4(p, a, b, c, d), e)
#define FOLLOW_6(p, a, b, c, d, e, f) FOLLOW_ONE(FOLLOW_5(p, a, b, c, d, e), f)
#define FOLLOW(p, ...) ___apply(FOLLOW_, ___narg(__VA_ARGS__))(p, __VA_ARGS__)

static __always_inline u64 inode_number(const struct inode *i) { return NUMBER_AT(i, struct inode,
	i_ino); }

/* True for an inode of a file system of this type. */
static __always_inline bool is_on(const struct inode *i, u32 magic)
{
	return NUMBER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_magic) == magic;
}
static __always_inline u32 inode_generation(const struct inode *i) { return NUMBER_AT(i,
	struct inode, i_generation); }
static __always_inline u32 inode_mode(const struct inode *i) { return NUMBER_AT(i, struct inode,
	i_mode); }
static __always_inline u32 inode_dev(const struct inode *i)
{
	return NUMBER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_dev);
}

/* The open file behind a descriptor of task `t`, which is the current one, or NULL. */
static __always_inline struct file *file_of_task(struct task_struct *t, u32 fd)
{
	/* of a trusted task, numbers alone are read without the cast */
	struct files_struct *files = TASK(UNTRUSTED(t, struct task_struct), files);
	struct fdtable *table = TASK(files, fdt);

	if (fd >= TASK(table, max_fds))
		return NULL;
	return (struct file *)pointer_at((u64)TASK(table, fd) + fd * sizeof(struct file *));
}

static __always_inline struct file *file_of(u32 fd)
{
	return file_of_task(current_task(), fd);
}

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 32        /* 6.9 */
#endif

/* Flags of a record, from f_flags of an open file. */
static __always_inline u32 flags_of(u32 f)
{
	u32 r = 0;

	if (f & O_DIRECT)
		r |= FLAG_DIRECT;
	if (f & __O_SYNC)
		r |= FLAG_SYNC;
	else if (f & O_DSYNC)
		r |= FLAG_DSYNC;
	if (f & O_APPEND)
		r |= FLAG_APPEND;
	return r;
}

/* Flags of a record, with those of one call: pwritev2(), libaio, io_uring. */
static __always_inline u32 flags_of_call(u32 flags, u64 rwf)
{
	if (rwf & RWF_SYNC)
		flags |= FLAG_SYNC;
	else if (rwf & RWF_DSYNC)
		flags |= FLAG_DSYNC;
	if (rwf & RWF_APPEND)
		flags |= FLAG_APPEND;
	if (rwf & RWF_NOAPPEND)
		flags &= ~FLAG_APPEND;
	return flags;
}

#endif
