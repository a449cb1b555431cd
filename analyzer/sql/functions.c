// SPDX-License-Identifier: GPL-3.0-only
/* functions.c - SQL functions of the views: sum_if(), listed(), measured(), devno(), size(),
 * group_name(), name_pattern(), name_family(), root(). */
#include <ctype.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "functions.h"
#include "unit.h"

struct sum {
	sqlite3_int64 whole;
	double real;
	bool is_real, overflow;
};

/* sum_if(X, CONDITION): X of the rows where the condition holds, added up as SUM() does, but 0
 * where there is none. */
static void sum_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct sum *s = sqlite3_aggregate_context(ctx, sizeof(*s));
	int type;

	if (!s)
		return sqlite3_result_error_nomem(ctx);
	if (!sqlite3_value_int(argv[1]) || (type = sqlite3_value_numeric_type(argv[0])) == SQLITE_NULL)
		return;
	s->is_real |= type != SQLITE_INTEGER;
	s->real += sqlite3_value_double(argv[0]);
	if (type == SQLITE_INTEGER)
		s->overflow |= __builtin_add_overflow(s->whole, sqlite3_value_int64(argv[0]), &s->whole);
}

static void sum_final(sqlite3_context *ctx)
{
	struct sum *s = sqlite3_aggregate_context(ctx, 0);

	if (!s)
		sqlite3_result_int(ctx, 0);
	else if (s->is_real)
		sqlite3_result_double(ctx, s->real);
	else if (s->overflow)
		sqlite3_result_error(ctx, "integer overflow", -1);
	else
		sqlite3_result_int64(ctx, s->whole);
}

static bool is_listed(sqlite3_value **argv)
{
	const char *item = (const char *)sqlite3_value_text(argv[0]),
		   *list = (const char *)sqlite3_value_text(argv[1]);
	size_t len = item ? strlen(item) : 0, n;
	bool found = false;

	for (; item && list && !found; list = list[n] ? list + n + 1 : NULL) {
		n = strcspn(list, ",");
		found = n == len && !memcmp(list, item, n);
	}
	return found;
}

/* listed(ITEM, LIST): is it one of those in the list, between commas? */
static void listed(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int(ctx, is_listed(argv));
}

/* measured(LAYER, LAYERS): 1 where it is one of them, else NULL. */
static void measured(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (is_listed(argv))
		sqlite3_result_int(ctx, 1);
}

/* devno(DEV): the number of a device as "major:minor". */
static void devno(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 dev = sqlite3_value_int64(argv[0]);
	char text[48];

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text), "%lld:%lld", dev >> 20, dev & 0xfffff);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

void size_text(double n, char text[SIZE_TEXT])
{
	char number[UNIT_TEXT];
	char *unit = strrchr(unit_text(number, n, UNIT_BYTES), ' ');

	if (strcmp(unit, " B"))
		snprintf(text, SIZE_TEXT, "%s", number);
	else
		snprintf(text, SIZE_TEXT, "%.*s byte%s", (int)(unit - number), number, fabs(n) == 1 ? "" : "s");
}

/* size(BYTES): three digits and a unit. */
static void size(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	char text[SIZE_TEXT];

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	size_text(sqlite3_value_double(argv[0]), text);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* 36 where a UUID stands at p, else 0: 8, 4, 4, 4 and 12 hexadecimal digits. */
static size_t uuid_len(const char *p)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	for (i = 0; shape[i]; i++)
		if (shape[i] == 'x' ? !isxdigit((unsigned char)p[i]) : p[i] != '-')
			return 0;
	return isalnum((unsigned char)p[i]) ? 0 : i;
}

/* Length of a long id at p, else 0: a word of at least 8 hexadecimal digits, with digits and
 * letters among them. A shorter word, or one of letters alone, may be a word of a language: one
 * name of a family would then have an id and another none. */
static size_t id_len(const unsigned char *p)
{
	size_t len = strspn((const char *)p, "0123456789abcdefABCDEF"),
	       digits = strspn((const char *)p, "0123456789");

	return len >= 8 && !isalnum(p[len]) && digits < len &&
			       strcspn((const char *)p, "0123456789") < len ?
		       len :
		       0;
}

/* A path with '#' in place of numbers of files: UUIDs, long hexadecimal ids, and other runs of
 * digits, so that f9, f10 and f100 are one family. The first `kept` bytes stay as they are. The
 * caller frees it with sqlite3_free(); NULL: no memory. */
static char *pattern_of(const unsigned char *p, size_t kept)
{
	char *text = sqlite3_malloc64(strlen((const char *)p) + 1), *to = text;
	bool in_word = false;

	if (!text)
		return NULL;
	memcpy(to, p, kept);
	to += kept;
	for (p += kept; *p;) {
		size_t digits = strspn((const char *)p, "0123456789"), id = 0;

		if (!in_word)
			id = uuid_len((const char *)p) ?: id_len(p);
		if (id || digits) {
			p += id ?: digits;
			*to++ = '#';
			in_word = true;
			continue;
		}
		in_word = isalnum(*p);
		*to++ = *p++;
	}
	*to = '\0';
	return text;
}

/* name_pattern(PATH): the family of names that a path is of. */
static void name_pattern(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const unsigned char *path = sqlite3_value_text(argv[0]);
	char *text = path ? pattern_of(path, 0) : NULL;

	if (path && !text)
		return sqlite3_result_error_nomem(ctx);
	sqlite3_result_text(ctx, text, -1, sqlite3_free);
}

/* name_family(FIRST, LAST): name of a family of paths, of which these are the first and the last
 * by their bytes: the folder that all are in, and the pattern of the path below it; the path
 * itself where there is only one. */
static void name_family(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const unsigned char *first = sqlite3_value_text(argv[0]), *last = sqlite3_value_text(argv[1]);
	size_t same = 0, folder;
	char *text;

	if (!first || !last)
		return;
	while (first[same] && first[same] == last[same])
		same++;
	for (folder = same; folder && first[folder - 1] != '/'; folder--)
		;
	text = pattern_of(first, first[same] || last[same] ? folder : same);
	if (!text)
		return sqlite3_result_error_nomem(ctx);
	sqlite3_result_text(ctx, text, -1, sqlite3_free);
}

/* root(X): the square root of a number that is not negative; NULL for any other. SQLite has one
 * only where it was built with it. */
static void root(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL && sqlite3_value_double(argv[0]) >= 0)
		sqlite3_result_double(ctx, sqrt(sqlite3_value_double(argv[0])));
}

/* The last part of a control group's path that is a unit of systemd, and its length. NULL: none
 * is. */
static const char *unit_in(const char *path, size_t *len)
{
	static const char *const kinds[] = { ".service", ".scope", ".socket",
					     ".mount",   ".swap",  ".slice" };
	const char *found = NULL;

	for (const char *at = path, *next; at; at = next) {
		size_t n, kind = 0;

		at += *at == '/';
		next = strchr(at, '/');
		n = next ? (size_t)(next - at) : strlen(at);
		while (kind < sizeof(kinds) / sizeof(*kinds) &&
		       (n <= strlen(kinds[kind]) ||
			strncmp(at + n - strlen(kinds[kind]), kinds[kind], strlen(kinds[kind]))))
			kind++;
		if (kind == sizeof(kinds) / sizeof(*kinds))
			continue;
		found = at;
		*len = n;
	}
	return found;
}

/* group_name(BY, CGROUP, CONTAINER, UID, USER): the name of a process's line with --by container,
 * cgroup, unit or user. */
static void group_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *text[5], *unit;
	char name[48];
	size_t len;

	for (int i = 0; i < 5; i++)
		text[i] = (const char *)sqlite3_value_text(argv[i]);
	if (text[0] && !strcmp(text[0], "user")) {
		snprintf(name, sizeof(name), "uid %lld", sqlite3_value_int64(argv[3]));
		sqlite3_result_text(ctx,
				    text[4] ? text[4] :
				    text[3] ? name :
					      "(user not known)",
				    -1, SQLITE_TRANSIENT);
	} else if (!text[1]) {
		sqlite3_result_text(ctx, "(control group not known)", -1, SQLITE_STATIC);
	} else if (text[0] && !strcmp(text[0], "container")) {
		sqlite3_result_text(ctx, text[2] ?: "(no container)", -1, SQLITE_TRANSIENT);
	} else if (text[0] && !strcmp(text[0], "unit")) {
		unit = unit_in(text[1], &len);
		sqlite3_result_text(ctx, unit ?: "(no unit)", unit ? (int)len : -1, SQLITE_TRANSIENT);
	} else {
		sqlite3_result_text(ctx, text[1], -1, SQLITE_TRANSIENT);
	}
}

int functions_register(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

	return sqlite3_create_function(db, "sum_if", 2, flags, NULL, NULL, sum_step, sum_final) ?:
	       sqlite3_create_function(db, "listed", 2, flags, NULL, listed, NULL, NULL) ?:
	       sqlite3_create_function(db, "measured", 2, flags, NULL, measured, NULL, NULL) ?:
	       sqlite3_create_function(db, "devno", 1, flags, NULL, devno, NULL, NULL) ?:
	       sqlite3_create_function(db, "group_name", 5, flags, NULL, group_name, NULL, NULL) ?:
	       sqlite3_create_function(db, "size", 1, flags, NULL, size, NULL, NULL) ?:
	       sqlite3_create_function(db, "name_pattern", 1, flags, NULL, name_pattern, NULL, NULL) ?:
	       sqlite3_create_function(db, "name_family", 2, flags, NULL, name_family, NULL, NULL) ?:
	       sqlite3_create_function(db, "root", 1, flags, NULL, root, NULL, NULL);
}
