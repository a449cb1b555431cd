// SPDX-License-Identifier: GPL-3.0-only
/* anonymous_sink.c - a sink in front of another that replaces the names in each record. Events have
 * none. */
#include <errno.h>
#include <stdio.h>
#include "anonymous.h"
#include "anonymous_parts.h"
#include "table.h"

#define COLUMNS_MAX 64

struct filter {
	struct sink sink;
	struct sink *to;
	const struct anonymizer *names;
};

static struct anonymous_row row_of(enum rec_type type, const void *rec)
{
	struct anonymous_row row = { 0 };

	if (type == REC_process)
		row.kthread = ((const struct rec_process *)rec)->kthread;
	if (type == REC_machine) {
		row.part = ((const struct rec_machine *)rec)->part;
		row.key = ((const struct rec_machine *)rec)->key;
	}
	return row;
}

static int give_record(struct sink *s, enum rec_type type, const void *rec)
{
	struct filter *f = (struct filter *)s;
	const struct table *t = table_of(type);
	struct anonymous_row row = row_of(type, rec);
	auto_free char *copy = malloc(t->size);
	char *made[COLUMNS_MAX];
	size_t n = 0;
	int err = copy ? 0 : -ENOMEM;

	if (copy)
		memcpy(copy, rec, t->size);
	for (size_t i = 0; !err && i < t->n; i++) {
		const char **at = (const char **)(copy + t->cols[i].offset);

		if (t->cols[i].type != TYPE_STR || !*at)
			continue;
		made[n] = anonymous_text(f->names, type, t->cols[i].name, *at, &row);
		*at = made[n];
		err = made[n++] ? 0 : -ENOMEM;
	}
	err = err ? fail(ENOMEM, "names") : f->to->record(f->to, type, copy);
	while (n--)
		free(made[n]);
	return err;
}

static int give_events(struct sink *s, const struct iot_event *e, size_t n)
{
	struct filter *f = (struct filter *)s;

	return f->to->events(f->to, e, n);
}

static int give_commit(struct sink *s)
{
	struct filter *f = (struct filter *)s;

	return f->to->commit(f->to);
}

static int end_filter(struct sink *s, bool complete)
{
	free(s);
	return 0;
}

int sink_anonymous(struct sink **out, struct sink *to, const struct anonymizer *names)
{
	struct filter *f = calloc(1, sizeof(*f));

	if (!f)
		return fail(ENOMEM, "names");
	f->sink = (struct sink){ to->name, give_record, give_events, give_commit, end_filter };
	f->to = to;
	f->names = names;
	*out = &f->sink;
	return 0;
}
