// SPDX-License-Identifier: GPL-3.0-only
/* probe_symbols.c - addresses of kernel functions that identify the work of a thread or a bio. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe_parts.h"

/* Since 7.0, where tracepoints are guarded by the fast kind of SRCU, a probe of a system call can
 * be preempted, and is skipped for other threads on that processor until it goes on. The variable
 * is older: until 6.13 it guarded tracepoints in idle processors. The type came with the fast kind
 * (6.15). */
#define SYMBOL_SKIPS "tracepoint_srcu"
#define TYPE_SKIPS "srcu_ctr"
#define STRIPES "raid456"      /* the module of md arrays with parity */

/* True where struct thread_info holds the preemption count (bpf/core/arch.h). */
#if defined(__aarch64__)
#define IN_THREAD true
#else
#define IN_THREAD false
#endif

/* Notes a function that exists and whose address is hidden. */
static void hide(struct probes *p, const char *name)
{
	size_t n = strlen(p->hidden);

	snprintf(p->hidden + n, sizeof(p->hidden) - n, "%s%s", n ? ", " : "", name);
}

/* Variables of the kernel, and where the address of each is kept. */
static u64 *variable(struct probes *p, const char *name)
{
	const struct {
		const char *name;
		u64 *address;
	} row[] = {
		{ "__preempt_count", &p->symbols.preempt_count },
		{ "__per_cpu_offset", &p->symbols.per_cpu_offset },
		{ "vmemmap_base", &p->symbols.vmemmap_base },
		{ "page_offset_base", &p->symbols.page_offset_base },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (*name == *row[i].name && !strcmp(name, row[i].name))
			return row[i].address;
	return NULL;
}

/* Finds the addresses of the functions that the kernel side compares with. Functions of a module
 * that is not loaded are not missed. */
static void *find_functions(void *arg)
{
	struct probes *p = arg;
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], *name;

	if (!f) {
		hide(p, "all: no /proc/kallsyms");
		return NULL;
	}
	/* "address type name [module]", 200,000 of them */
	while (!probes_over(p) && fgets(line, sizeof(line), f)) {
		u64 address, *known;
		size_t len;

		name = strchr(line, ' ');
		if (!name || strlen(name) < 4)
			continue;
		name += 3;
		len = strcspn(name, " \t\n");
		if (!strncmp(name + len, "\t[bpf]", 6))
			/* BPF programs come last, and the kernel walks all of them for each line */
			break;
		name[len] = '\0';
		p->symbols.skips |= !strcmp(name, SYMBOL_SKIPS);
		known = variable(p, name);
		if (known && !*known) /* a process that looks again may have no right to see it */
			*known = strtoull(line, NULL, 16);
		for (size_t i = 0; i < n_function_rows; i++) {
			if (*name != *function_rows[i].name || strcmp(name, function_rows[i].name))
				continue;
			address = strtoull(line, NULL, 16);
			if (!address)
				hide(p, name);
			else if (p->symbols.n < MAX_SYMBOLS)
				p->symbols.at[p->symbols.n++] = (struct symbol){ address,
					function_rows[i].function };
		}
	}
	fclose(f);
	return NULL;
}

/* Starts the search in a thread, during other work that needs no result of it. */
void functions_begin(struct probes *p)
{
	p->symbols.apart = !thread_begin(&p->symbols.thread, find_functions, p, false);
	if (!p->symbols.apart)
		find_functions(p);
}

void functions_wait(struct probes *p)
{
	if (p->symbols.apart)
		pthread_join(p->symbols.thread, NULL);
	p->symbols.apart = false;
}

/* Offset of a member of a kernel structure, in bytes. */
static bool field(const struct btf *b, const char *type, const char *name, u32 *offset)
{
	int id = btf__find_by_name_kind(b, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, id) : NULL;

	for (u32 i = 0; t && i < btf_vlen(t); i++) {
		if (strcmp(btf__name_by_offset(b, btf_members(t)[i].name_off), name))
			continue;
		*offset = btf_member_bit_offset(t, i) / 8;
		return true;
	}
	return false;
}

/* Gives the kernel side the layout of stripes of md arrays with parity, where their module is
 * loaded. */
static void stripes_tell(struct probes *p)
{
	struct btf *b = access("/sys/kernel/btf/" STRIPES, R_OK) ? NULL :
		btf__load_module_btf(STRIPES, p->vmlinux);
	struct iot_stripe_layout l = { 0 };
	u32 zero = 0;
	int id;

	if (b && field(b, "stripe_head", "disks", &l.members) &&
	    field(b, "stripe_head", "dev", &l.first_member) &&
	    field(b, "r5dev", "toread", &l.to_read) && field(b, "r5dev", "towrite", &l.to_write) &&
	    field(b, "r5dev", "written", &l.written) &&
	    field(b, "r5dev", "sector", &l.sector)) {
		id = btf__find_by_name_kind(b, "r5dev", BTF_KIND_STRUCT);
		l.member_size = btf__type_by_id(b, id)->size;
		bpf_map_update_elem(map_fd(p, "stripe_layout"), &zero, &l, BPF_ANY);
	}
	btf__free(b);
}

/* Gives the results to the kernel side. */
void functions_tell(struct probes *p)
{
	int fd = map_fd(p, "functions");

	functions_wait(p);
	/* freed by the time that a module is loaded later, which changes nothing here */
	if (p->vmlinux) {
		p->skips = p->symbols.skips &&
			btf__find_by_name_kind(p->vmlinux, TYPE_SKIPS, BTF_KIND_STRUCT) > 0;
		stripes_tell(p);
	}
	/* a mark of an interrupt could be taken for a thread's where interrupts are not
	 * recognised */
	p->copies = p->skips && (IN_THREAD || (p->symbols.preempt_count &&
		p->symbols.per_cpu_offset));
	for (size_t i = 0; i < p->symbols.n; i++)
		bpf_map_update_elem(fd, &p->symbols.at[i].address, &p->symbols.at[i].function,
			BPF_ANY);
	if (p->state) /* attached programs drop what they cached */
		__atomic_fetch_add(&p->state->functions, 1, __ATOMIC_RELEASE);
}
