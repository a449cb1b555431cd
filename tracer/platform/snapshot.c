// SPDX-License-Identifier: GPL-3.0-only
/* snapshot.c - has a folder walked by a child, and keeps what it finds until the run begins. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "memory.h"
#include "snapshot.h"
#include "snapshot_walk.h"
#include "tracer.h"

#define BLOCK 65536

struct snapshot {
	char *path, *bytes;
	size_t size, at;        /* at: where the next entry begins */
	u32 depth;
	u64 walk, ts_ns, entries; /* ts_ns 0: before the run. entries: that were given */
	u64 unread;
	int err;                /* positive: the folder could not be opened */
	bool whole, cut;        /* whole: the walk came to its end */
};

/* Reads what the child writes until its end, or until the time is over. Returns whether it
 * ended. */
static bool receive(int from, FILE *to)
{
	u64 until = clock_now(CLOCK_MONOTONIC) + SNAPSHOT_LIMIT_NS, now;
	struct pollfd p = { .fd = from, .events = POLLIN };
	char block[BLOCK];
	ssize_t n;

	while ((now = clock_now(CLOCK_MONOTONIC)) < until) {
		if (poll(&p, 1, (until - now) / 1000000 + 1) <= 0)
			continue;
		n = read(from, block, sizeof(block));
		if (!n)
			return true;
		if (n > 0)
			fwrite(block, 1, n, to);
		else if (errno != EINTR)
			return false;
	}
	return false;
}

static int start_child(const char *path, u32 depth, pid_t *child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return fail(errno, "pipe");
	*child = fork();
	if (!*child) {
		close(ends[0]);
		_exit(snapshot_walk(path, depth, ends[1]));
	}
	close(ends[1]);
	if (*child > 0)
		return ends[0];
	close(ends[0]);
	return fail(errno, "cannot start a process for --snapshot-fs");
}

/* A child that waits for a file system cannot be ended: it is left behind, and ends when the file
 * system answers. Returns its exit status, or 0. */
static int end_child(pid_t child, bool ended)
{
	int status = 0;

	if (!ended)
		kill(child, SIGKILL);
	if (waitpid(child, &status, ended ? 0 : WNOHANG) != child)
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static struct snapshot *make(const char *path, u32 depth, u64 walk)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (s && !(s->path = strdup(path))) {
		free(s);
		s = NULL;
	}
	if (s) {
		s->depth = depth;
		s->walk = walk;
	}
	return s;
}

int snapshot_new(struct snapshot **out, const char *path, u32 depth, u64 walk)
{
	struct snapshot *s = *out = make(path, depth, walk);
	FILE *to = s ? memory_open(&s->bytes, &s->size) : NULL;
	pid_t child = 0;
	int from, status;
	bool ended;

	if (!to)
		return fail(ENOMEM, "snapshot");
	from = start_child(path, depth, &child);
	if (from < 0) {
		fclose(to);
		return from;
	}
	ended = receive(from, to);
	close(from);
	status = end_child(child, ended);
	if (fclose(to))
		return fail(ENOMEM, "snapshot");
	return status ? fail(status, "--snapshot-fs %s", path) : 0;
}

int snapshot_read(struct snapshot **out, const struct snapshot_later *l)
{
	struct snapshot *s = *out = make(l->path, l->depth, l->walk);
	off_t size = l->from < 0 ? 0 : lseek(l->from, 0, SEEK_END);

	if (!s || size < 0)
		return fail(s ? errno : ENOMEM, "snapshot");
	s->ts_ns = l->ts_ns;
	s->err = l->err;
	s->bytes = size ? malloc(size) : NULL;
	if (size && !s->bytes)
		return fail(ENOMEM, "snapshot");
	while (s->size < (size_t)size) {
		ssize_t n = pread(l->from, s->bytes + s->size, size - s->size, s->size);

		if (n <= 0)
			return fail(n ? errno : EIO, "snapshot");
		s->size += n;
	}
	return 0;
}

void snapshot_free(struct snapshot *s)
{
	if (s) {
		free(s->path);
		free(s->bytes);
	}
	free(s);
}

const char *snapshot_path(const struct snapshot *s, u32 *depth)
{
	*depth = s->depth;
	return s->path;
}

bool snapshot_answers(const struct snapshot *s)
{
	return s->whole;
}

/* Takes the next entry, and a copy of its path with a NUL. Returns false at the end, and where the
 * child was ended inside an entry. */
static bool next_entry(struct snapshot *s, struct snapshot_entry *e, char **path)
{
	if (s->size - s->at < sizeof(*e))
		return false;
	memcpy(e, s->bytes + s->at, sizeof(*e));
	s->at += sizeof(*e);
	if (s->size - s->at < e->len)
		return false;
	*path = strndup(s->bytes + s->at, e->len);
	s->at += e->len;
	return *path;
}

static int give_entry(const struct snapshot *s, const struct snapshot_entry *e, const char *path,
	snapshot_record *give, void *arg)
{
	static const struct { char letter; const char *name; } types[] = {
		{ 'f', "file" }, { 'd', "folder" }, { 'l', "link" }, { 'b', "block device" },
		{ 'c', "character device" }, { 'p', "pipe" }, { 's', "socket" },
	};
	struct rec_fs_entry r = { .path = path, .type = "other", .depth = e->depth,
		.size = e->size, .allocated = e->allocated, .mtime_ns = e->mtime_ns,
		.ino = e->ino, .links = e->links };

	for (size_t i = 0; i < N_OF(types); i++)
		if (types[i].letter == e->type)
			r.type = types[i].name;
	rec_set(&r, fs_entry, walk, s->walk);
	return give(arg, REC_fs_entry, &r);
}

/* The folder's own entry comes first, with its absolute path. */
static void take_root(struct snapshot *s, char **path)
{
	if (s->entries || !**path)
		return;
	free(s->path);
	s->path = strdup(*path);
}

static int give_end(const struct snapshot *s, snapshot_record *give, void *arg)
{
	struct rec_fs_snapshot r = { .path = s->path ?: "", .depth = s->depth,
		.entries = s->entries };

	rec_set(&r, fs_snapshot, walk, s->walk);
	if (s->ts_ns)
		rec_set(&r, fs_snapshot, ts_ns, s->ts_ns);
	if (s->whole)
		rec_set(&r, fs_snapshot, unread, s->unread);
	r.cut = s->err ? strerror(s->err) : !s->whole ? "no answer for 10 seconds" :
		s->cut ? "more than 65536 entries" : NULL;
	return give(arg, REC_fs_snapshot, &r);
}

int snapshot_give(struct snapshot *s, u64 most, snapshot_record *give, void *arg)
{
	struct snapshot_entry e = { 0 };
	char *path;
	int err = 0;

	for (; most && !err; most--) {
		if (!next_entry(s, &e, &path)) {
			err = give_end(s, give, arg);
			return err ? err : 1;
		}
		s->whole = !e.type;
		if (s->whole) {
			s->unread = e.unread;
			s->cut = e.cut;
		} else {
			take_root(s, &path);
			s->entries++;
			err = give_entry(s, &e, path, give, arg);
		}
		free(path);
	}
	return err;
}
