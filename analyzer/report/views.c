/* SPDX-License-Identifier: GPL-3.0-only */
/* views.c - the statements that make each view, and the views that a text needs.
 *
 * A view begins with CREATE TEMP TABLE or VIEW; what follows until the next one belongs to it
 * (INSERT, CREATE INDEX). A text needs the views whose names stand in it, outside of strings and
 * comments, and so do their own texts. A view NAME_sql answers the text that makes the view NAME,
 * for views that depend on rows of a table. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "analyzer.h"
#include "memory.h"
#include "report.h"
#include "stream.h"
#include "views.h"

struct view {
	const char *name, *text;
	size_t name_len, own_len, len; /* own: without the end "_sql" of a recipe */
	bool made;
};

struct views {
	struct store *store;
	char *text;             /* of all files */
	struct view *view;
	size_t n;
};

/* Behind the string, the comment, the name or the character at p. */
static const char *token_end(const char *p)
{
	const char *end;

	if (!strncmp(p, "--", 2))
		return p + strcspn(p, "\n");
	if (!strncmp(p, "/*", 2)) {
		end = strstr(p + 2, "*/");
		return end ? end + 2 : p + strlen(p);
	}
	if (*p == '\'' || *p == '"') {
		end = strchr(p + 1, *p);
		return end ? end + 1 : p + strlen(p);
	}
	for (end = p; isalnum((unsigned char)*end) || *end == '_'; end++)
		;
	return end > p ? end : p + 1;
}

const char *statement_end(const char *p)
{
	while (*p && *p != ';')
		p = token_end(p);
	return p + (*p == ';');
}

/* The name in "CREATE TEMP TABLE name" at p, where comments and empty lines may stand before;
 * NULL: it is another statement. */
static const char *view_name(const char *p)
{
	static const char *const heads[] = { "CREATE TEMP TABLE ", "CREATE TEMP VIEW " };
	size_t i;

	while (isspace((unsigned char)*p) || !strncmp(p, "--", 2))
		p = token_end(p);
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		if (!strncmp(p, heads[i], strlen(heads[i])))
			return p + strlen(heads[i]);
	return NULL;
}

/* Does it say how another view is made? */
static bool is_recipe(const struct view *w)
{
	return w->own_len < w->name_len;
}

/* The length of the view's name, or of that of the view that it says how to make. */
static size_t own_len(const char *name, size_t len)
{
	static const char recipe[] = "_sql";
	size_t n = strlen(recipe);

	return len > n && !memcmp(name + len - n, recipe, n) ? len - n : len;
}

/* Behind the end of the line at p. */
static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

static int find_views(struct views *v)
{
	const char *p = v->text, *end, *name;

	for (; *p; p = end) {
		end = statement_end(p);
		name = view_name(p);
		if (name) {
			struct view *more = reallocarray(v->view, v->n + 1, sizeof(*more));
			size_t len = token_end(name) - name;

			if (!more)
				return -ENOMEM;
			v->view = more;
			v->view[v->n++] = (struct view){ .name = name,
							 .name_len = len,
							 .own_len = own_len(name, len),
							 .text = p };
		}
		if (v->n)
			v->view[v->n - 1].len = end - v->view[v->n - 1].text;
	}
	return 0;
}

static int read_files(struct views *v, const char *dir)
{
	const struct report_file *f;
	size_t size;
	FILE *all = memory_open(&v->text, &size);
	int err = 0;

	if (!all)
		return fail_as(EXIT_DATA, ENOMEM, "views");
	for (f = report_files; f->name && !err; f++) {
		auto_free char *text = NULL;

		if (strncmp(f->name, "views/", 6))
			continue;
		text = report_text(dir, f->name);
		if (text)
			fprintf(all, "%s\n", text);
		else
			err = fail_as(EXIT_DATA, errno, "cannot read %s/%s", dir, f->name);
	}
	if (!err)
		store_views(all);
	return fclose(all) && !err ? fail_as(EXIT_DATA, ENOMEM, "views") : err;
}

/* The comment right above a view, up to the end of its first sentence, in one line. */
static void first_sentence(const struct view *w, char *doc, size_t room)
{
	const char *p = w->name, *from = w->text;
	size_t n = 0;

	while (p > w->text && p[-1] != '\n')
		p--;
	while (p - 2 >= from && p[-2] != '\n') { /* the line above, which is not empty */
		for (p--; p > from && p[-1] != '\n'; p--)
			;
		if (strncmp(p, "-- ", 3)) {
			p = next_line(p);
			break;
		}
	}
	for (; p < w->name && !strncmp(p, "-- ", 3); p++) {
		for (p += 3; *p != '\n' && n + 2 < room; p++) {
			doc[n++] = *p;
			if (*p == '.' && (p[1] == ' ' || p[1] == '\n')) {
				doc[n] = '\0';
				return;
			}
		}
		p += strcspn(p, "\n");
		doc[n++] = ' ';
	}
	doc[n ? n - 1 : 0] = '\0';
}

void views_each(const struct views *v, void (*call)(const char *name, const char *doc))
{
	char doc[400], name[64];
	size_t i;

	for (i = 0; i < v->n; i++) {
		const struct view *w = &v->view[i];

		snprintf(name, sizeof(name), "%.*s", (int)w->own_len, w->name);
		first_sentence(w, doc, sizeof(doc));
		call(name, doc);
	}
}

struct views *views_load(struct store *s, const char *dir)
{
	struct views *v = calloc(1, sizeof(*v));
	int err;

	if (!v || (err = read_files(v, dir)) || (err = find_views(v))) {
		if (!v || err == -ENOMEM)
			fail_as(EXIT_DATA, ENOMEM, "views");
		views_free(v);
		return NULL;
	}
	v->store = s;
	return v;
}

void views_free(struct views *v)
{
	if (!v)
		return;
	free(v->view);
	free(v->text);
	free(v);
}

/* Runs the statements of a text. The answer of the last one that has one is in *t. */
static int run_all(struct views *v, const char *text, size_t len, struct grid *t)
{
	const char *p, *next;
	int err = 0;

	for (p = text; !err && p < text + len; p = next) {
		auto_free char *sql = strndup(p, (next = statement_end(p)) - p);

		grid_free(t);
		*t = (struct grid){ 0 };
		err = sql ? store_query(v->store, "views", sql, NULL, t) : fail_as(EXIT_DATA, ENOMEM, "views");
	}
	return err;
}

/* Runs the text that the view NAME_sql answers, which makes NAME. */
static int run_answer(struct views *v, const struct view *w)
{
	auto_free char *sql = NULL;
	struct grid text = { 0 }, t = { 0 };
	int err = asprintf(&sql, "SELECT * FROM temp.%.*s", (int)w->name_len, w->name) < 0 ?
			  fail_as(EXIT_DATA, ENOMEM, "views") :
			  0;

	err = err ?: store_query(v->store, "views", sql, NULL, &text);
	if (!err && text.rows == 1 && grid_cell(&text, 0, 0)->type == CELL_TEXT) {
		const char *made = grid_cell(&text, 0, 0)->text;

		err = views_need(v, made, strlen(made)) ?: run_all(v, made, strlen(made), &t);
	}
	grid_free(&text);
	grid_free(&t);
	return err;
}

/* A view is made behind those that its text names. */
static int view_make(struct views *v, struct view *w)
{
	struct grid t = { 0 };
	int err;

	w->made = true;
	err = views_need(v, w->text, w->len) ?: run_all(v, w->text, w->len, &t);
	grid_free(&t);
	return err || !is_recipe(w) ? err : run_answer(v, w);
}

/* Does the view, or the recipe of it, have that name? */
static bool has_name(const struct view *w, const char *name, size_t len)
{
	return w->own_len == len && !strncasecmp(w->name, name, len);
}

int views_need(struct views *v, const char *text, size_t len)
{
	const char *p, *end;
	int err = 0;
	size_t i;

	for (p = text; !err && p < text + len; p = end) {
		bool quoted = *p == '"';

		end = token_end(p);
		if (!isalpha((unsigned char)p[quoted]))
			continue;
		for (i = 0; !err && i < v->n; i++) {
			struct view *w = &v->view[i];

			if (!w->made && has_name(w, p + quoted, end - p - 2 * quoted))
				err = view_make(v, w);
		}
	}
	return err;
}
