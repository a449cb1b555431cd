/* SPDX-License-Identifier: GPL-3.0-only */
/* query.c - the query runner: opens a store, binds the parameters of reports, and runs their
 * statements.
 *
 * It is the only file of the analyzer that prepares statements. fold.c, functions.c, order.c,
 * overlap.c and sizes.c include sqlite3.h too: they register functions of SQL.
 * A store may come from a stranger: it is opened as opener.h says, and every value of the command
 * line is bound, never pasted.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include "analyzer.h"
#include "fold.h"
#include "functions.h"
#include "memory.h"
#include "limit.h"
#include "near.h"
#include "opener.h"
#include "order.h"
#include "overlap.h"
#include "query.h"
#include "select.h"
#include "sizes.h"
#include "stream.h"
#include "volume.h"

struct store {
	struct opener o;
	sqlite3 *db;            /* of `o` */
	const char *path;
	struct ask ask;
	char *system;           /* what ask.system means */
	unsigned long long steps;             /* of SQLite's machine, in all queries */
	int tell_steps; /* IOT_STEPS: 1 their sum, 2 those of each query too, on standard error:
			   for tests of what growing costs */
};

static int store_fail(struct store *s, const char *what)
{
	opener_fail(&s->o, sqlite3_extended_errcode(s->db), what);
	return EXIT_DATA;
}

/* One number from a statement without parameters. */
static int store_number(struct store *s, const char *sql, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : store_fail(s, "cannot be read");
}

int store_open(struct store **out, const char *path)
{
	bool fresh;
	int err;

	*out = calloc(1, sizeof(**out));
	if (!*out)
		return fail_as(EXIT_DATA, ENOMEM, "%s", path);
	(*out)->path = path;
	(*out)->tell_steps = getenv("IOT_STEPS") ? atoi(getenv("IOT_STEPS")) : 0;
	err = opener_open(&(*out)->o, path, false, &fresh);
	(*out)->db = (*out)->o.db;
	return err ? EXIT_DATA : 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->tell_steps)
		fprintf(stderr, "%llu steps\n", s->steps);
	opener_close(&s->o);
	free(s->system);
	free(s);
}

int store_run(struct store *s, const char *which, int64_t *run)
{
	static const char sql[] =
		"SELECT run FROM (SELECT run, 1 AS best FROM run WHERE CAST(run AS TEXT) = :which"
		" UNION ALL SELECT run, 2 FROM run WHERE label = :which"
		" UNION ALL SELECT run, 3 FROM run WHERE :which IS NULL) ORDER BY best, run DESC LIMIT 1";
	sqlite3_stmt *st = NULL;
	int64_t newest = 0;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, which, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*run = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	if (rc == SQLITE_ROW)
		return 0;
	if (rc != SQLITE_DONE)
		return store_fail(s, "cannot read the runs");
	if (!which)
		return fail_as(EXIT_DATA, 0, "%s holds no run", s->path);
	if (store_number(s, "SELECT COALESCE(MAX(run), 0) FROM run", &newest))
		return EXIT_DATA;
	return fail_as(EXIT_USAGE, 0,
		       "%s has no run '%s' (the newest is %lld; `iot-analyze runs` lists them)",
		       s->path, which, (long long)newest);
}

/* Binds what the statement has a parameter for. */
static void bind_ask(sqlite3_stmt *st, const struct ask *ask, const char *path)
{
	int i;

	if ((i = sqlite3_bind_parameter_index(st, ":run")))
		sqlite3_bind_int64(st, i, ask->run);
	if ((i = sqlite3_bind_parameter_index(st, ":per")))
		sqlite3_bind_text(st, i, ask->per, -1, SQLITE_STATIC);
	if ((i = sqlite3_bind_parameter_index(st, ":each")))
		sqlite3_bind_int64(st, i, ask->each);
	if ((i = sqlite3_bind_parameter_index(st, ":by")) && ask->by)
		sqlite3_bind_text(st, i, ask->by, -1, SQLITE_STATIC);
	if ((i = sqlite3_bind_parameter_index(st, ":step")) && ask->step)
		sqlite3_bind_int64(st, i, ask->step);
	if ((i = sqlite3_bind_parameter_index(st, ":rows")))
		sqlite3_bind_int64(st, i, ask->all_rows ? INT32_MAX : 100);
	if ((i = sqlite3_bind_parameter_index(st, ":cdf")))
		sqlite3_bind_int(st, i, ask->cdf);
	if ((i = sqlite3_bind_parameter_index(st, ":once")))
		sqlite3_bind_int(st, i, ask->once);
	if ((i = sqlite3_bind_parameter_index(st, ":ops")) && ask->has_ops)
		sqlite3_bind_int64(st, i, ask->ops);
	if ((i = sqlite3_bind_parameter_index(st, ":store")))
		sqlite3_bind_text(st, i, path, -1, SQLITE_STATIC);
	if ((i = sqlite3_bind_parameter_index(st, ":plot")))
		sqlite3_bind_int64(st, i, ask->plot);
	if ((i = sqlite3_bind_parameter_index(st, ":system")) && ask->system)
		sqlite3_bind_text(st, i, ask->system, -1, SQLITE_STATIC);
}

/* Table `alias` (alias, name): other names of systems, from the text of systems.json. */
static int store_aliases(struct store *s, const char *systems)
{
	static const char sql[] =
		"CREATE TEMP TABLE alias AS SELECT a.value AS alias, json_extract(e.value, '$.name') AS name"
		" FROM json_each(:systems, '$.systems') e, json_each(e.value, '$.aliases') a";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(st, sqlite3_bind_parameter_index(st, ":systems"), systems, -1, SQLITE_STATIC);
		sqlite3_step(st);
	}
	rc = sqlite3_finalize(st) ?: rc;
	return rc == SQLITE_OK ? 0 : store_fail(s, "cannot be asked");
}

/* Replaces an alias that is asked for by the name of its system, unless the run has a system of
 * that name. */
static int store_name_system(struct store *s)
{
	static const char sql[] =
		"SELECT name FROM alias WHERE alias = :system AND NOT EXISTS (SELECT 1 FROM process WHERE run = :run AND system = :system)";
	struct grid t = { 0 };
	int err = s->ask.system ? store_query(s, "aliases", sql, NULL, &t) : 0;

	if (!err && t.rows) {
		s->system = strdup(grid_cell(&t, 0, 0)->text);
		if (!s->system)
			err = fail_as(EXIT_DATA, ENOMEM, "%s", s->path);
		else
			s->ask.system = s->system;
	}
	grid_free(&t);
	return err;
}

/* `asked`: as it was asked for. */
static int store_knows_system(struct store *s, const char *asked)
{
	auto_free char *sql = NULL;
	struct grid t = { 0 };
	bool known;
	int err;

	if (asprintf(&sql, "SELECT COUNT(*) FROM %s WHERE system = :system", s->ask.systems) < 0)
		return fail_as(EXIT_DATA, ENOMEM, "%s", s->path);
	err = store_query(s, "systems", sql, NULL, &t);
	known = !err && t.rows && grid_cell(&t, 0, 0)->i > 0;
	grid_free(&t);
	if (err || known)
		return err;
	if (s->ask.about_store)
		return fail_as(EXIT_USAGE, 0,
			"%s has no run of system '%s' that this report is about (`iot-analyze runs` lists all)",
			s->path, asked);
	return fail_as(EXIT_USAGE, 0,
		       "run %lld has no system '%s' (`iot-analyze systems` lists them)",
		       (long long)s->ask.run, asked);
}

/* Table `wanted_limit`. */
static int store_limits(struct store *s, const struct ask *ask)
{
	sqlite3_stmt *st = NULL;
	static const char make[] =
		"CREATE TEMP TABLE wanted_limit (place INTEGER, ratio TEXT, kind INTEGER, value REAL, text TEXT, low REAL, who TEXT)";
	int rc = sqlite3_exec(s->db, make, NULL, NULL, NULL), i;

	rc = rc ?: sqlite3_prepare_v2(
			  s->db,
			  "INSERT INTO temp.wanted_limit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", -1,
			  &st, NULL);
	for (i = 0; rc == SQLITE_OK && i < ask->limits; i++) {
		sqlite3_bind_int(st, 1, i);
		sqlite3_bind_text(st, 2, ask->limit[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_int(st, 3, ask->limit[i].kind);
		if (!ask->limit[i].unknown)
			sqlite3_bind_double(st, 4, ask->limit[i].value);
		if (ask->limit[i].kind == LIMIT_WITHIN && !ask->limit[i].unknown)
			sqlite3_bind_double(st, 6, ask->limit[i].low);
		sqlite3_bind_text(st, 7, ask->limit[i].who, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 5, ask->limit[i].text, -1, SQLITE_STATIC);
		sqlite3_step(st);
		rc = sqlite3_reset(st);
		sqlite3_clear_bindings(st);
	}
	rc = sqlite3_finalize(st) ?: rc;
	return rc == SQLITE_OK ? 0 : store_fail(s, "cannot be asked");
}

static int check_ratio(const struct grid *known, const char *name)
{
	struct near n = { .given = name };
	char all[400] = "", hint[NEAR_HINT];
	size_t row;

	for (row = 0; row < known->rows; row++) {
		const char *one = grid_cell(known, row, 0)->text;

		if (!strcmp(one, name))
			return 0;
		near_try(&n, one);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", row ? ", " : "", one);
	}
	return fail_as(EXIT_USAGE, 0, "no ratio is called '%s'%s; there are: %s", name,
		       near_hint(&n, "", hint), all);
}

/* Checks that each limit names a ratio. */
static int store_knows_limits(struct store *s)
{
	static const char known[] = "SELECT 'attributed' UNION ALL SELECT ratio FROM v_ratio_def";
	struct grid t = { 0 };
	int i, err = s->ask.limits ? store_query(s, "limits", known, NULL, &t) : 0;

	for (i = 0; !err && i < s->ask.limits; i++)
		err = check_ratio(&t, s->ask.limit[i].name);
	grid_free(&t);
	return err;
}

/* An INSERT into table `given`, made from the columns of the record. */
struct given {
	FILE *columns, *values;
	sqlite3_stmt *st;
	int n;
};

static void name_column(void *arg, const char *name, bool present, const char *text, u64 number)
{
	struct given *g = arg;

	fprintf(g->columns, "%s%s", g->n ? ", " : "", name);
	fprintf(g->values, "%s?%d", g->n ? ", " : "", g->n + 1);
	g->n++;
}

static void bind_column(void *arg, const char *name, bool present, const char *text, u64 number)
{
	struct given *g = arg;

	g->n++;
	if (text)
		sqlite3_bind_text(g->st, g->n, text, -1, SQLITE_TRANSIENT);
	else if (present)
		sqlite3_bind_int64(g->st, g->n, number);
}

static char *given_sql(const struct rec_load *ledger)
{
	char *columns = NULL, *values = NULL, *sql = NULL;
	struct given g = { .columns = memory_open(&columns, NULL), .values = memory_open(&values, NULL) };
	int failed = 0;

	if (g.columns && g.values)
		rec_each(REC_load, ledger, name_column, &g);
	if (g.columns)
		failed |= fclose(g.columns);
	if (g.values)
		failed |= fclose(g.values);
	if (failed || !g.n || asprintf(&sql, "INSERT INTO given (%s) VALUES (%s)", columns, values) < 0)
		sql = NULL;
	free(columns);
	free(values);
	return sql;
}

/* Fills table `given`; `ledger` NULL: with what the store has for the run. */
static int give(struct store *s, int64_t run, const struct rec_load *ledger)
{
	static const char make[] = "CREATE TEMP TABLE given AS SELECT * FROM load WHERE run = :run";
	auto_free char *sql = ledger ? given_sql(ledger) : NULL;
	struct given g = { 0 };
	int rc;

	s->ask.run = run;
	rc = sqlite3_prepare_v2(s->db, make, -1, &g.st, NULL);
	if (rc == SQLITE_OK) {
		bind_ask(g.st, &s->ask, s->path);
		sqlite3_step(g.st);
	}
	rc = sqlite3_finalize(g.st) ?: rc;
	if (rc != SQLITE_OK)
		return store_fail(s, "cannot be asked");
	if (!ledger)
		return 0;
	if (!sql)
		return fail_as(EXIT_DATA, ENOMEM, "%s", s->path);
	rc = sqlite3_exec(s->db, "DELETE FROM given", NULL, NULL, NULL) ?:
	     sqlite3_prepare_v2(s->db, sql, -1, &g.st, NULL);
	if (rc == SQLITE_OK) {
		rec_each(REC_load, ledger, bind_column, &g);
		sqlite3_step(g.st);
	}
	rc = sqlite3_finalize(g.st) ?: rc;
	return rc == SQLITE_OK ? 0 : store_fail(s, "cannot be asked");
}

/* Answers why `given` cannot be of the run; NULL or no row: it can. A second of slack, because the
 * wall clock may be slewed. */
static const char foreign_sql[] =
	"SELECT CASE"
	" WHEN g.devices IS NOT NULL AND (SELECT COUNT(DISTINCT d.host) FROM device d WHERE d.run = r.run) > 1"
	"  THEN 'its devices (' || g.devices || ') are one host''s, and the run has several: give --payload and --copies in its place'"
	" WHEN g.devices IS NOT NULL AND (SELECT COUNT(DISTINCT d.dev) FROM device d WHERE d.run = r.run AND d.leaf = 1"
	"   AND instr(',' || g.devices || ',', ',' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ','))"
	"   <> length(g.devices) - length(replace(g.devices, ',', '')) + 1"
	"  THEN 'not every one of its devices (' || g.devices || ') is a leaf device of it'"
	" WHEN g.begin_wall_ns < r.wall_ns - 1000000000 OR g.begin_wall_ns > r.wall_ns + e.dur_ns + 1000000000"
	"  OR g.end_wall_ns > r.wall_ns + e.dur_ns + 1000000000"
	"  THEN 'its load ran ' || printf('%+.1f', (g.begin_wall_ns - r.wall_ns) / 1e9) || ' to ' ||"
	"   printf('%+.1f', (g.end_wall_ns - r.wall_ns) / 1e9) || ' s from its start, the run for ' || printf('%.1f', e.dur_ns / 1e9) || ' s'"
	" END AS why "
	"FROM given g JOIN run r ON r.run = :run LEFT JOIN run_end e ON e.run = r.run";

static int check_given(struct store *s, const char *name)
{
	struct grid t = { 0 };
	int err = store_query(s, "ledger", foreign_sql, NULL, &t);

	if (!err && t.rows && grid_cell(&t, 0, 0)->type == CELL_TEXT)
		err = fail_as(EXIT_DATA, 0, "%s is not a ledger of run %lld: %s", name,
			      (long long)s->ask.run, grid_cell(&t, 0, 0)->text);
	grid_free(&t);
	return err;
}

int store_check_ledger(struct store *s, int64_t run, const struct rec_load *ledger,
		       const char *name)
{
	return give(s, run, ledger) ?: check_given(s, name);
}

/* Table `given`, from what the command line says. */
static int store_given(struct store *s, const struct ask *ask)
{
	struct rec_load plain = { 0 };

	if (ask->ledger)
		return store_check_ledger(s, ask->run, ask->ledger, ask->ledger_name);
	if (!ask->has_logical)
		return give(s, ask->run, NULL);
	rec_set(&plain, load, logical_write_bytes, ask->logical_bytes);
	if (ask->copies) {
		rec_set(&plain, load, copies, ask->copies);
		rec_set(&plain, load, shares, ask->shares);
	}
	return give(s, ask->run, &plain);
}

/* Views take the events of a run for all that there were: a run that recorded only some has none
 * for them. */
static int hide_events(struct store *s)
{
	static const char some[] = "SELECT 1 FROM run WHERE run = :run AND only IS NOT NULL";
	static const char hide[] = "CREATE TEMP TABLE event AS SELECT * FROM main.event WHERE 0";
	struct grid t = { 0 };
	int err = s->ask.some_events ? 0 : store_query(s, "ask", some, NULL, &t);

	if (!err && t.rows && sqlite3_exec(s->db, hide, NULL, NULL, NULL) != SQLITE_OK)
		err = store_fail(s, "cannot be asked");
	grid_free(&t);
	return err;
}

int store_ask(struct store *s, const struct ask *ask)
{
	static const char make[] =
		"PRAGMA temp.cache_size = -32768;" /* KiB: views of 60,000 processes go into no
						      file */
		"CREATE TEMP TABLE ask (run INTEGER, per TEXT, system TEXT, plot INTEGER)";
	static const char fill[] = "INSERT INTO ask VALUES (:run, :per, :system, :plot)";
	struct grid t = { 0 };
	int err;

	s->ask = *ask;
	if (functions_register(s->db) != SQLITE_OK || fold_register(s->db) != SQLITE_OK ||
	    volume_register(s->db) != SQLITE_OK || order_register(s->db) != SQLITE_OK ||
	    overlap_register(s->db) != SQLITE_OK || sizes_register(s->db) != SQLITE_OK ||
	    sqlite3_exec(s->db, make, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(s, "cannot be asked");
	err = store_aliases(s, ask->rules) ?: store_name_system(s) ?:
	      store_query(s, "ask", fill, NULL, &t) ?: hide_events(s);
	grid_free(&t);
	return err ?: store_limits(s, ask) ?: store_given(s, ask);
}

int store_has_system(struct store *s, const char *system)
{
	return system && s->ask.systems ? store_knows_system(s, system) : 0;
}

int store_asked(struct store *s, const char *system)
{
	int err = store_has_system(s, system) ?: store_knows_limits(s);

	sqlite3_exec(s->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return err;
}

static int take_cell(sqlite3_stmt *st, int col, struct cell *c)
{
	switch (sqlite3_column_type(st, col)) {
	case SQLITE_NULL:
		return 0;
	case SQLITE_INTEGER:
		c->type = CELL_INT;
		c->i = sqlite3_column_int64(st, col);
		return 0;
	case SQLITE_FLOAT: /* infinity is printed as not measured: no format has a word for it */
		c->r = sqlite3_column_double(st, col);
		c->type = isfinite(c->r) ? CELL_REAL : CELL_NULL;
		return 0;
	default: { /* SQLite wants the pointer to be read before the length */
		const void *bytes = sqlite3_column_blob(st, col);

		return cell_text(c, bytes ? bytes : "", sqlite3_column_bytes(st, col));
	}
	}
}

static int take_columns(sqlite3_stmt *st, struct grid *out)
{
	int i, cols = sqlite3_column_count(st);

	out->col = calloc(cols ? cols : 1, sizeof(*out->col));
	if (!out->col)
		return -ENOMEM;
	for (i = 0; i < cols; i++) {
		out->col[i] = strdup(sqlite3_column_name(st, i));
		if (!out->col[i])
			return -ENOMEM;
		out->cols = i + 1;
	}
	return 0;
}

static int take_row(sqlite3_stmt *st, struct grid *out)
{
	struct cell *row;
	int i, err = 0;

	row = out->cols ? grid_add(out) : NULL;
	if (!row)
		return -ENOMEM;
	for (i = 0; !err && i < out->cols; i++)
		err = take_cell(st, i, &row[i]);
	return err;
}

bool store_plots(const struct store *s)
{
	return s->ask.plot;
}

static void count_steps(struct store *s, sqlite3_stmt *st, const char *sql)
{
	int steps = st ? sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 0) : 0;

	s->steps += steps;
	if (s->tell_steps > 1)
		fprintf(stderr, "%10d %.70s\n", steps, sql + strspn(sql, "\n"));
}

/* Rows of a table beyond which those that --where and --top leave out are not kept. */
#define THIN 8192

/* Returns 0, a negative errno, or the exit status of an error that was reported. */
static int take_rows(struct store *s, sqlite3_stmt *st, struct grid *out, int *rc)
{
	size_t full = THIN;
	int err = 0;

	while (!err && (*rc = sqlite3_step(st)) == SQLITE_ROW) {
		err = take_row(st, out);
		if (err || !s->ask.select || out->rows < full)
			continue;
		err = select_thin(out, s->ask.select);
		full = 2 * out->rows > THIN ? 2 * out->rows : THIN;
	}
	return err;
}

/* Ends a statement whose last step returned rc. Returns err if that is an exit status, or one
 * after a message; 0: it is done. */
static int end_query(struct store *s, const char *name, const char *sql, sqlite3_stmt *st, int rc,
		     int err)
{
	if (err < 0)
		err = fail_as(EXIT_DATA, -err, "%s", name);
	else if (!err && rc != SQLITE_DONE)
		err = store_fail(s, name);
	count_steps(s, st, sql);
	sqlite3_finalize(st);
	return err;
}

int store_query(struct store *s, const char *name, const char *sql, const char **tail,
		struct grid *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, tail), err = 0;

	if (rc == SQLITE_OK && !st)
		return 0;
	if (rc == SQLITE_OK) {
		bind_ask(st, &s->ask, s->path);
		err = take_columns(st, out);
	}
	if (rc == SQLITE_OK && !err)
		err = take_rows(s, st, out, &rc);
	return end_query(s, name, sql, st, rc, err);
}

/* Gives the rows to the caller piece by piece. Returns as take_rows(). */
static int give_rows(sqlite3_stmt *st, int *rc, int (*rows)(void *, const struct grid *), void *arg)
{
	struct grid piece = { 0 };
	int err = take_columns(st, &piece);
	bool given = false;

	while (!err && (*rc = sqlite3_step(st)) == SQLITE_ROW) {
		err = take_row(st, &piece);
		if (err || piece.rows < STORE_PIECE)
			continue;
		err = rows(arg, &piece);
		given = true;
		grid_empty(&piece);
	}
	if (!err && *rc == SQLITE_DONE && (piece.rows || !given))
		err = rows(arg, &piece);
	grid_free(&piece);
	return err;
}

int store_each(struct store *s, const char *name, const char *sql,
	       int (*rows)(void *arg, const struct grid *piece), void *arg)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL), err = 0;

	if (rc == SQLITE_OK) {
		bind_ask(st, &s->ask, s->path);
		err = give_rows(st, &rc, rows, arg);
	}
	return end_query(s, name, sql, st, rc, err);
}
