/* SPDX-License-Identifier: GPL-3.0-only */
/* process.bpf.h - processes: their ids, the filters, and the program that a process executes.
 */
#ifndef IOT_PROCESS_BPF_H
#define IOT_PROCESS_BPF_H

#include "cgroup.h"
#include "task.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_proc_key);
	__type(value, struct iot_proc);
} procs SEC(".maps");

/* Processes that the by_pid filter selects, by their pid in the tracer's PID namespace. Children
 * are added at fork. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} want_pids SEC(".maps");

/* Control groups that the filter selects, with all groups below them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);      /* id, of version 1 with IOT_GROUP_1 */
	__type(value, u32);
} want_groups SEC(".maps");

/* Processes and paths have a ring of their own: a flood of events must not displace the names of
 * what is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} names SEC(".maps");

/* The id of a thread in the tracer's PID namespace; 0: it has none there. */
static __always_inline u32 thread_number(struct task_struct *t)
{
	u64 pid, number;

	if (!cfg.pid_level)
		return TASK(t, pid);
	pid = POINTER_AT(t, struct task_struct, thread_pid);
	if (!pid || NUMBER_AT(pid, struct pid, level) < cfg.pid_level)
		return 0;
	number = pid + bpf_core_field_offset(struct pid, numbers) + cfg.pid_level *
		bpf_core_type_size(struct upid);
	return POINTER_AT(number, struct upid, ns) == cfg.pid_ns ?
	       NUMBER_AT(number, struct upid, nr) : 0;
}

/* The id of a task's process in the tracer's PID namespace; 0: it has none there. */
static __always_inline u32 process_number(struct task_struct *t)
{
	return cfg.pid_level ? thread_number(UNTRUSTED(TASK(t, group_leader), struct task_struct)) :
	       (u32)TASK(t, tgid);
}

static __always_inline u32 current_thread(void)
{
	return cfg.pid_level ? thread_number(current_task()) : (u32)bpf_get_current_pid_tgid();
}

/* True when a task resolves paths otherwise than the tracer does. */
static __always_inline bool is_away(struct task_struct *t)
{
	u64 spaces = POINTER_AT(t, struct task_struct, nsproxy),
		fs = POINTER_AT(t, struct task_struct, fs);

	if (!cfg.mnt_ns || !spaces || !fs)
		return false;
	return POINTER_AT(spaces, struct nsproxy, mnt_ns) != cfg.mnt_ns ||
		pointer_at(fs + bpf_core_field_offset(struct fs_struct, root.dentry)) != cfg.root;
}

/* The id of a mount namespace, which is never reused; 0: not known. */
static __always_inline u64 mounts_number(u64 ns)
{
	if (HAS_MNT_NS_ID)
		return NUMBER_AT(ns, struct mnt_namespace, ns.ns_id);
	if (HAS_MNT_SEQ)
		return NUMBER_AT(ns, struct mnt_namespace___until_617, seq);
	return 0;
}

/* Fills in the mount namespace and root of a task that resolves paths otherwise than the tracer. */
static __always_inline void place_of(struct iot_proc *p, struct task_struct *t)
{
	u64 spaces = POINTER_AT(t, struct task_struct, nsproxy),
		fs = POINTER_AT(t, struct task_struct, fs);

	if (!spaces || !fs)
		return;
	p->mounts = mounts_number(POINTER_AT(spaces, struct nsproxy, mnt_ns));
	p->root = pointer_at(fs + bpf_core_field_offset(struct fs_struct, root.dentry));
}

static __always_inline void proc_key(struct iot_proc_key *k, struct task_struct *t)
{
	struct task_struct *leader = TASK(t, group_leader);

	k->tgid = TASK(t, tgid);
	k->exec_no = TASK(leader, self_exec_id);
	k->start_ns = TASK(leader, start_boottime);
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

/* Eight bytes at a time: the stack of proc_make() has no room for what a loop keeps. Both names are
 * filled up with zeroes. */
static __always_inline bool exe_wanted(const char *exe)
{
	const volatile u64 *wanted = (const volatile u64 *)cfg.only.exe;
	const u64 *is = (const u64 *)exe;

	return !cfg.only.exe[0] ||
	       (is[0] == wanted[0] && is[1] == wanted[1] && is[2] == wanted[2]);
}

/* True when one of the first n numbers is the wanted one, or when there are none. */
static __always_inline bool number_wanted(const volatile u32 *numbers, u32 n, u32 number)
{
	for (u32 i = 0; i < IOT_ONLY_MOST && i < n; i++)
		if (numbers[i] == number)
			return true;
	return !n;
}

/* Addresses of a task's control groups: of version 2, and of the group that its memory is charged
 * to. 0: none. */
static __always_inline u64 group_of(struct task_struct *t)
{
	return POINTER_AT(POINTER_AT(t, struct task_struct, cgroups), struct css_set, dfl_cgrp);
}

static __always_inline u64 memory_group_of(struct task_struct *t)
{
	u64 of = POINTER_AT(t, struct task_struct, cgroups) +
		bpf_core_field_offset(struct css_set, subsys), css;

	if (!HAS_MEMORY_CGROUP)
		return 0;
	css = pointer_at(of + bpf_core_enum_value(enum cgroup_subsys_id___iot,
						  memory_cgrp_id___iot) * sizeof(u64));
	return css ? POINTER_AT(css, struct cgroup_subsys_state, cgroup) : 0;
}

static __always_inline u64 group_id(u64 group)
{
	return group ? NUMBER_AT(POINTER_AT(group, struct cgroup, kn), struct kernfs_node, id) : 0;
}

#define GROUP_DEPTH 32         /* depth of nested control groups */

static __always_inline bool is_below_wanted(u64 group, u64 version, u64 *id)
{
	for (int i = 0; i < GROUP_DEPTH && group; i++) {
		u64 above = POINTER_AT(group, struct cgroup, self.parent);

		*id = group_id(group) | version;
		if (bpf_map_lookup_elem(&want_groups, id))
			return true;
		group = above ? POINTER_AT(above, struct cgroup_subsys_state, cgroup) : 0;
	}
	return false;
}

/* True when the current task is in a selected control group. id: scratch space, since the stack is
 * nearly full. A group of version 1 is known by the memory controller alone. */
static __always_inline bool group_wanted(u64 *id)
{
	struct task_struct *t = current_task();

	return is_below_wanted(group_of(t), 0, id) ||
	       is_below_wanted(memory_group_of(t), IOT_GROUP_1, id);
}

static __always_inline bool proc_wanted(struct iot_proc *p)
{
	bool wanted = !cfg.by_group || group_wanted(&p->rchar);

	p->rchar = 0;
	return wanted && (!cfg.by_pid || bpf_map_lookup_elem(&want_pids, &p->pid)) &&
	       comm_wanted(p->comm) && exe_wanted(p->exe) &&
	       number_wanted(cfg.only.uids, cfg.only.n_uids, p->uid);
}

/* Puts a process record into the ring. When the ring is full the map still has it. */
static __always_inline void proc_send(const struct iot_proc *p)
{
	if (bpf_ringbuf_output(&names, (void *)p, sizeof(*p), BPF_RB_NO_WAKEUP))
		lose(LOSS_EVENT_OTHER);
}

/* True when the last thread of the process has passed core__exit. */
static __always_inline bool proc_is_over(struct task_struct *t)
{
	struct signal_struct *signal = TASK(t, signal);

	return TASK(signal, live.counter) == 0;
}

/* A process gets another id when it moves to another control group: what it did before is counted
 * there. Returns its id, or 0 when it needs a new one. */
static __always_inline u32 proc_moved(struct iot_proc *p)
{
	struct task_struct *t = current_task();

	if (!(p->flags & PROC_MOVED))
		return p->id;
	p->flags &= ~PROC_MOVED;
	if (p->cgroup == group_id(group_of(t)) && p->cgroup1 == group_id(memory_group_of(t)))
		return p->id;
	if (p->flags & (PROC_WANTED | PROC_KTHREAD)) {
		p->flags |= PROC_EXITED;
		p->flags &= ~PROC_BORN; /* the kernel's accounting covers both */
		proc_send(p);
	}
	return 0;
}

/* The address of the file name of a task's executable; 0: it has none. */
static __always_inline u64 exe_name(struct task_struct *t)
{
	u64 at = POINTER_AT(t, struct task_struct, mm);

	at = at ? POINTER_AT(at, struct mm_struct, exe_file) : 0;
	at = at ? POINTER_AT(at, struct file, f_path.dentry) : 0;
	return at ? POINTER_AT(at, struct dentry, d_name.name) : 0;
}

/* Gives a process that is seen for the first time an id. Returns 0 when the table is full,
 * PROC_SELF for a helper of the tracer. */
__by_numbers u32 proc_make(void)
{
	struct task_struct *t = current_task();
	struct iot_state *s = run_state();
	struct iot_proc p = {}, *old;

	if (!s)
		return 0;
	/* a 0 that the verifier does not know: else it verifies the rest once for each combination
	 * of flags */
	p.flags = p.mounts = p.root = *(volatile u32 *)&s->zero;
	proc_key(&p.key, t);
	old = bpf_map_lookup_elem(&procs, &p.key);
	if (old) {
		p.id = proc_moved(old);
		if (p.id)
			return p.id;
		bpf_map_delete_elem(&procs, &p.key);
		p.flags = PROC_MOVED;
	}
	p.type = RING_PROCESS;
	p.pid = process_number(t);
	p.ppid = process_number(UNTRUSTED(TASK(t, real_parent), struct task_struct));
	if (s->keeper && (p.pid == s->keeper || p.ppid == s->keeper))
		return PROC_SELF;
	p.cgroup = group_id(group_of(t));
	p.cgroup1 = group_id(memory_group_of(t));
	p.uid = bpf_get_current_uid_gid();
	bpf_probe_read_kernel_str(p.comm, sizeof(p.comm),
				  (void *)(POINTER_AT(t, struct task_struct, group_leader) +
								   bpf_core_field_offset(struct task_struct, comm)));
	bpf_probe_read_kernel_str(p.exe, sizeof(p.exe), (void *)exe_name(t));
	t = current_task(); /* read again here and below: the stack has no room to keep it */
	if (TASK(t, flags) & PF_KTHREAD)
		p.flags += PROC_KTHREAD;
	else if (proc_wanted(&p))
		p.flags += PROC_WANTED;
	s = run_state();
	if (s && p.start_ns >= s->boot_ns && !(p.flags & PROC_MOVED))
		p.flags += PROC_BORN;
	p.flags &= ~PROC_MOVED;
	t = current_task();
	if (is_away(t)) {
		p.flags += PROC_AWAY;
		place_of(&p, t);
	}
	if (proc_is_over(t) && !(p.flags & PROC_KTHREAD)) {
		/* a dying process after its last call: sched_process_exit will not fire for it
		 * again */
		if (!(p.flags & PROC_WANTED))
			return PROC_OTHER;
		p.flags += PROC_EXITED | PROC_DYING;
	}
	s = run_state();
	if (!s)
		return 0;
	p.id = NEXT_NUMBER(s, next_proc) + PROC_FIRST;
	if (bpf_map_update_elem(&procs, &p.key, &p, BPF_NOEXIST)) {
		old = bpf_map_lookup_elem(&procs, &p.key);
		if (old)
			return old->id;
		if (!(p.flags & (PROC_WANTED | PROC_KTHREAD)))
			return PROC_OTHER; /* an excluded process needs no entry: no loss */
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

/* The number of the exec: it distinguishes a program from the one before it in the same process. */
static __always_inline u64 exec_number(struct task_struct *t)
{
	struct task_struct *leader = TASK(t, group_leader);

	return TASK(leader, self_exec_id);
}

/* The id of the current process as far as it is known without the table; PROC_UNSEEN: not known.
 * This function, proc_make() and proc_learn() are global, so that the verifier checks each once,
 * and not the rest of each caller once for each of their branches. */
#define PROC_UNSEEN (~0U)
__noinline u32 proc_plain(struct task_ctx *c)
{
	struct task_struct *t = current_task();

	if (TASK(t, tgid) == cfg.self_pid)
		return PROC_SELF;
	if (TASK(t, flags) & PF_KTHREAD)
		return PROC_NONE;
	return c && c->proc_tried_ns &&
	       bpf_ktime_get_ns() - c->proc_tried_ns < 1000000000ULL ? PROC_NONE : PROC_UNSEEN;
}

/* Stores the process id that proc_make() returned in the thread's context. Returns what
 * proc_current() returns. */
__noinline u32 proc_learn(struct task_ctx *c, u32 id)
{
	struct task_struct *t = current_task();
	struct iot_proc *p = proc_find(t);
	struct iot_state *s = run_state();
	u32 moves = s ? *(volatile u32 *)&s->moves : 0;

	if (c)
		c->proc_tried_ns = id ? 0 : bpf_ktime_get_ns();
	if (p && !(p->flags & PROC_WANTED))
		id = PROC_OTHER;
	if (id >= PROC_FIRST && !number_wanted(cfg.only.tids, cfg.only.n_tids, current_thread()))
		id = PROC_OTHER;
	if (c) {
		c->proc = p && p->flags & PROC_MOVED ? 0 : id;
		c->exec_no = exec_number(t);
		c->moves = moves;
	}
	return id;
}

/* The id of the current process as an owner: PROC_SELF, PROC_OTHER, 0 for a kernel thread, or its
 * own. */
static __always_inline u32 proc_current(struct task_ctx *c)
{
	struct iot_state *s = run_state();
	u32 id;

	if (c && c->proc && s && c->moves == s->moves &&
	    (!cfg.twins || c->exec_no == exec_number(current_task())))
		return c->proc;
	id = proc_plain(c);
	return id == PROC_UNSEEN ? proc_learn(c, proc_make()) : id;
}

/* The id of the current process as the executor: kernel threads have one here. */
static __always_inline u32 proc_running(struct task_ctx *c)
{
	struct task_struct *t = current_task();
	struct iot_state *s = run_state();
	u32 id, moves;

	if (!(TASK(t, flags) & PF_KTHREAD))
		return proc_current(c);
	if (!s || !TASK(t, tgid))
		return 0;
	moves = *(volatile u32 *)&s->moves;
	if (c && c->executor && c->moves == moves)
		return c->executor;
	id = proc_make();
	if (c) {
		c->executor = id;
		c->moves = moves;
	}
	return id;
}

static __always_inline bool filtered(void)
{
	return cfg.by_pid || cfg.comm[0] || cfg.by_group || cfg.only.processes;
}

#endif
