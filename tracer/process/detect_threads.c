// SPDX-License-Identifier: GPL-3.0-only
/* detect_threads.c - components that the names of threads tell. */
#include <stdlib.h>
#include <string.h>
#include "detect_parts.h"
#include "procfs.h"

#define THREADS_MAX 65536      /* threads with a remembered name, at most */

static const bool is_write[KIND_MAX] = {
#define KIND(sym, layer, name, dir, text, doc) \
	[KIND_##sym] = (dir) == 'w' && (LAYER_##layer == LAYER_SYSCALL || \
		LAYER_##layer == LAYER_URING || LAYER_##layer == LAYER_CACHE),
#include "kinds.def"
};

/* Name of a thread when it was first seen here; "" when it had ended by then. The leader's came
 * with its process. */
static const char *thread_comm(struct detect *d, const struct seen *s, u32 tid)
{
	const u32 key[] = { s->proc.id, tid };
	char path[64], comm[64];
	struct thread *t;

	if (tid == s->proc.pid)
		return s->comm;
	HASH_FIND(hh, d->threads, key, sizeof(key), t);
	if (t)
		return t->comm;
	if (HASH_COUNT(d->threads) >= THREADS_MAX)
		HASH_FREE(d->threads); /* live threads are read again */
	t = calloc(1, sizeof(*t));
	if (t) {
		t->proc = s->proc.id;
		t->tid = tid;
	}
	HASH_PUT(d->threads, proc, sizeof(key), t);
	if (!t)
		return "";
	snprintf(path, sizeof(path), "task/%u/comm", tid);
	if (s->over || procfs_read(s->proc.pid, path, comm, sizeof(comm)) < 0)
		return "";
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(t->comm, sizeof(t->comm), "%.15s", comm);
	return t->comm;
}

/* Direction of an event whose thread tells the component: calls, and I/O that is submitted inside a
 * call. Writeback says nothing: it is counted by what was written before
 * (stream/dirty/fileio.c). */
static bool use_of(const struct iot_event *e, struct sys_use *u)
{
	static const u8 direction[KIND_MAX] = {
#define KIND(sym, layer, name, dir, text, doc) \
		[KIND_##sym] = LAYER_##layer == LAYER_SYSCALL || LAYER_##layer == LAYER_URING || \
			LAYER_##layer == LAYER_FS ? (dir) : 0,
#include "kinds.def"
	};
	bool fs = e->kind == KIND_FS_READ || e->kind == KIND_FS_WRITE;

	if (e->kind >= KIND_MAX || (direction[e->kind] != 'r' && direction[e->kind] != 'w'))
		return false;
	u->op = direction[e->kind] == 'r' ? SYS_READ : SYS_WRITE;
	u->direct = fs ? e->cause == CAUSE_DIRECT : e->flags & FLAG_DIRECT;
	return u->direct || e->kind != KIND_FS_WRITE;
}

static bool is_of_system(const struct seen *s)
{
	return s->match && s->match->system;
}

/* Component.id of what a thread does to such a file; 0: the component of the file. */
static u8 component_of(const struct known *k, struct seen *s, const char *comm, struct sys_use use)
{
	const char *component;

	use.component = k->component;
	use.mixed = s->mixed;
	component = systems_thread_component(s->match, comm, &use);
	s->mixed = use.mixed;
	return component_number(component);
}

void detect_event(struct detect *d, struct iot_event *e)
{
	struct known *k = e->kind < KIND_MAX ? id_table_find(&d->file, e->file) : NULL;
	struct seen *s;
	struct sys_use use;

	if (!k)
		return;
	detect_use_file(d, k, e->task, is_write[e->kind]);
	s = k->threads ? detect_seen(d, e->task) : NULL;
	if (s && is_of_system(s) && use_of(e, &use))
		e->component = component_of(k, s, thread_comm(d, s, e->tid), use);
}

bool detect_has_threads(struct detect *d, u32 proc)
{
	struct seen *s = detect_seen(d, proc);

	if (s && s->match)
		s->threads = systems_has_threads(s->match);
	return s && s->threads;
}

bool detect_threads_tell(struct detect *d, u32 file, u32 proc)
{
	const struct known *k = id_table_find(&d->file, file);

	return k && k->threads && detect_has_threads(d, proc);
}

u8 detect_component(struct detect *d, u32 file, u32 proc, const char *comm, bool read, bool direct)
{
	struct seen *s = detect_seen(d, proc);

	if (!detect_threads_tell(d, file, proc) || !is_of_system(s))
		return 0;
	return component_of(id_table_find(&d->file, file), s, comm,
		(struct sys_use){ .op = read ? SYS_READ : SYS_WRITE, .direct = direct });
}
