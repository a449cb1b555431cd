/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger_store.c - reads the events of a run from its store, if need be, and writes table
 * `ledger`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ledger.h"
#include "memory.h"
#include "volume.h"

/* Selects all events that can change the ledger, with the columns that event_of() expects. */
static char *events_sql(s64 first, bool sorted)
{
	char *sql = NULL;
	size_t size;
	FILE *f = memory_open(&sql, &size);
	int k;

	if (!f)
		return NULL;
	fprintf(f, "SELECT ts_ns, kind, offset, size, bytes, owner, task, file, flags, sub,"
		" cause, queue_ns, dur_ns, dev"
		" FROM event WHERE rowid >= %lld AND run = ?1 AND kind IN (", (long long)first);
	for (k = 0; k < KIND_MAX; k++)
		if (ledger_wants(k))
			fprintf(f, "%d, ", k);
	fprintf(f, "-1)%s", sorted ? " ORDER BY ts_ns + ifnull(queue_ns, 0), rowid" : "");
	return fclose(f) ? NULL : sql;
}

static struct iot_event event_of(sqlite3_stmt *st)
{
	return (struct iot_event){
		.ts_ns = sqlite3_column_int64(st, 0), .kind = sqlite3_column_int64(st, 1),
		.offset = sqlite3_column_int64(st, 2), .size = sqlite3_column_int64(st, 3),
		.bytes = sqlite3_column_int64(st, 4), .owner = sqlite3_column_int64(st, 5),
		.task = sqlite3_column_int64(st, 6), .file = sqlite3_column_int64(st, 7),
		.flags = sqlite3_column_int64(st, 8), .sub = sqlite3_column_int64(st, 9),
		.cause = sqlite3_column_int64(st, 10), .queue_ns = sqlite3_column_int64(st, 11),
		.dur_ns = sqlite3_column_int64(st, 12), .dev = sqlite3_column_int64(st, 13),
	};
}

static int read_blocks(struct ledger *g)
{
	static const char sql[] = "SELECT id, block FROM file WHERE run = ?1 AND block IS NOT NULL";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(g->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, g->run);
	while (rc == SQLITE_OK && !g->err && sqlite3_step(st) == SQLITE_ROW)
		ledger_file(g, ledger_first_id(g, sqlite3_column_int64(st, 0)),
			    sqlite3_column_int64(st, 1));
	rc = sqlite3_finalize(st);
	return g->err ? g->err : rc == SQLITE_OK ? 0 : ledger_sql_error(g);
}

static int simulate(struct ledger *g, s64 first, bool sorted)
{
	auto_free char *sql = read_blocks(g) ? NULL : events_sql(first, sorted);
	sqlite3_stmt *st = NULL;
	struct op o = { 0 };
	int rc;

	if (!sql)
		return g->err = g->err ? g->err : -ENOMEM;
	rc = sqlite3_prepare_v2(g->db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, g->run);
	while (rc == SQLITE_OK && !g->err && !g->failed && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct iot_event e = event_of(st);

		rc = SQLITE_OK;
		if (!ledger_op(&e, &o))
			continue;
		o.file = ledger_first_id(g, o.file);
		ledger_push(g, &o);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE || rc == SQLITE_OK ? g->err : ledger_sql_error(g);
}

/* ---- the store ---- */

static int number(struct ledger *g, const char *sql, s64 bound, s64 *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(g->db, sql, -1, &st, NULL);

	*out = 0;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, bound);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : ledger_sql_error(g);
}

/* Does the run have what the simulation needs: events of the layers that write and submit? Where
 * some of them were lost D is too small, never too large: the events that are left dirty a block
 * at most once between two bios that carry it. The other sums are then of no use, which reports
 * know from table `lost`. */
static int is_measured(struct ledger *g, s64 *yes)
{
	return number(g, "SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events = 1"
		" AND ',' || r.layers || ',' LIKE '%,syscall,%' AND ',' || r.layers || ',' LIKE '%,fs,%'"
		" AND (',' || r.layers || ',' LIKE '%,uring,%'"
		" OR NOT EXISTS (SELECT 1 FROM agg_total a JOIN kind k ON k.id = a.kind"
		" WHERE a.run = r.run AND k.name = 'uring_other' AND a.owner > 2))", g->run, yes);
}

/* Finds the first event of the run by bisection: runs follow each other in the table. */
static int first_event(struct ledger *g, s64 *first)
{
	s64 low = 1, high, run;
	int err = number(g, "SELECT ifnull(max(rowid), 0) + 1 FROM event WHERE rowid > ?1", 0, &high);

	while (!err && low < high) {
		s64 middle = low + (high - low) / 2;

		err = number(g, "SELECT run FROM event WHERE rowid >= ?1 ORDER BY rowid LIMIT 1", middle, &run);
		if (run < g->run)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	return err;
}

static int read_aliases(struct ledger *g)
{
	static const char sql[] =
		"SELECT id, first FROM (SELECT id, min(id) OVER (PARTITION BY dev, ino, gen) AS first"
		" FROM file WHERE run = ?1)"
		" WHERE id <> first ORDER BY id";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(g->db, sql, -1, &st, NULL);
	size_t room = 0;

	g->alias_n = 0;
	if (rc == SQLITE_OK)
		sqlite3_bind_int64(st, 1, g->run);
	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		if (g->alias_n == room) {
			struct alias *bigger;

			room = 2 * room + 64;
			bigger = realloc(g->aliases, room * sizeof(*bigger));
			if (!bigger) {
				g->err = -ENOMEM;
				break;
			}
			g->aliases = bigger;
		}
		g->aliases[g->alias_n++] = (struct alias){ .id = sqlite3_column_int64(st, 0),
							   .first = sqlite3_column_int64(st, 1) };
	}
	rc = sqlite3_finalize(st);
	return g->err ? g->err : rc == SQLITE_OK ? 0 : ledger_sql_error(g);
}

/* Moves the rows of the temporary table to the table of the store. */
static int write_rows(struct ledger *g)
{
	static const char sql[] = "INSERT INTO ledger(run, file, owner, " LEDGER_SUMS ")"
		" SELECT ?1, file, owner, " LEDGER_SUMS " FROM temp.ledger_part";
	static const char clear[] = "DELETE FROM temp.ledger_part WHERE ?1";
	s64 unused;

	return number(g, sql, g->run, &unused) || number(g, clear, 1, &unused) ? g->err : 0;
}

/* Notes whether a sum left 64 bits when rows were added up: SQLite made it a real. */
static int look_for_reals(struct ledger *g)
{
	s64 reals;

	if (number(g, "SELECT EXISTS (SELECT 1 FROM temp.ledger_part"
			" WHERE 'real' IN (typeof(touched), typeof(dirtied),"
		   " typeof(absorbed), typeof(written), typeof(direct), typeof(submitted), typeof(cancelled),"
		   " typeof(dirty_end), typeof(dirty_late),"
		   " typeof(dirty_start), typeof(unexpected), typeof(covered))) AND ?1", 1, &reals))
		return g->err;
	g->overflow |= reals;
	return 0;
}

/* Replays the events of the store in their order, and sorted by SQLite if that is out of order. */
static int play_again(struct ledger *g)
{
	s64 first = 0;

	ledger_forget(g);
	if (first_event(g, &first) || simulate(g, first, false))
		return g->err;
	if (!g->failed)
		return 0;
	ledger_forget(g);
	return simulate(g, first, true);
}

/* The probe on the function that the kernel calls when a folio is dirtied. */
#define WATCHED "p.target LIKE '%/writeback_dirty_%'"

/* Corrects the rows of file systems without dirty pages: tmpfs keeps its data in memory, FUSE and
 * others write through in the call. They are known by the kernel, not by name: no folio of theirs
 * was dirtied in the run. This needs the probe on dirtied folios, and holds only for devices
 * without a disk (major 0): pages of a disk may have been dirty before the run. The bytes that the
 * simulation still holds of their files were never dirty. The inner queries do not depend on the
 * row, so that SQLite runs them once. */
static int apply_write_through(struct ledger *g)
{
	static const char sql[] =
		"UPDATE temp.ledger_part SET absorbed = absorbed + dirtied"
		" - (written - dirty_start - unexpected),"
		" dirtied = written - dirty_start - unexpected, cancelled = 0, dirty_end = 0, dirty_late = 0"
		" WHERE file IN (SELECT f.id FROM file f"
		" WHERE f.run = ?1 AND f.dev < 1 << 20"
		" AND EXISTS (SELECT 1 FROM probe p WHERE p.run = ?1 AND p.chosen AND " WATCHED ")"
		" AND f.dev NOT IN (SELECT a.dev FROM agg_total a JOIN kind k ON k.id = a.kind WHERE a.run = ?1"
		" AND k.name IN ('dirty', 'dirty_mmap', 'fs_write') AND a.dev IS NOT NULL))";
	s64 unused;

	return number(g, sql, g->run, &unused);
}

#define NOBODY_DIRTIED "SELECT 1 FROM agg_total a JOIN kind k ON k.id = a.kind" \
	" WHERE a.run = ?1 AND k.name = 'dirty' AND a.owner = 0"

/* May the device of an aggregate be that of a row? Not if it is another disk, or a part of one. */
#define MAY_BE_ON "ifnull(a.dev, ledger_part.dev) = ledger_part.dev" \
	" OR NOT EXISTS (SELECT 1 FROM device d WHERE d.run = ?1 AND d.dev = a.dev" \
	" AND (d.type IN ('disk', 'loop') OR (d.type = 'partition' AND d.parent <> ledger_part.dev)))"

/* Moves dirty_start to unexpected where it is not certain: a page on the same device was dirtied
 * without a known owner, or no probe saw dirtied folios. Of a file without a record the disk of
 * its bytes is known. */
static int apply_unknown(struct ledger *g)
{
	static const char sql[] = "UPDATE temp.ledger_part SET unexpected = unexpected + dirty_start,"
		" dirty_start = 0"
		" WHERE dirty_start > 0 AND (NOT EXISTS (SELECT 1 FROM probe p"
		" WHERE p.run = ?1 AND p.chosen AND " WATCHED ")"
		" OR (EXISTS (" NOBODY_DIRTIED ") AND file NOT IN (SELECT f.id FROM file f WHERE f.run = ?1"
		" AND NOT EXISTS (" NOBODY_DIRTIED " AND ifnull(a.dev, f.dev) = f.dev))"
		" AND (ledger_part.dev = 0 OR file IN (SELECT f.id FROM file f WHERE f.run = ?1)"
		" OR EXISTS (" NOBODY_DIRTIED " AND (" MAY_BE_ON ")))))";
	s64 unused;

	return number(g, sql, g->run, &unused) ? g->err : ledger_join(g);
}

/* Are bytes dirty that may have been dirtied since settling began? The live simulation did not
 * know when that was. */
static int is_late(struct ledger *g, bool *yes)
{
	s64 settle = 0;

	*yes = false;
	if (number(g, "SELECT ifnull(settle_ns, 0) FROM run_end WHERE run = ?1", g->run, &settle))
		return g->err;
	for (const struct file *f = g->files; settle && f && !*yes; f = f->hh.next)
		*yes = f->dirty;
	g->settle = *yes ? (u64)settle : g->settle;
	return 0;
}

static int compute(struct ledger *g)
{
	bool late;

	if (read_aliases(g))
		return g->err;
	if ((g->failed || g->alias_n) && play_again(g))
		return g->err;
	ledger_flush(g);
	if (is_late(g, &late) || (late && play_again(g)))
		return g->err;
	ledger_flush(g);
	ledger_count_end(g);
	/* nothing was written: one row of zeros says so, no row would mean "not measured" */
	if (!g->err && !g->rows && !g->spilled)
		ledger_row(g, 0, 0);
	if (g->err || ledger_spill(g) || apply_unknown(g) || apply_write_through(g) || look_for_reals(g))
		return g->err;
	if (!g->overflow)
		return write_rows(g);
	fail_as(0, 0, "run %lld has no ledger: its sums do not fit in 64 bits", (long long)g->run);
	return 0;
}

static int rebuild(struct ledger *g)
{
	s64 measured = 0, unused;

	if (number(g, "DELETE FROM ledger WHERE run = ?1", g->run, &unused) || is_measured(g, &measured) ||
	    !measured)
		return g->err;
	return compute(g);
}

int ledger_write(struct ledger *g, void *db, long long run)
{
	int err;

	if (!g)
		return ledger_build(db, run);
	if (sqlite3_exec(g->db, "SAVEPOINT ledger", NULL, NULL, NULL) != SQLITE_OK)
		return ledger_sql_error(g);
	err = rebuild(g);
	if (err == -ENOMEM)
		fail_as(0, 0, "the ledger of run %lld: no memory", (long long)g->run);
	if (err)
		sqlite3_exec(g->db, "ROLLBACK TO ledger", NULL, NULL, NULL);
	if (sqlite3_exec(g->db, "RELEASE ledger", NULL, NULL, NULL) != SQLITE_OK && !err)
		err = ledger_sql_error(g);
	return err;
}

int ledger_build(void *db, long long run)
{
	struct ledger *g = ledger_open(db, run);
	int err;

	if (!g)
		return fail_as(-ENOMEM, 0, "the ledger of run %lld: no memory", run);
	g->failed = true; /* no event was seen: all are read from the store */
	err = ledger_write(g, db, run);
	ledger_close(g);
	return err;
}
