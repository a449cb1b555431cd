/* SPDX-License-Identifier: GPL-3.0-only */
/* ledger.c - the dirty ledger of a run (METRICS section 3), simulated from its events.
 *
 * The kernel reports which folio was dirtied, not which bytes. The ledger therefore replays the
 * ranges of writes and of data bios, file by file, in the order in which the operations began.
 * In every row
 *
 *     dirty_start + dirtied + unexpected = written + cancelled + dirty_end
 *
 * holds by construction. The residual shows whether the simulation was right: `unexpected` (a bio
 * carried bytes that were not dirty) plus, after a settle, `dirty_end` (no bio carried them) minus
 * `dirty_late` (dirtied since settling began). Bytes count as dirty before the run when the bio
 * that carries them has no owner, and no folio on its device was dirtied without an owner.
 *
 * Files stay in memory while they have dirty bytes, or when their block size is unusual. The rows
 * move to a temporary table of SQLite whenever there are ROWS_MAX of them, and from there to the
 * table when the run has ended.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ledger.h"
#include "volume.h"

#define WINDOW (1u << 16)         /* operations that may overtake a long one before all is sorted */
#define INTERVALS_MAX (1u << 18)  /* bounds the tracer's memory: 16 MiB */
#define LATE (1U << 31)           /* bit of an interval's owner: dirtied since settling began */

/* ---- the simulation ---- */

static void add(struct ledger *g, u64 *sum, u64 bytes)
{
	if (__builtin_add_overflow(*sum, bytes, sum) || *sum > INT64_MAX)
		g->overflow = true;
}

/* Adds the bytes of a bio that were not submitted before in the run. */
static void add_covered(struct ledger *g, struct row *r, const struct op *o)
{
	u64 fresh;

	if (sectors_add(&g->sectors, o->file, o->from, o->to, &fresh))
		add(g, &r->covered, fresh);
	else
		r->uncovered = true;
}

struct taken {
	struct ledger *g;
	u32 file;
	u64 bytes;
	size_t column;          /* offset in struct row */
	const struct op *bio;   /* carries the bytes; NULL once a row has its covered bytes */
};

static void count_taken(void *arg, u32 owner, u64 bytes)
{
	struct taken *t = arg;
	struct row *r = ledger_row(t->g, t->file, owner & ~LATE);

	t->bytes += bytes;
	if (!r)
		return;
	add(t->g, (u64 *)((char *)r + t->column), bytes);
	if (t->bio)
		add_covered(t->g, r, t->bio);
	t->bio = NULL;
	if (owner & LATE && t->column == offsetof(struct row, dirty_end))
		add(t->g, &r->dirty_late, bytes);
}

static void count_bytes(void *arg, u32 owner, u64 bytes)
{
	*(u64 *)arg += bytes;
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
	struct file *f = ledger_file_find(g, file);

	if (file > g->file_applied)
		g->file_applied = file;
	return f ? f->block : BLOCK_BYTES;
}

/* Removes a range that may be dirty: it is known now to be dirty or clean. Returns its bytes. */
static u64 take_may(struct ledger *g, struct file *f, u64 from, u64 to)
{
	u64 bytes = 0;

	if (interval_take(&f->may, from, to, count_bytes, &bytes))
		g->err = -ENOMEM;
	return bytes;
}

static void apply_may(struct ledger *g, struct file *f, const struct op *o, u64 from, u64 to)
{
	u64 unused;

	take_may(g, f, from, to);
	if (interval_add(&f->may, from, to, o->owner, &unused))
		g->err = -ENOMEM;
}

static void apply_dirty(struct ledger *g, const struct op *o)
{
	u64 block = block_of(g, o->file), fresh = 0;
	u64 from = block_down(o->from, block), to = block_up(o->to, block);
	u32 owner = o->ts >= g->settle ? o->owner | LATE : o->owner;
	struct row *r = ledger_row(g, o->file, o->owner);
	struct file *f;

	if (!r)
		return;
	if (o->what != OP_MMAP)
		add(g, &r->touched, to - from);
	if (!o->file) /* files without an id cannot be told apart: their bios are unexpected */
		return;
	f = ledger_file_of(g, o->file);
	if (f && f->may)
		take_may(g, f, from, to);
	if (f && o->may > to)
		apply_may(g, f, o, to, block_up(o->may, block));
	if (f && interval_add(&f->dirty, from, to, owner, &fresh))
		g->err = -ENOMEM;
	add(g, &r->dirtied, fresh);
	if (o->what == OP_WRITE)
		add(g, &r->absorbed, to - from - fresh);
	if (o->end) {
		g->parted[g->parted_n++ % PARTED_MAX] = *o;
		g->parted[(g->parted_n - 1) % PARTED_MAX].from = from;
		g->parted[(g->parted_n - 1) % PARTED_MAX].to = to;
	}
}

static void apply_direct(struct ledger *g, const struct op *o)
{
	struct row *r = ledger_row(g, o->file, o->owner);
	u64 block = block_of(g, o->file);

	if (!r)
		return;
	add(g, &r->touched, block_up(o->to, block) - block_down(o->from, block));
	add(g, &r->direct, block_up(o->to, block) - block_down(o->from, block));
}

/* Direct I/O submits more than the calls wrote where the file system pads blocks with zeros, and
 * less than whole blocks elsewhere. */
static void apply_bio_direct(struct ledger *g, const struct op *o)
{
	struct row *r = ledger_row(g, o->file, o->owner);

	if (!r)
		return;
	add(g, &r->submitted, o->to - o->from);
	add_covered(g, r, o);
}

/* Zeros that the kernel submits where no call wrote: blkdev_issue_zeroout() and the like. */
static void apply_bio_zeroed(struct ledger *g, const struct op *o)
{
	apply_direct(g, o);
	apply_bio_direct(g, o);
}

static void take(struct ledger *g, const struct op *o, u64 from, u64 to, struct taken *t)
{
	struct file *f = ledger_file_find(g, o->file);

	if (!f)
		return;
	if (interval_take(&f->dirty, from, to, count_taken, t))
		g->err = -ENOMEM;
	ledger_file_drop(g, f);
}

/* Bytes of a bio that its own call had dirtied again. A copy into a synchronous file, and an
 * io_submit(2) of several requests, write back part by part: a block in which two parts meet is
 * dirtied again before the call returns. The submitter of such a bio is the caller itself. */
static u64 dirtied_again(const struct ledger *g, const struct op *o)
{
	u64 bytes = 0;

	for (u32 i = 0; i < PARTED_MAX && i < g->parted_n; i++) {
		const struct op *p = &g->parted[i];
		u64 from = p->from > o->from ? p->from : o->from;
		u64 to = p->to < o->to ? p->to : o->to;
		bool same = p->file == o->file && p->owner == o->owner && p->task == o->task;

		if (same && o->ts >= p->ts && o->ts <= p->end && from < to)
			bytes += to - from;
	}
	return bytes;
}

static void apply_bio(struct ledger *g, const struct op *o)
{
	struct taken t = { g, o->file, 0, offsetof(struct row, written), o };
	struct file *f = ledger_file_find(g, o->file);
	u64 rest, may = f && f->may ? take_may(g, f, o->from, o->to) : 0;
	struct row *r;

	take(g, o, o->from, o->to, &t);
	rest = o->to - o->from - t.bytes;
	r = rest ? ledger_row_on(g, o->file, o->owner, o->owner ? 0 : o->dev) : NULL;
	if (!r)
		return;
	if (t.bio)
		add_covered(g, r, o);
	may += dirtied_again(g, o);
	if (!o->owner) /* dirty before the run */
		may = 0;
	else if (may > rest)
		may = rest;
	add(g, &r->written, rest);
	add(g, &r->dirtied, may);
	add(g, o->owner ? &r->unexpected : &r->dirty_start, rest - may);
}

/* Only whole blocks are cancelled: the rest of a truncated block is zeroed and stays dirty. */
static void apply_cancel(struct ledger *g, const struct op *o)
{
	struct taken t = { g, o->file, 0, offsetof(struct row, cancelled), NULL };
	u64 block = block_of(g, o->file), from = block_up(o->from, block);
	u64 to = o->to == ~0ULL ? o->to : block_down(o->to, block);
	struct file *f = ledger_file_find(g, o->file);

	if (f && f->may)
		take_may(g, f, from, to);
	take(g, o, from, to, &t);
}

static void apply(struct ledger *g, const struct op *o)
{
	static void (*const how[])(struct ledger *, const struct op *) = {
		[OP_WRITE] = apply_dirty, [OP_DIRECT] = apply_direct, [OP_MMAP] = apply_dirty,
		[OP_BIO] = apply_bio, [OP_BIO_DIRECT] = apply_bio_direct,
		[OP_BIO_ZEROED] = apply_bio_zeroed,
		[OP_CUT] = apply_cancel, [OP_PUNCH] = apply_cancel, [OP_EVICT] = apply_cancel,
	};

	how[o->what](g, o);
}

void ledger_count_end(struct ledger *g)
{
	for (struct file *f = g->files; f; f = f->hh.next) {
		struct taken t = { g, f->id, 0, offsetof(struct row, dirty_end), NULL };

		take_may(g, f, 0, ~0ULL);
		interval_take(&f->dirty, 0, ~0ULL, count_taken, &t);
	}
}

/* ---- events in the order in which they began ---- */

static int compare_op(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	return x->ts != y->ts ? (x->ts > y->ts) - (x->ts < y->ts) :
	       (x->seq > y->seq) - (x->seq < y->seq);
}

/* Sorts the window and applies its first n operations. */
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

void ledger_flush(struct ledger *g)
{
	apply_first(g, g->n);
}

/* Events come in the order in which the operations ended, which is nearly that of their begin. */
void ledger_push(struct ledger *g, const struct op *o)
{
	if (o->ts < g->applied)
		g->failed = true;
	g->ops[g->n] = *o;
	g->ops[g->n++].seq = g->seq++;
	if (g->n == 2 * WINDOW)
		apply_first(g, WINDOW);
}

/* Effect of each kind on the ledger. Writes are those of S: the VFS sees the same bytes again. */
static u8 kind_what[256] = {
	[KIND_DIRTY_MMAP] = OP_MMAP, [KIND_FS_TRUNCATE] = OP_CUT, [KIND_FS_PUNCH] = OP_PUNCH,
	[KIND_FS_EVICT] = OP_EVICT, [KIND_FS_TAKEN] = OP_PUNCH,
};

/* Calls that may write in parts, each of which is written back before the next if the file is
 * synchronous. */
static bool in_parts(u32 kind)
{
	return kind == KIND_SENDFILE_OUT || kind == KIND_SPLICE_OUT || kind == KIND_COPY_OUT ||
	       kind == KIND_AIO_WRITE;
}

static void fill_kinds(void)
{
	int k;

	for (k = 0; k < KIND_MAX; k++)
		if (volume_kind(VOLUME_S, k))
			kind_what[k] = OP_WRITE;
		else if (volume_sums_kind(VOLUME_W, k))
			kind_what[k] = OP_BIO;
}

bool ledger_wants(u32 kind)
{
	return kind_what[kind];
}

bool ledger_op(const struct iot_event *e, struct op *o)
{
	u64 bytes = e->bytes;

	o->what = kind_what[e->kind];
	o->ts = e->ts_ns;
	o->from = e->offset;
	o->may = o->end = 0;
	o->file = e->file;
	o->owner = e->owner;
	o->task = e->task;
	o->dev = e->dev;
	switch (o->what) {
	case OP_NONE:
		return false;
	case OP_WRITE:
		if (!volume_has(VOLUME_S, e->cause, e->sub, e->flags) || e->flags & FLAG_SHARED)
			return false;
		o->ts += e->queue_ns;
		if (e->flags & FLAG_DIRECT)
			o->what = OP_DIRECT;
		else if (e->flags & (FLAG_SYNC | FLAG_DSYNC) && in_parts(e->kind))
			o->end = e->ts_ns + e->dur_ns;
		break;
	case OP_BIO:
		if (!volume_sums(VOLUME_W, e->kind, e->cause, e->sub, e->flags))
			return false;
		if (e->cause == CAUSE_DIRECT)
			o->what = e->sub == SUB_ZEROED ? OP_BIO_ZEROED : OP_BIO_DIRECT;
		break;
	case OP_MMAP:
		o->may = o->from + e->size < o->from ? ~0ULL : o->from + e->size;
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
	return bytes || o->may > o->to;
}

void ledger_events(struct ledger *g, const struct iot_event *e, size_t n)
{
	struct op o;

	for (; g && !g->failed && n; e++, n--)
		if (kind_what[e->kind] && ledger_op(e, &o))
			ledger_push(g, &o);
	if (g && !g->failed && (g->err || interval_count() > INTERVALS_MAX))
		g->failed = true;
}

/* Sizes that no file system has are ignored, 0 among them. */
void ledger_file(struct ledger *g, u32 id, u64 block)
{
	struct file *f;

	if (!g || g->failed || block < 512 || block > 65536 || block & (block - 1))
		return;
	if (block == BLOCK_BYTES && !ledger_file_find(g, id))
		return;
	f = ledger_file_of(g, id);
	if (!f || f->block == block)
		return;
	f->block = block;
	g->failed = id <= g->file_applied; /* may be too late: the replay reads all sizes first */
}

void ledger_forget(struct ledger *g)
{
	g->err = 0;
	ledger_count_end(g); /* frees the sets */
	if (g->spilled)
		sqlite3_exec(g->db, "DELETE FROM temp.ledger_part", NULL, NULL, NULL);
	HASH_FREE(g->rows);
	HASH_FREE(g->files);
	sectors_free(&g->sectors);
	g->n = g->seq = g->applied = g->file_applied = g->parted_n = 0;
	g->failed = g->overflow = g->spilled = false;
	g->err = 0;
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
	ledger_forget(g);
	free(g->ops);
	free(g->aliases);
	free(g);
}
