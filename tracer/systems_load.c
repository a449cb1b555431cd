/* SPDX-License-Identifier: GPL-3.0-only */
/* systems_load.c - rules from JSON: every key is a row of a table, and whatever is no row is an error.
 *
 * To add a key: a member in systems_rules.h, a row in the table of its object here, a line in iot-systems.5.
 */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "place.h"
#include "out.h"
#include "systems_rules.h"

/* The built-in rules are part of the program. */
__asm__(".pushsection .rodata\n"
	".globl systems_json\n"
	"systems_json: .incbin \"systems.json\"\n"
	".byte 0\n"
	".popsection\n");
extern const char systems_json[];

enum key_type { KEY_NOTE, KEY_NAME, KEY_TEXT, KEY_BOOL, KEY_NOT, KEY_COMPONENT, KEY_OP, KEY_PATTERNS, KEY_PATHS, KEY_STRINGS, KEY_RULES };

struct object;

struct key {
	const char *name;
	enum key_type type;
	bool required;
	size_t off;                      /* of the member */
	size_t off_n;                    /* KEY_RULES: of the member that counts them */
	const struct object *rule;       /* KEY_RULES: what one of them is */
};

struct object {
	const char *what;
	size_t size, n;
	const struct key *keys;
};

#define OPT(type, kind, name) { #name, kind, false, offsetof(struct type, name), 0, NULL }
#define REQ(type, kind, name) { #name, kind, true, offsetof(struct type, name), 0, NULL }
#define LIST(name, rule) { #name, KEY_RULES, false, offsetof(struct sys_entry, name), offsetof(struct sys_entry, n_##name), rule }
/* True unless it is said to be false: the member is the opposite. */
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

/* Where in the rules an error is. */
struct where {
	const char *file;
	char entry[64];                  /* name of the system, or its number */
	char key[96];
	size_t tokens;                   /* spent by this entry */
	size_t tokens_left;
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

__attribute__((format(printf, 3, 4)))
static int fail_at(const struct where *w, int error, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_message("%s: %s%s%s%s%s", w->file, w->entry[0] ? "system " : "", w->entry, w->entry[0] ? ": " : "", w->key, text);
	return -error;
}

static const char *type_name(const cJSON *j)
{
	return cJSON_IsString(j) ? "text" : cJSON_IsBool(j) ? "true or false" : cJSON_IsNumber(j) ? "a number" :
		cJSON_IsArray(j) ? "a list" : cJSON_IsObject(j) ? "an object" : "null";
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
	return fail_at(w, EINVAL, "\"%.40s\" is no component (iot-systems(5) lists them)", j->valuestring);
}

static int read_pattern(struct where *w, const char *text, bool path, struct pattern **to)
{
	const char *why;

	*to = pattern_new(text, path, &why);
	if (!*to)
		return fail_at(w, EINVAL, "pattern \"%.60s\": %s", text, why);
	w->tokens += pattern_tokens(*to);
	if (w->tokens > w->tokens_left)
		return fail_at(w, E2BIG, "the patterns are too many: all systems together may have %u states", SYS_TOKENS);
	return 0;
}

static size_t list_length(const cJSON *j)
{
	size_t n = 0;

	for (const cJSON *e = j->child; e && n <= SYS_LIST; e = e->next)
		n++;
	return n;
}

/* A text, or a list of texts. */
static int read_texts(struct where *w, const cJSON *j, enum key_type type, void *to)
{
	struct sys_patterns *patterns = to;
	struct sys_strings *strings = to;
	bool one = cJSON_IsString(j);
	size_t n = one ? 1 : list_length(j);

	if (!n || n > SYS_LIST)
		return fail_at(w, EINVAL, "has %s elements", n ? "more than 512" : "no");
	patterns->p = calloc(n, sizeof(void *));
	if (!patterns->p)
		return -ENOMEM;
	for (const cJSON *e = one ? j : j->child; e; e = one ? NULL : e->next) {
		int err;

		if (!cJSON_IsString(e))
			return fail_at(w, EINVAL, "wants text in its list, not %s", type_name(e));
		if (strlen(e->valuestring) > PATTERN_MAX)
			return fail_at(w, EINVAL, "has a text of more than 512 bytes");
		err = type == KEY_STRINGS ? keep(&strings->s[strings->n], e->valuestring) :
			read_pattern(w, e->valuestring, type == KEY_PATHS, &patterns->p[patterns->n]);
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
	size_t *count = (size_t *)((char *)to + key->off_n), n = list_length(j);

	if (n > SYS_LIST)
		return fail_at(w, E2BIG, "has more than 512 elements");
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
	static const char *const wanted[] = { "text", "text", "text", "true or false", "true or false", "text", "text",
		"text or a list of texts", "text or a list of texts", "text or a list of texts", "a list" };
	char *to = (char *)object + key->off;

	if (!right_type(j, key->type))
		return fail_at(w, EINVAL, "wants %s, not %s", wanted[key->type], type_name(j));
	switch (key->type) {
	case KEY_NOTE:
		return 0;
	case KEY_NAME:
		if (!is_name(j->valuestring))
			return fail_at(w, EINVAL, "\"%.40s\" is no name: 1 to 40 of a-z 0-9 _ . -", j->valuestring);
		return keep((char **)to, j->valuestring);
	case KEY_TEXT:
		if (strlen(j->valuestring) > PATTERN_MAX)
			return fail_at(w, EINVAL, "is longer than 512 bytes");
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
			return fail_at(w, EINVAL, "wants \"read\" or \"write\", not \"%.40s\"", j->valuestring);
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

static int read_members(struct where *w, const cJSON *j, const struct object *object, void *to, u_int64_t *seen)
{
	char outer[48];
	int err;

	snprintf(outer, sizeof(outer), "%.40s", w->key);
	for (const cJSON *e = j->child; e; e = e->next) {
		const struct key *key = find_key(object, e->string);
		u_int64_t bit = key ? 1ull << (key - object->keys) : 0;

		snprintf(w->key, sizeof(w->key), "%.40s%s%.40s: ", outer, outer[0] ? "." : "", e->string);
		if (!key)
			return fail_at(w, EINVAL, "unknown key in a %s", object->what);
		if (*seen & bit)
			return fail_at(w, EINVAL, "the key is given twice");
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
		return fail_at(w, EINVAL, "%sa %s is an object, not %s", w->key[0] ? ": " : "", object->what, type_name(j));
	}
	err = read_members(w, j, object, to, &seen);
	if (err)
		return err;
	for (size_t i = 0; i < object->n; i++)
		if (object->keys[i].required && !(seen >> i & 1))
			return fail_at(w, EINVAL, "the key \"%s\" is missing", object->keys[i].name);
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

static void free_entry(struct sys_entry *e)
{
	if (!e)
		return;
	free_object(&entry_object, e);
	free(e->origin);
	free(e);
}

/* A marker stands inside the root that it shows: see marker_holds(). */
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

/* What no single key can tell. */
static int check_entry(struct where *w, const struct sys_entry *e)
{
	for (size_t i = 0; i < e->n_processes; i++) {
		const struct sys_process_rule *r = &e->processes[i];

		snprintf(w->key, sizeof(w->key), "processes[%zu]: ", i);
		if (!r->name.n && !r->title.n && !r->argv.n && !r->cgroup.n && !r->env.n)
			return fail_at(w, EINVAL, "a process rule wants at least one of name, title, argv, cgroup, env");
	}
	for (size_t i = 0; i < e->n_roots; i++) {
		const struct sys_strings *all = &e->roots[i].all;

		snprintf(w->key, sizeof(w->key), "roots[%zu]: ", i);
		if (!all->n && !e->roots[i].layout.n)
			return fail_at(w, EINVAL, "a root rule wants at least one of all, layout");
		for (size_t m = 0; m < all->n; m++)
			if (!is_marker(all->s[m]))
				return fail_at(w, EINVAL, "marker \"%.60s\" is no path below the root", all->s[m]);
	}
	for (size_t i = 0; i < e->aliases.n; i++) {
		snprintf(w->key, sizeof(w->key), "aliases: ");
		if (!is_name(e->aliases.s[i]))
			return fail_at(w, EINVAL, "\"%.40s\" is no name: 1 to 40 of a-z 0-9 _ . -", e->aliases.s[i]);
	}
	w->key[0] = '\0';
	return 0;
}

static void about(struct sys_entry *e)
{
	e->about = (struct sys_about){ .name = e->name, .title = e->title, .origin = e->origin, .tested = e->tested,
		.engine = e->engine };
}

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

/* Puts an entry into the set; one of the same name is replaced. The set owns it on success. */
static int install(struct systems *db, struct where *w, struct sys_entry *e)
{
	const struct sys_entry *other = known_as(db, e->name, e->name);
	const char *clash = e->name;
	size_t at;

	for (size_t i = 0; i < e->aliases.n && !other; i++)
		other = known_as(db, clash = e->aliases.s[i], e->name);
	if (other)
		return fail_at(w, EEXIST, "the name \"%s\" already belongs to system %s", clash, other->name);
	for (at = 0; at < db->n && strcmp(db->entry[at]->name, e->name); at++)
		;
	if (at == SYS_ENTRIES)
		return fail_at(w, E2BIG, "more than %u systems", SYS_ENTRIES);
	if (at < db->n) {
		db->tokens -= db->entry[at]->tokens;
		free_entry(db->entry[at]);
	} else {
		db->n++;
	}
	sys_cache_forget(db->cache);
	db->entry[at] = e;
	db->tokens += e->tokens;
	return 0;
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

static int read_entry(struct where *w, const cJSON *j, size_t i, struct sys_entry **out)
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

/* Reads all entries first, so that a file with an error changes nothing. */
static int add_entries(struct systems *db, struct where *w, const cJSON *list)
{
	size_t n = 0, total = list_length(list);
	struct sys_entry *fresh[SYS_ENTRIES] = { NULL };
	int err = 0;

	if (total > SYS_ENTRIES)
		return fail_at(w, E2BIG, "\"systems\" has more than %u entries", SYS_ENTRIES);
	w->tokens_left = SYS_TOKENS - db->tokens;
	for (const cJSON *e = list->child; e && !err; e = e->next, n++) {
		err = read_entry(w, e, n, &fresh[n]);
		for (size_t i = 0; i < n && !err; i++)
			if (!strcmp(fresh[i]->name, fresh[n]->name))
				err = fail_at(w, EEXIST, "the file holds two systems of this name");
		w->tokens_left -= err ? 0 : w->tokens;
	}
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(w->entry, sizeof(w->entry), "'%s'", fresh[i]->name);
		err = install(db, w, fresh[i]);
		if (!err)
			fresh[i] = NULL;
	}
	for (size_t i = 0; i < SYS_ENTRIES; i++)
		free_entry(fresh[i]);
	return err;
}

static int add_document(struct systems *db, struct where *w, const cJSON *doc)
{
	const cJSON *list = NULL;

	if (!cJSON_IsObject(doc))
		return fail_at(w, EINVAL, "wants an object with the key \"systems\", not %s", type_name(doc));
	for (const cJSON *e = doc->child; e; e = e->next) {
		if (!strcmp(e->string, "doc"))
			continue;
		if (strcmp(e->string, "systems"))
			return fail_at(w, EINVAL, "%.40s: unknown key", e->string);
		if (list)
			return fail_at(w, EINVAL, "systems: the key is given twice");
		list = e;
	}
	if (!cJSON_IsArray(list))
		return fail_at(w, EINVAL, "wants the key \"systems\" with a list");
	return add_entries(db, w, list);
}

/* Line and column of a place in a text, from 1. */
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
		return fail_at(&w, EINVAL, "holds a NUL byte");
	doc = cJSON_ParseWithOpts(text, &end, true);
	if (!doc) {
		place(text, end, &line, &column);
		return fail_at(&w, EINVAL, "near line %u, column %u: not JSON from here on (or nested more than %d deep)", line, column,
			       CJSON_NESTING_LIMIT);
	}
	err = add_document(db, &w, doc);
	cJSON_Delete(doc);
	if (err == -ENOMEM)
		fail_at(&w, ENOMEM, "out of memory");
	return err;
}

char *sys_read_small(const char *path, size_t *len, const char **why)
{
	int fd = place_open_path(path, O_RDONLY | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t n = 1;

	*len = 0;
	*why = NULL;
	if (fd < 0)
		*why = place_error(fd, false);
	else if (fstat(fd, &st))
		*why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		*why = "not a regular file";
	else if (st.st_size > SYS_FILE_BYTES)
		*why = "larger than 1 MiB, which is refused";
	else if (!(text = calloc(1, SYS_FILE_BYTES + 1)))
		*why = "out of memory";
	while (!*why && n > 0 && *len < SYS_FILE_BYTES) {
		n = read(fd, text + *len, SYS_FILE_BYTES - *len);
		if (n < 0)
			*why = strerror(errno);
		*len += n > 0 ? n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!*why)
		return text;
	free(text);
	return NULL;
}

int systems_add_file(struct systems *db, const char *path)
{
	struct where w = { .file = path };
	const char *why;
	size_t len;
	char *text = sys_read_small(path, &len, &why);
	int err;

	if (!text)
		return fail_at(&w, EINVAL, "cannot read: %s", why);
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
		return fail_at(&w, errno, "cannot read the folder: %s", strerror(errno));
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
	if (err) {
		systems_close(db);
		return err;
	}
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
		free_entry(db->entry[i]);
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
