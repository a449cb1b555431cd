/* SPDX-License-Identifier: GPL-3.0-only */
/* process.bpf.h - processes: their numbers, who is wanted, whose program it is that runs. */
#ifndef IOT_PROC_BPF_H
#define IOT_PROC_BPF_H

#include "cgroup.h"
#include "task.bpf.h"

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

/* Control groups that the filter wants, with all below them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);      /* id, of version 1 with IOT_GROUP_1 */
	__type(value, u32);
} want_groups SEC(".maps");

/* Processes and paths have a ring of their own: a flood of events must not take the names of what is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} names SEC(".maps");

/* The number of a thread in the tracer's PID namespace; 0 when it has none there. */
static __always_inline u32 thread_number(struct task_struct *t)
{
	u64 pid, number;

	if (!cfg.pid_level)
		return TASK(t, pid);
	pid = POINTER_AT(t, struct task_struct, thread_pid);
	if (!pid || NUMBER_AT(pid, struct pid, level) < cfg.pid_level)
		return 0;
	number = pid + bpf_core_field_offset(struct pid, numbers) + cfg.pid_level * bpf_core_type_size(struct upid);
	return POINTER_AT(number, struct upid, ns) == cfg.pid_ns ? NUMBER_AT(number, struct upid, nr) : 0;
}

/* The same for its process. */
static __always_inline u32 process_number(struct task_struct *t)
{
	return cfg.pid_level ? thread_number(UNTRUSTED(TASK(t, group_leader), struct task_struct)) : (u32)TASK(t, tgid);
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

/* The number of a mount namespace, which no later one has; 0: it is not known. */
static __always_inline u64 mounts_number(u64 ns)
{
	if (bpf_core_field_exists(struct ns_common, ns_id))
		return NUMBER_AT(ns, struct mnt_namespace, ns.ns_id);
	if (bpf_core_field_exists(struct mnt_namespace___until_617, seq))
		return NUMBER_AT(ns, struct mnt_namespace___until_617, seq);
	return 0;
}

/* Where the paths of a task that is away begin. */
static __always_inline void place_of(struct iot_proc *p, struct task_struct *t)
{
	u64 spaces = POINTER_AT(t, struct task_struct, nsproxy), fs = POINTER_AT(t, struct task_struct, fs);

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

/* Addresses of a task's control groups: of version 2, and of the one that its memory is charged to. 0: none. */
static __always_inline u64 group_of(struct task_struct *t)
{
	return POINTER_AT(POINTER_AT(t, struct task_struct, cgroups), struct css_set, dfl_cgrp);
}

static __always_inline u64 memory_group_of(struct task_struct *t)
{
	u64 of = POINTER_AT(t, struct task_struct, cgroups) + bpf_core_field_offset(struct css_set, subsys), css;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id___iot, memory_cgrp_id___iot))
		return 0;
	css = pointer_at(of + bpf_core_enum_value(enum cgroup_subsys_id___iot, memory_cgrp_id___iot) * sizeof(u64));
	return css ? POINTER_AT(css, struct cgroup_subsys_state, cgroup) : 0;
}

static __always_inline u64 group_id(u64 group)
{
	return group ? NUMBER_AT(POINTER_AT(group, struct cgroup, kn), struct kernfs_node, id) : 0;
}

#define GROUP_DEPTH 32         /* of control groups within each other */

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

/* Is the current task in a control group that is wanted? id: room on the stack, of which there is little. Of version 1 a group is known by
 * the memory controller alone. */
static __always_inline bool group_wanted(u64 *id)
{
	struct task_struct *t = current_task();

	return is_below_wanted(group_of(t), 0, id) || is_below_wanted(memory_group_of(t), IOT_GROUP_1, id);
}

static __always_inline bool proc_wanted(struct iot_proc *p)
{
	bool wanted = !cfg.by_group || group_wanted(&p->rchar);

	p->rchar = 0;
	return wanted && (!cfg.by_pid || bpf_map_lookup_elem(&want_pids, &p->pid)) && comm_wanted(p->comm);
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
	struct signal_struct *signal = TASK(t, signal);

	return TASK(signal, live.counter) == 0;
}

/* A process is another one from the moment on that it is in another control group: what it did before is counted there. Returns its number,
 * or 0 when it needs a new one. */
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
		p->flags &= ~PROC_BORN; /* the kernel's accounting goes on: it is neither's */
		proc_send(p);
	}
	return 0;
}

/* Address of the file name of a task's executable; 0: it has none. */
static __always_inline u64 exe_name(struct task_struct *t)
{
	u64 at = POINTER_AT(t, struct task_struct, mm);

	at = at ? POINTER_AT(at, struct mm_struct, exe_file) : 0;
	at = at ? POINTER_AT(at, struct file, f_path.dentry) : 0;
	return at ? POINTER_AT(at, struct dentry, d_name.name) : 0;
}

/* First sight of a process: gives it a number. Returns 0 when the table is full, PROC_SELF where it works for the tracer. */
__by_numbers u32 proc_make(void)
{
	struct task_struct *t = current_task();
	struct iot_state *s = run_state();
	struct iot_proc p = {}, *old;

	if (!s)
		return 0;
	/* 0, of which the verifier knows no bit: else it goes through what follows once for each combination */
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
	bpf_probe_read_kernel_str(p.comm, sizeof(p.comm), (void *)(POINTER_AT(t, struct task_struct, group_leader) +
								   bpf_core_field_offset(struct task_struct, comm)));
	bpf_probe_read_kernel_str(p.exe, sizeof(p.exe), (void *)exe_name(t));
	t = current_task(); /* here and below, again: there is little room on the stack to keep it */
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
		/* what a dying process does after its calls: nobody will tell of its end again */
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

/* Tells a program from that before it in the same process. */
static __always_inline u64 exec_number(struct task_struct *t)
{
	struct task_struct *leader = TASK(t, group_leader);

	return TASK(leader, self_exec_id);
}

/* The state of the current process that is known without a look into the table; PROC_UNSEEN: nothing. This, proc_make() and proc_learn() are global: the
 * verifier looks at each once, and at what follows not once for each of their ends. */
#define PROC_UNSEEN (~0U)
__noinline u32 proc_plain(struct task_ctx *c)
{
	struct task_struct *t = current_task();

	if (TASK(t, tgid) == cfg.self_pid)
		return PROC_SELF;
	if (TASK(t, flags) & PF_KTHREAD)
		return PROC_NONE;
	return c && c->proc_tried_ns && bpf_ktime_get_ns() - c->proc_tried_ns < 1000000000ULL ? PROC_NONE : PROC_UNSEEN;
}

/* Keeps with the thread which process it belongs to: what proc_make() said. Returns what proc_current() does. */
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
	if (c) {
		c->proc = p && p->flags & PROC_MOVED ? 0 : id;
		c->exec_no = exec_number(t);
		c->moves = moves;
	}
	return id;
}

/* The number of the current process as an owner: PROC_SELF, PROC_OTHER, 0 for a kernel thread, or its id. */
static __always_inline u32 proc_current(struct task_ctx *c)
{
	struct iot_state *s = run_state();
	u32 id;

	if (c && c->proc && s && c->moves == s->moves && (!cfg.twins || c->exec_no == exec_number(current_task())))
		return c->proc;
	id = proc_plain(c);
	return id == PROC_UNSEEN ? proc_learn(c, proc_make()) : id;
}

/* The number of the current process as the one that runs: kernel threads have one here. */
static __always_inline u32 proc_running(struct task_ctx *c)
{
	struct task_struct *t = current_task();

	if (TASK(t, flags) & PF_KTHREAD)
		return TASK(t, tgid) ? proc_make() : 0;
	return proc_current(c);
}

static __always_inline bool filtered(void)
{
	return cfg.by_pid || cfg.comm[0] || cfg.by_group;
}

#endif
