/* SPDX-License-Identifier: GPL-3.0-only */
/* threads.c - roles and components that the names of threads tell. */
#include <string.h>
#include "rules.h"

static bool is_in_role(const char *in, const struct sys_match *m)
{
	return !in || (m && m->role && !strcmp(in, m->role));
}

const char *systems_thread_role(const struct sys_match *m, const char *comm)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++) {
		const struct sys_thread_rule *r = &m->entry->threads[i];

		if (r->role && is_in_role(r->in, m) && sys_any(&r->comm, comm))
			return r->role;
	}
	return NULL;
}

static bool thread_rule_holds(const struct sys_thread_rule *r, const struct sys_match *m,
	const char *comm, const struct sys_use *u)
{
	if (!r->component || (r->direct && !u->direct) || (r->buffered && u->direct) ||
	    (r->mixed && !u->mixed))
		return false;
	if (!is_in_role(r->in, m) || (r->of && !sys_is_same(r->of, u->component)))
		return false;
	return (!r->op || (u->op == SYS_READ) == (r->op[0] == 'r')) && sys_any(&r->comm, comm);
}

const char *systems_thread_component(const struct sys_match *m, const char *comm, struct sys_use *u)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++) {
		const struct sys_thread_rule *r = &m->entry->threads[i];

		if (!thread_rule_holds(r, m, comm, u))
			continue;
		u->mixed |= r->buffered;
		return r->component;
	}
	return NULL;
}

bool systems_has_threads(const struct sys_match *m)
{
	for (size_t i = 0; m->entry && i < m->entry->n_threads; i++)
		if (m->entry->threads[i].component)
			return true;
	return false;
}

bool systems_threads_tell(const struct systems *db, const char *component)
{
	for (size_t i = 0; component && i < db->n; i++)
		for (size_t n = 0; n < db->entry[i]->n_threads; n++) {
			const struct sys_thread_rule *r = &db->entry[i]->threads[n];

			if (r->component && (!r->of || sys_is_same(r->of, component)))
				return true;
		}
	return false;
}
