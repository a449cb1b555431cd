/* SPDX-License-Identifier: GPL-3.0-only */
/* roots.c - recognises the directories that are data roots.
 *
 * A data root is recognised by marker files, of which only the metadata is read. Directories are
 * remembered for a few seconds in a table of fixed size: a million paths cost bounded memory, and a
 * new server is soon seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "ask.h"
#include "clean.h"
#include "clock.h"
#include "hash.h"
#include "mounts.h"
#include "procfs.h"
#include "roots.h"

#define WAYS 8                  /* entries of one hash value, which must not evict each other */
#define DIR_SLOTS 1024          /* directories remembered, at most */
#define SEEN_SLOTS 4096         /* files and operations remembered, as hashes */
#define SPACE_SLOTS 256         /* mount namespaces and roots remembered, at most */
#define FOUND_MS 10000          /* lifetime of a recognised root */
#define MOUNTS_MS 100 /* lifetime of another namespace's mounts, whose changes cannot be polled */
#define KEPT_MS 60000           /* added for roots when room is short: their users may be gone */
#define WAY_SLOTS 32            /* processes whose way is remembered, as long as their mounts are */
#define EMPTY_MS 100            /* lifetime of a negative answer: a new server creates its root */

/* Beginning of paths in a mount namespace and root, from a process that was alive. */
struct space {
	uint64_t number;        /* sys_view.space; 0: unused */
	uint64_t used_ms;
	bool same_mounts;
	char *jail;
};

/* Beginning of a process's paths, as found a moment ago. space and ours are those of sys_view,
 * which change when it executes another program elsewhere. */
struct begun {
	uint32_t pid;           /* 0: unused */
	uint64_t space, until_ms;
	bool ours;
	struct way way;
};

struct sys_cache {
	struct dir dir[DIR_SLOTS];
	struct begun begun[WAY_SLOTS];
	bool over; /* a process that was looked through has ended: its remembered way is void */
	struct space space[SPACE_SLOTS];
	uint64_t seen[SEEN_SLOTS];
	/* mount points that must not be touched, each NUL-terminated, ended by an empty one */
	char *mounts;
	/* /proc/self/mountinfo, polled for changes. That of other processes is not kept open,
	 * because it would pin their mounts */
	int mountinfo;
	uint64_t mounts_ms;     /* time of reading */
	uint32_t mounts_pid;    /* owner of the mounts; 0: the tracer itself */
};

struct sys_cache *sys_cache_new(void)
{
	struct sys_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->mountinfo = -1;
	return c;
}

void sys_cache_free(struct sys_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < DIR_SLOTS; i++)
		free(c->dir[i].path);
	for (size_t i = 0; i < SPACE_SLOTS; i++)
		free(c->space[i].jail);
	free(c->mounts);
	if (c->mountinfo >= 0)
		close(c->mountinfo);
	free(c);
}

/* Forgets all results, because rules were added. */
void sys_cache_forget(struct sys_cache *c)
{
	for (size_t i = 0; i < DIR_SLOTS; i++) {
		free(c->dir[i].path);
		c->dir[i] = (struct dir){ NULL };
	}
}

/* 0 means "empty". */
static uint64_t hash(const char *path, size_t len)
{
	return hash_bytes(HASH_START, path, len) | 1;
}

static uint64_t now_ms(void)
{
	return clock_now(CLOCK_MONOTONIC) / 1000000;
}

/* --- mounts that could block --- */

/* Mount points of remote file systems, each NUL-terminated, ended by an empty one. */
struct remote {
	char *points;
	size_t len;
};

static bool keep_remote(void *arg, const struct mount *m)
{
	struct remote *r = arg;
	size_t n = strlen(m->at) + 1;
	char *more = mounts_is_remote(m->fs) ? realloc(r->points, r->len + n + 1) : NULL;

	if (!more)
		return false;
	r->points = more;
	memcpy(r->points + r->len, m->at, n);
	r->len += n;
	r->points[r->len] = '\0';
	return false;
}

/* True when they have not changed since they were read. */
static bool mounts_hold(const struct sys_cache *c, uint32_t pid)
{
	struct pollfd p = { .fd = c->mountinfo, .events = POLLPRI };

	if (!c->mounts || c->mounts_pid != pid)
		return false;
	if (pid)
		return now_ms() - c->mounts_ms < MOUNTS_MS;
	return p.fd >= 0 && !(poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLPRI));
}

static void refresh_mounts(struct sys_cache *c, uint32_t pid)
{
	struct remote r = { NULL, 0 };
	char path[PROCFS_PATH];

	if (mounts_hold(c, pid))
		return;
	if (c->mountinfo >= 0)
		close(c->mountinfo);
	free(c->mounts);
	c->mounts = NULL;
	c->mountinfo = open(pid ? procfs_path(path, pid, "mountinfo") : MOUNTS_OURS,
		O_RDONLY | O_CLOEXEC);
	c->mounts_pid = pid;
	mounts_find(c->mountinfo, keep_remote, &r);
	c->mounts = r.points ? r.points : calloc(1, 1);
	c->mounts_ms = now_ms();
	if (pid && c->mountinfo >= 0) {
		close(c->mountinfo);
		c->mountinfo = -1;
	}
}

static bool lies_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len] || len == 1);
}

/* Directories on network and FUSE file systems are never touched: the access could block, and would
 * cause traffic of its own. */
static bool is_untouchable(const struct sys_cache *c, const char *dir)
{
	for (const char *m = c->mounts; m && *m; m += strlen(m) + 1)
		if (lies_below(dir, m))
			return true;
	return false;
}

/* --- data roots --- */

static bool has_xattr(int dir, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	return getxattr(self, name, NULL, 0) >= 0;
}

/* Markers: "name" is a file, "name/" a directory (either may be a symbolic link), "!name" the
 * absence of both, "xattr:name" an attribute. */
static bool marker_holds(int dir, const char *marker)
{
	char name[PATTERN_MAX + 1];
	bool absent = marker[0] == '!', folder;
	struct stat st;
	size_t len;

	if (!strncmp(marker, "xattr:", 6))
		return has_xattr(dir, marker + 6);
	snprintf(name, sizeof(name), "%s", marker + absent);
	len = strlen(name);
	if (!len || name[0] == '/')
		return false;
	folder = name[len - 1] == '/';
	if (folder)
		name[len - 1] = '\0';
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return absent && errno == ENOENT;
	return !absent && (S_ISLNK(st.st_mode) || !!S_ISDIR(st.st_mode) == folder);
}

static bool is_root_of(int dir, const struct sys_entry *e)
{
	for (size_t i = 0; i < e->n_roots; i++) {
		const struct sys_strings *all = &e->roots[i].all;
		size_t n;

		for (n = 0; n < all->n && marker_holds(dir, all->s[n]); n++)
			;
		if (n && n == all->n)
			return true;
	}
	return false;
}

/* Opens a path as the kernel named it. Such a path has no symbolic links: one that is there now was
 * placed to mislead. */
static int open_place(const struct way *w, const char *inside, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	char path[PROCFS_PATH];
	auto_close int root = open(w->to == WAY_HOME ? "/" : procfs_path(path, w->pid, "root"),
		O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (*inside == '/')
		inside++;
	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, *inside ? inside : ".", &how,
		sizeof(how));
}

/* True when a process can be looked through: it has not ended, and is not about to. */
static bool is_there(uint32_t pid)
{
	char path[PROCFS_PATH], root;

	return readlink(procfs_path(path, pid, "root"), &root, 1) > 0;
}

/* True when no process is left in that namespace and root. */
static bool is_gone(const struct way *w)
{
	return w->to == WAY_AWAY && !w->pid;
}

static bool is_root(const struct dir *d)
{
	return d->system || d->engine;
}

/* Question to a helper about a directory or files; the path follows. */
struct asked {
	uint32_t to, pid;
};

/* Answer about a directory: numbers of entries; SYS_ENTRIES: none. */
struct told {
	uint32_t system, engine;
	uint64_t dev, ino;
	/* the process that was looked through has ended, so that the answer says nothing about the
	 * directory */
	bool gone;
};

/* Reads the way of a question, whose following text must be terminated inside it; false: it is
 * malformed. */
static bool way_of(const void *question, size_t len, struct way *w)
{
	const struct asked *a = question;

	if (len <= sizeof(*a) || ((const char *)question)[len - 1])
		return false;
	*w = (struct way){ .to = a->to == WAY_HOME ? WAY_HOME : WAY_AWAY, .pid = a->pid };
	return true;
}

static ssize_t answer_folder(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const struct systems *db = arg;
	struct told *t = answer;
	struct way w;
	struct stat st;
	int dir;

	if (!way_of(question, len, &w) || room < sizeof(*t))
		return -EINVAL;
	*t = (struct told){ SYS_ENTRIES, SYS_ENTRIES };
	dir = open_place(&w, (const char *)question + sizeof(struct asked), O_DIRECTORY);
	t->gone = dir < 0 && w.to == WAY_AWAY && !is_there(w.pid);
	for (uint32_t i = 0; dir >= 0 && i < db->n; i++) {
		uint32_t *to = db->entry[i]->engine ? &t->engine : &t->system;

		if (*to == SYS_ENTRIES && is_root_of(dir, db->entry[i]))
			*to = i;
	}
	if (dir >= 0 && !fstat(dir, &st)) {
		t->dev = st.st_dev;
		t->ino = st.st_ino;
	}
	if (dir >= 0)
		close(dir);
	return sizeof(*t);
}

/* Returns false when nothing is known about the directory. */
static bool look_at(const struct systems *db, const struct way *w, const char *inside,
	struct dir *d)
{
	struct { struct asked a; char path[PATH_BYTES]; } q = { { w->to, w->pid } };
	struct ask_about of = { .pid = w->to == WAY_AWAY ? w->pid : 0, .path = inside };
	struct told t;

	sys_text(q.path, sizeof(q.path), inside);
	sys_roots_serve(db);
	if (ask(ASK_FOLDER, of, &q, sizeof(q.a) + strlen(q.path) + 1, &t, sizeof(t)) != sizeof(t))
		return false;
	db->cache->over |= t.gone;
	if (t.gone)
		return false;
	d->system = t.system < db->n ? db->entry[t.system] : NULL;
	d->engine = t.engine < db->n ? db->entry[t.engine] : NULL;
	d->dev = is_root(d) ? t.dev : 0;
	d->ino = is_root(d) ? t.ino : 0;
	d->until_ms = now_ms() + (is_root(d) ? FOUND_MS : EMPTY_MS);
	return true;
}

/* A lower value is evicted first. */
static uint64_t kept_until(const struct dir *d)
{
	return d->path ? d->until_ms + (is_root(d) ? KEPT_MS : 0) : 0;
}

/* Entry of a directory; when it has none, the entry that it may take. */
static struct dir *dir_place(struct sys_cache *c, const char *path)
{
	struct dir *set = &c->dir[hash(path, strlen(path)) / 2 % (DIR_SLOTS / WAYS) * WAYS],
		*best = set;

	for (struct dir *d = set; d < set + WAYS; d++) {
		if (d->path && !strcmp(d->path, path))
			return d;
		if (kept_until(d) < kept_until(best))
			best = d;
	}
	return best;
}

/* `inside` is the directory as its user names it. */
const struct dir *roots_lookup(const struct systems *db, const struct way *w, const char *inside)
{
	static const struct dir none;
	struct sys_cache *c = db->cache;
	char path[PATH_BYTES + 64];
	struct dir *d, now = { NULL };
	bool known;

	if (w->to == WAY_NONE || (!is_gone(w) && is_untouchable(c, inside)))
		return &none;
	snprintf(path, sizeof(path), "%llx:%s", (unsigned long long)w->space, inside);
	d = dir_place(c, path);
	known = d->path && !strcmp(d->path, path);
	if (known && (is_gone(w) || (now_ms() < d->until_ms && (is_root(d) || !w->last))))
		return d;
	if (is_gone(w) || !look_at(db, w, inside, &now))
		return known ? d : &none;
	now.path = known ? d->path : strdup(path);
	if (!known)
		free(d->path);
	*d = now;
	return d;
}

/* Inside a chroot the outer root is called "/" too. */
static bool is_our_root(uint32_t pid)
{
	char path[PROCFS_PATH];
	struct stat ours, theirs;

	return !stat("/", &ours) && !stat(procfs_path(path, pid, "root"), &theirs) &&
		ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Answer about the beginning of a process's paths, followed by its root as seen from here. */
struct began {
	bool same_mounts, home;
};

static ssize_t answer_way(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	struct began *b = answer;
	char path[PROCFS_PATH], *jail = (char *)(b + 1);
	struct stat ours, theirs;
	uint32_t pid;
	ssize_t n;

	if (len != sizeof(pid) || room < sizeof(*b) + PATH_BYTES)
		return -EINVAL;
	memcpy(&pid, question, len);
	if (stat(procfs_path(path, pid, "ns/mnt"), &theirs) || stat("/proc/self/ns/mnt", &ours))
		return -ESRCH;
	n = readlink(procfs_path(path, pid, "root"), jail, PATH_BYTES - 1);
	if (n <= 0)
		return -ESRCH;
	jail[n] = '\0';
	b->same_mounts = ours.st_ino == theirs.st_ino;
	b->home = b->same_mounts && !strcmp(jail, "/") && is_our_root(pid);
	return sizeof(*b) + n;
}

/* Returns false when it is gone. */
static bool find_way(uint32_t pid, struct way *w)
{
	struct { struct began b; char jail[PATH_BYTES + 1]; } answer;
	ssize_t n = pid ? ask(ASK_WAY, (struct ask_about){ .pid = pid }, &pid, sizeof(pid), &answer,
		sizeof(answer) - 1) : 0;

	if (n <= (ssize_t)sizeof(answer.b))
		return false;
	answer.jail[n - sizeof(answer.b)] = '\0';
	strcpy(w->jail, answer.jail);
	w->same_mounts = answer.b.same_mounts;
	w->to = answer.b.home ? WAY_HOME : WAY_AWAY;
	if (!strcmp(w->jail, "/"))
		w->jail[0] = '\0';
	w->pid = w->to == WAY_AWAY ? pid : 0;
	w->space = w->pid;
	return true;
}

/* Entry of a namespace and root; when it has none, the entry that it may take: the one unused for
 * longest. */
static struct space *space_place(struct sys_cache *c, uint64_t number)
{
	struct space *set = &c->space[number / 2 % (SPACE_SLOTS / WAYS) * WAYS], *best = set;

	for (struct space *s = set; s < set + WAYS; s++) {
		if (s->number == number)
			return s;
		if (s->used_ms < best->used_ms)
			best = s;
	}
	return best;
}

static void remember_space(struct sys_cache *c, uint64_t number, const struct way *w)
{
	struct space *s = space_place(c, number);
	uint64_t now = now_ms();

	if (s->number != number) {
		free(s->jail);
		*s = (struct space){ .number = number, .same_mounts = w->same_mounts,
			.jail = strdup(w->jail) };
	}
	s->used_ms = now;
	if (!s->jail)
		*s = (struct space){ 0 };
}

static bool recall_space(struct sys_cache *c, uint64_t number, struct way *w)
{
	const struct space *s = number ? space_place(c, number) : NULL;

	if (!s || s->number != number)
		return false;
	w->to = WAY_AWAY;
	w->same_mounts = s->same_mounts;
	strcpy(w->jail, s->jail);
	return true;
}

/* Finds the way, remembered for a moment. */
static bool recent_way(struct sys_cache *c, uint32_t pid, struct sys_view view, struct way *w)
{
	struct begun *b = &c->begun[pid % WAY_SLOTS];
	uint64_t now = now_ms();

	if (pid && b->pid == pid && b->space == view.space && b->ours == view.ours &&
	    now < b->until_ms) {
		*w = b->way;
		return true;
	}
	if (!find_way(pid, w))
		return false;
	*b = (struct begun){ pid, view.space, now + MOUNTS_MS, view.ours, *w };
	return true;
}

bool way_is_over(struct sys_cache *c)
{
	bool over = c->over;

	for (size_t i = 0; over && i < WAY_SLOTS; i++)
		c->begun[i].pid = 0;
	c->over = false;
	return over;
}

void way_find(struct sys_cache *c, struct sys_view view, struct way *w)
{
	*w = (struct way){ .to = view.ours ? WAY_HOME : WAY_NONE };
	if (recent_way(c, view.pid, view, w) || recent_way(c, view.other, view, w)) {
		if (w->to == WAY_AWAY && view.space)
			remember_space(c, view.space, w);
	} else if (!view.ours && !recall_space(c, view.space, w)) {
		return;
	}
	if (w->to == WAY_AWAY && view.space)
		w->space = view.space;
	w->last = view.last;
	if (!is_gone(w))
		refresh_mounts(c, w->pid);
}

bool sys_is_untouchable(struct sys_cache *c, uint32_t pid, const char *path)
{
	struct way w = { .to = WAY_NONE };

	if (!find_way(pid, &w))
		return true;
	refresh_mounts(c, w.pid);
	return is_untouchable(c, path);
}

void roots_remember(struct sys_cache *c, const char *path, size_t len)
{
	uint64_t h = hash(path, len);

	c->seen[h / 2 % SEEN_SLOTS] = h;
}

bool roots_is_remembered(const struct sys_cache *c, const char *path, size_t len)
{
	uint64_t h = hash(path, len);

	return c->seen[h / 2 % SEEN_SLOTS] == h;
}

/* Answers for each of several paths in a row whether it is a regular file. */
static ssize_t answer_beside(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const char *path = (const char *)question + sizeof(struct asked),
		*end = (const char *)question + len;
	bool *file = answer;
	struct way w;
	struct stat st;

	if (!way_of(question, len, &w))
		return -EINVAL;
	for (; path < end && file < (bool *)answer + room; path += strlen(path) + 1) {
		int fd = open_place(&w, path, O_NOFOLLOW);

		*file++ = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
		if (fd >= 0)
			close(fd);
	}
	return file - (bool *)answer;
}

void roots_are_files(const struct systems *db, const struct way *w, const char *paths, size_t len,
	bool *file, size_t n)
{
	static struct { struct asked a; char paths[ASK_ROOM - sizeof(struct asked)]; } q;
	struct ask_about of = { .pid = w->to == WAY_AWAY ? w->pid : 0, .path = paths };

	memset(file, 0, n);
	if (w->to == WAY_NONE || is_gone(w) || len > sizeof(q.paths) ||
	    is_untouchable(db->cache, paths))
		return;
	q.a = (struct asked){ w->to, w->pid };
	memcpy(q.paths, paths, len);
	if (ask(ASK_BESIDE, of, &q, sizeof(q.a) + len, file, n) != (ssize_t)n)
		memset(file, 0, n);
}

void sys_roots_serve(const struct systems *db)
{
	ask_serve(ASK_WAY, answer_way, NULL);
	ask_serve(ASK_FOLDER, answer_folder, (void *)db);
	ask_serve(ASK_BESIDE, answer_beside, NULL);
}
