/* SPDX-License-Identifier: GPL-3.0-only */
/* match.c - decides which system a process belongs to, from what is visible outside.
 *
 * The rules are tried in a fixed order over all systems: name of the thread-group leader, argv[0],
 * program, control group, arguments. A rule that holds only shows what the process claims. The
 * claim needs confirmation by what the kernel knows (proof_of()); otherwise it remains a claim, and
 * the search goes on. The name of the current thread is never used: the threads that do the I/O of
 * Ceph, GlusterFS and RocksDB are not named after their system.
 */
#include <stdlib.h>
#include <string.h>
#include "match.h"

#define COMM_MAX 15            /* longest comm; the kernel truncates a longer program name */
#define ARGS_MAX 4096          /* arguments examined, at most */
#define ARG_WORDS 8            /* words of one argv pattern, at most */
#define ARG_JOIN 4096          /* bytes of arguments joined for one pattern */

bool sys_any(const struct sys_patterns *l, const char *subject)
{
	for (size_t i = 0; subject && i < l->n; i++)
		if (pattern_match(l->p[i], subject))
			return true;
	return false;
}

bool sys_is_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	len = len < size ? len : size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

static void cut_end(char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	if (len > n && !strcmp(s + len - n, end))
		s[len - n] = '\0';
}

void subject_prepare(struct subject *s, const struct sys_proc *p)
{
	const char *arg0 = p->argc && p->argv[0] ? p->argv[0] : "";
	char word[256];
	size_t len;

	memset(s, 0, sizeof(*s));
	s->p = p;
	copy(s->comm, sizeof(s->comm), p->comm ? p->comm : "", p->comm ? strlen(p->comm) : 0);
	copy(s->title, sizeof(s->title), arg0, strlen(arg0));
	for (len = strlen(s->title); len && s->title[len - 1] == ' '; len--)
		s->title[len - 1] = '\0';
	copy(s->arg0[0], sizeof(s->arg0[0]), base(arg0), strlen(base(arg0)));
	copy(word, sizeof(word), arg0, strcspn(arg0, " :"));
	copy(s->arg0[1], sizeof(s->arg0[1]), base(word), strlen(base(word)));
	copy(s->exe, sizeof(s->exe), base(p->exe ? p->exe : ""),
		strlen(base(p->exe ? p->exe : "")));
	cut_end(s->exe, " (deleted)");
}

/* Compares with names truncated to 15 bytes, as a comm is. */
static bool name_is_comm(const struct sys_patterns *names, const char *comm)
{
	if (sys_any(names, comm))
		return true;
	if (strlen(comm) != COMM_MAX)
		return false;
	for (size_t i = 0; i < names->n; i++) {
		const char *text = pattern_text(names->p[i]);

		if (!strpbrk(text, "*?[{\\") && strlen(text) > COMM_MAX &&
		    !strncmp(text, comm, COMM_MAX))
			return true;
	}
	return false;
}

static bool name_holds(const struct sys_patterns *names, const struct subject *s, enum sys_by by)
{
	switch (by) {
	case SYS_BY_COMM:
		return s->comm[0] && name_is_comm(names, s->comm);
	case SYS_BY_ARGV:
		return (s->arg0[0][0] && sys_any(names, s->arg0[0])) ||
			(s->arg0[1][0] && sys_any(names, s->arg0[1]));
	case SYS_BY_EXE:
		return s->exe[0] && sys_any(names, s->exe);
	default:
		return false;
	}
}

/* Compares one argv pattern with as many arguments as it has words, anywhere after argv[0]. */
static bool argument_holds(const struct pattern *pattern, const struct sys_proc *p)
{
	size_t words = 1, last = p->argc < ARGS_MAX ? p->argc : ARGS_MAX;
	char joined[ARG_JOIN];

	for (const char *c = pattern_text(pattern); *c; c++)
		words += *c == ' ';
	for (size_t i = 1; words <= ARG_WORDS && i + words <= last; i++) {
		size_t n = 0;

		for (size_t w = i; w < i + words && n < sizeof(joined); w++)
			n += snprintf(joined + n, sizeof(joined) - n, "%s%s", w > i ? " " : "",
				p->argv[w]);
		if (n < sizeof(joined) && pattern_match(pattern, joined))
			return true;
	}
	return false;
}

static bool all_arguments_hold(const struct sys_patterns *l, const struct sys_proc *p)
{
	for (size_t i = 0; i < l->n; i++)
		if (!argument_holds(l->p[i], p))
			return false;
	return true;
}

static bool variable_holds(const struct pattern *pattern, const char *env, size_t len)
{
	for (size_t at = 0; at < len; at += strnlen(env + at, len - at) + 1) {
		char one[512];
		size_t n = strnlen(env + at, len - at);

		copy(one, sizeof(one), env + at, n);
		if (pattern_match(pattern, one))
			return true;
	}
	return false;
}

static bool all_variables_hold(const struct sys_patterns *l, const struct sys_proc *p)
{
	for (size_t i = 0; i < l->n; i++)
		if (!p->env || !variable_holds(l->p[i], p->env, p->env_len))
			return false;
	return true;
}

/* Checks all conditions of a rule but its names and its files. */
bool conditions_hold(const struct sys_process_rule *r, const struct subject *s)
{
	return (!r->title.n || sys_any(&r->title, s->title)) &&
		all_arguments_hold(&r->argv, s->p) &&
		(!r->cgroup.n || sys_any(&r->cgroup, s->p->cgroup)) &&
		all_variables_hold(&r->env, s->p);
}

static bool is_interpreter(const char *exe)
{
	static const char *const names[] = { "sh", "dash", "bash", "ash", "zsh", "ksh", "busybox",
		"env", "perl", "ruby", "tclsh" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(exe, names[i]))
			return true;
	return !strncmp(exe, "python", 6);
}

/* Programs that carry another program's arguments. */
static bool is_launcher(const char *exe)
{
	static const char *const names[] = { "sudo", "doas", "su", "runuser", "setpriv",
		"timeout", "nohup", "setsid", "nice", "ionice", "chrt", "taskset", "strace",
		"ltrace", "gdb", "perf", "unshare", "nsenter", "chroot", "systemd-run", "docker",
		"podman", "crun", "runc", "tini", "dumb-init", "docker-init", "podman-init",
		"catatonit", "iot-trace", "xargs", "time", "stdbuf", "bwrap", "ip" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(exe, names[i]))
			return true;
	return is_interpreter(exe);
}

/* True when the rule has this kind of evidence. */
static bool rule_is_about(const struct sys_process_rule *r, const struct subject *s, enum sys_by by)
{
	if (by == SYS_BY_CGROUP)
		return !r->name.n && r->cgroup.n;
	if (by == SYS_BY_ARGS)
		return !r->name.n && !r->cgroup.n && !is_launcher(s->exe);
	return r->name.n && name_holds(&r->name, s, by);
}

/* Programs that run other programs: only arguments say which. */
static bool is_machine(const char *exe)
{
	return is_interpreter(exe) || !strcmp(exe, "java") || !strcmp(exe, "node") ||
		!strncmp(exe, "qemu-", 5);
}

/* True when this entry knows the program, whatever the process calls itself. */
static bool program_known(const struct sys_entry *e, const struct subject *s)
{
	if (sys_any(&e->programs, s->exe))
		return true;
	for (size_t i = 0; i < e->n_processes; i++)
		if (sys_any(&e->processes[i].name, s->exe))
			return true;
	return false;
}

/* Takes the instance from an option: "-D DIR", "--dir=DIR", or the option's own value when it ends
 * in '='. */
static bool instance_from(const char *option, const struct sys_proc *p, char out[SYS_INSTANCE_LEN])
{
	size_t len = strlen(option);

	for (size_t i = 1; i < p->argc && i < ARGS_MAX; i++) {
		const char *arg = p->argv[i], *value = NULL;

		if (!strcmp(arg, option) && i + 1 < p->argc)
			value = p->argv[i + 1];
		else if (!strncmp(arg, option, len) && arg[len] == '=')
			value = arg + len + 1;
		if (!value || !*value)
			continue;
		sys_text(out, SYS_INSTANCE_LEN, value);
		return true;
	}
	return false;
}

static void name_instance(const struct sys_process_rule *r, const struct subject *s,
	struct sys_match *m)
{
	for (size_t i = 0; i < r->instance.n; i++)
		if (instance_from(r->instance.s[i], s->p, m->instance))
			return;
}

/* Says why a claim is not confirmed. */
static void say_doubt(const struct sys_entry *e, const struct subject *s, char *out, size_t size)
{
	char exe[80];

	sys_text(exe, sizeof(exe), s->p->exe);
	if (!exe[0])
		snprintf(out, size, "its program cannot be read");
	else if (s->p->gone)
		snprintf(out, size, "it ended before its program %s was looked at", exe);
	else if (is_machine(s->exe))
		snprintf(out, size, "it is run by %s", exe);
	else
		snprintf(out, size, "program %s is not %s", exe, e->title);
}

static void say_why(struct sys_match *m, const struct sys_entry *e, const struct subject *s,
	enum sys_by by)
{
	static const char *const what[] = { "", "comm", "argv[0]", "program", "control group",
		"arguments", "parent", "files" };
	const char *value = by == SYS_BY_COMM ? s->comm : by == SYS_BY_ARGV ? s->title :
		by == SYS_BY_CGROUP ? s->p->cgroup : "";
	char exe[112], shown[64], doubt[128];

	sys_text(exe, sizeof(exe), s->p->exe);
	sys_text(shown, sizeof(shown), value);
	say_doubt(e, s, doubt, sizeof(doubt));
	if (m->claim && (by == SYS_BY_ARGS || by == SYS_BY_EXE))
		snprintf(m->why, sizeof(m->why), "%s like those of %.40s; not confirmed: %.110s",
			by == SYS_BY_EXE ? "name" : "arguments", e->title, doubt);
	else if (m->claim)
		snprintf(m->why, sizeof(m->why),
			"says it is %.40s: %.20s \"%s\"; not confirmed: %.96s", e->title, what[by],
			shown, doubt);
	else if (by == SYS_BY_EXE)
		snprintf(m->why, sizeof(m->why), "program %s, which calls itself \"%.15s\"", exe,
			s->comm);
	else if (by == SYS_BY_ARGS)
		snprintf(m->why, sizeof(m->why),
			"arguments like those of the %.40s %.32s; program %s", e->title, m->role,
			exe[0] ? exe : "unknown");
	else
		snprintf(m->why, sizeof(m->why), "%.20s \"%s\" and program %s", what[by], shown,
			exe[0] ? exe : "unknown");
	sys_text(m->why, sizeof(m->why), m->why);
}

static bool is_tested(const struct sys_entry *e, const struct sys_process_rule *r)
{
	return e->tested && !r->untested;
}

/* True for control groups that users can create. */
static bool is_made_by_a_user(const char *cgroup)
{
	return !cgroup || strstr(cgroup, "user.slice/") || strstr(cgroup, "/user@");
}

/* Confirmation by the kernel of a process for which a rule holds. Where a system's programs have
 * marks, these decide; otherwise the name of the executable does. */
static enum sys_sure proof_of(const struct systems *db, const struct sys_entry *e,
	const struct sys_process_rule *r, const struct subject *s,
			      enum sys_by by)
{
	/* known by its input, not by its program */
	bool told = is_machine(s->exe) && (r->argv.n || r->title.n || r->env.n);

	if (by == SYS_BY_CGROUP && !is_made_by_a_user(s->p->cgroup))
		return SYS_SURE_GROUP;
	if (e->elf.n)
		return sys_program_is(db, e, s->p) == SYS_PROGRAM_YES ? SYS_SURE_PROGRAM :
			SYS_SURE_NONE;
	return by <= SYS_BY_EXE && program_known(e, s) && !told ? SYS_SURE_PROGRAM : SYS_SURE_NONE;
}

void match_accept(struct sys_match *m, const struct sys_entry *e, const struct sys_process_rule *r,
	const struct subject *s,
		   enum sys_by by, enum sys_sure sure)
{
	memset(m, 0, sizeof(*m));
	m->entry = e;
	m->system = e->name;
	m->role = r->role;
	m->forked_role = r->forked;
	m->tested = is_tested(e, r);
	m->by = by;
	m->sure = sure;
	name_instance(r, s, m);
	say_why(m, e, s, by);
}

static void claim(struct sys_match *m, const struct sys_entry *e, const struct sys_process_rule *r,
	const struct subject *s, enum sys_by by)
{
	/* the child of iot-trace has the command's name before it executes it */
	if (m->claim || !strcmp(s->exe, "iot-trace"))
		return;
	m->claim = e;
	m->claim_role = r->role;
	m->tested = is_tested(e, r);
	m->by = by;
	m->sure = SYS_SURE_NAME;
	if (!e->elf.n)
		name_instance(r, s, m);
	say_why(m, e, s, by);
}

/* First rule of an entry that holds for this kind of evidence. */
static const struct sys_process_rule *rule_of(const struct sys_entry *e, const struct subject *s,
	enum sys_by by, bool files)
{
	for (size_t i = 0; i < e->n_processes; i++) {
		const struct sys_process_rule *r = &e->processes[i];

		if (r->files == files && rule_is_about(r, s, by) && conditions_hold(r, s))
			return r;
	}
	return NULL;
}

/* A client is recognised by its program; by its name where that program runs another, or is not
 * known. */
static bool is_client(const struct sys_entry *e, const struct subject *s, enum sys_by by)
{
	if (by == SYS_BY_EXE || !s->exe[0] || is_machine(s->exe))
		return name_holds(&e->clients, s, by);
	return name_holds(&e->clients, s, by) && name_holds(&e->clients, s, SYS_BY_EXE);
}

/* Tries one kind of evidence over all systems. Returns true when it decided, for a system or for a
 * client. A match that is not confirmed is kept as a claim. */
static bool decide(const struct systems *db, const struct subject *s, enum sys_by by,
	struct sys_match *m)
{
	for (size_t i = 0; i < db->n; i++) {
		const struct sys_entry *e = db->entry[i];
		const struct sys_process_rule *r = rule_of(e, s, by, false);
		enum sys_sure sure;

		if (!r && by == SYS_BY_ARGS && e->elf.n)
			r = rule_of(e, s, by, true);
		if (!r)
			continue;
		sure = proof_of(db, e, r, s, by);
		if (sure) {
			match_accept(m, e, r, s, by, sure);
			return true;
		}
		if (!r->files)
			claim(m, e, r, s, by);
	}
	for (size_t i = 0; i < db->n; i++) {
		if (!is_client(db->entry[i], s, by))
			continue;
		memset(m, 0, sizeof(*m));
		m->client_of = db->entry[i]->name;
		snprintf(m->why, sizeof(m->why), "a client or tool of %s", db->entry[i]->title);
		return true;
	}
	return false;
}

/* Notes arguments that would fit a server under another name whose programs have no marks: its
 * files will tell (systems_learn()). */
static void suspect(const struct systems *db, const struct subject *s, struct sys_match *m)
{
	for (size_t i = 0; i < db->n; i++) {
		const struct sys_process_rule *r = db->entry[i]->elf.n ? NULL :
			rule_of(db->entry[i], s, SYS_BY_ARGS, true);

		if (!r)
			continue;
		m->maybe = db->entry[i];
		m->maybe_role = r->role;
		m->tested = is_tested(db->entry[i], r);
		return;
	}
}

/* A child that runs its parent's program is what the parent is; its title may tell its role. */
static void inherit(const struct subject *s, struct sys_match *m)
{
	const struct sys_match *parent = s->p->parent;
	const struct sys_entry *e = parent->entry;

	*m = *parent;
	if (parent->by != SYS_BY_FORK)
		snprintf(m->why, sizeof(m->why), "forked by %.200s", parent->why);
	m->by = SYS_BY_FORK;
	if (parent->forked_role)
		m->role = parent->forked_role;
	for (size_t i = 0; i < e->n_processes; i++) {
		const struct sys_process_rule *r = &e->processes[i];

		if (!r->title.n || !(name_holds(&r->name, s, SYS_BY_COMM) ||
		    name_holds(&r->name, s, SYS_BY_ARGV)) ||
		    !conditions_hold(r, s))
			continue;
		m->role = r->role;
		m->tested = is_tested(e, r);
		return;
	}
}

bool systems_match(const struct systems *db, const struct sys_proc *p, struct sys_match *out)
{
	struct subject s;

	memset(out, 0, sizeof(*out));
	subject_prepare(&s, p);
	if (p->forked && p->parent && p->parent->entry) {
		inherit(&s, out);
	} else {
		for (enum sys_by by = SYS_BY_COMM; by <= SYS_BY_ARGS; by++)
			if (decide(db, &s, by, out))
				break;
		if (!out->system && !out->client_of && !out->claim)
			suspect(db, &s, out);
	}
	if (p->container)
		sys_text(out->container, sizeof(out->container), p->container);
	return out->system != NULL;
}

void systems_why(const struct sys_match *m, char *out, size_t size)
{
	bool files = m->system && m->sure == SYS_SURE_FILES && m->by != SYS_BY_FILES;

	snprintf(out, size, "%s%s%s%s", m->why, files ? "; uses " : "", files ? m->instance : "",
		 m->system && !m->tested ? "; rules from documentation, untested" : "");
}

const char *sys_program_named(const struct systems *db, const char *exe)
{
	const struct sys_proc p = { .exe = exe };
	struct subject s;

	subject_prepare(&s, &p);
	for (size_t i = 0; s.exe[0] && i < db->n; i++)
		if (program_known(db->entry[i], &s))
			return db->entry[i]->name;
	return NULL;
}
