// SPDX-License-Identifier: GPL-3.0-only
/* fuzz.c - what strangers write, fed to who reads it: targets for libFuzzer, one program each
 * (`make fuzz`).
 *
 * To add a target: a function here, a row in FUZZ of the Makefile with what it is linked with, a
 * folder of seeds in fixtures/fuzz. An input that crashes is kept there as a seed when the fault is
 * repaired. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define MUST(condition) ((condition) ? (void)0 : must(#condition))

static inline void must(const char *what)
{
	fprintf(stderr, "fuzz: not so: %s\n", what);
	abort();
}

/* A file of the data, by a name that may be opened; the one before is overwritten. */
static inline __attribute__((unused)) const char *file_of(const unsigned char *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		snprintf(path, sizeof(path), "/dev/shm/iot-fuzz.XXXXXX");
		fd = mkstemp(path);
		MUST(fd >= 0);
	}
	MUST(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

#if defined(FUZZ_scan)
/* The careful reader takes all that the flat scanner takes, and both read the same; the scanner
 * takes what a writer makes of it. */
#include "scan.h"

static const struct line *careful(const char *p, const char *end)
{
	static struct line l;

	return parse_line(p, end, &l) ? NULL : &l;
}

/* Numbers of 20 digits the scanner leaves to the careful reader. */
static bool has_long_number(const struct iot_event *e)
{
	const u64 least = 10000000000000000000ULL;

	return e->ts_ns >= least || e->dur_ns >= least || e->queue_ns >= least ||
	       e->offset >= least || e->size >= least || e->bytes >= least;
}

static void check_writer(const struct iot_event *e)
{
	const struct line *l;
	char text[2048 + LINE_SLACK] = "";
	int fd = memfd_create("line", MFD_CLOEXEC);
	struct iot_event again;
	struct sink *s = NULL;
	ssize_t n;

	MUST(fd >= 0 && !sink_jsonl(&s, fd, "fuzz") && !s->events(s, e, 1) && !s->close(s, true));
	n = pread(fd, text, 2048, 0);
	MUST(n > 1 && text[n - 1] == '\n');
	if (!scan_event(text, text + n - 1, &again)) {
		MUST(has_long_number(e));
		l = careful(text, text + n - 1);
		MUST(l && l->type == REC_EVENT);
		again = l->event;
	}
	MUST(!memcmp(&again, e, sizeof(again)));
	close(fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text = malloc(size + 1 + LINE_SLACK);
	const struct line *l;
	struct iot_event e;
	bool taken;

	if (!text || memchr(data, '\n', size)) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	memset(text + size, '\n', 1 + LINE_SLACK);
	taken = scan_event(text, text + size, &e);
	l = careful(text, text + size);
	if (taken) {
		MUST(l && l->type == REC_EVENT);
		MUST(!memcmp(&l->event, &e, sizeof(e)));
	}
	if (l && l->type == REC_EVENT) {
		e = l->event;
		check_writer(&e);
	}
	free(text);
	return 0;
}

#elif defined(FUZZ_records)
/* A stream that is read and written is the same when it is read and written again. */
#include "scan.h"

static int copy(int from, bool by_hand)
{
	int to = memfd_create("copy", MFD_CLOEXEC);
	struct sink *s = NULL;

	MUST(to >= 0 && !sink_jsonl(&s, to, "fuzz"));
	jsonl_read_by(from, "fuzz", s, by_hand);
	MUST(!s->close(s, true));
	MUST(!lseek(to, 0, SEEK_SET));
	return to;
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;
	char *pa, *pb;
	bool same;

	MUST(!fstat(a, &sa) && !fstat(b, &sb));
	if (sa.st_size != sb.st_size || !sa.st_size)
		return sa.st_size == sb.st_size;
	pa = mmap(NULL, sa.st_size, PROT_READ, MAP_SHARED, a, 0);
	pb = mmap(NULL, sa.st_size, PROT_READ, MAP_SHARED, b, 0);
	MUST(pa != MAP_FAILED && pb != MAP_FAILED);
	same = !memcmp(pa, pb, sa.st_size);
	munmap(pa, sa.st_size);
	munmap(pb, sa.st_size);
	return same;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int in = memfd_create("in", MFD_CLOEXEC), once, twice, slow;

	MUST(in >= 0 && write(in, data, size) == (ssize_t)size && !lseek(in, 0, SEEK_SET));
	once = copy(in, false);
	twice = copy(once, false);
	MUST(!lseek(in, 0, SEEK_SET));
	slow = copy(in, true);
	MUST(is_same(once, twice));
	MUST(is_same(once, slow));
	close(in);
	close(once);
	close(twice);
	close(slow);
	return 0;
}

#elif defined(FUZZ_rules)
#include "systems/systems.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *file = file_of(data, size);
	struct systems *s = NULL;

	if (!systems_open(&s, &file, 1))
		systems_close(s);
	return 0;
}

#elif defined(FUZZ_pattern)
/* The pattern is the first line, the subject the rest. A subject without anything special, as a
 * pattern, matches itself. */
#include "pattern.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const unsigned char *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size;
	char *text = strndup((const char *)data, n),
	     *subject = strndup(end ? (const char *)end + 1 : "", end ? size - n - 1 : 0);

	MUST(text && subject);
	for (int path = 0; path < 2; path++) {
		const char *why = NULL;
		struct pattern *p = pattern_new(text, path, &why);

		MUST(p || why);
		if (p) {
			pattern_match(p, subject);
			MUST(text[strcspn(text, "\\?*[{")] || pattern_match(p, text));
			MUST(!strcmp(pattern_text(p), text));
		}
		pattern_free(p);
	}
	free(text);
	free(subject);
	return 0;
}

#elif defined(FUZZ_ledger)
#include "../../analyzer/report/payload.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct payload p;

	if (!payload_read(&p, file_of(data, size))) {
		MUST(p.load.system);
		MUST(p.load.logical_write_bytes <= INT64_MAX && p.load.logical_read_bytes <= INT64_MAX);
	}
	payload_free(&p);
	return 0;
}

#elif defined(FUZZ_options) || defined(FUZZ_questions)
/* Arguments are parted by NUL or a line end. */
#ifdef FUZZ_options
#include "options.h"
#define READ(o, argc, argv) options_parse(&(o), argc, argv)
#else
#include "../../analyzer/command/options.h"
#define READ(o, argc, argv) options_read(&(o), argc, argv)
#endif
#define ARGS_MAX 32

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct options o;
	char *text = malloc(size + 1), *argv[ARGS_MAX + 2] = { "iot" }, *p = text;
	int argc = 1;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\n')
			text[i] = '\0';
	for (; p <= text + size && argc <= ARGS_MAX; p += strlen(p) + 1)
		argv[argc++] = p;
	memset(&o, 0, sizeof(o));
	READ(o, argc, argv);
	free(text);
	return 0;
}

#elif defined(FUZZ_report) || defined(FUZZ_store)
/* Stores in memory: the linker leads calls of SQLite here (`--wrap`, Makefile). What opener.c
 * opens by a name is a database in memory that begins as `image`; all else that it does, judging
 * the place, locks, limits and checks, it does with an empty file of that name. No input waits,
 * and none runs longer than so many instructions of SQLite's. */
#include "identity.h"
#include "stream.h"

#define STEPS 1000
#define LOOKS_MAX 200           /* each after STEPS instructions, of one store */

static unsigned char *base, *image;
static size_t base_size;
static sqlite3 *store_db;       /* the last that was opened */
static int looks;

/* Memory of SQLite: one piece after another, all given back at once between two inputs. What is
 * not in use is poisoned, so that code of ours that reads beyond what SQLite gave is seen. */
#include <sanitizer/asan_interface.h>

#define ARENA_BYTES (256UL << 20)
#define PIECE_HEAD 16           /* its size, and as much again for alignment */

static unsigned char *arena;
static size_t arena_used, arena_kept;   /* kept: what SQLite has for good */
static sqlite3_int64 memory_kept;

static void *piece_new(int size)
{
	size_t room = PIECE_HEAD +
		      (((size_t)size + 31) & ~15UL); /* at least 16 bytes behind it stay poisoned */
	unsigned char *p = arena + arena_used;

	if (size <= 0 || room > ARENA_BYTES - arena_used)
		return NULL;
	arena_used += room;
	__asan_unpoison_memory_region(p + PIECE_HEAD, size);
	__asan_unpoison_memory_region(p, sizeof(size));
	memcpy(p, &size, sizeof(size));
	return p + PIECE_HEAD;
}

static int piece_size(void *piece)
{
	return piece ? *(int *)((unsigned char *)piece - PIECE_HEAD) : 0;
}

static void piece_free(void *piece)
{
	__asan_poison_memory_region(piece, piece_size(piece));
}

static void *piece_grow(void *piece, int size)
{
	void *more = piece_new(size);

	if (more)
		memcpy(more, piece, piece_size(piece) < size ? piece_size(piece) : size);
	return more;
}

static int piece_round(int size)
{
	return (size + 7) & ~7;
}

static int arena_begin(void *unused)
{
	return SQLITE_OK;
}

static void arena_end(void *unused)
{
}

static void arena_open(void)
{
	static const sqlite3_mem_methods methods = {
		piece_new, piece_free, piece_grow, piece_size, piece_round, arena_begin, arena_end, NULL
	};

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(arena != MAP_FAILED);
	MUST(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
	     sqlite3_initialize() == SQLITE_OK);
	arena_kept = arena_used;
	memory_kept = sqlite3_memory_used();
	__asan_poison_memory_region(arena + arena_used, ARENA_BYTES - arena_used);
}

/* All memory of SQLite has been given back. */
static void arena_reset(void)
{
	MUST(sqlite3_memory_used() == memory_kept);
	__asan_poison_memory_region(arena + arena_kept, arena_used - arena_kept);
	arena_used = arena_kept;
}

/* Only what the store has: its pages are small, so that there are many. */
static void load_base(void)
{
	const char *path = getenv("IOT_FUZZ_STORE");
	int fd = open(path ? path : "build/fuzz/base.sqlite", O_RDONLY | O_CLOEXEC);
	struct stat s;

	MUST(fd >= 0 && !fstat(fd, &s));
	base = malloc(base_size = s.st_size);
	image = malloc(base_size);
	MUST(base && image && read(fd, base, base_size) == s.st_size);
	memcpy(image, base, base_size);
	close(fd);
	arena_open();
}

int __real_sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs);

int __wrap_sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs)
{
	bool is_store = !strncmp(name, "/iot-store:", 11) || !strncmp(name, "file:/iot-store:", 16);
	unsigned int how = flags & SQLITE_OPEN_READONLY ? SQLITE_DESERIALIZE_READONLY :
			   SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE;
	unsigned char *copy = image;
	int rc;

	if (!is_store)
		return __real_sqlite3_open_v2(name, db, flags, vfs);
	rc = __real_sqlite3_open_v2(
		":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		NULL);
	if (rc == SQLITE_OK && how & SQLITE_DESERIALIZE_FREEONCLOSE) {
		copy = sqlite3_malloc64(base_size);
		MUST(copy);
		memcpy(copy, image, base_size);
	}
	looks = 0;
	store_db = *db;
	return rc ?: sqlite3_deserialize(*db, "main", copy, base_size, base_size, how);
}

void __real_sqlite3_progress_handler(sqlite3 *db, int steps, int (*look)(void *), void *arg);
void __wrap_sqlite3_progress_handler(sqlite3 *db, int steps, int (*look)(void *), void *arg);

static int count_looks(void *arg)
{
	return ++looks > LOOKS_MAX;
}

void __wrap_sqlite3_progress_handler(sqlite3 *db, int steps, int (*look)(void *), void *arg)
{
	__real_sqlite3_progress_handler(db, STEPS, count_looks, NULL);
}

#ifdef FUZZ_report
/* The text of a report, as a user may write one: its comments are read, its views found, its
 * statements asked of a store, whose bytes stay as they were; what comes back is printed
 * nowhere. */
#include "../../analyzer/report/report.h"

const struct report_file report_files[] = {
	{ "views/empty.sql",
	  "CREATE TEMP VIEW v_run AS SELECT * FROM run;\n"
	  "CREATE TEMP VIEW v_lost AS SELECT * FROM lost;\nCREATE TEMP VIEW v_head AS SELECT 1 AS ord;\n"
	  "CREATE TEMP VIEW v_picture_head AS SELECT 1 AS ord;\n" },
	{ 0 }
};

/* The store is one of ours: target `store` is about those that are not. */
int __wrap_identity_check(struct opener *o, bool *fresh);

int __wrap_identity_check(struct opener *o, bool *fresh)
{
	*fresh = false;
	o->version = IOT_SCHEMA;
	return 0;
}

/* It is opened and asked once for all inputs that only read; behind any other it is closed, and
 * all memory of SQLite starts afresh. */
static struct store *opened;
static bool in_report, changed;

static int judge(void *unused, int action, const char *a, const char *b, const char *db,
		 const char *by)
{
	if (action != SQLITE_SELECT && action != SQLITE_READ && action != SQLITE_FUNCTION &&
	    action != SQLITE_RECURSIVE)
		changed |= in_report;
	return SQLITE_OK;
}

static void open_store(void)
{
	struct ask ask = { .run = 1, .per = "system", .rules = "[]", .about_store = true };

	if (!base)
		load_base();
	MUST(!store_open(&opened, file_of((const unsigned char *)"-", 1)) && !store_ask(opened, &ask));
	sqlite3_set_authorizer(store_db, judge, NULL);
	changed = false;
}

static void close_store(void)
{
	store_close(opened);
	opened = NULL;
	arena_reset();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text = malloc(size + 1);
	struct answer a = { 0 };

	if (!opened)
		open_store();
	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	looks = 0;
	MUST(!sqlite3_exec(
		store_db,
		"PRAGMA query_only = OFF; DROP VIEW IF EXISTS v_run; DROP VIEW IF EXISTS v_lost;"
		"DROP VIEW IF EXISTS v_head; DROP VIEW IF EXISTS v_picture_head",
		NULL, NULL, NULL));
	in_report = true;
	if (!report_views(opened, NULL, text, NULL) && !store_asked(opened, NULL)) {
		changed = false;
		report_run(opened, "fuzz", text, &a);
	}
	in_report = false;
	answer_free(&a);
	free(text);
	MUST(!memcmp(image, base, base_size));
	if (changed || arena_used > ARENA_BYTES / 4)
		close_store();
	return 0;
}

#else
/* A store of which some bytes were changed: six of the input are place (4), length (1) and the
 * first byte of what is put there. It is opened and read, and where the input has five bytes
 * behind these it is appended to. */
static int look(void *rows, int n, char **values, char **names)
{
	return ++*(int *)rows > 1000;
}

static void read_tables(sqlite3 *db)
{
	static const char *const tables[] = { "run",	   "run_end", "process", "file", "device",
					      "agg_total", "event",   "ledger",	 "lost", "truth" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char sql[64];
		int rows = 0;

		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", tables[i]);
		looks = 0;
		sqlite3_exec(db, sql, look, &rows, NULL);
	}
}

static void append(const char *path)
{
	struct rec_run run = { .schema = IOT_SCHEMA,
			       .uuid = "u",
			       .host = "h",
			       .kernel = "k",
			       .machine = "m",
			       .cpus = 1,
			       .tool = "t",
			       .layers = "syscall",
			       .tier = "full",
			       .settle = "none",
			       .wall_ns = 1,
			       .boot_ns = 1 };
	struct rec_end end = { .dur_ns = 1, .horizon = "at_ack" };
	struct sink *s;

	if (sink_store(&s, path))
		return;
	if (!s->record(s, REC_run, &run))
		s->record(s, REC_end, &end);
	s->close(s, true);
}

/* A schema that no byte was changed of is ours: to compare it takes longer than all else. */
int __real_schema_check_objects(sqlite3 *db, char *which, size_t size);
int __wrap_schema_check_objects(sqlite3 *db, char *which, size_t size);

/* Types, names and texts of all objects; NULL: they cannot be read. */
static char *schema_text(sqlite3 *db)
{
	static const char sql[] = "SELECT json_group_array(json_array(type, name, sql)) FROM"
		" (SELECT * FROM sqlite_schema ORDER BY type, name)";
	sqlite3_stmt *st = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0))
		text = strdup((const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return text;
}

int __wrap_schema_check_objects(sqlite3 *db, char *which, size_t size)
{
	static char *ours;
	char *now = schema_text(db);
	int rc = SQLITE_OK;

	if (!now || !ours || strcmp(now, ours))
		rc = __real_schema_check_objects(db, which, size);
	if (rc == SQLITE_OK && now && !ours)
		ours = strdup(now);
	free(now);
	return rc;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *path = file_of((const unsigned char *)"-", 1);
	bool appends = size % 6 == 5;
	struct opener o;
	bool fresh;

	if (!base)
		load_base();
	memcpy(image, base, base_size);
	for (; size >= 6; data += 6, size -= 6) {
		unsigned int at;

		memcpy(&at, data, 4);
		for (unsigned int i = 0; i < data[4] % 16 + 1u; i++)
			image[(at + i) % base_size] = data[5] + i * (data[4] >> 4);
	}
	if (!opener_open(&o, path, false, &fresh))
		read_tables(o.db);
	opener_close(&o);
	if (appends)
		append(path);
	arena_reset();
	return 0;
}
#endif
#endif
