// SPDX-License-Identifier: GPL-3.0-only
/* who.bpf.c - the tracer as the kernel identifies it: in a PID namespace other processes have the
 * number that getpid() returns. Loaded and called before all else, whose configuration it fills in.
 */
#include "kernel.h"
#include "config.h"

char LICENSE[] SEC("license") = "GPL";

SEC("syscall")
int who__self(struct iot_self *s)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	u64 number = (u64)pid + bpf_core_field_offset(struct pid, numbers) + level *
		bpf_core_type_size(struct upid);

	s->tgid = t->tgid;
	s->pid_level = level;
	s->pid_ns = (u64)BPF_CORE_READ((struct upid *)number, ns);
	s->mnt_ns = (u64)BPF_CORE_READ(t, nsproxy, mnt_ns);
	s->root = (u64)BPF_CORE_READ(t, fs, root.dentry);
	return 0;
}
