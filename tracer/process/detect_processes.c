// SPDX-License-Identifier: GPL-3.0-only
/* detect_processes.c - decides which storage system each process of a run belongs to.
 *
 * A process is decided when its record arrives, some milliseconds after its first operation. An
 * exec makes another process of it. A forked process is what its parent is, even if the parent has
 * ended by then: the number of execs, which the kernel side sends, tells a fork from an exec. In
 * its first second it is examined several times again, when it has set its title and opened its
 * files; files that it writes may reveal more at any time. Its record is then given again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "detect_parts.h"
#include "hash.h"
#include "procfs.h"

#define FAMILY_MAX 16          /* generations examined above a process that forked before the run */
#define AGAIN_MAX 8            /* processes examined again at once: forks may come in storms */
#define AGAIN_ROOM 65536       /* and processes that wait for it */

static const u64 again_ns[] = { NSEC / 20, NSEC / 4, NSEC }; /* after it was first seen */

struct seen *detect_seen(const struct detect *d, u32 id)
{
	return id_table_find(&d->seen, id);
}

/* Hash of the mount namespace and root of a process where they are not the tracer's; 0: not
 * known. */
static u64 space_of(const struct seen *s)
{
	const u64 of[] = { s->proc.mounts, s->proc.root };

	return s->proc.flags & PROC_AWAY && s->proc.mounts ?
		hash_bytes(HASH_START, of, sizeof(of)) | 1 : 0;
}

/* A live process, as far as the tracer knows, in the same mount namespace and root; NULL: none. */
static const struct seen *somebody_beside(struct detect *d, const struct seen *s, u64 space)
{
	u32 *set = &d->somebody[space / 2 % (SPACES / SPACES_WAYS) * SPACES_WAYS], *empty = NULL;

	for (u32 *id = set; id < set + SPACES_WAYS; id++) {
		const struct seen *other = detect_seen(d, *id);

		if (!other || other->over)
			empty = id;
		else if (space_of(other) == space)
			return other;
	}
	if (s->over || s->proc.flags & PROC_EXITED)
		return NULL;
	if (empty)
		*empty = s->proc.id;
	return s;
}

static struct seen *seen_make(struct detect *d, const struct iot_proc *p)
{
	u32 *bucket = &d->bucket[p->pid % BUCKETS];
	struct seen *s = id_table_make(&d->seen, p->id);

	if (!s)
		return NULL;
	s->proc = *p;
	memcpy(s->comm, p->comm, IOT_COMM_LEN);
	s->older = *bucket;
	*bucket = p->id;
	if (space_of(s))
		somebody_beside(d, s, space_of(s));
	return s;
}

void detect_forget(struct detect *d, u32 id)
{
	struct seen *s = detect_seen(d, id), *other;
	u32 *at = s ? &d->bucket[s->proc.pid % BUCKETS] : NULL;

	if (!s)
		return;
	while (*at != id && (other = detect_seen(d, *at)))
		at = &other->older;
	*at = s->older;
	free(s->match);
	id_table_drop(&d->seen, id);
}

static void push(u32 **list, size_t *n, size_t *room, u32 id)
{
	if (!grow((void **)list, *n, room, sizeof(**list)))
		(*list)[(*n)++] = id;
}

/* --- groups --- */

static u8 group_of(struct detect *d, const char *system)
{
	for (u8 i = 1; system && i < IOT_HIST_GROUPS; i++) {
		if (!d->group[i])
			d->group[i] = system;
		if (!strcmp(d->group[i], system))
			return i;
	}
	return 0;
}

u32 detect_group(const struct detect *d, u32 id)
{
	const struct seen *s = detect_seen(d, id);

	return s ? s->group : 0;
}

const char *detect_group_name(const struct detect *d, u32 group)
{
	return group < IOT_HIST_GROUPS ? d->group[group] : NULL;
}

bool detect_wanted_system(const struct detect *d, const char *system)
{
	return !d->only || (system && !strcmp(system, d->only));
}

bool detect_wanted(const struct detect *d, u32 id)
{
	const struct seen *s;

	if (!d->only || id < PROC_FIRST)
		return true;
	s = detect_seen(d, id);
	return s && (s->proc.flags & PROC_KTHREAD || detect_wanted_system(d, s->system));
}

bool detect_is_kthread(const struct detect *d, u32 id)
{
	const struct seen *s = detect_seen(d, id);

	return s && s->proc.flags & PROC_KTHREAD;
}

/* --- processes --- */

/* True when /proc shows this very process, running this very program. */
static bool is_same(const struct sys_ident *id, const struct iot_proc *p)
{
	return procfs_began(id->start_ticks, p->start_ns) &&
		!strncmp(id->proc.comm, p->comm, IOT_COMM_LEN);
}

/* Process and namespace through which to look at a path that this process uses. */
struct sys_view detect_view(struct detect *d, const struct seen *s, bool outside)
{
	struct sys_view v = { 0 };
	const struct seen *other;

	if (!s || outside)
		return v;
	v.pid = s->over ? 0 : s->proc.pid;
	v.ours = !(s->proc.flags & PROC_AWAY);
	v.space = space_of(s);
	other = v.space ? somebody_beside(d, s, v.space) : NULL;
	v.other = other ? other->proc.pid : 0;
	return v;
}

/* The process that a record names as parent, in the program that it ran at the fork. */
static const struct seen *parent_of(const struct detect *d, const struct iot_proc *p)
{
	const struct seen *s;

	for (u32 id = p->ppid ? d->bucket[p->ppid % BUCKETS] : 0; (s = detect_seen(d, id));
	    id = s->older) {
		if (s->proc.pid == p->ppid && s->proc.exec_no == p->exec_no &&
		    s->proc.start_ns <= p->start_ns)
			return s;
	}
	return NULL;
}

/* Decides about a process without a record, which did nothing since the run began. */
static void match_outside(const struct detect *d, u32 pid, int generations, struct sys_match *m)
{
	struct sys_match up = {};
	struct sys_ident id;

	memset(m, 0, sizeof(*m));
	if (!generations || systems_ident(pid, &id))
		return;
	if (id.proc.forked && !id.kthread)
		match_outside(d, id.ppid, generations - 1, &up);
	id.proc.parent = &up;
	if (!id.kthread)
		systems_match(d->db, &id.proc, m);
	systems_ident_free(&id);
}

/* Decides about a process from /proc while it exists there, else from its name and parent. */
static void match(const struct detect *d, const struct iot_proc *p, struct sys_match *m)
{
	const struct seen *parent = parent_of(d, p);
	struct sys_match up = {};
	struct sys_ident id = {};
	struct sys_proc proc = { .comm = p->comm, .exe = p->exe[0] ? p->exe : NULL, .gone = true,
		.forked = parent };

	/* checked again: all that was read belongs to one program */
	if (!systems_ident(p->pid, &id) && is_same(&id, p) && procfs_is_called(p->pid, p->comm))
		proc = id.proc;
	if (!proc.exe && p->exe[0]) { /* the process is about to end */
		proc.exe = p->exe;
		proc.gone = true;
	}
	if (parent && parent->match)
		up = *parent->match;
	else if (!parent && proc.forked)
		match_outside(d, p->ppid, FAMILY_MAX, &up);
	proc.parent = &up;
	systems_match(d->db, &proc, m);
	systems_ident_free(&id);
}

/* Keeps a decision that says anything. */
static void take(struct detect *d, struct seen *s, const struct sys_match *m)
{
	if (!s->match)
		s->match = malloc(sizeof(*s->match));
	if (!s->match)
		return;
	*s->match = *m;
	s->system = m->system;
	s->group = group_of(d, m->system);
}

static void look_at_it_again(struct detect *d, const struct iot_proc *p)
{
	if (d->n_again < AGAIN_ROOM && !grow((void **)&d->again, d->n_again, &d->again_room,
	    sizeof(*d->again)))
		d->again[d->n_again++] = (struct again){ p->id, 0, clock_now(CLOCK_MONOTONIC),
			p->flags & PROC_BORN };
}

static bool says_anything(const struct sys_match *m)
{
	return m->system || m->client_of || m->claim || m->maybe || m->refused || m->container[0];
}

static void decide(struct detect *d, struct seen *s)
{
	struct sys_match m;

	if (s->proc.flags & PROC_KTHREAD)
		return;
	match(d, &s->proc, &m);
	/* its files are open already */
	if (!(s->proc.flags & (PROC_BORN | PROC_EXITED)) && m.system)
		systems_look(d->db, s->proc.pid, &m);
	if (says_anything(&m))
		take(d, s, &m);
	if (!(s->proc.flags & PROC_EXITED) && s->proc.pid)
		look_at_it_again(d, &s->proc);
}

struct seen *detect_decide(struct detect *d, const struct iot_proc *p)
{
	struct seen *s = seen_make(d, p);

	if (s)
		decide(d, s);
	return s;
}

/* A process that shares the instance: the program that this one executed next, if that has the same
 * system, or its parent. */
static const struct seen *kin_of(const struct detect *d, const struct seen *s)
{
	const struct seen *next;

	for (u32 id = d->bucket[s->proc.pid % BUCKETS]; (next = detect_seen(d, id));
	    id = next->older) {
		if (next->proc.pid == s->proc.pid && next->proc.start_ns == s->proc.start_ns &&
		    next->proc.exec_no == s->proc.exec_no + 1 &&
		    next->match && next->match->entry == s->match->entry)
			return next;
	}
	return s->match->by == SYS_BY_FORK ? parent_of(d, &s->proc) : NULL;
}

static const char *instance_of_kin(const struct detect *d, const struct seen *s)
{
	const struct sys_entry *e = s->match->entry;

	for (int up = 0; up < FAMILY_MAX && s && s->match && s->match->entry == e; up++) {
		if (s->match->instance[0])
			return s->match->instance;
		s = kin_of(d, s);
	}
	return NULL;
}

/* Passes a newly known instance on to related processes that were seen earlier, ended ones
 * included. */
static void tell_kin(struct detect *d)
{
	const char *instance;
	struct seen *s;

	for (size_t i = 0; i < BUCKETS; i++) {
		for (u32 id = d->bucket[i]; (s = detect_seen(d, id)); id = s->older) {
			if (!s->match || !s->match->entry || s->match->instance[0] ||
			    !(instance = instance_of_kin(d, s)))
				continue;
			memcpy(s->match->instance, instance, sizeof(s->match->instance));
			push(&d->changed, &d->n_changed, &d->changed_room, s->proc.id);
		}
	}
}

static void change(struct detect *d, struct seen *s, const struct sys_match *m)
{
	bool told = m->instance[0] && !(s->match && s->match->instance[0]);

	take(d, s, m);
	push(&d->changed, &d->n_changed, &d->changed_room, s->proc.id);
	if (told)
		tell_kin(d);
}

void detect_learn(struct detect *d, u32 proc, const struct sys_file *f)
{
	struct seen *s = detect_seen(d, proc);
	struct sys_match m = {};
	bool changed;

	if (!s || s->over || s->proc.flags & PROC_KTHREAD)
		return;
	if (s->match)
		m = *s->match;
	changed = systems_learn(d->db, &m, f, s->proc.pid);
	if (changed)
		change(d, s, &m);
	else if (m.refused && (!s->match || s->match->refused != m.refused))
		take(d, s, &m);
}

const struct iot_proc *detect_changed(struct detect *d)
{
	while (d->at_changed < d->n_changed) {
		const struct seen *s = detect_seen(d, d->changed[d->at_changed++]);

		if (s)
			return &s->proc;
	}
	d->at_changed = d->n_changed = 0;
	return NULL;
}

/* Decides again, and takes the result when it says more. Returns true when the record changed. */
static bool match_again(struct detect *d, const struct seen *s, struct sys_match *m)
{
	struct sys_match now;

	match(d, &s->proc, &now);
	if (!m->system && (now.system || now.claim != m->claim || now.maybe != m->maybe ||
	    now.client_of != m->client_of)) {
		bool shown = now.system || now.claim;

		now.refused = m->refused;
		*m = now;
		return shown;
	}
	/* the system is kept; a title can only change the role inside it */
	if (!m->system || !now.system || strcmp(now.system, m->system) || now.by != SYS_BY_FORK ||
	    !now.role ||
	    (m->role && !strcmp(now.role, m->role)))
		return false;
	m->role = now.role;
	m->tested = now.tested;
	return true;
}

/* True when this is the latest record of the process: it may have renamed itself, but an exec would
 * have made another record. */
static bool is_last(const struct detect *d, const struct seen *s, const struct sys_ident *now)
{
	const struct seen *other;
	u32 id = d->bucket[s->proc.pid % BUCKETS];

	while ((other = detect_seen(d, id)) && other->proc.pid != s->proc.pid)
		id = other->older;
	return id == s->proc.id && procfs_began(now->start_ticks, s->proc.start_ns);
}

/* Returns false when the process is gone. */
static bool look_again_at(struct detect *d, u32 proc)
{
	struct seen *s = detect_seen(d, proc);
	struct sys_match m = {};
	struct sys_ident id;
	bool there, changed;
	int err = s && !s->over ? systems_ident(s->proc.pid, &id) : -ESRCH;

	if (err)
		return err == -EBUSY; /* it exists, and cannot be examined now */
	there = is_same(&id, &s->proc) || is_last(d, s, &id);
	systems_ident_free(&id);
	if (!there)
		return false;
	if (s->match)
		m = *s->match;
	changed = match_again(d, s, &m);
	changed |= systems_look(d->db, s->proc.pid, &m);
	if (changed)
		change(d, s, &m);
	else if (says_anything(&m))
		take(d, s, &m);
	return true;
}

void detect_again(struct detect *d)
{
	u64 now = d->n_again ? clock_now(CLOCK_MONOTONIC) : 0;
	size_t kept = 0, looks = 0;

	for (size_t i = 0; i < d->n_again; i++) {
		struct again a = d->again[i];

		if (looks < AGAIN_MAX && now - a.seen_ns >= again_ns[a.looks]) {
			bool there = look_again_at(d, a.proc);

			looks += there;
			a.looks = there && (a.born || !a.looks) ? a.looks + 1 : N_OF(again_ns);
		}
		if (a.looks < N_OF(again_ns))
			d->again[kept++] = a;
	}
	d->n_again = kept;
}
