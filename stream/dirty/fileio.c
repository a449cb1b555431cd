/* SPDX-License-Identifier: GPL-3.0-only */
/* fileio.c - written-back bytes by the component that wrote them, as far as events tell.
 *
 * Record file_io has the kernel's sums of bytes by file. The kernel does not know which thread
 * wrote a page that is written back: of a file that several components write, such bytes are
 * `shared`. Events tell as which component each range was written last. They replace `shared` when
 * they are complete and agree with the kernel's sums of that file and owner: the bytes that each
 * component wrote, and the bytes submitted in all. Otherwise `shared` stays: a thread may have
 * ended before its name was read, whereas the kernel side always has the name.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include "dirty.h"
#include "hash.h"
#include "interval.h"
#include "table.h"
#include "volume.h"

#define ROWS_ROOM_MAX (1u << 19)  /* 16 MiB, and 8 more while they move; then `shared` stays */
#define RANGES_MAX (1u << 18)     /* 16 MiB with the ledger's, and 12 for half as many files */
#define BLOCK_BYTES 4096ULL       /* writeback submits whole blocks */

/* Bytes of a file according to the events: written by calls, and submitted. */
struct row {
	u32 file, owner, component; /* the key */
	u64 called, written;
};
_Static_assert(sizeof(struct row) == 32, "a run has one for each file that is written");

/* A file that threads of known components write: the component that wrote each range last. */
struct ranges {
	u32 file;                 /* the key */
	struct interval *component;
	UT_hash_handle hh;
};

struct fileio {
	struct hash_array rows;   /* of struct row */
	struct ranges *ranges;    /* a hash table */
	bool kinds[2][256];       /* [0]: of S, [1]: of W */
	bool failed;              /* too many rows, or no memory */
};

static struct row *row_find(const struct fileio *f, u32 file, u32 owner, u32 component)
{
	const u32 key[] = { file, owner, component };

	return hash_array_find(&f->rows, key, 3, sizeof(struct row));
}

static struct row *row_of(struct fileio *f, u32 file, u32 owner, u32 component)
{
	const u32 key[] = { file, owner, component };

	return hash_array_put(&f->rows, key, 3, sizeof(struct row), ROWS_ROOM_MAX, 7);
}

static bool add(struct fileio *f, const struct iot_event *e, u8 component, u64 bytes)
{
	struct row *r = row_of(f, e->file, e->owner, component);

	return r && !__builtin_add_overflow(r->written, bytes, &r->written);
}

/* ---- ranges that were written and wait for writeback ---- */

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

/* Notes a buffered write: its blocks are of its thread's component, or of none that is known. */
static bool wrote(struct fileio *f, const struct iot_event *e)
{
	struct ranges *r = e->component ? ranges_make(f, e->file) : ranges_find(f, e->file);
	u64 from = e->offset & ~(BLOCK_BYTES - 1), fresh;
	u64 to = (e->offset + e->bytes + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);

	if (!r || !e->bytes || from > to)
		return r || !e->component;
	return !interval_take(&r->component, from, to, forgotten, NULL) &&
		!interval_add(&r->component, from, to, e->component, &fresh) && interval_count() <= RANGES_MAX;
}

struct carried {
	struct fileio *f;
	const struct iot_event *e;
	u64 bytes;
	u32 component;             /* of all bytes so far; 0: none, or several */
	bool failed;
};

static void carry(void *arg, u32 component, u64 bytes)
{
	struct carried *c = arg;

	c->component = !c->bytes || c->component == component ? component : 0;
	c->bytes += bytes;
	c->failed |= !add(c->f, c->e, component, bytes);
}

/* Counts a writeback event by component, and sets the event's component if there is only one. */
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

	return r && !__builtin_add_overflow(r->called, e->bytes, &r->called) &&
	       (e->flags & FLAG_DIRECT || wrote(f, e));
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

/* Does the run have all events of writing calls and of submitted bytes? */
static const char complete_sql[] =
	"SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events = 1"
	" AND NOT EXISTS (SELECT 1 FROM lost l WHERE l.run = r.run AND l.n <> 0"
	" AND l.effect IN ('events', 'bytes')"
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

/* Files and owners with shared bytes, with the sums that were submitted, and that devices wrote. */
static const char shared_sql[] =
	"SELECT file, owner, sum(fs_write_bytes), sum(dev_write_bytes) FROM file_io WHERE run = ?1"
	" AND (file, owner) IN (SELECT file, owner FROM file_io WHERE run = ?1 AND component = ?2)"
	" GROUP BY file, owner";

/* ?5: device bytes are known too, because everything that was submitted was written */
static const char clear_sql[] =
	"UPDATE file_io SET fs_write_bytes = 0,"
	" dev_write_bytes = CASE WHEN ?5 THEN 0 ELSE dev_write_bytes END"
	" WHERE run = ?1 AND file = ?2 AND owner = ?3";
static const char put_sql[] =
	"INSERT INTO file_io(run, file, owner, component, read_ops, read_bytes, write_ops,"
	" write_bytes, sync_ops,"
	" fs_read_bytes, fs_write_bytes, dev_read_bytes, dev_write_bytes)"
	" VALUES(?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, 0, ?6, 0, CASE WHEN ?5 THEN ?6 ELSE 0 END)"
	" ON CONFLICT DO UPDATE SET fs_write_bytes = excluded.fs_write_bytes,"
	" dev_write_bytes = dev_write_bytes + excluded.dev_write_bytes";
static const char tidy_sql[] =
	"DELETE FROM file_io WHERE run = ?1 AND component = ?4"
	" AND read_ops + read_bytes + write_ops + write_bytes + sync_ops + fs_read_bytes +"
	" fs_write_bytes + dev_read_bytes + dev_write_bytes = 0";

/* Runs one of the statements above. Parameters that it does not have are not bound. */
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

/* Do events and sums agree on the bytes that each component wrote with calls? */
static int is_agreed(const struct fileio *f, sqlite3 *db, s64 run, u32 file, u32 owner, bool *yes)
{
	static const char sql[] =
		"SELECT component, write_bytes FROM file_io WHERE run = ?1 AND file = ?2 AND owner = ?3";
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

static int split(struct fileio *f, sqlite3 *db, s64 run, u32 file, u32 owner, u64 submitted,
		 u64 written)
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
	err = change(db, clear_sql, run, &(struct row){ .file = file, .owner = owner },
		     submitted == written);
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
	while (!err && (rc = sqlite3_step(st)) == SQLITE_ROW) { /* no query sees its table change */
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
	return err ? err :
	       change(db, tidy_sql, run, &(struct row){ .component = COMPONENT_SHARED }, false);
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
