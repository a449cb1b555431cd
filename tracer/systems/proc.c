/* SPDX-License-Identifier: GPL-3.0-only */
/* proc.c - what runs now: reads /proc, asks the rules, prints a list. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clean.h"
#include "number.h"
#include "procfs.h"
#include "rules.h"
#include "utf8.h"

#define CMDLINE_BYTES 65536
#define ENVIRON_BYTES 65536
#define CGROUP_BYTES 4096
#define PATH_BYTES 4096
#define ARGS 4096               /* arguments kept */
#define FDS 256                 /* open files looked at, of one process */
#define ROLES 32                /* of the threads of one process */
#define DRIVES 64               /* folders that one argument names */
#define ARGS_LOOKED 256         /* arguments that may name folders */

/* Everything read of one process. */
struct memory {
	struct procfs_stat stat;
	char cgroup[CGROUP_BYTES], exe[PATH_BYTES];
	char cmdline[CMDLINE_BYTES], env[ENVIRON_BYTES], container[SYS_CONTAINER_LEN];
	const char *argv[ARGS];
};

static void split_args(struct memory *m, size_t len, struct sys_proc *p)
{
	for (size_t at = 0; at < len && p->argc < ARGS; at += strlen(m->cmdline + at) + 1)
		m->argv[p->argc++] = m->cmdline + at;
	p->argv = m->argv;
}

/* The container that a control group belongs to: by its name where there is one. */
static const char *name_container(const char *cgroup, char out[SYS_CONTAINER_LEN])
{
	char name[SYS_CONTAINER_LEN];

	if (!cgroup || !systems_container(cgroup, out))
		return NULL;
	if (systems_container_name("", out, name))
		strcpy(out, name);
	return out;
}

int systems_ident(uint32_t pid, struct sys_ident *out)
{
	struct memory *m = calloc(1, sizeof(*m));
	char path[PROCFS_PATH];
	ssize_t n;

	memset(out, 0, sizeof(*out));
	if (!m)
		return -ENOMEM;
	out->pid = out->proc.pid = pid;
	out->memory = m;
	if (procfs_stat(pid, &m->stat) || m->stat.over) {
		systems_ident_free(out);
		return -ESRCH;
	}
	out->ppid = m->stat.ppid;
	out->start_ticks = m->stat.start_ticks;
	out->kthread = m->stat.kthread;
	out->proc.comm = m->stat.comm;
	out->proc.forked = m->stat.forked;
	n = procfs_read(pid, "cmdline", m->cmdline, sizeof(m->cmdline));
	split_args(m, n > 0 ? n : 0, &out->proc);
	n = procfs_read(pid, "environ", m->env, sizeof(m->env));
	out->proc.env = n > 0 ? m->env : NULL;
	out->proc.env_len = n > 0 ? n : 0;
	n = readlink(procfs_path(path, pid, "exe"), m->exe, sizeof(m->exe) - 1);
	out->proc.exe = n > 0 ? m->exe : NULL;
	out->proc.cgroup = procfs_cgroup(pid, m->cgroup, sizeof(m->cgroup)).telling;
	out->proc.container = name_container(out->proc.cgroup, m->container);
	return 0;
}

void systems_ident_free(struct sys_ident *id)
{
	free(id->memory);
	memset(id, 0, sizeof(*id));
}

/* One process of the list. */
struct row {
	uint32_t pid, ppid;
	uint64_t start;
	struct sys_match m;
};

struct table {
	struct row *row;
	size_t n, room;
	int err;
};

static int by_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Parents first: a parent is never younger than its child. */
static int by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : by_pid(a, b);
}

static void add_row(void *arg, uint32_t pid, uint32_t ppid)
{
	struct table *t = arg;
	struct sys_ident id;

	if (systems_ident(pid, &id))
		return;
	if (!id.kthread && !t->err)
		t->err = grow((void **)&t->row, t->n, &t->room, sizeof(*t->row));
	if (!id.kthread && !t->err)
		t->row[t->n++] = (struct row){ .pid = id.pid, .ppid = id.ppid, .start = id.start_ticks };
	systems_ident_free(&id);
}

static int list_pids(struct table *t)
{
	return procfs_list(add_row, t) ?: t->err;
}

/* What a process is looked at for. */
struct look {
	struct systems *db;
	uint32_t pid;
	struct sys_match *m;
	char root[PATH_BYTES];          /* its root as we see it: links in /proc begin with it, what it calls paths does not */
	bool changed;
};

/* `path` as a link in /proc gives it; `writes`: it is open for writing. Only what a process writes makes it what it is. */
static void learn_path(struct look *l, const char *path, bool writes)
{
	size_t len = strlen(l->root);
	struct sys_file f;

	if (len == 1)
		len = 0;
	if (len && (strncmp(path, l->root, len) || path[len] != '/'))
		return;
	path += len;
	if (path[0] != '/' || (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9)) || !strncmp(path, "/proc/", 6) || (!writes && !l->m->system))
		return;
	if (systems_file(l->db, path, (struct sys_view){ .pid = l->pid }, l->m, &f))
		l->changed |= systems_learn(l->db, l->m, &f, l->pid);
}

static void learn_files(struct look *l)
{
	char dir[PROCFS_PATH], link[PATH_BYTES];
	struct dirent *d;
	int left = FDS;
	DIR *fds;

	fds = opendir(procfs_path(dir, l->pid, "fd"));
	while (fds && left-- && (d = readdir(fds))) {
		ssize_t n = d->d_name[0] == '.' ? -1 : readlinkat(dirfd(fds), d->d_name, link, sizeof(link) - 1);
		struct stat st;

		link[n > 0 ? n : 0] = '\0';
		if (link[0] == '/' && !fstatat(dirfd(fds), d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			learn_path(l, link, st.st_mode & S_IWUSR);
	}
	if (fds)
		closedir(fds);
}

/* A server that keeps no file open may still stand in its data root (postgres). */
static void learn_folder(struct look *l)
{
	char path[PROCFS_PATH], link[PATH_BYTES];
	ssize_t n = readlink(procfs_path(path, l->pid, "cwd"), link, sizeof(link) - 3);

	if (n <= 0)
		return;
	strcpy(link + n, "/x");
	learn_path(l, link, false);
}

static void learn_name(struct look *l, const char *path)
{
	char inside[PATH_BYTES];
	struct sys_file f;
	int n = snprintf(inside, sizeof(inside), "%s/x", path);

	if (n < (int)sizeof(inside) && systems_file(l->db, inside, (struct sys_view){ .pid = l->pid }, l->m, &f))
		l->changed |= systems_learn(l->db, l->m, &f, l->pid);
}

/* "/mnt/d{1...4}/data" is four folders; {01...16} keeps its zeros. One such range is followed. */
static void learn_range(struct look *l, const char *path)
{
	const char *open = strchr(path, '{'), *dots = open ? strstr(open, "...") : NULL, *end = dots ? strchr(dots, '}') : NULL;
	char one[PATH_BYTES];
	unsigned from, to;

	if (!end || sscanf(open, "{%5u...%5u}", &from, &to) != 2) {
		learn_name(l, path);
		return;
	}
	for (unsigned n = from; n <= to && n < from + DRIVES; n++) {
		snprintf(one, sizeof(one), "%.*s%0*u%s", (int)(open - path), path, (int)(dots - open - 1), n, end + 1);
		learn_name(l, one);
	}
}

/* Data roots that the arguments of a known server name: "DIR", "--dir=DIR", "http://host/DIR". They are looked at. */
static void learn_arguments(struct look *l)
{
	struct sys_ident id;

	if (systems_ident(l->pid, &id))
		return;
	for (size_t i = 1; i < id.proc.argc && i < ARGS_LOOKED; i++) {
		const char *arg = id.proc.argv[i], *value = strchr(arg, '='), *host = strstr(arg, "://");

		if (host)
			arg = strchr(host + 3, '/');
		else if (arg[0] != '/')
			arg = value ? value + 1 : NULL;
		if (arg && arg[0] == '/')
			learn_range(l, arg);
	}
	systems_ident_free(&id);
}

bool systems_look(struct systems *db, uint32_t pid, struct sys_match *m)
{
	struct look l = { .db = db, .pid = pid, .m = m };
	char path[PROCFS_PATH];
	ssize_t n = readlink(procfs_path(path, pid, "root"), l.root, sizeof(l.root) - 1);

	if (n <= 0 || m->client_of)
		return false;
	l.root[n] = '\0';
	learn_files(&l);
	if (m->system) {
		learn_folder(&l);
		learn_arguments(&l);
	}
	return l.changed;
}

static void match_row(struct systems *db, const struct table *by_number, struct row *r)
{
	struct row key = { .pid = r->ppid }, *parent = bsearch(&key, by_number->row, by_number->n, sizeof(key), by_pid);
	struct sys_ident id;

	if (systems_ident(r->pid, &id))
		return;
	id.proc.parent = parent ? &parent->m : NULL;
	if (id.start_ticks == r->start)
		systems_match(db, &id.proc, &r->m);
	systems_ident_free(&id);
	systems_look(db, r->pid, &r->m);
}

/* Matches in order of age, in a table that stays sorted by number so that parents are found. */
static int match_all(struct systems *db, struct table *t)
{
	struct row *ages = malloc((t->n ? t->n : 1) * sizeof(*ages));

	if (!ages)
		return -ENOMEM;
	memcpy(ages, t->row, t->n * sizeof(*ages));
	qsort(ages, t->n, sizeof(*ages), by_start);
	qsort(t->row, t->n, sizeof(*t->row), by_pid);
	for (size_t i = 0; i < t->n; i++)
		match_row(db, t, bsearch(&ages[i], t->row, t->n, sizeof(*t->row), by_pid));
	free(ages);
	return 0;
}

/* How many threads of a process do what. */
struct crowd {
	const char *role;               /* NULL: what no rule knows */
	unsigned n;
};

static void count_role(struct crowd *crowd, const char *role)
{
	size_t i = 0;

	while (role && i < ROLES && crowd[i].role && strcmp(crowd[i].role, role))
		i++;
	if (!role || i == ROLES)
		i = ROLES;
	crowd[i].role = i < ROLES ? role : NULL;
	crowd[i].n++;
}

/* A line with the roles of its threads, when any has one. */
static void print_threads(FILE *out, const struct row *r)
{
	struct crowd crowd[ROLES + 1] = {};     /* the last one: all others */
	char path[PROCFS_PATH], comm[64];
	struct dirent *d;
	uint64_t tid;
	DIR *tasks;

	tasks = opendir(procfs_path(path, r->pid, "task"));
	while (tasks && (d = readdir(tasks))) {
		snprintf(path, sizeof(path), "task/%.20s/comm", d->d_name);
		if (parse_number(d->d_name, &tid) || procfs_read(r->pid, path, comm, sizeof(comm)) <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		count_role(crowd, systems_thread_role(&r->m, comm));
	}
	if (tasks)
		closedir(tasks);
	if (!crowd[0].n)
		return;
	fprintf(out, "%-8s threads:", "");
	for (size_t i = 0; i < ROLES && crowd[i].n; i++)
		fprintf(out, "%s %u %s", i ? "," : "", crowd[i].n, crowd[i].role);
	if (crowd[ROLES].n)
		fprintf(out, ", %u of no known role", crowd[ROLES].n);
	fputc('\n', out);
}

/* A text of strangers behind words of ours; nothing when it is empty. */
static void put_plain(FILE *out, const char *before, const char *text)
{
	char *plain = *text ? utf8_plain(text, strlen(text)) : NULL;

	if (plain)
		fprintf(out, "%s%s", before, plain);
	free(plain);
}

static void print_row(FILE *out, const struct row *r)
{
	static const char *const sure[] = { "", "claim", "group", "program", "files" };
	char why[3 * SYS_WHY_LEN], system[64], role[64];
	bool instance;

	systems_why(&r->m, why, sizeof(why));
	instance = r->m.instance[0] && !strstr(why, r->m.instance);
	if (r->m.claim) {
		snprintf(system, sizeof(system), "(%s)", r->m.claim->name);
		snprintf(role, sizeof(role), "(%s)", r->m.claim_role);
	} else {
		snprintf(system, sizeof(system), "%s", r->m.system);
		snprintf(role, sizeof(role), "%s", r->m.role);
	}
	fprintf(out, "%-8u %-13s %-14s %-9s ", r->pid, system, role, sure[r->m.sure]);
	put_plain(out, "", why);
	put_plain(out, "; instance ", instance ? r->m.instance : "");
	put_plain(out, "; container ", r->m.container);
	fputc('\n', out);
}

int systems_list(struct systems *db, const char *only, FILE *out)
{
	struct table t = { NULL, 0 };
	size_t found = 0, claims = 0;
	int err = list_pids(&t);

	if (!err)
		err = match_all(db, &t);
	if (err) {
		fprintf(stderr, "%s: cannot list processes: %s\n", program_invocation_short_name, strerror(-err));
		free(t.row);
		return err;
	}
	fprintf(out, "%-8s %-13s %-14s %-9s %s\n", "PID", "SYSTEM", "ROLE", "EVIDENCE", "WHY");
	for (size_t i = 0; i < t.n; i++) {
		const struct sys_match *m = &t.row[i].m;
		const char *system = m->claim ? m->claim->name : m->system;

		if (!system || (only && strcmp(system, only)))
			continue;
		print_row(out, &t.row[i]);
		claims += !m->system;
		found += !!m->system;
		if (m->system)
			print_threads(out, &t.row[i]);
	}
	fprintf(out, "%zu of %zu processes belong to %s", found, t.n, only ? only : "a storage system");
	if (claims)
		fprintf(out, "; %zu in brackets only say so", claims);
	fputc('\n', out);
	free(t.row);
	return 0;
}
