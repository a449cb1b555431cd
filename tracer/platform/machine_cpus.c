// SPDX-License-Identifier: GPL-3.0-only
/* machine_cpus.c - facts about the processors and what they run on: model, cores, frequencies, the
 * hypervisor. */
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include "hash.h"
#include "machine_parts.h"

#define CPUS "/sys/devices/system/cpu"
#define DISTINCT_MAX 256
#define TEXT_MAX 256

/* Values that differ, in the order in which they came. */
struct distinct {
	char text[TEXT_MAX];    /* comma separated, as far as they fit */
	u64 hash[DISTINCT_MAX];
	size_t n;
};

static void add_distinct(struct distinct *d, const char *value)
{
	u64 h = hash_bytes(HASH_START, value, strlen(value));
	size_t len = strlen(d->text);

	for (size_t i = 0; i < d->n; i++)
		if (d->hash[i] == h)
			return;
	if (d->n == DISTINCT_MAX)
		return;
	d->hash[d->n++] = h;
	if (len + strlen(value) + 2 < sizeof(d->text))
		sprintf(d->text + len, "%s%s", len ? "," : "", value);
}

/* Reads a file of one processor. Returns false when there is none. */
static bool read_of_cpu(unsigned int cpu, const char *file, char text[TEXT_MAX])
{
	char path[128];

	snprintf(path, sizeof(path), CPUS "/cpu%u/%s", cpu, file);
	return read_line(path, text, TEXT_MAX) > 0;
}

/* Sums over all processors. */
struct counted {
	unsigned int online, cores;
	struct distinct sockets, governors, drivers;
};

static void count_cpu(struct counted *c, unsigned int cpu)
{
	char text[TEXT_MAX];

	c->online++;
	/* "0-1" or "0,8": a core is counted with the first of its threads */
	if (read_of_cpu(cpu, "topology/thread_siblings_list", text))
		c->cores += strtoul(text, NULL, 10) == cpu;
	if (read_of_cpu(cpu, "topology/physical_package_id", text))
		add_distinct(&c->sockets, text);
	if (read_of_cpu(cpu, "cpufreq/scaling_governor", text))
		add_distinct(&c->governors, text);
	if (read_of_cpu(cpu, "cpufreq/scaling_driver", text))
		add_distinct(&c->drivers, text);
}

/* Calls count_cpu() for each number of a list like "0-3,8". */
static void count_list(struct counted *c, const char *list)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && c->online < 65536; first++)
			count_cpu(c, first);
		list = *end == ',' ? end + 1 : end;
	}
}

#ifdef __x86_64__
/* The model name of /proc/cpuinfo, from the instruction that the kernel has it from: reading that
 * file asks each processor for its frequency on kernels before 5.17. */
static void put_model(const struct machine_part *p)
{
	unsigned int r[12] = { 0 }, max = __get_cpuid_max(0x80000000, NULL);
	char text[sizeof(r) + 1] = "", *at = text;

	for (unsigned int i = 0; max >= 0x80000004 && i < 3; i++)
		__cpuid(0x80000002 + i, r[4 * i], r[4 * i + 1], r[4 * i + 2], r[4 * i + 3]);
	memcpy(text, r, sizeof(r));
	at += strspn(at, " ");
	for (size_t n = strlen(at); n && at[n - 1] == ' '; n--)
		at[n - 1] = '\0';
	machine_fact(p, "model", at);
}

/* Hypervisors say their name in leaf 0x40000000; without one the bit is 0. */
static void put_hypervisor(const struct machine_part *p)
{
	static const struct { const char *says, *name; } known[] = {
		{ "KVMKVMKVM", "KVM" }, { "TCGTCGTCGTCG", "QEMU without KVM (TCG)" },
		{ "Microsoft Hv", "Hyper-V" }, { "VMwareVMware", "VMware" },
		{ "XenVMMXenVMM", "Xen" }, { "bhyve bhyve ", "bhyve" }, { "ACRNACRNACRN", "ACRN" },
	};
	unsigned int a, b, c, d;
	char says[13] = "";
	const char *name = says;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	if (!(c & 1u << 31)) {
		machine_fact(p, "hypervisor", "none");
		return;
	}
	__cpuid(0x40000000, a, b, c, d);
	memcpy(says, &b, 4);
	memcpy(says + 4, &c, 4);
	memcpy(says + 8, &d, 4);
	for (size_t i = 0; i < N_OF(known); i++)
		if (!strcmp(says, known[i].says))
			name = known[i].name;
	machine_fact(p, "hypervisor", name);
}
#else
static void put_model(const struct machine_part *p)
{
	static const struct machine_file files[] = {
		{ "midr", "cpu0/regs/identification/midr_el1" },
	};

	machine_files(p, CPUS, files, N_OF(files));
}

static void put_hypervisor(const struct machine_part *p)
{
	static const struct machine_file files[] = { { "hypervisor", "type" } };

	machine_files(p, "/sys/hypervisor", files, N_OF(files));
}
#endif

void machine_cpus(FILE *to)
{
	static const struct machine_file files[] = {
		{ "smt", "smt/control" },
		{ "min_khz", "cpu0/cpufreq/cpuinfo_min_freq" },
		{ "max_khz", "cpu0/cpufreq/cpuinfo_max_freq" },
		{ "boost", "cpufreq/boost" },
		{ "no_turbo", "intel_pstate/no_turbo" },
		{ "energy_preference", "cpu0/cpufreq/energy_performance_preference" },
		{ "idle_driver", "cpuidle/current_driver" },
	};
	static const struct machine_file board[] = {
		{ "vendor", "sys_vendor" }, { "product", "product_name" },
	};
	struct machine_part p = { to, "cpu", "" }, machine = { to, "machine", "" };
	struct counted c = { 0 };
	char list[4096];

	put_model(&p);
	if (read_line(CPUS "/online", list, sizeof(list)) > 0)
		count_list(&c, list);
	machine_number(&p, "online", c.online ? c.online : (u64)sysconf(_SC_NPROCESSORS_ONLN));
	if (c.cores)
		machine_number(&p, "cores", c.cores);
	if (c.sockets.n)
		machine_number(&p, "sockets", c.sockets.n);
	machine_fact(&p, "governor", c.governors.text);
	machine_fact(&p, "frequency_driver", c.drivers.text);
	machine_files(&p, CPUS, files, N_OF(files));
	machine_files(&machine, "/sys/class/dmi/id", board, N_OF(board));
	put_hypervisor(&machine);
}
