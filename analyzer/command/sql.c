/* SPDX-License-Identifier: GPL-3.0-only */
/* sql.c - a store opened to be read, with the views of the reports: each is made when a statement
 * first names it. */
#include <errno.h>
#include <string.h>
#include "analyzer.h"
#include "payload.h"
#include "print.h"
#include "report.h"
#include "sql.h"
#include "stream.h"
#include "views.h"

#define STATEMENT_MAX (1 << 20)

struct session {
	struct store *store;
	struct views *views;
	const struct options *o;
};

static void show_view(const char *name, const char *doc)
{
	printf("%-20s %s\n", name, doc);
}

static int answer_one(struct session *s, const char *text, size_t len)
{
	auto_free char *statement = strndup(text, len);
	struct grid t = { 0 };
	struct answer a = { .name = "sql", .title = "sql", .about_store = true };
	int err = statement ? views_need(s->views, text, len) : fail_as(EXIT_DATA, ENOMEM, "sql");

	err = err ?: store_query(s->store, "sql", statement, NULL, &t);
	if (!err && t.cols) {
		t.name = strdup("sql");
		a.table = &t;
		a.tables = 1;
		err = t.name ? print_answer(&a, s->o->format, "sql") : fail_as(EXIT_DATA, ENOMEM, "sql");
	}
	grid_free(&t);
	return err;
}

static bool is_blank(const char *p, size_t len)
{
	return strspn(p, " \t\r\n;") >= len;
}

/* Answers what is whole in the text, and with `all` also what has no semicolon; *used: how much
 * that was. */
static int answer_text(struct session *s, const char *text, bool all, size_t *used)
{
	const char *p, *end;
	int err = 0;

	for (p = text, end = statement_end(p); !err && *p && (all || end[-1] == ';');
	     p = end, end = statement_end(p)) {
		if (!is_blank(p, end - p))
			err = answer_one(s, p, end - p);
	}
	*used = p - text;
	return err;
}

/* At a terminal an error ends the statement only. */
static int answer_lines(struct session *s, FILE *in, bool tty)
{
	auto_free char *text = calloc(1, STATEMENT_MAX + 1), *line = NULL;
	size_t len = 0, room = 0, used;
	ssize_t n;
	int err = text ? 0 : fail_as(EXIT_DATA, ENOMEM, "sql");

	while (!err) {
		if (tty)
			fprintf(stderr, len ? "...> " : "iot> ");
		n = getline(&line, &room, in);
		if (n < 0)
			break;
		if (!len && !strncmp(line, ".views", 6)) {
			views_each(s->views, show_view);
			continue;
		}
		if (len + n > STATEMENT_MAX || strlen(line) < (size_t)n)
			return fail_as(EXIT_DATA, 0,
				"sql: a statement is longer than %d bytes, or has a zero byte",
				STATEMENT_MAX);
		memcpy(text + len, line, n + 1);
		len += n;
		err = answer_text(s, text, false, &used);
		len = err ? 0 : len - used;
		memmove(text, text + used, len + 1);
		len = is_blank(text, len) ? 0 : len;
		text[len] = '\0';
		err = tty ? 0 : err;
		fflush(stdout);
	}
	if (!err && ferror(in) && !store_interrupted())
		return fail_as(EXIT_DATA, errno, "cannot read standard input");
	return err ?: answer_text(s, text, true, &used);
}

static int answer_all(struct session *s)
{
	size_t used;

	if (s->o->args < 3)
		return answer_lines(s, stdin, isatty(STDIN_FILENO) && isatty(STDERR_FILENO));
	if (!strncmp(s->o->arg[2], ".views", 6))
		return views_each(s->views, show_view), 0;
	return answer_text(s, s->o->arg[2], true, &used);
}

int sql(const struct options *o)
{
	auto_free char *rules = report_text(NULL, "systems.json");
	struct ask ask = options_ask(o, rules);
	struct session s = { .o = o };
	struct payload p = { 0 };
	int err = rules ? 0 : fail_as(EXIT_DATA, errno, "cannot read systems.json");

	if (!err && o->ledger)
		err = payload_read(&p, o->ledger);
	ask.plot = ask.some_events = true;
	ask.cdf = o->cdf;
	ask.has_ops = o->has_ops;
	ask.ops = o->ops;
	ask.step = o->step;
	ask.ledger = o->ledger ? &p.load : NULL;
	err = err ?: store_open(&s.store, o->arg[1]) ?: store_run(s.store, o->run, &ask.run) ?:
	      store_ask(s.store, &ask);
	s.views = err ? NULL : views_load(s.store, o->reports);
	if (!err && !s.views)
		err = EXIT_DATA;
	if (!err && o->system)
		err = views_need(s.views, ask.systems, strlen(ask.systems)) ?:
		      store_has_system(s.store, o->system);
	err = err ?: answer_all(&s);
	views_free(s.views);
	store_close(s.store);
	payload_free(&p);
	return err;
}
