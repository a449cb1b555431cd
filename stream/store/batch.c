/* SPDX-License-Identifier: GPL-3.0-only */
/* batch.c - events as rows of a database in memory, whose pages are written here.
 *
 * SQLite takes longer to make a record of 20 values than all other work on an event takes. So
 * records are made here, in the format of https://sqlite.org/fileformat.html, on the pages of a
 * database in memory that has the same table event, attached as `batch`. `INSERT INTO event SELECT
 * * FROM batch.event` then copies them: SQLite copies records unchanged between tables of the same
 * columns. SQLite still decides how pages of the store are filled, logged and synced.
 */
#include <endian.h>
#include "batch.h"
#include "memory.h"
#include "schema.h"

#define PAGE_BYTES 65536u        /* SQLite's largest */
#define PAGES_MAX 96u            /* 6 MiB: 130,000 events; unused pages take no memory */
#define SIZE_AT 28u              /* offset of the number of pages in the database's header */

/* Pages by their position in the image: 0 is the header with the schema. SQLite counts from 1. */
enum { ROOT = 1, FIRST_LEAF = 2 };

enum {
	LEAF = 0x0d, INTERIOR = 0x05,          /* kinds of pages of a table */
	LEAF_HEAD = 8, INTERIOR_HEAD = 12,     /* bytes before the pointers to cells */
	CELLS_AT = 3, CONTENT_AT = 5, LAST_AT = 8,
};

enum {
	COLUMN_run,
#define COLUMN(name) COLUMN_##name,
#include "columns.def"
	COLUMNS
};

/* Is a value of 0 stored as 0, or as NULL? */
enum {
	IS_REQ = 1, IS_OPT = 0, IS_ZERO = 0,
#define FIELD(type, name, presence, unit, doc) \
	HAS_##name = IS_##presence, HAD_##name = COLUMN_##name,
#include "fields.def"
};

/* The length of a record's head is one byte. */
_Static_assert(COLUMNS < 127, "too many columns");
#define FIELD(type, name, presence, unit, doc) + 1
_Static_assert(COLUMNS == 1
#include "fields.def"
	, "columns.def has not the fields of fields.def");

/* A page is filled upwards, behind the pointers to this many cells: a record is made in its final
 * place, and bytes written beyond its end are overwritten by the next. */
#define LEAF_ROWS 2048u
#define LEAF_BEGIN (LEAF_HEAD + 2 * LEAF_ROWS)

#define PREFIX_MAX (2 + 3)       /* bytes before a record: its length and its rowid */
#define CELL_MAX (PREFIX_MAX + 1 + 9 * COLUMNS + sizeof(u64))

struct batch {
	sqlite3 *db;
	u8 *image;
	unsigned int page;      /* being filled */
	unsigned int cells, next; /* in that page: number of cells, and offset of the next one */
	u32 rows;               /* in all pages */
	u32 last_row[PAGES_MAX]; /* of each leaf that is full */
};

static void put_be16(u8 *p, unsigned int v)
{
	u16 be = htobe16(v);

	memcpy(p, &be, sizeof(be));
}

static void put_be32(u8 *p, u32 v)
{
	u32 be = htobe32(v);

	memcpy(p, &be, sizeof(be));
}

/* Writes a number of up to 21 bits. */
static inline u8 *put_varint(u8 *p, u32 v)
{
	if (v >= 1 << 14)
		*p++ = 0x80 | v >> 14;
	if (v >= 1 << 7)
		*p++ = 0x80 | (v >> 7 & 0x7f);
	*p++ = v & 0x7f;
	return p;
}

/* ---- one record ---- */

/* Types of values: 0 NULL, 1 to 6 an integer of bytes_of[] bytes, 8 and 9 the numbers 0 and 1. */
static const u8 bytes_of[] = { 0, 1, 2, 3, 4, 6, 8, 0, 0, 0 };
static const u8 type_of[] = { /* by significant bits; the type has one more bit for the sign */
	8, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4,
	5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
};

static inline u8 type_of_value(u64 v, bool has)
{
	return v > 1 ? type_of[64 - __builtin_clzll(v)] : v ? 9 : has ? 8 : 0;
}

/* Writes a value and returns its end. */
static inline u8 *put_value(u8 *p, u8 type, u64 v)
{
	unsigned int n = bytes_of[type];
	u64 be = htobe64(v << (-8 * n & 63));

	memcpy(p, &be, sizeof(be)); /* the next value overwrites the surplus */
	return p + n;
}

/* Makes the cell of one row within CELL_MAX bytes from `at`, and puts its end into *end. Returns
 * its begin, which depends on its length. */
static inline u8 *make_cell(u8 *at, u8 **end, u32 rowid, s64 run, const struct iot_event *e)
{
	u8 *head = at + PREFIX_MAX, *types = head + 1, *p, *begin;
	unsigned int columns = 1; /* number of columns up to the last that is not NULL */
	size_t size;

	types[COLUMN_run] = type_of_value(run, true);
#define PUT_TYPE(name, v, has) do {								\
	u8 type = types[COLUMN_##name] = type_of_value(v, has);					\
												\
	columns = type ? COLUMN_##name + 1 : columns;						\
} while (0);
#define COLUMN(name) PUT_TYPE(name, e->name, HAS_##name)
#define LIKE(name, other) PUT_TYPE(name, e->name == e->other ? 0 : e->name, e->name != e->other)
#include "columns.def"
	head[0] = 1 + columns;
	p = put_value(head + 1 + columns, types[COLUMN_run], run);
	/* NULLs after the last value are not stored: the body lies over their types */
#define COLUMN(name) if (COLUMN_##name < columns) p = put_value(p, types[COLUMN_##name], e->name);
#include "columns.def"
	*end = p;
	size = p - head;
	begin = head - (size >> 7 ? 2 : 1) - (rowid >> 14 ? 3 : rowid >> 7 ? 2 : 1);
	put_varint(put_varint(begin, size), rowid);
	return begin;
}

/* ---- pages ---- */

static u8 *page_at(const struct batch *b, unsigned int page)
{
	return b->image + (size_t)page * PAGE_BYTES;
}

static void begin_leaf(struct batch *b, unsigned int page)
{
	b->page = page;
	b->cells = 0;
	b->next = LEAF_BEGIN;
}

static void put_head(u8 *page, u8 kind, unsigned int cells, unsigned int top)
{
	memset(page, 0, kind == LEAF ? LEAF_HEAD : INTERIOR_HEAD);
	page[0] = kind;
	put_be16(page + CELLS_AT, cells);
	put_be16(page + CONTENT_AT, top); /* 0 is 65536 */
}

static void end_leaf(struct batch *b)
{
	put_head(page_at(b, b->page), LEAF, b->cells, LEAF_BEGIN);
	b->last_row[b->page] = b->rows;
}

/* Adds a row. Returns false when there is no room. */
static bool add_row(struct batch *b, s64 run, const struct iot_event *e)
{
	u8 *page, *begin, *end;

	if (b->next > PAGE_BYTES - CELL_MAX || b->cells == LEAF_ROWS) {
		if (b->page + 1 == PAGES_MAX)
			return false;
		end_leaf(b);
		begin_leaf(b, b->page + 1);
	}
	page = page_at(b, b->page);
	begin = make_cell(page + b->next, &end, b->rows + 1, run, e);
	b->next = end - page;
	put_be16(page + LEAF_HEAD + 2 * b->cells++, begin - page);
	b->rows++;
	return true;
}

size_t batch_add(struct batch *b, s64 run, const struct iot_event *e, size_t n)
{
	size_t i;

	for (i = 0; i < n && add_row(b, run, &e[i]); i++)
		;
	return i;
}

/* Writes a cell for each leaf but the last: its page number and its last row. */
static void make_root(struct batch *b)
{
	u8 *root = page_at(b, ROOT), cell[4 + 3];
	unsigned int top = PAGE_BYTES, i, n = b->page - FIRST_LEAF;

	for (i = 0; i < n; i++) {
		size_t size = put_varint(cell + 4, b->last_row[FIRST_LEAF + i]) - cell;

		put_be32(cell, FIRST_LEAF + i + 1);
		top -= size;
		memcpy(root + top, cell, size);
		put_be16(root + INTERIOR_HEAD + 2 * i, top);
	}
	put_head(root, INTERIOR, n, top);
	put_be32(root + LAST_AT, b->page + 1);
}

/* Finishes the tree. Returns the number of pages of the database. */
static unsigned int make_tree(struct batch *b)
{
	unsigned int pages = b->page + 1;

	end_leaf(b);
	if (b->page == FIRST_LEAF) { /* no tree: the leaf is the root */
		memcpy(page_at(b, ROOT), page_at(b, FIRST_LEAF), PAGE_BYTES);
		pages = FIRST_LEAF;
	} else {
		make_root(b);
	}
	put_be32(b->image + SIZE_AT, pages);
	return pages;
}

/* ---- the database ---- */

int batch_store(struct batch *b)
{
	size_t size;
	int rc;

	if (!b->rows)
		return SQLITE_OK;
	size = (size_t)make_tree(b) * PAGE_BYTES;
	b->rows = 0;
	begin_leaf(b, FIRST_LEAF);
	rc = sqlite3_deserialize(b->db, "batch", b->image, size, size, SQLITE_DESERIALIZE_READONLY);
	/* the code is SQLITE_ERROR, "out of memory"; SQLite 3.40 then uses a schema that `batch` lacks */
	if (rc != SQLITE_OK)
		return SQLITE_NOMEM;
	return sqlite3_exec(b->db, "INSERT INTO main.event SELECT * FROM batch.event", NULL, NULL, NULL);
}

/* Is the store's table STRICT? Records are copied unchanged only between tables that both are, or
 * both are not. */
static int is_strict(sqlite3 *db, bool *strict)
{
	static const char sql[] =
		"SELECT strict FROM pragma_table_list"
		" WHERE schema = 'main' AND name = 'event'";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
		*strict = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

static int make_table(sqlite3 *db)
{
	auto_free char *sql = NULL;
	bool strict = true;
	size_t size;
	int rc = is_strict(db, &strict);
	FILE *f = rc == SQLITE_OK ? memory_open(&sql, &size) : NULL;

	if (!f)
		return rc ?: SQLITE_NOMEM;
	fprintf(f, "ATTACH ':memory:' AS batch; PRAGMA batch.page_size = %u;"
		" PRAGMA batch.auto_vacuum = NONE;\n", PAGE_BYTES);
	schema_event(f, "batch.", strict);
	return fclose(f) ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Makes the first pages with SQLite. */
static int make_image(struct batch *b)
{
	sqlite3_int64 size = 0;
	u8 *made;
	int rc = make_table(b->db);

	if (rc != SQLITE_OK)
		return rc;
	made = sqlite3_serialize(b->db, "batch", &size, 0);
	if (made && size == FIRST_LEAF * PAGE_BYTES)
		memcpy(b->image, made, size);
	else
		rc = made ? SQLITE_INTERNAL : SQLITE_NOMEM;
	sqlite3_free(made);
	return rc;
}

int batch_open(struct batch **out, sqlite3 *db)
{
	struct batch *b = *out = calloc(1, sizeof(*b));
	int allowed, rc;

	if (b)
		b->image = malloc(PAGES_MAX * PAGE_BYTES);
	if (!b || !b->image)
		return SQLITE_NOMEM;
	b->db = db;
	begin_leaf(b, FIRST_LEAF);
	allowed = sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);
	rc = make_image(b);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, allowed);
	return rc;
}

void batch_close(struct batch *b)
{
	if (b)
		free(b->image);
	free(b);
}
