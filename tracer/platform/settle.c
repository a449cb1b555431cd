// SPDX-License-Identifier: GPL-3.0-only
/* settle.c - has a helper sync and checkpoint one file system after the other, so that the tracer
 * goes on reading the ring and an unresponsive file system delays nobody. Calls of a helper are not
 * recorded; the writeback that they cause belongs to those who dirtied the bytes.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ask.h"
#include "checkpoint.h"
#include "mountpoint.h"
#include "settle.h"

/* Question, followed by the mount point; an empty one asks for sync(2). */
struct asked {
	u32 dev, checkpoint;
};

struct told {
	s32 err, checkpoint_err;
};

struct settle_job {
	struct settle_place *places; /* mount "" comes first where everything is to be synced */
	size_t n, at;
	u64 since_ns, remote_ns; /* remote_ns: when the first remote file system was begun */
	bool checkpoint;
	int err, checkpoint_err;
};

/* --- in a helper --- */

static ssize_t answer_settle(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const struct asked *a = question;
	const char *mount = (const char *)(a + 1);
	struct told *t = answer;
	auto_close int fd = -1;

	if (len <= sizeof(*a) || mount[len - sizeof(*a) - 1] || room < sizeof(*t))
		return -EINVAL;
	*t = (struct told){ 0 };
	if (!*mount) {
		sync();
		return sizeof(*t);
	}
	fd = mountpoint_open(mount);
	t->err = fd < 0 ? fd : syncfs(fd) ? -errno : 0;
	if (!t->err && a->checkpoint)
		t->checkpoint_err = checkpoint_mount(fd, mount, a->dev);
	return sizeof(*t);
}

void settle_serve(void)
{
	ask_serve(ASK_SETTLE, answer_settle, NULL);
}

/* --- asking side --- */

static void first(int *to, int err)
{
	*to = *to ? *to : err;
}

static void say_error(struct settle_job *j, int err)
{
	const char *mount = j->places[j->at].mount;

	first(&j->err, *mount ? fail(err, "cannot sync the file system at %s", mount) :
		fail(err, "cannot sync all file systems"));
}

static void say_checkpoint_error(struct settle_job *j, int err)
{
	first(&j->checkpoint_err,
		fail(err,
		"cannot have what the journal of the file system at %s holds put in place",
		j->places[j->at].mount));
}

/* Has the next file system synced. */
static void go_on(struct settle_job *j)
{
	for (; j->at < j->n; j->at++) {
		struct { struct asked a; char mount[PATH_MAX]; } q = { .a.checkpoint = j->checkpoint };
		int err;

		q.a.dev = j->places[j->at].dev;
		j->since_ns = clock_now(CLOCK_MONOTONIC);
		if (j->places[j->at].remote && !j->remote_ns)
			j->remote_ns = j->since_ns;
		snprintf(q.mount, sizeof(q.mount), "%s", j->places[j->at].mount);
		err = ask_job(ASK_SETTLER, ASK_SETTLE, &q, sizeof(q.a) + strlen(q.mount) + 1);
		if (!err)
			return;
		say_error(j, err);
	}
}

static int add_place(struct settle_job *j, const struct settle_place *place)
{
	char *mount = strdup(place->mount);

	if (!mount)
		return -ENOMEM;
	j->places[j->n++] = (struct settle_place){ mount, place->dev, place->remote };
	return 0;
}

/* Adds the remote file systems, or the others. */
static int add_places(struct settle_job *j, const struct settle_what *what, bool remote)
{
	int err = 0;

	for (size_t i = 0; i < what->n && !err; i++)
		if (what->places[i].remote == remote)
			err = add_place(j, &what->places[i]);
	return err;
}

int settle_start(struct settle_job **out, const struct settle_what *what)
{
	struct settle_job *j = calloc(1, sizeof(*j));

	*out = j;
	if (!j || !(j->places = calloc(what->n + 1, sizeof(*j->places))) ||
	    (what->all && add_place(j, &(struct settle_place){ "" })) ||
	    add_places(j, what, false) || add_places(j, what, true))
		return fail(ENOMEM, "settling");
	j->checkpoint = what->checkpoint;
	go_on(j);
	return 0;
}

bool settle_over(struct settle_job *j, int *err, int *checkpoint_err)
{
	struct told t;
	ssize_t n = j->at < j->n ? ask_job_answer(ASK_SETTLER, &t, sizeof(t)) : 0;

	if (n == -EAGAIN)
		return false;
	if (j->at < j->n) {
		if (n != sizeof(t) || t.err)
			say_error(j, n != sizeof(t) ? n < 0 ? n : -EIO : t.err);
		else if (t.checkpoint_err)
			say_checkpoint_error(j, t.checkpoint_err);
		j->at++;
		go_on(j);
	}
	*err = j->err;
	*checkpoint_err = j->checkpoint_err;
	return j->at == j->n;
}

bool settle_is_remote(const struct settle_job *j)
{
	return j->at < j->n && j->places[j->at].remote;
}

u32 settle_dev(const struct settle_job *j)
{
	return j->at < j->n ? j->places[j->at].dev : 0;
}

u64 settle_since_ns(const struct settle_job *j)
{
	return settle_is_remote(j) ? j->remote_ns : j->since_ns;
}

void settle_skip(struct settle_job *j, bool all)
{
	ask_job_end(ASK_SETTLER);
	do {
		if (j->at == j->n)
			return;
		say_error(j, -ETIMEDOUT);
		j->at++;
	} while (all);
	go_on(j);
}

void settle_free(struct settle_job *j)
{
	ask_job_end(ASK_SETTLER);
	if (!j)
		return;
	while (j->n)
		free(j->places[--j->n].mount);
	free(j->places);
	free(j);
}
