// SPDX-License-Identifier: GPL-3.0-only
/* fuzz.c - what strangers write, fed to who reads it: targets for libFuzzer, one program each (`make fuzz`).
 *
 * To add a target: a function here, a row in FUZZ of the Makefile with what it is linked with, a folder of seeds in fixtures/fuzz.
 * An input that crashes is kept there as a seed when the fault is repaired.
 */
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
/* What the flat scanner takes, the careful reader takes, and both read the same; what a writer makes of it, the scanner takes. */
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

	return e->ts_ns >= least || e->dur_ns >= least || e->queue_ns >= least || e->offset >= least || e->size >= least || e->bytes >= least;
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
/* The pattern is the first line, the subject the rest. A subject without anything special, as a pattern, matches itself. */
#include "pattern.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const unsigned char *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size;
	char *text = strndup((const char *)data, n), *subject = strndup(end ? (const char *)end + 1 : "", end ? size - n - 1 : 0);

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
#include "../analyzer/payload.h"

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
#include "../analyzer/options.h"
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

#elif defined(FUZZ_report)
/* The text of a report, as a user may write one: its comments are read, its views found, its statements asked of a store, whose file stays
 * as it was; what comes back is printed nowhere. */
#include "../analyzer/report.h"

const struct report_file report_files[] = { { "views/empty.sql", "CREATE TEMP VIEW v_run AS SELECT * FROM run;\n"
	"CREATE TEMP VIEW v_lost AS SELECT * FROM lost;\nCREATE TEMP VIEW v_head AS SELECT 1 AS ord;\n" }, { 0 } };

/* Of who changes the file, the time shows. */
static struct stat look_at(const char *path)
{
	struct stat st;

	MUST(!stat(path, &st) && st.st_size);
	return st;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *path = getenv("IOT_FUZZ_STORE") ?: "build/fuzz/base.sqlite";
	struct ask ask = { .run = 1, .per = "system", .rules = "[]", .about_store = true };
	char *text = malloc(size + 1);
	struct answer a = { 0 };
	struct store *s = NULL;
	struct stat was = look_at(path), is;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	setenv("IOT_LIMIT_S", "1", 1);
	MUST(!store_open(&s, path));
	if (!store_ask(s, &ask) && !report_views(s, NULL, text, NULL) && !store_asked(s, NULL))
		report_run(s, "fuzz", text, &a);
	answer_free(&a);
	store_close(s);
	is = look_at(path);
	MUST(is.st_size == was.st_size && is.st_mtim.tv_sec == was.st_mtim.tv_sec && is.st_mtim.tv_nsec == was.st_mtim.tv_nsec);
	free(text);
	return 0;
}

#elif defined(FUZZ_store)
/* A store of which some bytes were changed: six of the input are place (4), length (1) and the first byte of what is put there. It is
 * opened, read and appended to. */
#include "opener.h"
#include "stream.h"

static unsigned char *base;
static size_t base_size;

static void load_base(void)
{
	const char *path = getenv("IOT_FUZZ_STORE");
	int fd = open(path ? path : "build/fuzz/base.sqlite", O_RDONLY | O_CLOEXEC);
	struct stat s;

	MUST(fd >= 0 && !fstat(fd, &s));
	base = malloc(base_size = s.st_size);
	MUST(base && read(fd, base, base_size) == s.st_size);
	close(fd);
}

static int look(void *rows, int n, char **values, char **names)
{
	return ++*(int *)rows > 10000;
}

static int step_limit(void *steps)
{
	return ++*(int *)steps > 2000; /* of 1,000 instructions each */
}

static void read_tables(sqlite3 *db)
{
	static const char *const tables[] = { "run", "run_end", "process", "file", "device", "agg_total", "event", "ledger", "lost", "truth" };
	int steps = 0;

	sqlite3_progress_handler(db, 1000, step_limit, &steps);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char sql[64];
		int rows = 0;

		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", tables[i]);
		sqlite3_exec(db, sql, look, &rows, NULL);
	}
}

static void append(const char *path)
{
	struct rec_run run = { .schema = IOT_SCHEMA, .uuid = "u", .host = "h", .kernel = "k", .machine = "m", .cpus = 1, .tool = "t", .layers = "syscall",
			       .tier = "full", .settle = "none", .wall_ns = 1, .boot_ns = 1 };
	struct rec_end end = { .dur_ns = 1, .horizon = "at_ack" };
	struct sink *s;

	if (sink_store(&s, path))
		return;
	if (!s->record(s, REC_run, &run))
		s->record(s, REC_end, &end);
	s->close(s, true);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char *const sides[] = { "-journal", "-wal", "-shm" };
	unsigned char *copy;
	const char *path;
	struct opener o;
	bool fresh;

	if (!base)
		load_base();
	copy = malloc(base_size);
	MUST(copy);
	memcpy(copy, base, base_size);
	for (; size >= 6; data += 6, size -= 6) {
		unsigned int at;

		memcpy(&at, data, 4);
		for (unsigned int i = 0; i < data[4] % 16 + 1u; i++)
			copy[(at + i) % base_size] = data[5] + i * (data[4] >> 4);
	}
	path = file_of(copy, base_size);
	free(copy);
	if (!opener_open(&o, path, false, &fresh))
		read_tables(o.db);
	opener_close(&o);
	append(path);
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		char side[80];

		snprintf(side, sizeof(side), "%s%s", path, sides[i]);
		unlink(side);
	}
	return 0;
}
#endif
