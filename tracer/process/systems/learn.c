/* SPDX-License-Identifier: GPL-3.0-only */
/* learn.c - learns from the files of a process: they confirm its claim, and their data roots name
 * the instance.
 */
#include <string.h>
#include "match.h"

/* Inserts a root in order. Returns true when it is new. */
static bool add_root(struct sys_match *m, const char *root)
{
	size_t len = strlen(root) + 1, used = 0, at = SYS_ROOTS_LEN;

	while (m->roots[used]) {
		int order = strcmp(root, m->roots + used);

		if (!order)
			return false;
		if (order < 0 && at == SYS_ROOTS_LEN)
			at = used;
		used += strlen(m->roots + used) + 1;
	}
	if (used + len + 1 > SYS_ROOTS_LEN) {
		bool first = !m->more_roots;

		m->more_roots = true;
		return first;
	}
	at = at < used ? at : used;
	memmove(m->roots + at + len, m->roots + at, used - at + 1);
	memcpy(m->roots + at, root, len);
	return true;
}

/* Number of bytes that all roots share at their beginning, and after that at their end. */
static void in_common(const char *roots, size_t *begin, size_t *end)
{
	size_t len = strlen(roots);

	*begin = *end = len;
	for (const char *r = roots; *r; r += strlen(r) + 1) {
		size_t n = 0;

		while (n < *begin && r[n] == roots[n])
			n++;
		*begin = n;
	}
	for (const char *r = roots; *r; r += strlen(r) + 1) {
		size_t n = 0, its = strlen(r), most = its < len ? its : len;

		while (n < *end && n < most - *begin && r[its - 1 - n] == roots[len - 1 - n])
			n++;
		*end = n;
	}
}

/* Names one root as it is, several as /mnt/d{1,2,3,4}/data. */
static void name_by_roots(struct sys_match *m)
{
	size_t begin, end, n = 0;
	char text[SYS_ROOTS_LEN + 64];

	in_common(m->roots, &begin, &end);
	if (!m->roots[strlen(m->roots) + 1]) {
		sys_text(m->instance, sizeof(m->instance), m->roots);
		return;
	}
	n = snprintf(text, sizeof(text), "%.*s{", (int)begin, m->roots);
	for (const char *r = m->roots; *r; r += strlen(r) + 1)
		n += snprintf(text + n, sizeof(text) - n, "%s%.*s", r > m->roots ? "," : "",
			(int)(strlen(r) - begin - end), r + begin);
	snprintf(text + n, sizeof(text) - n, "%s}%s", m->more_roots ? ",..." : "",
		m->roots + strlen(m->roots) - end);
	sys_text(m->instance, sizeof(m->instance), text);
}

/* Adds the root of a file. A path of another mount namespace names no instance here. */
static bool use_root(struct sys_match *m, const struct sys_file *f)
{
	char root[SYS_ROOT_LEN + SYS_CONTAINER_LEN + 8];

	if (m->container[0] && f->where[0])
		snprintf(root, sizeof(root), "%s in %s", f->root, m->container);
	else
		snprintf(root, sizeof(root), "%s%s", f->root, f->where);
	if (!add_root(m, root))
		return false;
	name_by_roots(m);
	return true;
}

/* Adopts the system of its files: the process is a server under another name, or one that embeds an
 * engine. */
static void adopt(struct sys_match *m, const struct sys_entry *e, const char *role, bool tested,
	const struct sys_file *f)
{
	m->entry = e;
	m->system = e->name;
	m->role = role;
	m->tested = tested;
	m->by = SYS_BY_FILES;
	m->sure = SYS_SURE_FILES;
	m->maybe = m->claim = NULL;
	m->roots[0] = m->instance[0] = '\0';
	use_root(m, f);
	snprintf(m->why, sizeof(m->why), "uses %s files in %.180s", e->title, m->instance);
}

static const struct sys_entry *entry_named(const struct systems *db, const char *name)
{
	for (size_t i = 0; name && i < db->n; i++)
		if (!strcmp(db->entry[i]->name, name))
			return db->entry[i];
	return NULL;
}

/* Takes a file of the process's own system as further proof, and for the name of the instance. */
static bool confirm(struct sys_match *m, const struct sys_file *f)
{
	if (f->by != SYS_FILE_ROOT && f->by != SYS_FILE_SIBLING)
		return false;
	if (f->by == SYS_FILE_SIBLING && !m->entry->engine)
		return false;
	if (!use_root(m, f))
		return false;
	m->sure = SYS_SURE_FILES;
	if (m->by == SYS_BY_FILES)
		snprintf(m->why, sizeof(m->why), "uses %s files in %.180s", m->entry->title,
			m->instance);
	return true;
}

/* Rule for a program without a telling name: the first one that holds and has no name, else the
 * first without conditions on it. */
static const struct sys_process_rule *rule_without_name(const struct sys_entry *e,
	const struct subject *s)
{
	const struct sys_process_rule *plain = NULL;

	for (int named = 0; named < 2; named++)
		for (size_t i = 0; i < e->n_processes; i++) {
			const struct sys_process_rule *r = &e->processes[i];

			if (!!r->name.n != named || r->cgroup.n || !conditions_hold(r, s))
				continue;
			if (!named || r->title.n || r->argv.n)
				return r;
			plain = plain ? plain : r;
		}
	return plain;
}

/* Examines the program of an unknown process that writes to a system's data root. */
static bool prove(const struct systems *db, struct sys_match *m, const struct sys_entry *e,
	const struct sys_file *f, uint32_t pid)
{
	const struct sys_process_rule *r = NULL;
	struct sys_match found;
	struct sys_ident id;
	struct subject s;
	enum sys_program program;

	if (!pid || m->refused == e || systems_ident(pid, &id))
		return false;
	program = sys_program_is(db, e, &id.proc);
	if (program != SYS_PROGRAM_GONE)
		m->refused = e;
	if (program == SYS_PROGRAM_YES) {
		subject_prepare(&s, &id.proc);
		r = rule_without_name(e, &s);
	}
	if (r) {
		match_accept(&found, e, r, &s, SYS_BY_FILES, SYS_SURE_FILES);
		memcpy(found.container, m->container, sizeof(found.container));
		*m = found;
		adopt(m, e, r->role, e->tested, f);
	}
	systems_ident_free(&id);
	return r;
}

/* True when a claim, or fitting arguments, suffice: the programs of the system are known by their
 * names alone. */
static bool is_enough(const struct systems *db, const struct sys_entry *e, uint32_t pid)
{
	struct sys_ident id;
	bool hidden = false;

	if (!e->elf.n)
		return true;
	if (pid && !systems_ident(pid, &id)) {
		hidden = sys_program_is(db, e, &id.proc) == SYS_PROGRAM_HIDDEN;
		systems_ident_free(&id);
	}
	return hidden;
}

static bool learn_unknown(const struct systems *db, struct sys_match *m, const struct sys_file *f,
	uint32_t pid)
{
	const struct sys_entry *e = entry_named(db, f->system),
		*said = m->claim ? m->claim : m->maybe;
	const char *role = m->claim ? m->claim_role : m->maybe_role;

	if (said && said == e && f->by == SYS_FILE_ROOT && is_enough(db, e, pid)) {
		adopt(m, e, role, m->tested, f);
		return true;
	}
	if (e && e->elf.n && (f->by == SYS_FILE_ROOT || f->by == SYS_FILE_LAYOUT))
		return prove(db, m, e, f, pid);
	return false;
}

bool systems_learn(const struct systems *db, struct sys_match *m, const struct sys_file *f,
	uint32_t pid)
{
	const struct sys_entry *engine = sys_is_same(f->engine, f->system) && f->root[0] ?
		entry_named(db, f->engine) : NULL;

	if (m->system && sys_is_same(m->system, f->system))
		return confirm(m, f);
	if (m->system) {
		/* db_bench and similar programs belong to several engines: the files tell which */
		if (!engine || !m->entry->engine || m->sure == SYS_SURE_FILES)
			return false;
		adopt(m, engine, m->role, m->tested && engine->tested, f);
		return true;
	}
	if (m->client_of || !f->root[0])
		return false;
	if (learn_unknown(db, m, f, pid))
		return true;
	if (!engine)
		return false;
	adopt(m, engine, "embedded", engine->tested, f);
	return true;
}
