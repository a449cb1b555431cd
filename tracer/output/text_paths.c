// SPDX-License-Identifier: GPL-3.0-only
/* text_paths.c - paths of files and calls for the lines of text.c. */
#include <errno.h>
#include <string.h>
#include "hash.h"
#include "text_names.h"
#include "text_paths.h"
#include "tracer.h"

/* Calls that wait for their events. Some never come: a filter left them out, or the ring was
 * full. */
#define MOST_CALLS 65536

struct call_key {
	u64 ts_ns;
	u32 tid, pad;
};

struct text_call {
	struct call_key key;
	UT_hash_handle hh;
	char *text[TEXT_PATHS];
};

void text_paths_done(struct text_paths *p, struct text_call *c)
{
	if (!c)
		return;
	HASH_DEL(p->calls, c);
	for (size_t i = 0; i < TEXT_PATHS; i++)
		free(c->text[i]);
	free(c);
}

void text_paths_free(struct text_paths *p)
{
	struct text_call *c, *next;

	HASH_ITER(hh, p->calls, c, next)
		text_paths_done(p, c);
	for (size_t i = 0; i < p->room_file; i++)
		free(p->file[i]);
	free(p->file);
}

int text_paths_call(struct text_paths *p, const struct rec_event_path *r)
{
	const char *text[TEXT_PATHS] = { r->path, r->path2, r->name };
	struct text_call *c, *was;

	if (HASH_COUNT(p->calls) == MOST_CALLS)
		text_paths_done(p, p->calls);
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->key.ts_ns = r->ts_ns;
	c->key.tid = r->tid;
	HASH_REPLACE(hh, p->calls, key, sizeof(c->key), c, was);
	if (was) {
		for (size_t i = 0; i < TEXT_PATHS; i++)
			free(was->text[i]);
		free(was);
	}
	for (size_t i = 0; i < TEXT_PATHS; i++)
		if (text[i] && !(c->text[i] = text_escape(text[i], TEXT_PATH_MAX)))
			return -ENOMEM;
	return 0;
}

int text_paths_file(struct text_paths *p, const struct rec_file *r)
{
	if (!r->path)
		return 0;
	while (r->id >= p->room_file) {
		size_t old = p->room_file;

		if (grow((void **)&p->file, p->room_file, &p->room_file, sizeof(*p->file)))
			return -ENOMEM;
		memset(p->file + old, 0, (p->room_file - old) * sizeof(*p->file));
	}
	free(p->file[r->id]);
	p->file[r->id] = text_escape(r->path, TEXT_PATH_MAX);
	return p->file[r->id] ? 0 : -ENOMEM;
}

struct text_call *text_paths_of(const struct text_paths *p, const struct iot_event *e,
				const char *text[TEXT_PATHS])
{
	struct call_key key = { .ts_ns = e->ts_ns, .tid = e->tid };
	struct text_call *c = NULL;

	if (p->calls)
		HASH_FIND(hh, p->calls, &key, sizeof(key), c);
	for (size_t i = 0; i < TEXT_PATHS; i++)
		text[i] = c ? c->text[i] : NULL;
	if (!text[0] && e->file && e->file < p->room_file)
		text[0] = p->file[e->file];
	return c;
}
