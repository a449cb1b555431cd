// SPDX-License-Identifier: GPL-3.0-only
/* names.c - names of processes and files.
 *
 * The kernel side sends pid, start time and name of the leader of each process. The rest is read
 * from /proc as soon as that record arrives, some milliseconds later. By then the process may be
 * gone, its pid may belong to another one, or it may run another program: the rest is then absent,
 * never guessed.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ask.h"
#include "clean.h"
#include "detect.h"
#include "groups.h"
#include "hash.h"
#include "names.h"
#include "procfs.h"
#include "id_table.h"
#include "systems/systems.h"
#include "tracer.h"

#define CMDLINE_MAX 4096
#define KEPT_MAX (16u << 20)
#define RETRIES 3 /* attempts for processes that could not be examined at first, a second apart */
#define RETRY_ROOM 4096         /* processes waiting for these attempts, at most */

/* Memory of a process: the record of its end repeats the names in its first record. */
struct entry {
	enum { ENTRY_NEW, ENTRY_TOLD, ENTRY_OVER } state;
	/* its names, each NUL-terminated; an empty one is absent. NULL: none, or no room */
	char *kept;
	u64 rchar, wchar;       /* bytes of its accounting at its end, while its names are kept */
	bool accounted;         /* rchar and wchar are known */
};

/* Container of a control group that a process was seen in: many processes are too short-lived to be
 * examined. */
struct known_group {
	u64 id[2];              /* version 2, and memory controller; the key */
	UT_hash_handle hh;
	char *path;
	char *container;        /* "": none */
};

#define GROUPS_MAX 65536

/* A user of this machine, from /etc/passwd alone: asking NSS for others may wait for servers. */
struct known_user {
	u32 uid;                /* key */
	UT_hash_handle hh;
	char name[64];
};

#define USERS_MAX 65536

#define USUAL_BLOCK 4096       /* bytes: value of file.block where that is absent */
#define BLOCKS_MAX 64          /* file systems with another block size, at most */

struct block_size {
	u32 dev, bytes;
};

struct names {
	struct detect *detect;
	struct block_size blocks[BLOCKS_MAX];
	size_t n_blocks;
	struct id_table entries;  /* struct entry by process id */
	size_t kept_bytes;
	struct known_group *groups;
	struct known_user *users;
	char *ended;            /* names in the record given last */
	struct rec_process process;
	struct rec_file file;
	char comm[IOT_COMM_LEN + 1];
	char told[ASK_ROOM];    /* names in the helper's last answer */
	struct retry { struct iot_proc proc; u32 tries; } *retry;
	size_t n_retry, at_retry, retry_room;
	struct iot_proc retried; /* process given last by names_retry() */
	char path[2 * sizeof(((struct iot_path *)0)->buf)];
};

static void read_users(struct names *n)
{
	auto_fclose FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;
	struct known_user *u;

	while (f && HASH_COUNT(n->users) < USERS_MAX && (p = fgetpwent(f))) {
		u32 uid = p->pw_uid;

		HASH_FIND(hh, n->users, &uid, sizeof(uid), u);
		if (u || !(u = calloc(1, sizeof(*u))))
			continue;
		u->uid = uid;
		snprintf(u->name, sizeof(u->name), "%s", p->pw_name);
		HASH_PUT(n->users, uid, sizeof(uid), u);
	}
}

int names_new(struct names **out, struct detect *detect)
{
	struct names *n = calloc(1, sizeof(*n));

	*out = n;
	if (!n)
		return fail(ENOMEM, "names");
	n->detect = detect;
	n->entries.size = sizeof(struct entry);
	read_users(n);
	return 0;
}

static void free_entry(void *entry)
{
	free(((struct entry *)entry)->kept);
}

static void free_group(struct known_group *g)
{
	free(g->path);
	free(g->container);
	free(g);
}

static void free_groups(struct names *n)
{
	struct known_group *g, *next;

	HASH_ITER(hh, n->groups, g, next) {
		HASH_DEL(n->groups, g);
		free_group(g);
	}
}

void names_free(struct names *n)
{
	if (!n)
		return;
	id_table_free(&n->entries, free_entry);
	free_groups(n);
	HASH_FREE(n->users);
	free(n->ended);
	free(n->retry);
	free(n);
}

/* --- in a helper --- */

/* Question: a process as the kernel side knows it. */
struct asked {
	u32 pid, kthread;
	u64 start_ns;
	u64 cgroup, cgroup1;
	char comm[IOT_COMM_LEN];
};

/* True when /proc still shows this very process, running this very program. */
static bool still_there(const struct asked *p)
{
	struct procfs_stat s;

	return !procfs_stat(p->pid, &s) && procfs_began(s.start_ticks, p->start_ns) &&
		procfs_is_called(p->pid, p->comm);
}

static char *put_exe(u32 pid, char *to)
{
	static const char gone[] = " (deleted)";
	struct stat s;
	char path[PROCFS_PATH];
	ssize_t len;

	procfs_path(path, pid, "exe");
	len = readlink(path, to, PATH_MAX - 1);
	to[len > 0 ? len : 0] = '\0';
	/* the kernel appends " (deleted)" to the name of a removed file, which can also be part of
	 * a real name. The file is only examined in that case, since a file system that does not
	 * answer (NFS, FUSE) would block */
	if (len > (ssize_t)strlen(gone) && !strcmp(to + len - strlen(gone), gone) &&
	    !stat(path, &s) && !s.st_nlink)
		to[len - strlen(gone)] = '\0';
	return to + strlen(to) + 1;
}

static char *put_cmdline(u32 pid, char *to)
{
	int len = procfs_read(pid, "cmdline", to, CMDLINE_MAX);

	while (len > 0 && !to[len - 1])
		len--;
	for (int i = 0; i < len; i++)
		if (!to[i])
			to[i] = ' ';
	to[len > 0 ? len : 0] = '\0';
	return to + strlen(to) + 1;
}

/* Asks /proc of the process where the kernel does not open a group by its id (in a container). */
static const char *group_path(const struct asked *p, char *text, size_t size)
{
	const char *path = groups_path(p->cgroup, p->cgroup1, text, size);

	return path || errno != EPERM || !still_there(p) ? path :
		procfs_cgroup(p->pid, text, size).telling;
}

/* Appends the container of a control group: its name, else its id, or nothing. */
static char *put_container(const struct asked *p, const char *cgroup, char *to)
{
	char id[SYS_CONTAINER_LEN], name[SYS_CONTAINER_LEN];

	*to = '\0';
	if (cgroup && systems_container(cgroup, id))
		strcpy(to, systems_container_name("", id, still_there(p) ? p->pid : 0, name) ?
			name : id);
	return to + strlen(to) + 1;
}

/* Answers with the names of a process, each NUL-terminated, in the order of name_of(); with the
 * control group alone when the process ended or changed meanwhile. */
static ssize_t answer_names(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const struct asked *p = question;
	char text[PATH_MAX], *to = answer;
	const char *cgroup;

	if (len != sizeof(*p) || room < 2 * PATH_MAX + CMDLINE_MAX + SYS_CONTAINER_LEN)
		return -EINVAL;
	*to = to[1] = '\0';
	to = p->kthread || !still_there(p) ? to + 2 : put_cmdline(p->pid, put_exe(p->pid, to));
	if (to > (char *)answer + 2 && !still_there(p)) {
		to = answer;
		*to++ = '\0';
		*to++ = '\0';
	}
	cgroup = p->kthread || !p->cgroup ? NULL : group_path(p, text, sizeof(text));
	to = stpcpy(to, cgroup ?: "") + 1;
	to = put_container(p, cgroup, to);
	return to - (char *)answer;
}

void names_serve(void)
{
	ask_serve(ASK_NAMES, answer_names, NULL);
}

/* --- asking side --- */

/* Names that are kept, in their order. */
static const char **name_of(struct rec_process *r, size_t i)
{
	const char **names[] = { &r->exe, &r->cmdline, &r->cgroup, &r->container };

	return i < N_OF(names) ? names[i] : NULL;
}

static void keep(struct names *n, struct entry *e, struct rec_process *r)
{
	size_t len = 0;
	const char **name;
	char *to;

	for (size_t i = 0; (name = name_of(r, i)); i++)
		len += *name ? strlen(*name) + 1 : 1;
	if (n->kept_bytes + len > KEPT_MAX || !(to = e->kept = malloc(len)))
		return;
	n->kept_bytes += len;
	for (size_t i = 0; (name = name_of(r, i)); i++)
		to = stpcpy(to, *name ? *name : "") + 1;
}

/* Takes names that are each NUL-terminated; empty ones are absent. end: NULL when all are there. */
static void take_names(struct rec_process *r, const char *from, const char *end)
{
	const char **name;

	for (size_t i = 0; (name = name_of(r, i)) && (!end || from < end); i++) {
		*name = *from ? from : NULL;
		from += strlen(from) + 1;
	}
}

/* Group of a process, if a process in that group was examined; NULL: none was. */
static struct known_group *group_of(struct names *n, const struct iot_proc *p)
{
	const u64 id[2] = { p->cgroup, p->cgroup1 };
	struct known_group *g;

	HASH_FIND(hh, n->groups, id, sizeof(id), g);
	return g;
}

/* Returns 0; -ESRCH: nothing more can be known; or -EBUSY: try again later. */
static int identify(struct names *n, const struct iot_proc *p, struct rec_process *r)
{
	struct asked q = { .pid = p->pid, .kthread = !!(p->flags & PROC_KTHREAD),
		.start_ns = p->start_ns,
			   .cgroup = p->cgroup, .cgroup1 = p->cgroup1 };
	ssize_t len;

	if (!p->pid)
		return -ESRCH;
	if (group_of(n, p))
		q.cgroup = 0; /* known: the helper need not read it */
	memcpy(q.comm, p->comm, sizeof(q.comm));
	len = ask(ASK_NAMES, (struct ask_about){ .pid = p->pid }, &q, sizeof(q), n->told,
		sizeof(n->told) - 1);
	if (len <= 0)
		return len == -EBUSY ? -EBUSY : -ESRCH;
	n->told[len] = '\0';
	take_names(r, n->told, n->told + len);
	return 0;
}

/* Schedules another attempt for a process that could not be examined. */
static void identify_later(struct names *n, const struct iot_proc *p)
{
	if (n->n_retry < RETRY_ROOM && !grow((void **)&n->retry, n->n_retry, &n->retry_room,
	    sizeof(*n->retry)))
		n->retry[n->n_retry++] = (struct retry){ *p, 0 };
}

static void account(const struct entry *e, struct rec_process *r)
{
	if (r->kthread || !e->accounted)
		return;
	rec_set(r, process, rchar, e->rchar);
	rec_set(r, process, wchar, e->wchar);
}

/* Fills in the end of a process, with its names again; returns false when they were not kept. */
static bool over(struct names *n, const struct iot_proc *p, struct entry *e, struct rec_process *r)
{
	if (!(p->flags & PROC_BORN) || (e->state == ENTRY_TOLD && !e->kept))
		return false;
	e->accounted = true;
	e->rchar = p->rchar;
	e->wchar = p->wchar;
	account(e, r);
	if (e->kept)
		take_names(r, e->kept, NULL);
	return true;
}

/* Frees the names of an ended process with the next call. A server's are kept: its instance may
 * become known later. */
static void keep_no_more(struct names *n, struct entry *e, struct rec_process *r)
{
	if (r->system && !r->instance) {
		if (!e->kept)
			keep(n, e, r);
		return;
	}
	n->ended = e->kept;
	e->kept = NULL;
}

/* Frees kept names. */
static void forget(struct names *n, char *kept)
{
	const char *end = kept;

	for (size_t i = 0; end && name_of(&n->process, i); i++)
		end += strlen(end) + 1;
	n->kept_bytes -= end ? end - kept : 0;
	free(kept);
}

static void forget_ended(struct names *n)
{
	forget(n, n->ended);
	n->ended = NULL;
}

bool names_kept(const struct names *n, u32 id)
{
	const struct entry *e = id_table_find(&n->entries, id);

	return e && e->kept;
}

void names_forget(struct names *n, u32 id)
{
	struct entry *e = id_table_find(&n->entries, id);

	if (e)
		forget(n, e->kept);
	id_table_drop(&n->entries, id);
}

static const char *user_name(struct names *n, u32 uid)
{
	struct known_user *u;

	HASH_FIND(hh, n->users, &uid, sizeof(uid), u);
	return u && u->name[0] ? u->name : NULL;
}

static void begin_record(struct names *n, const struct iot_proc *p, struct rec_process *r)
{
	*r = (struct rec_process){ .id = p->id, .pid = p->pid, .start_ns = p->start_ns };
	memcpy(n->comm, p->comm, IOT_COMM_LEN);
	r->comm = n->comm;
	r->kthread = p->flags & PROC_KTHREAD ? 1 : 0;
	rec_set(r, process, ppid, p->ppid);
	if (r->kthread)
		return;
	rec_set(r, process, uid, p->uid);
	r->user = user_name(n, p->uid);
}

static void note_group(struct names *n, const u64 id[2], const struct rec_process *r)
{
	struct known_group *g = HASH_COUNT(n->groups) < GROUPS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return;
	memcpy(g->id, id, sizeof(g->id));
	g->path = strdup(r->cgroup);
	g->container = strdup(r->container ?: "");
	if (!g->path || !g->container)
		free_group(g);
	else
		HASH_PUT(n->groups, id, sizeof(g->id), g);
}

/* Decides what a process is. Its control group and container are those of the group that the kernel
 * side reports; where the process could not be examined, they come from another process in that
 * group. */
static void detect(struct names *n, const struct iot_proc *p, struct rec_process *r)
{
	const u64 id[2] = { p->cgroup, p->cgroup1 };
	const char *container = r->container;
	struct known_group *g = group_of(n, p);

	detect_process(n->detect, p, r);
	r->container = container;
	if (!g && r->cgroup)
		note_group(n, id, r);
	if (!g || r->cgroup)
		return;
	r->cgroup = g->path;
	r->container = g->container[0] ? g->container : NULL;
}

const struct rec_process *names_process(struct names *n, const struct iot_proc *p)
{
	struct rec_process *r = &n->process;
	struct entry *e = id_table_make(&n->entries, p->id);
	bool exited = p->flags & PROC_EXITED;

	forget_ended(n);
	if (!e || e->state == ENTRY_OVER || (e->state == ENTRY_TOLD && !exited))
		return NULL;
	begin_record(n, p, r);
	if (!exited) {
		if (identify(n, p, r) == -EBUSY)
			identify_later(n, p);
		keep(n, e, r);
	} else if (!over(n, p, e, r) && e->state == ENTRY_TOLD) {
		return NULL;
	}
	detect(n, p, r);
	e->state = exited ? ENTRY_OVER : ENTRY_TOLD;
	if (exited)
		keep_no_more(n, e, r);
	return r;
}

const struct rec_process *names_again(struct names *n, const struct iot_proc *p)
{
	struct rec_process *r = &n->process;
	struct entry *e = id_table_find(&n->entries, p->id);

	if (!e || e->state == ENTRY_NEW || !e->kept)
		return NULL;
	begin_record(n, p, r);
	take_names(r, e->kept, NULL);
	account(e, r);
	detect(n, p, r);
	return r;
}

const struct iot_proc *names_retry(struct names *n)
{
	struct rec_process *r = &n->process;

	while (n->at_retry < n->n_retry) {
		struct retry *one = &n->retry[n->at_retry];
		struct entry *e = id_table_find(&n->entries, one->proc.id);
		int err;

		begin_record(n, &one->proc, r);
		err = e && e->state == ENTRY_TOLD ? identify(n, &one->proc, r) : -ESRCH;
		if (err == -EBUSY && ++one->tries < RETRIES) {
			n->at_retry++;
			continue;
		}
		n->retried = one->proc;
		*one = n->retry[--n->n_retry];
		if (err)
			continue;
		forget(n, e->kept);
		e->kept = NULL;
		keep(n, e, r);
		return &n->retried;
	}
	n->at_retry = 0;
	return NULL;
}

bool names_join(const struct iot_path *p, char *out)
{
	const char *parts[sizeof(p->buf)];
	u32 n = 0, at = 0;

	if (!p->whole || p->len > sizeof(p->buf))
		return false;
	while (at < p->len) {
		size_t len = strnlen(p->buf + at, p->len - at);

		if (at + len == p->len)
			return false; /* a component without its end: truncated */
		parts[n++] = p->buf + at;
		at += len + 1;
	}
	if (n != p->parts)
		return false;
	if (!n)
		strcpy(out, "/");
	while (n) {
		*out++ = '/';
		out = stpcpy(out, parts[--n]);
	}
	return true;
}

/* Block size of a file. It is the same in a whole file system, so that a file found only by its
 * number gets that of another file there. 0: absent, the usual size. */
static u32 block_of(struct names *n, const struct iot_path *p)
{
	size_t i = 0;

	while (i < n->n_blocks && n->blocks[i].dev != p->dev)
		i++;
	if (!p->block || p->node)
		return p->block || i == n->n_blocks ? p->block : n->blocks[i].bytes;
	if (i == n->n_blocks && i < BLOCKS_MAX && p->block != USUAL_BLOCK)
		n->n_blocks++;
	if (i < n->n_blocks)
		n->blocks[i] = (struct block_size){ p->dev, p->block };
	return p->block;
}

static void take_file(struct names *n, const struct iot_path *p, const char *path)
{
	u32 block = block_of(n, p);

	n->file = (struct rec_file){ .id = p->file, .dev = p->dev, .ino = p->ino, .gen = p->gen,
		.path = path };
	if (block && block != USUAL_BLOCK)
		rec_set(&n->file, file, block, block);
	detect_file(n->detect, p, &n->file);
}

const struct rec_file *names_file_at(struct names *n, const struct iot_path *p, const char *path)
{
	take_file(n, p, path);
	return &n->file;
}

const struct rec_file *names_file(struct names *n, const struct iot_path *p, const char *mount)
{
	size_t top = 0;

	if (p->whole == PATH_INSIDE) {
		top = mount && strcmp(mount, "/") ? strlen(mount) : 0;
		if (mount && !p->parts)
			return names_file_at(n, p, mount);
		if (!mount || top + sizeof(p->buf) >= sizeof(n->path))
			return names_file_at(n, p, NULL);
		memcpy(n->path, mount, top);
	}
	take_file(n, p, names_join(p, n->path + top) ? n->path : NULL);
	return &n->file;
}
