// SPDX-License-Identifier: GPL-3.0-only
/* machine_facts.c - writes facts: four strings each, part, name, key and value, with a NUL behind
 * each. */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include "machine_parts.h"

#define VALUE_MAX 4096
#define NAMES_MAX 64            /* names of a folder that a fact lists */

static void put_string(FILE *to, const char *s)
{
	fwrite(s, strlen(s) + 1, 1, to);
}

void machine_fact(const struct machine_part *p, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	put_string(p->to, p->part);
	put_string(p->to, p->name);
	put_string(p->to, key);
	put_string(p->to, value);
}

void machine_number(const struct machine_part *p, const char *key, u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	machine_fact(p, key, text);
}

void machine_left_out(FILE *to, const char *part, size_t n)
{
	if (n)
		machine_number(&(struct machine_part){ to, part, "" }, "left_out", n);
}

static void trim(char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \t", text[n - 1]))
		text[--n] = '\0';
}

/* Returns the word in brackets, else the whole text. */
static char *chosen(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return text;
	*close = '\0';
	return open + 1;
}

static void put_link(const struct machine_part *p, const char *key, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	machine_fact(p, key, strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

static void put_count(const struct machine_part *p, const char *key, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	if (n)
		machine_number(p, key, n);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_folder(const struct machine_part *p, const char *key, const char *path)
{
	char value[VALUE_MAX] = "", *names[NAMES_MAX];
	DIR *dir = opendir(path);
	struct dirent *e;
	size_t n = 0, len = 0;

	while (dir && n < NAMES_MAX && (e = readdir(dir)))
		if (e->d_name[0] != '.' && (names[n] = strdup(e->d_name)))
			n++;
	if (dir)
		closedir(dir);
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if (len + strlen(names[i]) + 2 < sizeof(value))
			len += sprintf(value + len, "%s%s", len ? "," : "", names[i]);
		free(names[i]);
	}
	machine_fact(p, key, value);
}

static void put_line(const struct machine_part *p, const struct machine_file *f, const char *path)
{
	char text[VALUE_MAX];
	u64 n;

	if (read_line(path, text, sizeof(text)) <= 0)
		return;
	trim(text);
	if (f->form == FORM_SECTORS) {
		if (!parse_number(text, &n) && n <= UINT64_MAX / 512)
			machine_number(p, f->key, n * 512);
		return;
	}
	if (text[0] == '-' && !text[1 + strspn(text + 1, "0123456789")])
		return;
	machine_fact(p, f->key, f->form == FORM_CHOSEN ? chosen(text) : text);
}

void machine_files(const struct machine_part *p, const char *folder,
		   const struct machine_file *files, size_t n)
{
	char path[PATH_MAX];

	for (const struct machine_file *f = files; f < files + n; f++) {
		if (snprintf(path, sizeof(path), "%s/%s", folder, f->file) >= (int)sizeof(path))
			continue;
		if (f->form == FORM_LINK)
			put_link(p, f->key, path);
		else if (f->form == FORM_FOLDER)
			put_folder(p, f->key, path);
		else if (f->form == FORM_COUNT)
			put_count(p, f->key, path);
		else
			put_line(p, f, path);
	}
}
