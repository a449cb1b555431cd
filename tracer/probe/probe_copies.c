// SPDX-License-Identifier: GPL-3.0-only
/* probe_copies.c - copies of programs, for kernels that skip the first one
 * (bpf/core/program_copies.bpf.h).
 */
#include <stdlib.h>
#include <string.h>
#include "probe_parts.h"

const char *copy_first(const char *name, u32 *number)
{
	char *end;
	unsigned long n;

	if (strncmp(name, COPY_OF, strlen(COPY_OF)))
		return NULL;
	n = strtoul(name + strlen(COPY_OF), &end, 10);
	if (!n || *end != '_')
		return NULL;
	if (number)
		*number = n;
	return end + 1;
}

bool map_is_work(const struct bpf_map *m)
{
	return !strncmp(bpf_map__name(m), WORK_OF, strlen(WORK_OF));
}

/* The program that `g` is copy `number` of; NULL: it is no copy, or an unused one. Programs of
 * calls have a twin instead, since the work after them must not be preempted
 * (bpf/call/syscall.bpf.c). */
static struct bpf_program *first_of(const struct probes *p, struct bpf_object *o,
	const struct bpf_program *g, u32 *number)
{
	const char *name = copy_first(bpf_program__name(g), number);
	struct bpf_program *first = name ? bpf_object__find_program_by_name(o, name) : NULL;
	int row = first ? program_row(name) : -1;

	return row >= 0 && !p->info[row].reason && !p->alone[row] &&
		(*number < IOT_COPIES || programs[row].most) &&
		strcmp(programs[row].layer, "syscall") && !strncmp(bpf_program__section_name(first),
		TRACEPOINT, strlen(TRACEPOINT)) ? first : NULL;
}

void copies_choose(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		u32 number;

		if (p->copies && first_of(p, o, g, &number))
			bpf_program__set_autoload(g, true);
	}
}

/* A program that cannot have copies is no reason to stop: its skips are counted as losses. */
void copies_tell(struct probes *p, struct bpf_object *o)
{
	struct bpf_map *m;
	u32 zero = 0;

	bpf_object__for_each_map(m, o) {
		const char *name = bpf_map__name(m) + strlen(WORK_OF);
		struct bpf_program *first = p->copies && map_is_work(m) ?
			bpf_object__find_program_by_name(o, name) : NULL;
		int fd = first ? bpf_program__fd(first) : -1;

		if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(m), &zero, &fd, BPF_ANY))
			p->alone[program_row(name)] = true;
	}
}

/* Attaches in order of the copies. Where one could not be attached, marks stay set, and work that
 * the others do not do is lost. */
void copies_attach(struct probes *p, struct bpf_object *o)
{
	for (u32 copy = 1; p->copies && copy < IOT_COPIES_MOST; copy++) {
		struct bpf_program *g;

		bpf_object__for_each_program(g, o) {
			u32 number;
			struct bpf_program *first = first_of(p, o, g, &number);
			int row = first ? program_row(bpf_program__name(first)) : -1;

			if (row >= 0 && number == copy && bpf_program__fd(g) >= 0 &&
			    p->info[row].chosen && !probes_over(p))
				p->copy_link[copy][row] = bpf_program__attach(g);
		}
	}
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
	for (u32 copy = 1; copy < IOT_COPIES_MOST; copy++)
		for (size_t i = 0; i < n_programs; i++)
			bpf_link__destroy(p->copy_link[copy][i]);
}
