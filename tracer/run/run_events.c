// SPDX-License-Identifier: GPL-3.0-only
/* run_events.c - passes events to the outputs: in batches, and only those of the layers that were
 * asked for, and that --only chooses.
 */
#include <errno.h>
#include <fnmatch.h>
#include "run_parts.h"

void run_flush(struct run *r)
{
	if (!r->n_batch)
		return;
	take_error(r, r->sink->events(r->sink, r->batch, r->n_batch));
	r->events += r->n_batch;
	r->n_batch = 0;
}

/* - */
void run_give(struct run *r, const struct iot_event *e)
{
	r->batch[r->n_batch++] = *e;
	if (r->n_batch == IOT_EVENT_BATCH)
		run_flush(r);
}

static const u8 kind_layers[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = LAYER_##layer,
#include "kinds.def"
};

/* A file that the filters of --only choose, or not. */
struct chosen {
	bool is;
};

static bool file_chosen(const struct only *o, const struct rec_file *rec)
{
	bool inode = !o->n_inodes, path = !o->n_paths;

	for (size_t i = 0; i < o->n_inodes; i++)
		inode |= o->inodes[i] == rec->ino;
	for (size_t i = 0; i < o->n_paths && rec->path; i++)
		path |= !fnmatch(o->paths[i], rec->path, 0);
	return inode && path;
}

void run_judge_file(struct run *r, const struct rec_file *rec)
{
	const struct only *o = &r->opts->only;
	struct chosen *c;

	if (!o->n_paths && !o->n_inodes)
		return;
	r->chosen.size = sizeof(*c);
	c = id_table_make(&r->chosen, rec->id);
	if (c)
		c->is = file_chosen(o, rec);
	else
		take_error(r, fail(ENOMEM, "files that --only chooses"));
}

bool run_chooses(const struct run *r, const struct iot_event *e, bool *later)
{
	const struct only *o = &r->opts->only;
	const struct iot_only *k = &o->kernel;
	const struct chosen *c;

	if (k->events && (!(k->kinds[e->kind / 64] >> e->kind % 64 & 1) ||
			  (e->size < k->min_size && e->bytes < k->min_size) ||
			  e->dur_ns < k->min_dur_ns))
		return false;
	if (!o->n_paths && !o->n_inodes)
		return true;
	c = e->file ? id_table_find(&r->chosen, e->file) : NULL;
	*later = e->file && !c;
	return c && c->is;
}

void run_wait_file(struct run *r, const struct iot_event *e)
{
	int err = grow((void **)&r->waiting, r->n_waiting, &r->waiting_room, sizeof(*e));

	if (err)
		take_error(r, err);
	else
		r->waiting[r->n_waiting++] = *e;
}

/* Files come in a ring of their own, which is read before that of events: an event may come first,
 * but not by more than one reading. */
void run_give_waiting(struct run *r)
{
	size_t kept = 0;
	bool later;

	for (size_t i = 0; i < r->n_waiting; i++) {
		later = false;
		if (run_chooses(r, &r->waiting[i], &later))
			run_give(r, &r->waiting[i]);
		else if (later && i >= r->n_waited)
			r->waiting[kept++] = r->waiting[i];
	}
	r->n_waiting = r->n_waited = kept;
}

/* The use of io_uring is recorded even where its layer was not asked for: calls did not move all
 * bytes then. */
bool run_keeps(const struct run *r, u32 kind)
{
	return !r->opts->layers || kind == KIND_URING_OTHER || kind >= KIND_MAX ||
		r->opts->layers & 1u << kind_layers[kind];
}
