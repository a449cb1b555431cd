/* SPDX-License-Identifier: GPL-3.0-only */
/* store.c - the sink that writes a SQLite store, and the check of a store before it is read.
 *
 * One transaction from commit to commit in WAL mode with synchronous=FULL: what was committed survives kill -9 and loss of
 * power. Events go in by thousands through a virtual table (batch.c); no index is kept on them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "batch.h"
#include "fileio.h"
#include "ledger.h"
#include "schema.h"

#define BUSY_MS 10000

struct store {
	struct sink sink;
	sqlite3 *db;
	int fd, shm;            /* they keep locks; closing them earlier would drop SQLite's locks too */
	int err;                /* of an earlier call: nothing more is written */
	bool began, ended;      /* a transaction is open; the last run has its end */
	s64 run;                /* 0: none yet */
	struct batch batch;
	struct iot_event *copy; /* room for IOT_EVENT_BATCH, with components that fileio.c found; while `fileio` */
	struct ledger *ledger;  /* of the run, when it has events */
	struct fileio *fileio;  /* likewise */
	sqlite3_stmt *insert[REC_MAX + 1], *total;
};

/* One sentence for an SQLite code, and the errno that goes with it. */
static int sql_fail(sqlite3 *db, const char *name, int rc, const char *what)
{
	int sys = db ? sqlite3_system_errno(db) : 0;

	rc &= 0xff;
	if (rc == SQLITE_FULL || (rc == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT)))
		return stream_fail(-ENOSPC, "%s: %s: no space left on the device (what was committed before is kept)", name, what);
	if (rc == SQLITE_NOTADB)
		return stream_fail(-EINVAL, "%s is not a store of iot: it is not a SQLite file", name);
	if (rc == SQLITE_CORRUPT)
		return stream_fail(-EUCLEAN, "%s is damaged: %s", name, sqlite3_errmsg(db));
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		return stream_fail(-EBUSY, "%s: %s: another program is writing to it", name, what);
	if (rc == SQLITE_READONLY || rc == SQLITE_PERM)
		return stream_fail(-EACCES, "%s: %s: %s", name, what, sqlite3_errmsg(db));
	if (rc == SQLITE_NOMEM)
		return stream_fail(-ENOMEM, "%s: %s: no memory", name, what);
	return stream_fail(-EIO, "%s: %s: %s%s%s", name, what, db ? sqlite3_errmsg(db) : "no memory", sys ? ": " : "",
			   sys ? strerror(sys) : "");
}

/* The first column of the first row. Returns an SQLite code; SQLITE_OK when there is a row. */
static int query_number(sqlite3 *db, const char *sql, s64 *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

/* ---- is it a store ---- */

/* Tables that every report reads. quick_check of everything would read every event. */
static int check_pages(sqlite3 *db, const char *name)
{
	static const char *const tables[] = { "run", "run_end", "process", "agg_total", "kind" };
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		sqlite3_stmt *st = NULL;
		char sql[64];
		int rc, err = 0;

		snprintf(sql, sizeof(sql), "PRAGMA quick_check('%s')", tables[i]);
		rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(st);
		if (rc != SQLITE_ROW)
			err = sql_fail(db, name, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "cannot be checked");
		else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok"))
			err = stream_fail(-EUCLEAN, "%s is damaged: table %s: %s", name, tables[i], sqlite3_column_text(st, 0));
		sqlite3_finalize(st);
		if (err)
			return err;
	}
	return 0;
}

/* *fresh: there is nothing in it yet. */
static int check_identity(sqlite3 *db, const char *name, bool *fresh)
{
	s64 id = 0, version = 0, objects = 0;
	int rc = query_number(db, "PRAGMA application_id", &id);

	if (rc == SQLITE_OK)
		rc = query_number(db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = query_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (rc != SQLITE_OK)
		return sql_fail(db, name, rc, "cannot be read");
	*fresh = !id && !version && !objects;
	if (*fresh)
		return 0;
	if (id != IOT_APPLICATION_ID)
		return stream_fail(-EINVAL, "%s is not a store of iot: another program made this SQLite file", name);
	if (version > IOT_SCHEMA)
		return stream_fail(-ENOTSUP, "%s was written by a newer version of iot (format %lld, this is %u)", name,
				   (long long)version, IOT_SCHEMA);
	if (version < IOT_SCHEMA)
		return stream_fail(-ENOTSUP, "%s was written by an older version of iot (format %lld, this is %u): give a new file",
				   name, (long long)version, IOT_SCHEMA);
	return check_pages(db, name);
}

/* ---- open for writing ---- */

/* The name without symlinks, so that SQLite opens what output_open() judged. */
static int real_name(int fd, const char *path, char real[PATH_MAX])
{
	char link[32];
	struct stat a, b;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, PATH_MAX - 1);
	if (n < 0)
		return stream_fail(-errno, "cannot open %s: /proc: %s", path, strerror(errno));
	real[n] = 0;
	if (fstat(fd, &a) || stat(real, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return stream_fail(-EAGAIN, "cannot open %s: somebody exchanged it at this moment", path);
	return 0;
}

static int lock_file(struct store *s)
{
	struct stat st;

	if (fstat(s->fd, &st))
		return stream_fail(-errno, "%s: %s", s->sink.name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return stream_fail(-EINVAL, "%s is not a store of iot: not a regular file", s->sink.name);
	if (flock(s->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return stream_fail(-EBUSY, "%s: another iot is writing to this store", s->sink.name);
	return 0;
}

static int connect_file(struct store *s)
{
	char real[PATH_MAX];
	int err = lock_file(s), rc, moved = 0;

	if (!err)
		err = real_name(s->fd, s->sink.name, real);
	if (err)
		return err;
	rc = sqlite3_open_v2(real, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return sql_fail(s->db, s->sink.name, rc, "cannot be opened");
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	if (moved)
		return stream_fail(-EAGAIN, "cannot open %s: somebody exchanged it at this moment", s->sink.name);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	return 0;
}

static int exec(struct store *s, const char *sql, const char *what)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sql_fail(s->db, s->sink.name, rc, what);
}

static int check_dictionaries(struct store *s)
{
	const char *which = "";
	int rc = schema_check(s->db, &which);

	if (rc == SQLITE_MISMATCH)
		return stream_fail(-ENOTSUP, "%s was written by another version of iot: its table '%s' differs; use a new store",
				   s->sink.name, which);
	return rc == SQLITE_OK ? 0 : sql_fail(s->db, s->sink.name, rc, "cannot be read");
}

/* SQLite never syncs the index of its log. What is dirty when a run begins would reach the device inside it, as nobody's. */
static void sync_index(struct store *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s-shm", sqlite3_db_filename(s->db, "main"));
	s->shm = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->shm >= 0)
		fsync(s->shm);
}

static int open_schema(struct store *s)
{
	bool fresh;
	int err = check_identity(s->db, s->sink.name, &fresh), rc;

	if (!err) /* nothing is written before it is known to be ours */
		err = fresh ? exec(s, "PRAGMA page_size = 16384", "cannot be set up") : check_dictionaries(s);
	if (!err)
		err = exec(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "cannot be set up");
	if (err)
		return err;
	s->began = true;
	rc = fresh ? schema_create(s->db) : SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = schema_dictionaries(s->db);
	if (rc != SQLITE_OK)
		return sql_fail(s->db, s->sink.name, rc, "cannot make its tables");
	err = exec(s, "COMMIT", "cannot be set up");
	s->began = err;
	if (!err)
		sync_index(s);
	return err;
}

/* ---- statements ---- */

/* For the sums of agg_total: unsigned, and an error instead of a wrong number. */
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

	return rc == SQLITE_OK ? 0 : sql_fail(s->db, s->sink.name, rc, "cannot prepare to write");
}

/* Sums by file come every second and are kept by run. */
static void put_addition(FILE *f, const struct table *t)
{
	const char *separator = " WHERE 1 ON CONFLICT DO UPDATE SET ";

	for (size_t i = table_find(t, "component") + 1; i < t->n; i++) {
		fprintf(f, "%s%s = iot_add(%s, excluded.%s)", separator, t->cols[i].name, t->cols[i].name, t->cols[i].name);
		separator = ", ";
	}
}

static int prepare_record(struct store *s, unsigned int type)
{
	const struct table *t = table_of(type);
	char *sql = NULL;
	size_t size, i;
	FILE *f = open_memstream(&sql, &size);
	int err;

	if (!f)
		return stream_fail(-ENOMEM, "%s: no memory", s->sink.name);
	/* a process, file or device that comes again replaces what was known; a run never does */
	fprintf(f, "INSERT OR %s INTO %s(run", type == REC_run || type == REC_end || type == REC_file_io ? "ABORT" : "REPLACE", schema_table(type));
	for (i = 0; i < t->n; i++)
		fprintf(f, ", %s", t->cols[i].name);
	fprintf(f, ") SELECT ?1");
	for (i = 0; i < t->n; i++)
		type == REC_EVENT ? fprintf(f, ", %s", t->cols[i].name) : fprintf(f, ", ?%zu", i + 2);
	if (type == REC_EVENT)
		fprintf(f, " FROM iot_batch");
	if (type == REC_file_io)
		put_addition(f, t);
	fclose(f);
	err = prepare(s, sql, &s->insert[type]);
	free(sql);
	return err;
}

/* Sums are added by the name of their column, whatever its place; what is absent says nothing, and leaves what is known. */
static void put_sum(FILE *f, const struct column *c)
{
	const char *how = c->total == TOTAL_MAX ? "iot_max" : "iot_add";

	fprintf(f, "%s = CASE WHEN excluded.%s IS NULL THEN %s WHEN %s IS NULL THEN excluded.%s ELSE %s(%s, excluded.%s) END",
		c->name, c->name, c->name, c->name, c->name, how, c->name, c->name);
}

static int prepare_total(struct store *s)
{
	const struct table *t = table_of(REC_agg);
	const char *comma = "";
	char *sql = NULL;
	size_t size, i;
	FILE *f = open_memstream(&sql, &size);
	int err;

	if (!f)
		return stream_fail(-ENOMEM, "%s: no memory", s->sink.name);
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
	err = fclose(f) ? stream_fail(-ENOMEM, "%s: no memory", s->sink.name) : prepare(s, sql, &s->total);
	free(sql);
	return err;
}

static int prepare_all(struct store *s)
{
	unsigned int type;
	int err = 0;

	if (batch_register(s->db, &s->batch) ||
	    sqlite3_create_function(s->db, "iot_add", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, sql_add_u64, NULL, NULL) ||
	    sqlite3_create_function(s->db, "iot_max", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, sql_max_u64, NULL, NULL))
		return sql_fail(s->db, s->sink.name, SQLITE_NOMEM, "cannot prepare to write");
	for (type = 0; !err && type <= REC_EVENT; type++)
		err = prepare_record(s, type);
	return err ? err : prepare_total(s);
}

/* ---- the sink ---- */

static int give_up(struct store *s, int rc, const char *what)
{
	s->err = sql_fail(s->db, s->sink.name, rc, what);
	if (s->began && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->began = false;
	return s->err;
}

static int begin(struct store *s)
{
	int rc;

	if (s->err || s->began)
		return s->err;
	rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
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

static int store_commit(struct sink *sink)
{
	struct store *s = (struct store *)sink;
	int rc;

	if (s->err || !s->began)
		return s->err;
	rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot commit");
	s->began = false;
	return 0;
}

static int bind_column(sqlite3_stmt *st, int at, const struct table *t, const void *rec, size_t i)
{
	const struct column *c = &t->cols[i];

	if (!col_present(t, rec, i))
		return sqlite3_bind_null(st, at);
	if (c->type == TYPE_STR)
		return sqlite3_bind_text(st, at, *(const char *const *)((const char *)rec + c->offset), -1, SQLITE_STATIC);
	return sqlite3_bind_int64(st, at, col_number(c, rec));
}

/* All columns of agg but `sec`, the first. */
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

/* A file that was not used for long has several numbers, and the later ones may have come without a name. */
static int name_files(struct store *s)
{
	auto_free char *sql = NULL;
	int rc = SQLITE_NOMEM;

	if (asprintf(&sql, "CREATE TEMP TABLE named AS SELECT dev, ino, gen, path, component, max(id) FROM file WHERE run = %1$lld"
		     " AND path IS NOT NULL AND EXISTS (SELECT 1 FROM file WHERE run = %1$lld AND path IS NULL) GROUP BY dev, ino, gen;"
		     "CREATE INDEX temp.named_key ON named(dev, ino, gen);"
		     "UPDATE file SET path = n.path, component = n.component FROM temp.named n WHERE file.run = %1$lld"
		     " AND file.path IS NULL AND n.dev = file.dev AND n.ino = file.ino AND n.gen = file.gen; DROP TABLE temp.named",
		     (long long)s->run) > 0)
		rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : give_up(s, rc, "cannot name files");
}

/* The run that ended gets its ledger and its bytes by file. */
static int finish_run(struct store *s)
{
	int err = store_commit(&s->sink);

	if (!err && s->ended)
		err = name_files(s);
	if (!err && s->ended)
		err = s->err = ledger_write(s->ledger, s->db, s->run);
	if (!err && s->ended)
		err = s->err = fileio_write(s->fileio, s->db, s->run);
	ledger_close(s->ledger);
	fileio_close(s->fileio);
	s->ledger = NULL;
	s->fileio = NULL;
	s->ended = false;
	return err;
}

static int store_record(struct sink *sink, enum rec_type type, const void *rec)
{
	struct store *s = (struct store *)sink;
	int rc;

	if (type == REC_run && finish_run(s))
		return s->err;
	if (begin(s))
		return s->err;
	if (type != REC_run && !s->run)
		return s->err = stream_fail(-EINVAL, "%s: a record '%s' before the record 'run'", sink->name, table_of(type)->name);
	rc = insert_record(s, type, rec);
	if (type == REC_run && sqlite3_extended_errcode(s->db) == SQLITE_CONSTRAINT_UNIQUE)
		return s->err = stream_fail(-EEXIST, "%s: run %s is already in this store", sink->name, ((const struct rec_run *)rec)->uuid);
	if (rc == SQLITE_OK && type == REC_agg)
		rc = add_total(s, rec);
	if (type == REC_file)
		ledger_file(s->ledger, ((const struct rec_file *)rec)->id, ((const struct rec_file *)rec)->block);
	if (rc != SQLITE_OK)
		return give_up(s, rc, "cannot write");
	if (type == REC_run) {
		s->run = sqlite3_last_insert_rowid(s->db);
		s->ledger = ((const struct rec_run *)rec)->events ? ledger_open(s->db, s->run) : NULL;
		s->copy = s->copy ?: malloc(IOT_EVENT_BATCH * sizeof(*s->copy));
		s->fileio = ((const struct rec_run *)rec)->events && s->copy ? fileio_open() : NULL;
	}
	s->ended = type == REC_end;
	return 0;
}

static int store_events(struct sink *sink, const struct iot_event *e, size_t n)
{
	struct store *s = (struct store *)sink;
	int rc;

	if (begin(s))
		return s->err;
	ledger_events(s->ledger, e, n);
	if (s->fileio) {
		memcpy(s->copy, e, n * sizeof(*e));
		fileio_events(s->fileio, s->copy, n);
		e = s->copy;
	}
	s->batch.events = e;
	s->batch.n = n;
	sqlite3_bind_int64(s->insert[REC_EVENT], 1, s->run);
	rc = step(s->insert[REC_EVENT]);
	return rc == SQLITE_OK ? 0 : give_up(s, rc, "cannot write events");
}

static void store_free(struct store *s)
{
	size_t i;

	for (i = 0; i <= REC_MAX; i++)
		sqlite3_finalize(s->insert[i]);
	sqlite3_finalize(s->total);
	ledger_close(s->ledger);
	fileio_close(s->fileio);
	sqlite3_close(s->db);
	if (s->fd >= 0)
		close(s->fd);
	if (s->shm >= 0)
		close(s->shm);
	free((void *)s->sink.name);
	free(s->copy);
	free(s);
}

static int store_close(struct sink *sink, bool complete)
{
	struct store *s = (struct store *)sink;
	int err = s->err;

	s->ended = s->ended && complete;
	if (!err)
		err = finish_run(s);
	else if (s->began)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	/* One plain file to copy about; a reader keeps it as it is, and then the next writer does this. */
	sqlite3_busy_timeout(s->db, 100);
	sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	store_free(s);
	return err;
}

int sink_store(struct sink **out, const char *path)
{
	struct store *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (s)
		s->sink.name = strdup(path);
	if (!s || !s->sink.name) {
		free(s);
		return stream_fail(-ENOMEM, "%s: no memory", path);
	}
	s->sink.record = store_record;
	s->sink.events = store_events;
	s->sink.commit = store_commit;
	s->sink.close = store_close;
	s->shm = -1;
	s->fd = output_open(path, O_RDWR);
	err = s->fd < 0 ? s->fd : connect_file(s);
	if (!err)
		err = open_schema(s);
	if (!err)
		err = prepare_all(s);
	if (err) {
		store_free(s);
		return err;
	}
	*out = &s->sink;
	return 0;
}

int store_attach(const char *path, s64 run, enum rec_type type, const void *rec)
{
	struct sink *sink;
	int err = access(path, F_OK) ? stream_fail(-errno, "cannot open %s: %s", path, strerror(errno)) : sink_store(&sink, path);

	if (err)
		return err;
	((struct store *)sink)->run = run;
	err = store_record(sink, type, rec);
	if (!err)
		err = store_commit(sink);
	return store_close(sink, false) ?: err;
}

/* ---- open for reading ---- */

/* A name as a URI wants it: what is special there is escaped. */
static char *uri_of(const char *path)
{
	char *uri = malloc(strlen(path) * 3 + 32), *p = uri;

	if (!uri)
		return NULL;
	p = stpcpy(p, *path == '/' ? "file:" : "file:./");
	for (; *path; path++)
		p += strchr("%?#", *path) ? sprintf(p, "%%%02x", (unsigned char)*path) : sprintf(p, "%c", *path);
	stpcpy(p, "?immutable=1");
	return uri;
}

/* A store in WAL mode needs the index of its log even to be read. Where that cannot be made nobody writes either. */
static int open_reader(const char *path, sqlite3 **db)
{
	auto_free char *uri = NULL, *here = NULL;
	s64 unused;
	int rc;

	/* ":memory:" and "" are not files to SQLite */
	if (asprintf(&here, "%s%s", *path == '/' ? "" : "./", path) < 0)
		return SQLITE_NOMEM;
	rc = sqlite3_open_v2(here, db, SQLITE_OPEN_READONLY, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_busy_timeout(*db, BUSY_MS);
	rc = query_number(*db, "PRAGMA schema_version", &unused);
	if ((rc & 0xff) != SQLITE_CANTOPEN)
		return rc;
	sqlite3_close(*db);
	*db = NULL;
	uri = uri_of(path);
	return uri ? sqlite3_open_v2(uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) : SQLITE_NOMEM;
}

int store_open_readonly(const char *path, struct sqlite3 **db)
{
	struct stat st;
	bool fresh = false;
	int rc, err;

	*db = NULL;
	if (stat(path, &st))
		return stream_fail(-errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return stream_fail(-EINVAL, "%s is not a store of iot: not a regular file", path);
	rc = open_reader(path, db);
	err = rc == SQLITE_OK ? check_identity(*db, path, &fresh) : sql_fail(*db, path, rc, "cannot be opened");
	if (!err && fresh)
		err = stream_fail(-EINVAL, "%s is not a store of iot: it is empty", path);
	if (!err)
		return 0;
	sqlite3_close(*db);
	*db = NULL;
	return err;
}
