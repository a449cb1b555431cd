/* SPDX-License-Identifier: GPL-3.0-only */
/* store.c - the sink that writes a SQLite store.
 *
 * One transaction lasts from commit to commit, in WAL mode with synchronous=FULL: committed records
 * survive kill -9 and loss of power. Events are collected (batch.c) and inserted with each commit;
 * their table has no index.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "batch.h"
#include "dirty.h"
#include "journal.h"
#include "memory.h"
#include "opener.h"
#include "schema.h"
#include "second.h"

struct store {
	struct sink sink;
	struct opener o;
	sqlite3 *db;            /* of `o` */
	int shm;                /* keeps SQLite's locks: closing it earlier would drop them */
	int err;                /* of an earlier call: nothing more is written */
	bool began, ended;      /* a transaction is open; it holds the end of the run */
	bool aside;             /* an incomplete attempt at the same run is there */
	s64 run;                /* 0: none yet */
	s64 first_agg;          /* rows of the run in table agg have this rowid or a larger one */
	struct batch *batch;    /* events of this transaction, or of the next one */
	struct iot_event *copy; /* events with the components that fileio.c found; while `fileio` */
	struct ledger *ledger;  /* of the run, if it has events */
	struct fileio *fileio;  /* of the run, if it has events */
	sqlite3_stmt *insert[REC_MAX], *total;
};

static int sql_fail(struct store *s, int rc, const char *what)
{
	return opener_fail(&s->o, rc, what);
}

/* ---- set up ---- */

static int exec(struct store *s, const char *sql, const char *what)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(s, rc, what);
}

/* Syncs the index of SQLite's log, which SQLite never does. Its dirty pages would otherwise reach
 * the device inside the run, without an owner. */
static void sync_index(struct store *s)
{
	auto_free char *name = NULL;

	if (asprintf(&name, "%s-shm", s->o.at.name) > 0)
		s->shm = openat(s->o.at.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (s->shm >= 0)
		fsync(s->shm);
}

static int open_schema(struct store *s, bool fresh)
{
	int err = fresh ? exec(s, "PRAGMA page_size = 16384", "cannot be set up") : 0, rc;

	if (!err)
		err = journal_begin(&s->o) ?:
		      exec(s, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "cannot be set up");
	if (err)
		return err;
	s->began = true;
	rc = fresh ? schema_create(s->db) : SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = schema_dictionaries(s->db);
	if (rc != SQLITE_OK)
		return sql_fail(s, rc, "cannot make its tables");
	/* until it is one file, the contents of the log need room twice: empty the log now */
	err = exec(s, fresh ? "COMMIT; PRAGMA main.wal_checkpoint(TRUNCATE)" : "COMMIT",
		   "cannot be set up");
	s->began = err;
	if (!err)
		sync_index(s);
	return err;
}

/* ---- statements ---- */

/* Adds sums of agg_total: unsigned, and an error instead of a wrong number. */
static void sql_add_u64(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	u64 a = sqlite3_value_int64(argv[0]), b = sqlite3_value_int64(argv[1]);

	if (a + b < a)
		sqlite3_result_error(ctx, "a sum does not fit in 64 bits", -1);
	else
		sqlite3_result_int64(ctx, a + b);
}

static void sql_max_u64(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	u64 a = sqlite3_value_int64(argv[0]), b = sqlite3_value_int64(argv[1]);

	sqlite3_result_int64(ctx, a > b ? a : b);
}

static int prepare(struct store *s, const char *sql, sqlite3_stmt **out)
{
	int rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(s, rc, "cannot prepare to write");
}

/* Prints how a row of file_io is added to the row of its key: there is one row for a run, not one
 * for each second. */
static void put_addition(FILE *f, const struct table *t)
{
	const char *separator = " WHERE 1 ON CONFLICT DO UPDATE SET ";

	for (size_t i = table_find(t, "component") + 1; i < t->n; i++) {
		fprintf(f, "%s%s = iot_add(%s, excluded.%s)", separator, t->cols[i].name,
			t->cols[i].name, t->cols[i].name);
		separator = ", ";
	}
}

/* Prepares the statement *sql that was written to f, closes f and frees *sql. */
static int prepare_text(struct store *s, FILE *f, char **sql, sqlite3_stmt **st)
{
	int err = fclose(f) ? fail_as(-ENOMEM, 0, "%s: no memory", s->sink.name) : prepare(s, *sql, st);

	free(*sql);
	return err;
}

static int prepare_record(struct store *s, unsigned int type)
{
	const struct table *t = table_of(type);
	char *sql = NULL;
	size_t size, i;
	FILE *f = memory_open(&sql, &size);

	if (!f)
		return fail_as(-ENOMEM, 0, "%s: no memory", s->sink.name);
	/* a process, file or device that comes again replaces its row; a run never does */
	fprintf(f, "INSERT OR %s INTO %s(run", type == REC_run || type == REC_end ||
		type == REC_file_io ? "ABORT" : "REPLACE", schema_table(type));
	for (i = 0; i < t->n; i++)
		fprintf(f, ", %s", t->cols[i].name);
	fprintf(f, ") SELECT ?1");
	for (i = 0; i < t->n; i++)
		fprintf(f, ", ?%zu", i + 2);
	if (type == REC_file_io)
		put_addition(f, t);
	return prepare_text(s, f, &sql, &s->insert[type]);
}

/* Prints how a sum of agg_total is updated. A sum that is absent in one row is absent in the
 * total. */
static void put_sum(FILE *f, const struct column *c)
{
	const char *how = c->total == TOTAL_MAX ? "iot_max" : "iot_add";

	fprintf(f, "%s = CASE WHEN %s + excluded.%s NOTNULL THEN %s(%s, excluded.%s) END",
		c->name, c->name, c->name, how, c->name, c->name);
}

static int prepare_total(struct store *s)
{
	const struct table *t = table_of(REC_agg);
	const char *comma = "";
	char *sql = NULL;
	size_t size, i;
	FILE *f = memory_open(&sql, &size);

	if (!f)
		return fail_as(-ENOMEM, 0, "%s: no memory", s->sink.name);
	fprintf(f, "INSERT INTO agg_total(run");
	for (i = 1; i < t->n; i++)
		fprintf(f, ", %s", t->cols[i].name);
	fprintf(f, ") VALUES(?1");
	for (i = 1; i < t->n; i++)
		fprintf(f, ", ?%zu", i + 1);
	fprintf(f, ") ON CONFLICT(");
	schema_agg_key(f);
	fprintf(f, ") DO UPDATE SET ");
	for (i = 1; i < t->n; i++) {
		if (t->cols[i].total == TOTAL_KEY)
			continue;
		fputs(comma, f);
		put_sum(f, &t->cols[i]);
		comma = ", ";
	}
	return prepare_text(s, f, &sql, &s->total);
}

static int prepare_all(struct store *s)
{
	unsigned int type;
	int err = 0, rc = batch_open(&s->batch, s->db);

	if (rc != SQLITE_OK)
		return sql_fail(s, rc, "cannot prepare to write");
	if (sqlite3_create_function(s->db, "iot_add", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				    sql_add_u64, NULL, NULL) ||
	    sqlite3_create_function(s->db, "iot_max", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				    sql_max_u64, NULL, NULL))
		return sql_fail(s, SQLITE_NOMEM, "cannot prepare to write");
	for (type = 0; !err && type < REC_MAX; type++)
		err = prepare_record(s, type);
	return err ? err : prepare_total(s);
}

/* ---- the sink ---- */

/* Rolls back; nothing more is written to this sink. */
static int undo(struct store *s, int err)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->began = false;
	return s->err = err;
}

static int give_up(struct store *s, int rc, const char *what)
{
	return undo(s, sql_fail(s, rc, what));
}

static int begin(struct store *s)
{
	int rc;

	if (s->err || s->began)
		return s->err;
	/* IMMEDIATE would also begin it in database `batch`, which is replaced before it is read */
	rc = sqlite3_exec(s->db, "BEGIN; DELETE FROM main.run WHERE 0", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot begin to write");
	s->began = true;
	return 0;
}

static int step(sqlite3_stmt *st)
{
	sqlite3_step(st);
	return sqlite3_reset(st);
}

static int bind_column(sqlite3_stmt *st, int at, const struct table *t, const void *rec, size_t i)
{
	const struct column *c = &t->cols[i];

	if (!col_present(t, rec, i))
		return sqlite3_bind_null(st, at);
	if (c->type == TYPE_STR)
		return sqlite3_bind_text(st, at, *(const char *const *)((const char *)rec + c->offset),
					 -1, SQLITE_STATIC);
	return sqlite3_bind_int64(st, at, col_number(c, rec));
}

/* Adds a record agg to its row of agg_total, which has all columns but the first, `sec`. */
static int add_total(struct store *s, const void *rec)
{
	const struct table *t = table_of(REC_agg);
	int rc = sqlite3_bind_int64(s->total, 1, s->run);
	size_t i;

	for (i = 1; rc == SQLITE_OK && i < t->n; i++)
		rc = bind_column(s->total, i + 1, t, rec, i);
	return rc == SQLITE_OK ? step(s->total) : rc;
}

static int insert_record(struct store *s, enum rec_type type, const void *rec)
{
	const struct table *t = table_of(type);
	sqlite3_stmt *st = s->insert[type];
	int rc = type == REC_run ? sqlite3_bind_null(st, 1) : sqlite3_bind_int64(st, 1, s->run);
	size_t i;

	for (i = 0; rc == SQLITE_OK && i < t->n; i++)
		rc = bind_column(st, i + 2, t, rec, i);
	return rc == SQLITE_OK ? step(st) : rc;
}

/* Gives names to files without one: a file gets another id when it was not used for long, and the
 * later ids may have come without a name. */
static int name_files(struct store *s)
{
	auto_free char *sql = NULL;
	int rc = SQLITE_NOMEM;

	if (asprintf(&sql, "CREATE TEMP TABLE named AS SELECT dev, ino, gen, path, component,"
		     " max(id) FROM file"
		     " WHERE run = %1$lld AND path IS NOT NULL"
		     " AND EXISTS (SELECT 1 FROM file WHERE run = %1$lld AND path IS NULL)"
		     " GROUP BY dev, ino, gen;"
		     "CREATE INDEX temp.named_key ON named(dev, ino, gen);"
		     "UPDATE file SET path = n.path, component = n.component"
		     " FROM temp.named n WHERE file.run = %1$lld"
		     " AND file.path IS NULL AND n.dev = file.dev AND n.ino = file.ino AND n.gen = file.gen;"
		     " DROP TABLE temp.named",
		     (long long)s->run) > 0)
		rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : give_up(s, rc, "cannot name files");
}

/* ---- an incomplete run that is given again: it stays until the new one is complete ---- */

#define OLD_NAME "uuid || ' (incomplete ' || run || ')'"
#define OLD_RUNS "SELECT run FROM run" \
	" WHERE instr(uuid, (SELECT uuid FROM run WHERE run = ?1) || ' (incomplete ') = 1" \
	" AND run NOT IN (SELECT run FROM run_end)"

/* Runs a statement whose parameters are a run and a text. */
static int run_sql(struct store *s, const char *sql, s64 run, const char *text)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, run);
		sqlite3_bind_text(st, 2, text, -1, SQLITE_STATIC);
		sqlite3_step(st);
	}
	return sqlite3_finalize(st) ?: rc;
}

/* Renames an incomplete run of that uuid. Returns an SQLite code; SQLITE_DONE: there is none. */
static int set_aside(struct store *s, const char *uuid)
{
	int rc = run_sql(s, "UPDATE run SET uuid = " OLD_NAME
			 " WHERE uuid = ?2 AND run NOT IN (SELECT run FROM run_end)", 0, uuid);

	return rc == SQLITE_OK && !sqlite3_changes(s->db) ? SQLITE_DONE : rc;
}

static int drop_old(struct store *s)
{
	static const char *const more[] = { "agg_total", "agg_second", "ledger" };
	int rc = run_sql(s, "CREATE TEMP TABLE old AS " OLD_RUNS, s->run, NULL);
	size_t i;

	if (rc == SQLITE_OK) /* a load that `iot-analyze attach` added stays with the run */
		rc = run_sql(s, "UPDATE OR IGNORE load SET run = ?1 WHERE run IN (SELECT run FROM temp.old)",
			     s->run, NULL);
	for (i = 0; rc == SQLITE_OK && i < REC_EVENT + 1 + sizeof(more) / sizeof(*more); i++) {
		auto_free char *sql = NULL;

		if (asprintf(&sql, "DELETE FROM %s WHERE run IN (SELECT run FROM temp.old)",
			     i > REC_EVENT ? more[i - REC_EVENT - 1] : schema_table(i)) < 0)
			return SQLITE_NOMEM;
		rc = run_sql(s, sql, 0, NULL);
	}
	return rc == SQLITE_OK ? sqlite3_exec(s->db, "DROP TABLE temp.old", NULL, NULL, NULL) : rc;
}

/* ---- the end of a run ---- */

static void forget_run(struct store *s)
{
	ledger_close(s->ledger);
	fileio_close(s->fileio);
	s->ledger = NULL;
	s->fileio = NULL;
	s->ended = s->aside = false;
}

/* Writes the ledger and the bytes by file of the run in the transaction of its end. */
static int finish_run(struct store *s)
{
	int rc, err = name_files(s);

	err = err ?: fileio_write(s->fileio, s->db, s->run);
	fileio_close(s->fileio); /* frees its many rows: the ledger needs memory now */
	s->fileio = NULL;
	err = err ?: ledger_write(s->ledger, s->db, s->run);
	if (err)
		return s->err ? s->err : undo(s, err);
	rc = second_write(s->db, s->run, s->first_agg);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot write sums by second");
	rc = s->aside ? drop_old(s) : SQLITE_OK;
	return rc == SQLITE_OK ? 0 : give_up(s, rc, "cannot remove what was incomplete");
}

static int put_events(struct store *s)
{
	int rc = batch_store(s->batch);

	return rc == SQLITE_OK ? 0 : give_up(s, rc, "cannot write events");
}

static int store_commit(struct sink *sink)
{
	struct store *s = (struct store *)sink;
	int rc;

	if (s->err || !s->began || put_events(s) || (s->ended && finish_run(s)))
		return s->err;
	rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot commit");
	s->began = false;
	if (s->ended)
		forget_run(s);
	return 0;
}

static int put_run(struct store *s, const struct rec_run *rec)
{
	int rc = insert_record(s, REC_run, rec);

	if (sqlite3_extended_errcode(s->db) == SQLITE_CONSTRAINT_UNIQUE) {
		rc = set_aside(s, rec->uuid);
		if (rc == SQLITE_DONE)
			return undo(s, fail_as(-EEXIST, 0, "%s: run %s is already in this store",
					       s->sink.name, rec->uuid));
		s->aside = true;
		rc = rc == SQLITE_OK ? insert_record(s, REC_run, rec) : rc;
	}
	rc = rc ?: second_next(s->db, &s->first_agg);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot write");
	s->run = sqlite3_last_insert_rowid(s->db);
	s->ledger = rec->events == 1 ? ledger_open(s->db, s->run) : NULL;
	s->copy = s->copy ?: malloc(IOT_EVENT_BATCH * sizeof(*s->copy));
	s->fileio = rec->events == 1 && s->copy ? fileio_open() : NULL;
	return 0;
}

static int store_record(struct sink *sink, enum rec_type type, const void *rec)
{
	struct store *s = (struct store *)sink;
	int rc;

	/* a run, and the end of a run, begin transactions of their own */
	if ((type == REC_run || type == REC_end) && store_commit(sink))
		return s->err;
	if (begin(s))
		return s->err;
	if (type == REC_run) {
		forget_run(s);
		return put_run(s, rec);
	}
	if (!s->run)
		return s->err = fail_as(-EINVAL, 0, "%s: a record '%s' before the record 'run'",
					sink->name, table_of(type)->name);
	rc = insert_record(s, type, rec);
	if (rc == SQLITE_OK && type == REC_agg)
		rc = add_total(s, rec);
	if (type == REC_file)
		ledger_file(s->ledger, ((const struct rec_file *)rec)->id, ((const struct rec_file *)rec)->block);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot write");
	s->ended = type == REC_end;
	return 0;
}

static int store_events(struct sink *sink, const struct iot_event *e, size_t n)
{
	struct store *s = (struct store *)sink;
	size_t taken;

	if (begin(s))
		return s->err;
	ledger_events(s->ledger, e, n);
	if (s->fileio) {
		memcpy(s->copy, e, n * sizeof(*e));
		fileio_events(s->fileio, s->copy, n);
		e = s->copy;
	}
	while ((taken = batch_add(s->batch, s->run, e, n)) < n) { /* it is full */
		if (store_commit(sink) || begin(s))
			return s->err;
		e += taken;
		n -= taken;
	}
	return 0;
}

static void store_free(struct store *s)
{
	size_t i;

	for (i = 0; i < REC_MAX; i++)
		sqlite3_finalize(s->insert[i]);
	sqlite3_finalize(s->total);
	forget_run(s);
	opener_close(&s->o);
	batch_close(s->batch);
	if (s->shm >= 0)
		close(s->shm);
	free((void *)s->sink.name);
	free(s->copy);
	free(s);
}

static int store_close(struct sink *sink, bool complete)
{
	struct store *s = (struct store *)sink;
	int err = s->err, joined = 0;

	if (!err && s->ended && !complete)
		undo(s, 0);
	else if (!err)
		err = store_commit(sink);
	else
		undo(s, err);
	if (s->err != -ENOMEM) /* after that nothing may be prepared: see batch_store() */
		joined = journal_join(&s->o);
	store_free(s);
	return err ?: joined;
}

int sink_store(struct sink **out, const char *path)
{
	struct store *s = calloc(1, sizeof(*s));
	bool fresh = false;
	int err;

	*out = NULL;
	if (s)
		s->sink.name = strdup(path);
	if (!s || !s->sink.name) {
		free(s);
		return fail_as(-ENOMEM, 0, "%s: no memory", path);
	}
	s->sink.record = store_record;
	s->sink.events = store_events;
	s->sink.commit = store_commit;
	s->sink.close = store_close;
	s->shm = -1;
	err = opener_open(&s->o, s->sink.name, true, &fresh);
	s->db = s->o.db;
	if (!err)
		err = open_schema(s, fresh);
	if (!err)
		err = prepare_all(s);
	if (err) {
		s->o.unmakes = true;
		store_free(s);
		return err;
	}
	*out = &s->sink;
	return 0;
}

void store_unmake(struct sink *sink)
{
	((struct store *)sink)->o.unmakes = true;
}

int store_attach(const char *path, s64 run, enum rec_type type, const void *rec)
{
	struct sink *sink;
	int err = access(path, F_OK) ? fail_as(-errno, 0, "cannot open %s: %s", path, strerror(errno)) :
		  sink_store(&sink, path);

	if (err)
		return err;
	((struct store *)sink)->run = run;
	err = store_record(sink, type, rec);
	if (!err)
		err = store_commit(sink);
	return store_close(sink, false) ?: err;
}

const char *store_place(const struct sink *sink, int *dir)
{
	const struct store *s = (const struct store *)sink;

	*dir = s->o.at.dir;
	return s->o.at.name;
}

int store_confine(struct sink *sink)
{
	struct store *s = (struct store *)sink;

	journal_keep(&s->o);
	return exec(s, "PRAGMA temp_store = MEMORY", "cannot do without temporary files");
}
