/* SPDX-License-Identifier: GPL-3.0-only */
/* schema.c - the tables of a store, made from records.def, fields.def and kinds.def with their
 * documentation.
 *
 * SQLite keeps the text of CREATE TABLE with its comments, so that `.schema` explains a store
 * without this source.
 */
#include <stdio.h>
#include "memory.h"
#include "schema.h"

/* Keys and notes of tables that have some. key "": one row for each run. */
static const struct { unsigned int type; const char *key, *note; } particular[] = {
	{ REC_run,     NULL,
	  "Integers are 64 bits: a value of 2^63 or more is stored as its signed bit pattern. NULL: not measured." },
	{ REC_process, "id", "The last record of a key is kept." },
	{ REC_file,    "id", "The last record of a key is kept." },
	{ REC_device,  "dev", "The last record of a key is kept." },
	{ REC_level,   "dev, below", "The last record of a key is kept." },
	{ REC_event_path, "ts_ns, tid", "The last record of a key is kept." },
	{ REC_file_io, "file, owner, component",
	  "Summed over the seconds of the run. A run without rows here was not measured; one in which no byte moved\n"
	  "  -- has one row of zeros. The component of a row is that of the threads, or else the file's in its last\n"
	  "  -- record, which may come late or after a rename. Journals and metadata of file systems are in agg_total,\n"
	  "  -- by cause." },
	{ REC_load,    "",   "The last record of a run is kept. `iot-analyze attach` adds it." },
	{ REC_end,     "",   "A run without a row here is incomplete: it was interrupted, or its stream was truncated." },
	{ REC_EVENT,   NULL,
	  "No index: events are read sequentially, in the order of arrival, which may differ between processors.\n"
	  "  -- `0 is absent` below: such a value is NULL here." },
};

static const char *key_of(unsigned int type, const char **note)
{
	size_t i;

	*note = NULL;
	for (i = 0; i < sizeof(particular) / sizeof(*particular); i++)
		if (particular[i].type == type) {
			*note = particular[i].note;
			return particular[i].key;
		}
	return NULL;
}

static const char *refers_to(const struct column *c)
{
	static const char *const text[] = {
		[TYPE_DEV] = "; major << 20 | minor", [TYPE_KIND] = "; kind.id", [TYPE_CAUSE] = "; cause.id",
		[TYPE_HOW] = "; how.id", [TYPE_SUB] = "; sub.id",
		[TYPE_COMPONENT] = "; component.id", [TYPE_CARRIER] = "; carrier.id",
	};

	return c->type < TYPE_DEV || strstr(c->doc, "<<") ? "" : text[c->type];
}

static void put_column(FILE *f, const struct column *c, bool checked, bool comma)
{
	fprintf(f, "  %s %s%s%s  -- %s%s%s%s\n", c->name, c->type == TYPE_STR ? "TEXT" : "INTEGER",
		c->optional || !checked ? "" : " NOT NULL", comma ? "," : "", c->unit,
		*c->unit ? ": " : "", c->doc, refers_to(c));
}

/* Columns of table event in their order. other: the column that has the same value in most
 * events. */
static const struct { const char *name, *other; } event_columns[] = {
#define COLUMN(name) { #name, NULL },
#define LIKE(name, other) { #name, #other },
#include "columns.def"
};

/* Prints the two columns of such a value. Not with %1$s: printf() allocates memory for these, and
 * the stream does not report that it had none. */
static void put_computed(FILE *f, const struct column *c, const char *other)
{
	const char *name = c->name;

	fprintf(f, "  %s_if_not_%s INTEGER,  -- %s, where it differs from %s; 0 is none, NULL: they are equal\n",
		name, other, name, other);
	fprintf(f, "  %s INTEGER AS (CASE WHEN %s_if_not_%s IS NULL THEN %s", name, name, other, other);
	fprintf(f, " WHEN %s_if_not_%s THEN %s_if_not_%s END),  -- %s%s%s\n", name, other, name, other,
		c->unit, *c->unit ? ": " : "", c->doc);
}

static void put_event_columns(FILE *f)
{
	const struct table *t = table_of(REC_EVENT);
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct column *c = &t->cols[table_find(t, event_columns[i].name)];

		if (event_columns[i].other)
			put_computed(f, c, event_columns[i].other);
		else
			put_column(f, c, false, i + 1 < t->n);
	}
}

static void put_table(FILE *f, const char *database, unsigned int type, bool strict)
{
	const struct table *t = table_of(type);
	const char *note, *key = key_of(type, &note);
	bool keyed = key && *key, checked = type != REC_EVENT; /* events are copied unchecked (batch.c) */
	size_t i;

	fprintf(f, "CREATE TABLE %s%s(\n  -- %s\n", database, schema_table(type), t->doc);
	if (note)
		fprintf(f, "  -- %s\n", note);
	fprintf(f, "  run INTEGER%s,  -- number of the run in this store\n",
		type == REC_run || (key && !*key) ? " PRIMARY KEY" : checked ? " NOT NULL" : "");
	if (type == REC_EVENT)
		put_event_columns(f);
	else
		for (i = 0; i < t->n; i++)
			put_column(f, &t->cols[i], checked, keyed || type == REC_run || i + 1 < t->n);
	if (keyed)
		fprintf(f, "  PRIMARY KEY(run, %s)\n", key);
	if (type == REC_run)
		fprintf(f, "  UNIQUE(uuid)\n");
	fprintf(f, ")%s%s;\n", strict ? " STRICT" : "", keyed ? ", WITHOUT ROWID" : "");
}

void schema_event(FILE *f, const char *database, bool strict)
{
	put_table(f, database, REC_EVENT, strict);
}

void schema_agg_key(FILE *f)
{
	const struct table *t = table_of(REC_agg);
	size_t i;

	fputs("run", f);
	for (i = 0; i < t->n; i++) /* ifnull(): NULLs are all different to a unique index */
		if (t->cols[i].total == TOTAL_KEY)
			fprintf(f, t->cols[i].optional ? ", ifnull(%s, -1)" : ", %s", t->cols[i].name);
}

static void put_total(FILE *f)
{
	const struct table *t = table_of(REC_agg);
	size_t i;

	fprintf(f, "CREATE TABLE agg_total(\n  -- agg summed over the seconds of a run, updated with every commit.\n"
		"  run INTEGER NOT NULL,\n");
	for (i = 1; i < t->n; i++) /* all but sec, the first */
		put_column(f, &t->cols[i], true, i + 1 < t->n);
	fprintf(f, ") STRICT;\nCREATE UNIQUE INDEX agg_total_key ON agg_total(");
	schema_agg_key(f);
	fprintf(f, ");\n");
}

static const char fixed_tables[] =
	"CREATE TABLE agg_second(\n"
	"  -- agg, only as detailed as timelines need. Filled when a run ends: a run without rows here is incomplete, or\n"
	"  -- was recorded by an older version. Processes of one name and system are one row: the first one's. Kinds that\n"
	"  -- no timeline shows are kind 0: the row only says that there were some. The tracer itself and filtered\n"
	"  -- processes are left out. Several rows of one key are to be added up.\n"
	"  run INTEGER NOT NULL,         -- number of the run in this store\n"
	"  sec INTEGER NOT NULL,         -- s: second of the run, 0 the first\n"
	"  kind INTEGER NOT NULL,        -- operation; kind.id\n"
	"  owner INTEGER NOT NULL,       -- process.id; 0 unattributed\n"
	"  dev INTEGER,                  -- device; major << 20 | minor\n"
	"  cause INTEGER NOT NULL,       -- cause; cause.id\n"
	"  sub INTEGER NOT NULL,         -- detail; sub.id\n"
	"  flags INTEGER NOT NULL,       -- as in agg\n"
	"  ops INTEGER NOT NULL,         -- operations\n"
	"  bytes INTEGER NOT NULL        -- bytes returned or completed\n"
	") STRICT;\n"
	"CREATE TABLE ledger(\n"
	"  -- the dirty ledger of a run (METRICS section 3), from its events; a run without events has no rows. Where events\n"
	"  -- were lost (table lost: effect events or bytes) dirtied and direct are too small, and the other sums of no use.\n"
	"  -- In every row: dirty_start + dirtied + unexpected = written + cancelled + dirty_end.\n"
	"  -- D = dirtied + direct, W = written + submitted.\n"
	"  -- Residual: unexpected, and after a settle also dirty_end - dirty_late. Files of one (dev, ino, gen) are one\n"
	"  -- file: the first id.\n"
	"  run INTEGER NOT NULL,         -- number of the run in this store\n"
	"  file INTEGER NOT NULL,        -- file.id; 0: the event named no file\n"
	"  owner INTEGER NOT NULL,       -- process.id that dirtied the bytes; of unexpected, that was charged\n"
	"  touched INTEGER NOT NULL,     -- bytes: writes rounded out to blocks of the file system, direct I/O included\n"
	"  dirtied INTEGER NOT NULL,     -- bytes: blocks that went from clean to dirty\n"
	"  absorbed INTEGER NOT NULL,    -- bytes: blocks written again while dirty, or on a file system without dirty pages\n"
	"  written INTEGER NOT NULL,     -- bytes: file data submitted by writeback\n"
	"  direct INTEGER NOT NULL,      -- bytes: blocks that direct I/O touched\n"
	"  submitted INTEGER NOT NULL,   -- bytes: submitted by the file system for direct I/O: parts of blocks, or padded\n"
	"  cancelled INTEGER NOT NULL,   -- bytes: truncated, punched or unlinked while dirty\n"
	"  dirty_end INTEGER NOT NULL,   -- bytes: still dirty when the events ended\n"
	"  dirty_late INTEGER NOT NULL,  -- bytes: of dirty_end, dirtied since settling began\n"
	"  dirty_start INTEGER NOT NULL, -- bytes: submitted by writeback, dirty since before the run, writer unknown\n"
	"  unexpected INTEGER NOT NULL,  -- bytes: submitted by writeback without having been dirtied in the run\n"
	"  covered INTEGER,              -- bytes: of written + submitted, sectors of the file that no owner had submitted\n"
	"                                -- in the run before; NULL: not known, there were too many sectors\n"
	"  PRIMARY KEY(run, file, owner)\n"
	") STRICT, WITHOUT ROWID;\n"
	"CREATE TABLE layer(\n"
	"  -- layers of the I/O stack\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, label TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE kind(\n"
	"  -- kinds of operation. layer: layer.id. dir: r read, w write, s synchronisation, m namespace or metadata,\n"
	"  -- o other.\n"
	"  id INTEGER PRIMARY KEY, layer INTEGER NOT NULL, name TEXT NOT NULL, dir TEXT NOT NULL, label TEXT NOT NULL,"
	" doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE cause(\n"
	"  -- why a byte moved between file system and device\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE how(\n"
	"  -- how the owner of a byte is known\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE sub(\n"
	"  -- details of an operation\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE component(\n"
	"  -- roles of files, and of what threads do to files, in their storage system\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE carrier(\n"
	"  -- the task that ran an operation of a file system or a device, which often is not the owner of its bytes\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE flag(\n"
	"  -- properties of an operation; id: value of the bit in flags\n"
	"  id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE arg_name(\n"
	"  -- names of the numbers in event.arg and event.op: a number has a name when its bits of\n"
	"  -- mask equal value\n"
	"  kind INTEGER NOT NULL,        -- operation; kind.id\n"
	"  field TEXT NOT NULL,          -- arg or op\n"
	"  op INTEGER NOT NULL,          -- only of requests with this opcode; -1: of all of the kind\n"
	"  value INTEGER NOT NULL, mask INTEGER NOT NULL, name TEXT NOT NULL,\n"
	"  PRIMARY KEY(kind, field, op, value, mask)\n"
	") STRICT, WITHOUT ROWID;\n"
	"CREATE TABLE vfs_of(\n"
	"  -- operations of the VFS that calls and requests imply, where it is not measured\n"
	"  vfs INTEGER NOT NULL,         -- operation of the VFS; kind.id\n"
	"  kind INTEGER NOT NULL,        -- operation that implies it; kind.id\n"
	"  op INTEGER NOT NULL,          -- only with this number in `op`; -1: with any that no\n"
	"                                -- row of the kind has\n"
	"  flag INTEGER NOT NULL,        -- only with this bit in flags; 0: with any flags\n"
	"  file INTEGER NOT NULL,        -- 1: only on files and folders, not on pipes and the like;\n"
	"                                -- 2: only on folders; 3: only on what is none; 0: on all\n"
	"  PRIMARY KEY(vfs, kind, op, flag)\n"
	") STRICT, WITHOUT ROWID;\n";

/* Prints a field of an event for v_event: names for numbers, and 0 for fields whose absence means
 * 0. */
static void put_view_field(FILE *f, const struct column *c)
{
	if (c->type == TYPE_KIND)
		fprintf(f, ", l.name AS layer, k.name AS kind, k.dir AS dir");
	else if (c->type == TYPE_DEV)
		fprintf(f, ", (e.dev >> 20) || ':' || (e.dev & 1048575) AS dev");
	else if (c->type == TYPE_COMPONENT)
		fprintf(f, ", ifnull((SELECT d.name FROM component d WHERE d.id = e.component), p.component)"
			" AS component");
	else if (c->type > TYPE_DEV)
		fprintf(f, ", (SELECT d.name FROM %s d WHERE d.id = ifnull(e.%s, 0)) AS %s",
			c->name, c->name, c->name);
	else if (c->zero)
		fprintf(f, ", ifnull(e.%s, 0) AS %s", c->name, c->name);
	else
		fprintf(f, ", e.%s", c->name);
}

static void put_event_view(FILE *f, const char *temp)
{
	const struct table *t = table_of(REC_EVENT);
	size_t i;

	fprintf(f, "%sCREATE %sVIEW v_event AS\n"
		"-- events in words: names for numbers, comm of task and owner, path of the file, or that"
		" the call was given\n"
		"SELECT e.run",
		*temp ? "-- Events in words.\n" : "", temp);
	for (i = 0; i < t->n; i++)
		put_view_field(f, &t->cols[i]);
	fprintf(f, ",\n  r.comm AS task_comm, o.comm AS owner_comm, o.system AS system,\n"
		"  COALESCE(x.path, p.path) AS path, x.path2 AS path2, x.name AS attribute,\n"
		"  (SELECT group_concat(n.name, '|') FROM arg_name n WHERE n.kind = e.kind AND n.value ="
		" (ifnull(iif(n.field = 'op', e.op, e.arg), 0) & n.mask)\n"
		"   AND n.op IN (-1, ifnull(e.op, 0))\n"
		"   AND EXISTS(SELECT 1 FROM run w WHERE w.run = e.run AND"
		" ',' || w.whole || ',' LIKE '%%,' || iif(l.name = 'syscall', 'vfs', l.name) || ',%%'))"
		" AS args,\n"
		"  (SELECT n.name FROM op_name n WHERE n.run = e.run AND n.op = ifnull(e.op, 0) AND n.scope ="
		" CASE WHEN l.name = 'uring' THEN 'uring'\n"
		"     WHEN k.name = 'net_drop' OR k.name = 'retransmit' AND e.op > 0 THEN 'drop' END) AS"
		" op_name\n"
		"FROM event e JOIN kind k ON k.id = e.kind JOIN layer l ON l.id = k.layer\n"
		"LEFT JOIN process r ON r.run = e.run AND r.id = e.task\n"
		"LEFT JOIN process o ON o.run = e.run AND o.id = e.owner\n"
		"LEFT JOIN file p ON p.run = e.run AND p.id = e.file\n"
		"LEFT JOIN event_path x ON x.run = e.run AND x.ts_ns = e.ts_ns AND x.tid = e.tid;\n");
}

static void put_agg_view(FILE *f, const char *temp, const char *view, const char *table,
			 const char *sec, const char *doc)
{
	fprintf(f, "%sCREATE %sVIEW %s AS\n-- %s\n"
		"SELECT a.run%s, l.name AS layer, k.name AS kind, k.dir AS dir, a.owner, o.pid AS owner_pid, o.comm AS owner_comm,\n"
		"  o.system AS system, (a.dev >> 20) || ':' || (a.dev & 1048575) AS dev, d.name AS device, d.leaf AS leaf,\n"
		"  c.name AS cause, h.name AS how, s.name AS sub, r.name AS carrier, a.flags, a.ops, a.errors, a.bytes,\n"
		"  a.touched, a.timed, a.lat_ns, a.max_ns\n"
		"FROM %s a JOIN kind k ON k.id = a.kind JOIN layer l ON l.id = k.layer JOIN cause c ON c.id = a.cause\n"
		"JOIN how h ON h.id = a.how JOIN sub s ON s.id = a.sub\n"
		"LEFT JOIN carrier r ON r.id = a.carrier\n"
		"LEFT JOIN process o ON o.run = a.run AND o.id = a.owner\n"
		"LEFT JOIN device d ON d.run = a.run AND d.dev = a.dev;\n",
		*temp ? "-- Sums in words.\n" : "", temp, view, doc, sec, table);
}

static void put_views(FILE *f, const char *temp)
{
	put_event_view(f, temp);
	put_agg_view(f, temp, "v_agg", "agg", ", a.sec", "aggregates of each second in words");
	put_agg_view(f, temp, "v_total", "agg_total", "", "aggregates of a whole run in words");
	schema_storage(f, temp);
}

void store_views(FILE *f)
{
	put_views(f, "TEMP ");
}

int schema_create(sqlite3 *db)
{
	char *sql = NULL;
	size_t n;
	FILE *f = memory_open(&sql, &n);
	unsigned int type;
	int rc;

	if (!f)
		return SQLITE_NOMEM;
	fprintf(f, "PRAGMA application_id = %d;\nPRAGMA user_version = %u;\n", IOT_APPLICATION_ID,
		IOT_SCHEMA);
	for (type = 0; type <= REC_EVENT; type++)
		put_table(f, "", type, true);
	put_total(f);
	fputs(fixed_tables, f);
	put_views(f, "");
	if (fclose(f))
		return SQLITE_NOMEM;
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	free(sql);
	return rc;
}

/* Inserts of the dictionaries whose rows are not id, name and doc. */
static const char *const inserts[WORDS_MAX] = {
	[WORDS_LAYER] = "INSERT OR IGNORE INTO layer(id, name, doc, label) VALUES(?1, ?2, ?3, ?4)",
	[WORDS_KIND] =
		"INSERT OR IGNORE INTO kind(id, name, doc, label, dir, layer) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
};

static int insert_word(sqlite3_stmt *st, const struct word *w)
{
	if (!w->doc)
		return SQLITE_OK;
	sqlite3_bind_int64(st, 1, w->id);
	sqlite3_bind_text(st, 2, w->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, w->doc, -1, SQLITE_STATIC);
	if (w->label)
		sqlite3_bind_text(st, 4, w->label, -1, SQLITE_STATIC);
	if (w->dir) {
		sqlite3_bind_text(st, 5, &w->dir, 1, SQLITE_STATIC);
		sqlite3_bind_int(st, 6, w->layer);
	}
	sqlite3_step(st);
	return sqlite3_reset(st);
}

static int insert_words(sqlite3 *db, enum dictionary d)
{
	char plain[80];
	sqlite3_stmt *st = NULL;
	unsigned int i;
	int rc;

	snprintf(plain, sizeof(plain), "INSERT OR IGNORE INTO %s(id, name, doc) VALUES(?1, ?2, ?3)",
		 dictionary[d].table);
	rc = sqlite3_prepare_v2(db, inserts[d] ?: plain, -1, &st, NULL);
	for (i = 0; i < dictionary[d].n && rc == SQLITE_OK; i++)
		rc = insert_word(st, &dictionary[d].row[i]);
	sqlite3_finalize(st);
	return rc;
}

/* Compares the names of a dictionary with those of kinds.def, whose numbers are positions: a store
 * in which they mean something else must not be appended to. */
static int compare_words(sqlite3 *db, const struct words *d)
{
	sqlite3_stmt *st = NULL;
	char sql[64];
	int rc;

	snprintf(sql, sizeof(sql), "SELECT name FROM %s WHERE id = ?1", d->table);
	rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	for (const struct word *w = d->row; w < d->row + d->n && rc == SQLITE_OK; w++) {
		sqlite3_bind_int64(st, 1, w->id);
		if (w->doc && sqlite3_step(st) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(st, 0);

			if (!name || strcmp(name, w->name)) {
				sqlite3_finalize(st);
				return SQLITE_MISMATCH;
			}
		}
		rc = sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return rc;
}

/* Writes SQL as SQLite sees it: without comments, and with one blank for several. */
static void squeeze(const char *from, FILE *to)
{
	bool blank = false;
	char quote = 0;

	for (; *from; from++) {
		if (!quote && from[0] == '-' && from[1] == '-') {
			from += strcspn(from, "\n");
			if (!*from)
				return;
		}
		if (!quote && strchr(" \t\n\r", *from)) {
			blank = true;
			continue;
		}
		if (blank)
			fputc(' ', to);
		blank = false;
		fputc(*from, to);
		if (quote ? *from == quote : !!strchr("'\"`", *from))
			quote = quote ? 0 : *from;
	}
}

/* Drops STRICT from table event, which older stores do not have: new runs may be appended to
 * them. */
static void forgive_event(char *text)
{
	static const char event[] = "table 'event'\n", strict[] = ") STRICT";
	size_t n = strlen(text);

	if (!strncmp(text, event, strlen(event)) && n > strlen(strict) &&
	    !strcmp(text + n - strlen(strict), strict))
		text[n - strlen(strict) + 1] = '\0';
}

/* Returns the row of one object of a schema as one text; NULL: no memory. */
static char *object_text(sqlite3_stmt *st)
{
	const char *sql = (const char *)sqlite3_column_text(st, 2);
	char *text = NULL;
	size_t size;
	FILE *f = memory_open(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "%s '%s'\n", sqlite3_column_text(st, 0), sqlite3_column_text(st, 1));
	if (sql)
		squeeze(sql, f);
	if (fclose(f))
		return NULL;
	forgive_event(text);
	return text;
}

static int compare_objects(sqlite3_stmt *a, sqlite3_stmt *b, char *which, size_t size)
{
	for (;;) {
		int x = sqlite3_step(a), y = sqlite3_step(b);
		auto_free char *p = NULL, *q = NULL;
		const char *only;

		if ((x != SQLITE_ROW && x != SQLITE_DONE) || (y != SQLITE_ROW && y != SQLITE_DONE))
			return x != SQLITE_ROW && x != SQLITE_DONE ? x : y;
		if (x == SQLITE_DONE && y == SQLITE_DONE)
			return SQLITE_OK;
		if ((x == SQLITE_ROW && !(p = object_text(a))) || (y == SQLITE_ROW && !(q = object_text(b))))
			return SQLITE_NOMEM;
		if (p && q && !strcmp(p, q))
			continue;
		/* name the object that the other schema lacks: it comes first in the order of both */
		only = !q || (p && strcmp(p, q) < 0) ? p : q;
		snprintf(which, size, "its %.*s", (int)strcspn(only, "\n"), only);
		return SQLITE_MISMATCH;
	}
}

int schema_check_objects(sqlite3 *db, char *which, size_t size)
{
	static const char sql[] = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name";
	sqlite3_stmt *a = NULL, *b = NULL;
	sqlite3 *ours = NULL;
	int rc = sqlite3_open_v2(":memory:", &ours,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = schema_create(ours);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, sql, -1, &a, NULL) ?: sqlite3_prepare_v2(ours, sql, -1, &b, NULL);
	if (rc == SQLITE_OK)
		rc = compare_objects(a, b, which, size);
	sqlite3_finalize(a);
	sqlite3_finalize(b);
	sqlite3_close(ours);
	return rc;
}

int schema_check_words(sqlite3 *db, char *which, size_t size)
{
	int rc = SQLITE_OK;

	for (enum dictionary d = 0; rc == SQLITE_OK && d < WORDS_MAX; d++) {
		snprintf(which, size, "its table '%s'", dictionary[d].table);
		rc = compare_words(db, &dictionary[d]);
	}
	return rc;
}

int schema_dictionaries(sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (enum dictionary d = 0; rc == SQLITE_OK && d < WORDS_MAX; d++)
		rc = insert_words(db, d);
	return rc == SQLITE_OK ? schema_args(db) ?: schema_operations(db) : rc;
}
