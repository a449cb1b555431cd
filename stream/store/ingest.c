/* SPDX-License-Identifier: GPL-3.0-only */
/* ingest.c - JSON Lines into a store. */
#include "stream.h"

/* A sink that opens the store at the first record: a stream that cannot be read makes no store. */
struct late {
	struct sink sink;
	struct sink *to;
};

static int late_open(struct late *l)
{
	return l->to ? 0 : sink_store(&l->to, l->sink.name);
}

static int late_record(struct sink *s, enum rec_type type, const void *rec)
{
	struct late *l = (struct late *)s;
	int err = late_open(l);

	return err ? err : l->to->record(l->to, type, rec);
}

static int late_events(struct sink *s, const struct iot_event *e, size_t n)
{
	struct late *l = (struct late *)s;
	int err = late_open(l);

	return err ? err : l->to->events(l->to, e, n);
}

static int late_commit(struct sink *s)
{
	struct late *l = (struct late *)s;

	return l->to ? l->to->commit(l->to) : 0;
}

int ingest(int fd, const char *name, const char *store_path)
{
	struct late l = { .sink = { .name = store_path, .record = late_record, .events = late_events,
				    .commit = late_commit } };
	int err = jsonl_read(fd, name, &l.sink), closed = l.to ? l.to->close(l.to, !err) : 0;

	return err ? err : closed;
}
