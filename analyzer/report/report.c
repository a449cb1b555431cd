/* SPDX-License-Identifier: GPL-3.0-only */
/* report.c - find reports, read what their comments say, run their statements. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include "analyzer.h"
#include "memory.h"
#include "place.h"
#include "report.h"
#include "views.h"

#define REPORT_MAX (1 << 20)

/* Reads a file of reports, which is code: SQL, and scripts for gnuplot. NULL: errno says why, also
 * as of place.h. */
static char *read_text(const char *path)
{
	auto_close int fd = place_open_path(path, O_RDONLY);
	size_t len;

	if (fd >= 0)
		return read_all(fd, REPORT_MAX, &len);
	errno = -fd;
	return NULL;
}

char *report_text(const char *dir, const char *name)
{
	const struct report_file *f;
	auto_free char *path = NULL;
	char *text;

	if (dir) {
		if (asprintf(&path, "%s/%s", dir, name) < 0)
			return NULL;
		text = read_text(path);
		if (text || errno != ENOENT)
			return text;
	}
	for (f = report_files; f->name; f++) {
		if (!strcmp(f->name, name))
			return strdup(f->text);
	}
	errno = ENOENT;
	return NULL;
}

/* Length of the line at p without its end. */
static size_t line_len(const char *p)
{
	return strcspn(p, "\n");
}

/* The value when the line at p is "-- KEY: value", else NULL. */
static const char *line_value(const char *p, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(p, "-- ", 3) || strncmp(p + 3, key, n) || p[3 + n] != ':')
		return NULL;
	p += 4 + n;
	return p + (*p == ' ');
}

static const char *next_line(const char *p)
{
	p += line_len(p);
	return p + (*p == '\n');
}

char *report_line(const char *text, const char *key)
{
	const char *p, *value;

	for (p = text; *p; p = next_line(p)) {
		value = line_value(p, key);
		if (value)
			return strndup(value, line_len(value));
	}
	return NULL;
}

char *report_lines(const char *text, const char *key)
{
	char *all = NULL;
	FILE *f = memory_open(&all, NULL);
	const char *p, *value;
	bool goes_on;
	size_t len;

	if (!f)
		return NULL;
	for (p = text; *p; p = next_line(p)) {
		value = line_value(p, key);
		if (!value)
			continue;
		len = line_len(value);
		goes_on = len && value[len - 1] == '\\';
		fprintf(f, "%.*s%s", (int)(len - goes_on), value, goes_on ? "" : "\n");
	}
	fclose(f);
	return all;
}

/* A text without a title is no report. Returns 0 or -ENOMEM, silently. */
static int show_one(const char *name, const char *text, void (*call)(const char *, const char *))
{
	auto_free char *title = NULL, *base = NULL;

	errno = 0; /* as in report_run() */
	title = report_line(text, "title");
	base = strndup(name, strlen(name) - 4);
	if (title && base)
		call(base, title);
	return errno == ENOMEM ? -ENOMEM : 0;
}

static int is_sql(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".sql");
}

int report_each(const char *dir, void (*call)(const char *name, const char *title))
{
	const struct report_file *f;
	struct dirent **list = NULL;
	int i, n = 0, err = 0;

	for (f = report_files; f->name; f++) {
		if (strstr(f->name, ".sql"))
			err = err ?: show_one(f->name, f->text, call);
	}
	if (dir)
		n = scandir(dir, &list, is_sql, alphasort);
	if (n < 0)
		return fail_as(EXIT_USAGE, errno, "cannot read the folder of reports %s", dir);
	for (i = 0; i < n; i++) {
		auto_free char *text = report_text(dir, list[i]->d_name);

		if (text)
			err = err ?: show_one(list[i]->d_name, text, call);
		free(list[i]);
	}
	free(list);
	return err ? fail_as(EXIT_DATA, err, "cannot list the reports") : 0;
}

/* Reads the comments in front of one statement, which describe its table. */
static int read_directives(struct grid *t, const char *from, const char *to)
{
	auto_free char *part = strndup(from, to - from), *spec = NULL, *hide = NULL, *first = NULL,
		       *cases = NULL;
	char *colon;

	if (!part)
		return -ENOMEM;
	errno = 0; /* as in report_run() */
	spec = report_line(part, "plot");
	t->plot = spec;
	t->says = spec ? strdup(part) : NULL;
	if (!spec) {
		spec = report_line(part, "words");
		t->words = spec;
	}
	if (!spec)
		spec = report_line(part, "table");
	cases = report_line(part, "cases");
	if (cases && asprintf(&t->cases, " %s", cases) < 0)
		return -ENOMEM;
	hide = report_line(part, "hide");
	if (hide && asprintf(&t->hide, " %s", hide) < 0)
		return -ENOMEM;
	first = report_line(part, "first");
	if (first && asprintf(&t->first, "%s", first) < 0)
		return -ENOMEM;
	colon = spec ? strstr(spec, ": ") : NULL;
	t->title = colon ? strdup(colon + 2) : NULL;
	t->name = colon ? strndup(spec, colon - spec) : spec ? strdup(spec) : NULL;
	return errno == ENOMEM ? -ENOMEM : 0;
}

static int add_table(struct answer *a, struct grid *t)
{
	struct grid *grown = reallocarray(a->table, a->tables + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	a->table = grown;
	a->table[a->tables++] = *t;
	return 0;
}

/* Is the statement that begins here only for a picture? The comments in front of it say so. */
static bool is_plot(const char *p)
{
	for (p += strspn(p, "\n"); !strncmp(p, "--", 2); p = next_line(p))
		if (line_value(p, "plot"))
			return true;
	return false;
}

/* The statements with which every report begins. */
#define HEAD_RUN "SELECT * FROM v_run"
#define HEAD_LOST "SELECT * FROM v_lost"
#define HEAD_LINES "SELECT * FROM v_head ORDER BY ord"
#define HEAD_PICTURE "SELECT * FROM v_picture_head ORDER BY ord"

int report_views(struct store *s, const char *dir, const char *text, const char *systems)
{
	static const char head[] = HEAD_RUN " " HEAD_LOST " " HEAD_LINES " " HEAD_PICTURE;
	struct views *v = views_load(s, dir);
	const char *p, *end;
	int err = !v ? EXIT_DATA : views_need(v, head, strlen(head));

	if (!err && systems)
		err = views_need(v, systems, strlen(systems));
	for (p = text; !err && *p; p = end) {
		end = statement_end(p);
		if (store_plots(s) || !is_plot(p))
			err = views_need(v, p, end - p);
	}
	views_free(v);
	return err;
}

/* Decides before the rows are read which of them --top keeps: the others are dropped on the way. */
static int read_most(struct grid *t, const char *from)
{
	auto_free char *part = strndup(from, statement_end(from) - from);

	errno = 0; /* as in report_run() */
	t->most = part ? report_line(part, "most") : NULL;
	return !part || errno == ENOMEM ? fail_as(EXIT_DATA, ENOMEM, "--top") : 0;
}

static int run_statements(struct store *s, const char *name, const char *text, struct answer *a)
{
	const char *tail = text;
	int err = 0;

	while (*tail) {
		const char *from = tail;
		struct grid t = { .plot = is_plot(from) };

		if (t.plot && !store_plots(s)) {
			tail = statement_end(from);
			continue;
		}
		err = read_most(&t, from) ?: store_query(s, name, from, &tail, &t);
		if (!err && !t.cols) { /* what is behind the last statement, or one that is no query */
			grid_free(&t);
			break;
		}
		if (!err)
			err = read_directives(&t, from, tail) || add_table(a, &t) ?
				      fail_as(EXIT_DATA, ENOMEM, "%s", name) :
				      0;
		if (err) {
			grid_free(&t);
			return err;
		}
	}
	return a->tables ? 0 : fail_as(EXIT_DATA, 0, "report '%s' asks nothing", name);
}

bool report_about_store(const char *text)
{
	auto_free char *scope = report_line(text, "scope");

	return scope && !strcmp(scope, "store");
}

int report_run(struct store *s, const char *name, const char *text, struct answer *a)
{
	int err;

	a->name = name;
	errno = 0; /* a line that is not there is no error: without memory it is ENOMEM */
	a->caption = report_lines(text, "caption");
	a->title = report_line(text, "title") ?: strdup(name);
	a->main = report_line(text, "main");
	a->none = report_line(text, "none");
	a->about_store = report_about_store(text);
	err = errno == ENOMEM ? fail_as(EXIT_DATA, ENOMEM, "%s", name) :
				store_query(s, "run", HEAD_RUN, NULL, &a->run);
	if (!err)
		err = store_query(s, "lost", HEAD_LOST, NULL, &a->lost);
	if (!err && !a->about_store)
		err = store_query(s, "head", HEAD_LINES, NULL, &a->head) ?:
		      store_query(s, "head", HEAD_PICTURE, NULL, &a->picture);
	return err ? err : run_statements(s, name, text, a);
}

int answer_mismatch(const struct answer *a)
{
	int i, col;
	size_t row;

	for (i = 0; i < a->tables; i++) {
		const struct grid *t = &a->table[i];

		col = grid_find(t, "result");
		for (row = 0; col >= 0 && row < t->rows; row++) {
			const struct cell *c = grid_cell(t, row, col);

			if (c->type == CELL_TEXT && result_of(c->text) >= RESULT_FAILED)
				return 1;
		}
	}
	return 0;
}

int answer_whole(const struct answer *a, const char *store)
{
	int col = grid_find(&a->run, "complete"), run = grid_find(&a->run, "run");

	if (a->about_store || !a->run.rows || col < 0 || run < 0 || grid_cell(&a->run, 0, col)->i)
		return EXIT_OK;
	return fail_as(EXIT_DATA, 0,
		"run %lld of %s is incomplete: its tracer did not end it, the answer covers what was committed",
		(long long)grid_cell(&a->run, 0, run)->i, store);
}

void answer_free(struct answer *a)
{
	int i;

	for (i = 0; i < a->tables; i++)
		grid_free(&a->table[i]);
	free(a->table);
	free((char *)a->title);
	free(a->caption);
	free(a->main);
	free(a->none);
	grid_free(&a->head);
	grid_free(&a->picture);
	grid_free(&a->run);
	grid_free(&a->lost);
}
