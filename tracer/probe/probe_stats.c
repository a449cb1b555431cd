// SPDX-License-Identifier: GPL-3.0-only
/* probe_stats.c - the kernel's statistics of each program: how often it was skipped, and how long
 * it ran.
 */
#include <errno.h>
#include <string.h>
#include "probe_parts.h"

/* Calls body for every loaded program of an object with the kernel's information about it. */
static void each_program(const struct bpf_object *o,
	void (*body)(const struct bpf_prog_info *, u64 *sum), u64 *sum)
{
	struct bpf_program *g;

	if (!o)
		return;
	bpf_object__for_each_program(g, o) {
		struct bpf_prog_info info = {};
		u32 len = sizeof(info);

		if (bpf_program__fd(g) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(g), &info, &len))
			body(&info, sum);
	}
}

/* Counts how often the kernel skipped a program because it was already running on the processor. */
static void add_misses(const struct bpf_prog_info *info, u64 *n)
{
	if (is_clock(info->name) || copy_first(info->name, NULL))
		/* a call without its time; a copy, which another copy follows or whose loss the
		 * first one counts */
		return;
	if (!strncmp(info->name, "vfs__", strlen("vfs__")))
		n[LOSS_VFS_MISSED] += info->recursion_misses;
	else if (!strcmp(info->name, "syscall__exit"))
		n[SKIPPED_FIRST] += info->recursion_misses;
	else if (!strncmp(info->name, "syscall__exit", strlen("syscall__exit")))
		n[LOSS_SKIPPED_CALL] += info->recursion_misses;
	else
		n[LOSS_SKIPPED] += info->recursion_misses;
}

static void add_time(const struct bpf_prog_info *info, u64 *sum)
{
	*sum += info->run_time_ns;
}

void skips_sum(const struct probes *p, u64 n[SKIPS])
{
	memset(n, 0, SKIPS * sizeof(*n));
	for (size_t i = 0; i < n_objects; i++) {
		each_program(p->obj[i], add_misses, n);
		n[LOSS_SKIPPED] -= copies_stood_in(p, i);
	}
}

u64 object_skips(const struct probes *p, size_t n)
{
	u64 sum[SKIPS] = { 0 };

	each_program(p->obj[n], add_misses, sum);
	sum[LOSS_SKIPPED] -= copies_stood_in(p, n);
	return (s64)sum[LOSS_SKIPPED] > 0 ? sum[LOSS_SKIPPED] : 0;
}

int probes_cpu_ns(struct probes *p, u64 *ns)
{
	u64 sum = 0;

	for (size_t i = 0; i < n_objects; i++)
		each_program(p->obj[i], add_time, &sum);
	*ns = sum;
	return sum ? 0 : -ENODATA;
}

void probes_each_time(struct probes *p,
	void (*body)(const char *program, u64 runs, u64 ns))
{
	struct bpf_prog_info info;
	struct bpf_program *g;
	u32 len;

	for (size_t i = 0; i < n_objects; i++) {
		if (!p->obj[i])
			continue;
		bpf_object__for_each_program(g, p->obj[i]) {
			info = (struct bpf_prog_info){ 0 };
			len = sizeof(info);
			if (bpf_program__fd(g) >= 0 &&
			    !bpf_obj_get_info_by_fd(bpf_program__fd(g), &info, &len) &&
			    info.run_cnt)
				body(bpf_program__name(g), info.run_cnt, info.run_time_ns);
		}
	}
}
