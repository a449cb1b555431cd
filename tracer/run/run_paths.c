// SPDX-License-Identifier: GPL-3.0-only
/* run_paths.c - the paths that calls were given: records of the ring, made absolute. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "hash.h"
#include "run_parts.h"

/* The paths of a call of which more is to come. */
struct call_path {
	u32 tid;                /* the key */
	UT_hash_handle hh;
	u64 ts_ns;
	char *text[3];          /* path, path2, name; NULL: none */
};

#define PATHS_WAIT 65536        /* threads inside such a call, at most */
#define CALL_OPS 8              /* operations of the VFS in one call that get its paths */

/* Measured operations of the VFS in a call by path. Its paths come when it returns. */
struct path_ops {
	u32 tid;                /* the key */
	UT_hash_handle hh;
	u32 n;
	u64 ts_ns[CALL_OPS];    /* iot_event.ts_ns of the last ones; number i is at i % CALL_OPS */
};

static void drop_texts(struct call_path *p)
{
	for (size_t i = 0; i < N_OF(p->text); i++) {
		free(p->text[i]);
		p->text[i] = NULL;
	}
}

static void drop_call(struct run *r, struct call_path *c)
{
	HASH_DEL(r->call_paths, c);
	drop_texts(c);
	free(c);
}

static void drop_ops(struct run *r, struct path_ops *o)
{
	HASH_DEL(r->path_ops, o);
	free(o);
}

void run_free_paths(struct run *r)
{
	struct call_path *p, *next;
	struct path_ops *o, *next_ops;

	HASH_ITER(hh, r->call_paths, p, next)
		drop_call(r, p);
	HASH_ITER(hh, r->path_ops, o, next_ops)
		drop_ops(r, o);
}

/* True for operations on names. Others know their file. */
static bool is_by_name(u8 kind)
{
	switch (kind) {
	case KIND_VFS_OPEN:
	case KIND_VFS_GETATTR:
	case KIND_VFS_SETATTR:
	case KIND_VFS_CHDIR:
	case KIND_VFS_UNLINK:
	case KIND_VFS_TRUNCATE:
	case KIND_VFS_RENAME:
	case KIND_VFS_MKDIR:
	case KIND_VFS_RMDIR:
	case KIND_VFS_LINK:
	case KIND_VFS_SYMLINK:
	case KIND_VFS_MKNOD:
	case KIND_VFS_GETXATTR:
	case KIND_VFS_SETXATTR:
	case KIND_VFS_ACCESS:
		return true;
	}
	return false;
}

void run_path_op(struct run *r, const struct iot_event *e)
{
	struct path_ops *o;

	if (!is_by_name(e->kind) || e->sub == SUB_KERNEL)
		return;
	HASH_FIND(hh, r->path_ops, &e->tid, sizeof(e->tid), o);
	if (!o && HASH_COUNT(r->path_ops) == PATHS_WAIT)
		drop_ops(r, r->path_ops);
	if (!o && (o = calloc(1, sizeof(*o)))) {
		o->tid = e->tid;
		HASH_ADD(hh, r->path_ops, tid, sizeof(o->tid), o);
	}
	if (o)
		o->ts_ns[o->n++ % CALL_OPS] = e->ts_ns;
}

/* The operations that the thread has done since its call began were given the paths of the call. */
static void give_ops(struct run *r, const struct rec_event_path *call)
{
	struct rec_event_path rec = *call;
	struct path_ops *o;

	HASH_FIND(hh, r->path_ops, &call->tid, sizeof(o->tid), o);
	if (!o)
		return;
	for (u32 i = 0; i < o->n && i < CALL_OPS; i++) {
		rec.ts_ns = o->ts_ns[i];
		if (rec.ts_ns > call->ts_ns)
			take_error(r, r->sink->record(r->sink, REC_event_path, &rec));
	}
	drop_ops(r, o);
}

/* Removes empty components and "." from a path, in place: they change nothing. ".." stays, since
 * the folder before it may be a symbolic link. */
static void squeeze_path(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		size_t len;

		if (*from == '/') {
			from++;
			continue;
		}
		len = strcspn(from, "/");
		if (len != 1 || *from != '.') {
			if (to > path || *path == '/')
				*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* The text of a record as it is given. Returns it, to be freed; NULL: no memory. */
static char *path_text(const struct iot_call_path *p)
{
	char folder[2 * sizeof(p->base.buf)], *out;
	const char *text = p->len ? p->base.buf + p->base.len : "";

	if (p->what & PATH_UNREAD)
		return strdup("?");
	if (p->what & (PATH_NAME | PATH_PLAIN))
		return strdup(text);
	if (!(p->what & PATH_RELATIVE)) {
		out = strdup(text);
		if (out)
			squeeze_path(out);
		return out;
	}
	if (!names_join(&p->base, folder))
		return asprintf(&out, "?%s%s", *text ? "/" : "", text) < 0 ? NULL : out;
	if (asprintf(&out, "%s/%s", folder, text) < 0)
		return NULL;
	squeeze_path(out);
	return out;
}

/* The paths of the call that has begun, made where there are none. Where too many wait the oldest
 * goes, which is the first: its last path was lost, and counted as that, when the ring was full. */
static struct call_path *find_paths(struct run *r, const struct iot_call_path *p)
{
	struct call_path *c;

	HASH_FIND(hh, r->call_paths, &p->tid, sizeof(p->tid), c);
	if (!c && HASH_COUNT(r->call_paths) == PATHS_WAIT)
		drop_call(r, r->call_paths);
	if (!c && (c = calloc(1, sizeof(*c)))) {
		c->tid = p->tid;
		HASH_PUT(r->call_paths, tid, sizeof(c->tid), c);
	}
	if (c && c->ts_ns != p->ts_ns)
		drop_texts(c); /* of a call whose last path was lost */
	if (c)
		c->ts_ns = p->ts_ns;
	return c;
}

void run_call_path(void *arg, const struct iot_call_path *p)
{
	struct run *r = arg;
	struct call_path *c = find_paths(r, p);
	struct rec_event_path rec = { .tid = p->tid };
	bool request = p->what & PATH_REQUEST;
	u32 wanted = request ? 1u << LAYER_URING : 1u << LAYER_SYSCALL | 1u << LAYER_VFS;
	size_t which = p->what & PATH_FIRST ? 0 : p->what & PATH_SECOND ? 1 : 2;

	if (!c || (r->opts->layers && !(r->opts->layers & wanted)))
		return;
	free(c->text[which]);
	c->text[which] = path_text(p);
	if (!(p->what & PATH_LAST))
		return;
	rec.ts_ns = p->ts_ns > r->start_ns ? p->ts_ns - r->start_ns : 0;
	rec.path = c->text[0];
	rec.path2 = c->text[1];
	rec.name = c->text[2];
	if (r->opts->system && !process_table_wants(r->processes, p->base.user)) {
		drop_call(r, c); /* not what others do */
		return;
	}
	if (request || run_keeps(r, KIND_OPEN))
		take_error(r, r->sink->record(r->sink, REC_event_path, &rec));
	if (!request)
		give_ops(r, &rec);
	drop_call(r, c);
}
