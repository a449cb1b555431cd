// SPDX-License-Identifier: GPL-3.0-only
/* text.c - events as lines for grep and awk; iot-trace(8) documents both styles.
 *
 * A line carries the time at which its operation ended. Processors deliver slightly out of order,
 * so lines wait 100 ms and are sorted; a later one gets the time of the line before it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "args.h"
#include "out.h"
#include "text_parts.h"

#define HOLD_NS (NSEC / 10)
#define MAX_HELD 65536
#define BUFFER (1u << 20)
#define LINE_MAX_BYTES 1536
#define MOST_LINES 5            /* of an event */
#define OP_NAME_MAX 32

static const struct {
	void (*header)(struct text *);
	void (*event)(struct text *, const struct iot_event *);
} styles[] = {
	[TEXT_TRACE] = { text_trace_header, text_trace_event },
	[TEXT_TABLE] = { text_table_header, text_table_event },
};

static int text_flush(struct text *t)
{
	int err = out_write(t->fd, t->buf, t->n);

	t->n = 0;
	if (err && err != -EPIPE)
		fail(0, "cannot write %s: %s", t->name, out_error(err));
	return err;
}

/* Looks up the paths of an event. Returns the bytes that its lines have at most. */
static size_t room_for(struct text *t, const struct iot_event *e, struct text_call **call)
{
	size_t len = LINE_MAX_BYTES;

	if (t->has_paths)
		*call = text_paths_of(&t->paths, e, t->path);
	for (size_t i = 0; i < TEXT_PATHS; i++)
		len += t->path[i] ? strlen(t->path[i]) : 0;
	return MOST_LINES * len;
}

/* Writes the oldest event. */
static int release_one(struct text *t)
{
	const struct held *h = &t->held[t->n_done++];
	struct text_call *call = NULL;
	size_t room;
	int err = 0;

	if (h->end_ns > t->last_ns)
		t->last_ns = h->end_ns;
	room = room_for(t, &t->slots[h->slot], &call);
	if (t->n + room > BUFFER)
		err = text_flush(t);
	styles[t->style].event(t, &t->slots[h->slot]);
	text_paths_done(&t->paths, call);
	t->free_slots[MAX_HELD - (t->n_held - t->n_done) - 1] = h->slot;
	return err;
}

/* Writes events that ended at `until_ns` or before. */
static int release(struct text *t, u64 until_ns)
{
	int err = 0;

	while (!err && t->n_done < t->n_held && t->held[t->n_done].end_ns <= until_ns)
		err = release_one(t);
	return err;
}

static int release_old(struct text *t)
{
	u64 since = clock_now(CLOCK_MONOTONIC) - t->start_ns;

	return release(t, since > HOLD_NS ? since - HOLD_NS : 0);
}

/* The new event is nearly always the newest, so the insertion from the end is short. */
static void hold(struct text *t, const struct iot_event *e)
{
	u64 end_ns = e->ts_ns + e->dur_ns;
	size_t i;
	u32 slot;

	if (t->n_held == 2 * MAX_HELD) {
		t->n_held -= t->n_done;
		memmove(t->held, t->held + t->n_done, t->n_held * sizeof(*t->held));
		t->n_done = 0;
	}
	slot = t->free_slots[MAX_HELD - (t->n_held - t->n_done) - 1];
	t->slots[slot] = *e;
	for (i = t->n_held++; i > t->n_done && t->held[i - 1].end_ns > end_ns; i--)
		t->held[i] = t->held[i - 1];
	t->held[i] = (struct held){ end_ns, slot };
}

static int text_events(struct sink *s, const struct iot_event *e, size_t n)
{
	struct text *t = (struct text *)s;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (e[i].kind >= KIND_MAX)
			continue;
		/* flood: the oldest event is written early */
		if (t->n_held - t->n_done == MAX_HELD)
			err = release_one(t);
		hold(t, &e[i]);
	}
	return err ? err : release_old(t);
}

static void learn_op(struct text *t, const struct rec_op_name *name)
{
	bool uring = !strcmp(name->scope, "uring");
	char **at = uring ? t->uring_ops : t->drops;

	if (name->op >= N_OF(t->drops) || !(t->whole >> (uring ? LAYER_URING : LAYER_NET) & 1))
		return;
	free(at[name->op]);
	at[name->op] = strndup(name->name, OP_NAME_MAX);
}

static int learned(const struct text *t, int err)
{
	return err ? fail(ENOMEM, "paths of %s", t->name) : 0;
}

static int text_record(struct sink *s, enum rec_type type, const void *rec)
{
	struct text *t = (struct text *)s;
	const struct rec_run *run = rec;

	switch (type) {
	case REC_run:
		t->wall_ns = run->wall_ns;
		t->start_ns = run->boot_ns;
		t->whole = args_layers(run->whole);
		t->has_paths = t->whole & (1u << LAYER_VFS | 1u << LAYER_CACHE | 1u << LAYER_URING);
		t->vfs_measured = strstr(run->layers, text_layers[LAYER_VFS].name);
		styles[t->style].header(t);
		return 0;
	case REC_op_name:
		learn_op(t, rec);
		return 0;
	case REC_event_path:
		return t->has_paths ? learned(t, text_paths_call(&t->paths, rec)) : 0;
	case REC_file:
		if (t->has_paths && text_paths_file(&t->paths, rec))
			return learned(t, -ENOMEM);
		return text_learn(&t->names, type, rec);
	default:
		return text_learn(&t->names, type, rec);
	}
}

static int text_commit(struct sink *s)
{
	struct text *t = (struct text *)s;
	int err = release_old(t);

	return err ? err : text_flush(t);
}

static int text_close(struct sink *s, bool complete)
{
	struct text *t = (struct text *)s;
	int err = complete ? release(t, ~0ull) : 0;

	if (!err && complete)
		err = text_flush(t);
	free(t->slots);
	free(t->free_slots);
	free(t->held);
	text_names_free(&t->names);
	text_paths_free(&t->paths);
	for (size_t i = 0; i < N_OF(t->uring_ops); i++) {
		free(t->uring_ops[i]);
		free(t->drops[i]);
	}
	free(t->buf);
	free(t->name);
	free(t);
	return err;
}

int sink_text(struct sink **out, int fd, const char *name, enum text_style style)
{
	struct text *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return fail(ENOMEM, "%s", name);
	t->fd = fd;
	t->style = style;
	t->second = -1;
	t->name = strdup(name);
	t->names.output = t->name;
	t->slots = calloc(MAX_HELD, sizeof(*t->slots));
	t->free_slots = calloc(MAX_HELD, sizeof(*t->free_slots));
	t->held = calloc(2 * MAX_HELD, sizeof(*t->held));
	t->buf = malloc(BUFFER);
	t->sink = (struct sink){ t->name, text_record, text_events, text_commit, text_close };
	*out = &t->sink;
	for (u32 i = 0; t->free_slots && i < MAX_HELD; i++)
		t->free_slots[i] = i;
	if (t->name && t->slots && t->free_slots && t->held && t->buf)
		return 0;
	text_close(&t->sink, false);
	*out = NULL;
	return fail(ENOMEM, "%s", name);
}
