/* SPDX-License-Identifier: GPL-3.0-only */
/* load.c - loads the rules of all systems: built in, from the machine's directory, from files of
 * the user.
 */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fail.h"
#include "keys.h"

/* The built-in rules are part of the executable. */
__asm__(".pushsection .rodata\n"
	".globl systems_json\n"
	"systems_json: .incbin \"tracer/process/systems/systems.json\"\n"
	".byte 0\n"
	".popsection\n");
extern const char systems_json[];

static bool answers_to(const struct sys_entry *e, const char *name)
{
	if (!strcmp(e->name, name))
		return true;
	for (size_t i = 0; i < e->aliases.n; i++)
		if (!strcmp(e->aliases.s[i], name))
			return true;
	return false;
}

static const struct sys_entry *known_as(const struct systems *db, const char *name, const char *but)
{
	for (size_t i = 0; i < db->n; i++)
		if (strcmp(db->entry[i]->name, but) && answers_to(db->entry[i], name))
			return db->entry[i];
	return NULL;
}

/* Adds an entry to the set, which owns it on success. An entry of the same name is replaced. */
static int install(struct systems *db, struct where *w, struct sys_entry *e)
{
	const struct sys_entry *other = known_as(db, e->name, e->name);
	const char *clash = e->name;
	size_t at;

	for (size_t i = 0; i < e->aliases.n && !other; i++)
		other = known_as(db, clash = e->aliases.s[i], e->name);
	if (other)
		return keys_fail(w, EEXIST, "the name \"%s\" already belongs to system %s", clash,
			other->name);
	for (at = 0; at < db->n && strcmp(db->entry[at]->name, e->name); at++)
		;
	if (at == SYS_ENTRIES)
		return keys_fail(w, E2BIG, "more than %u systems", SYS_ENTRIES);
	if (at < db->n) {
		db->tokens -= db->entry[at]->tokens;
		keys_free_entry(db->entry[at]);
	} else {
		db->n++;
	}
	sys_cache_forget(db->cache);
	db->entry[at] = e;
	db->tokens += e->tokens;
	return 0;
}

/* Reads all entries first, so that a file with an error changes nothing. */
static int add_entries(struct systems *db, struct where *w, const cJSON *list)
{
	size_t n = 0, total = keys_list_length(list);
	struct sys_entry *fresh[SYS_ENTRIES] = { NULL };
	int err = 0;

	if (total > SYS_ENTRIES)
		return keys_fail(w, E2BIG, "\"systems\" has more than %u entries", SYS_ENTRIES);
	w->tokens_left = SYS_TOKENS - db->tokens;
	for (const cJSON *e = list->child; e && !err; e = e->next, n++) {
		err = keys_read_entry(w, e, n, &fresh[n]);
		for (size_t i = 0; i < n && !err; i++)
			if (!strcmp(fresh[i]->name, fresh[n]->name))
				err = keys_fail(w, EEXIST,
					"the file holds two systems of this name");
		w->tokens_left -= err ? 0 : w->tokens;
	}
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(w->entry, sizeof(w->entry), "'%s'", fresh[i]->name);
		err = install(db, w, fresh[i]);
		if (!err)
			fresh[i] = NULL;
	}
	for (size_t i = 0; i < SYS_ENTRIES; i++)
		keys_free_entry(fresh[i]);
	return err;
}

static int add_document(struct systems *db, struct where *w, const cJSON *doc)
{
	const cJSON *list = NULL;

	if (!cJSON_IsObject(doc))
		return keys_fail(w, EINVAL, "wants an object with the key \"systems\", not %s",
			keys_type_name(doc));
	for (const cJSON *e = doc->child; e; e = e->next) {
		if (!strcmp(e->string, "doc"))
			continue;
		if (strcmp(e->string, "systems"))
			return keys_fail(w, EINVAL, "%.40s: unknown key", e->string);
		if (list)
			return keys_fail(w, EINVAL, "systems: the key is given twice");
		list = e;
	}
	if (!cJSON_IsArray(list))
		return keys_fail(w, EINVAL, "wants the key \"systems\" with a list");
	return add_entries(db, w, list);
}

/* Line and column of a position in a text, from 1. */
static void place(const char *text, const char *at, unsigned *line, unsigned *column)
{
	*line = *column = 1;
	for (; text < at && *text; text++) {
		*column = *text == '\n' ? 1 : *column + 1;
		*line += *text == '\n';
	}
}

static int add_text(struct systems *db, const char *name, const char *text, size_t len)
{
	struct where w = { .file = name };
	const char *end = text;
	unsigned line, column;
	cJSON *doc;
	int err;

	if (memchr(text, '\0', len) || strstr(text, "\\u0000"))
		return keys_fail(&w, EINVAL, "holds a NUL byte");
	errno = 0;
	doc = cJSON_ParseWithOpts(text, &end, true);
	if (!doc && errno == ENOMEM)
		return keys_fail(&w, ENOMEM, "out of memory");
	if (!doc) {
		place(text, end, &line, &column);
		return keys_fail(&w,
			EINVAL,
			"near line %u, column %u: not JSON from here on (or nested more than %d deep)", line, column,
			       CJSON_NESTING_LIMIT);
	}
	err = add_document(db, &w, doc);
	cJSON_Delete(doc);
	if (err == -ENOMEM)
		keys_fail(&w, ENOMEM, "out of memory");
	return err;
}

int systems_add_file(struct systems *db, const char *path)
{
	struct where w = { .file = path };
	const char *why;
	size_t len;
	char *text = sys_read_small(path, &len, &why);
	int err;

	if (!text)
		return keys_fail(&w, EINVAL, "cannot read: %s", why);
	err = add_text(db, path, text, len);
	free(text);
	return err;
}

static int is_rule_file(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 5 && !strcmp(d->d_name + len - 5, ".json");
}

int systems_add_dir(struct systems *db, const char *dir)
{
	struct where w = { .file = dir };
	struct dirent **list;
	int n = scandir(dir, &list, is_rule_file, alphasort), err = 0;
	char path[4096];

	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0)
		return keys_fail(&w, errno, "cannot read the folder: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (!err)
			err = systems_add_file(db, path);
		free(list[i]);
	}
	free(list);
	return err;
}

int systems_builtin(struct systems **out)
{
	struct systems *db = calloc(1, sizeof(*db));
	int err = -ENOMEM;

	*out = NULL;
	if (db)
		db->cache = sys_cache_new();
	if (db)
		db->programs = sys_programs_new();
	if (db && db->cache && db->programs)
		err = add_text(db, "built-in rules", systems_json, strlen(systems_json));
	else
		fail(ENOMEM, "rules of storage systems");
	if (err) {
		systems_close(db);
		return err;
	}
	sys_process_serve();
	sys_look_serve();
	sys_program_serve(db);
	sys_roots_serve(db);
	*out = db;
	return 0;
}

int systems_open(struct systems **out, const char *const *files, size_t n)
{
	int err = systems_builtin(out);

	if (!err)
		err = systems_add_dir(*out, SYSTEMS_DIR);
	for (size_t i = 0; i < n && !err; i++)
		err = systems_add_file(*out, files[i]);
	if (!err)
		return 0;
	systems_close(*out);
	*out = NULL;
	return err;
}

void systems_close(struct systems *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->n; i++)
		keys_free_entry(db->entry[i]);
	sys_cache_free(db->cache);
	free(db->programs);
	free(db);
}

const char *systems_name(const struct systems *db, const char *name)
{
	const struct sys_entry *e = known_as(db, name, "");

	return e ? e->name : NULL;
}

const struct sys_about *systems_about(const struct systems *db, size_t i)
{
	return i < db->n ? &db->entry[i]->about : NULL;
}
