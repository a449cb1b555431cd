/* SPDX-License-Identifier: GPL-3.0-only */
/* read.c - JSON Lines from a descriptor into a sink: lines, batches, the order of records,
 * commits. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include "clock.h"
#include "scan.h"

#define READ_BYTES (1 << 20)
#define LINE_BYTES_MAX (8 << 20)  /* a command line of ARG_MAX, escaped, fits */
#define LOOK_MS 100
#define COMMIT_LINES (1 << 18)    /* bounds what a crash loses, and the log that SQLite keeps */

volatile sig_atomic_t stream_interrupted;

struct reader {
	int fd;
	const char *name;
	struct sink *to;
	char *buf;
	size_t size, from, len;         /* buf[from .. len) is not parsed yet */
	unsigned long long number;      /* of the line */
	bool open, ended;               /* inside a run; the last run had its record `end` */
	struct line line;
	struct iot_event batch[IOT_EVENT_BATCH];
	size_t n;
	unsigned long long uncommitted;
	time_t committed;
	bool careful;
};

static int give_events(struct reader *r)
{
	size_t n = r->n;

	r->n = 0;
	return n ? r->to->events(r->to, r->batch, n) : 0;
}

static int commit(struct reader *r)
{
	int err = give_events(r);

	r->uncommitted = 0;
	r->committed = clock_seconds();
	return err ? err : r->to->commit(r->to);
}

/* Reports a line that cannot be read, and commits the lines before it. */
static int bad_line(struct reader *r, const char *why)
{
	int err = r->open || r->ended ? commit(r) : 0;

	return err ? err : fail_as(-EINVAL, 0, "%s: line %llu %s", r->name, r->number, why);
}

static int give_record(struct reader *r)
{
	int err;

	if (r->line.type == REC_run && r->open)
		return bad_line(r, "begins a run inside a run");
	if (r->line.type != REC_run && !r->open)
		return bad_line(r, r->ended ? "follows the end of the run" : "comes before the record 'run'");
	err = give_events(r);
	if (!err)
		err = r->to->record(r->to, r->line.type, &r->line.present);
	if (!err && r->line.type == REC_run)
		r->open = true, r->ended = false;
	if (!err && r->line.type == REC_end) {
		r->open = false, r->ended = true;
		err = commit(r);
	}
	return err;
}

static int give_event(struct reader *r)
{
	if (!r->open)
		return bad_line(r, r->ended ? "follows the end of the run" : "comes before the record 'run'");
	return ++r->n == IOT_EVENT_BATCH ? give_events(r) : 0;
}

static bool is_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p == end;
}

static int read_line(struct reader *r, const char *p, const char *end)
{
	int err;

	r->number++;
	r->uncommitted++;
	if (end - p > LINE_BYTES_MAX)
		return bad_line(r, "is longer than 8 MiB");
	if (!r->careful && scan_event(p, end, &r->batch[r->n]))
		return give_event(r);
	if (is_blank(p, end))
		return 0;
	err = parse_line(p, end, &r->line);
	if (err)
		return bad_line(r, r->line.why);
	if (r->line.type != REC_EVENT)
		return give_record(r);
	r->batch[r->n] = r->line.event;
	return give_event(r);
}

static int read_lines(struct reader *r)
{
	int err = 0;

	while (!err) {
		char *p = r->buf + r->from, *end = memchr(p, '\n', r->len - r->from);

		if (!end)
			return 0;
		err = read_line(r, p, end);
		r->from = end + 1 - r->buf;
	}
	return err;
}

/* Makes room behind the bytes that are not parsed yet, with slack for the scanner. */
static int make_room(struct reader *r)
{
	size_t rest = r->len - r->from;
	char *bigger;

	memmove(r->buf, r->buf + r->from, rest);
	r->from = 0;
	r->len = rest;
	if (rest + READ_BYTES / 2 <= r->size)
		return 0;
	if (rest > LINE_BYTES_MAX) {
		r->number++;
		return bad_line(r, "is longer than 8 MiB");
	}
	bigger = realloc(r->buf, 2 * r->size + LINE_SLACK);
	if (!bigger)
		return fail_as(-ENOMEM, 0, "%s: no memory for line %llu", r->name, r->number + 1);
	r->buf = bigger;
	r->size *= 2;
	return 0;
}

/* Reads the last line, which may lack its newline. If it cannot be read the stream was
 * truncated. */
static int read_rest(struct reader *r)
{
	char *p = r->buf + r->from, *end = r->buf + r->len;
	int err;

	if (p == end)
		return 0;
	memset(end, '\n', LINE_SLACK);
	if (is_blank(p, end) || !r->open || parse_line(p, end, &r->line) != -EINVAL || !r->line.cut)
		return read_line(r, p, end);
	err = commit(r);
	if (err)
		return err;
	fail_as(0, 0, "%s: line %llu ends in the middle of a record: run marked incomplete", r->name,
		r->number + 1);
	return 1;
}

/* Waits for input without blocking in read(2): a signal that came before read() would not end
 * it. */
static bool wait_input(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!stream_interrupted)
		if (poll(&p, 1, LOOK_MS) > 0) /* read(2) reports errors */
			return true;
	errno = EINTR;
	return false;
}

static int read_all(struct reader *r)
{
	int err;

	for (;;) {
		ssize_t n;

		err = make_room(r);
		if (err)
			return err;
		n = wait_input(r->fd) ? read(r->fd, r->buf + r->len, r->size - r->len) : -1;
		if (n < 0 && errno == EINTR && !stream_interrupted)
			continue;
		if (n < 0) {
			err = errno;
			fail_as(0, 0, "%s: cannot read: %s", r->name, strerror(err));
			return commit(r) ? -EIO : -err;
		}
		if (!n)
			return read_rest(r);
		r->len += n;
		err = read_lines(r);
		if (!err && r->open && r->uncommitted &&
		    (r->uncommitted >= COMMIT_LINES || clock_seconds() > r->committed))
			err = commit(r);
		if (err)
			return err;
	}
}

static int finish(struct reader *r)
{
	int err = commit(r);

	if (err)
		return err;
	if (!r->open && !r->ended)
		return fail_as(-ENODATA, 0, "%s: holds no run", r->name);
	if (r->ended)
		return 0;
	fail_as(0, 0, "%s: has no record 'end': run marked incomplete", r->name);
	return 1;
}

int jsonl_read_by(int fd, const char *name, struct sink *to, bool careful)
{
	auto_free struct reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return fail_as(-ENOMEM, 0, "%s: no memory to read it", name);
	r->fd = fd;
	r->name = name;
	r->to = to;
	r->size = READ_BYTES;
	r->careful = careful;
	r->committed = clock_seconds();
	r->buf = malloc(r->size + LINE_SLACK);
	err = r->buf ? read_all(r) : fail_as(-ENOMEM, 0, "%s: no memory to read it", name);
	if (!err)
		err = finish(r);
	line_free(&r->line);
	free(r->buf);
	return err;
}

int jsonl_read(int fd, const char *name, struct sink *to)
{
	return jsonl_read_by(fd, name, to, false);
}
