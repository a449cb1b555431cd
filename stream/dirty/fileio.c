// SPDX-License-Identifier: GPL-3.0-only
/* fileio.c - what is written back of files that threads of several components write, by component, where events tell.
 *
 * Bytes by file are the kernel's sums (record file_io). Those know no thread that wrote what is written back: of a file that was written
 * as more than one component it is `shared`. The events know: what a range was written as last. Where they are complete, and say of that
 * file and owner what the kernel's sums say, by component what was written and in all what was submitted, `shared` is replaced by what they
 * tell; else it stays: the name of a thread may not have been read before it ended, the kernel side always has it.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include "fileio.h"
#include "hash_table.h"
#include "interval.h"
#include "table.h"
#include "volume.h"

#define ROWS_ROOM_MAX (1u << 19)  /* 16 MiB, and 8 more while they are moved there */
#define ROWS_MAX (ROWS_ROOM_MAX / 8 * 7) /* beyond, `shared` stays */
#define RANGES_MAX (1u << 18)     /* 16 MiB, with those of the ledger, and 12 for half as many files; likewise */
#define BLOCK_BYTES 4096ULL       /* what is written back is whole blocks */

/* What the events say of a file: what calls wrote, what was submitted. */
struct row {
	u32 file, owner, component; /* the key */
	bool used;
	u64 called, written;
};
_Static_assert(sizeof(struct row) == 32, "a run has one for each file that is written");

/* Open addressing: the pointers of a hash table with chains would take twice as much as the rows. */
struct rows {
	struct row *row;
	u32 n, room;              /* room: 0 or a power of two */
};

/* A file on which threads tell the component: what each range was last written as. */
struct ranges {
	u32 file;                 /* the key */
	struct interval *component;
	UT_hash_handle hh;
};

struct fileio {
	struct rows rows;
	struct ranges *ranges;    /* a hash table */
	bool kinds[2][256];       /* [0]: of S, [1]: of W */
	bool failed;              /* too many rows, or no memory */
};

/* The row of that key, or the free one where it would be; there is one while the rows are not full. */
static struct row *row_at(const struct rows *rows, u32 file, u32 owner, u32 component)
{
	const u32 key[] = { file, owner, component };
	u32 at = hash_words(key, sizeof(key));

	for (;; at++) {
		struct row *r = &rows->row[at & (rows->room - 1)];

		if (!r->used || (r->file == file && r->owner == owner && r->component == component))
			return r;
	}
}

/* Moves them to where there is room for more. */
static bool rows_grow(struct rows *rows)
{
	struct rows more = { .n = rows->n, .room = rows->room ? 2 * rows->room : 1024 };

	more.row = calloc(more.room, sizeof(*more.row));
	if (!more.row)
		return false;
	for (u32 i = 0; i < rows->room; i++)
		if (rows->row[i].used)
			*row_at(&more, rows->row[i].file, rows->row[i].owner, rows->row[i].component) = rows->row[i];
	free(rows->row);
	*rows = more;
	return true;
}

static struct row *row_find(const struct fileio *f, u32 file, u32 owner, u32 component)
{
	struct row *r = f->rows.room ? row_at(&f->rows, file, owner, component) : NULL;

	return r && r->used ? r : NULL;
}

static struct row *row_of(struct fileio *f, u32 file, u32 owner, u32 component)
{
	struct row *r = row_find(f, file, owner, component);

	if (r || f->rows.n >= ROWS_MAX)
		return r;
	if (f->rows.n >= f->rows.room / 8 * 7 && !rows_grow(&f->rows))
		return NULL;
	r = row_at(&f->rows, file, owner, component);
	*r = (struct row){ .file = file, .owner = owner, .component = component, .used = true };
	f->rows.n++;
	return r;
}

static bool add(struct fileio *f, const struct iot_event *e, u8 component, u64 bytes)
{
	struct row *r = row_of(f, e->file, e->owner, component);

	return r && !__builtin_add_overflow(r->written, bytes, &r->written);
}

/* ---- what was written, until it is written back ---- */

static struct ranges *ranges_find(const struct fileio *f, u32 file)
{
	struct ranges *r;

	HASH_FIND(hh, f->ranges, &file, sizeof(file), r);
	return r;
}

static struct ranges *ranges_make(struct fileio *f, u32 file)
{
	struct ranges *r = ranges_find(f, file);

	if (r || HASH_COUNT(f->ranges) >= RANGES_MAX / 2)
		return r;
	r = calloc(1, sizeof(*r));
	if (r)
		r->file = file;
	HASH_PUT(f->ranges, file, sizeof(file), r);
	return r;
}

static void forgotten(void *arg, u32 component, u64 bytes)
{
}

static void ranges_free(struct fileio *f)
{
	for (struct ranges *r = f->ranges; r; r = r->hh.next)
		interval_take(&r->component, 0, ~0ULL, forgotten, NULL);
	HASH_FREE(f->ranges);
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

	c->component = !c->bytes || c->component == component ? component : 0;
	c->bytes += bytes;
	c->failed |= !add(c->f, c->e, component, bytes);
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

static bool submitted(struct fileio *f, struct iot_event *e)
{
	const struct ranges *known = e->cause == CAUSE_DATA ? ranges_find(f, e->file) : NULL;

	return known ? written_back(f, known, e) : add(f, e, e->component, e->bytes);
}

static bool called(struct fileio *f, const struct iot_event *e)
{
	struct row *r = row_of(f, e->file, e->owner, e->component);

	return r && !__builtin_add_overflow(r->called, e->bytes, &r->called) && (e->flags & FLAG_DIRECT || wrote(f, e));
}

static bool look(struct fileio *f, struct iot_event *e)
{
	if (f->kinds[1][e->kind] && volume_sums(VOLUME_W, e->kind, e->cause, e->sub, e->flags))
		return submitted(f, e);
	if (f->kinds[0][e->kind] && volume_has(VOLUME_S, e->cause, e->sub, e->flags))
		return called(f, e);
	return true;
}

void fileio_events(struct fileio *f, struct iot_event *e, size_t n)
{
	for (; f && !f->failed && n; e++, n--)
		f->failed = e->file && !look(f, e);
	if (f && f->failed)
		ranges_free(f);
}

/* ---- the store ---- */

static int sql_error(sqlite3 *db, s64 run)
{
	return fail_as(-EIO, 0, "the bytes by file of run %lld: %s", (long long)run, sqlite3_errmsg(db));
}

/* Whether the run has every event that says who wrote what, and what was submitted. */
static const char complete_sql[] =
	"SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events <> 0"
	" AND NOT EXISTS (SELECT 1 FROM lost l WHERE l.run = r.run AND l.n <> 0 AND l.effect IN ('events', 'bytes')"
	" AND l.layer IN ('syscall', 'uring', 'cache', 'fs', 'block', 'all'))";

static int is_complete(sqlite3 *db, s64 run, bool *yes)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, complete_sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_int64(st, 1, run);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	*yes = rc == SQLITE_ROW && sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : sql_error(db, run);
}

/* Files and owners of which something is shared, with all that was submitted of them, and all that devices wrote. */
static const char shared_sql[] =
	"SELECT file, owner, sum(fs_write_bytes), sum(dev_write_bytes) FROM file_io WHERE run = ?1"
	" AND (file, owner) IN (SELECT file, owner FROM file_io WHERE run = ?1 AND component = ?2) GROUP BY file, owner";

/* ?5: device bytes are known likewise, because all that was submitted was written */
static const char clear_sql[] =
	"UPDATE file_io SET fs_write_bytes = 0, dev_write_bytes = CASE WHEN ?5 THEN 0 ELSE dev_write_bytes END"
	" WHERE run = ?1 AND file = ?2 AND owner = ?3";
static const char put_sql[] =
	"INSERT INTO file_io(run, file, owner, component, read_ops, read_bytes, write_ops, write_bytes, sync_ops, fs_read_bytes, fs_write_bytes,"
	" dev_read_bytes, dev_write_bytes) VALUES(?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, 0, ?6, 0, CASE WHEN ?5 THEN ?6 ELSE 0 END)"
	" ON CONFLICT DO UPDATE SET fs_write_bytes = excluded.fs_write_bytes,"
	" dev_write_bytes = dev_write_bytes + excluded.dev_write_bytes";
static const char tidy_sql[] =
	"DELETE FROM file_io WHERE run = ?1 AND component = ?4 AND read_ops + read_bytes + write_ops + write_bytes + sync_ops + fs_read_bytes +"
	" fs_write_bytes + dev_read_bytes + dev_write_bytes = 0";

/* Runs one of them; what it does not ask for is not bound. */
static int change(sqlite3 *db, const char *sql, s64 run, const struct row *r, bool settled)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sql_error(db, run);
	sqlite3_bind_int64(st, 1, run);
	sqlite3_bind_int64(st, 2, r->file);
	sqlite3_bind_int64(st, 3, r->owner);
	sqlite3_bind_int64(st, 4, r->component);
	sqlite3_bind_int64(st, 5, settled);
	sqlite3_bind_int64(st, 6, r->written);
	sqlite3_step(st);
	return sqlite3_finalize(st) == SQLITE_OK ? 0 : sql_error(db, run);
}

/* Do events and sums agree who wrote what with calls? */
static int is_agreed(const struct fileio *f, sqlite3 *db, s64 run, u32 file, u32 owner, bool *yes)
{
	static const char sql[] = "SELECT component, write_bytes FROM file_io WHERE run = ?1 AND file = ?2 AND owner = ?3";
	u64 sum[COMPONENT_MAX] = { 0 };
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sql_error(db, run);
	sqlite3_bind_int64(st, 1, run);
	sqlite3_bind_int64(st, 2, file);
	sqlite3_bind_int64(st, 3, owner);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		if (sqlite3_column_int64(st, 0) < COMPONENT_MAX)
			sum[sqlite3_column_int64(st, 0)] = sqlite3_column_int64(st, 1);
	sqlite3_finalize(st);
	*yes = true;
	for (u8 i = 0; i < COMPONENT_MAX; i++) {
		const struct row *r = row_find(f, file, owner, i);

		*yes &= sum[i] == (r ? r->called : 0);
	}
	return rc == SQLITE_DONE ? 0 : sql_error(db, run);
}

static int split(struct fileio *f, sqlite3 *db, s64 run, u32 file, u32 owner, u64 submitted, u64 written)
{
	const struct row *r;
	bool agreed = false;
	u64 sum = 0;
	int err = is_agreed(f, db, run, file, owner, &agreed);

	if (err || !agreed)
		return err;
	for (u8 i = 0; i < COMPONENT_MAX; i++)
		sum += (r = row_find(f, file, owner, i)) ? r->written : 0;
	if (sum != submitted)
		return 0;
	err = change(db, clear_sql, run, &(struct row){ .file = file, .owner = owner }, submitted == written);
	for (u8 i = 0; i < COMPONENT_MAX && !err; i++)
		if ((r = row_find(f, file, owner, i)) && r->written)
			err = change(db, put_sql, run, r, submitted == written);
	return err;
}

static int split_all(struct fileio *f, sqlite3 *db, s64 run)
{
	sqlite3_stmt *st = NULL;
	struct { u32 file, owner; u64 submitted, written; } *all = NULL;
	size_t n = 0, room = 0;
	int err = 0, rc = sqlite3_prepare_v2(db, shared_sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sql_error(db, run);
	sqlite3_bind_int64(st, 1, run);
	sqlite3_bind_int64(st, 2, COMPONENT_SHARED);
	while (!err && (rc = sqlite3_step(st)) == SQLITE_ROW) { /* the table changes under no query */
		if (n == room) {
			void *more = reallocarray(all, room = room ? 2 * room : 64, sizeof(*all));

			err = more ? 0 : fail_as(-ENOMEM, 0, "the bytes by file of run %lld: no memory", (long long)run);
			all = more ? more : all;
		}
		if (!err) {
			all[n].file = sqlite3_column_int64(st, 0);
			all[n].owner = sqlite3_column_int64(st, 1);
			all[n].submitted = sqlite3_column_int64(st, 2);
			all[n++].written = sqlite3_column_int64(st, 3);
		}
	}
	sqlite3_finalize(st);
	for (size_t i = 0; i < n && !err; i++)
		err = split(f, db, run, all[i].file, all[i].owner, all[i].submitted, all[i].written);
	free(all);
	return err ? err : change(db, tidy_sql, run, &(struct row){ .component = COMPONENT_SHARED }, false);
}

static int rebuild(struct fileio *f, sqlite3 *db, s64 run)
{
	bool complete = false;
	int err = f && !f->failed ? is_complete(db, run, &complete) : 0;

	return err || !complete ? err : split_all(f, db, run);
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
	struct fileio *f = calloc(1, sizeof(*f));
	int k;

	for (k = 0; f && k < KIND_MAX; k++) {
		f->kinds[0][k] = volume_kind(VOLUME_S, k);
		f->kinds[1][k] = volume_sums_kind(VOLUME_W, k);
	}
	return f;
}

void fileio_close(struct fileio *f)
{
	if (f) {
		ranges_free(f);
		free(f->rows.row);
	}
	free(f);
}
