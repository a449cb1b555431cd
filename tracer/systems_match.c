/* SPDX-License-Identifier: GPL-3.0-only */
/* systems_match.c - which system a process belongs to, and what its threads do there.
 *
 * The evidence is tried in a fixed order over all systems (DESIGN section 6): name of the thread-group leader,
 * argv[0], program, control group, arguments. The name of the current thread is never asked: the threads that do
 * the I/O of Ceph, GlusterFS and RocksDB are not named after their system.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "systems_rules.h"

#define COMM_MAX 15            /* longest comm; a longer program name is cut there by the kernel */
#define ARGS_MAX 4096          /* arguments that are looked at */
#define ARG_WORDS 8            /* words of one argv pattern */
#define ARG_JOIN 4096          /* bytes of arguments joined for one */

/* What is known of one process, prepared for the rules. */
struct subject {
	const struct sys_proc *p;
	char comm[64];
	char arg0[2][256];     /* basename of argv[0], and of its first word (titles: "postgres: ...", "redis-server *:6379") */
	char title[512];       /* argv[0] without blanks at its end */
	char exe[256];         /* basename of the program */
};

bool sys_any(const struct sys_patterns *l, const char *subject)
{
	for (size_t i = 0; subject && i < l->n; i++)
		if (pattern_match(l->p[i], subject))
			return true;
	return false;
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

static void prepare(struct subject *s, const struct sys_proc *p)
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
	copy(s->exe, sizeof(s->exe), base(p->exe ? p->exe : ""), strlen(base(p->exe ? p->exe : "")));
	cut_end(s->exe, " (deleted)");
}

/* A comm is cut after 15 bytes, so a longer name in a rule is too. */
static bool name_is_comm(const struct sys_patterns *names, const char *comm)
{
	if (sys_any(names, comm))
		return true;
	if (strlen(comm) != COMM_MAX)
		return false;
	for (size_t i = 0; i < names->n; i++) {
		const char *text = pattern_text(names->p[i]);

		if (!strpbrk(text, "*?[{\\") && strlen(text) > COMM_MAX && !strncmp(text, comm, COMM_MAX))
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
		return (s->arg0[0][0] && sys_any(names, s->arg0[0])) || (s->arg0[1][0] && sys_any(names, s->arg0[1]));
	case SYS_BY_EXE:
		return s->exe[0] && sys_any(names, s->exe);
	default:
		return false;
	}
}

/* One argv pattern: as many arguments as the pattern has words, anywhere behind argv[0]. */
static bool argument_holds(const struct pattern *pattern, const struct sys_proc *p)
{
	size_t words = 1, last = p->argc < ARGS_MAX ? p->argc : ARGS_MAX;
	char joined[ARG_JOIN];

	for (const char *c = pattern_text(pattern); *c; c++)
		words += *c == ' ';
	for (size_t i = 1; words <= ARG_WORDS && i + words <= last; i++) {
		size_t n = 0;

		for (size_t w = i; w < i + words && n < sizeof(joined); w++)
			n += snprintf(joined + n, sizeof(joined) - n, "%s%s", w > i ? " " : "", p->argv[w]);
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

/* Everything of a rule but its names and its files. */
static bool conditions_hold(const struct sys_process_rule *r, const struct subject *s)
{
	return (!r->title.n || sys_any(&r->title, s->title)) && all_arguments_hold(&r->argv, s->p) &&
		(!r->cgroup.n || sys_any(&r->cgroup, s->p->cgroup)) && all_variables_hold(&r->env, s->p);
}

static bool is_interpreter(const char *exe)
{
	static const char *const names[] = { "sh", "dash", "bash", "ash", "zsh", "ksh", "busybox", "env", "perl", "ruby", "tclsh" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(exe, names[i]))
			return true;
	return !strncmp(exe, "python", 6);
}

/* Programs that carry another program's arguments. */
static bool is_launcher(const char *exe)
{
	static const char *const names[] = { "sudo", "doas", "su", "runuser", "setpriv", "timeout", "nohup", "setsid", "nice", "ionice",
		"chrt", "taskset", "strace", "ltrace", "gdb", "perf", "unshare", "nsenter", "chroot", "systemd-run", "docker", "podman",
		"crun", "runc", "tini", "dumb-init", "docker-init", "podman-init", "catatonit",
		"iot-trace", "xargs", "time", "stdbuf", "bwrap", "ip" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(exe, names[i]))
			return true;
	return is_interpreter(exe);
}

/* Does this rule speak about this kind of evidence? */
static bool rule_is_about(const struct sys_process_rule *r, const struct subject *s, enum sys_by by)
{
	if (by == SYS_BY_CGROUP)
		return !r->name.n && r->cgroup.n;
	if (by == SYS_BY_ARGS)
		return !r->name.n && !r->cgroup.n && !is_launcher(s->exe);
	return r->name.n && name_holds(&r->name, s, by);
}

/* Is the program one that this entry knows, whatever the process calls itself? */
static bool program_known(const struct sys_entry *e, const struct subject *s)
{
	if (sys_any(&e->programs, s->exe))
		return true;
	for (size_t i = 0; i < e->n_processes; i++)
		if (sys_any(&e->processes[i].name, s->exe))
			return true;
	return false;
}

/* An instance is named by an option: "-D DIR", "--dir=DIR", or the option's own value when it ends in '='. */
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

static void name_instance(const struct sys_process_rule *r, const struct subject *s, struct sys_match *m)
{
	for (size_t i = 0; i < r->instance.n; i++)
		if (instance_from(r->instance.s[i], s->p, m->instance))
			return;
}

static void say_why(struct sys_match *m, const struct sys_entry *e, const struct subject *s)
{
	static const char *const what[] = { "", "comm", "argv[0]", "program", "control group", "arguments" };
	char exe[120], shown[80];
	const char *value = m->by == SYS_BY_COMM ? s->comm : m->by == SYS_BY_ARGV ? s->title :
		m->by == SYS_BY_CGROUP ? s->p->cgroup : "";

	sys_text(exe, sizeof(exe), s->p->exe);
	sys_text(shown, sizeof(shown), value);
	if (m->by == SYS_BY_EXE)
		snprintf(m->why, sizeof(m->why), "program %s, which calls itself \"%.15s\"", exe, s->comm);
	else if (m->by == SYS_BY_ARGS)
		snprintf(m->why, sizeof(m->why), "arguments like those of the %s %s; program %s", e->title, m->role, exe[0] ? exe : "unknown");
	else if (!exe[0])
		snprintf(m->why, sizeof(m->why), "%s \"%s\"; its program cannot be read", what[m->by], shown);
	else if (m->sure == SYS_SURE_PROGRAM)
		snprintf(m->why, sizeof(m->why), "%s \"%s\" and program %s", what[m->by], shown, exe);
	else if (is_interpreter(s->exe))
		snprintf(m->why, sizeof(m->why), "only %s \"%s\": a script run by %s", what[m->by], shown, exe);
	else
		snprintf(m->why, sizeof(m->why), "only %s \"%s\": program %s is not known as %s", what[m->by], shown, exe, e->title);
	sys_text(m->why, sizeof(m->why), m->why);
}

static bool is_tested(const struct sys_entry *e, const struct sys_process_rule *r)
{
	return e->tested && !r->untested;
}

static void accept(struct sys_match *m, const struct sys_entry *e, const struct sys_process_rule *r, const struct subject *s,
		   enum sys_by by)
{
	m->entry = e;
	m->system = e->name;
	m->role = r->role;
	m->forked_role = r->forked;
	m->tested = is_tested(e, r);
	m->by = by;
	m->sure = program_known(e, s) ? SYS_SURE_PROGRAM : SYS_SURE_NAME;
	if (by <= SYS_BY_ARGV && m->sure == SYS_SURE_NAME && is_interpreter(s->exe))
		m->role = "wrapper";
	name_instance(r, s, m);
	say_why(m, e, s);
}

/* The first rule of an entry that holds on this kind of evidence. */
static const struct sys_process_rule *rule_of(const struct sys_entry *e, const struct subject *s, enum sys_by by, bool files)
{
	for (size_t i = 0; i < e->n_processes; i++) {
		const struct sys_process_rule *r = &e->processes[i];

		if (r->files == files && rule_is_about(r, s, by) && conditions_hold(r, s))
			return r;
	}
	return NULL;
}

/* One kind of evidence over all systems. True when it decided, for a system or for a client. */
static bool decide(const struct systems *db, const struct subject *s, enum sys_by by, struct sys_match *m)
{
	for (size_t i = 0; i < db->n; i++) {
		const struct sys_process_rule *r = rule_of(db->entry[i], s, by, false);

		if (r) {
			accept(m, db->entry[i], r, s, by);
			return true;
		}
	}
	for (size_t i = 0; i < db->n; i++) {
		if (!name_holds(&db->entry[i]->clients, s, by))
			continue;
		m->client_of = db->entry[i]->name;
		snprintf(m->why, sizeof(m->why), "a client or tool of %s", db->entry[i]->title);
		return true;
	}
	return false;
}

/* Arguments that would fit a server under another name: its files will tell (systems_learn). */
static void suspect(const struct systems *db, const struct subject *s, struct sys_match *m)
{
	for (size_t i = 0; i < db->n; i++) {
		const struct sys_process_rule *r = rule_of(db->entry[i], s, SYS_BY_ARGS, true);

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

		if (!r->title.n || !(name_holds(&r->name, s, SYS_BY_COMM) || name_holds(&r->name, s, SYS_BY_ARGV)) ||
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
	prepare(&s, p);
	if (p->forked && p->parent && p->parent->entry) {
		inherit(&s, out);
	} else {
		for (enum sys_by by = SYS_BY_COMM; by <= SYS_BY_ARGS; by++)
			if (decide(db, &s, by, out))
				break;
		if (!out->system && !out->client_of)
			suspect(db, &s, out);
	}
	if (p->container)
		sys_text(out->container, sizeof(out->container), p->container);
	return out->system != NULL;
}

void systems_why(const struct sys_match *m, char *out, size_t size)
{
	snprintf(out, size, "%s%s", m->why, m->system && !m->tested ? "; rules from documentation, never run" : "");
}

static bool is_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool is_in_role(const char *in, const struct sys_match *m)
{
	return !in || (m && m->role && !strcmp(in, m->role));
}

const char *systems_thread_role(const struct sys_match *m, const char *comm)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++) {
		const struct sys_thread_rule *r = &m->entry->threads[i];

		if (r->role && is_in_role(r->in, m) && sys_any(&r->comm, comm))
			return r->role;
	}
	return NULL;
}

static bool thread_rule_holds(const struct sys_thread_rule *r, const struct sys_match *m, const char *comm, const struct sys_use *u)
{
	if (!r->component || (r->direct && !u->direct) || (r->buffered && u->direct) || (r->mixed && !u->mixed))
		return false;
	if (!is_in_role(r->in, m) || (r->of && !is_same(r->of, u->component)))
		return false;
	return (!r->op || (u->op == SYS_READ) == (r->op[0] == 'r')) && sys_any(&r->comm, comm);
}

const char *systems_thread_component(const struct sys_match *m, const char *comm, struct sys_use *u)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++) {
		const struct sys_thread_rule *r = &m->entry->threads[i];

		if (!thread_rule_holds(r, m, comm, u))
			continue;
		u->mixed |= r->buffered;
		return r->component;
	}
	return NULL;
}

bool systems_has_threads(const struct sys_match *m)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++)
		if (m->entry->threads[i].component)
			return true;
	return false;
}

bool systems_threads_tell(const struct systems *db, const char *component)
{
	for (size_t i = 0; component && i < db->n; i++)
		for (size_t n = 0; n < db->entry[i]->n_threads; n++) {
			const struct sys_thread_rule *r = &db->entry[i]->threads[n];

			if (r->component && (!r->of || is_same(r->of, component)))
				return true;
		}
	return false;
}

/* Learned from its files: the process is a server under another name, or one that embeds an engine. */
static void adopt(struct sys_match *m, const struct sys_entry *e, const char *role, bool tested, const char *root)
{
	m->entry = e;
	m->system = e->name;
	m->role = role;
	m->tested = tested;
	m->by = SYS_BY_FILES;
	m->sure = SYS_SURE_FILES;
	m->maybe = NULL;
	sys_text(m->instance, sizeof(m->instance), root);
	snprintf(m->why, sizeof(m->why), "uses %s files in %.180s", e->title, m->instance);
}

static const struct sys_entry *entry_named(const struct systems *db, const char *name)
{
	for (size_t i = 0; name && i < db->n; i++)
		if (!strcmp(db->entry[i]->name, name))
			return db->entry[i];
	return NULL;
}

/* A file of the process's own system: proof, and the name of the instance. */
static bool confirm(struct sys_match *m, const struct sys_file *f)
{
	size_t len = strlen(m->why);

	if (m->sure == SYS_SURE_FILES || f->by != SYS_FILE_ROOT)
		return false;
	m->sure = SYS_SURE_FILES;
	sys_text(m->instance, sizeof(m->instance), f->root);
	snprintf(m->why + len, sizeof(m->why) - len, "; uses %s", m->instance);
	return true;
}

bool systems_learn(const struct systems *db, struct sys_match *m, const struct sys_file *f)
{
	const struct sys_entry *engine;

	engine = is_same(f->engine, f->system) && f->root[0] ? entry_named(db, f->engine) : NULL;
	if (m->system && is_same(m->system, f->system))
		return confirm(m, f);
	if (m->system) {
		/* db_bench and the like are programs of several engines: the files say which */
		if (!engine || !m->entry->engine || m->sure == SYS_SURE_FILES)
			return false;
		adopt(m, engine, m->role, m->tested && engine->tested, f->root);
		return true;
	}
	if (m->client_of || !f->root[0])
		return false;
	if (m->maybe && is_same(m->maybe->name, f->system)) {
		adopt(m, m->maybe, m->maybe_role, m->tested, f->root);
		return true;
	}
	if (!engine)
		return false;
	adopt(m, engine, "embedded", engine->tested, f->root);
	return true;
}

/* --- containers --- */

/* Does one component of a cgroup path name a container? PREFIX, then 64 hex digits (or, with `name`, anything),
 * then SUFFIX. */
static const struct {
	const char *prefix, *suffix;
	bool name;
} container_forms[] = {
	{ "docker-", ".scope", false },
	{ "cri-containerd-", ".scope", false },
	{ "crio-", ".scope", false },
	{ "libpod-", ".scope", false },
	{ "libpod-conmon-", ".scope", false },
	{ "libpod-payload-", "", false },
	{ "", "", false },
	{ "lxc.payload.", "", true },
	{ "machine-", ".scope", true },
};

static bool is_container(const char *part, size_t len, size_t form, char *out)
{
	size_t before = strlen(container_forms[form].prefix), behind = strlen(container_forms[form].suffix);
	const char *id = part + before;
	size_t n = len - before - behind;

	if (len <= before + behind || strncmp(part, container_forms[form].prefix, before) ||
	    strncmp(part + len - behind, container_forms[form].suffix, behind))
		return false;
	if (!container_forms[form].name && (n != 64 || strspn(id, "0123456789abcdef") < n))
		return false;
	copy(out, SYS_CONTAINER_LEN, id, n);
	sys_text(out, SYS_CONTAINER_LEN, out);
	return true;
}

bool systems_container(const char *cgroup, char *out)
{
	bool found = false;

	out[0] = '\0';
	while (*cgroup) {
		size_t len = strcspn(cgroup, "/");

		/* the deepest wins: a container may run containers */
		for (size_t f = 0; f < sizeof(container_forms) / sizeof(container_forms[0]); f++)
			if (len && is_container(cgroup, len, f, out)) {
				found = true;
				break;
			}
		cgroup += len + (cgroup[len] == '/');
	}
	return found;
}

/* The text of a key in a small JSON file that holds an object, or a list of them of which one has this "id". */
static bool name_in(const char *path, const char *id, char *out)
{
	const char *why;
	size_t len;
	char *text = sys_read_small(path, &len, &why);
	cJSON *doc = text ? cJSON_Parse(text) : NULL;
	const cJSON *found = cJSON_IsArray(doc) ? NULL : doc, *name;

	for (const cJSON *e = cJSON_IsArray(doc) ? doc->child : NULL; e && !found; e = e->next) {
		const char *its = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "id"));

		if (its && !strcmp(its, id))
			found = e;
	}
	name = cJSON_GetObjectItemCaseSensitive(found, "Name");
	if (!name)
		name = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(found, "names"), 0);
	if (cJSON_IsString(name))
		sys_text(out, SYS_CONTAINER_LEN, name->valuestring + (name->valuestring[0] == '/'));
	cJSON_Delete(doc);
	free(text);
	return out[0];
}

bool systems_container_name(const char *root, const char *id, char *out)
{
	static const char *const files[] = { "%s/var/lib/docker/containers/%s/config.v2.json",
		"%s/var/lib/containers/storage/overlay-containers/containers.json" };
	char path[4096];

	out[0] = '\0';
	if (strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
		return false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), files[i], root, id);
		if (name_in(path, id, out))
			return true;
	}
	return false;
}
