// SPDX-License-Identifier: GPL-3.0-only
/* fileio.c - what each owner moved from and to each file: bytes that calls returned, and bytes that file systems submitted.
 *
 * This is what components of storage systems are counted with: the component of a file may become known late, or change with
 * its name, so bytes are summed by file and joined with the last record of the file. Where an event says what its thread does with
 * the file, that is the component; what is written back later is what the thread was that wrote the range last. Events are
 * complete or the table is empty.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include "fileio.h"
#include "interval.h"
#include "table.h"

#define ROWS_MAX (1u << 20)       /* 80 MiB; beyond, the store sums */
#define RANGES_MAX (1u << 18)     /* 16 MiB, with those of the ledger; likewise */
#define BLOCK_BYTES 4096ULL       /* what is written back is whole blocks */

/* To add a sum: a row here, its condition on an event below, and a column in schema.c. */
enum sum { SUM_READ_OPS, SUM_READ, SUM_WRITE_OPS, SUM_WRITE, SUM_SYNC_OPS, SUM_FS_READ, SUM_FS_WRITE, SUM_N };
#define COLUMNS "read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes"

struct row {
	bool used;
	u8 component;
	u32 file, owner;
	u64 sum[SUM_N];
};

/* A file on which threads tell the component: what each range was last written as. */
struct ranges {
	bool used;
	u32 file;
	struct interval *component;
};

struct fileio {
	struct row *rows;         /* open addressing, size is a power of two */
	size_t room, n;
	struct ranges *ranges;    /* likewise */
	size_t ranges_room, ranges_n;
	bool failed;              /* too many rows, or no memory */
	bool overflow;            /* a sum left 64 bits */
};

static struct row *slot(struct row *rows, size_t room, u32 file, u32 owner, u8 component)
{
	size_t i = ((((u64)file << 32 | owner) * 0x9e3779b97f4a7c15ULL >> 32) + component) & (room - 1);

	while (rows[i].used && (rows[i].file != file || rows[i].owner != owner || rows[i].component != component))
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
			*slot(rows, room, f->rows[i].file, f->rows[i].owner, f->rows[i].component) = f->rows[i];
	free(f->rows);
	f->rows = rows;
	f->room = room;
	return true;
}

static struct row *row_of(struct fileio *f, u32 file, u32 owner, u8 component)
{
	struct row *r;

	if (2 * f->n >= f->room && !enlarge(f))
		return NULL;
	r = slot(f->rows, f->room, file, owner, component);
	if (!r->used) {
		*r = (struct row){ .used = true, .file = file, .owner = owner, .component = component };
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

/* ---- what was written, until it is written back ---- */

static struct ranges *ranges_slot(struct ranges *all, size_t room, u32 file)
{
	size_t i = file * 0x9e3779b97f4a7c15ULL >> 32 & (room - 1);

	while (all[i].used && all[i].file != file)
		i = (i + 1) & (room - 1);
	return &all[i];
}

static struct ranges *ranges_find(struct fileio *f, u32 file)
{
	struct ranges *r = f->ranges_n ? ranges_slot(f->ranges, f->ranges_room, file) : NULL;

	return r && r->used ? r : NULL;
}

static struct ranges *ranges_make(struct fileio *f, u32 file)
{
	size_t room = f->ranges_room ? 2 * f->ranges_room : 64;
	struct ranges *all, *r = ranges_find(f, file);

	if (r)
		return r;
	if (2 * f->ranges_n >= f->ranges_room) {
		all = room > RANGES_MAX ? NULL : calloc(room, sizeof(*all));
		if (!all)
			return NULL;
		for (size_t i = 0; i < f->ranges_room; i++)
			if (f->ranges[i].used)
				*ranges_slot(all, room, f->ranges[i].file) = f->ranges[i];
		free(f->ranges);
		f->ranges = all;
		f->ranges_room = room;
	}
	r = ranges_slot(f->ranges, f->ranges_room, file);
	*r = (struct ranges){ .used = true, .file = file };
	f->ranges_n++;
	return r;
}

static void forgotten(void *arg, u32 component, u64 bytes)
{
}

static void ranges_free(struct fileio *f)
{
	for (size_t i = 0; i < f->ranges_room; i++)
		if (f->ranges[i].used)
			interval_take(&f->ranges[i].component, 0, ~0ULL, forgotten, NULL);
	free(f->ranges);
	f->ranges = NULL;
	f->ranges_room = f->ranges_n = 0;
}

/* A buffered write: its blocks are what its thread does there, or nothing that is known. */
static bool wrote(struct fileio *f, const struct iot_event *e)
{
	struct ranges *r = e->component ? ranges_make(f, e->file) : ranges_find(f, e->file);
	u64 from = e->offset & ~(BLOCK_BYTES - 1), to = (e->offset + e->bytes + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1), fresh;

	if (!r || !e->bytes || from > to)
		return r || !e->component;
	return !interval_take(&r->component, from, to, forgotten, NULL) &&
		!interval_add(&r->component, from, to, e->component, &fresh) && interval_count() <= RANGES_MAX;
}

struct carried {
	struct fileio *f;
	const struct iot_event *e;
	u64 bytes;
	u32 component;             /* of all that was carried so far; 0: none, or several */
	bool failed;
};

static void carry(void *arg, u32 component, u64 bytes)
{
	struct carried *c = arg;
	struct row *r = row_of(c->f, c->e->file, c->e->owner, component);

	c->component = !c->bytes || c->component == component ? component : 0;
	c->bytes += bytes;
	if (r)
		add(c->f, &r->sum[SUM_FS_WRITE], bytes);
	else
		c->failed = true;
}

/* Written back, by whomever; the event is told what it is where that is one component. */
static bool written_back(struct fileio *f, const struct ranges *r, struct iot_event *e)
{
	struct carried c = { .f = f, .e = e };

	interval_look(r->component, e->offset, e->offset + e->bytes, carry, &c);
	if (c.bytes < e->bytes)
		carry(&c, 0, e->bytes - c.bytes);
	e->component = c.component;
	return !c.failed;
}

static bool count(struct fileio *f, struct iot_event *e)
{
	enum sum s = kind_sum[e->kind] - 1;
	const struct ranges *known;
	struct row *r;

	if (!is_counted(e, s))
		return true;
	known = s == SUM_FS_WRITE && e->cause == CAUSE_DATA && e->file ? ranges_find(f, e->file) : NULL;
	if (known)
		return written_back(f, known, e);
	r = row_of(f, e->file, e->owner, e->component);
	if (!r)
		return false;
	if (s == SUM_READ || s == SUM_WRITE)
		r->sum[s - 1]++;
	add(f, &r->sum[s], s == SUM_SYNC_OPS ? 1 : e->bytes);
	return s != SUM_WRITE || e->flags & FLAG_DIRECT || !e->file || wrote(f, e);
}

void fileio_events(struct fileio *f, struct iot_event *e, size_t n)
{
	for (; f && !f->failed && n; e++, n--)
		if (kind_sum[e->kind] && !count(f, e))
			f->failed = true;
	if (f && f->failed)
		ranges_free(f);
}

/* ---- the store ---- */

static int sql_error(sqlite3 *db, s64 run)
{
	return stream_fail(-EIO, "the bytes by file of run %lld: %s", (long long)run, sqlite3_errmsg(db));
}

/* Whether the run has every event that says what file systems moved. What is lost of calls makes only their columns short. */
static const char measured_sql[] =
	"SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events <> 0"
	" AND ',' || r.layers || ',' LIKE '%,fs,%'"
	" AND NOT EXISTS (SELECT 1 FROM lost l WHERE l.run = r.run AND l.n <> 0 AND l.effect IN ('events', 'bytes')"
	" AND l.layer IN ('fs', 'block', 'all'))";

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
	sqlite3_bind_int64(st, 4, r->component);
	for (int i = 0; i < SUM_N; i++)
		sqlite3_bind_int64(st, 5 + i, r->sum[i]);
	sqlite3_step(st);
	return sqlite3_reset(st) == SQLITE_OK ? 0 : sql_error(db, run);
}

static int write_rows(struct fileio *f, sqlite3 *db, s64 run)
{
	static const char sql[] = "INSERT INTO file_io(run, file, owner, component, " COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
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

/* The same sums from the events of the store. What is written back of several components at once has that of its file here. */
static char *sum_sql(void)
{
	char *sql = NULL;
	size_t size;
	FILE *f = open_memstream(&sql, &size);

	if (!f)
		return NULL;
	fprintf(f, "INSERT INTO file_io(run, file, owner, component, " COLUMNS ") SELECT ?1, e.file, e.who, e.what");
	put_sum(f, SUM_READ, "1");
	put_sum(f, SUM_READ, "e.bytes");
	put_sum(f, SUM_WRITE, "1");
	put_sum(f, SUM_WRITE, "e.bytes");
	put_sum(f, SUM_SYNC_OPS, "1");
	put_sum(f, SUM_FS_READ, "e.bytes");
	put_sum(f, SUM_FS_WRITE, "e.bytes");
	fprintf(f, " FROM (SELECT kind, ifnull(file, 0) AS file, ifnull(owner, 0) AS who, ifnull(component, 0) AS what, ifnull(bytes, 0) AS bytes,"
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
	fprintf(f, ")) GROUP BY e.file, e.who, e.what");
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
	if (f) {
		ranges_free(f);
		free(f->rows);
	}
	free(f);
}
