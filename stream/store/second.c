/* SPDX-License-Identifier: GPL-3.0-only */
/* second.c - the aggregates of a run by second, only as detailed as timelines need.
 *
 * A run of a thousand processes has a thousand rows for each second and kind in agg. Timelines show
 * a line for each name of processes: here the sums of all processes of one name and system are one
 * row, whose owner is the first of them. Rows of agg come nearly in the order of seconds, so that
 * one second is kept in memory at a time; a late row makes a second row of the same key, and
 * reports add them up.
 */
#include <stdlib.h>
#include "hash.h"
#include "second.h"
#include "volume.h"

/* Volumes that timelines sum. Other kinds get one row for each second and process that had any. To
 * add a volume: a row. */
static const enum volume_row shown[] = {
	VOLUME_S, VOLUME_S_r, VOLUME_B, VOLUME_B_r, VOLUME_flushes
};

struct row {
	u32 kind, cause, sub, flags, owner, dev, dev_known; /* the key */
	u64 ops, bytes;
	UT_hash_handle hh;
};

/* Columns of read_sql. */
enum { SEC, KIND, OWNER, DEV, CAUSE, SUB, FLAGS, OPS, BYTES };

struct name {
	u32 id, number;         /* number: equal for processes of one name and system */
	bool kthread;
	char *comm, *system;    /* system: NULL: none */
};

struct second {
	s64 run, sec;
	struct row *rows;       /* of the current second */
	bool wanted[KIND_MAX];
	struct name *names;     /* sorted by id */
	u32 *first;             /* by number: the first process in agg; 0: none yet */
	size_t n;
	sqlite3_stmt *read, *put;
};

/* Selects the processes in the order of their ids, with what tells them apart in timelines. */
static const char names_sql[] =
	"SELECT id, kthread, comm, system FROM process WHERE run = ?1 AND id > 2 ORDER BY id";
static const char clear_sql[] = "DELETE FROM agg_second WHERE run = ?1";
static const char read_sql[] =
	"SELECT sec, kind, owner, dev, cause, sub, flags, ops, bytes"
	" FROM agg WHERE rowid >= ?2 AND run = ?1";
static const char put_sql[] =
	"INSERT INTO agg_second(run, sec, kind, owner, dev, cause, sub, flags, ops, bytes)"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

static int clear(sqlite3 *db, s64 run)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, clear_sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		sqlite3_bind_int64(st, 1, run);
	sqlite3_step(st);
	return sqlite3_finalize(st) ?: rc;
}

static int compare_id(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int compare_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->kthread != y->kthread || !x->system != !y->system)
		return x->kthread != y->kthread ? x->kthread - y->kthread : !x->system - !y->system;
	return strcmp(x->comm, y->comm) ?: x->system ? strcmp(x->system, y->system) : 0;
}

static int read_name(struct second *s, sqlite3_stmt *st, size_t *room)
{
	const char *comm = (const char *)sqlite3_column_text(st, 2);
	const char *system = (const char *)sqlite3_column_text(st, 3);
	struct name *name;

	if (s->n == *room) {
		struct name *more = reallocarray(s->names, *room = 2 * *room + 64, sizeof(*more));

		if (!more)
			return SQLITE_NOMEM;
		s->names = more;
	}
	name = &s->names[s->n++];
	*name = (struct name){ .id = sqlite3_column_int64(st, 0), .kthread = sqlite3_column_int(st, 1),
			       .comm = strdup(comm ? comm : "") };
	name->system = system ? strdup(system) : NULL;
	return name->comm && (name->system || !system) ? SQLITE_OK : SQLITE_NOMEM;
}

static void free_names(struct second *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->names[i].comm);
		free(s->names[i].system);
	}
	free(s->names);
	free(s->first);
}

static int number_names(struct second *s)
{
	if (s->n)
		qsort(s->names, s->n, sizeof(*s->names), compare_name);
	for (size_t i = 1; i < s->n; i++)
		s->names[i].number = s->names[i - 1].number + !!compare_name(&s->names[i - 1], &s->names[i]);
	if (s->n)
		qsort(s->names, s->n, sizeof(*s->names), compare_id);
	s->first = calloc(s->n + 1, sizeof(*s->first));
	return s->first ? SQLITE_OK : SQLITE_NOMEM;
}

static int read_names(sqlite3 *db, struct second *s)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, names_sql, -1, &st, NULL);
	size_t room = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, s->run);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
		rc = read_name(s, st, &room);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? number_names(s) : rc;
}

/* Returns the process whose row has the sums of `owner`. */
static u32 owner_of(struct second *s, u32 owner)
{
	struct name key = { .id = owner }, *name;

	name = s->n ? bsearch(&key, s->names, s->n, sizeof(key), compare_id) : NULL;
	if (!name)
		return owner;
	if (!s->first[name->number])
		s->first[name->number] = owner;
	return s->first[name->number];
}

static int put_row(struct second *s, const struct row *r)
{
	const u64 values[] = { s->run, s->sec, r->kind, r->owner, r->dev, r->cause, r->sub, r->flags,
			       r->ops, r->bytes };

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		sqlite3_bind_int64(s->put, i + 1, values[i]);
	if (!r->dev_known)
		sqlite3_bind_null(s->put, 5);
	sqlite3_step(s->put);
	return sqlite3_reset(s->put);
}

static int put_second(struct second *s)
{
	int rc = SQLITE_OK;

	for (const struct row *r = s->rows; r && rc == SQLITE_OK; r = r->hh.next)
		rc = put_row(s, r);
	HASH_FREE(s->rows);
	return rc;
}

/* Returns the row of the current row of agg; NULL: no memory. */
static struct row *row_of(struct second *s, u32 owner)
{
	u32 kind = sqlite3_column_int64(s->read, KIND);
	struct row key = { .owner = owner_of(s, owner) }, *r;

	if (kind < KIND_MAX && s->wanted[kind]) {
		key.kind = kind;
		key.cause = sqlite3_column_int64(s->read, CAUSE);
		key.sub = sqlite3_column_int64(s->read, SUB);
		key.flags = sqlite3_column_int64(s->read, FLAGS);
		key.dev = sqlite3_column_int64(s->read, DEV);
		key.dev_known = sqlite3_column_type(s->read, DEV) != SQLITE_NULL;
	}
	HASH_FIND(hh, s->rows, &key.kind, offsetof(struct row, ops), r);
	if (r)
		return r;
	r = malloc(sizeof(*r));
	if (r)
		*r = key;
	HASH_PUT(s->rows, kind, offsetof(struct row, ops), r);
	return r;
}

/* Adds a row of agg. Sums may leave 64 bits: reports refuse such sums, and read agg. */
static int add(struct second *s)
{
	s64 sec = sqlite3_column_int64(s->read, SEC), owner = sqlite3_column_int64(s->read, OWNER);
	int rc = s->rows && sec != s->sec ? put_second(s) : SQLITE_OK;
	struct row *r;

	s->sec = sec;
	if (owner == 1 || owner == 2)
		return rc;
	r = rc == SQLITE_OK ? row_of(s, owner) : NULL;
	if (!r)
		return rc ?: SQLITE_NOMEM;
	if (r->kind) {
		r->ops += sqlite3_column_int64(s->read, OPS);
		r->bytes += sqlite3_column_int64(s->read, BYTES);
	}
	return SQLITE_OK;
}

static int sum_up(sqlite3 *db, struct second *s, s64 first)
{
	int rc = sqlite3_prepare_v2(db, read_sql, -1, &s->read, NULL) ?:
		 sqlite3_prepare_v2(db, put_sql, -1, &s->put, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s->read, 1, s->run) ?: sqlite3_bind_int64(s->read, 2, first);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s->read)) == SQLITE_ROW)
		rc = add(s);
	if (rc == SQLITE_DONE)
		rc = put_second(s);
	HASH_FREE(s->rows);
	sqlite3_finalize(s->read);
	sqlite3_finalize(s->put);
	return rc;
}

int second_write(sqlite3 *db, s64 run, s64 first)
{
	struct second s = { .run = run };
	int rc;

	for (u32 k = 1; k < KIND_MAX; k++)
		for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
			s.wanted[k] |= volume_sums_kind(shown[i], k);
	rc = clear(db, run) ?: read_names(db, &s) ?: sum_up(db, &s, first);
	free_names(&s);
	return rc;
}

int second_next(sqlite3 *db, s64 *next)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT ifnull(max(rowid), 0) + 1 FROM agg", -1, &st, NULL);

	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		*next = sqlite3_column_int64(st, 0);
	return sqlite3_finalize(st) ?: rc;
}
