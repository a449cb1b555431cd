/* SPDX-License-Identifier: GPL-3.0-only */
/* rewrite.c - rewrites a store in place: in the present format, or with less in it. */
#include <errno.h>
#include <stdio.h>
#include "copy.h"
#include "fresh.h"
#include "journal.h"
#include "schema.h"
#include "second.h"

struct rewrite {
	struct opener from;
	struct fresh to;
	const s64 *run;
	const enum keep *keep;
	size_t n;
	u64 rows;
};

static enum keep keep_of(const struct rewrite *w, s64 run)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (w->run[i] == run)
			return w->keep[i];
	return KEEP_ALL;
}

/* Makes the old store one file without companions, and locks it until it is replaced. */
static int hold(struct rewrite *w)
{
	int err = journal_join_to_replace(&w->from), rc = SQLITE_OK;

	if (!err)
		rc = sqlite3_exec(w->from.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	return rc == SQLITE_OK ? err : opener_fail(&w->from, rc, "cannot be replaced");
}

static int copy_one(struct rewrite *w, s64 run, enum keep keep)
{
	struct copy c = { .from = w->from.db, .to = w->to.o.db, .run = run, .as = run,
			  .no_events = keep == KEEP_SUMS };
	const char *table;
	s64 first = 1;
	char sql[96];
	int rc;

	if (keep == KEEP_NONE)
		return 0;
	rc = second_next(w->to.o.db, &first) ?: copy_run(&c, &table, &w->rows);
	rc = rc ?: second_write(w->to.o.db, run, first);
	if (rc == SQLITE_OK && keep == KEEP_SUMS) {
		snprintf(sql, sizeof(sql), "UPDATE run SET events = 2, only = NULL WHERE events AND run = %lld",
			 (long long)run);
		rc = sqlite3_exec(w->to.o.db, sql, NULL, NULL, NULL);
	}
	return rc == SQLITE_OK ? 0 : copy_fail(&w->from, &w->to.o, rc, table);
}

static int copy_all(struct rewrite *w)
{
	sqlite3_stmt *st = NULL;
	int err = 0, rc = copy_words(w->from.db, w->to.o.db) ?:
			  sqlite3_prepare_v2(w->from.db, "SELECT run FROM run ORDER BY run", -1, &st, NULL);

	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		s64 run = sqlite3_column_int64(st, 0);

		err = copy_one(w, run, keep_of(w, run));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return err || rc == SQLITE_DONE ? err : opener_fail(&w->from, rc, "cannot be read");
}

/* Size of the new store, which is not on the disk completely yet. */
static int size_of(struct rewrite *w, u64 *bytes)
{
	static const char sql[] = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->to.o.db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
		*bytes = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : opener_fail(&w->to.o, rc, "cannot be written");
}

static int place(struct rewrite *w, u64 at_most, u64 bytes)
{
	if (at_most && bytes > at_most)
		return -EFBIG;
	if (opener_has_companions(&w->from))
		return fail_as(-EBUSY, 0, "%s: another program has it open: nothing was changed", w->from.path);
	return fresh_place(&w->to, &w->from.main);
}

int store_rewrite(const char *path, const s64 *run, const enum keep *keep, size_t n, u64 at_most,
		  u64 *before, u64 *after)
{
	struct rewrite w = { .to = { .o = { .at = { .dir = -1 }, .fd = -1 }, .to = { .dir = -1 } },
			     .run = run, .keep = keep, .n = n };
	int err = opener_open_to_replace(&w.from, path) ?: hold(&w) ?: fresh_open(&w.to, path) ?:
		  copy_all(&w) ?: size_of(&w, after) ?: place(&w, at_most, *after);

	*before = w.from.main.st_size;
	fresh_close(&w.to);
	opener_close(&w.from);
	return err;
}
