/* SPDX-License-Identifier: GPL-3.0-only */
/* merge.c - runs of several hosts as one run: ids of processes, files and devices do not collide,
 * and times have one origin.
 *
 * Reports then add up the bytes of all hosts, and find both ends of a connection. Table node says
 * which runs were merged, and how well the clocks are known.
 */
#include <errno.h>
#include <stdio.h>
#include "copy.h"
#include "fresh.h"
#include "memory.h"
#include "schema.h"
#include "second.h"
#include "skew.h"

#define SAME_BOOT_NS 1000000000 /* two readings of one clock differ by less, even if it is slewed */

struct part {
	struct opener o;
	s64 run;
	char *host, *label;     /* host: its name in the merged run */
	char *own_host, *kernel, *uuid;
	u64 wall_ns, boot_ns, dur_ns;
	struct part *twin;      /* an earlier part of the same machine */
	bool shares;            /* the machine with another part */
	char *load;             /* identifies its ledger; NULL: none */
	struct skew skew;
	const char *clock_from;
	s64 begin_ns;           /* since the start of the merged run */
	struct copy_device *device;
	size_t devices;
};

struct merge {
	struct part *part;
	size_t n, machines;
	struct fresh to;
	u64 rows;
};

static int read_fail(struct part *p)
{
	return opener_fail(&p->o, sqlite3_extended_errcode(p->o.db), "cannot be read");
}

static char *text(sqlite3_stmt *st, int col)
{
	const char *s = (const char *)sqlite3_column_text(st, col);

	return s ? strdup(s) : NULL;
}

static int open_part(struct part *p, const struct merge_part *from)
{
	static const char sql[] = "SELECT r.host, r.label, r.kernel, r.uuid, r.wall_ns, r.boot_ns,"
		" e.dur_ns,"
		" EXISTS (SELECT 1 FROM node n WHERE n.run = r.run),"
		" (SELECT json_array(system, profile, logical_write_bytes, logical_read_bytes,"
		" begin_wall_ns) FROM load l"
		" WHERE l.run = r.run)"
		" FROM run r LEFT JOIN run_end e ON e.run = r.run WHERE r.run = ?1";
	sqlite3_stmt *st = NULL;
	bool fresh, merged = false;
	int err = opener_open(&p->o, from->path, false, &fresh), rc;

	if (err)
		return err;
	p->run = from->run;
	rc = sqlite3_prepare_v2(p->o.db, sql, -1, &st, NULL) ?: sqlite3_bind_int64(st, 1, p->run) ?:
	     sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		p->own_host = text(st, 0);
		p->label = text(st, 1);
		p->kernel = text(st, 2);
		p->uuid = text(st, 3);
		p->wall_ns = sqlite3_column_int64(st, 4);
		p->boot_ns = sqlite3_column_int64(st, 5);
		p->dur_ns = sqlite3_column_int64(st, 6);
		merged = sqlite3_column_int(st, 7);
		p->load = text(st, 8);
	}
	sqlite3_finalize(st);
	if (rc != SQLITE_ROW || !p->own_host || !p->kernel || !p->uuid)
		return rc == SQLITE_DONE ?
		       fail_as(-EINVAL, 0, "%s has no run %lld", from->path, (long long)p->run) : read_fail(p);
	if (merged)
		return fail_as(-EINVAL, 0, "%s: run %lld is merged already: give the stores that it was made of",
			       from->path, (long long)p->run);
	p->host = from->host ? strdup(from->host) : strdup(p->own_host);
	return p->host ? 0 : fail_as(-ENOMEM, 0, "%s: no memory", from->path);
}

/* ---- hosts ---- */

static bool is_taken(const struct merge *m, size_t upto, const char *host)
{
	size_t i;

	for (i = 0; i < upto; i++)
		if (!strcmp(m->part[i].host, host))
			return true;
	return false;
}

/* Makes the names of hosts unique: several runs may be of one host, or hosts may have one name.
 * Labels tell them apart, or else numbers. */
static int name_hosts(struct merge *m)
{
	size_t i, k, number;

	for (i = 0; i < m->n; i++) {
		struct part *p = &m->part[i];

		for (k = 0; k < i; k++) {
			if (!strcmp(p->uuid, m->part[k].uuid))
				return fail_as(-EEXIST, 0, "%s and %s hold the same run", m->part[k].o.path, p->o.path);
			if (p->load && m->part[k].load && strcmp(p->load, m->part[k].load))
				return fail_as(-EEXIST, 0, "%s and %s hold different ledgers: what the clients of all had acknowledged is not known",
					       m->part[k].o.path, p->o.path);
		}
		for (number = 1; is_taken(m, i, p->host); number++) {
			char *name = NULL;

			if (number == 1 && p->label && *p->label)
				name = strdup(p->label);
			else if (asprintf(&name, "%s-%zu", p->own_host, number + 1) < 0)
				name = NULL;
			if (!name)
				return fail_as(-ENOMEM, 0, "%s: no memory", p->o.path);
			free(p->host);
			p->host = name;
		}
	}
	return 0;
}

/* Do two parts have the same host name, kernel and boot time? */
static bool same_machine(const struct part *a, const struct part *b)
{
	s64 apart = (a->wall_ns - a->boot_ns) - (b->wall_ns - b->boot_ns);

	return !strcmp(a->own_host, b->own_host) && !strcmp(a->kernel, b->kernel) &&
	       apart < SAME_BOOT_NS && apart > -SAME_BOOT_NS;
}

static int find_clock(struct merge *m, size_t i)
{
	struct part *p = &m->part[i];
	struct skew_side here = { p->o.db, p->run, p->wall_ns };
	size_t k;
	int rc = SQLITE_OK;

	for (k = 0; k < i; k++)
		if (same_machine(&m->part[k], p)) {
			p->skew = m->part[k].skew;
			p->twin = &m->part[k];
			p->shares = m->part[k].shares = true;
			m->machines--;
			p->clock_from = k ? m->part[k].clock_from : "one machine, one clock";
			return 0;
		}
	/* compare with any host whose clock is known, and add that host's own difference to the first */
	for (k = 0; rc == SQLITE_OK && k < i && !p->skew.two_ways; k++) {
		struct part *q = &m->part[k];
		struct skew_side there = { q->o.db, q->run, q->wall_ns };
		struct skew s;

		if (k && !q->skew.known)
			continue;
		rc = skew_find(&there, &here, &s);
		if (!s.known || (p->skew.known && !s.two_ways))
			continue;
		s.ahead_ns += q->skew.ahead_ns;
		s.error_ns += q->skew.error_ns;
		s.two_ways = s.two_ways && (!k || q->skew.two_ways);
		p->skew = s;
	}
	if (p->skew.two_ways)
		p->clock_from = "data between the hosts, both ways: no byte is received before it was sent";
	else
		p->clock_from = p->skew.known ?
			"data between the hosts, one way: a bound, as if it took no time" :
			"the hosts' own clocks: no connection between them was recorded whole, with events";
	return rc == SQLITE_OK ? 0 : read_fail(p);
}

static int find_clocks(struct merge *m)
{
	s64 first = INT64_MAX;
	size_t i;
	int err = 0;

	m->part[0].skew = (struct skew){ .known = true, .two_ways = true };
	m->part[0].clock_from = "the clock of the merged run";
	for (i = 1; !err && i < m->n; i++)
		err = find_clock(m, i);
	for (i = 0; i < m->n; i++) {
		m->part[i].begin_ns = m->part[i].wall_ns - m->part[i].skew.ahead_ns;
		if (m->part[i].begin_ns < first)
			first = m->part[i].begin_ns;
	}
	for (i = 0; i < m->n; i++)
		m->part[i].begin_ns -= first;
	return err;
}

/* ---- devices ---- */

static bool number_taken(const struct merge *m, size_t upto, u32 dev)
{
	size_t i, k;

	for (i = 0; i <= upto; i++)
		for (k = 0; k < m->part[i].devices; k++)
			if (m->part[i].device[k].to == dev)
				return true;
	return false;
}

/* Returns a number that no device of the kernel has: the kernel gives majors from below. */
static u32 free_number(const struct merge *m, size_t i)
{
	u32 dev = (4095U - i % 1024) << 20;

	while (number_taken(m, i, dev))
		dev++;
	return dev;
}

/* Collects the devices that any row names, also those without a record, and numbers them. Parts of
 * one machine have the same numbers. */
static int find_devices(struct merge *m, size_t i)
{
	static const char sql[] = "SELECT dev FROM device WHERE run = ?1"
		" UNION SELECT dev FROM agg_total WHERE run = ?1 AND dev IS NOT NULL"
		" UNION SELECT dev FROM file WHERE run = ?1"
		" UNION SELECT parent FROM device WHERE run = ?1 AND parent IS NOT NULL"
		" UNION SELECT dev FROM truth WHERE run = ?1 AND dev IS NOT NULL"
		" UNION SELECT dev FROM put WHERE run = ?1";
	struct part *p = &m->part[i];
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(p->o.db, sql, -1, &st, NULL) ?: sqlite3_bind_int64(st, 1, p->run);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct copy_device *more = reallocarray(p->device, p->devices + 1, sizeof(*more));
		u32 dev = sqlite3_column_int64(st, 0);
		bool taken = i && !p->twin && number_taken(m, i - 1, dev);

		rc = more ? SQLITE_OK : SQLITE_NOMEM;
		if (!more)
			break;
		p->device = more;
		p->device[p->devices].from = dev;
		p->device[p->devices].to = p->twin ? copy_device(p->twin->device, p->twin->devices, dev) :
					   taken ? free_number(m, i) : dev;
		p->devices++;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : opener_fail(&p->o, rc, "cannot be read");
}

static bool moved_on(const struct part *p, u32 dev)
{
	static const char sql[] = "SELECT 1 FROM agg_total"
		" WHERE run = ?1 AND owner <> 2 AND kind IN (?2, ?3) AND dev = ?4 AND bytes > 0";
	sqlite3_stmt *st = NULL;
	bool moved = false;

	if (sqlite3_prepare_v2(p->o.db, sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, p->run);
		sqlite3_bind_int(st, 2, KIND_BLK_READ);
		sqlite3_bind_int(st, 3, KIND_BLK_WRITE);
		sqlite3_bind_int64(st, 4, dev);
		moved = sqlite3_step(st) == SQLITE_ROW;
	}
	sqlite3_finalize(st);
	return moved;
}

/* Refuses parts whose bytes may be the same: two tracers of one machine that saw one device. */
static int check_overlap(struct merge *m, const struct part *p)
{
	const struct part *q;
	size_t k;

	for (q = m->part; q != p; q++)
		for (k = 0; same_machine(q, p) && k < p->devices; k++)
			if (moved_on(p, p->device[k].from) && moved_on(q, p->device[k].from))
				return fail_as(-EEXIST, 0, "%s and %s are of one machine, and both have bytes of device %u:%u, which would be counted twice: "
					       "record each with --dev", q->o.path, p->o.path,
					       p->device[k].from >> 20, p->device[k].from & 0xfffff);
	return 0;
}

/* ---- the run ---- */

/* Table temp.part of the new store holds the run and run_end of each part; note_part() sets the
 * columns that differ. */
#define PART_COLUMNS(begin, called) \
	"SELECT r.*, " begin " AS begin_ns, " called " AS called, e.dur_ns, e.status," \
	" e.horizon, e.dirty_bytes," \
	" e.events AS delivered, e.self_cpu_ns, e.probe_cpu_ns, e.rss_bytes, e.settle_ns" \
	" FROM run r LEFT JOIN run_end e ON e.run = r.run"
static const char make_parts[] =
	"CREATE TEMP TABLE part AS "
	PART_COLUMNS("CAST(NULL AS INTEGER)", "CAST(NULL AS TEXT)") " WHERE 0";
static const char ask_part[] = PART_COLUMNS("NULL", "NULL") " WHERE r.run = ?1";

static char *part_insert(int columns)
{
	char *sql = NULL;
	FILE *f = memory_open(&sql, NULL);
	int col;

	if (!f)
		return NULL;
	fprintf(f, "INSERT INTO temp.part VALUES(");
	for (col = 0; col < columns; col++)
		fprintf(f, "%s?%d", col ? ", " : "", col + 1);
	fprintf(f, ")");
	return fclose(f) ? NULL : sql;
}

static int note_part(struct merge *m, size_t i)
{
	struct part *p = &m->part[i];
	sqlite3_stmt *from = NULL, *to = NULL;
	auto_free char *sql = NULL;
	int rc = sqlite3_prepare_v2(p->o.db, ask_part, -1, &from, NULL) ?:
		 sqlite3_bind_int64(from, 1, p->run), col;

	if (rc == SQLITE_OK) {
		sql = part_insert(sqlite3_column_count(from));
		rc = sql ? sqlite3_prepare_v2(m->to.o.db, sql, -1, &to, NULL) : SQLITE_NOMEM;
	}
	if (rc == SQLITE_OK && sqlite3_step(from) == SQLITE_ROW) {
		for (col = 0; col < sqlite3_column_count(from); col++) {
			const char *name = sqlite3_column_name(from, col);

			if (!strcmp(name, "run"))
				sqlite3_bind_int64(to, col + 1, i + 1);
			else if (!strcmp(name, "begin_ns"))
				sqlite3_bind_int64(to, col + 1, p->begin_ns);
			else if (!strcmp(name, "called"))
				sqlite3_bind_text(to, col + 1, p->host, -1, SQLITE_STATIC);
			else
				sqlite3_bind_value(to, col + 1, sqlite3_column_value(from, col));
		}
		sqlite3_step(to);
		rc = sqlite3_reset(to);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return rc == SQLITE_OK ? 0 : opener_fail(&m->to.o, rc, "cannot be written");
}

/* A sum or bound of the merged run: unknown if it is unknown on one host. */
#define OF_ALL(how, column) "iif(COUNT(" column ") = COUNT(*), " how "(" column "), NULL)"

/* The merged run has the layers that all parts have; its other columns say what holds for all
 * parts. Filters name a device as it is called in the merged run. */
static const char run_sql[] =
	"CREATE TEMP TABLE filter AS SELECT run, iif(?1 < 2 OR instr(' ' || filters, ' dev=/')"
	" OR filters GLOB '*dev=[0-9]*', filters,"
	"  replace(' ' || filters, ' dev=', ' dev=' || called || ':')) AS filters FROM temp.part;"
	"INSERT INTO run(run, schema, uuid, label, host, kernel, machine, cpus, tool, command, filters,"
	" only, layers, tier,"
	"  events, settle, latency,"
	"  wall_ns, boot_ns, utc_offset_s, map_bytes, attach_ns) "
	"SELECT 1, MIN(schema), 'merged '"
	" || (SELECT group_concat(uuid, ' ') FROM (SELECT uuid FROM temp.part ORDER BY uuid)),"
	"  iif(COUNT(DISTINCT label) = 1 AND COUNT(label) = COUNT(*), MIN(label), NULL),"
	" group_concat(called, ' + '),"
	"  (SELECT group_concat(kernel, ' + ') FROM (SELECT DISTINCT kernel FROM temp.part ORDER BY run)),"
	"  (SELECT group_concat(machine, ' + ') FROM (SELECT DISTINCT machine FROM temp.part"
	" ORDER BY run)), SUM(cpus),"
	"  (SELECT group_concat(tool, ' + ') FROM (SELECT DISTINCT tool FROM temp.part ORDER BY run)),"
	"  (SELECT group_concat(command, ' + ') FROM (SELECT DISTINCT command FROM temp.part"
	" ORDER BY run)),"
	"  (SELECT group_concat(trim(filters), ' + ') FROM (SELECT DISTINCT filters FROM temp.filter"
	" ORDER BY run)), MAX(only),"
	"  (SELECT COALESCE(group_concat(name, ','), '') FROM (SELECT l.name FROM layer l WHERE NOT EXISTS"
	"   (SELECT 1 FROM temp.part p WHERE NOT instr(',' || p.layers || ',', ',' || l.name || ','))"
	" ORDER BY l.id)),"
	"  CASE WHEN SUM(tier NOT IN ('full', 'light')) THEN 'reduced'"
	"   WHEN SUM(tier = 'light') THEN 'light' ELSE 'full' END, iif(MIN(events) = 0, 0, MAX(events)),"
	"  iif(COUNT(DISTINCT settle) = 1, MIN(settle), 'none'),"
	"  iif(COUNT(DISTINCT latency) = 1 AND COUNT(latency) = COUNT(*), MIN(latency), NULL),"
	"  ?1, MIN(boot_ns), MIN(utc_offset_s), " OF_ALL("SUM", "map_bytes") ", "
	OF_ALL("MAX", "attach_ns")
	"  FROM (SELECT * FROM temp.part ORDER BY run);"
	"INSERT INTO run_end(run, dur_ns, status, horizon, settle_ns, dirty_bytes, events, self_cpu_ns,"
	" probe_cpu_ns,"
	"  rss_bytes) "
	"SELECT 1, MAX(begin_ns + dur_ns), MAX(status), iif(SUM(horizon = 'at_ack'), 'at_ack',"
	"  iif(COUNT(DISTINCT horizon) = 1, MIN(horizon), 'after_sync')),"
	"  " OF_ALL("MIN", "begin_ns + settle_ns") ", " OF_ALL("SUM", "dirty_bytes") ", SUM(delivered),"
	"  " OF_ALL("SUM", "self_cpu_ns") ", " OF_ALL("SUM", "probe_cpu_ns") ", "
	OF_ALL("SUM", "rss_bytes")
	"  FROM temp.part HAVING COUNT(dur_ns) = COUNT(*)";

static int exec_run(struct merge *m)
{
	u64 given[] = { m->machines, m->part[0].wall_ns - m->part[0].begin_ns }, *next = given;
	const char *sql = run_sql;
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *sql) {
		sqlite3_stmt *st = NULL;

		rc = sqlite3_prepare_v2(m->to.o.db, sql, -1, &st, &sql);
		if (st && sqlite3_bind_parameter_count(st))
			sqlite3_bind_int64(st, 1, *next++);
		if (st)
			sqlite3_step(st);
		rc = sqlite3_finalize(st) ?: rc;
	}
	return rc == SQLITE_OK ? 0 : opener_fail(&m->to.o, rc, "cannot be written");
}

static int put_node(struct merge *m, size_t i)
{
	static const char sql[] =
		"INSERT INTO node(run, node, host, uuid, label, kernel, filters, begin_ns, dur_ns, clock_ns,"
		"  clock_error_ns, clock_from)"
		" SELECT 1, ?1, ?2, uuid, label, kernel,"
		" (SELECT filters FROM temp.filter f WHERE f.run = part.run),"
		"  ?3, dur_ns, ?4, ?5, ?6"
		" FROM temp.part WHERE run = ?1";
	struct part *p = &m->part[i];
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(m->to.o.db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, i + 1);
		sqlite3_bind_text(st, 2, p->host, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 3, p->begin_ns);
		if (p->skew.known)
			sqlite3_bind_int64(st, 4, p->skew.ahead_ns);
		if (p->skew.two_ways)
			sqlite3_bind_int64(st, 5, p->skew.error_ns);
		sqlite3_bind_text(st, 6, p->clock_from, -1, SQLITE_STATIC);
		sqlite3_step(st);
	}
	rc = sqlite3_finalize(st) ?: rc;
	return rc == SQLITE_OK ? 0 : opener_fail(&m->to.o, rc, "cannot be written");
}

/* ---- rows ---- */

/* Finds the largest ids in use: those of the next host begin behind them. */
static int largest(struct merge *m, u64 *processes, u64 *files)
{
	sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT max((SELECT COALESCE(MAX(id), 2) FROM process),"
		" (SELECT COALESCE(MAX(owner), 0) FROM agg_total)),"
		" max((SELECT COALESCE(MAX(id), 0) FROM file), (SELECT COALESCE(MAX(file), 0) FROM file_io))";
	int rc = sqlite3_prepare_v2(m->to.o.db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		*processes = sqlite3_column_int64(st, 0) - 2;
		*files = sqlite3_column_int64(st, 1);
	}
	rc = sqlite3_finalize(st) ?: rc;
	return rc == SQLITE_OK ? 0 : opener_fail(&m->to.o, rc, "cannot be read");
}

/* Finds the device of the part's filter: counters of other devices are not about the run. */
static int find_only(const struct part *p, struct copy *c)
{
	static const char sql[] = "WITH f AS (SELECT ' ' || filters || ' ' AS words"
		" FROM run WHERE run = ?1)"
		" SELECT d.dev FROM f JOIN device d ON d.run = ?1"
		" AND (instr(f.words, ' dev=' || d.name || ' ') OR instr(f.words, ' dev=/dev/' || d.name || ' ')"
		" OR instr(f.words, ' dev=' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ' '))";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(p->o.db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK && !sqlite3_bind_int64(st, 1, p->run) && sqlite3_step(st) == SQLITE_ROW) {
		c->only = true;
		c->only_dev = sqlite3_column_int64(st, 0);
	}
	return sqlite3_finalize(st) ?: rc;
}

static int copy_part(struct merge *m, size_t i)
{
	struct part *p = &m->part[i];
	struct copy c = { .from = p->o.db, .to = m->to.o.db, .run = p->run, .as = 1, .merge = true,
			  .shift_ns = p->begin_ns, .host = p->host,
			  .renames = m->machines > 1, .shares = p->shares, .device = p->device, .devices = p->devices };
	const char *table = "its dictionaries";
	int err = i ? largest(m, &c.processes, &c.files) : 0, rc;

	if (err)
		return err;
	rc = find_only(p, &c) ?: copy_words(c.from, c.to) ?: copy_run(&c, &table, &m->rows);
	return rc == SQLITE_OK ? 0 : copy_fail(&p->o, &m->to.o, rc, table);
}

static int write_all(struct merge *m)
{
	int rc = sqlite3_exec(m->to.o.db, make_parts, NULL, NULL, NULL);
	int err = rc == SQLITE_OK ? 0 : opener_fail(&m->to.o, rc, "cannot be written");
	size_t i;

	for (i = 0; !err && i < m->n; i++)
		err = note_part(m, i);
	err = err ?: exec_run(m);
	for (i = 0; !err && i < m->n; i++)
		err = put_node(m, i) ?: copy_part(m, i);
	if (!err && (rc = second_write(m->to.o.db, 1, 1)) != SQLITE_OK)
		err = opener_fail(&m->to.o, rc, "cannot be written");
	return err;
}

static void free_part(struct part *p)
{
	opener_close(&p->o);
	free(p->host);
	free(p->label);
	free(p->own_host);
	free(p->kernel);
	free(p->uuid);
	free(p->device);
	free(p->load);
}

int store_merge(const char *path, const struct merge_part *part, size_t n)
{
	struct merge m = { .part = calloc(n, sizeof(*m.part)), .machines = n,
			   .to = { .o = { .at = { .dir = -1 }, .fd = -1 }, .to = { .dir = -1 } } };
	int err = m.part ? 0 : fail_as(-ENOMEM, 0, "%s: no memory", path);
	size_t i;

	if (!err && !access(path, F_OK))
		err = fail_as(-EEXIST, 0, "%s is there already: merge makes a new store", path);
	for (; !err && m.n < n; m.n++)
		err = open_part(&m.part[m.n], &part[m.n]);
	err = err ?: name_hosts(&m) ?: find_clocks(&m);
	for (i = 0; !err && i < n; i++)
		err = find_devices(&m, i) ?: check_overlap(&m, &m.part[i]);
	err = err ?: fresh_open(&m.to, path) ?: write_all(&m) ?: fresh_place(&m.to, NULL);
	fresh_close(&m.to);
	for (i = 0; m.part && i < m.n; i++)
		free_part(&m.part[i]);
	free(m.part);
	return err;
}
