/* SPDX-License-Identifier: GPL-3.0-only */
/* keys.c - reads one system's rules from JSON. Every key is a row of a table; a key without a row
 * is an error.
 *
 * To add a key: a member in rules.h, a row in the table of its object here, a line in
 * iot-systems.5.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "keys.h"
#include "out.h"

enum key_type { KEY_NOTE, KEY_NAME, KEY_TEXT, KEY_BOOL, KEY_NOT, KEY_COMPONENT, KEY_OP,
	KEY_PATTERNS, KEY_PATHS, KEY_STRINGS, KEY_RULES };

struct object;

struct key {
	const char *name;
	enum key_type type;
	bool required;
	size_t off;                      /* offset of the member */
	size_t off_n;                    /* KEY_RULES: offset of the member that counts them */
	const struct object *rule;       /* KEY_RULES: type of one rule */
};

struct object {
	const char *what;
	size_t size, n;
	const struct key *keys;
};

#define OPT(type, kind, name) { #name, kind, false, offsetof(struct type, name), 0, NULL }
#define REQ(type, kind, name) { #name, kind, true, offsetof(struct type, name), 0, NULL }
#define LIST(name, rule) { #name, KEY_RULES, false, offsetof(struct sys_entry, name), \
		offsetof(struct sys_entry, n_##name), rule }
/* The key is true unless given as false; the member is its negation. */
#define NOT(type, name, member) { #name, KEY_NOT, false, offsetof(struct type, member), 0, NULL }
#define NOTE { "doc", KEY_NOTE, false, 0, 0, NULL }
#define OBJECT(text, type, keys) { text, sizeof(struct type), sizeof(keys) / sizeof(keys[0]), keys }

static const struct key process_keys[] = {
	NOTE,
	OPT(sys_process_rule, KEY_PATTERNS, name),
	OPT(sys_process_rule, KEY_PATTERNS, title),
	OPT(sys_process_rule, KEY_PATTERNS, argv),
	OPT(sys_process_rule, KEY_PATHS, cgroup),
	OPT(sys_process_rule, KEY_PATTERNS, env),
	OPT(sys_process_rule, KEY_STRINGS, instance),
	OPT(sys_process_rule, KEY_BOOL, files),
	NOT(sys_process_rule, tested, untested),
	OPT(sys_process_rule, KEY_NAME, forked),
	REQ(sys_process_rule, KEY_NAME, role),
};

static const struct key thread_keys[] = {
	NOTE,
	REQ(sys_thread_rule, KEY_PATTERNS, comm),
	OPT(sys_thread_rule, KEY_NAME, role),
	OPT(sys_thread_rule, KEY_NAME, in),
	OPT(sys_thread_rule, KEY_COMPONENT, component),
	OPT(sys_thread_rule, KEY_COMPONENT, of),
	OPT(sys_thread_rule, KEY_OP, op),
	OPT(sys_thread_rule, KEY_BOOL, direct),
	OPT(sys_thread_rule, KEY_BOOL, buffered),
	OPT(sys_thread_rule, KEY_BOOL, mixed),
};

static const struct key root_keys[] = {
	NOTE,
	OPT(sys_root_rule, KEY_STRINGS, all),
	OPT(sys_root_rule, KEY_PATHS, layout),
};

static const struct key file_keys[] = {
	NOTE,
	REQ(sys_file_rule, KEY_PATHS, path),
	REQ(sys_file_rule, KEY_COMPONENT, component),
	OPT(sys_file_rule, KEY_COMPONENT, beside),
	OPT(sys_file_rule, KEY_BOOL, operation),
	OPT(sys_file_rule, KEY_BOOL, threads),
	OPT(sys_file_rule, KEY_NAME, in),
};

static const struct key sibling_keys[] = {
	NOTE,
	REQ(sys_sibling_rule, KEY_NAME, suffix),
	REQ(sys_sibling_rule, KEY_COMPONENT, component),
};

static const struct object process_rule = OBJECT("process rule", sys_process_rule, process_keys);
static const struct object thread_rule = OBJECT("thread rule", sys_thread_rule, thread_keys);
static const struct object root_rule = OBJECT("root rule", sys_root_rule, root_keys);
static const struct object file_rule = OBJECT("file rule", sys_file_rule, file_keys);
static const struct object sibling_rule = OBJECT("sibling rule", sys_sibling_rule, sibling_keys);

static const struct key entry_keys[] = {
	NOTE,
	REQ(sys_entry, KEY_NAME, name),
	REQ(sys_entry, KEY_TEXT, title),
	REQ(sys_entry, KEY_BOOL, tested),
	OPT(sys_entry, KEY_STRINGS, aliases),
	OPT(sys_entry, KEY_BOOL, engine),
	OPT(sys_entry, KEY_PATTERNS, clients),
	OPT(sys_entry, KEY_PATTERNS, programs),
	OPT(sys_entry, KEY_STRINGS, elf),
	OPT(sys_entry, KEY_COMPONENT, main),
	LIST(processes, &process_rule),
	LIST(threads, &thread_rule),
	LIST(roots, &root_rule),
	LIST(files, &file_rule),
	LIST(paths, &file_rule),
	LIST(siblings, &sibling_rule),
};

static const struct object entry_object = OBJECT("system", sys_entry, entry_keys);

static const char *const component_names[] = {
#define COMPONENT(sym, name, doc) name,
#include "components.def"
};

void sys_text(char *to, size_t size, const char *from)
{
	size_t n = from ? strnlen(from, size - 1) : 0;

	if (n)
		memmove(to, from, n);
	to[n] = '\0';
}

__attribute__((format(printf, 1, 2)))
static void put_message(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out_message(program_invocation_short_name, NULL, format, args);
	va_end(args);
}

int keys_fail(const struct where *w, int error, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_message("%s: %s%s%s%s%s", w->file, w->entry[0] ? "system " : "", w->entry,
		w->entry[0] ? ": " : "", w->key, text);
	return -error;
}

const char *keys_type_name(const cJSON *j)
{
	return cJSON_IsString(j) ? "text" : cJSON_IsBool(j) ? "true or false" :
		cJSON_IsNumber(j) ? "a number" : cJSON_IsArray(j) ? "a list" : cJSON_IsObject(j) ?
			"an object" : "null";
}

static bool is_name(const char *s)
{
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return len && len <= 40 && !s[len];
}

static int keep(char **to, const char *s)
{
	*to = strdup(s);
	return *to ? 0 : -ENOMEM;
}

static int read_component(const struct where *w, const cJSON *j, const char **to)
{
	for (size_t i = 0; i < sizeof(component_names) / sizeof(component_names[0]); i++) {
		if (!strcmp(component_names[i], j->valuestring)) {
			*to = component_names[i];
			return 0;
		}
	}
	return keys_fail(w, EINVAL, "\"%.40s\" is no component (iot-systems(5) lists them)",
		j->valuestring);
}

static int read_pattern(struct where *w, const char *text, bool path, struct pattern **to)
{
	const char *why;

	*to = pattern_new(text, path, &why);
	if (!*to)
		return keys_fail(w, EINVAL, "pattern \"%.60s\": %s", text, why);
	w->tokens += pattern_tokens(*to);
	if (w->tokens > w->tokens_left)
		return keys_fail(w, E2BIG,
			"the patterns are too many: all systems together may have %u states",
			SYS_TOKENS);
	return 0;
}

size_t keys_list_length(const cJSON *j)
{
	size_t n = 0;

	for (const cJSON *e = j->child; e && n <= SYS_LIST; e = e->next)
		n++;
	return n;
}

/* Reads a text, or a list of texts. */
static int read_texts(struct where *w, const cJSON *j, enum key_type type, void *to)
{
	struct sys_patterns *patterns = to;
	struct sys_strings *strings = to;
	bool one = cJSON_IsString(j);
	size_t n = one ? 1 : keys_list_length(j);

	if (!n || n > SYS_LIST)
		return keys_fail(w, EINVAL, "has %s elements", n ? "more than 512" : "no");
	patterns->p = calloc(n, sizeof(void *));
	if (!patterns->p)
		return -ENOMEM;
	for (const cJSON *e = one ? j : j->child; e; e = one ? NULL : e->next) {
		int err;

		if (!cJSON_IsString(e))
			return keys_fail(w, EINVAL, "wants text in its list, not %s",
				keys_type_name(e));
		if (strlen(e->valuestring) > PATTERN_MAX)
			return keys_fail(w, EINVAL, "has a text of more than 512 bytes");
		err = type == KEY_STRINGS ? keep(&strings->s[strings->n], e->valuestring) :
			read_pattern(w, e->valuestring, type == KEY_PATHS,
				&patterns->p[patterns->n]);
		patterns->n += !!patterns->p[patterns->n];
		if (err)
			return err;
	}
	return 0;
}

static int read_object(struct where *w, const cJSON *j, const struct object *object, void *to);

static int read_rules(struct where *w, const cJSON *j, const struct key *key, void *to)
{
	char **rules = (char **)((char *)to + key->off);
	size_t *count = (size_t *)((char *)to + key->off_n), n = keys_list_length(j);

	if (n > SYS_LIST)
		return keys_fail(w, E2BIG, "has more than 512 elements");
	*rules = calloc(n ? n : 1, key->rule->size);
	if (!*rules)
		return -ENOMEM;
	for (const cJSON *e = j->child; e; e = e->next) {
		size_t at = (*count)++;
		int err;

		snprintf(w->key, sizeof(w->key), "%s[%zu]", key->name, at);
		err = read_object(w, e, key->rule, *rules + at * key->rule->size);
		if (err)
			return err;
	}
	return 0;
}

static bool right_type(const cJSON *j, enum key_type type)
{
	switch (type) {
	case KEY_NOTE:
	case KEY_NAME:
	case KEY_TEXT:
	case KEY_COMPONENT:
	case KEY_OP:
		return cJSON_IsString(j);
	case KEY_BOOL:
	case KEY_NOT:
		return cJSON_IsBool(j);
	case KEY_PATTERNS:
	case KEY_PATHS:
	case KEY_STRINGS:
		return cJSON_IsString(j) || cJSON_IsArray(j);
	case KEY_RULES:
		return cJSON_IsArray(j);
	}
	return false;
}

static int read_value(struct where *w, const cJSON *j, const struct key *key, void *object)
{
	static const char *const wanted[] = { "text", "text", "text", "true or false",
		"true or false", "text", "text", "text or a list of texts",
		"text or a list of texts", "text or a list of texts", "a list" };
	char *to = (char *)object + key->off;

	if (!right_type(j, key->type))
		return keys_fail(w, EINVAL, "wants %s, not %s", wanted[key->type],
			keys_type_name(j));
	switch (key->type) {
	case KEY_NOTE:
		return 0;
	case KEY_NAME:
		if (!is_name(j->valuestring))
			return keys_fail(w, EINVAL,
				"\"%.40s\" is no name: 1 to 40 of a-z 0-9 _ . -", j->valuestring);
		return keep((char **)to, j->valuestring);
	case KEY_TEXT:
		if (strlen(j->valuestring) > PATTERN_MAX)
			return keys_fail(w, EINVAL, "is longer than 512 bytes");
		return keep((char **)to, j->valuestring);
	case KEY_BOOL:
		*(bool *)to = cJSON_IsTrue(j);
		return 0;
	case KEY_NOT:
		*(bool *)to = cJSON_IsFalse(j);
		return 0;
	case KEY_COMPONENT:
		return read_component(w, j, (const char **)to);
	case KEY_OP:
		if (strcmp(j->valuestring, "read") && strcmp(j->valuestring, "write"))
			return keys_fail(w, EINVAL, "wants \"read\" or \"write\", not \"%.40s\"",
				j->valuestring);
		return keep((char **)to, j->valuestring);
	case KEY_PATTERNS:
	case KEY_PATHS:
	case KEY_STRINGS:
		return read_texts(w, j, key->type, to);
	case KEY_RULES:
		return read_rules(w, j, key, object);
	}
	return -EINVAL;
}

static const struct key *find_key(const struct object *object, const char *name)
{
	for (size_t i = 0; i < object->n; i++)
		if (!strcmp(object->keys[i].name, name))
			return &object->keys[i];
	return NULL;
}

static int read_members(struct where *w, const cJSON *j, const struct object *object, void *to,
	u_int64_t *seen)
{
	char outer[48];
	int err;

	snprintf(outer, sizeof(outer), "%.40s", w->key);
	for (const cJSON *e = j->child; e; e = e->next) {
		const struct key *key = find_key(object, e->string);
		u_int64_t bit = key ? 1ull << (key - object->keys) : 0;

		snprintf(w->key, sizeof(w->key), "%.40s%s%.40s: ", outer, outer[0] ? "." : "",
			e->string);
		if (!key)
			return keys_fail(w, EINVAL, "unknown key in a %s", object->what);
		if (*seen & bit)
			return keys_fail(w, EINVAL, "the key is given twice");
		*seen |= bit;
		err = read_value(w, e, key, to);
		if (err)
			return err;
	}
	snprintf(w->key, sizeof(w->key), "%s%s", outer, outer[0] ? ": " : "");
	return 0;
}

static int read_object(struct where *w, const cJSON *j, const struct object *object, void *to)
{
	u_int64_t seen = 0;
	int err;

	if (!cJSON_IsObject(j)) {
		return keys_fail(w, EINVAL, "%sa %s is an object, not %s", w->key[0] ? ": " : "",
			object->what, keys_type_name(j));
	}
	err = read_members(w, j, object, to, &seen);
	if (err)
		return err;
	for (size_t i = 0; i < object->n; i++)
		if (object->keys[i].required && !(seen >> i & 1))
			return keys_fail(w, EINVAL, "the key \"%s\" is missing",
				object->keys[i].name);
	return 0;
}

static void free_object(const struct object *object, void *of)
{
	for (size_t i = 0; i < object->n; i++) {
		const struct key *key = &object->keys[i];
		char *at = (char *)of + key->off;
		struct sys_patterns *patterns = (void *)at;
		struct sys_strings *strings = (void *)at;

		if (key->type == KEY_NAME || key->type == KEY_TEXT || key->type == KEY_OP)
			free(*(char **)at);
		if (key->type == KEY_RULES) {
			size_t n = *(size_t *)((char *)of + key->off_n);

			for (size_t r = 0; r < n; r++)
				free_object(key->rule, *(char **)at + r * key->rule->size);
			free(*(char **)at);
		}
		if (key->type == KEY_STRINGS) {
			for (size_t s = 0; s < strings->n; s++)
				free(strings->s[s]);
			free(strings->s);
		}
		if (key->type == KEY_PATTERNS || key->type == KEY_PATHS) {
			for (size_t p = 0; p < patterns->n; p++)
				pattern_free(patterns->p[p]);
			free(patterns->p);
		}
	}
}

void keys_free_entry(struct sys_entry *e)
{
	if (!e)
		return;
	free_object(&entry_object, e);
	free(e->origin);
	free(e);
}

/* A marker lies inside the root that it marks: see marker_holds(). */
static bool is_marker(const char *s)
{
	if (!strncmp(s, "xattr:", 6))
		return s[6];
	s += s[0] == '!';
	if (!*s || *s == '/')
		return false;
	for (size_t len; *s; s += len + (s[len] == '/')) {
		len = strcspn(s, "/");
		if (len == 2 && !strncmp(s, "..", 2))
			return false;
	}
	return true;
}

/* Checks that concern several keys. */
static int check_entry(struct where *w, const struct sys_entry *e)
{
	for (size_t i = 0; i < e->n_processes; i++) {
		const struct sys_process_rule *r = &e->processes[i];

		snprintf(w->key, sizeof(w->key), "processes[%zu]: ", i);
		if (!r->name.n && !r->title.n && !r->argv.n && !r->cgroup.n && !r->env.n)
			return keys_fail(w,
				EINVAL,
				"a process rule wants at least one of name, title, argv, cgroup, env");
	}
	for (size_t i = 0; i < e->n_roots; i++) {
		const struct sys_strings *all = &e->roots[i].all;

		snprintf(w->key, sizeof(w->key), "roots[%zu]: ", i);
		if (!all->n && !e->roots[i].layout.n)
			return keys_fail(w, EINVAL,
				"a root rule wants at least one of all, layout");
		for (size_t m = 0; m < all->n; m++)
			if (!is_marker(all->s[m]))
				return keys_fail(w, EINVAL,
					"marker \"%.60s\" is no path below the root", all->s[m]);
	}
	for (size_t i = 0; i < e->aliases.n; i++) {
		snprintf(w->key, sizeof(w->key), "aliases: ");
		if (!is_name(e->aliases.s[i]))
			return keys_fail(w, EINVAL,
				"\"%.40s\" is no name: 1 to 40 of a-z 0-9 _ . -", e->aliases.s[i]);
	}
	w->key[0] = '\0';
	return 0;
}

static void about(struct sys_entry *e)
{
	e->about = (struct sys_about){ .name = e->name, .title = e->title, .origin = e->origin,
		.tested = e->tested,
		.engine = e->engine };
}

static void entry_label(struct where *w, const cJSON *j, size_t i)
{
	const cJSON *name = cJSON_IsObject(j) ? cJSON_GetObjectItemCaseSensitive(j, "name") : NULL;
	char clean[44];

	snprintf(w->entry, sizeof(w->entry), "number %zu", i + 1);
	if (!cJSON_IsString(name))
		return;
	sys_text(clean, sizeof(clean), name->valuestring);
	snprintf(w->entry, sizeof(w->entry), "'%s'", clean);
}

int keys_read_entry(struct where *w, const cJSON *j, size_t i, struct sys_entry **out)
{
	int err;

	entry_label(w, j, i);
	w->key[0] = '\0';
	w->tokens = 0;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	err = read_object(w, j, &entry_object, *out);
	if (!err)
		err = check_entry(w, *out);
	if (err)
		return err;
	(*out)->tokens = w->tokens;
	(*out)->origin = strdup(w->file);
	about(*out);
	return (*out)->origin ? 0 : -ENOMEM;
}
