// SPDX-License-Identifier: GPL-3.0-only
/* detect.c - storage system of each process of a run: from the rules to the records. */
#include <errno.h>
#include <stdlib.h>
#include "detect_parts.h"

int detect_new(struct detect **out, const char *const *files, size_t n)
{
	struct detect *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return fail(ENOMEM, "detection of storage systems");
	d->seen.size = sizeof(struct seen);
	d->file.size = sizeof(struct known);
	return systems_open(&d->db, files, n);
}

static void free_seen(void *seen)
{
	free(((struct seen *)seen)->match);
}

void detect_free(struct detect *d)
{
	if (!d)
		return;
	id_table_free(&d->seen, free_seen);
	systems_close(d->db);
	detect_files_free(d);
	HASH_FREE(d->threads);
	free(d->changed);
	free(d->again);
	free(d);
}

int detect_only(struct detect *d, const char *system)
{
	d->only = systems_name(d->db, system);
	return d->only ? 0 : -ENOENT;
}

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

void detect_process(struct detect *d, const struct iot_proc *p, struct rec_process *r)
{
	struct seen *s = detect_seen(d, p->id);
	const struct sys_match *m;

	if (!s)
		s = detect_decide(d, p);
	if (s && !s->over && p->flags & PROC_EXITED)
		detect_end(d, p->id);
	m = s ? s->match : NULL;
	if (!m)
		return;
	if (p->flags & PROC_EXITED)
		s->over = true; /* its match is kept for sums that are still to come */
	r->container = text_or_null(m->container);
	if (!m->system && !m->claim)
		return;
	systems_why(m, d->why, sizeof(d->why));
	r->matched = text_or_null(d->why);
	if (!m->system)
		return;
	r->system = m->system;
	r->role = text_or_null(m->role);
	r->instance = text_or_null(m->instance);
}
