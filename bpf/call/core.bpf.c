// SPDX-License-Identifier: GPL-3.0-only
/* core.bpf.c - fork, exec and exit of processes, and the contexts in which kernel threads act for
 * an owner.
 */
#include "owner.bpf.h"
#include "workqueue.h"
#include "thread.bpf.h"
#include "program_copies.bpf.h"

SEC("tp_btf/sched_process_fork")
int PROBE(core__fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from, to, one = 1;

	/* Also before the gate opens: the command's first children must not be missed. */
	if (!cfg.by_pid || parent->tgid == child->tgid)
		return 0;
	from = process_number(parent);
	to = process_number(child);
	if (!bpf_map_lookup_elem(&want_pids, &from))
		return 0;
	if (bpf_map_update_elem(&want_pids, &to, &one, BPF_ANY))
		lose(LOSS_PROC_TABLE);
	return 0;
}

/* A program has ended: its record is sent, or deleted if the process is excluded. */
static __always_inline void proc_end(struct iot_proc_key *k, struct iot_proc *p)
{
	p->flags |= PROC_EXITED;
	if (p->flags & (PROC_WANTED | PROC_KTHREAD))
		proc_send(p);
	else
		bpf_map_delete_elem(&procs, k);
}

SEC("tp_btf/sched_process_exec")
int PROBE(core__exec, struct task_struct *t, int old_pid)
{
	struct task_ctx *c = ctx_make();
	struct iot_state *s = run_state();
	struct iot_proc_key k = {};
	struct iot_proc *p;
	u64 read = t->ioac.rchar, wrote = t->ioac.wchar, by_calls = read, last;

	last = thread_rchar(t, old_pid, c ? c->rchar : 0);
	thread_drop(t);
	/* execve() itself read what came since the last reading call: program headers */
	if (c && s && (last || t->start_boottime >= s->boot_ns))
		by_calls = last;
	if (gate_open()) {
		proc_key(&k, t);
		k.exec_no--; /* the program before: a process of its own */
		p = bpf_map_lookup_elem(&procs, &k);
		if (p) {
			__sync_fetch_and_add(&p->rchar, by_calls - (c ? c->apart.read : 0));
			__sync_fetch_and_add(&p->wchar, wrote - (c ? c->apart.wrote : 0));
			proc_end(&k, p);
		}
	}
	if (c) {
		c->proc = 0; /* a new program: matched by name again */
		c->proc_tried_ns = 0;
		c->apart.read = c->rchar = read;
		c->apart.wrote = wrote;
	}
	if (gate_open() && t->tgid != cfg.self_pid)
		proc_make();
	return 0;
}

/* The context of bpf_loop(): the threads of a process, by signal_struct.thread_head. */
struct threads_walk {
	u64 node, end;
};

static long thread_step(u32 n, void *context)
{
	struct threads_walk *w = context;
	u64 t = w->node - bpf_core_field_offset(struct task_struct, thread_node);

	if (!w->node || w->node == w->end)
		return 1;
	thread_drop_at(t, NUMBER_AT(t, struct task_struct, pid));
	w->node = POINTER_AT(w->node, struct list_head, next);
	return 0;
}

/* threads of a moved process that are invalidated; others are looked up again when they use another
 * file */
#define MOST_THREADS 4096

/* A process was moved to another control group: its next call, on any thread, gives it another id
 * (proc_moved()). */
SEC("tp_btf/cgroup_attach_task")
int PROBE(core__move, struct cgroup *to, const char *path, struct task_struct *t)
{
	struct iot_state *s = run_state();
	struct iot_proc *p = gate_open() ? proc_find(t) : NULL;
	struct threads_walk w = {};

	if (!s || !p || p->flags & PROC_KTHREAD)
		return 0;
	p->flags |= PROC_MOVED;
	__sync_fetch_and_add(&s->moves, 1);
	w.end = POINTER_AT(t, struct task_struct, signal) +
		bpf_core_field_offset(struct signal_struct, thread_head);
	w.node = POINTER_AT(w.end, struct list_head, next);
	bpf_loop(MOST_THREADS, thread_step, &w, 0);
	return 0;
}

/* Selected control groups that may be created again under another id: by the hash of their path
 * (FNV-1a). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u32);
} want_paths SEC(".maps");

struct group_path {
	char text[IOT_GROUP_PATH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct group_path);
} group_paths SEC(".maps");

/* The version of a control group that can be selected; 0: of a hierarchy that identifies no
 * process. */
static __always_inline u32 group_version(u64 group)
{
	u64 root = POINTER_AT(group, struct cgroup, root);

	if (!NUMBER_AT(root, struct cgroup_root, hierarchy_id))
		return 2;
	if (!HAS_MEMORY_CGROUP)
		return 0;
	return NUMBER_AT(root, struct cgroup_root, subsys_mask) >>
		bpf_core_enum_value(enum cgroup_subsys_id___iot, memory_cgrp_id___iot) & 1;
}

/* A control group was created: perhaps of a selected service or container that was restarted. */
SEC("tp_btf/cgroup_mkdir")
int PROBE(core__group, struct cgroup *group, const char *path)
{
	u32 zero = 0, one = 1;
	struct group_path *p = cfg.by_group ? bpf_map_lookup_elem(&group_paths, &zero) : NULL;
	u64 hash = IOT_FNV_BASIS, id;
	u32 version;
	long len;

	if (!p)
		return 0;
	version = group_version((u64)group);
	len = bpf_probe_read_kernel_str(p->text, sizeof(p->text), path);
	if (!version || len <= 0)
		return 0;
	for (u32 i = 0; i < IOT_GROUP_PATH && i + 1 < len; i++)
		hash = (hash ^ (u8)p->text[i]) * IOT_FNV_PRIME;
	if (!bpf_map_lookup_elem(&want_paths, &hash))
		return 0;
	id = group_id((u64)group) | (version == 1 ? IOT_GROUP_1 : 0);
	if (bpf_map_update_elem(&want_groups, &id, &one, BPF_ANY))
		lose(LOSS_PROC_TABLE);
	return 0;
}

/* Sums by file are kept apart by thread names. execve() renames, too, before core__exec reads the
 * accounting. */
SEC("tp_btf/task_rename")
int PROBE(core__rename, struct task_struct *t)
{
	struct task_ctx *c = ctx_of(t);

	if (c) {
		c->rchar = thread_rchar(t, t->pid, c->rchar);
		c->sum.epoch = 0;
	}
	thread_drop(t);
	return 0;
}

#ifndef IOT_REDUCED
SEC("tp_btf/signal_deliver")
int PROBE(core__signal)
{
	struct task_ctx *c = gate_open() ? ctx_make() : NULL;

	if (c)
		c->signal_wrote = current_task()->ioac.wchar + 1;
	return 0;
}
#endif

/* sched_process_exit may fire after the thread left its group (signal->live): true when the exit of
 * another thread is still pending. Zombies are not, as the first thread until it is reaped. */
static __always_inline bool others_to_come(struct task_struct *t)
{
	struct task_struct *leader = TASK(t, group_leader);
	struct signal_struct *signal = TASK(t, signal);
	int zombies = leader != t && TASK(leader, exit_state);

	return TASK(signal, nr_threads) - 1 > zombies;
}

/* Task accounting is kept per thread until it is reaped, so each thread adds its own when it
 * ends. */
SEC("tp_btf/sched_process_exit")
int PROBE(core__exit, struct task_struct *t)
{
	struct iot_proc_key k = {};
	u32 pid = process_number(t);
	struct task_ctx *c;
	struct iot_proc *p;
	bool last = proc_is_over(t);
	u64 wrote;

	thread_drop(t);
	if (last && cfg.by_pid)
		bpf_map_delete_elem(&want_pids, &pid);
	if (!gate_open()) {
		ctx_drop(t);
		return 0;
	}
	proc_key(&k, t);
	p = bpf_map_lookup_elem(&procs, &k);
	if (p && !(t->flags & PF_KTHREAD)) {
		c = ctx_find();
		wrote = c && t->flags & PF_DUMPCORE &&
			c->signal_wrote ? c->signal_wrote - 1 : t->ioac.wchar;
		__sync_fetch_and_add(&p->rchar, t->ioac.rchar - (c ? c->apart.read : 0));
		__sync_fetch_and_add(&p->wchar, wrote - (c ? c->apart.wrote : 0));
	}
	if (p && last) {
		p->uid = bpf_get_current_uid_gid();
		p->flags = others_to_come(t) ? p->flags | PROC_UNSURE : p->flags & ~PROC_UNSURE;
		proc_end(&k, p);
	}
	ctx_drop(t);
	return 0;
}

#ifndef IOT_REDUCED /* without owners there */
static __always_inline int behalf_begin(u32 kind, u64 id)
{
	struct task_ctx *c = ctx_make();

	if (c && c->behalf == BEHALF_NONE) {
		c->behalf = kind;
		c->behalf_id = id;
	}
	return 0;
}

static __always_inline int behalf_end(u32 kind)
{
	struct task_ctx *c = ctx_find();

	if (c && c->behalf == kind)
		c->behalf = BEHALF_NONE;
	return 0;
}

SEC("tp_btf/writeback_single_inode_start")
int PROBE(core__writeback_begin, struct inode *i)
{
	return behalf_begin(BEHALF_INODE, (u64)i);
}

SEC("tp_btf/writeback_single_inode")
int PROBE(core__writeback_end, struct inode *i)
{
	return behalf_end(BEHALF_INODE);
}

/* The inode of a loop device's backing file, from the work of its worker; 0: not known. */
static __always_inline u64 loop_file(u64 work, bool root)
{
	u64 lo, file;

	if (!HAS_LOOP_WORKERS)
		return 0;
	lo = root ? work - bpf_core_field_offset(struct loop_device, rootcg_work) :
		    POINTER_AT(work - bpf_core_field_offset(struct loop_worker, work),
			       struct loop_worker, lo);
	file = lo ? POINTER_AT(lo, struct loop_device, lo_backing_file) : 0;
	file = file ? POINTER_AT(file, struct file, f_mapping) : 0;
	return file ? POINTER_AT(file, struct address_space, host) : 0;
}

__noinline int uring_ring_end(u64 work); /* in uring.bpf.c */

/* True for a work item of the current thread. One of a WQ_BH queue runs in a softirq, on top of any
 * thread, which does not act for anybody else by that. */
static __always_inline bool is_own_work(struct task_struct *t, u64 work)
{
	u64 thread, worker;

	if (!HAS_WORKER_PRIVATE)
		return true;
	thread = TASK(t, flags) & PF_WQ_WORKER ?
		POINTER_AT(t, struct task_struct, worker_private) : 0;
	worker = thread ? POINTER_AT(thread, struct kthread, data) : 0;
	return worker && POINTER_AT(worker, struct worker, current_work) == work;
}

/* A worker begins a work item, for whose owner it acts until it begins the next. There is no
 * program at workqueue_execute_end: a loop device has a work item for each request, so that
 * programs of work items were a third of all that ran. */
SEC("tp_btf/workqueue_execute_start")
int PROBE(core__work_begin, struct work_struct *w)
{
	u64 work = number_of(w), inode;
	u32 f = work_of(w);
	struct task_ctx *c;

	if (!is_own_work(current_task(), work))
		return 0;
	c = ctx_find();
	if (c)
		c->behalf = BEHALF_NONE;
	if (f == FN_LOOP_WORK || f == FN_LOOP_ROOT_WORK)
		return behalf_begin(BEHALF_LOOP, loop_file(work, f == FN_LOOP_ROOT_WORK));
	if (f == FN_URING_EXIT)
		return uring_ring_end(work);
	if (f != FN_EXT4_CONVERT && f != FN_XFS_CONVERT)
		return 0;
	inode = work_inode(work, f);
	return inode ? behalf_begin(BEHALF_INODE, inode) : 0;
}
#endif
