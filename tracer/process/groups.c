// SPDX-License-Identifier: GPL-3.0-only
/* groups.c - finds control groups in the two hierarchies that the kernel side knows: version 2, and
 * the memory controller of version 1. On a machine that runs both, containers and units may be in
 * either.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "clean.h"
#include "groups.h"
#include "mounts.h"
#include "systems/systems.h"
#include "tracer.h"

/* Mount point of a hierarchy; "": not mounted. */
struct hierarchy {
	char at[PATH_MAX];
	u32 version;
};

static bool is_version_2(void *arg, const struct mount *m)
{
	struct hierarchy *h = arg;

	if (strcmp(m->fs, "cgroup2") || strlen(m->at) >= sizeof(h->at))
		return false;
	strcpy(h->at, m->at);
	return true;
}

/* True when a list of words, divided by commas, has this word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

static bool is_memory_1(void *arg, const struct mount *m)
{
	struct hierarchy *h = arg;

	if (strcmp(m->fs, "cgroup") || !has_word(m->options, "memory") ||
	    strlen(m->at) >= sizeof(h->at))
		return false;
	strcpy(h->at, m->at);
	return true;
}

#define HIERARCHIES 2
#define FILEID_KERNFS 0xfe      /* linux/exportfs.h */

static void hierarchies_find(struct hierarchy h[HIERARCHIES])
{
	h[0] = (struct hierarchy){ .version = 2 };
	h[1] = (struct hierarchy){ .version = 1 };
	mounts_find_ours(is_version_2, &h[0]);
	mounts_find_ours(is_memory_1, &h[1]);
}

static int keep_group(struct groups *g, u32 version, const char *path, u64 id)
{
	struct wanted_group *list;

	if (g->n == MAX_GROUPS)
		return fail_usage("more than %d control groups", MAX_GROUPS);
	list = realloc(g->list, (g->n + 1) * sizeof(*list));
	if (!list)
		return fail(ENOMEM, "control groups");
	g->list = list;
	list[g->n].id = id | (version == 1 ? IOT_GROUP_1 : 0);
	snprintf(list[g->n].path, sizeof(list[g->n].path), "%s", *path ? path : "/");
	g->n++;
	return 0;
}

/* --- by path --- */

static int add_path(struct groups *g, const struct hierarchy h[HIERARCHIES], const char *name)
{
	char path[3 * PATH_MAX];
	size_t before = g->n, len = strlen(name);
	struct stat s;
	int err = 0;

	while (len && name[len - 1] == '/')
		len--;
	for (int i = 0; i < HIERARCHIES && !err; i++) {
		size_t root = strlen(h[i].at);
		bool whole = root && !strncmp(name, h[i].at, root) &&
			(name[root] == '/' || !name[root]);

		if (!root)
			continue;
		snprintf(path, sizeof(path), "%s%s%.*s", whole ? "" : h[i].at,
			whole || *name == '/' ? "" : "/", (int)len, name);
		if (!stat(path, &s) && S_ISDIR(s.st_mode))
			err = keep_group(g, h[i].version, path + root, s.st_ino);
	}
	if (err || g->n > before)
		return err;
	if (!h[0].at[0] && !h[1].at[0])
		return fail_usage("no hierarchy of control groups is mounted");
	return fail_usage("there is no control group '%s' below %s%s%s", name, h[0].at,
		h[0].at[0] && h[1].at[0] ? " or " : "", h[1].at);
}

/* --- by contents --- */

#define NAMES_SHOWN 2048        /* bytes of the names shown in a message */

struct search {
	struct groups *groups;
	enum group_kind kind;
	const char *name;
	char found[NAMES_SHOWN]; /* names of other containers or units, for the message */
	bool more;
	char id[SYS_CONTAINER_LEN]; /* container that the leading digits belong to; "": none */
	bool several;           /* the digits fit several containers */
};

/* First process in a control group; 0: it is empty. */
static u32 first_process(const char *folder)
{
	char path[PATH_MAX + 32];
	auto_fclose FILE *f = NULL;
	unsigned int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	f = fopen(path, "re");
	return f && fscanf(f, "%u", &pid) == 1 ? pid : 0;
}

static void name_other(struct search *s, const char *name)
{
	size_t len = strlen(s->found), more = strlen(name);
	const char *at = s->found;

	while ((at = strstr(at, name)))
		if ((at == s->found || at[-1] == ' ') && (!at[more] || at[more] == ','))
			return;
		else
			at++;
	if (len + more + 3 > sizeof(s->found))
		s->more = true;
	else
		sprintf(s->found + len, "%s%s", len ? ", " : "", name);
}

/* True when the last part of a path begins the container that the whole path is in. Groups below it
 * belong to the container too. */
static bool begins_container(const char *path, char id[SYS_CONTAINER_LEN])
{
	char above[PATH_MAX], other[SYS_CONTAINER_LEN];
	const char *last = strrchr(path, '/');

	if (!last || !systems_container(path, id))
		return false;
	snprintf(above, sizeof(above), "%.*s", (int)(last - path), path);
	return !systems_container(above, other) || strcmp(other, id);
}

static bool is_container(struct search *s, const char *folder, const char *path)
{
	char id[SYS_CONTAINER_LEN], name[SYS_CONTAINER_LEN];
	size_t len = strlen(s->name);

	if (!begins_container(path, id))
		return false;
	if (!systems_container_name("", id, first_process(folder), name))
		strcpy(name, id);
	if (!strcmp(name, s->name) || !strcmp(id, s->name))
		return true;
	name_other(s, name);
	if (len < 4 || strspn(s->name, "0123456789abcdef") != len || strncmp(id, s->name, len))
		return false;
	s->several |= s->id[0] && strcmp(s->id, id);
	strcpy(s->id, id);
	return true;
}

static bool is_unit(struct search *s, const char *path)
{
	static const char *const kinds[] = { ".service", ".scope", ".slice", ".socket", ".mount",
		".swap", NULL };
	const char *unit = strrchr(path, '/'), *dot;
	size_t len = strlen(s->name);

	unit = unit ? unit + 1 : path;
	dot = strrchr(unit, '.');
	for (int i = 0; dot && kinds[i]; i++) {
		if (strcmp(dot, kinds[i]))
			continue;
		if (!strcmp(unit, s->name) || (!i && !strncmp(unit, s->name, len) &&
		    unit + len == dot))
			return true;
		if (!i)
			name_other(s, unit);
	}
	return false;
}

static int search_hierarchy(struct search *s, const struct hierarchy *h)
{
	char *const roots[] = { (char *)h->at, NULL };
	FTS *walk = h->at[0] ? fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL) : NULL;
	size_t root = strlen(h->at);
	FTSENT *e;
	int err = 0;

	while (walk && !err && (e = fts_read(walk))) {
		if (e->fts_info != FTS_D || strlen(e->fts_path) >= PATH_MAX)
			continue;
		if (s->kind == GROUP_CONTAINER ? is_container(s, e->fts_path, e->fts_path + root) :
		    is_unit(s, e->fts_path + root)) {
			err = keep_group(s->groups, h->version, e->fts_path + root,
				e->fts_statp->st_ino);
			fts_set(walk, e, FTS_SKIP); /* its descendants are wanted with it */
		}
	}
	if (walk)
		fts_close(walk);
	return err;
}

static int add_named(struct groups *g, const struct hierarchy h[HIERARCHIES], enum group_kind kind,
	const char *name)
{
	struct search s = { .groups = g, .kind = kind, .name = name };
	const char *what = kind == GROUP_CONTAINER ? "container" : "unit";
	size_t before = g->n;
	int err = 0;

	for (int i = 0; i < HIERARCHIES && !err; i++)
		err = search_hierarchy(&s, &h[i]);
	if (s.several)
		return fail_usage("the ids of several containers begin with '%s': give more of it, or a name (there are %s)", name, s.found);
	if (err || g->n > before)
		return err;
	if (!s.found[0])
		return fail_usage("no %s '%s' runs here, nor any other that a control group shows",
			what, name);
	return fail_usage("no %s '%s' runs here; there %s %s%s", what, name,
		strchr(s.found, ',') ? "are" : "is", s.found, s.more ? " and others" : "");
}

int groups_add(struct groups *g, enum group_kind kind, const char *name)
{
	struct hierarchy h[HIERARCHIES];

	if (!*name)
		return fail_usage(
			"the name of a control group, container or unit must not be empty");
	hierarchies_find(h);
	return kind == GROUP_PATH ? add_path(g, h, name) : add_named(g, h, kind, name);
}

/* --- by process --- */

/* Path of a group by its id, found as systemd does for version 2: kernfs makes a file handle from
 * the id alone (kernfs_fh_to_dentry()). */
static bool path_by_id(const struct hierarchy *h, u64 id, char *text, size_t size)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} handle = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	auto_close int mount = h->at[0] && id ? open(h->at, O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
		-1;
	auto_close int fd = -1;
	char link[64], path[2 * PATH_MAX];
	size_t root = strlen(h->at);
	ssize_t len;

	memcpy(handle.h.f_handle, &id, sizeof(id));
	fd = mount < 0 ? -1 : open_by_handle_at(mount, &handle.h, O_PATH | O_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (len < (ssize_t)root || strncmp(path, h->at, root))
		return false;
	path[len] = '\0';
	return snprintf(text, size, "%s", path[root] ? path + root : "/") < (int)size;
}

const char *groups_path(uint64_t id, uint64_t memory_id, char *text, size_t size)
{
	static struct hierarchy h[HIERARCHIES];
	bool known;

	if (!h[0].version)
		hierarchies_find(h);
	known = path_by_id(&h[0], id, text, size);
	if (known && strcmp(text, "/"))
		return text;
	return path_by_id(&h[1], memory_id, text, size) || (known && strcpy(text, "/")) ? text :
		NULL;
}
