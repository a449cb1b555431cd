// SPDX-License-Identifier: GPL-3.0-only
/* export.c - CSV streams: one file for each kind of event, with the columns that scripts of earlier
 * tools read (reports/views/stream.sql).
 *
 * To add a stream: a row here, its view, and the manual.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "analyzer.h"
#include "export.h"
#include "place.h"
#include "report.h"
#include "stream.h"
#include "table_writer.h"
#include "views.h"

static const struct stream {
	const char *name;        /* NAME.csv, and view v_stream_NAME */
	const char *layer;       /* recorded where this layer was measured */
	bool whole;              /* or only where all of its operations were (--layers) */
} streams[] = {
	{ "fs", "syscall", false },
	{ "block", "block", false },
	{ "iouring", "uring", false },
	{ "nw", "net", false },
	{ "cache", "cache", true },
	{ "pagefault", "cache", true },
	{ "nw_conn", "net", true },
	{ "nw_epoll", "net", true },
	{ "nw_sockopt", "net", true },
	{ "nw_drop", "net", true },
};

struct export {
	const struct options *o;
	struct store *store;
	struct views *views;
	const char *dir;
	struct place at;         /* of the folder */
	FILE *out;
	bool has_names;
	size_t rows;             /* written to the present file */
};

#define FILE_NAME 32

static int put_piece(void *arg, const struct grid *piece)
{
	struct export *x = arg;
	int err = x->has_names ? 0 : table_names(x->out, piece, &markup_stream);

	x->has_names = true;
	x->rows += piece->rows;
	for (size_t row = 0; !err && row < piece->rows; row++)
		err = table_row(x->out, piece, row, &markup_stream);
	return err ?: ferror(x->out) ? -EIO : 0;
}

/* Answers with one text, to be freed; NULL: none, or *err is set. */
static char *ask_text(struct export *x, const char *sql, int *err)
{
	struct grid t = { 0 };
	char *text = NULL;

	*err = views_need(x->views, sql, strlen(sql)) ?:
	       store_query(x->store, "export", sql, NULL, &t);
	if (!*err && t.rows && grid_cell(&t, 0, 0)->type == CELL_TEXT) {
		text = strdup(grid_cell(&t, 0, 0)->text);
		*err = text ? 0 : fail_as(EXIT_DATA, ENOMEM, "export");
	}
	grid_free(&t);
	return text;
}

/* Why the run did not record the stream, to be freed; NULL: it did, or *err is set. */
static char *ask_absence(struct export *x, const struct stream *s, int *err)
{
	static const char absent[] =
		"SELECT 'its events are recorded with --layers %1$s' FROM ask "
		"JOIN run r ON r.run = ask.run WHERE NOT COALESCE(listed('%1$s', r.%2$s), 0)";
	auto_free char *sql = NULL;

	if (asprintf(&sql, absent, s->layer, s->whole ? "whole" : "layers") < 0) {
		*err = fail_as(EXIT_DATA, ENOMEM, "export");
		return NULL;
	}
	return ask_text(x, sql, err);
}

static int write_stream(struct export *x, const struct stream *s, const char *name)
{
	auto_free char *sql = NULL;
	int fd = place_open(&x->at, name, O_WRONLY | O_CREAT | O_TRUNC), err = 0;

	x->has_names = false;
	x->rows = 0;
	x->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!x->out)
		return fail_as(EXIT_DATA, 0, "cannot write %s/%s: %s", x->dir, name,
			place_error(fd < 0 ? fd : -errno, true));
	if (asprintf(&sql, "SELECT * FROM v_stream_%s", s->name) < 0)
		err = fail_as(EXIT_DATA, ENOMEM, "export");
	err = err ?: views_need(x->views, sql, strlen(sql)) ?:
	      store_each(x->store, name, sql, put_piece, x);
	if (fclose(x->out) && !err)
		err = fail_as(EXIT_DATA, errno, "cannot write %s/%s", x->dir, name);
	if (!err)
		printf("%-16s %zu rows\n", name, x->rows);
	return err;
}

/* A file of an earlier export would be taken for this run's. */
static int leave_out(struct export *x, const char *name, const char *why)
{
	printf("%-16s no file: %s\n", name, why);
	if (unlinkat(x->at.dir, name, 0) && errno != ENOENT)
		return fail_as(EXIT_DATA, errno, "cannot remove %s/%s", x->dir, name);
	return 0;
}

static int put_stream(struct export *x, const struct stream *s)
{
	auto_free char *why = NULL;
	char name[FILE_NAME];
	int err = 0;

	if (x->o->table && strcmp(x->o->table, s->name))
		return 0;
	snprintf(name, sizeof(name), "%s.csv", s->name);
	why = ask_absence(x, s, &err);
	return err ?: why ? leave_out(x, name, why) : write_stream(x, s, name);
}

/* Streams are events: a run that has none, or lost some, says so. */
static int check_events(struct export *x)
{
	static const char absent[] = "SELECT text FROM v_no_events, v_run WHERE only IS NULL";
	static const char lost[] =
		"SELECT 'events were lost, the streams lack them: ' || lost FROM v_lost_text "
		"WHERE EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events')";
	int err;
	auto_free char *none = ask_text(x, absent, &err);
	auto_free char *some = NULL;

	if (err || none)
		return err ?: fail_as(EXIT_DATA, 0, "export %s", none);
	some = ask_text(x, lost, &err);
	if (some)
		fprintf(stderr, "iot-analyze: %s\n", some);
	return err;
}

static int check_table(const char *name)
{
	if (!name)
		return 0;
	for (size_t i = 0; i < N_OF(streams); i++)
		if (!strcmp(streams[i].name, name))
			return 0;
	return fail_as(EXIT_USAGE, 0, "export: there is no stream '%s' (see iot-analyze(1))", name);
}

static int open_folder(struct export *x)
{
	int err;

	if (mkdir(x->dir, 0700) && errno != EEXIST)
		return fail_as(EXIT_DATA, errno, "cannot make %s", x->dir);
	err = place_enter(&x->at, x->dir);
	return err ? fail_as(EXIT_DATA, 0, "cannot write to %s: %s", x->dir, place_error(err, true)) :
		     0;
}

int export_streams(const struct options *o)
{
	auto_free char *rules = report_text(NULL, "systems.json");
	struct ask ask = options_ask(o, rules);
	struct export x = { .o = o, .dir = o->arg[2], .at = { .dir = -1 } };
	int err = rules ? check_table(o->table) :
			  fail_as(EXIT_DATA, errno, "cannot read systems.json");

	ask.some_events = true;
	err = err ?: store_open(&x.store, o->arg[1]) ?: store_run(x.store, o->run, &ask.run) ?:
	      store_ask(x.store, &ask);
	x.views = err ? NULL : views_load(x.store, o->reports);
	if (!err && !x.views)
		err = EXIT_DATA;
	err = err ?: check_events(&x) ?: open_folder(&x);
	for (size_t i = 0; !err && i < N_OF(streams); i++)
		err = put_stream(&x, &streams[i]);
	views_free(x.views);
	store_close(x.store);
	place_leave(&x.at);
	return err;
}
