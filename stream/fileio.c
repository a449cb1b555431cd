// SPDX-License-Identifier: GPL-3.0-only
/* fileio.c - what each owner moved from and to each file: bytes that calls returned, and bytes that file systems submitted.
 *
 * This is what components of storage systems are counted with: the component of a file may become known late, or change with
 * its name, so bytes are summed by file and joined with the last record of the file. Events are complete or the table is empty.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include "fileio.h"
#include "table.h"

#define ROWS_MAX (1u << 20)       /* 80 MiB; beyond, the store sums */

/* To add a sum: a row here, its condition on an event below, and a column in schema.c. */
enum sum { SUM_READ_OPS, SUM_READ, SUM_WRITE_OPS, SUM_WRITE, SUM_SYNC_OPS, SUM_FS_READ, SUM_FS_WRITE, SUM_N };
#define COLUMNS "read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes"

struct row {
	bool used;
	u32 file, owner;
	u64 sum[SUM_N];
};

struct fileio {
	struct row *rows;         /* open addressing, size is a power of two */
	size_t room, n;
	bool failed;              /* too many rows, or no memory */
	bool overflow;            /* a sum left 64 bits */
};

static struct row *slot(struct row *rows, size_t room, u32 file, u32 owner)
{
	size_t i = ((u64)file << 32 | owner) * 0x9e3779b97f4a7c15ULL >> 32 & (room - 1);

	while (rows[i].used && (rows[i].file != file || rows[i].owner != owner))
		i = (i + 1) & (room - 1);
	return &rows[i];
}

static bool enlarge(struct fileio *f)
{
	size_t room = f->room ? 2 * f->room : 256;
	struct row *rows = room > ROWS_MAX ? NULL : calloc(room, sizeof(*rows));

	if (!rows)
		return false;
	for (size_t i = 0; i < f->room; i++)
		if (f->rows[i].used)
			*slot(rows, room, f->rows[i].file, f->rows[i].owner) = f->rows[i];
	free(f->rows);
	f->rows = rows;
	f->room = room;
	return true;
}

static struct row *row_of(struct fileio *f, u32 file, u32 owner)
{
	struct row *r;

	if (2 * f->n >= f->room && !enlarge(f))
		return NULL;
	r = slot(f->rows, f->room, file, owner);
	if (!r->used) {
		*r = (struct row){ .used = true, .file = file, .owner = owner };
		f->n++;
	}
	return r;
}

/* What a kind adds to: the sum of its bytes + 1, 0 nothing. */
#define IS_CALL(layer) (LAYER_##layer == LAYER_SYSCALL || LAYER_##layer == LAYER_URING)
static const u8 kind_sum[256] = {
#define KIND(sym, layer, name, dir, text, doc) \
	[KIND_##sym] = KIND_##sym == KIND_FS_READ ? SUM_FS_READ + 1 : KIND_##sym == KIND_FS_WRITE ? SUM_FS_WRITE + 1 : \
		       !IS_CALL(layer) ? 0 : (dir) == 'r' ? SUM_READ + 1 : (dir) == 'w' ? SUM_WRITE + 1 : \
		       (dir) == 's' ? SUM_SYNC_OPS + 1 : 0,
#include "kinds.def"
};

static bool is_counted(const struct iot_event *e, enum sum s)
{
	if (s == SUM_FS_READ || s == SUM_FS_WRITE)
		return e->cause == CAUSE_DATA || e->cause == CAUSE_DIRECT || e->cause == CAUSE_READAHEAD;
	return e->sub == SUB_FT_REG || e->sub == SUB_FT_BLK || (s == SUM_SYNC_OPS && e->file);
}

static void add(struct fileio *f, u64 *sum, u64 n)
{
	if (__builtin_add_overflow(*sum, n, sum) || *sum > INT64_MAX)
		f->overflow = true;
}

static bool count(struct fileio *f, const struct iot_event *e)
{
	enum sum s = kind_sum[e->kind] - 1;
	struct row *r;

	if (!is_counted(e, s))
		return true;
	r = row_of(f, e->file, e->owner);
	if (!r)
		return false;
	if (s == SUM_READ || s == SUM_WRITE)
		r->sum[s - 1]++;
	add(f, &r->sum[s], s == SUM_SYNC_OPS ? 1 : e->bytes);
	return true;
}

void fileio_events(struct fileio *f, const struct iot_event *e, size_t n)
{
	for (; f && !f->failed && n; e++, n--)
		if (kind_sum[e->kind] && !count(f, e))
			f->failed = true;
}

/* ---- the store ---- */

static int sql_error(sqlite3 *db, s64 run)
{
	return stream_fail(-EIO, "the bytes by file of run %lld: %s", (long long)run, sqlite3_errmsg(db));
}

/* Whether the run has every event of the layers that the sums are made from. */
static const char measured_sql[] =
	"SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events <> 0"
	" AND ',' || r.layers || ',' LIKE '%,syscall,%' AND ',' || r.layers || ',' LIKE '%,fs,%'"
	" AND NOT EXISTS (SELECT 1 FROM lost l WHERE l.run = r.run AND l.n <> 0 AND l.effect IN ('events', 'bytes')"
	" AND l.layer IN ('syscall', 'uring', 'fs', 'block', 'all'))";

static int is_measured(sqlite3 *db, s64 run, bool *yes)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, measured_sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_int64(st, 1, run);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	*yes = rc == SQLITE_ROW && sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : sql_error(db, run);
}

static int write_row(sqlite3 *db, sqlite3_stmt *st, s64 run, const struct row *r)
{
	sqlite3_bind_int64(st, 1, run);
	sqlite3_bind_int64(st, 2, r->file);
	sqlite3_bind_int64(st, 3, r->owner);
	for (int i = 0; i < SUM_N; i++)
		sqlite3_bind_int64(st, 4 + i, r->sum[i]);
	sqlite3_step(st);
	return sqlite3_reset(st) == SQLITE_OK ? 0 : sql_error(db, run);
}

static int write_rows(struct fileio *f, sqlite3 *db, s64 run)
{
	static const char sql[] = "INSERT INTO file_io(run, file, owner, " COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
	const struct row none = { 0 };
	sqlite3_stmt *st = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return sql_error(db, run);
	for (size_t i = 0; !err && i < f->room; i++)
		if (f->rows[i].used)
			err = write_row(db, st, run, &f->rows[i]);
	if (!err && !f->n) /* measured, and nothing moved: no row would mean "not measured" */
		err = write_row(db, st, run, &none);
	sqlite3_finalize(st);
	return err;
}

/* The kinds of a sum, as SQL wants them in a list. */
static void put_kinds(FILE *f, enum sum s)
{
	fprintf(f, "e.kind IN (-1");
	for (int k = 0; k < 256; k++)
		if (kind_sum[k] == s + 1)
			fprintf(f, ", %d", k);
	fprintf(f, ")");
}

static void put_sum(FILE *f, enum sum s, const char *what)
{
	fprintf(f, ", ifnull(sum(CASE WHEN ");
	put_kinds(f, s);
	fprintf(f, " AND %s THEN %s END), 0)", s == SUM_FS_READ || s == SUM_FS_WRITE ? "e.by_data" :
		s == SUM_SYNC_OPS ? "(e.on_file OR e.file)" : "e.on_file", what);
}

/* The same sums from the events of the store. */
static char *sum_sql(void)
{
	char *sql = NULL;
	size_t size;
	FILE *f = open_memstream(&sql, &size);

	if (!f)
		return NULL;
	fprintf(f, "INSERT INTO file_io(run, file, owner, " COLUMNS ") SELECT ?1, e.file, e.who");
	put_sum(f, SUM_READ, "1");
	put_sum(f, SUM_READ, "e.bytes");
	put_sum(f, SUM_WRITE, "1");
	put_sum(f, SUM_WRITE, "e.bytes");
	put_sum(f, SUM_SYNC_OPS, "1");
	put_sum(f, SUM_FS_READ, "e.bytes");
	put_sum(f, SUM_FS_WRITE, "e.bytes");
	fprintf(f, " FROM (SELECT kind, ifnull(file, 0) AS file, ifnull(owner, 0) AS who, ifnull(bytes, 0) AS bytes,"
		" ifnull(sub IN (%d, %d), 0) AS on_file, ifnull(cause IN (%d, %d, %d), 0) AS by_data FROM event WHERE run = ?1) e"
		" WHERE (e.on_file AND (", SUB_FT_REG, SUB_FT_BLK, CAUSE_DATA, CAUSE_DIRECT, CAUSE_READAHEAD);
	put_kinds(f, SUM_READ);
	fprintf(f, " OR ");
	put_kinds(f, SUM_WRITE);
	fprintf(f, ")) OR ((e.on_file OR e.file) AND ");
	put_kinds(f, SUM_SYNC_OPS);
	fprintf(f, ") OR (e.by_data AND (");
	put_kinds(f, SUM_FS_READ);
	fprintf(f, " OR ");
	put_kinds(f, SUM_FS_WRITE);
	fprintf(f, ")) GROUP BY e.file, e.who");
	return fclose(f) ? NULL : sql;
}

static int too_large(s64 run)
{
	stream_fail(0, "run %lld has no bytes by file: its sums do not fit in 64 bits", (long long)run);
	return 0;
}

static int sum_events(sqlite3 *db, s64 run)
{
	auto_free char *sql = sum_sql();
	sqlite3_stmt *st = NULL;
	int rc;

	if (!sql)
		return stream_fail(-ENOMEM, "the bytes by file of run %lld: no memory", (long long)run);
	rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, run);
		sqlite3_step(st);
		rc = sqlite3_finalize(st);
	}
	/* sum() has no other way to say that it left 64 bits */
	return rc == SQLITE_OK ? 0 : rc == SQLITE_ERROR ? too_large(run) : sql_error(db, run);
}

static int rebuild(struct fileio *f, sqlite3 *db, s64 run)
{
	bool measured = false;
	int err = is_measured(db, run, &measured);

	if (err || !measured)
		return err;
	if (f && !f->failed)
		return f->overflow ? too_large(run) : write_rows(f, db, run);
	return sum_events(db, run);
}

int fileio_write(struct fileio *f, void *db, long long run)
{
	int err;

	if (sqlite3_exec(db, "SAVEPOINT file_io", NULL, NULL, NULL) != SQLITE_OK)
		return sql_error(db, run);
	err = rebuild(f, db, run);
	if (err)
		sqlite3_exec(db, "ROLLBACK TO file_io", NULL, NULL, NULL);
	if (sqlite3_exec(db, "RELEASE file_io", NULL, NULL, NULL) != SQLITE_OK && !err)
		err = sql_error(db, run);
	return err;
}

struct fileio *fileio_open(void)
{
	return calloc(1, sizeof(struct fileio));
}

void fileio_close(struct fileio *f)
{
	if (f)
		free(f->rows);
	free(f);
}
