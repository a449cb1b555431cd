/* SPDX-License-Identifier: GPL-3.0-only */
/* copy.c - copies runs from store to store, row by row. */
#include <errno.h>
#include <stdio.h>
#include "copy.h"
#include "memory.h"
#include "schema.h"

/* Changes of columns. */
enum rule { KEEP, RUN, DEVICE, PROCESS, FILE_ID, SHIFT_NS, SHIFT_S, HOST, NAME, DEVICES };

/* Add a row for each new column that is an id or a time; table NULL: in all tables. */
static const struct { const char *table, *column; enum rule rule; } rules[] = {
	{ NULL,      "run",      RUN },
	{ NULL,      "dev",      DEVICE },
	{ "device",  "parent",   DEVICE },
	{ "level",   "below",    DEVICE },
	{ NULL,      "owner",    PROCESS },
	{ "process", "id",       PROCESS },
	{ "process", "fold",     PROCESS },
	{ "device",  "server",   PROCESS },
	{ "event",   "task",     PROCESS },
	{ "file",    "id",       FILE_ID },
	{ NULL,      "file",     FILE_ID },
	{ "event",   "ts_ns",    SHIFT_NS },
	{ "process_sample", "ts_ns", SHIFT_NS },
	{ "event_path", "ts_ns", SHIFT_NS },
	{ "fs_snapshot", "ts_ns", SHIFT_NS },
	{ "agg",     "sec",      SHIFT_S },
	{ "process", "host",     HOST },
	{ "device",  "host",     HOST },
	{ "machine", "host",     HOST },
	{ "fs_snapshot", "host", HOST },
	{ "fs_entry", "host",    HOST },
	{ "device",  "name",     NAME },
	{ "process", "instance", NAME },
	{ "truth",   "source",   NAME },
	{ "load",    "devices",  DEVICES },
};

/* Tables in which several hosts may have rows of one key: the first row is kept. */
static const char first_stands[] = " process device level load event_path ";

/* Tables in which two runs may have rows of one key, with the key. The other columns are added
 * up. */
static const struct { const char *table, *key; } summed[] = {
	{ "agg_total", NULL }, /* schema_agg_key() */
	{ "file_io",   "run, file, owner, component" },
	{ "ledger",    "run, file, owner" },
};

#define COLUMNS_MAX 64

struct table_copy {
	const struct copy *c;
	const char *table;
	int columns;
	enum rule rule[COLUMNS_MAX];
	int owner, pid, dev, cgroup; /* columns of these names, or -1 */
	int kthread, part, key;      /* with `names` */
	unsigned int type;           /* record of the table; REC_MAX: of none */
	char *column[COLUMNS_MAX];   /* names, with `names` */
	sqlite3_stmt *select, *insert;
};

static enum rule rule_of(const char *table, const char *column)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if ((!rules[i].table || !strcmp(rules[i].table, table)) && !strcmp(rules[i].column, column))
			return rules[i].rule;
	return KEEP;
}

static bool is_key(const char *table, const char *column)
{
	const struct table *t = table_of(REC_agg);
	int at = table_find(t, column);

	if (!strcmp(column, "run"))
		return true;
	if (!strcmp(table, "agg_total"))
		return t->cols[at].total == TOTAL_KEY;
	return !strcmp(column, "file") || !strcmp(column, "owner") || !strcmp(column, "component");
}

/* Prints how rows of one key are added up. A sum that is NULL in one of them is NULL in the
 * total. */
static void put_sums(FILE *f, const char *table, const char *key, const char **column, int n)
{
	const char *separator = "";
	int i;

	fprintf(f, " ON CONFLICT(");
	key ? (void)fputs(key, f) : schema_agg_key(f);
	fprintf(f, ") DO UPDATE SET ");
	for (i = 0; i < n; i++) {
		const char *name = column[i];

		if (is_key(table, name))
			continue;
		fprintf(f, "%s%s = ", separator, name);
		fprintf(f, strcmp(name, "max_ns") ? "%s + excluded.%s" : "max(%s, excluded.%s)", name, name);
		separator = ", ";
	}
}

static char *insert_text(const struct table_copy *t, const char **column)
{
	auto_free char *word = NULL;
	char *sql = NULL;
	size_t i, size;
	FILE *f = asprintf(&word, " %s ", t->table) < 0 ? NULL : memory_open(&sql, &size);

	if (!f)
		return NULL;
	fprintf(f, "INSERT OR %s INTO %s(",
		t->c->merge && strstr(first_stands, word) ? "IGNORE" : "ABORT", t->table);
	for (i = 0; i < (size_t)t->columns; i++)
		fprintf(f, "%s%s", i ? ", " : "", column[i]);
	fprintf(f, ") SELECT ");
	for (i = 0; i < (size_t)t->columns; i++)
		fprintf(f, "%s?%zu", i ? ", " : "", i + 1);
	for (i = 0; t->c->merge && i < sizeof(summed) / sizeof(*summed); i++) {
		if (strcmp(summed[i].table, t->table))
			continue;
		fprintf(f, " WHERE 1");
		put_sums(f, t->table, summed[i].key, column, t->columns);
	}
	return fclose(f) ? NULL : sql;
}

static char *select_text(const struct table_copy *t, const char **column)
{
	char *sql = NULL;
	size_t size;
	FILE *f = memory_open(&sql, &size);
	int i;

	if (!f)
		return NULL;
	fprintf(f, "SELECT ");
	for (i = 0; i < t->columns; i++)
		fprintf(f, "%s%s", i ? ", " : "", column[i]);
	fprintf(f, " FROM %s WHERE run = ?1", t->table);
	return fclose(f) ? NULL : sql;
}

/* Prepares the copy of one table: its columns are the stored ones of the store that is written. */
static int prepare_table(struct table_copy *t)
{
	static const char columns[] = "SELECT name FROM pragma_table_xinfo(?1) WHERE NOT hidden";
	auto_free char *insert = NULL, *select = NULL;
	const char *name[COLUMNS_MAX];
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(t->c->to, columns, -1, &st, NULL), i;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, t->table, -1, SQLITE_STATIC);
	t->owner = t->pid = t->dev = t->cgroup = t->kthread = t->part = t->key = -1;
	for (t->columns = 0; rc == SQLITE_OK && t->columns < COLUMNS_MAX &&
	     (rc = sqlite3_step(st)) == SQLITE_ROW; t->columns++) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		name[t->columns] = text ? strdup(text) : NULL;
		if (!name[t->columns]) {
			rc = SQLITE_NOMEM;
			break;
		}
		t->rule[t->columns] = rule_of(t->table, name[t->columns]);
		t->owner = !strcmp(name[t->columns], "owner") ? t->columns : t->owner;
		t->pid = !strcmp(name[t->columns], "pid") ? t->columns : t->pid;
		t->dev = !strcmp(name[t->columns], "dev") ? t->columns : t->dev;
		t->cgroup = !strcmp(name[t->columns], "cgroup") ? t->columns : t->cgroup;
		t->kthread = !strcmp(name[t->columns], "kthread") ? t->columns : t->kthread;
		t->part = !strcmp(name[t->columns], "part") ? t->columns : t->part;
		t->key = !strcmp(name[t->columns], "key") ? t->columns : t->key;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE) {
		insert = insert_text(t, name);
		select = select_text(t, name);
		rc = insert && select ? sqlite3_prepare_v2(t->c->to, insert, -1, &t->insert, NULL) : SQLITE_NOMEM;
		rc = rc ?: sqlite3_prepare_v2(t->c->from, select, -1, &t->select, NULL) ?:
		     sqlite3_bind_int64(t->select, 1, t->c->run);
	}
	for (i = 0; i < t->columns; i++)
		t->column[i] = (char *)name[i];
	return rc;
}

s64 copy_device(const struct copy_device *device, size_t n, s64 dev)
{
	for (; n--; device++)
		if (device->from == dev)
			return device->to;
	return dev;
}

static int bind_named(const struct copy *c, sqlite3_stmt *st, int at, sqlite3_value *value)
{
	if (!c->renames || sqlite3_value_type(value) != SQLITE_TEXT)
		return sqlite3_bind_value(st, at, value);
	return sqlite3_bind_text(st, at, sqlite3_mprintf("%s:%s", c->host, sqlite3_value_text(value)),
				 -1, sqlite3_free);
}

static const char *text_at(const struct table_copy *t, int column)
{
	return column < 0 ? NULL : (const char *)sqlite3_column_text(t->select, column);
}

/* Binds a text whose names are replaced. Bytes that are no text are left out. */
static int bind_anonymous(const struct table_copy *t, int i)
{
	struct anonymous_row row = { .part = text_at(t, t->part), .key = text_at(t, t->key) };
	char *text;

	row.kthread = t->kthread >= 0 && sqlite3_column_int(t->select, t->kthread);
	if (sqlite3_column_type(t->select, i) == SQLITE_BLOB)
		return sqlite3_bind_null(t->insert, i + 1);
	text = anonymous_text(t->c->names, t->type, t->column[i], text_at(t, i) ?: "", &row);
	return text ? sqlite3_bind_text(t->insert, i + 1, text, -1, free) : SQLITE_NOMEM;
}

static int bind_id(sqlite3_stmt *st, int at, bool absent, s64 id)
{
	return absent ? sqlite3_bind_null(st, at) : sqlite3_bind_int64(st, at, id);
}

static int bind_one(const struct table_copy *t, int i)
{
	const struct copy *c = t->c;
	sqlite3_value *value = sqlite3_column_value(t->select, i);
	bool absent = sqlite3_value_type(value) == SQLITE_NULL;
	s64 number = sqlite3_value_int64(value);

	if (c->names && (sqlite3_value_type(value) == SQLITE_TEXT ||
			 sqlite3_value_type(value) == SQLITE_BLOB))
		return bind_anonymous(t, i);
	switch (t->rule[i]) {
	case RUN:
		return sqlite3_bind_int64(t->insert, i + 1, c->as);
	case HOST:
		if (absent && c->host)
			return sqlite3_bind_text(t->insert, i + 1, c->host, -1, SQLITE_STATIC);
		break;
	case NAME:
		return bind_named(c, t->insert, i + 1, value);
	case DEVICE:
		return bind_id(t->insert, i + 1, absent, copy_device(c->device, c->devices, number));
	case PROCESS:
		return bind_id(t->insert, i + 1, absent, number + (number > 2 ? c->processes : 0));
	case FILE_ID:
		return bind_id(t->insert, i + 1, absent, number + (number ? c->files : 0));
	case SHIFT_NS:
		return bind_id(t->insert, i + 1, absent, number + c->shift_ns);
	case SHIFT_S:
		return sqlite3_bind_int64(t->insert, i + 1, number + (c->shift_ns + 500000000) / 1000000000);
	case DEVICES:
		if (c->renames)
			return sqlite3_bind_null(t->insert, i + 1);
		break;
	case KEEP:
		break;
	}
	return sqlite3_bind_value(t->insert, i + 1, value);
}

/* Is the row left out of a merged run? Counters of processes and control groups are, since they
 * have no host; and the rows of process 2 ("filtered") where two tracers watched one machine. */
static bool is_left_out(const struct table_copy *t)
{
	const struct copy *c = t->c;

	if (c->merge && !strcmp(t->table, "truth"))
		return t->pid < 0 || t->dev < 0 || sqlite3_column_type(t->select, t->pid) != SQLITE_NULL ||
		       (t->cgroup >= 0 && sqlite3_column_type(t->select, t->cgroup) != SQLITE_NULL) ||
		       (c->only && sqlite3_column_int64(t->select, t->dev) != c->only_dev);
	return c->shares && t->owner >= 0 && sqlite3_column_int64(t->select, t->owner) == 2;
}

static void tell(u64 rows)
{
	if (rows % (1 << 18) == 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "\r%llu rows", (unsigned long long)rows);
}

static int copy_table(const struct copy *c, const char *table, u64 *rows)
{
	struct table_copy t = { .c = c, .table = table };
	int rc, i;

	while (t.type < REC_MAX && strcmp(schema_table(t.type), table))
		t.type++;
	rc = prepare_table(&t);

	while (rc == SQLITE_OK && (rc = sqlite3_step(t.select)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (is_left_out(&t))
			continue;
		for (i = 0; rc == SQLITE_OK && i < t.columns; i++)
			rc = bind_one(&t, i);
		if (rc == SQLITE_OK && (rc = sqlite3_step(t.insert)) == SQLITE_DONE)
			rc = sqlite3_reset(t.insert);
		tell(++*rows);
	}
	sqlite3_finalize(t.select);
	sqlite3_finalize(t.insert);
	for (i = 0; i < t.columns; i++)
		free(t.column[i]);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Is a table with rows of the run copied? A merged run has its own rows in some. */
static bool is_wanted(const struct copy *c, const char *table)
{
	if (!strcmp(table, "agg_second")) /* computed again from agg */
		return false;
	if (c->no_events && (!strcmp(table, "event") || !strcmp(table, "event_path")))
		return false;
	return !c->merge || (strcmp(table, "run") && strcmp(table, "run_end") && strcmp(table, "node"));
}

int copy_words(sqlite3 *from, sqlite3 *to)
{
	static const char *const tables[] = {
		"layer(id, name, label, doc)", "kind(id, layer, name, dir, label, doc)", "cause(id, name, doc)",
		"how(id, name, doc)", "sub(id, name, doc)", "component(id, name, doc)", "carrier(id, name, doc)",
		"flag(id, name, doc)"
	};
	int rc = SQLITE_OK, col;
	size_t i;

	for (i = 0; rc == SQLITE_OK && i < sizeof(tables) / sizeof(*tables); i++) {
		const char *columns = strchr(tables[i], '(');
		auto_free char *select = NULL, *insert = NULL;
		sqlite3_stmt *a = NULL, *b = NULL;

		if (asprintf(&select, "SELECT %.*s FROM %.*s", (int)strlen(columns) - 2, columns + 1,
			     (int)(columns - tables[i]), tables[i]) < 0 ||
		    asprintf(&insert, "INSERT OR IGNORE INTO %s SELECT ?1, ?2, ?3%s", tables[i],
			     !strncmp(columns, "(id, name, label", 16) ? ", ?4" :
			     !strncmp(columns, "(id, layer", 10) ? ", ?4, ?5, ?6" : "") < 0)
			return SQLITE_NOMEM;
		rc = sqlite3_prepare_v2(from, select, -1, &a, NULL) ?:
		     sqlite3_prepare_v2(to, insert, -1, &b, NULL);
		while (rc == SQLITE_OK && (rc = sqlite3_step(a)) == SQLITE_ROW) {
			for (col = 0; col < sqlite3_column_count(a); col++)
				sqlite3_bind_value(b, col + 1, sqlite3_column_value(a, col));
			sqlite3_step(b);
			rc = sqlite3_reset(b);
		}
		sqlite3_finalize(a);
		sqlite3_finalize(b);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	return rc;
}

/* Reads the names of tables first: a statement that is finalized later would replace the error of a
 * table. */
int copy_run(const struct copy *c, const char **table, u64 *rows)
{
	static const char list[] = "SELECT group_concat(name, ' ')"
		" FROM (SELECT m.name FROM main.sqlite_schema m JOIN pragma_table_info(m.name) c"
		" ON c.name = 'run' WHERE m.type = 'table' ORDER BY m.name <> 'run', m.name)";
	static char names[1024];
	sqlite3_stmt *st = NULL;
	char *rest = names, *name;
	int rc = sqlite3_prepare_v2(c->to, list, -1, &st, NULL);

	*table = "its schema";
	*names = '\0';
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		snprintf(names, sizeof(names), "%s", sqlite3_column_text(st, 0));
	rc = rc ?: sqlite3_finalize(st);
	while (rc == SQLITE_OK && (name = strsep(&rest, " "))) {
		*table = name;
		if (is_wanted(c, name))
			rc = copy_table(c, name, rows);
	}
	return rc;
}

int copy_fail(struct opener *from, struct opener *to, int rc, const char *table)
{
	int full = sqlite3_extended_errcode(to->db);

	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return fail_as(-EUCLEAN, 0,
			       "%s is not as a version of iot made it: a row of table '%s' cannot be: %s",
			       from->path, table, sqlite3_errmsg(to->db));
	return (full & 0xff) == (rc & 0xff) ? opener_fail(to, full, "cannot be written") :
					      opener_fail(from, rc, "cannot be read");
}
