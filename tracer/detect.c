// SPDX-License-Identifier: GPL-3.0-only
/* detect.c - which storage system a process of the run belongs to, and which component a file is.
 *
 * What was found is kept for processes that belong to a system, or may, because their children ask for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "detect.h"
#include "systems.h"
#include "tracer.h"

struct found {
	u32 id, pid;
	struct sys_match match;
};

struct detect {
	struct systems *rules;
	struct found **found;
	size_t n, room;
	const char *groups[IOT_HIST_GROUPS]; /* from 1 */
	long tick_ns;
};

int detect_new(struct detect **out)
{
	struct detect *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return fail(ENOMEM, "storage systems");
	d->tick_ns = NSEC / sysconf(_SC_CLK_TCK);
	return systems_open(&d->rules, NULL, 0);
}

void detect_free(struct detect *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->found[i]);
	free(d->found);
	systems_close(d->rules);
	free(d);
}

/* The newest process with this pid: pids are used again. */
static struct found *find_pid(const struct detect *d, u32 pid)
{
	for (size_t i = d->n; i; i--)
		if (d->found[i - 1]->pid == pid)
			return d->found[i - 1];
	return NULL;
}

static size_t find_id(const struct detect *d, u32 id)
{
	size_t i = d->n;

	while (i && d->found[i - 1]->id != id)
		i--;
	return i; /* 1 + index, 0 none */
}

static void fill(const struct sys_match *m, struct rec_process *r)
{
	if (!m->system)
		return;
	r->system = m->system;
	r->role = m->role;
	r->matched = m->why;
}

/* Is what /proc shows under this pid still the process and the program that the kernel side saw? */
static bool same_program(const struct detect *d, const struct sys_ident *id, const struct iot_proc *p)
{
	u64 ticks = p->start_ns / d->tick_ns;

	return id->start_ticks + 1 >= ticks && id->start_ticks <= ticks + 1 && !strncmp(id->proc.comm, p->comm, IOT_COMM_LEN);
}

/* A process that is gone is known by its name only. */
static bool match(struct detect *d, const struct iot_proc *p, struct sys_match *m)
{
	const struct found *parent = find_pid(d, p->ppid);
	struct sys_proc name_only = { .comm = p->comm };
	struct sys_ident id;
	char comm[IOT_COMM_LEN + 1] = "";
	bool is;

	memcpy(comm, p->comm, IOT_COMM_LEN);
	name_only.comm = comm;
	if (systems_ident(p->pid, &id))
		return systems_match(d->rules, &name_only, m);
	if (same_program(d, &id, p)) {
		id.proc.parent = parent ? &parent->match : NULL;
		is = systems_match(d->rules, &id.proc, m);
	} else {
		is = systems_match(d->rules, &name_only, m);
	}
	systems_ident_free(&id);
	return is;
}

void detect_process(struct detect *d, const struct iot_proc *p, struct rec_process *r)
{
	struct found *f;

	if (p->flags & PROC_KTHREAD || grow((void **)&d->found, d->n, &d->room, sizeof(*d->found)))
		return;
	f = calloc(1, sizeof(*f));
	if (!f)
		return;
	f->id = p->id;
	f->pid = p->pid;
	if (!match(d, p, &f->match) && !f->match.maybe && !f->match.client_of) {
		free(f);
		return;
	}
	d->found[d->n++] = f;
	fill(&f->match, r);
}

void detect_again(const struct detect *d, struct rec_process *r)
{
	size_t at = find_id(d, r->id);

	if (at)
		fill(&d->found[at - 1]->match, r);
}

void detect_forget(struct detect *d, u32 id)
{
	size_t at = find_id(d, id);

	if (!at)
		return;
	free(d->found[at - 1]);
	memmove(d->found + at - 1, d->found + at, (--d->n - (at - 1)) * sizeof(*d->found));
}

void detect_file(struct detect *d, struct rec_file *r)
{
	struct sys_file f;

	if (r->path && systems_file(d->rules, r->path, 0, NULL, &f))
		r->component = f.component;
}

u32 detect_group(struct detect *d, const char *system)
{
	u32 g;

	for (g = 1; system && g < IOT_HIST_GROUPS; g++) {
		if (!d->groups[g])
			d->groups[g] = system;
		if (!strcmp(d->groups[g], system))
			return g;
	}
	return 0;
}

const char *detect_group_name(const struct detect *d, u32 group)
{
	return group && group < IOT_HIST_GROUPS ? d->groups[group] : NULL;
}
