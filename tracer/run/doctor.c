// SPDX-License-Identifier: GPL-3.0-only
/* doctor.c - iot-trace --doctor: one line for each requirement of a run, and below it the cure
 * where this machine does not meet it.
 *
 * To add one: a function, and a row in `checks`.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "clean.h"
#include "doctor.h"
#include "mounts.h"
#include "file.h"
#include "program.h"
#include "rights.h"

#define MEMORY_OTHER (64ull << 20) /* memory of the tracer itself, with a margin */
#define DESCRIPTORS 2048          /* descriptors for programs and tables of all file systems */

/* GAP: a full run does not work. LESS: it works, and this is missing. UNSEEN: this process cannot
 * find out. */
enum mark { FINE, LESS, UNSEEN, GAP };

struct finding {
	enum mark mark;
	/* command: part of the cure, on a line of its own, to be copied */
	char text[320], cure[320], command[PATH_MAX + 320];
	bool together; /* findings of several checks with this text are printed once */
};

struct patient {
	struct probes *probes;          /* NULL: they could not be opened */
	bool tried;                     /* they were loaded */
	struct utsname kernel;
};

typedef void check(const struct patient *, const char *what, struct finding *);

__attribute__((format(printf, 3, 4))) static void say(struct finding *f, enum mark mark,
	const char *format, ...)
{
	va_list args;

	f->mark = mark;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void cure(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->cure, sizeof(f->cure), format, args);
	va_end(args);
}

/* Value of a file in /proc/sys/kernel; -1: there is no such file. */
static int setting(const char *name)
{
	char path[128], line[32];
	int value;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return read_line(path, line, sizeof(line)) >= 0 && sscanf(line, "%d", &value) == 1 ? value :
		-1;
}

static bool held(int cap)
{
	const struct right *r;

	for (size_t i = 0; (r = right_row(i)); i++)
		if (r->cap == cap)
			return right_held(r);
	return false;
}

/* --- the kernel --- */

static void look_kernel(const struct patient *p, const char *what, struct finding *f)
{
	const char *machine = probes_wrong_machine(), *lacks = p->probes ? probes_lacks(p->probes) :
		NULL;

	say(f, FINE, "%s, %s; programs by %s", p->kernel.release, p->kernel.machine,
		probes_made_by());
	if (machine) {
		f->mark = GAP;
		cure(f, "the programs were made for %s: take a build for this machine", machine);
	} else if (lacks) {
		f->mark = GAP;
		cure(f,
			"%s: only calls and devices are measured, without owners; Linux 6.1 and later give everything", lacks);
	}
}

static void look_types(const struct patient *p, const char *what, struct finding *f)
{
	const char *wrong = probes_wrong_types();

	say(f, FINE, "/sys/kernel/btf/vmlinux, the kernel's own");
	if (!wrong)
		return;
	say(f, GAP, "the types in /sys/kernel/btf/vmlinux %s", wrong);
	cure(f,
		"mount /sys, unmount what lies over it, or take a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' are since 2021");
}

static void look_lockdown(const struct patient *p, const char *what, struct finding *f)
{
	char line[128], *end;

	if (read_line("/sys/kernel/security/lockdown", line, sizeof(line)) < 0) {
		say(f, UNSEEN, "not known: /sys/kernel/security is not mounted here");
		return;
	}
	end = strchr(line, ']');
	if (!strchr(line, '[') || !end) {
		say(f, UNSEEN, "not understood: %s", line);
		return;
	}
	*end = '\0';
	say(f, FINE, "%s", strchr(line, '[') + 1);
	if (strcmp(f->text, "confidentiality"))
		return;
	f->mark = GAP;
	cure(f, "BPF may not read kernel memory: boot with lockdown=integrity, which allows it");
}

static void look_symbols(const struct patient *p, const char *what, struct finding *f)
{
	int restrict_to = setting("kptr_restrict");

	if (!p->probes) {
		say(f, UNSEEN, "not looked at");
		return;
	}
	say(f, FINE, "addresses of functions are shown in /proc/kallsyms");
	if (!probes_hidden(p->probes))
		return;
	say(f, GAP, "addresses are hidden: " PROBES_HIDDEN_MEANS);
	if (restrict_to > 1)
		cure(f, "sysctl kernel.kptr_restrict=1 (it is %d, which hides them from root, too)",
			restrict_to);
	else
		cure(f,
			"CAP_SYSLOG; or sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1 (they are %d and %d)", restrict_to, setting("perf_event_paranoid"));
}

/* --- rights --- */

/* Path of this program, for commands to type. */
static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return n > 0 ? path : "iot-trace";
}

static void look_rights(const struct patient *p, const char *what, struct finding *f)
{
	const struct right *r;
	enum mark worst = FINE;
	char names[192] = "", line[192];

	for (size_t i = 0; (r = right_row(i)); i++) {
		enum mark mark = r->needed || r->cap == CAP_SYS_ADMIN ? GAP : LESS;

		if ((r->wanted && !r->wanted()) || right_held(r))
			continue;
		worst = mark > worst ? mark : worst;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			*names ? ", " : "", r->name);
	}
	say(f, worst, worst ? "missing: %s" : "all that are of use here%s", names);
	if (!worst)
		return;
	if (rights_foreign()) {
		cure(f,
			"BPF takes no capability of a user namespace: run it outside of it, as the host's root");
		return;
	}
	rights_text(line, sizeof(line));
	cure(f, "run it with sudo; or give them to the program once, as root:");
	snprintf(f->command, sizeof(f->command), "setcap %s %s", line, own_path());
}

/* One line for each missing capability: its consequence. */
static void look_right(const struct patient *p, const char *what, struct finding *f)
{
	const struct right *r;

	for (size_t i = 0; (r = right_row(i)); i++)
		if (!strcmp(r->name, what) && (!r->wanted || r->wanted()) && !right_held(r))
			say(f, r->needed || r->cap == CAP_SYS_ADMIN ? GAP : LESS, "%s", r->without);
}

static void look_bpf(const struct patient *p, const char *what, struct finding *f)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
		.max_entries = 1 };
	int fd = syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)),
		disabled = setting("unprivileged_bpf_disabled");

	say(f, FINE, "allowed");
	if (fd >= 0) {
		close(fd);
	} else if (!held(CAP_BPF)) {
		say(f, GAP, "not without CAP_BPF (unprivileged_bpf_disabled is %d)", disabled);
	} else {
		say(f, GAP, "refused with CAP_BPF: %s", strerror(errno));
		cure(f,
			"a filter of system calls or a security module forbids bpf(2): in a container allow it in its seccomp profile");
	}
}

/* --- surroundings --- */

static void look_place(const struct patient *p, const char *what, struct finding *f)
{
	struct stat s;
	bool container = !access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK) ||
		getenv("container");

	say(f, FINE, container ? "a container with the host's processes" : "the host's processes");
	if (stat("/proc/self/ns/pid", &s)) {
		say(f, GAP, "/proc is not mounted");
		cure(f, "mount -t proc proc /proc");
	} else if (s.st_ino != FIRST_PID_NS) {
		say(f,
			LESS,
			"a PID namespace: processes outside of it are counted, with the number 0 and a name alone");
		cure(f,
			"start it in the host's: --pid=host for docker and podman, hostPID: true for Kubernetes");
	}
}

static bool is_cgroup2(void *arg, const struct mount *m)
{
	if (strcmp(m->fs, "cgroup2"))
		return false;
	snprintf(arg, 128, "%s", m->at);
	return true;
}

static bool is_cgroup1(void *arg, const struct mount *m)
{
	return !strcmp(m->fs, "cgroup");
}

static void look_cgroup(const struct patient *p, const char *what, struct finding *f)
{
	bool one = mounts_find_ours(is_cgroup1, NULL);
	char at[128];

	if (mounts_find_ours(is_cgroup2, at)) {
		say(f, FINE, "version 2 at %s%s", at, one ? ", version 1 beside it" : "");
		return;
	}
	say(f, LESS, "%s: --cgroup does not work", one ? "version 1 only" : "none is mounted");
	cure(f,
		"mount -t cgroup2 none /sys/fs/cgroup/unified; containers are known by version 1, too");
}

/* Number of a line "NAME: NUMBER kB"; 0: not known. */
static u64 available(void)
{
	auto_fclose FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %llu kB", &kb) != 1)
		;
	return kb << 10;
}

static void look_memory(const struct patient *p, const char *what, struct finding *f)
{
	u64 takes = p->tried ? probes_map_bytes(p->probes) : 0, has = available();
	struct rlimit l;

	if (p->tried)
		say(f, FINE, "%.0f MiB in the kernel for a run; %.1f GiB are available",
			takes / 1048576.0, has / 1073741824.0);
	else
		say(f,
			UNSEEN,
			"%.1f GiB are available; what a run takes is known when programs can be loaded", has / 1073741824.0);
	if (has && takes && has < takes + MEMORY_OTHER) {
		f->mark = GAP;
		cure(f,
			"free some, or make tables and buffer smaller: --ring 1M --table files=4096");
	} else if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_max < DESCRIPTORS &&
	    !held(CAP_SYS_RESOURCE)) {
		f->mark = GAP;
		cure(f,
			"only %llu descriptors are allowed: raise the hard limit (ulimit -Hn 8192) before the start", (unsigned long long)l.rlim_max);
	}
}

/* --- the programs of a layer --- */

static void look_programs(const struct patient *p, const char *what, struct finding *f)
{
	struct probe_group g;

	if (!p->probes) {
		say(f, UNSEEN, "not looked at");
		f->together = true;
		return;
	}
	probes_group(p->probes, what, &g);
	if (p->tried)
		say(f, FINE, "%zu program%s attached", g.chosen, g.chosen == 1 ? "" : "s");
	else
		say(f,
			UNSEEN,
			"tracepoints are there; whether the kernel takes the programs is seen when they can be loaded");
	f->together = !p->tried && g.chosen;
	if (g.denied) { /* only where programs were loaded */
		say(f, GAP, "the kernel refuses %s: %s", g.denied->name, g.denied->reason);
		cure(f, "%s; --partial records the rest", probes_cure(g.denied));
	} else if (g.waits) {
		say(f, FINE, "not mounted: attached when one is");
	} else if (g.lacking && !probes_lacks(p->probes)) {
		say(f, GAP, "%s: %s", g.lacking->name, g.lacking->reason);
		f->together = false;
		cure(f,
			"the rest is measured, and what this kernel cannot be asked is n/a: Linux 6.1 and later have it");
	} else if (!g.chosen) {
		say(f, LESS, "not measured on this kernel");
	}
}

static void look_report(const struct patient *p, const char *what, struct finding *f)
{
	char beside[PATH_MAX + 32], *found = NULL;
	auto_close int fd = -1;
	bool shared;

	snprintf(beside, sizeof(beside), "%s", own_path());
	strcpy(strrchr(beside, '/') ? strrchr(beside, '/') + 1 : beside, what);
	fd = program_open(beside, &shared);
	if (fd < 0)
		fd = program_find(what, &found);
	say(f, FINE, "%s prints reports", found ?: beside);
	if (fd < 0) {
		say(f, LESS, "not found: a run without -o prints no table");
		cure(f, "install it, or put it beside iot-trace");
	}
	free(found);
}

static const struct {
	const char *name;
	check *look;
	const char *what;       /* for it */
} checks[] = {
	{ "kernel", look_kernel },
	{ "types (BTF)", look_types },
	{ "lockdown", look_lockdown },
	{ "kallsyms", look_symbols },
	{ "bpf(2)", look_bpf },
	{ "capabilities", look_rights },
	{ " sys_ptrace", look_right, "CAP_SYS_PTRACE" },
	{ " dac_search", look_right, "CAP_DAC_READ_SEARCH" },
	{ " sys_admin", look_right, "CAP_SYS_ADMIN" },
	{ "namespaces", look_place },
	{ "cgroup", look_cgroup },
	{ "memory", look_memory },
	{ "processes", look_programs, "core" },
	{ "calls", look_programs, "syscall" },
	{ "io_uring", look_programs, "uring" },
	{ "page cache", look_programs, "cache" },
	{ "ext4", look_programs, "ext4" },
	{ "xfs", look_programs, "xfs" },
	{ "btrfs", look_programs, "btrfs" },
	{ "block", look_programs, "block" },
	{ "sockets", look_programs, "net" },
	{ "iot-analyze", look_report, "iot-analyze" },
};

#define WIDTH 79
#define INDENT 20

/* Prints words from column INDENT on, in lines of at most WIDTH columns. */
static void print_words(const char *text)
{
	size_t at = INDENT;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > INDENT && at + 1 + n > WIDTH) {
			printf("\n%*s", INDENT, "");
			at = INDENT;
		}
		at += printf("%s%.*s", at > INDENT ? " " : "", (int)n, text);
		text += n + strspn(text + n, " ");
	}
	putchar('\n');
}

static void print_finding(const char *name, const struct finding *f)
{
	static const char *const marks[] = { [FINE] = "ok", [LESS] = "note", [UNSEEN] = "?",
		[GAP] = "GAP" };

	printf("%-5s %-13s ", marks[f->mark], name);
	print_words(f->text);
	if (!*f->cure)
		return;
	printf("%*s-> ", INDENT - 3, "");
	print_words(f->cure);
	if (*f->command)
		printf("%*s%s\n", INDENT / 4, "", f->command);
}

/* Findings of several checks that are the same: their names on one line. */
struct group {
	char names[192];
	struct finding f;
};

static void print_group(struct group *g)
{
	char text[sizeof(g->f.text) + sizeof(g->names) + 4];

	if (!*g->names)
		return;
	snprintf(text, sizeof(text), "%s: %s", g->names, g->f.text);
	memcpy(g->f.text, text, sizeof(g->f.text) - 1);
	print_finding("layers", &g->f);
	*g->names = '\0';
}

static void print_check(struct group *g, const char *name, const struct finding *f)
{
	size_t n = strlen(g->names);

	if (!f->together) {
		print_group(g);
		if (*f->text)
			print_finding(name, f);
		return;
	}
	snprintf(g->names + n, sizeof(g->names) - n, "%s%s", n ? ", " : "", name);
	g->f = *f;
}

static void open_patient(struct patient *p, const struct options *o)
{
	struct probe_opts opts = { .events = true, .latency = LATENCY_ALL, .verbose = o->verbose };

	uname(&p->kernel);
	if (probes_wrong_types() || probes_wrong_machine())
		return;
	p->tried = held(CAP_BPF) && held(CAP_PERFMON) && !probes_open(&p->probes, &opts);
	if (p->tried)
		return;
	probes_close(p->probes);
	if (!probes_look(&p->probes))
		return;
	probes_close(p->probes);
	p->probes = NULL;
}

int doctor(const struct options *o)
{
	struct patient p = {};
	struct group same = {};
	size_t gaps = 0;
	bool failed;

	rights_raise();
	open_patient(&p, o);
	for (size_t i = 0; i < N_OF(checks); i++) {
		struct finding f = {};

		checks[i].look(&p, checks[i].what, &f);
		gaps += f.mark == GAP;
		print_check(&same, checks[i].name, &f);
	}
	failed = !gaps && !p.tried;
	if (gaps)
		printf("A full run does not work here: see the line%s with GAP.\n",
			gaps > 1 ? "s" : "");
	else if (failed)
		printf("The programs could not be loaded: see the message above.\n");
	else
		printf("A full run works here (tier %s).\n", probes_tier(p.probes));
	probes_close(p.probes);
	if (fflush(stdout))
		return fail_as(STATUS_FAILED, errno, "cannot write standard output");
	return gaps || failed ? STATUS_FAILED : STATUS_OK;
}
