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

#define LIMIT_NS (10 * NSEC)
#define BLOCK 65536

struct snapshot {
	char *path, *bytes;
	size_t size;
	u32 depth;
	bool late;              /* the child was ended before it was done */
};

/* Reads what the child writes until its end, or until the time is over. Returns whether it
 * ended. */
static bool receive(int from, FILE *to)
{
	u64 until = clock_now(CLOCK_MONOTONIC) + LIMIT_NS, now;
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

int snapshot_new(struct snapshot **out, const char *path, u32 depth)
{
	struct snapshot *s = *out = calloc(1, sizeof(*s));
	FILE *to = s ? memory_open(&s->bytes, &s->size) : NULL;
	pid_t child = 0;
	int from, status;

	if (!to || !(s->path = strdup(path))) {
		if (to)
			fclose(to);
		return fail(ENOMEM, "snapshot");
	}
	s->depth = depth;
	from = start_child(path, depth, &child);
	if (from < 0) {
		fclose(to);
		return from;
	}
	s->late = !receive(from, to);
	close(from);
	status = end_child(child, !s->late);
	if (fclose(to))
		return fail(ENOMEM, "snapshot");
	return status ? fail(status, "--snapshot-fs %s", path) : 0;
}

void snapshot_free(struct snapshot *s)
{
	if (s) {
		free(s->path);
		free(s->bytes);
	}
	free(s);
}

/* Takes the next entry, and a copy of its path with a NUL. Returns false at the end, and where the
 * child was ended inside an entry. */
static bool next_entry(const struct snapshot *s, size_t *at, struct snapshot_entry *e, char **path)
{
	if (s->size - *at < sizeof(*e))
		return false;
	memcpy(e, s->bytes + *at, sizeof(*e));
	*at += sizeof(*e);
	if (s->size - *at < e->len)
		return false;
	*path = strndup(s->bytes + *at, e->len);
	*at += e->len;
	return *path;
}

static int give_entry(const struct snapshot_entry *e, const char *path,
	int (*give)(void *arg, enum rec_type, const void *rec), void *arg)
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
	return give(arg, REC_fs_entry, &r);
}

int snapshot_give(const struct snapshot *s, int (*give)(void *arg, enum rec_type, const void *rec),
		  void *arg)
{
	struct rec_fs_snapshot r = { .path = s->path, .depth = s->depth };
	struct snapshot_entry e = { 0 };
	auto_free char *root = NULL;
	size_t at = 0;
	bool whole = false;
	char *path;
	int err = 0;

	while (!err && next_entry(s, &at, &e, &path)) {
		whole = !e.type;
		if (e.type)
			err = give_entry(&e, path, give, arg);
		r.entries += !!e.type;
		if (!root)
			root = path;
		else
			free(path);
	}
	if (root && *root)
		r.path = root;
	if (whole)
		rec_set(&r, fs_snapshot, unread, e.unread);
	r.cut = !whole ? "no answer for 10 seconds" : e.cut ? "more than 65536 entries" : NULL;
	return err ?: give(arg, REC_fs_snapshot, &r);
}
