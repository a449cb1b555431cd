// SPDX-License-Identifier: GPL-3.0-only
/* detect.c - which storage system each process of a run belongs to, and which component each file is.
 *
 * A process is decided when its record arrives, some milliseconds after its first operation; a program that it starts is
 * another process. One that was forked is what its parent is, also when it has ended by then: the number of execs, which
 * the kernel side sends, tells a fork from an exec. It is looked at again several times in its first second, when it has set its
 * title and opened its files; what it writes may tell more at any time. Then its record is given again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "detect.h"
#include "procfs.h"
#include "sparse.h"
#include "systems/systems.h"
#include "tracer.h"

#define TICK_SLACK 1           /* the kernel rounds the start of a process down to a tick */
#define BUCKETS 4096           /* of process numbers */
#define FAMILY_MAX 16          /* generations that are looked up above a process which forked before the run */
#define PLACES_MAX 4096        /* data roots that are remembered */
#define AGAIN_MAX 8            /* processes looked at again at once: there may be a storm of forks */
#define AGAIN_ROOM 65536       /* and that wait for it */
#define LATE_MAX 4096          /* files without a component that are looked at again */
#define LATE_TRIES 3           /* how often, a second apart */
#define STRANGERS 4096         /* files without a component that may turn out to be databases */
#define DEVICES_MAX 4096       /* devices whose path is kept for later users */
#define THREADS_MAX 65536      /* threads whose name is remembered */
#define KNOWN_MAX 65536        /* files of which something is: those that are used stay */

/* A process that may tell more later: by a title which it sets after it was forked, by files that it opens. It is looked at when that
 * may have happened, before a short life is over, and later. */
struct again {
	u32 proc, looks;
	u64 seen_ns;
	bool born;                  /* inside the run; who was there before is looked at once */
};

static const u64 again_ns[] = { NSEC / 20, NSEC / 4, NSEC }; /* since it was seen first */

/* One process of the run. */
struct seen {
	struct iot_proc proc;       /* id 0: no record of it came */
	char comm[IOT_COMM_LEN + 1];
	struct sys_match *match;    /* NULL: nothing to be said */
	const char *system;         /* stays when the process is over */
	u32 older;                  /* id of the one before in its bucket; 0 none */
	const struct place *place;  /* of the file that it wrote last: it says nothing new */
	u8 group;
	bool over;
	bool mixed;                 /* struct sys_use */
	bool threads;               /* they tell something; stays when the process is over */
};

/* One file: what its data root says about who writes to it. */
struct place {
	struct sys_file file;
	struct place *next;
};

/* What is known of a file. */
struct known {
	struct place *place;        /* NULL: tells nothing about who writes there */
	const char *component;
	bool threads;               /* threads may tell more */
	bool used;                  /* since the hand of the clock passed by */
	u32 asked;                  /* process that was asked last what the device at `path` is to it */
	char *path;                 /* of a device whose first user told nothing; else NULL */
};

/* A file that no rule knew when it was first written to. */
struct late {
	struct rec_file rec;        /* its path is ours */
	u32 user, tries;
	bool writes, outside;       /* outside: of the root of its user */
};

/* A file without a component, by the hash of its path. The file beside it that would tell, the journal of a database, may come
 * at any time, and may be gone before it can be looked for: what remains is its own record. */
struct stranger {
	u64 path;                   /* 0: unused */
	struct rec_file rec;        /* without its path */
	u32 user;
	bool writes;
};

/* A thread that used such a file, by its number and process. */
struct thread {
	u32 proc, tid;              /* proc 0: unused */
	char comm[IOT_COMM_LEN];    /* "": it could not be read */
};

struct detect {
	struct systems *db;
	const char *only;
	long tick_ns;
	struct sparse seen;         /* struct seen by process.id */
	u32 bucket[BUCKETS];
	struct sparse file;         /* struct known by file.id */
	u32 known[KNOWN_MAX];       /* ids of these, a clock */
	size_t n_known, hand, n_devices;
	struct late *late;
	size_t late_room, n_late, at_late;
	struct stranger strangers[STRANGERS]; /* the last one of each slot */
	struct rec_file late_rec;   /* that was given last; its path is ours */
	struct thread *threads;     /* open addressing, size is a power of two */
	size_t threads_room, n_threads;
	struct place *places;
	size_t n_places;
	const char *group[IOT_HIST_GROUPS];
	u32 *changed;               /* process ids */
	size_t n_changed, at_changed, changed_room;
	struct again *again;        /* in the order in which their processes were seen */
	size_t n_again, again_room;
	char why[3 * SYS_WHY_LEN];  /* of the record that was given last */
};

int detect_new(struct detect **out, const char *const *files, size_t n)
{
	struct detect *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return fail(ENOMEM, "detection of storage systems");
	d->tick_ns = NSEC / sysconf(_SC_CLK_TCK);
	d->seen.size = sizeof(struct seen);
	d->file.size = sizeof(struct known);
	return systems_open(&d->db, files, n);
}

static void free_seen(void *seen)
{
	free(((struct seen *)seen)->match);
}

static void free_known(void *known)
{
	free(((struct known *)known)->path);
}

void detect_free(struct detect *d)
{
	if (!d)
		return;
	sparse_free(&d->seen, free_seen);
	while (d->places) {
		struct place *p = d->places;

		d->places = p->next;
		free(p);
	}
	systems_close(d->db);
	sparse_free(&d->file, free_known);
	free(d->threads);
	for (size_t i = 0; i < d->n_late; i++)
		free((char *)d->late[i].rec.path);
	free(d->late);
	free((char *)d->late_rec.path);
	free(d->changed);
	free(d->again);
	free(d);
}

int detect_only(struct detect *d, const char *system)
{
	d->only = systems_name(d->db, system);
	return d->only ? 0 : -ENOENT;
}

static struct seen *seen_of(const struct detect *d, u32 id)
{
	return sparse_find(&d->seen, id);
}

static struct seen *seen_make(struct detect *d, const struct iot_proc *p)
{
	u32 *bucket = &d->bucket[p->pid % BUCKETS];
	struct seen *s = sparse_make(&d->seen, p->id);

	if (!s)
		return NULL;
	s->proc = *p;
	memcpy(s->comm, p->comm, IOT_COMM_LEN);
	s->older = *bucket;
	*bucket = p->id;
	return s;
}

void detect_forget(struct detect *d, u32 id)
{
	struct seen *s = seen_of(d, id), *other;
	u32 *at = s ? &d->bucket[s->proc.pid % BUCKETS] : NULL;

	if (!s)
		return;
	while (*at != id && (other = seen_of(d, *at)))
		at = &other->older;
	*at = s->older;
	free(s->match);
	sparse_drop(&d->seen, id);
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
	const struct seen *s = seen_of(d, id);

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
	s = seen_of(d, id);
	return s && (s->proc.flags & PROC_KTHREAD || detect_wanted_system(d, s->system));
}

/* --- processes --- */

/* Is what /proc shows this very process, running this very program? */
static bool is_same(const struct detect *d, const struct sys_ident *id, const struct iot_proc *p)
{
	u64 want = p->start_ns / d->tick_ns;

	return id->start_ticks + TICK_SLACK >= want && id->start_ticks <= want + TICK_SLACK &&
		!strncmp(id->proc.comm, p->comm, IOT_COMM_LEN);
}

/* It did not begin another program while it was looked at: what was read is of one. */
static bool is_still(const struct iot_proc *p)
{
	char path[PROCFS_PATH], comm[64];

	return read_line(procfs_path(path, p->pid, "comm"), comm, sizeof(comm)) >= 0 && !strncmp(comm, p->comm, IOT_COMM_LEN);
}

/* Whose path it is that a process uses. */
static struct sys_view view_of(const struct seen *s, bool outside)
{
	if (!s || outside)
		return (struct sys_view){ 0, false };
	return (struct sys_view){ s->over ? 0 : s->proc.pid, !(s->proc.flags & PROC_AWAY) };
}

/* The process that a record names as its parent, while it ran the program that the child was forked with. */
static const struct seen *parent_of(const struct detect *d, const struct iot_proc *p)
{
	const struct seen *s;

	for (u32 id = p->ppid ? d->bucket[p->ppid % BUCKETS] : 0; (s = seen_of(d, id)); id = s->older) {
		if (s->proc.pid == p->ppid && s->proc.exec_no == p->exec_no && s->proc.start_ns <= p->start_ns)
			return s;
	}
	return NULL;
}

/* What a process is that has no record: it did nothing since the run began. */
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

/* What a process is, from /proc as long as it is there, else from its name and its parent. */
static void match(const struct detect *d, const struct iot_proc *p, struct sys_match *m)
{
	const struct seen *parent = parent_of(d, p);
	struct sys_match up = {};
	struct sys_ident id = {};
	struct sys_proc proc = { .comm = p->comm, .exe = p->exe[0] ? p->exe : NULL, .gone = true, .forked = parent };

	if (!systems_ident(p->pid, &id) && is_same(d, &id, p) && is_still(p))
		proc = id.proc;
	if (!proc.exe && p->exe[0]) { /* it is about to end */
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

/* Keeps what is known of a process, when it is anything. */
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
	if (d->n_again < AGAIN_ROOM && !grow((void **)&d->again, d->n_again, &d->again_room, sizeof(*d->again)))
		d->again[d->n_again++] = (struct again){ p->id, 0, clock_now(CLOCK_MONOTONIC), p->flags & PROC_BORN };
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
	if (!(s->proc.flags & (PROC_BORN | PROC_EXITED)) && m.system) /* it has its files already */
		systems_look(d->db, s->proc.pid, &m);
	if (says_anything(&m))
		take(d, s, &m);
	if (!(s->proc.flags & PROC_EXITED) && s->proc.pid)
		look_at_it_again(d, &s->proc);
}

static void change(struct detect *d, struct seen *s, const struct sys_match *m)
{
	take(d, s, m);
	push(&d->changed, &d->n_changed, &d->changed_room, s->proc.id);
}

static void learn(struct detect *d, u32 proc, const struct sys_file *f)
{
	struct seen *s = seen_of(d, proc);
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

/* A process that ends before its files are looked at again: its last chance to be known by them. */
static void look_at_the_end(struct detect *d, u32 proc)
{
	struct seen *s = seen_of(d, proc);
	struct sys_file f;

	for (size_t i = 0; i < d->n_late; i++) {
		const struct late *l = &d->late[i];

		if (l->user != proc || !l->writes)
			continue;
		systems_file(d->db, l->rec.path, view_of(s, l->outside), s->match, &f);
		if (f.component && f.root[0])
			learn(d, proc, &f);
	}
}

static const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

void detect_process(struct detect *d, const struct iot_proc *p, struct rec_process *r)
{
	struct seen *s = seen_of(d, p->id);
	const struct sys_match *m;

	if (!s && (s = seen_make(d, p)))
		decide(d, s);
	if (s && !s->over && p->flags & PROC_EXITED)
		look_at_the_end(d, p->id);
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

const struct iot_proc *detect_changed(struct detect *d)
{
	while (d->at_changed < d->n_changed) {
		const struct seen *s = seen_of(d, d->changed[d->at_changed++]);

		if (s)
			return &s->proc;
	}
	d->at_changed = d->n_changed = 0;
	return NULL;
}

/* What a process is now, when that is more than what it was. True when it changed. */
static bool match_again(struct detect *d, const struct seen *s, struct sys_match *m)
{
	struct sys_match now;

	match(d, &s->proc, &now);
	if (!m->system && (now.system || now.claim != m->claim || now.maybe != m->maybe || now.client_of != m->client_of)) {
		bool shown = now.system || now.claim;

		now.refused = m->refused;
		*m = now;
		return shown;
	}
	/* a system stays; inside it a title tells the role */
	if (!m->system || !now.system || strcmp(now.system, m->system) || now.by != SYS_BY_FORK || !now.role ||
	    (m->role && !strcmp(now.role, m->role)))
		return false;
	m->role = now.role;
	m->tested = now.tested;
	return true;
}

/* A process may call itself something else; when it runs another program it has another record. */
static bool is_last(const struct detect *d, const struct seen *s, const struct sys_ident *now)
{
	u64 want = s->proc.start_ns / d->tick_ns;
	const struct seen *other;
	u32 id = d->bucket[s->proc.pid % BUCKETS];

	while ((other = seen_of(d, id)) && other->proc.pid != s->proc.pid)
		id = other->older;
	return id == s->proc.id && now->start_ticks + TICK_SLACK >= want && now->start_ticks <= want + TICK_SLACK;
}

/* Returns false when there is nobody to look at. */
static bool look_again_at(struct detect *d, u32 proc)
{
	struct seen *s = seen_of(d, proc);
	struct sys_match m = {};
	struct sys_ident id;
	bool there, changed;

	if (!s || s->over || systems_ident(s->proc.pid, &id))
		return false;
	there = is_same(d, &id, &s->proc) || is_last(d, s, &id);
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
			a.looks = there && a.born ? a.looks + 1 : N_OF(again_ns);
		}
		if (a.looks < N_OF(again_ns))
			d->again[kept++] = a;
	}
	d->n_again = kept;
}

/* --- files --- */

static bool is_same_place(const struct sys_file *a, const struct sys_file *b)
{
	return a->system == b->system && a->engine == b->engine && a->by == b->by && !strcmp(a->root, b->root) &&
		!strcmp(a->where, b->where);
}

/* The place in the clock for one more file: that of one which was not used since the hand passed by. */
static u32 *known_place(struct detect *d)
{
	struct known *k;

	if (d->n_known < KNOWN_MAX)
		return &d->known[d->n_known++];
	for (;; d->hand = (d->hand + 1) % KNOWN_MAX) {
		k = sparse_find(&d->file, d->known[d->hand]);
		if (!k || !k->used)
			break;
		k->used = false;
	}
	if (k) {
		d->n_devices -= !!k->path;
		free(k->path);
	}
	sparse_drop(&d->file, d->known[d->hand]);
	return &d->known[d->hand];
}

static struct known *known_make(struct detect *d, u32 id)
{
	struct known *k = sparse_find(&d->file, id);
	u32 *place = k ? NULL : known_place(d);

	if (k)
		return k;
	*place = id;
	return sparse_make(&d->file, id);
}

/* Remembers for events what a file is, and what it says about who writes to it. */
static void remember(struct detect *d, u32 id, const struct sys_file *f)
{
	struct place *p = d->places;
	struct known *k;

	k = f->component || f->root[0] || f->threads ? known_make(d, id) : sparse_find(&d->file, id);
	if (!k)
		return;
	d->n_devices -= !!k->path;
	free(k->path);
	*k = (struct known){ .component = f->component, .threads = f->threads || systems_threads_tell(d->db, f->component) };
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
static void look_later(struct detect *d, const struct rec_file *r, u32 user, bool writes, bool outside, const char *path, size_t len)
{
	char *copy;

	if (d->n_late >= LATE_MAX || grow((void **)&d->late, d->n_late, &d->late_room, sizeof(*d->late)))
		return;
	copy = strndup(path, len);
	if (!copy)
		return;
	d->late[d->n_late] = (struct late){ .rec = *r, .user = user, .writes = writes, .outside = outside };
	d->late[d->n_late++].rec.path = copy;
}

/* FNV-1a; 0 is left for "unused". */
static u64 path_hash(const char *path, size_t len)
{
	u64 h = 14695981039346656037ULL;

	while (len--)
		h = (h ^ (u8)*path++) * 1099511628211ULL;
	return h | 1;
}

static void meet(struct detect *d, const struct iot_path *p, const struct rec_file *r)
{
	u64 h = path_hash(r->path, strlen(r->path));

	d->strangers[h / 2 % STRANGERS] = (struct stranger){ .path = h, .rec = *r, .user = p->user, .writes = p->writes };
}

/* A file beside a database says what the other one is. */
static void introduce(struct detect *d, u32 dev, const char *path, size_t len)
{
	u64 h = path_hash(path, len);
	struct stranger *s = &d->strangers[h / 2 % STRANGERS];

	if (s->path != h || s->rec.dev != dev)
		return;
	look_later(d, &s->rec, s->user, s->writes, false, path, len);
	s->path = 0;
}

/* Looks again at one file; true when that is over: it is known, or given up. */
static bool look_again(struct detect *d, struct late *l)
{
	const struct seen *s = seen_of(d, l->user);
	struct sys_file f;

	systems_file(d->db, l->rec.path, view_of(s, l->outside), s ? s->match : NULL, &f);
	if (!f.component)
		return ++l->tries >= LATE_TRIES;
	remember(d, l->rec.id, &f);
	if (l->writes && f.root[0])
		learn(d, l->user, &f);
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

/* A device belongs to whoever writes to it, which need not be who used it first. */
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
	const struct seen *s = seen_of(d, p->user);
	struct sys_file f;

	if (!r->path)
		return;
	systems_file(d->db, r->path, view_of(s, p->whole == 2), s ? s->match : NULL, &f);
	r->component = f.threads ? NULL : f.component;
	remember(d, p->file, &f);
	keep_device(d, p, r->path);
	if (!f.component && !p->node) {
		if (p->writes)
			look_later(d, r, p->user, true, p->whole == 2, r->path, strlen(r->path));
		meet(d, p, r);
	}
	if (f.main)
		introduce(d, p->dev, r->path, f.main);
	if (p->writes && f.root[0])
		learn(d, p->user, &f);
}

static const bool is_write[KIND_MAX] = {
#define KIND(sym, layer, name, dir, text, doc) \
	[KIND_##sym] = (dir) == 'w' && (LAYER_##layer == LAYER_SYSCALL || LAYER_##layer == LAYER_URING || LAYER_##layer == LAYER_CACHE),
#include "kinds.def"
};

/* --- threads --- */

static struct thread *thread_slot(struct thread *threads, size_t room, u32 proc, u32 tid)
{
	size_t i = ((u64)proc << 32 | tid) * 0x9e3779b97f4a7c15ULL >> 32 & (room - 1);

	while (threads[i].proc && (threads[i].proc != proc || threads[i].tid != tid))
		i = (i + 1) & (room - 1);
	return &threads[i];
}

static bool more_threads(struct detect *d)
{
	size_t room = d->threads_room ? 2 * d->threads_room : 256;
	struct thread *threads = room > 2 * THREADS_MAX ? NULL : calloc(room, sizeof(*threads));

	if (!threads)
		return false;
	for (size_t i = 0; i < d->threads_room; i++)
		if (d->threads[i].proc)
			*thread_slot(threads, room, d->threads[i].proc, d->threads[i].tid) = d->threads[i];
	free(d->threads);
	d->threads = threads;
	d->threads_room = room;
	return true;
}

/* The name of a thread when it was first seen here; "" when it had ended by then. The leader's came with its process. */
static const char *thread_comm(struct detect *d, const struct seen *s, u32 tid)
{
	char path[64], comm[64];
	struct thread *t;

	if (tid == s->proc.pid)
		return s->comm;
	if (2 * d->n_threads >= d->threads_room && !more_threads(d)) {
		if (!d->threads_room)
			return "";
		memset(d->threads, 0, d->threads_room * sizeof(*d->threads)); /* those that live are named again */
		d->n_threads = 0;
	}
	t = thread_slot(d->threads, d->threads_room, s->proc.id, tid);
	if (t->proc)
		return t->comm;
	*t = (struct thread){ .proc = s->proc.id, .tid = tid };
	d->n_threads++;
	snprintf(path, sizeof(path), "%s/%u/task/%u/comm", procfs(), s->proc.pid, tid);
	if (!s->over && read_line(path, comm, sizeof(comm)) >= 0)
		snprintf(t->comm, sizeof(t->comm), "%.15s", comm);
	return t->comm;
}

/* What moves bytes where a thread can be named: calls, and what is submitted for one on the spot. Who writes back what was
 * written before says nothing: that is counted by what was written (stream/fileio.c). */
static bool use_of(const struct iot_event *e, struct sys_use *u)
{
	static const u8 direction[KIND_MAX] = {
#define KIND(sym, layer, name, dir, text, doc) \
		[KIND_##sym] = LAYER_##layer == LAYER_SYSCALL || LAYER_##layer == LAYER_URING || LAYER_##layer == LAYER_FS ? (dir) : 0,
#include "kinds.def"
	};
	bool fs = e->kind == KIND_FS_READ || e->kind == KIND_FS_WRITE;

	if (e->kind >= KIND_MAX || (direction[e->kind] != 'r' && direction[e->kind] != 'w'))
		return false;
	u->op = direction[e->kind] == 'r' ? SYS_READ : SYS_WRITE;
	u->direct = fs ? e->cause == CAUSE_DIRECT : e->flags & FLAG_DIRECT;
	return u->direct || e->kind != KIND_FS_WRITE;
}

/* Another user of a device: it may know what the first one did not. */
static void ask_again(struct detect *d, struct known *k, u32 proc)
{
	const struct seen *s = seen_of(d, proc);
	struct sys_file f;

	k->asked = proc;
	if (!s || !s->match || !s->match->system)
		return;
	systems_file(d->db, k->path, view_of(s, false), s->match, &f);
	if (!f.threads)
		return;
	k->component = f.component;
	k->threads = true;
	free(k->path);
	k->path = NULL;
	d->n_devices--;
}

static void tell_component(struct detect *d, const struct known *k, struct iot_event *e)
{
	struct seen *s = seen_of(d, e->task);
	struct sys_use use = { .component = k->component };

	if (!s || !s->match || !s->match->system || !use_of(e, &use))
		return;
	use.mixed = s->mixed;
	e->component = component_number(systems_thread_component(s->match, thread_comm(d, s, e->tid), &use));
	s->mixed = use.mixed;
}

/* A file that was seen before. */
static void learn_place(struct detect *d, u32 proc, const struct place *place)
{
	struct seen *s = seen_of(d, proc);

	if (!s || s->place == place)
		return;
	s->place = place;
	learn(d, proc, &place->file);
}

static void use_file(struct detect *d, struct known *k, u32 proc, bool write)
{
	k->used = true;
	if (k->place && write)
		learn_place(d, proc, k->place);
	if (k->path && k->asked != proc)
		ask_again(d, k, proc);
}

void detect_used(struct detect *d, u32 file, u32 proc, bool write)
{
	struct known *k = sparse_find(&d->file, file);

	if (k)
		use_file(d, k, proc, write);
}

void detect_event(struct detect *d, struct iot_event *e)
{
	struct known *k = e->kind < KIND_MAX ? sparse_find(&d->file, e->file) : NULL;

	if (!k)
		return;
	use_file(d, k, e->task, is_write[e->kind]);
	if (k->threads)
		tell_component(d, k, e);
}

bool detect_has_threads(struct detect *d, u32 proc)
{
	struct seen *s = seen_of(d, proc);

	if (s && s->match)
		s->threads = systems_has_threads(s->match);
	return s && s->threads;
}

bool detect_threads_tell(struct detect *d, u32 file, u32 proc)
{
	const struct known *k = sparse_find(&d->file, file);

	return k && k->threads && detect_has_threads(d, proc);
}

u8 detect_component(struct detect *d, u32 file, u32 proc, const char *comm, bool read, bool direct)
{
	const struct known *k = sparse_find(&d->file, file);
	struct seen *s = seen_of(d, proc);
	struct sys_use use = { .op = read ? SYS_READ : SYS_WRITE, .direct = direct };
	const char *component;

	if (!detect_threads_tell(d, file, proc) || !s->match || !s->match->system)
		return 0;
	use.component = k->component;
	use.mixed = s->mixed;
	component = systems_thread_component(s->match, comm, &use);
	s->mixed = use.mixed;
	return component_number(component);
}
