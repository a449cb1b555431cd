/* SPDX-License-Identifier: GPL-3.0-only */
/* files.c - data root of a file, and its component inside it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "roots.h"

#define DEPTH_MAX 64            /* directories examined above a file */

struct place {
	const struct systems *db;
	const char *path;
	const struct sys_match *user;
	struct way way;
	const struct sys_entry *system, *engine;
	dev_t dev;                            /* device of the root that was examined */
	ino_t ino;
	size_t system_root, engine_root;      /* length of the root inside path; 0 for "/" */
	enum sys_file_by by;
	bool looked;                          /* the markers could be examined */
};

/* Walks up from the file's directory to the nearest root of a system and of an engine. */
static void find_roots(struct place *p)
{
	char dir[PATH_BYTES];
	size_t len = strlen(p->path);

	memcpy(dir, p->path, len + 1);
	for (int depth = 0; depth < DEPTH_MAX && len && !(p->system && p->engine); depth++) {
		const struct dir *d;

		while (len && dir[len - 1] != '/')
			len--;
		len -= len > 0;
		dir[len] = '\0';
		d = roots_lookup(p->db, &p->way, len ? dir : "/");
		if ((!p->system && d->system) || (!p->engine && d->engine && !p->system)) {
			p->dev = d->dev;
			p->ino = d->ino;
		}
		if (!p->system && d->system) {
			p->system = d->system;
			p->system_root = len;
			p->by = SYS_FILE_ROOT;
		}
		if (!p->engine && d->engine) {
			p->engine = d->engine;
			p->engine_root = len;
		}
	}
}

static bool has_layout(const struct sys_entry *e, const char *relative)
{
	for (size_t i = 0; i < e->n_roots; i++)
		if (sys_any(&e->roots[i].layout, relative))
			return true;
	return false;
}

static bool layout_at(struct place *p, const struct sys_entry *e, size_t root)
{
	if (e->engine || !has_layout(e, p->path + root + 1))
		return false;
	p->system = e;
	p->system_root = root;
	p->by = SYS_FILE_LAYOUT;
	return true;
}

/* Without markers (directory gone, not readable, in a container) the shape of the path decides:
 * for the system of the process that uses it, or, if that is not known, for any system. */
static void find_layout(struct place *p)
{
	int depth = 0;

	for (size_t i = 0; p->path[i] && depth < DEPTH_MAX; i++) {
		if (p->path[i] != '/')
			continue;
		depth++;
		if (p->user && p->user->entry) {
			if (layout_at(p, p->user->entry, i))
				return;
			continue;
		}
		for (size_t e = 0; e < p->db->n; e++)
			if (layout_at(p, p->db->entry[e], i))
				return;
	}
}

/* Directory of one operation: two levels above a file that a rule marks, and the directory itself
 * of a file that asks. */
static size_t operation(const char *path, int up)
{
	size_t len = strlen(path);

	while (up-- >= 0 && len) {
		while (len && path[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	return len;
}

/* Component by the first rule that holds; NULL: none. *threads is set when only thread names tell
 * more. */
static const char *apply(struct place *p, const struct sys_file_rule *rules, size_t n,
	const char *subject, bool *threads)
{
	for (size_t i = 0; i < n; i++) {
		const struct sys_file_rule *r = &rules[i];

		if (r->in && !(p->user && p->user->role && !strcmp(r->in, p->user->role)))
			continue;
		if (!sys_any(&r->path, subject))
			continue;
		if (r->operation)
			roots_remember(p->db->cache, p->path, operation(p->path, 1));
		if (r->beside && roots_is_remembered(p->db->cache, p->path, operation(p->path, 0)))
			return r->beside;
		*threads = r->threads;
		return r->component;
	}
	return NULL;
}

#define SIBLINGS 16             /* files next to one that are looked for, at most */

/* Files next to one: asked for together, and only when needed. */
struct beside {
	bool asked, file[SIBLINGS];
};

/* Builds the name of the file that makes this one part of a database, or a database, by a rule: X
 * for X-wal, else X-wal for X. Returns the length of X. */
static size_t sibling_name(const char *path, const char *suffix, char *other, size_t room)
{
	size_t whole = strlen(path), n = strlen(suffix);

	if (whole > n && !strcmp(path + whole - n, suffix)) {
		snprintf(other, room, "%.*s", (int)(whole - n), path);
		return whole - n;
	}
	snprintf(other, room, "%s%s", path, suffix);
	return whole;
}

static bool stands_beside(const struct place *p, const struct sys_entry *e, struct beside *b,
	size_t i)
{
	static char paths[SIBLINGS * (PATH_BYTES + 64)];
	char *at = paths;
	size_t n;

	for (n = 0; !b->asked && n < e->n_siblings && n < SIBLINGS; n++) {
		sibling_name(p->path, e->siblings[n].suffix, at, PATH_BYTES + 64);
		at += strlen(at) + 1;
	}
	if (n)
		roots_are_files(p->db, &p->way, paths, at - paths, b->file, n);
	b->asked = true;
	return i < SIBLINGS && b->file[i];
}

/* Recognises an engine by the files next to its database X: X-wal, X-journal. Returns the
 * component; NULL: none. *len is the length of X. */
static const char *sibling(const struct place *p, const struct sys_entry *e, size_t *len)
{
	struct beside b = { false };
	char other[PATH_BYTES + 64];

	for (size_t i = 0; i < e->n_siblings; i++) {
		const struct sys_sibling_rule *s = &e->siblings[i];

		*len = sibling_name(p->path, s->suffix, other, sizeof(other));
		if (!roots_is_remembered(p->db->cache, p->path, *len) &&
		    !stands_beside(p, e, &b, i))
			continue;
		roots_remember(p->db->cache, p->path, *len);
		return p->path[*len] ? s->component : e->main;
	}
	return NULL;
}

/* Names the root as it is called here: below the root of its user, or told from the same path
 * elsewhere. */
static void set_root(const struct place *p, struct sys_file *out, size_t len)
{
	bool away = p->way.to == WAY_AWAY, jailed = away && p->way.same_mounts;
	char root[2 * PATH_BYTES];

	snprintf(root, sizeof(root), "%s%.*s", jailed ? p->way.jail : "",
		(int)(len || jailed ? len : 1), p->path);
	if (strlen(root) < sizeof(out->root))
		sys_text(out->root, sizeof(out->root), root);
	if (away && !jailed && p->ino)
		snprintf(out->where, sizeof(out->where), " [%u:%u %llu]", major(p->dev),
			minor(p->dev), (unsigned long long)p->ino);
}

static void use_system(struct place *p, struct sys_file *out)
{
	out->system = p->system->name;
	out->tested = p->system->tested;
	out->by = p->by;
	set_root(p, out, p->system_root);
	out->component = apply(p, p->system->files, p->system->n_files,
		p->path + p->system_root + 1, &out->threads);
}

/* Recognises an engine's own files. They belong to the system in whose root they lie, else to the
 * engine itself. */
static void use_engine(struct place *p, struct sys_file *out)
{
	bool threads = false;
	const char *component = apply(p, p->engine->files, p->engine->n_files,
		p->path + p->engine_root + 1, &threads);

	if (!component)
		return;
	out->engine = p->engine->name;
	if (!out->component) {
		out->component = component;
		out->threads = threads;
	}
	if (out->system)
		return;
	out->system = p->engine->name;
	out->tested = p->engine->tested;
	out->by = SYS_FILE_ROOT;
	set_root(p, out, p->engine_root);
}

static void use_siblings(struct place *p, struct sys_file *out)
{
	for (size_t i = 0; i < p->db->n; i++) {
		const struct sys_entry *e = p->db->entry[i];
		size_t len;
		const char *component = sibling(p, e, &len);

		if (!component)
			continue;
		out->engine = e->name;
		out->component = component;
		out->main = p->path[len] ? len : 0;
		if (out->system)
			return;
		out->system = e->name;
		out->tested = e->tested;
		out->by = SYS_FILE_SIBLING;
		set_root(p, out, len);
		return;
	}
}

/* Recognises absolute paths that a system's processes use outside any root: devices, temporary
 * files, logs. */
static void use_user(struct place *p, struct sys_file *out)
{
	const struct sys_match *m = p->user;
	bool threads = false;
	const char *component = m && m->entry ? apply(p, m->entry->paths, m->entry->n_paths,
		p->path, &threads) : NULL;

	if (!component)
		return;
	out->component = component;
	out->threads = threads;
	if (out->system)
		return;
	out->system = m->system;
	out->tested = m->tested;
	out->by = SYS_FILE_USER;
}

static void cut_deleted(char *path)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(path), n = sizeof(gone) - 1;

	if (len > n && !strcmp(path + len - n, gone))
		path[len - n] = '\0';
}

bool systems_file(struct systems *db, const char *path, struct sys_view view,
	const struct sys_match *user, struct sys_file *out)
{
	struct place p = { .db = db, .user = user };
	char copy[PATH_BYTES];

	memset(out, 0, sizeof(*out));
	if (path[0] != '/' || strlen(path) >= sizeof(copy))
		return false;
	strcpy(copy, path);
	cut_deleted(copy);
	p.path = copy;
	way_find(db->cache, view, &p.way);
	find_roots(&p);
	if (way_is_over(db->cache)) {
		way_find(db->cache, view, &p.way);
		find_roots(&p);
	}
	if (!p.system)
		find_layout(&p);
	if (p.system)
		use_system(&p, out);
	if (p.engine)
		use_engine(&p, out);
	if (!out->component)
		use_user(&p, out);
	if (!out->component)
		use_siblings(&p, out);
	return out->system || out->component;
}
