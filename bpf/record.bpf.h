/* SPDX-License-Identifier: GPL-3.0-only */
/* record.bpf.h - what every probe calls: the gate, who the current task is, aggregates, histograms, the ring,
 * losses. The maps are declared in every object that includes this and exist once: the tracer gives the
 * later objects the maps of the first.
 */
#ifndef IOT_RECORD_BPF_H
#define IOT_RECORD_BPF_H

#include <linux/fs.h>
#include "kernel.h"
#include "event.h"
#include "hist.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct iot_config cfg = {};

/* Owners are 64 bits wide in here: a process id, or a journal transaction whose handles share the bytes. */
#define OWNER_TXN (1ULL << 63)

/* On whose behalf a kernel thread works. */
enum behalf {
	BEHALF_NONE,
	BEHALF_INODE,      /* behalf_id: the inode that is written back or converted */
	BEHALF_TXN,        /* behalf_id: owner of the transaction that is committed */
	BEHALF_FASTCOMMIT, /* the current process's fast commit */
	BEHALF_LOOP,       /* a loop device's worker */
	BEHALF_OWNER,      /* behalf_id: the owner itself */
};

/* What is remembered of a thread while it lives. */
struct task_ctx {
	u32 proc;          /* process.id, 0 not resolved */
	u32 exec_no;       /* of the program that `proc` is: where core__exec can be skipped (cfg.again) */
	u32 behalf;
	u32 ended;         /* 1: the first of two copies of the exit program was here (cfg.again) */
	u64 behalf_id;
	/* the call in progress: only where range_look() was called just before */
	u32 call;          /* number + 1 of the system call it is in, when that is in the table; else 0 */
	u8 shape, write;   /* of that call */
	u16 range_known;   /* 0 not looked at, 1 known, 2 none, 3 the page of a fault */
	u64 range_inode, range_off, range_len; /* the bytes that it asks for */
	u64 range_node;    /* of a block device: the inode that it was opened by */
	u64 target_inode, target_off, target_len; /* the bytes that it is asked to write */
	u16 range_blockdev, target_direct;
	u64 uring_req;     /* struct io_kiocb that it submitted last */
	u64 aio_ring, aio_ns; /* where it submitted last with io_submit; when that returned */
	/* the file that it used last: resolved once, compared afterwards */
	u64 seen_inode, seen_ino;
	u64 seen_host;     /* the inode that holds its pages */
	u32 seen_gen, seen_dev, seen_block, seen_file, seen_type;
	/* the aggregate that it used last */
	struct iot_cell_key cell_key;
	u32 cell;
	/* the sums by file that it used last (filesum.bpf.h); sum_epoch 0: none */
	u32 sum_slot, sum_file, sum_owner, sum_direct, sum_epoch;
	u64 rchar;         /* task accounting when its last reading call returned */
	u64 exec_read;     /* of the task accounting: what earlier programs read, and what execs read themselves (headers of programs) */
	u64 exec_wrote;    /* what earlier programs wrote */
	u64 proc_tried_ns; /* when there was no room for its process: tried again a second later */
	/* the fault in progress */
	u64 fault_address; /* of a store to a page that is not mapped */
	u64 stored_inode, stored_index; /* the page that it is for, while others of its folio may become writable too */
	u64 area_first, area_last;      /* pages that are mapped there */
	u64 dirtied;       /* the folio that it made dirty last */
	/* blocks of one file that turned dirty in the call in progress: from the first to the end of the last */
	u64 fresh_inode, fresh_from, fresh_to;
	/* of the program in progress: what is too large for the stack */
	u64 scratch[56], op[12], regs[7], wrote[5], dirtied_range[4];
	/* fsync in progress */
	u32 sync_dev;
	u64 sync_ns, flush_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* the tracer opens the gate by a store */
	__type(key, u32);
	__type(value, struct iot_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_proc_key);
	__type(value, struct iot_proc);
} procs SEC(".maps");

/* Processes that the by_pid filter wants, by their number in the tracer's PID namespace; children are added at fork. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} want_pids SEC(".maps");

struct file_key {
	u32 dev, gen;
	u64 ino;
};

struct file_entry {
	u32 id;
	u32 named;             /* what its name looked like when its path was sent; 0 never */
	u32 sent, pad;         /* how often */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_CELLS);
	__type(key, struct iot_cell_key);
	__type(value, u32);
} cell_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__type(key, u32);
	__type(value, struct iot_cell);
} cells SEC(".maps");

struct hist {
	u64 n[HIST_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_HISTS);
	__type(key, u32);
	__type(value, struct hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_cell_slot);
} cell_keys SEC(".maps");

/* Numbers of aggregates that were given back, a ring: from state.free_begin, where programs take them, to state.free_end, where
 * the tracer puts them. (Sleepable programs, such as block__sweep, may use no map of type queue before 6.4.) */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} free_cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_FOLDS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_fold);
} folds SEC(".maps");

/* Histogram group of a process, written by the tracer at place `id` modulo IOT_MAX_GROUPED; who is not there is in group 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_GROUPED);
	__type(key, u32);
	__type(value, u32);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_MAX);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

/* Processes and paths have a ring of their own: a flood of events must not take the names of what is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} names SEC(".maps");

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

/* Adds to a sum of this processor. Another thread can be in the middle of the same where probes are preempted. */
static __always_inline void sum_add(u64 *sum, u64 n)
{
	if (cfg.again)
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

static __always_inline struct task_ctx *ctx_find(void)
{
	return bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
}

static __always_inline struct task_ctx *ctx_make(void)
{
	struct task_ctx *c = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!c)
		lose(LOSS_TASK_STORAGE);
	return c;
}

static __always_inline void proc_key(struct iot_proc_key *k, struct task_struct *t)
{
	k->pid = t->tgid;
	k->exec_no = t->group_leader->self_exec_id;
	k->start_ns = t->group_leader->start_boottime;
}

/* Reads a number in a struct at an address: by following a pointer where the kernel can cast addresses, by a helper
 * call where it cannot. */
#define NUMBER_AT(address, type, field) ({ \
	typeof(((type *)0)->field) __v; \
	u64 __a = (u64)(address); /* a field of our own structs has no place in the kernel's */ \
	if (cfg.cast) \
		__v = ((type *)bpf_rdonly_cast((void *)__a, bpf_core_type_id_kernel(type)))->field; \
	else \
		__v = BPF_CORE_READ((type *)__a, field); \
	__v; })

/* The pointer at an address, as a number: a typed pointer cannot be compared or handed to a function. Any struct with a
 * 64-bit number in it serves. */
static __always_inline u64 pointer_at(u64 address)
{
	u64 v = 0;

	if (cfg.cast)
		return NUMBER_AT(address - bpf_core_field_offset(struct task_io_accounting, rchar), struct task_io_accounting, rchar);
	bpf_probe_read_kernel(&v, sizeof(v), (void *)address);
	return v;
}

/* A pointer that the verifier does not trust. Following a trusted one costs it a search through all names of the kernel
 * at every step of every path: half of the time to attach. */
#define UNTRUSTED(pointer, type) \
	(cfg.cast ? (type *)bpf_rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)) : (pointer))

static __always_inline struct task_struct *current_task(void)
{
	return UNTRUSTED(bpf_get_current_task_btf(), struct task_struct);
}

#define POINTER_AT(address, type, field) pointer_at((u64)(address) + bpf_core_field_offset(type, field))

/* The number of a thread in the tracer's PID namespace; 0 when it has none there. */
static __always_inline u32 thread_number(struct task_struct *t)
{
	u64 pid, number;

	if (!cfg.pid_level)
		return t->pid;
	pid = POINTER_AT(t, struct task_struct, thread_pid);
	if (!pid || NUMBER_AT(pid, struct pid, level) < cfg.pid_level)
		return 0;
	number = pid + bpf_core_field_offset(struct pid, numbers) + cfg.pid_level * bpf_core_type_size(struct upid);
	return POINTER_AT(number, struct upid, ns) == cfg.pid_ns ? NUMBER_AT(number, struct upid, nr) : 0;
}

/* The same for its process. */
static __always_inline u32 process_number(struct task_struct *t)
{
	return cfg.pid_level ? thread_number(UNTRUSTED(t->group_leader, struct task_struct)) : (u32)t->tgid;
}

static __always_inline u32 current_thread(void)
{
	return cfg.pid_level ? thread_number(current_task()) : (u32)bpf_get_current_pid_tgid();
}

/* Does a task see other files under the same paths than the tracer? */
static __always_inline bool is_away(struct task_struct *t)
{
	u64 spaces = POINTER_AT(t, struct task_struct, nsproxy), fs = POINTER_AT(t, struct task_struct, fs);

	if (!cfg.mnt_ns || !spaces || !fs)
		return false;
	return POINTER_AT(spaces, struct nsproxy, mnt_ns) != cfg.mnt_ns ||
		pointer_at(fs + bpf_core_field_offset(struct fs_struct, root.dentry)) != cfg.root;
}

static __always_inline u64 inode_number(const struct inode *i) { return NUMBER_AT(i, struct inode, i_ino); }
static __always_inline u32 inode_generation(const struct inode *i) { return NUMBER_AT(i, struct inode, i_generation); }
static __always_inline u32 inode_mode(const struct inode *i) { return NUMBER_AT(i, struct inode, i_mode); }
static __always_inline u32 inode_dev(const struct inode *i)
{
	return NUMBER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_dev);
}

/* The open file behind a descriptor of the process of task `t`, the current one, or NULL. */
static __always_inline struct file *file_of_task(struct task_struct *t, u32 fd)
{
	struct fdtable *table = t->files->fdt;

	if (fd >= table->max_fds)
		return NULL;
	return (struct file *)pointer_at((u64)table->fd + fd * sizeof(struct file *));
}

static __always_inline struct file *file_of(u32 fd)
{
	return file_of_task(current_task(), fd);
}

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 32        /* 6.9 */
#endif

/* Flags of a record from those of an open file. */
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

/* The same, with those of one call: pwritev2, libaio, io_uring. */
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

static __always_inline bool comm_wanted(const char *comm)
{
	if (!cfg.comm[0])
		return true;
	for (int i = 0; i < IOT_COMM_LEN; i++) {
		if (comm[i] != cfg.comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

static __always_inline bool proc_wanted(u32 pid, const char *comm, u64 cgroup)
{
	if (cfg.by_pid && !bpf_map_lookup_elem(&want_pids, &pid))
		return false;
	if (cfg.cgroup && cfg.cgroup != cgroup)
		return false;
	return comm_wanted(comm);
}

/* Puts a process record into the ring; the map stays the authority when the ring is full. */
static __always_inline void proc_send(const struct iot_proc *p)
{
	if (bpf_ringbuf_output(&names, (void *)p, sizeof(*p), BPF_RB_NO_WAKEUP))
		lose(LOSS_EVENT_OTHER);
}

/* Has the last thread of the process gone through core__exit? */
static __always_inline bool proc_is_over(struct task_struct *t)
{
	return t->signal->live.counter == 0;
}

/* First sight of a process: gives it a number. Returns 0 when the table is full. */
__noinline u32 proc_make(void)
{
	struct task_struct *t = current_task();
	struct iot_state *s = run_state();
	struct iot_proc_key k = {};
	struct iot_proc p = {}, *old;

	if (!s)
		return 0;
	proc_key(&k, t);
	old = bpf_map_lookup_elem(&procs, &k);
	if (old)
		return old->id;
	p.type = RING_PROCESS;
	p.pid = process_number(t);
	p.ppid = process_number(UNTRUSTED(t->real_parent, struct task_struct));
	p.start_ns = k.start_ns;
	p.exec_no = k.exec_no;
	p.cgroup = bpf_get_current_cgroup_id();
	BPF_CORE_READ_STR_INTO(&p.comm, t, group_leader, comm);
	bpf_probe_read_kernel_str(p.exe, sizeof(p.exe), BPF_CORE_READ(t, mm, exe_file, f_path.dentry, d_name.name));
	if (t->flags & PF_KTHREAD)
		p.flags |= PROC_KTHREAD;
	else if (proc_wanted(p.pid, p.comm, p.cgroup))
		p.flags |= PROC_WANTED;
	if (p.start_ns >= s->boot_ns)
		p.flags |= PROC_BORN;
	if (is_away(t))
		p.flags |= PROC_AWAY;
	if (proc_is_over(t) && !(p.flags & PROC_KTHREAD)) {
		/* what a dying process does after its calls: nobody will tell of its end again */
		if (!(p.flags & PROC_WANTED))
			return PROC_OTHER;
		p.flags |= PROC_EXITED | PROC_DYING;
	}
	p.id = __sync_fetch_and_add(&s->next_proc, 1) + PROC_FIRST;
	if (bpf_map_update_elem(&procs, &k, &p, BPF_NOEXIST)) {
		old = bpf_map_lookup_elem(&procs, &k);
		if (old)
			return old->id;
		if (!(p.flags & (PROC_WANTED | PROC_KTHREAD)))
			return PROC_OTHER; /* known without the table: no loss */
		lose(LOSS_PROC_TABLE);
		return 0;
	}
	if (p.flags & (PROC_WANTED | PROC_KTHREAD))
		proc_send(&p);
	return p.id;
}

static __always_inline struct iot_proc *proc_find(struct task_struct *t)
{
	struct iot_proc_key k = {};

	proc_key(&k, t);
	return bpf_map_lookup_elem(&procs, &k);
}

/* The number of the current process as an owner: PROC_SELF, PROC_OTHER, 0 for a kernel thread, or its id. */
static __always_inline u32 proc_current(struct task_ctx *c)
{
	struct task_struct *t = current_task();
	struct iot_proc *p;
	u32 id;

	if (c && c->proc && (!cfg.again || c->exec_no == t->group_leader->self_exec_id))
		return c->proc;
	if (t->tgid == cfg.self_pid)
		return PROC_SELF;
	if (t->flags & PF_KTHREAD)
		return PROC_NONE;
	if (c && c->proc_tried_ns && bpf_ktime_get_ns() - c->proc_tried_ns < 1000000000ULL)
		return PROC_NONE;
	id = proc_make();
	if (c)
		c->proc_tried_ns = id ? 0 : bpf_ktime_get_ns();
	p = proc_find(t);
	if (p && !(p->flags & PROC_WANTED))
		id = PROC_OTHER;
	if (c) {
		c->proc = id;
		c->exec_no = t->group_leader->self_exec_id;
	}
	return id;
}

/* The number of the current process as the one that runs: kernel threads have one here. */
static __always_inline u32 proc_running(struct task_ctx *c)
{
	struct task_struct *t = current_task();

	if (t->flags & PF_KTHREAD)
		return t->tgid ? proc_make() : 0;
	return proc_current(c);
}

/* Whose sums the bytes of a process belong to: its own, or those of the row that stands for it since it ended. */
static __always_inline u32 owner_of_sums(u32 owner)
{
	u32 at = owner & (IOT_MAX_FOLDS - 1);
	struct iot_fold *f = bpf_map_lookup_elem(&folds, &at);

	return f && f->id == owner ? f->to : owner;
}

#define CELL_TRIES 8           /* to take a number that other processors want too */

/* A number for a new aggregate: one that was given back, or the next. IOT_MAX_CELLS: there is none. */
static __always_inline u32 cell_number(struct iot_state *s)
{
	u32 n, begin, at;
	u64 *given_back;

	for (int i = 0; i < CELL_TRIES; i++) {
		begin = *(volatile u32 *)&s->free_begin;
		if (begin == *(volatile u32 *)&s->free_end)
			break;
		at = begin % cfg.max_cells;
		given_back = bpf_map_lookup_elem(&free_cells, &at);
		if (!given_back)
			break;
		n = *given_back;
		if (__sync_val_compare_and_swap(&s->free_begin, begin, begin + 1) == begin)
			return n;
	}
	if (s->next_cell >= cfg.max_cells)
		return IOT_MAX_CELLS;
	n = __sync_fetch_and_add(&s->next_cell, 1);
	return n < cfg.max_cells ? n : IOT_MAX_CELLS;
}

/* Gives an aggregate to a key. The tracer reads the key by the number: it is there before anybody can add. */
static __always_inline u32 cell_insert(struct iot_state *s, struct iot_cell_key *key)
{
	u32 n = cell_number(s), *other;
	struct iot_cell_slot *slot = bpf_map_lookup_elem(&cell_keys, &n);

	if (!slot)
		return IOT_MAX_CELLS;
	slot->key = *key;
	slot->used = 1;
	__sync_fetch_and_add(&s->used_cells, 1);
	if (!bpf_map_update_elem(&cell_index, key, &n, BPF_NOEXIST))
		return n;
	slot->used = IOT_CELL_LOST; /* another processor was first */
	other = bpf_map_lookup_elem(&cell_index, key);
	return other ? *other : IOT_MAX_CELLS;
}

/* Finds or makes the aggregate of a key, which becomes that of whom its sums belong to. Returns its number, or IOT_MAX_CELLS when
 * there is no room; when only the reserve is left it is nobody's, and so is the key then. Global: the verifier looks at it once. */
__noinline u32 cell_make(struct iot_cell_key *key)
{
	struct iot_state *s = run_state();
	struct iot_cell_key k;
	u32 *n, owner;

	if (!s || !key)
		return IOT_MAX_CELLS;
	k = *key; /* until 6.2 a key must be on the stack of the function that looks it up */
	owner = owner_of_sums(k.owner);
	if (owner != k.owner) {
		k.owner = key->owner = owner;
		n = bpf_map_lookup_elem(&cell_index, &k);
		if (n)
			return *n;
	}
	if (s->used_cells >= cfg.max_cells - IOT_CELL_RESERVE(cfg.max_cells)) {
		lose(LOSS_CELL_TABLE);
		k.owner = key->owner = PROC_NONE;
		n = bpf_map_lookup_elem(&cell_index, &k);
		if (n)
			return *n;
	}
	return cell_insert(s, &k);
}

static __always_inline u32 cell_find(struct iot_cell_key *k)
{
	u32 *n = bpf_map_lookup_elem(&cell_index, k);

	return n ? *n : cell_make(k);
}

/* lat_ns is 0 when the operations were not timed. */
static __always_inline void cell_add(u32 n, u64 ops, u64 bytes, u64 touched, u64 lat_ns, bool error)
{
	struct iot_cell *v = bpf_map_lookup_elem(&cells, &n);

	if (!v) {
		lose(LOSS_CELL_BYTES);
		return;
	}
	sum_add(&v->ops, ops);
	sum_add(&v->bytes, bytes);
	sum_add(&v->touched, touched);
	if (lat_ns) {
		sum_add(&v->timed, ops);
		sum_add(&v->lat_ns, lat_ns);
	}
	if (error)
		sum_add(&v->errors, 1);
	if (lat_ns > v->max_ns)
		v->max_ns = lat_ns;
}

static __always_inline bool filtered(void)
{
	return cfg.by_pid || cfg.comm[0] || cfg.cgroup;
}

/* One duration of an operation of `owner`; the tracer and what the filters exclude have no part in latencies. `type` is that
 * of the file, for a call: waiting on a socket or a pipe is no file I/O. */
static __always_inline void hist_add(u32 owner, u32 kind, u8 type, u64 ns)
{
	u32 b = hist_bucket(ns), at = owner & (IOT_MAX_GROUPED - 1), *group, n;
	struct hist *h;

	if (!ns || owner == PROC_SELF || owner == PROC_OTHER || (!owner && filtered()))
		return;
	group = bpf_map_lookup_elem(&groups, &at);
	n = IOT_HIST(kind, group && *group >> IOT_GROUP_BITS == owner ? *group & (IOT_HIST_GROUPS - 1) : 0, type >= SUB_FT_SOCK && type <= SUB_FT_OTHER);
	h = bpf_map_lookup_elem(&hists, &n);

	if (h && b < HIST_BUCKETS)
		sum_add(&h->n[b], 1);
}

/* Adds one operation to the aggregate of `k`, and its duration to the histogram when it has one. */
static __always_inline void count(struct iot_cell_key *k, u64 ops, u64 bytes, u64 lat_ns, bool error)
{
	cell_add(cell_find(k), ops, bytes, 0, lat_ns, error);
	hist_add(k->owner, k->kind, SUB_NONE, lat_ns);
}

/* The same out of line. Global: the verifier looks at it once, not on every path that comes here. */
__noinline int count_apart(struct iot_cell_key *key, u64 ops, u64 bytes, u64 lat_ns, u32 error)
{
	struct iot_cell_key k;

	if (!key)
		return 0;
	k = *key; /* until 6.2 a key must be on the stack of the function that looks it up */
	count(&k, ops, bytes, lat_ns, error);
	return 0;
}

static __always_inline bool wants_event(u32 owner)
{
	return cfg.events && (owner >= PROC_FIRST || (!owner && !filtered()));
}

/* Takes room for an event in the ring, zeroed; counts the loss when there is none. */
static __always_inline struct iot_ring_event *event_reserve(u32 loss)
{
	struct iot_ring_event *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		lose(loss);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->type = RING_EVENT;
	return r;
}

static __always_inline void event_submit(struct iot_ring_event *r)
{
	r->e.cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* Number of the disk that a block device is, or is part of. */
static __always_inline u32 disk_of(struct block_device *b)
{
	return b->bd_disk->part0->bd_dev;
}

static __always_inline bool dev_wanted(u32 disk)
{
	return !cfg.dev || cfg.dev == disk;
}

#endif
