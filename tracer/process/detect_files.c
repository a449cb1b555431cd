// SPDX-License-Identifier: GPL-3.0-only
/* detect_files.c - component of each file of a run, and what a file says about the process that
 * writes to it.
 */
#include <stdlib.h>
#include <string.h>
#include "detect_parts.h"
#include "hash.h"

#define PLACES_MAX 4096        /* data roots remembered, at most */
#define LATE_MAX 4096          /* files without a component that are examined again, at most */
#define LATE_TRIES 3           /* attempts, a second apart */
#define DEVICES_MAX 4096       /* devices whose path is kept for later users, at most */

static void free_known(void *known)
{
	free(((struct known *)known)->path);
}

void detect_files_free(struct detect *d)
{
	while (d->places) {
		struct place *p = d->places;

		d->places = p->next;
		free(p);
	}
	id_table_free(&d->file, free_known);
	for (size_t i = 0; i < d->n_late; i++)
		free((char *)d->late[i].rec.path);
	free(d->late);
	free((char *)d->late_rec.path);
}

void detect_end(struct detect *d, u32 proc)
{
	struct seen *s = detect_seen(d, proc);
	struct sys_view v;
	struct sys_file f;

	for (size_t i = 0; i < d->n_late; i++) {
		const struct late *l = &d->late[i];

		if (l->user != proc || !l->writes)
			continue;
		v = detect_view(d, s, l->outside);
		v.last = true;
		systems_file(d->db, l->rec.path, v, s->match, &f);
		if (f.component && f.root[0])
			detect_learn(d, proc, &f);
	}
}

static bool is_same_place(const struct sys_file *a, const struct sys_file *b)
{
	return a->system == b->system && a->engine == b->engine && a->by == b->by &&
		!strcmp(a->root, b->root) &&
		!strcmp(a->where, b->where);
}

/* Position for one more file in the clock: that of a file which was not used since the hand passed
 * it. */
static u32 *known_place(struct detect *d)
{
	struct known *k;

	if (d->n_known < KNOWN_MAX)
		return &d->known[d->n_known++];
	for (;; d->hand = (d->hand + 1) % KNOWN_MAX) {
		k = id_table_find(&d->file, d->known[d->hand]);
		if (!k || !k->used)
			break;
		k->used = false;
	}
	if (k) {
		d->n_devices -= !!k->path;
		free(k->path);
	}
	id_table_drop(&d->file, d->known[d->hand]);
	return &d->known[d->hand];
}

static struct known *known_make(struct detect *d, u32 id)
{
	struct known *k = id_table_find(&d->file, id);
	u32 *place = k ? NULL : known_place(d);

	if (k)
		return k;
	*place = id;
	return id_table_make(&d->file, id);
}

/* Remembers, for events, the component of a file and what it says about its writer. */
static void remember(struct detect *d, u32 id, const struct sys_file *f)
{
	struct place *p = d->places;
	struct known *k;

	k = f->component || f->root[0] || f->threads ? known_make(d, id) :
		id_table_find(&d->file, id);
	if (!k)
		return;
	d->n_devices -= !!k->path;
	free(k->path);
	*k = (struct known){ .component = f->component, .threads = f->threads ||
		systems_threads_tell(d->db, f->component) };
	if (!f->root[0])
		return;
	while (p && !is_same_place(&p->file, f))
		p = p->next;
	if (!p && d->n_places < PLACES_MAX && (p = malloc(sizeof(*p)))) {
		*p = (struct place){ *f, d->places };
		d->places = p;
		d->n_places++;
	}
	k->place = p;
}

/* The path is the first `len` bytes of `path`. */
static void look_later(struct detect *d, const struct rec_file *r, u32 user, bool writes,
	bool outside, const char *path, size_t len)
{
	char *copy;

	if (d->n_late >= LATE_MAX || grow((void **)&d->late, d->n_late, &d->late_room,
	    sizeof(*d->late)))
		return;
	copy = strndup(path, len);
	if (!copy)
		return;
	d->late[d->n_late] = (struct late){ .rec = *r, .user = user, .writes = writes,
		.outside = outside };
	d->late[d->n_late++].rec.path = copy;
}

/* 0 means "unused". */
static u64 path_hash(const char *path, size_t len)
{
	return hash_bytes(HASH_START, path, len) | 1;
}

static void note_unclear(struct detect *d, const struct iot_path *p, const struct rec_file *r)
{
	u64 h = path_hash(r->path, strlen(r->path));

	d->unclear[h / 2 % UNCLEAR] = (struct unclear){ .path = h, .rec = *r, .user = p->user,
		.writes = p->writes };
}

/* A file next to a database, such as a journal, identifies the database file. */
static void tell_main(struct detect *d, u32 dev, const char *path, size_t len)
{
	u64 h = path_hash(path, len);
	struct unclear *s = &d->unclear[h / 2 % UNCLEAR];

	if (s->path != h || s->rec.dev != dev)
		return;
	look_later(d, &s->rec, s->user, s->writes, false, path, len);
	s->path = 0;
	d->told = true;
}

/* Examines one file again. Returns true when that is finished: it is known, or given up. */
static bool look_again(struct detect *d, struct late *l)
{
	const struct seen *s = detect_seen(d, l->user);
	struct sys_file f;

	systems_file(d->db, l->rec.path, detect_view(d, s, l->outside), s ? s->match : NULL, &f);
	if (!f.component)
		return ++l->tries >= LATE_TRIES;
	remember(d, l->rec.id, &f);
	if (l->writes && f.root[0])
		detect_learn(d, l->user, &f);
	l->rec.component = f.threads ? NULL : f.component;
	return true;
}

const struct rec_file *detect_late(struct detect *d)
{
	while (d->at_late < d->n_late) {
		struct late *l = &d->late[d->at_late];

		if (!look_again(d, l)) {
			d->at_late++;
			continue;
		}
		free((char *)d->late_rec.path);
		d->late_rec = l->rec;
		*l = d->late[--d->n_late];
		if (d->late_rec.component)
			return &d->late_rec;
	}
	d->at_late = 0;
	return NULL;
}

const struct rec_file *detect_told(struct detect *d)
{
	const struct rec_file *r = NULL;

	if (d->told && d->n_late) {
		d->at_late = d->n_late - 1;
		r = detect_late(d);
		d->at_late = 0;
	}
	d->told = false;
	return r;
}

/* A device belongs to the process that writes to it, which need not be its first user. */
static void keep_device(struct detect *d, const struct iot_path *p, const char *path)
{
	struct known *k;

	if (!p->node || d->n_devices >= DEVICES_MAX)
		return;
	k = known_make(d, p->file);
	if (k && !k->component && !k->path && (k->path = strdup(path)))
		d->n_devices++;
}

void detect_file(struct detect *d, const struct iot_path *p, struct rec_file *r)
{
	const struct seen *s = detect_seen(d, p->user);
	struct sys_file f;

	if (!r->path)
		return;
	systems_file(d->db, r->path, detect_view(d, s, p->whole == PATH_WHOLE_OUTSIDE),
		s ? s->match : NULL, &f);
	r->component = f.threads ? NULL : f.component;
	remember(d, p->file, &f);
	keep_device(d, p, r->path);
	if (!f.component && !p->node) {
		if (p->writes)
			look_later(d, r, p->user, true, p->whole == PATH_WHOLE_OUTSIDE, r->path,
				strlen(r->path));
		note_unclear(d, p, r);
	}
	if (f.main)
		tell_main(d, p->dev, r->path, f.main);
	if (p->writes && f.root[0])
		detect_learn(d, p->user, &f);
}

/* Asks for another user of a device, which may identify what the first user did not. */
static void ask_again(struct detect *d, struct known *k, u32 proc)
{
	const struct seen *s = detect_seen(d, proc);
	struct sys_file f;

	k->asked = proc;
	if (!s || !s->match || !s->match->system)
		return;
	systems_file(d->db, k->path, detect_view(d, s, false), s->match, &f);
	if (!f.threads)
		return;
	k->component = f.component;
	k->threads = true;
	free(k->path);
	k->path = NULL;
	d->n_devices--;
}

/* Learns from a file that was seen before. */
static void learn_place(struct detect *d, u32 proc, const struct place *place)
{
	struct seen *s = detect_seen(d, proc);

	if (!s || s->place == place)
		return;
	s->place = place;
	detect_learn(d, proc, &place->file);
}

void detect_use_file(struct detect *d, struct known *k, u32 proc, bool write)
{
	k->used = true;
	if (k->place && write)
		learn_place(d, proc, k->place);
	if (k->path && k->asked != proc)
		ask_again(d, k, proc);
}

void detect_used(struct detect *d, u32 file, u32 proc, bool write)
{
	struct known *k = id_table_find(&d->file, file);

	if (k)
		detect_use_file(d, k, proc, write);
}
