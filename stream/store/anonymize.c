/* SPDX-License-Identifier: GPL-3.0-only */
/* anonymize.c - a store whose names are replaced, written as a new one. */
#include <errno.h>
#include <stdio.h>
#include "anonymous.h"
#include "copy.h"
#include "fresh.h"
#include "schema.h"
#include "second.h"

struct hidden {
	struct opener from;
	struct fresh to;
	const struct anonymizer *names;
	u64 rows;
};

static int copy_one(struct hidden *h, s64 run)
{
	struct copy c = { .from = h->from.db, .to = h->to.o.db, .run = run, .as = run,
		.names = h->names };
	const char *table = "run";
	s64 first = 1;
	int rc = second_next(h->to.o.db, &first) ?: copy_run(&c, &table, &h->rows);

	rc = rc ?: second_write(h->to.o.db, run, first);
	return rc == SQLITE_OK ? 0 : copy_fail(&h->from, &h->to.o, rc, table);
}

static int copy_all(struct hidden *h)
{
	sqlite3_stmt *st = NULL;
	int err = 0, rc = copy_words(h->from.db, h->to.o.db) ?:
		sqlite3_prepare_v2(h->from.db, "SELECT run FROM run ORDER BY run", -1, &st, NULL);

	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		err = copy_one(h, sqlite3_column_int64(st, 0));
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return err || rc == SQLITE_DONE ? err : opener_fail(&h->from, rc, "cannot be read");
}

int store_anonymize(const char *from, const char *to, const struct anonymizer *names)
{
	struct hidden h = { .to = { .o = { .at = { .dir = -1 }, .fd = -1 }, .to = { .dir = -1 } },
		.names = names };
	bool fresh;
	int err = 0;

	if (!access(to, F_OK))
		return fail_as(-EEXIST, 0, "%s is there already: anonymize makes a new store", to);
	err = opener_open(&h.from, from, false, &fresh) ?: fresh_open(&h.to, to) ?: copy_all(&h) ?:
		fresh_place(&h.to, NULL);
	fresh_close(&h.to);
	opener_close(&h.from);
	return err;
}
