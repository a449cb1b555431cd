/* SPDX-License-Identifier: GPL-3.0-only */
/* faulty-run.c - runs iot-analyze again and again with one fault each (faulty.c), and looks at what
 * it left.
 *
 * usage: faulty-run FAULTY.so IOT-ANALYZE A.jsonl B.jsonl FOLDER [all|CALL [FIRST STEP]]
 * B is stored into a new store and into one that holds A; the latter is read by reports. The n-th
 * call of each kind (or of one) goes wrong, for every n (FIRST, and each STEP after it) until none
 * does; without `all` n grows by a quarter (alloc of a store that is written: from 128 on). A
 * report is run once, and a child of it is the one to whom each fault happens. A store that is
 * written is made again for each, and checked unless an earlier fault left the same bytes. Whatever
 * happened: no program crashed, the store is sound, A is in it as it was, exit status 0 means that
 * B is there as without a fault, and so does its end; what is incomplete can be given again and is
 * complete then.
 * Prints what was done, and a line for each fault that had another end. Exit status: 1 if there was
 * one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "faulty.h"

#define KILLED (-1)
#define HALF 0
#define MANY 100000

/* To try another fault: a row. */
static const struct fault {
	const char *call;
	int how;
	bool stays;
	bool to_write;          /* only where a store is written */
	long each;              /* where a store is written every n below it is tried */
} faults[] = {
	{ "pwrite", ENOSPC, true, true }, { "pwrite", ENOSPC, false, true }, { "pwrite", EIO, false, true }, { "pwrite", EINTR, false, true },
	{ "pwrite", HALF, false, true }, { "pwrite", KILLED, false, true },
	{ "fsync", EIO, false, true }, { "fsync", ENOSPC, true, true }, { "fsync", KILLED, false, true },
	{ "ftruncate", EIO, false, true }, { "ftruncate", KILLED, false, true },
	{ "unlink", EACCES, false, true }, { "unlink", KILLED, false, true },
	{ "open", EMFILE, false }, { "open", ENOSPC, true }, { "open", EINTR, false }, { "open", KILLED, false },
	{ "read", EIO, false }, { "read", EINTR, false }, { "read", HALF, false }, { "read", KILLED, false },
	{ "mmap", ENOMEM, false }, { "mmap", KILLED, false },
	{ "lock", EIO, false }, { "lock", KILLED, false }, /* other errors mean that somebody else has it: it is waited for */
	{ "malloc", ENOMEM, false }, { "malloc", ENOMEM, true }, { "alloc", ENOMEM, .each = 128 },
	{ "batch", ENOMEM, false, true, MANY }, { "batch", ENOMEM, true, true, MANY },
};

/* Reports and their options; behind the first one those that sum. To try another reader: a row. */
static const char *const readers[][3] = {
	{ "runs" }, { "headline" }, { "amplification", "--format", "json" },
};
#define READERS (sizeof(readers) / sizeof(*readers))

static const char *preload, *analyze, *first, *second, *folder, *only;
static unsigned long tried, bad, by_status[3], ended, states; /* by_status: 0, other, killed */
static bool all;
static long from_n = 1, step = 1;

/* ---- what a store holds ---- */

/* Every value of the rows, but the number of the run. */
static uint64_t hash_rows(sqlite3 *db, const char *sql, int64_t run, uint64_t h)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(st, 1, run);
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const void *text = strcmp(sqlite3_column_name(st, i), "run") ? sqlite3_column_text(st, i) : NULL;

			h = text ? fault_mix(h, text, sqlite3_column_bytes(st, i) + 1) : fault_mix(h, "-", 2);
		}
	return sqlite3_finalize(st) == SQLITE_OK ? h : 0;
}

static uint64_t hash_run(sqlite3 *db, int64_t run)
{
	static const char tables[] = "SELECT m.name FROM sqlite_schema m WHERE m.type = 'table' AND EXISTS"
		" (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'run') ORDER BY 1";
	sqlite3_stmt *st = NULL;
	uint64_t h = FAULT_HASH;

	if (sqlite3_prepare_v2(db, tables, -1, &st, NULL) != SQLITE_OK)
		return 0;
	while (h && sqlite3_step(st) == SQLITE_ROW) {
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE run = ?1", sqlite3_column_text(st, 0));
		h = hash_rows(db, sql, run, fault_mix(h, sql, strlen(sql)));
	}
	sqlite3_finalize(st);
	return h;
}

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

struct seen {
	bool sound;
	int64_t runs;
	uint64_t a, b;          /* 0: not there, or not complete */
};

/* The run of a stream: its uuid is the name of the file. Complete, or not there. */
static uint64_t look_for(sqlite3 *db, const char *uuid)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT run FROM run JOIN run_end USING (run) WHERE uuid = '%s'", uuid);
	return number(db, sql) < 0 ? 0 : hash_run(db, number(db, sql));
}

static struct seen look(const char *store)
{
	struct seen s = { 0 };
	sqlite3_stmt *st = NULL;
	struct stat status;
	sqlite3 *db = NULL;

	if (stat(store, &status) || !status.st_size) {
		s.sound = true; /* nothing was begun */
		return s;
	}
	if (sqlite3_open_v2(store, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		s.sound = !strcmp((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	s.runs = number(db, "SELECT count(*) FROM run");
	s.a = look_for(db, "a");
	s.b = look_for(db, "b");
	sqlite3_close(db);
	return s;
}

/* ---- runs ---- */

/* Starts iot-analyze with arguments; fault NULL: none. Its output goes to FOLDER/out, what faulty.c
 * says comes from *tell. */
static pid_t start(const char *fault, int limit_s, int *tell, const char *const args[])
{
	char out[4096];
	int ends[2];
	pid_t pid;

	snprintf(out, sizeof(out), "%s/out", folder);
	if (pipe2(ends, O_CLOEXEC))
		exit(2);
	pid = fork();
	if (!pid) {
		int fd = open(out, O_RDWR | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_WRONLY);

		if (dup2(fd, 1) < 0 || dup2(null, 2) < 0 || dup2(ends[1], FAULTY_FD) < 0)
			_exit(2);
		alarm(limit_s);
		if (fault) {
			setenv("FAULTY", fault, 1);
			setenv("LD_PRELOAD", preload, 1);
		}
		execv(analyze, (char *const *)args);
		_exit(126);
	}
	close(ends[1]);
	*tell = ends[0];
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int run(const char *fault, bool *fired, const char *const args[])
{
	int tell, status;
	char byte;

	status = status_of(start(fault, FAULT_LIMIT_S, &tell, args));
	*fired = read(tell, &byte, 1) == 1;
	close(tell);
	return status;
}

static int ingest(const char *fault, bool *fired, const char *store, const char *stream)
{
	return run(fault, fired, (const char *const[]){ "iot-analyze", "ingest", store, stream, NULL });
}

static void copy(const char *from, const char *to)
{
	char buf[1 << 16];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			exit(2);
	close(in);
	close(out);
}

static const char *const parts[] = { "", "-wal", "-shm", "-journal" };
#define PARTS (sizeof(parts) / sizeof(*parts))

static const char *path_of(const char *store, size_t part)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s%s", store, parts[part]);
	return path;
}

static void remove_store(const char *store)
{
	for (size_t i = 0; i < PARTS; i++)
		unlink(path_of(store, i));
}

static void complain(const char *what, const char *fault, int status, const char *why)
{
	bad++;
	printf("%s, %s: %s (status %d, signal %d)\n", what, fault, why, WEXITSTATUS(status),
	       WTERMSIG(status));
}

/* A fault may end a program; only a fault that kills may kill it. */
static bool count(const struct fault *f, const char *what, const char *fault, int status)
{
	bool killed = WIFSIGNALED(status);

	tried++;
	by_status[killed ? 2 : !!status]++;
	if (killed && (f->how != KILLED || WTERMSIG(status) != SIGKILL))
		complain(what, fault, status, "crashed, or hung");
	return !killed && !status;
}

static uint64_t hash_file(const char *path)
{
	char buf[1 << 16];
	uint64_t h = FAULT_HASH;
	int fd = open(path, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		h = fault_mix(h, buf, n);
	if (fd >= 0)
		close(fd);
	return h;
}

/* Checks the store that a program left: its contents, and whether B can be given again. */
struct left {
	uint64_t bytes;         /* the hash of its files */
	struct seen seen;
	bool again;
};

/* It is a matter of its bytes alone: what most faults leave was looked at before. */
static const struct left *look_once(const char *store, const struct seen *wanted)
{
	static struct left *left;
	static size_t n;
	struct seen s;
	uint64_t bytes = (uintptr_t)wanted;
	bool fired;

	for (size_t i = 0; i < PARTS; i++) {
		uint64_t part = hash_file(path_of(store, i));

		bytes = fault_mix(bytes, &part, sizeof(part));
	}
	for (size_t i = 0; i < n; i++)
		if (left[i].bytes == bytes)
			return &left[i];
	left = realloc(left, (n + 1) * sizeof(*left));
	if (!left)
		exit(2);
	left[n] = (struct left){ .bytes = bytes, .seen = look(store), .again = true };
	if (!left[n].seen.b) {
		left[n].again = !ingest(NULL, &fired, store, second);
		s = look(store);
		left[n].again &= s.sound && s.b == wanted->b && s.a == wanted->a && s.runs == wanted->runs;
	}
	states = ++n;
	return &left[n - 1];
}

static void check_store(const struct fault *f, const char *fault, const char *base,
			const char *store, const struct seen *wanted)
{
	const char *what = base ? "append" : "create";
	const struct left *left;
	bool fired, good;
	int status;

	remove_store(store);
	if (base)
		copy(base, store);
	status = ingest(fault, &fired, store, second);
	ended += !fired;
	good = count(f, what, fault, status);
	left = look_once(store, wanted);
	if (!left->seen.sound)
		complain(what, fault, status, "the store is not sound");
	if (base && left->seen.a != wanted->a)
		complain(what, fault, status, "the run of before is not what it was");
	if ((good || left->seen.b) && left->seen.b != wanted->b)
		complain(what, fault, status,
			 good ? "exit status 0, but the run is another"
			      : "it is complete, but the run is another");
	if (!left->again)
		complain(what, fault, status, "what is incomplete cannot be given again");
}

static const char *const *arguments(const char *store, size_t reader)
{
	static const char *args[6];

	memcpy(args,
	       (const char *const[]){ "iot-analyze", readers[reader][0], store, readers[reader][1],
				      readers[reader][2], NULL },
	       sizeof(args));
	return args;
}

static void name_fault(char name[64], const struct fault *f, long n)
{
	snprintf(name, 64, "%s %ld %d%s", f->call, n, f->how, f->stays ? "+" : "");
}

/* A command that changes no file is run once, and forks at each call that is to go wrong. */
static void check_reader(const struct fault *f, const char *store, const char *out, size_t reader,
			 uint64_t wanted)
{
	struct fault_end end;
	char fault[64];
	pid_t pid;
	int tell, status;

	name_fault(fault, f, from_n);
	snprintf(fault + strlen(fault), 16, "*%ld", all ? step : 0);
	pid = start(fault, 0, &tell, arguments(store, reader));
	while (read(tell, &end, sizeof(end)) == sizeof(end)) {
		name_fault(fault, f, end.n);
		if (count(f, readers[reader][0], fault, end.status) && end.output != wanted)
			complain(readers[reader][0], fault, end.status, "exit status 0, but another answer");
	}
	close(tell);
	status = status_of(pid);
	if (status || hash_file(out) != wanted)
		complain(readers[reader][0], "none", status, "it has no fault, but another answer");
}

struct reference {
	char new[4096], two[4096], base[4096], store[4096], out[4096];
	struct seen created, appended;
	uint64_t answer[READERS];
};

static void try_store(const struct fault *f, const struct reference *r, bool appends)
{
	unsigned long before = ended;

	/* some calls are there less often than others: it ends when none went wrong */
	for (long n = from_n; n < MANY && ended == before; n += all || n < f->each ? step : 1 + n / 4) {
		char fault[64];

		name_fault(fault, f, n);
		check_store(f, fault, appends ? r->base : NULL, r->store, appends ? &r->appended : &r->created);
	}
}

static void try_fault(const struct fault *f, const struct reference *r)
{
	if (only && strcmp(only, f->call))
		return;
	for (size_t place = 0; place < 2 + READERS; place++) {
		unsigned long from = tried;

		if ((f->to_write && place >= 2) || (!strcmp(f->call, "malloc") && f->stays && place > 2))
			continue; /* SQLite gives up at the first or goes on: one report is enough to see that it does not wait for ever */
		if (place < 2)
			try_store(f, r, place);
		else
			check_reader(f, r->two, r->out, place - 2, r->answer[place - 2]);
		if (getenv("FAULTY_TOLD"))
			fprintf(stderr, "%s %d%s %zu: %lu\n", f->call, f->how, f->stays ? "+" : "", place, tried - from);
	}
}

int main(int argc, char **argv)
{
	static struct reference r;
	bool fired;

	if (argc < 6)
		return fprintf(stderr,
			       "usage: faulty-run FAULTY.so IOT-ANALYZE A.jsonl B.jsonl FOLDER [all|CALL [FIRST STEP]]\n"),
		       2;
	preload = argv[1], analyze = argv[2], first = argv[3], second = argv[4], folder = argv[5];
	all = argc > 6;
	only = all && strcmp(argv[6], "all") ? argv[6] : NULL;
	if (argc > 8) {
		from_n = atol(argv[7]);
		step = atol(argv[8]);
	}
	if (from_n < 1 || step < 1)
		return fprintf(stderr, "faulty-run: FIRST and STEP are counted from 1\n"), 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(r.new, sizeof(r.new), "%s/new.sqlite", folder);
	snprintf(r.base, sizeof(r.base), "%s/base.sqlite", folder);
	snprintf(r.two, sizeof(r.two), "%s/two.sqlite", folder);
	snprintf(r.store, sizeof(r.store), "%s/x.sqlite", folder);
	snprintf(r.out, sizeof(r.out), "%s/out", folder);
	remove_store(r.new);
	remove_store(r.base);
	if (ingest(NULL, &fired, r.new, second) || ingest(NULL, &fired, r.base, first))
		return fprintf(stderr, "faulty-run: cannot store without a fault\n"), 2;
	copy(r.base, r.two);
	if (ingest(NULL, &fired, r.two, second))
		return fprintf(stderr, "faulty-run: cannot append without a fault\n"), 2;
	for (size_t i = 0; i < READERS; i++) {
		if (run(NULL, &fired, arguments(r.two, i)))
			return fprintf(stderr, "faulty-run: no %s without a fault\n", readers[i][0]), 2;
		r.answer[i] = hash_file(r.out);
	}
	r.created = look(r.new);
	r.appended = look(r.two);
	if (!r.created.b || r.appended.b != r.created.b || !r.appended.a)
		return fprintf(stderr, "faulty-run: the references are not what they should be\n"), 2;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		try_fault(&faults[i], &r);
	printf("%lu faults: %lu times exit status 0, %lu an error, %lu killed; %lu stores that differ; %lu had another end\n",
	       tried - ended, by_status[0] - ended, by_status[1], by_status[2], states, bad);
	return bad ? 1 : 0;
}
