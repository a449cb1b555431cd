// SPDX-License-Identifier: GPL-3.0-only
/* run_files.c - chooses the files that the outputs name. With --system the kernel side sends those
 * of all processes; files that the system never used are left out.
 */
#include <stdlib.h>
#include <string.h>
#include "run_parts.h"

/* more are given at once: the system may use them later, and then their names must be there */
#define HELD_MAX 65536

/* A file that no wanted process has used. */
struct held {
	struct rec_file rec; /* owns its path */
};

static void held_free(void *held)
{
	free((char *)((struct held *)held)->rec.path);
}

/* Returns false when there is no room. */
static bool hold(struct run *r, const struct rec_file *rec)
{
	struct held *h = id_table_find(&r->held, rec->id);

	if (!h && (r->n_held >= HELD_MAX || !(h = id_table_make(&r->held, rec->id))))
		return false;
	r->n_held += !h->rec.id;
	free((char *)h->rec.path);
	h->rec = *rec;
	h->rec.path = rec->path ? strdup(rec->path) : NULL;
	return true;
}

void run_file(struct run *r, const struct rec_file *rec)
{
	run_judge_file(r, rec);
	if (!r->opts->system || run_uses(r, rec->id) || !hold(r, rec))
		take_error(r, r->sink->record(r->sink, REC_file, rec));
}

void run_use(struct run *r, u32 file)
{
	struct held *h;

	if (!r->opts->system || !file || run_uses(r, file) || !id_table_make(&r->files, file))
		return;
	h = id_table_find(&r->held, file);
	if (!h)
		return;
	take_error(r, r->sink->record(r->sink, REC_file, &h->rec));
	held_free(h);
	id_table_drop(&r->held, file);
	r->n_held--;
}

bool run_uses(const struct run *r, u32 file)
{
	return id_table_find(&r->files, file);
}

void run_files_begin(struct run *r)
{
	r->held.size = sizeof(struct held);
}

void run_files_free(struct run *r)
{
	id_table_free(&r->files, NULL);
	id_table_free(&r->chosen, NULL);
	free(r->waiting);
	id_table_free(&r->held, held_free);
}
