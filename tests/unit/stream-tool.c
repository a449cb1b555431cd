/* SPDX-License-Identifier: GPL-3.0-only */
/* stream-tool.c - the stream library from a shell, for the tests of it.
 *
 * usage: stream-tool ingest STORE [NAME]     JSON Lines from stdin into a store
 *        stream-tool careful STORE [NAME]    the same, never by the fast scanner
 *        stream-tool copy [NAME]             JSON Lines from stdin read and written again to stdout
 *        stream-tool careful-copy [NAME]     the same, never by the fast scanner
 *        stream-tool wide                    as copy, with names on each event line
 *        stream-tool ledger STORE RUN        computes the ledger of a run again from the events in the store
 *        stream-tool scan                    prints how many of the lines on stdin the fast scanner takes
 *        stream-tool check STORE             opens a store for reading
 *        stream-tool open FILE               opens FILE for output and writes "x" to it
 *        stream-tool slow STORE              as ingest, and prints "committed N" after each commit
 *        stream-tool late STORE              as ingest, and commits nothing before the end of the run
 */
#include <fcntl.h>
#include <stdio.h>
#include "dirty.h"
#include "opener.h"
#include "scan.h"

static int into_store(const char *store, const char *name, bool careful)
{
	struct sink *to = NULL;
	int err = sink_store(&to, store), closed;

	if (err)
		return err;
	err = jsonl_read_by(0, name, to, careful);
	closed = to->close(to, !err);
	return err ? err : closed;
}

static int copy(const char *name, bool careful, bool wide)
{
	struct sink *to = NULL;
	int err = (wide ? sink_jsonl_wide : sink_jsonl)(&to, 1, "stdout"), closed;

	if (err)
		return err;
	err = jsonl_read_by(0, name, to, careful);
	closed = to->close(to, !err);
	return err ? err : closed;
}

/* A sink in front of the store that tells of its commits. */
static struct sink *inner;
static unsigned long long given;

static int told_record(struct sink *s, enum rec_type type, const void *rec)
{
	return inner->record(inner, type, rec);
}

static int told_events(struct sink *s, const struct iot_event *e, size_t n)
{
	int err = inner->events(inner, e, n);

	given += n;
	return err ? err : s->commit(s);
}

static int told_commit(struct sink *s)
{
	int err = inner->commit(inner);

	if (!err)
		printf("committed %llu\n", given);
	fflush(stdout);
	return err;
}

static int late_events(struct sink *s, const struct iot_event *e, size_t n)
{
	return inner->events(inner, e, n);
}

static int late_commit(struct sink *s)
{
	return 0;
}

static int by_way_of(struct sink *s, const char *store)
{
	int err = sink_store(&inner, store), closed;

	if (err)
		return err;
	err = jsonl_read(0, "stdin", s);
	closed = inner->close(inner, !err);
	return err ? err : closed;
}

static int scan(void)
{
	static char line[1 << 16];
	unsigned long n = 0, all = 0;
	struct iot_event e;

	for (; fgets(line, sizeof(line) - LINE_SLACK, stdin); all++)
		n += scan_event(line, line + strlen(line) - 1, &e);
	printf("%lu of %lu\n", n, all);
	return 0;
}

static int check(const char *store)
{
	struct opener o;
	bool fresh;
	int err = opener_open(&o, store, false, &fresh);

	opener_close(&o);
	return err;
}

static int ledger_again(const char *store, long long run)
{
	struct opener o;
	bool fresh;
	int err = opener_open(&o, store, true, &fresh) ?: ledger_build(o.db, run);

	opener_close(&o);
	return err;
}

static int open_file(const char *path)
{
	struct place at;
	int fd = output_open(path, O_WRONLY | O_TRUNC, &at);

	place_leave(&at);

	if (fd < 0)
		return fd;
	return write(fd, "x", 1) == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : NULL,
		   *name = argc > 3 ? argv[3] : "stdin";
	int err = -1;

	if (!strcmp(verb, "ingest") && arg)
		err = argc > 3 ? into_store(arg, name, false) : ingest(0, name, arg);
	else if (!strcmp(verb, "careful") && arg)
		err = into_store(arg, name, true);
	else if (!strcmp(verb, "copy"))
		err = copy(arg ? arg : "stdin", false, false);
	else if (!strcmp(verb, "careful-copy"))
		err = copy(arg ? arg : "stdin", true, false);
	else if (!strcmp(verb, "wide"))
		err = copy("stdin", false, true);
	else if (!strcmp(verb, "ledger") && argc > 3)
		err = ledger_again(arg, atoll(argv[3]));
	else if (!strcmp(verb, "scan"))
		err = scan();
	else if (!strcmp(verb, "check") && arg)
		err = check(arg);
	else if (!strcmp(verb, "open") && arg)
		err = open_file(arg);
	else if (!strcmp(verb, "slow") && arg)
		err = by_way_of(&(struct sink){ "told", told_record, told_events, told_commit, NULL }, arg);
	else if (!strcmp(verb, "late") && arg)
		err = by_way_of(&(struct sink){ "late", told_record, late_events, late_commit, NULL }, arg);
	else
		return fprintf(stderr,
			       "usage: stream-tool ingest|careful|copy|careful-copy|scan|check|ledger|open|slow|late ...\n"),
		       2;
	return err < 0 ? 1 : err ? 3 : 0;
}
