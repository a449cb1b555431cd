// SPDX-License-Identifier: GPL-3.0-only
/* process_table.c - life and end of each process. Memory grows with the processes alive, and by one
 * bit for every process of the run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hash.h"
#include "process_table.h"
#include "id_table.h"
#include "tracer.h"

/* stand-ins by name and parent; half as many more by name alone; then one for all */
#define FAMILIES 2048
#define STAND_INS (FAMILIES + FAMILIES / 2)
#define STAND_IN_SLOTS 8192     /* size of the hash table that finds them: a power of two */
/* after its end, because a dying process may still look up its number in the kernel */
#define KERNEL_NS (2 * NSEC)
#define NAMES_NS (3 * NSEC)     /* and because its children may ask for their parent */
/* a process that is not wanted may still be recognised as wanted during this time */
#define WAIT_NS (5 * NSEC)
#define TOLD_PART 32768         /* processes in one part of the bit map */

struct life {
	struct iot_proc proc;
	u64 bytes;              /* counted for it in the rounds so far */
	u64 since_ns;           /* CLOCK_MONOTONIC, when it was first seen */
	/* events dropped, and rounds whose sums went to others, before it was wanted */
	u64 forgotten;
	bool row, over; /* row: its row was given; over: it ended, and its fate is decided */
};

/* A process that represents others. */
struct stand_in {
	struct rec_process rec; /* owns its strings */
	bool any_parent, changed;
};

struct gone {
	struct iot_proc proc;
	u64 ns;
};

struct process_table {
	struct process_table_opts o;
	size_t n_seen;
	bool last;              /* no process can be recognised any more */
	struct id_table living;
	u8 **told;              /* bit map by process id: it has sums of its own */
	size_t told_room;
	struct iot_proc *closing; /* ended processes whose fate is open */
	size_t n_closing, closing_room;
	/* in the order in which they ended; the first n_freed have no entry in the kernel any
	 * more */
	struct gone *gone;
	size_t n_gone, n_freed, gone_room;
	struct stand_in stand_in[STAND_INS + 1];
	size_t n_stand_ins;
	u16 slots[STAND_IN_SLOTS]; /* index in stand_in + 1; 0: none */
	struct stand_in *rest;  /* stands in for all others */
};

int process_table_new(struct process_table **out, const struct process_table_opts *o)
{
	struct process_table *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return fail(ENOMEM, "processes");
	l->o = *o;
	l->o.told = o->told ?: PROCESS_TABLE_TOLD;
	l->living.size = sizeof(struct life);
	return 0;
}

static const char **string_of(struct rec_process *r, size_t i)
{
	const char **strings[] = { &r->comm, &r->exe, &r->cmdline, &r->cgroup, &r->container,
		&r->user, &r->system, &r->role, &r->matched, &r->instance };

	return i < N_OF(strings) ? strings[i] : NULL;
}

void process_table_free(struct process_table *l)
{
	const char **s;

	if (!l)
		return;
	for (size_t n = 0; n < l->n_stand_ins; n++)
		for (size_t i = 0; (s = string_of(&l->stand_in[n].rec, i)); i++)
			free((char *)*s);
	for (size_t i = 0; i < l->told_room; i++)
		free(l->told[i]);
	id_table_free(&l->living, NULL);
	free(l->told);
	free(l->closing);
	free(l->gone);
	free(l);
}

/* --- processes with sums of their own --- */

static bool is_told(const struct process_table *l, u32 id)
{
	const u8 *part = id / TOLD_PART < l->told_room ? l->told[id / TOLD_PART] : NULL;

	return part && part[id % TOLD_PART / 8] >> id % 8 & 1;
}

static void set_told(struct process_table *l, u32 id)
{
	size_t at = id / TOLD_PART, old;

	while (at >= l->told_room) {
		old = l->told_room;
		if (grow((void **)&l->told, old, &l->told_room, sizeof(*l->told)))
			return;
		memset(l->told + old, 0, (l->told_room - old) * sizeof(*l->told));
	}
	if (!l->told[at])
		l->told[at] = calloc(1, TOLD_PART / 8);
	if (l->told[at])
		l->told[at][id % TOLD_PART / 8] |= 1 << id % 8;
}

/* --- rows --- */

static void give(struct process_table *l, struct life *f, const struct iot_proc *p,
	const struct rec_process *rec)
{
	if (f && rec)
		f->row = true;
	l->o.row(l->o.arg, p, rec);
}

/* Finds the entry of a process; NULL without memory. Returns false when the process had ended, so
 * that nothing more can be known. */
static bool life_of(struct process_table *l, const struct iot_proc *p, struct life **out)
{
	struct life *f = id_table_find(&l->living, p->id);

	*out = f;
	if (f && (f->over || f->proc.flags & PROC_EXITED))
		return false;
	if (!f && (f = id_table_make(&l->living, p->id)))
		l->n_seen++;
	if (f && !f->since_ns)
		f->since_ns = clock_now(CLOCK_MONOTONIC);
	if (f)
		f->proc = *p;
	*out = f;
	return true;
}

void process_table_see(struct process_table *l, const struct iot_proc *p)
{
	struct life *f;
	const struct rec_process *rec;

	if (!life_of(l, p, &f))
		return;
	rec = names_process(l->o.names, p);
	/* the row of a process that may end soon waits; its names must be kept until then */
	if (!f || f->row || l->o.events || l->n_seen <= l->o.told || !(p->flags & PROC_BORN) ||
	    !names_kept(l->o.names, p->id))
		give(l, f, p, rec);
}

void process_table_change(struct process_table *l, const struct iot_proc *p)
{
	struct life *f = id_table_find(&l->living, p->id);

	if (f && f->row && !probes_folded(l->o.probes, p->id))
		give(l, f, p, names_again(l->o.names, p));
}

/* --- stand-ins --- */

static u64 hash_text(u64 h, const char *s)
{
	return hash_bytes(hash_bytes(h, s, s ? strlen(s) : 0), "\xff", 1);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_alike(const struct stand_in *s, const struct rec_process *r, bool any_parent)
{
	return s->any_parent == any_parent && (any_parent || s->rec.ppid == r->ppid) &&
		s->rec.kthread == r->kthread &&
		same_text(s->rec.comm, r->comm) && same_text(s->rec.system, r->system) &&
		same_text(s->rec.instance, r->instance) &&
		same_text(s->rec.container, r->container) && same_text(s->rec.cgroup, r->cgroup) &&
		s->rec.uid == r->uid;
}

static struct stand_in *stand_in_make(struct process_table *l, const struct rec_process *r)
{
	struct stand_in *s = &l->stand_in[l->n_stand_ins];
	const char **text;

	s->rec = *r;
	for (size_t i = 0; (text = string_of(&s->rec, i)); i++)
		*text = *text ? strdup(*text) : NULL;
	rec_set(&s->rec, process, folded, 1);
	l->n_stand_ins++;
	return s;
}

/* Stand-in for processes like `r`; NULL: there are too many already. */
static struct stand_in *stand_in_find(struct process_table *l, const struct rec_process *r,
	bool any_parent, size_t max)
{
	u64 h = hash_text(hash_text(hash_text(hash_text(HASH_START, r->comm), r->system),
		r->instance), r->container);
	struct stand_in *s;
	size_t i;

	h = any_parent ? h : hash_bytes(h, &r->ppid, sizeof(r->ppid));
	for (i = (h ^ h >> 32) % STAND_IN_SLOTS; l->slots[i]; i = (i + 1) % STAND_IN_SLOTS)
		if (is_alike(&l->stand_in[l->slots[i] - 1], r, any_parent))
			return &l->stand_in[l->slots[i] - 1];
	if (l->n_stand_ins >= max)
		return NULL;
	s = stand_in_make(l, r);
	s->any_parent = any_parent;
	l->slots[i] = l->n_stand_ins;
	return s;
}

static struct stand_in *rest_of_all(struct process_table *l)
{
	struct rec_process r = { .comm = "(ended processes)" };

	if (!l->rest) {
		r.id = probes_new_process(l->o.probes);
		l->rest = stand_in_make(l, &r);
		l->rest->changed = true;
		rec_set(&l->rest->rec, process, folded, 0);
		rec_set(&l->rest->rec, process, rchar, 0);
		rec_set(&l->rest->rec, process, wchar, 0);
		set_told(l, r.id);
	}
	return l->rest;
}

/* Stand-in for a process that ended so long ago that its own stand-in is forgotten, and its entry
 * in the kernel with it. */
static struct stand_in *rest_of_forgotten(struct process_table *l)
{
	struct stand_in *s = rest_of_all(l);

	rec_drop(&s->rec, process, rchar);
	rec_drop(&s->rec, process, wchar);
	s->changed = true;
	return s;
}

static struct stand_in *stand_in_of(struct process_table *l, const struct rec_process *r)
{
	struct stand_in *s = stand_in_find(l, r, false, FAMILIES);

	if (!s)
		s = stand_in_find(l, r, true, STAND_INS);
	return s ? s : rest_of_all(l);
}

static void stand_behind(struct stand_in *s, const struct iot_proc *p, const struct rec_process *r)
{
	s->rec.folded += !(p->flags & PROC_DYING);
	/* kernel threads have no accounting, and a process that was not born inside the run has a
	 * row of its own */
	s->rec.rchar += r->rchar;
	s->rec.wchar += r->wchar;
	s->changed = true;
}

/* --- ends --- */

static void close_life(struct process_table *l, struct life *f, const struct iot_proc *p)
{
	if (f)
		f->over = true;
	if (!grow((void **)&l->gone, l->n_gone, &l->gone_room, sizeof(*l->gone)))
		l->gone[l->n_gone++] = (struct gone){ *p, clock_now(CLOCK_MONOTONIC) };
}

static void fold(struct process_table *l, struct life *f, const struct iot_proc *p,
	const struct rec_process *rec)
{
	struct stand_in *s = stand_in_of(l, rec);
	struct rec_process own = *rec;

	if (s->rec.id == p->id) { /* the first of its kind */
		set_told(l, p->id);
		give(l, f, p, rec);
		return;
	}
	stand_behind(s, p, rec);
	probes_fold(l->o.probes, p->id, s->rec.id);
	if (!l->o.events)
		return;
	own.present = 0; /* its accounting is part of its stand-in's sums */
	rec_set(&own, process, ppid, rec->ppid);
	rec_set(&own, process, fold, s->rec.id);
	give(l, f, p, &own);
}

static void decide(struct process_table *l, const struct iot_proc *p)
{
	struct life *f = id_table_find(&l->living, p->id);
	const struct rec_process *rec = names_process(l->o.names, p);

	if (!detect_wanted(l->o.detect, p->id)) {
		if (!is_told(l, p->id))
			probes_fold(l->o.probes, p->id, PROC_OTHER);
	} else if (!rec || !f || !(p->flags & PROC_BORN) || (f->row && !l->o.events) ||
	    is_told(l, p->id) ||
	    f->bytes >= PROCESS_TABLE_BYTES) {
		set_told(l, p->id);
		give(l, f, p, rec);
	} else {
		fold(l, f, p, rec);
	}
	close_life(l, f, p);
}

void process_table_end(struct process_table *l, const struct iot_proc *p)
{
	struct life *f;

	if (!life_of(l, p, &f))
		return;
	if (l->n_seen <= l->o.told && detect_wanted(l->o.detect, p->id)) {
		set_told(l, p->id);
		give(l, f, p, names_process(l->o.names, p));
		close_life(l, f, p);
	} else if (!grow((void **)&l->closing, l->n_closing, &l->closing_room,
	    sizeof(*l->closing))) {
		l->closing[l->n_closing++] = *p;
	}
}

/* --- rounds --- */

bool process_table_count(struct process_table *l, u32 owner, u64 bytes)
{
	struct life *f = id_table_find(&l->living, owner);

	if (f)
		f->bytes += bytes;
	return f || owner < PROC_FIRST || is_told(l, owner) || probes_folded(l->o.probes, owner);
}

void process_table_settle(struct process_table *l)
{
	for (size_t i = 0; i < l->n_closing; i++)
		decide(l, &l->closing[i]);
	l->n_closing = 0;
	for (size_t i = 0; i < l->n_stand_ins; i++) {
		struct stand_in *s = &l->stand_in[i];
		struct iot_proc p = { .id = s->rec.id };

		if (s->changed)
			l->o.row(l->o.arg, &p, &s->rec);
		s->changed = false;
	}
}

bool process_table_wants(const struct process_table *l, u32 id)
{
	return is_told(l, id) || (detect_wanted(l->o.detect, id) &&
		probes_folded(l->o.probes, id) != PROC_OTHER);
}

bool process_table_waits(struct process_table *l, u32 owner)
{
	struct life *f;

	if (owner < PROC_FIRST || process_table_wants(l, owner) ||
	    probes_folded(l->o.probes, owner))
		return false;
	f = id_table_find(&l->living, owner);
	if (!f || f->over)
		return false;
	if (!l->last && !f->forgotten && clock_now(CLOCK_MONOTONIC) - f->since_ns < WAIT_NS)
		return true;
	f->forgotten++;
	return false;
}

void process_table_end_waits(struct process_table *l)
{
	l->last = true;
}

u32 process_table_owner(struct process_table *l, u32 owner)
{
	u32 to = probes_folded(l->o.probes, owner);
	struct life *f;

	if (owner < PROC_FIRST || to)
		return owner < PROC_FIRST ? owner : to;
	if (is_told(l, owner))
		return owner;
	if (!detect_wanted(l->o.detect, owner))
		return PROC_OTHER;
	f = id_table_find(&l->living, owner);
	if (!f)
		return rest_of_forgotten(l)->rec.id;
	if (!f->row)
		give(l, f, &f->proc, names_again(l->o.names, &f->proc));
	set_told(l, owner);
	return owner;
}

bool process_table_is_over(struct process_table *l, u32 owner, bool quiet)
{
	struct life *f;

	if (owner < PROC_FIRST)
		return false;
	f = id_table_find(&l->living, owner);
	return f ? f->over : quiet;
}

void process_table_forget(struct process_table *l)
{
	u64 now = clock_now(CLOCK_MONOTONIC);
	size_t n = 0;

	for (; l->n_freed < l->n_gone && now - l->gone[l->n_freed].ns >= KERNEL_NS; l->n_freed++)
		probes_forget_process(l->o.probes, &l->gone[l->n_freed].proc);
	for (; n < l->n_freed && now - l->gone[n].ns >= NAMES_NS; n++) {
		names_forget(l->o.names, l->gone[n].proc.id);
		detect_forget(l->o.detect, l->gone[n].proc.id);
		id_table_drop(&l->living, l->gone[n].proc.id);
	}
	if (!n)
		return;
	l->n_gone -= n;
	l->n_freed -= n;
	memmove(l->gone, l->gone + n, l->n_gone * sizeof(*l->gone));
}

void process_table_lose_event(struct process_table *l, u32 owner)
{
	struct life *f = owner < PROC_FIRST ? NULL : id_table_find(&l->living, owner);

	if (f)
		f->forgotten++;
}

u64 process_table_lost_events(struct process_table *l, u32 owner)
{
	struct life *f = id_table_find(&l->living, owner);
	u64 n = f ? f->forgotten : 0;

	if (f)
		f->forgotten = 0;
	return n;
}
