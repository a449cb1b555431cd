// SPDX-License-Identifier: GPL-3.0-only
/* probe_copies.c - copies of the programs, for kernels that skip the first (bpf/twin.bpf.h). */
#include <errno.h>
#include <string.h>
#include "probe_parts.h"

#define TRACEPOINT "tp_btf/"

/* Those of calls have another: what follows them must not be preempted (bpf/syscall.bpf.c). */
static bool has_copy(const struct probes *p, const struct bpf_program *g, u32 copy)
{
	int row = program_row(bpf_program__name(g));

	return row >= 0 && !p->info[row].reason && (copy < IOT_COPIES || programs[row].most) && strcmp(programs[row].layer, "syscall") &&
		!strncmp(bpf_program__section_name(g), TRACEPOINT, strlen(TRACEPOINT));
}

/* Without a copy the losses say what was skipped: that is no reason to end. */
static int copy_load(struct probes *p, size_t n, u32 copy)
{
	struct bpf_object *o = object_open(p, n);
	struct bpf_program *g;
	int err;

	if (!o)
		return -EINVAL;
	bpf_object__for_each_program(g, o)
		bpf_program__set_autoload(g, has_copy(p, g, copy));
	err = object_set_up(p, o, n, copy) ?: bpf_object__load(o);
	if (!err) {
		p->copy[copy][n] = o;
		return 0;
	}
	bpf_object__close(o);
	return probes_over(p) ? -EINTR : 0;
}

/* How many there are of an object. */
static u32 copies_of(const struct probes *p, size_t n)
{
	struct bpf_program *g;

	if (!p->obj[n])
		return 0;
	bpf_object__for_each_program(g, p->obj[n])
		if (has_copy(p, g, IOT_COPIES))
			return IOT_COPIES_MOST;
	return IOT_COPIES;
}

static int load_wanted(struct probes *p, size_t n)
{
	u32 copies = copies_of(p, n);
	int err = 0;

	for (u32 copy = 1; copy < copies && !err; copy++)
		err = copy_load(p, n, copy);
	return err;
}

/* In their order. Of one that could not be attached the marks stay where they are, and what the others do not do is lost. */
static void copies_attach(struct probes *p, size_t n)
{
	struct bpf_program *g;

	for (u32 copy = 1; copy < IOT_COPIES_MOST && p->copy[copy][n]; copy++) {
		bpf_object__for_each_program(g, p->copy[copy][n]) {
			int row = program_row(bpf_program__name(g));

			if (bpf_program__fd(g) >= 0 && p->info[row].chosen && !probes_over(p))
				p->copy_link[copy][row] = bpf_program__attach(g);
		}
	}
}

int copy_add(struct probes *p, size_t n)
{
	int err = p->copies ? load_wanted(p, n) : 0;

	copies_attach(p, n);
	return err;
}

int copies_add(struct probes *p)
{
	int err = p->copies ? objects_side_by_side(p, load_wanted) : 0;

	for (size_t i = 0; i < n_objects; i++)
		copies_attach(p, i);
	return err;
}

s64 copies_stood_in(const struct probes *p, u32 n)
{
	s64 values[p->cpus], sum = 0;

	if (!p->copies || !p->obj[n] || bpf_map_lookup_elem(map_fd(p, "stood_in"), &n, values))
		return 0;
	for (int cpu = 0; cpu < p->cpus; cpu++)
		sum += values[cpu];
	return sum;
}

size_t probes_copies(const struct probes *p, u32 n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n_programs; i++)
		sum += !!p->copy_link[n - 1][i];
	return sum;
}

void copies_close(struct probes *p)
{
	for (u32 copy = 1; copy < IOT_COPIES_MOST; copy++) {
		for (size_t i = 0; i < n_programs; i++)
			bpf_link__destroy(p->copy_link[copy][i]);
		for (size_t i = 0; i < n_objects; i++)
			bpf_object__close(p->copy[copy][i]);
	}
}
