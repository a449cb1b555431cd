/* SPDX-License-Identifier: GPL-3.0-only */
/* proc.c - lists the storage systems that run now. */
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

#define ROLES 32                /* roles of threads of one process, at most */

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
		t->row[t->n++] = (struct row){ .pid = id.pid, .ppid = id.ppid,
			.start = id.start_ticks };
	systems_ident_free(&id);
}

static int list_pids(struct table *t)
{
	return procfs_list(add_row, t) ?: t->err;
}

static void match_row(struct systems *db, const struct table *by_number, struct row *r)
{
	struct row key = { .pid = r->ppid }, *parent = bsearch(&key, by_number->row, by_number->n,
		sizeof(key), by_pid);
	struct sys_ident id;

	if (systems_ident(r->pid, &id))
		return;
	id.proc.parent = parent ? &parent->m : NULL;
	if (id.start_ticks == r->start)
		systems_match(db, &id.proc, &r->m);
	systems_ident_free(&id);
	systems_look(db, r->pid, &r->m);
}

/* Decides about processes in order of age, in a table sorted by number, so that parents are
 * found. */
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

/* Number of threads with one role. */
struct crowd {
	const char *role;               /* NULL: no rule knows it */
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

/* Prints a line with the roles of its threads, when there are any. */
static void print_threads(FILE *out, const struct row *r)
{
	struct crowd crowd[ROLES + 1] = {};     /* the last one counts all others */
	char path[PROCFS_PATH], comm[64];
	struct dirent *d;
	uint64_t tid;
	DIR *tasks;

	tasks = opendir(procfs_path(path, r->pid, "task"));
	while (tasks && (d = readdir(tasks))) {
		snprintf(path, sizeof(path), "task/%.20s/comm", d->d_name);
		if (parse_number(d->d_name, &tid) ||
		    procfs_read(r->pid, path, comm, sizeof(comm)) <= 0)
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

/* Prints untrusted text after a prefix; nothing when it is empty. */
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
		fprintf(stderr, "%s: cannot list processes: %s\n", program_invocation_short_name,
			strerror(-err));
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
	fprintf(out, "%zu of %zu processes belong to %s", found, t.n,
		only ? only : "a storage system");
	if (claims)
		fprintf(out, "; %zu in brackets only say so", claims);
	fputc('\n', out);
	free(t.row);
	return 0;
}
