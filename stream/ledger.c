/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger.c - the dirty ledger of a run (METRICS section 3), simulated from its events.
 *
 * The kernel says that a folio went dirty, not which bytes. So what writes touched and what data bios carried away is played
 * through again, file by file, in the order in which the operations began. In every row
 *
 *     dirty_start + dirtied + unexpected = written + cancelled + dirty_end
 *
 * holds by construction; whether the simulation was right shows in `unexpected` (a bio carried what it did not hold) and,
 * after a settle, in `dirty_end` (it holds what no bio carried) without `dirty_late`, which somebody dirtied since settling began:
 * together they are the residual. What was dirty before the run is known by two silences: nobody is known to have written what
 * the bio carries, and in the whole run nothing on its device went dirty without somebody who is known.
 *
 * Memory is held for the files that have dirty bytes, or blocks of another size than most; the rows go into a temporary table of
 * SQLite whenever there are ROWS_MAX of them, and from there into the table when the run has ended.
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include "interval.h"
#include "ledger.h"
#include "memory.h"
#include "table.h"
#include "volume.h"

#define BLOCK_BYTES 4096U          /* of files of which nothing is said */
#define WINDOW (1u << 16)         /* operations that may overtake one that takes long, before the slow way is needed */
#define ROWS_MAX (1u << 15)       /* rows in memory: 5.5 MiB */
#define INTERVALS_MAX (1u << 18)  /* what the tracer may hold in memory: 16 MiB */

#define LATE (1U << 31)            /* bit of an interval's owner: dirtied after settling had begun */

enum op_what { OP_NONE, OP_WRITE, OP_DIRECT, OP_MMAP, OP_BIO, OP_BIO_DIRECT, OP_CUT, OP_PUNCH, OP_EVICT };

struct op {
	u64 ts, seq;
	u64 from, to;           /* bytes, not rounded */
	u32 file, owner;
	u8 what;
};

/* One row of the table. */
struct row {
	bool used;
	u32 file, owner;
	u64 touched, dirtied, absorbed, written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected;
};

struct file {
	bool used;
	u32 block;
	u32 id;
	struct interval *dirty;
};

/* Another id of the same (dev, ino, gen). */
struct alias {
	u32 id, first;
};

struct ledger {
	sqlite3 *db;
	s64 run;
	struct row *rows;       /* open addressing, sizes are powers of two */
	size_t row_room, row_n;
	struct file *files;
	size_t file_room, file_n;
	struct alias *aliases;  /* sorted by id */
	size_t alias_n;
	struct op *ops;
	size_t n;
	u64 seq, applied;       /* operations read; largest ts that was applied */
	u64 settle;             /* when settling began; ~0: it did not, or that is not known yet */
	u32 file_applied;       /* largest number of a file with an operation that was applied */
	bool failed;            /* what it holds is of no use: out of order, or too much */
	bool overflow;          /* a sum left 64 bits */
	bool spilled;           /* there are rows in the temporary table */
	int err;
};

static int sql_error(struct ledger *g)
{
	return g->err = fail_as(-EIO, 0, "the ledger of run %lld: %s", (long long)g->run, sqlite3_errmsg(g->db));
}

/* ---- rows on disk ---- */

static void write_row(struct ledger *g, sqlite3_stmt *st, const struct row *r)
{
	const u64 values[] = { r->file, r->owner, r->touched, r->dirtied, r->absorbed, r->written, r->direct, r->submitted,
			       r->cancelled, r->dirty_end, r->dirty_late, r->dirty_start, r->unexpected };
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(*values); i++)
		sqlite3_bind_int64(st, i + 1, values[i]);
	sqlite3_step(st);
	if (sqlite3_reset(st) != SQLITE_OK)
		sql_error(g);
}

/* Adds the rows in memory to those in the temporary table, and forgets them. A sum that leaves 64 bits becomes a real there. */
static int spill_rows(struct ledger *g)
{
	static const char make[] = "CREATE TEMP TABLE IF NOT EXISTS ledger_part(file INTEGER, owner INTEGER, touched, dirtied, absorbed,"
		" written, direct, submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected, PRIMARY KEY(file, owner)) WITHOUT ROWID";
	static const char sql[] = "INSERT INTO temp.ledger_part VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
		" ON CONFLICT(file, owner) DO UPDATE SET touched = touched + excluded.touched, dirtied = dirtied + excluded.dirtied,"
		" absorbed = absorbed + excluded.absorbed, written = written + excluded.written, direct = direct + excluded.direct,"
		" submitted = submitted + excluded.submitted, cancelled = cancelled + excluded.cancelled,"
		" dirty_end = dirty_end + excluded.dirty_end, dirty_late = dirty_late + excluded.dirty_late,"
		" dirty_start = dirty_start + excluded.dirty_start, unexpected = unexpected + excluded.unexpected";
	sqlite3_stmt *st = NULL;
	size_t i;

	if (sqlite3_exec(g->db, make, NULL, NULL, NULL) != SQLITE_OK || sqlite3_prepare_v2(g->db, sql, -1, &st, NULL) != SQLITE_OK)
		return sql_error(g);
	g->spilled = true;
	for (i = 0; !g->err && i < g->row_room; i++)
		if (g->rows[i].used)
			write_row(g, st, &g->rows[i]);
	sqlite3_finalize(st);
	memset(g->rows, 0, g->row_room * sizeof(*g->rows));
	g->row_n = 0;
	return g->err;
}

/* ---- tables ---- */

static size_t hash2(u32 a, u32 b)
{
	u64 h = ((u64)a << 32 | b) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL >> 32;
}

static struct row *row_slot(struct row *rows, size_t room, u32 file, u32 owner)
{
	size_t i = hash2(file, owner) & (room - 1);

	while (rows[i].used && (rows[i].file != file || rows[i].owner != owner))
		i = (i + 1) & (room - 1);
	return &rows[i];
}

static int rows_grow(struct ledger *g)
{
	size_t room = g->row_room ? 2 * g->row_room : 256, i;
	struct row *rows = calloc(room, sizeof(*rows));

	if (!rows)
		return g->err = -ENOMEM;
	for (i = 0; i < g->row_room; i++)
		if (g->rows[i].used)
			*row_slot(rows, room, g->rows[i].file, g->rows[i].owner) = g->rows[i];
	free(g->rows);
	g->rows = rows;
	g->row_room = room;
	return 0;
}

/* NULL when there is no room; g->err says why. Valid until the next call. */
static struct row *row_of(struct ledger *g, u32 file, u32 owner)
{
	struct row *r;

	if (g->row_n >= ROWS_MAX && spill_rows(g))
		return NULL;
	if (2 * g->row_n >= g->row_room && rows_grow(g))
		return NULL;
	r = row_slot(g->rows, g->row_room, file, owner);
	if (!r->used) {
		*r = (struct row){ .used = true, .file = file, .owner = owner };
		g->row_n++;
	}
	return r;
}

static struct file *file_slot(struct file *files, size_t room, u32 id)
{
	size_t i = hash2(id, 0) & (room - 1);

	while (files[i].used && files[i].id != id)
		i = (i + 1) & (room - 1);
	return &files[i];
}

static int files_grow(struct ledger *g)
{
	size_t room = g->file_room ? 2 * g->file_room : 256, i;
	struct file *files = calloc(room, sizeof(*files));

	if (!files)
		return g->err = -ENOMEM;
	for (i = 0; i < g->file_room; i++)
		if (g->files[i].used)
			*file_slot(files, room, g->files[i].id) = g->files[i];
	free(g->files);
	g->files = files;
	g->file_room = room;
	return 0;
}

static struct file *file_of(struct ledger *g, u32 id)
{
	struct file *f;

	if (2 * g->file_n >= g->file_room && files_grow(g))
		return NULL;
	f = file_slot(g->files, g->file_room, id);
	if (!f->used) {
		*f = (struct file){ .used = true, .id = id, .block = BLOCK_BYTES };
		g->file_n++;
	}
	return f;
}

/* Forgets a file of which nothing is to be remembered: those behind it move up (open addressing). */
static void file_drop(struct ledger *g, struct file *f)
{
	size_t i = f - g->files, free_at = i, home;

	if (f->dirty || f->block != BLOCK_BYTES)
		return;
	for (;;) {
		i = (i + 1) & (g->file_room - 1);
		if (!g->files[i].used)
			break;
		home = hash2(g->files[i].id, 0) & (g->file_room - 1);
		if (((i - home) & (g->file_room - 1)) < ((i - free_at) & (g->file_room - 1)))
			continue;
		g->files[free_at] = g->files[i];
		free_at = i;
	}
	g->files[free_at] = (struct file){ 0 };
	g->file_n--;
}

static struct file *file_find(struct ledger *g, u32 id)
{
	struct file *f = g->file_n && id ? file_slot(g->files, g->file_room, id) : NULL;

	return f && f->used ? f : NULL;
}

static int compare_alias(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static u32 first_id(const struct ledger *g, u32 id)
{
	struct alias key = { .id = id }, *a;

	if (!g->alias_n)
		return id;
	a = bsearch(&key, g->aliases, g->alias_n, sizeof(key), compare_alias);
	return a ? a->first : id;
}

/* ---- the simulation ---- */

static void add(struct ledger *g, u64 *sum, u64 bytes)
{
	if (__builtin_add_overflow(*sum, bytes, sum) || *sum > INT64_MAX)
		g->overflow = true;
}

struct taken {
	struct ledger *g;
	u32 file;
	u64 bytes;
	size_t column;          /* offset in struct row */
};

static void count_taken(void *arg, u32 owner, u64 bytes)
{
	struct taken *t = arg;
	struct row *r = row_of(t->g, t->file, owner & ~LATE);

	t->bytes += bytes;
	if (!r)
		return;
	add(t->g, (u64 *)((char *)r + t->column), bytes);
	if (owner & LATE && t->column == offsetof(struct row, dirty_end))
		add(t->g, &r->dirty_late, bytes);
}

static u64 block_down(u64 at, u64 block)
{
	return at & -block;
}

static u64 block_up(u64 at, u64 block)
{
	return block_down(at > ~0ULL - block ? ~0ULL : at + block - 1, block);
}

static u64 block_of(struct ledger *g, u32 file)
{
	struct file *f = file_find(g, file);

	if (file > g->file_applied)
		g->file_applied = file;
	return f ? f->block : BLOCK_BYTES;
}

static void apply_dirty(struct ledger *g, const struct op *o)
{
	u64 block = block_of(g, o->file), from = block_down(o->from, block), to = block_up(o->to, block), fresh = 0;
	struct row *r = row_of(g, o->file, o->owner);
	struct file *f;

	if (!r)
		return;
	if (o->what != OP_MMAP)
		add(g, &r->touched, to - from);
	if (!o->file) /* a file without a number cannot be told from another: what its bios carry will be unexpected */
		return;
	f = file_of(g, o->file);
	if (f && interval_add(&f->dirty, from, to, o->ts >= g->settle ? o->owner | LATE : o->owner, &fresh))
		g->err = -ENOMEM;
	add(g, &r->dirtied, fresh);
	if (o->what == OP_WRITE)
		add(g, &r->absorbed, to - from - fresh);
}

static void apply_direct(struct ledger *g, const struct op *o)
{
	struct row *r = row_of(g, o->file, o->owner);
	u64 block = block_of(g, o->file);

	if (!r)
		return;
	add(g, &r->touched, block_up(o->to, block) - block_down(o->from, block));
	add(g, &r->direct, block_up(o->to, block) - block_down(o->from, block));
}

/* What direct I/O submitted: more than the calls where the file system pads blocks with zeros, less than the blocks where not. */
static void apply_bio_direct(struct ledger *g, const struct op *o)
{
	struct row *r = row_of(g, o->file, o->owner);

	if (r)
		add(g, &r->submitted, o->to - o->from);
}

static void take(struct ledger *g, const struct op *o, u64 from, u64 to, struct taken *t)
{
	struct file *f = file_find(g, o->file);

	if (!f)
		return;
	if (interval_take(&f->dirty, from, to, count_taken, t))
		g->err = -ENOMEM;
	file_drop(g, f);
}

static void apply_bio(struct ledger *g, const struct op *o)
{
	struct taken t = { g, o->file, 0, offsetof(struct row, written) };
	struct row *r;
	u64 rest;

	take(g, o, o->from, o->to, &t);
	rest = o->to - o->from - t.bytes;
	r = rest ? row_of(g, o->file, o->owner) : NULL;
	if (!r)
		return;
	add(g, &r->written, rest);
	add(g, o->owner ? &r->unexpected : &r->dirty_start, rest);
}

/* Only whole blocks go: the rest of a block that is cut is zeroed and stays. */
static void apply_cancel(struct ledger *g, const struct op *o)
{
	struct taken t = { g, o->file, 0, offsetof(struct row, cancelled) };
	u64 block = block_of(g, o->file);

	take(g, o, block_up(o->from, block), o->to == ~0ULL ? o->to : block_down(o->to, block), &t);
}

static void apply(struct ledger *g, const struct op *o)
{
	static void (*const how[])(struct ledger *, const struct op *) = {
		[OP_WRITE] = apply_dirty, [OP_DIRECT] = apply_direct, [OP_MMAP] = apply_dirty,
		[OP_BIO] = apply_bio, [OP_BIO_DIRECT] = apply_bio_direct, [OP_CUT] = apply_cancel, [OP_PUNCH] = apply_cancel, [OP_EVICT] = apply_cancel,
	};

	how[o->what](g, o);
}

static void count_dirty_end(struct ledger *g)
{
	size_t i;

	for (i = 0; i < g->file_room; i++) {
		struct taken t = { g, g->files[i].id, 0, offsetof(struct row, dirty_end) };

		if (g->files[i].used)
			interval_take(&g->files[i].dirty, 0, ~0ULL, count_taken, &t);
	}
}

/* ---- events in the order in which they began ---- */

static int compare_op(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return x->ts != y->ts ? (x->ts > y->ts) - (x->ts < y->ts) : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Applies the first n of the window in order. */
static void apply_first(struct ledger *g, size_t n)
{
	size_t i;

	for (i = 1; i < g->n && compare_op(&g->ops[i - 1], &g->ops[i]) < 0; i++)
		;
	if (i < g->n)
		qsort(g->ops, g->n, sizeof(*g->ops), compare_op);
	for (i = 0; i < n; i++)
		apply(g, &g->ops[i]);
	if (n)
		g->applied = g->ops[n - 1].ts;
	g->n -= n;
	memmove(g->ops, g->ops + n, g->n * sizeof(*g->ops));
}

/* Events come in the order in which operations ended: almost that in which they began. */
static void push(struct ledger *g, const struct op *o)
{
	if (o->ts < g->applied)
		g->failed = true;
	g->ops[g->n] = *o;
	g->ops[g->n++].seq = g->seq++;
	if (g->n == 2 * WINDOW)
		apply_first(g, WINDOW);
}

/* What a kind of operation does to the ledger. Writes are those of S: what the VFS and below see is the same bytes. */
static u8 kind_what[256] = {
	[KIND_DIRTY_MMAP] = OP_MMAP, [KIND_FS_TRUNCATE] = OP_CUT, [KIND_FS_PUNCH] = OP_PUNCH, [KIND_FS_EVICT] = OP_EVICT,
};

static void fill_kinds(void)
{
	int k;

	for (k = 0; k < KIND_MAX; k++)
		if (volume_kind(VOLUME_S, k))
			kind_what[k] = OP_WRITE;
		else if (volume_kind(VOLUME_W, k))
			kind_what[k] = OP_BIO;
}

/* False when the event changes nothing. */
static bool op_of(const struct iot_event *e, struct op *o)
{
	u64 bytes = e->bytes;

	o->what = kind_what[e->kind];
	o->ts = e->ts_ns;
	o->from = e->offset;
	o->file = e->file;
	o->owner = e->owner;
	switch (o->what) {
	case OP_NONE:
		return false;
	case OP_WRITE:
		if (!volume_has(VOLUME_S, e->cause, e->sub, e->flags))
			return false;
		if (e->flags & FLAG_DIRECT)
			o->what = OP_DIRECT;
		break;
	case OP_BIO:
		if (!volume_has(VOLUME_W, e->cause, e->sub, e->flags))
			return false;
		if (e->cause == CAUSE_DIRECT)
			o->what = OP_BIO_DIRECT;
		break;
	case OP_PUNCH:
		bytes = e->size;
		break;
	case OP_EVICT:
		o->from = 0;
		bytes = ~0ULL;
		break;
	case OP_CUT:
		bytes = ~0ULL;
		break;
	}
	o->to = o->from + bytes < o->from ? ~0ULL : o->from + bytes;
	return bytes;
}

void ledger_events(struct ledger *g, const struct iot_event *e, size_t n)
{
	struct op o;

	for (; g && !g->failed && n; e++, n--)
		if (kind_what[e->kind] && op_of(e, &o))
			push(g, &o);
	if (g && !g->failed && (g->err || interval_count() > INTERVALS_MAX))
		g->failed = true;
}

/* 0 and what cannot be the size of a block say nothing. */
void ledger_file(struct ledger *g, u32 id, u64 block)
{
	struct file *f;

	if (!g || g->failed || block < 512 || block > 65536 || block & (block - 1))
		return;
	if (block == BLOCK_BYTES && !file_find(g, id))
		return;
	f = file_of(g, id);
	if (!f || f->block == block)
		return;
	f->block = block;
	g->failed = id <= g->file_applied; /* perhaps too late: the store says it again, before the first operation */
}

/* Every event that can change the ledger, in the order of the columns of `struct iot_event` that op_of() reads. */
static char *events_sql(s64 first, bool sorted)
{
	char *sql = NULL;
	size_t size;
	FILE *f = memory_open(&sql, &size);
	int k;

	if (!f)
		return NULL;
	fprintf(f, "SELECT ts_ns, kind, offset, size, bytes, owner, task, file, flags, sub, cause FROM event WHERE rowid >= %lld"
		" AND run = ?1 AND kind IN (", (long long)first);
	for (k = 0; k < KIND_MAX; k++)
		if (kind_what[k])
			fprintf(f, "%d, ", k);
	fprintf(f, "-1)%s", sorted ? " ORDER BY ts_ns, rowid" : "");
	return fclose(f) ? NULL : sql;
}

static struct iot_event event_of(sqlite3_stmt *st)
{
	return (struct iot_event){
		.ts_ns = sqlite3_column_int64(st, 0), .kind = sqlite3_column_int64(st, 1), .offset = sqlite3_column_int64(st, 2),
		.size = sqlite3_column_int64(st, 3), .bytes = sqlite3_column_int64(st, 4), .owner = sqlite3_column_int64(st, 5),
		.task = sqlite3_column_int64(st, 6), .file = sqlite3_column_int64(st, 7), .flags = sqlite3_column_int64(st, 8),
		.sub = sqlite3_column_int64(st, 9), .cause = sqlite3_column_int64(st, 10),
	};
}

static int read_blocks(struct ledger *g)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(g->db, "SELECT id, block FROM file WHERE run = ?1 AND block IS NOT NULL", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, g->run);
	while (rc == SQLITE_OK && !g->err && sqlite3_step(st) == SQLITE_ROW)
		ledger_file(g, first_id(g, sqlite3_column_int64(st, 0)), sqlite3_column_int64(st, 1));
	rc = sqlite3_finalize(st);
	return g->err ? g->err : rc == SQLITE_OK ? 0 : sql_error(g);
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
		if (!op_of(&e, &o))
			continue;
		o.file = first_id(g, o.file);
		push(g, &o);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE || rc == SQLITE_OK ? g->err : sql_error(g);
}

/* Back to the beginning; only the file aliases stay. */
static void forget(struct ledger *g)
{
	g->err = 0;
	count_dirty_end(g); /* frees the sets */
	if (g->spilled)
		sqlite3_exec(g->db, "DELETE FROM temp.ledger_part", NULL, NULL, NULL);
	free(g->rows);
	free(g->files);
	g->rows = NULL;
	g->files = NULL;
	g->row_room = g->row_n = g->file_room = g->file_n = 0;
	g->n = g->seq = g->applied = g->file_applied = 0;
	g->failed = g->overflow = g->spilled = false;
	g->err = 0;
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
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : sql_error(g);
}

/* Whether the run has what the simulation needs: events of the layers that write and submit. Where some of them were lost, D is
 * too small, never too large: a block that went dirty is dirtied at most once by what is left, until the next that carries it
 * away. The rest of the rows then says nothing, and reports know from the losses. */
static int is_measured(struct ledger *g, s64 *yes)
{
	return number(g, "SELECT count(*) FROM run r WHERE r.run = ?1 AND r.events <> 0"
		" AND ',' || r.layers || ',' LIKE '%,syscall,%' AND ',' || r.layers || ',' LIKE '%,fs,%'"
		" AND (',' || r.layers || ',' LIKE '%,uring,%' OR NOT EXISTS (SELECT 1 FROM agg_total a JOIN kind k ON k.id = a.kind"
		" WHERE a.run = r.run AND k.name = 'uring_other' AND a.owner > 2))", g->run, yes);
}

/* Runs follow each other in the table, so the first event of this one is found by halving. */
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
		"SELECT id, first FROM (SELECT id, min(id) OVER (PARTITION BY dev, ino, gen) AS first FROM file WHERE run = ?1)"
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
		g->aliases[g->alias_n++] = (struct alias){ sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1) };
	}
	rc = sqlite3_finalize(st);
	return g->err ? g->err : rc == SQLITE_OK ? 0 : sql_error(g);
}

/* The rows in the temporary table become those of the run. */
static int write_rows(struct ledger *g)
{
	static const char sql[] = "INSERT INTO ledger(run, file, owner, touched, dirtied, absorbed, written, direct, submitted, cancelled,"
		" dirty_end, dirty_late, dirty_start, unexpected) SELECT ?1, file, owner, touched, dirtied, absorbed, written, direct,"
		" submitted, cancelled, dirty_end, dirty_late, dirty_start, unexpected FROM temp.ledger_part";
	s64 unused;

	return number(g, sql, g->run, &unused) || number(g, "DELETE FROM temp.ledger_part WHERE ?1", 1, &unused) ? g->err : 0;
}

/* Did a sum leave 64 bits when rows were added up? */
static int look_for_reals(struct ledger *g)
{
	s64 reals;

	if (number(g, "SELECT EXISTS (SELECT 1 FROM temp.ledger_part WHERE 'real' IN (typeof(touched), typeof(dirtied), typeof(absorbed),"
		   " typeof(written), typeof(direct), typeof(submitted), typeof(cancelled), typeof(dirty_end), typeof(dirty_late),"
		   " typeof(dirty_start), typeof(unexpected))) AND ?1", 1, &reals))
		return g->err;
	g->overflow |= reals;
	return 0;
}

/* Plays the events of the store through again: as they come, and in a second go sorted by SQLite if that was out of order. */
static int play_again(struct ledger *g)
{
	s64 first = 0;

	forget(g);
	if (first_event(g, &first) || simulate(g, first, false))
		return g->err;
	if (!g->failed)
		return 0;
	forget(g);
	return simulate(g, first, true);
}

/* The probe that the kernel calls when a folio goes dirty. */
#define WATCHED "p.target LIKE '%/writeback_dirty_%'"

/* Not every file system has dirty pages: tmpfs keeps what it is given, FUSE and the like pass writes on in the call. Known by
 * the kernel, not by their names: no folio of theirs went dirty in the run. Only where that is watched, and on devices that
 * file systems made up themselves (major 0): those of a disk may have been dirty from before the run. What the simulation still
 * holds of their files was never dirty. */
static int apply_write_through(struct ledger *g)
{
	static const char sql[] =
		"UPDATE temp.ledger_part SET absorbed = absorbed + dirtied - (written - dirty_start - unexpected),"
		" dirtied = written - dirty_start - unexpected, cancelled = 0, dirty_end = 0, dirty_late = 0 WHERE file IN (SELECT f.id FROM file f"
		" WHERE f.run = ?1 AND f.dev < 1 << 20"
		" AND EXISTS (SELECT 1 FROM probe p WHERE p.run = f.run AND p.chosen AND " WATCHED ")"
		" AND f.dev NOT IN (SELECT a.dev FROM agg_total a JOIN kind k ON k.id = a.kind WHERE a.run = f.run"
		" AND k.name IN ('dirty', 'dirty_mmap', 'fs_write') AND a.dev IS NOT NULL))";
	s64 unused;

	return number(g, sql, g->run, &unused);
}

#define NOBODY_DIRTIED "SELECT 1 FROM agg_total a JOIN kind k ON k.id = a.kind WHERE a.run = ?1 AND k.name = 'dirty' AND a.owner = 0"

/* What nobody is known to have written was dirty before the run, unless something of unknown origin went dirty in it on the same
 * device, or nobody watched. */
static int apply_unknown(struct ledger *g)
{
	static const char sql[] = "UPDATE temp.ledger_part SET unexpected = unexpected + dirty_start, dirty_start = 0"
		" WHERE dirty_start > 0 AND (NOT EXISTS (SELECT 1 FROM probe p WHERE p.run = ?1 AND p.chosen AND " WATCHED ")"
		" OR (EXISTS (" NOBODY_DIRTIED ") AND file NOT IN (SELECT f.id FROM file f WHERE f.run = ?1"
		" AND NOT EXISTS (" NOBODY_DIRTIED " AND ifnull(a.dev, f.dev) = f.dev))))";
	s64 unused;

	return number(g, sql, g->run, &unused);
}

/* Bytes that nobody wrote out after settling may have been dirtied since it began. The live simulation did not know when. */
static int is_late(struct ledger *g, bool *yes)
{
	s64 settle = 0;
	size_t i;

	*yes = false;
	if (number(g, "SELECT ifnull(settle_ns, 0) FROM run_end WHERE run = ?1", g->run, &settle))
		return g->err;
	for (i = 0; settle && i < g->file_room && !*yes; i++)
		*yes = g->files[i].used && g->files[i].dirty;
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
	apply_first(g, g->n);
	if (is_late(g, &late) || (late && play_again(g)))
		return g->err;
	apply_first(g, g->n);
	count_dirty_end(g);
	/* measured, and nothing was written: one row of zeros says so, no row would mean "not measured" */
	if (!g->err && !g->row_n && !g->spilled)
		row_of(g, 0, 0);
	if (g->err || spill_rows(g) || apply_unknown(g) || apply_write_through(g) || look_for_reals(g))
		return g->err;
	if (!g->overflow)
		return write_rows(g);
	fail_as(0, 0, "run %lld has no ledger: its sums do not fit in 64 bits", (long long)g->run);
	return 0;
}

static int rebuild(struct ledger *g)
{
	s64 measured = 0, unused;

	if (number(g, "DELETE FROM ledger WHERE run = ?1", g->run, &unused) || is_measured(g, &measured) || !measured)
		return g->err;
	return compute(g);
}

static int write_all(struct ledger *g)
{
	int err;

	if (sqlite3_exec(g->db, "SAVEPOINT ledger", NULL, NULL, NULL) != SQLITE_OK)
		return sql_error(g);
	err = rebuild(g);
	if (err == -ENOMEM)
		fail_as(0, 0, "the ledger of run %lld: no memory", (long long)g->run);
	if (err)
		sqlite3_exec(g->db, "ROLLBACK TO ledger", NULL, NULL, NULL);
	if (sqlite3_exec(g->db, "RELEASE ledger", NULL, NULL, NULL) != SQLITE_OK && !err)
		err = sql_error(g);
	return err;
}

struct ledger *ledger_open(void *db, long long run)
{
	struct ledger *g = calloc(1, sizeof(*g));

	fill_kinds();
	if (g)
		g->settle = ~0ULL;
	if (g)
		g->ops = malloc(2 * WINDOW * sizeof(*g->ops));
	if (g && !g->ops) {
		free(g);
		g = NULL;
	}
	if (g) {
		g->db = db;
		g->run = run;
	}
	return g;
}

void ledger_close(struct ledger *g)
{
	if (!g)
		return;
	forget(g);
	free(g->ops);
	free(g->aliases);
	free(g);
}

int ledger_write(struct ledger *g, void *db, long long run)
{
	return g ? write_all(g) : ledger_build(db, run);
}

int ledger_build(void *db, long long run)
{
	struct ledger *g = ledger_open(db, run);
	int err;

	if (!g)
		return fail_as(-ENOMEM, 0, "the ledger of run %lld: no memory", run);
	g->failed = true; /* it has seen nothing */
	err = ledger_write(g, db, run);
	ledger_close(g);
	return err;
}
