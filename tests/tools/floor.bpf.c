// SPDX-License-Identifier: GPL-3.0-only
/* floor.bpf.c - the least that a tracer can cost: of system calls, programs at entry and exit that
 * do nothing but read the clock, which a latency needs; of all else, a program that does nothing,
 * wherever iot-trace has one. tests/tools/bench runs it in turns with iot-trace. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last SEC(".maps");

static __always_inline int read_clock(void)
{
	__u32 zero = 0;
	__u64 *ns = bpf_map_lookup_elem(&last, &zero);

	if (ns)
		*ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_enter")
int floor_enter(void *ctx)
{
	return read_clock();
}

SEC("tp_btf/sys_exit")
int floor_exit(void *ctx)
{
	return read_clock();
}

SEC("?raw_tp")
int floor_empty(void *ctx)
{
	return 0;
}
