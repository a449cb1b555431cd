// SPDX-License-Identifier: GPL-3.0-only
/* snapshot_again.c - walks of folders during the run, by a helper that is ended where one does not
 * answer. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "ask.h"
#include "memory.h"
#include "snapshot_again.h"
#include "snapshot_walk.h"
#include "tracer.h"

#define PART 8192               /* entries that are given in a second, some 20 ms of an output */
#define LOOK_NS (NSEC / 100)    /* period of looking for an answer at the end */

/* Question of a walk, followed by the path with its NUL. */
struct asked {
	u32 depth;
};

struct folder {
	char *path;
	u32 depth;
	bool silent;            /* did not answer: it is not walked again */
};

struct again {
	struct folder *folders;
	size_t n, room, at;     /* at: the folder that is being walked or given; n: none */
	u64 every_ns, next_ns;
	u64 walks;              /* that were begun, with those before the run */
	u64 ts_ns, begun_ns;    /* of this walk: since the start of the run, and of the clock */
	bool walking;
	struct snapshot *found; /* what is being given */
};

/* --- in a helper --- */

static int memory = -1;         /* shared by the helper and the tracer */

static ssize_t answer_walk(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const struct asked *a = question;
	const char *path = (const char *)(a + 1);
	int to, err;

	if (len <= sizeof(*a) || path[len - sizeof(*a) - 1] || room < sizeof(err))
		return -EINVAL;
	to = ftruncate(memory, 0) || lseek(memory, 0, SEEK_SET) ? -1 : dup(memory);
	if (to < 0)
		return -errno;
	err = snapshot_walk(path, a->depth, to);
	memcpy(answer, &err, sizeof(err));
	return sizeof(err);
}

int again_serve(void)
{
	memory = memfd_create("iot-trace-snapshot", MFD_CLOEXEC);
	if (memory < 0)
		return fail(errno, "cannot make memory for --snapshot-every");
	ask_serve(ASK_WALK, answer_walk, NULL);
	return memory;
}

/* --- asking side --- */

int again_new(struct again **out, u64 every_ns)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "snapshots");
	(*out)->every_ns = (*out)->next_ns = every_ns;
	return 0;
}

int again_add(struct again *a, const char *path, u32 depth, bool answers)
{
	struct folder f = { strdup(path), depth, !answers || *path != '/' };

	if (!f.path || grow((void **)&a->folders, a->n, &a->room, sizeof(f))) {
		free(f.path);
		return fail(ENOMEM, "snapshots");
	}
	a->folders[a->n++] = f;
	a->at = a->n;
	a->walks++;
	return 0;
}

void again_free(struct again *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free(a->folders[i].path);
	free(a->folders);
	snapshot_free(a->found);
	free(a);
}

/* Has the folder at a->at walked. Returns false where it is not. */
static bool begin_walk(struct again *a, u64 now_ns)
{
	struct { struct asked a; char path[PATH_MAX]; } q;
	const struct folder *f = &a->folders[a->at];
	size_t len = strlen(f->path) + 1;

	if (f->silent || len > sizeof(q.path))
		return false;
	q.a.depth = f->depth;
	memcpy(q.path, f->path, len);
	if (ask_job(ASK_WALKER, ASK_WALK, &q, sizeof(q.a) + len))
		return false;
	a->ts_ns = now_ns;
	a->begun_ns = clock_now(CLOCK_MONOTONIC);
	a->walking = true;
	return true;
}

/* Takes the answer, if it has come, or the time is over. Returns 0 or a negative errno. */
static int take_walk(struct again *a)
{
	struct folder *f = &a->folders[a->at];
	struct snapshot_later l = { f->path, f->depth, a->walks, a->ts_ns, memory };
	int err = 0;
	ssize_t n = ask_job_answer(ASK_WALKER, &err, sizeof(err));

	if (n == -EAGAIN && clock_now(CLOCK_MONOTONIC) - a->begun_ns < SNAPSHOT_LIMIT_NS)
		return 0;
	if (n != sizeof(err)) { /* a walk that was ended may have written a part of an entry */
		ask_job_end(ASK_WALKER);
		f->silent = true;
		l.from = -1;
	} else if (err) {
		l.from = -1;
		l.err = err;
	}
	a->walking = false;
	a->walks++;
	return snapshot_read(&a->found, &l);
}

static int give_part(struct again *a, u64 most, snapshot_record *give, void *arg)
{
	int err = snapshot_give(a->found, most, give, arg);

	if (!err)
		return 0;
	snapshot_free(a->found);
	a->found = NULL;
	a->at++;
	return err < 0 ? err : 0;
}

/* Goes on with the walks that were begun. Returns 0 or a negative errno. */
static int go_on(struct again *a, u64 now_ns, u64 most, snapshot_record *give, void *arg)
{
	int err = a->walking ? take_walk(a) : 0;

	if (!err && a->found)
		err = give_part(a, most, give, arg);
	while (!err && a->at < a->n && !a->walking && !a->found && !begin_walk(a, now_ns))
		a->at++;
	return err;
}

int again_second(struct again *a, u64 now_ns, snapshot_record *give, void *arg)
{
	if (a->at == a->n && now_ns >= a->next_ns) {
		a->at = 0;
		while (a->next_ns <= now_ns)
			a->next_ns += a->every_ns;
	}
	return a->at < a->n ? go_on(a, now_ns, PART, give, arg) : 0;
}

static int finish(struct again *a, u64 now_ns, snapshot_record *give, void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	int err = 0;

	while (!err && a->at < a->n) {
		err = go_on(a, now_ns, ULLONG_MAX, give, arg);
		if (!err && a->walking)
			nanosleep(&pause, NULL);
	}
	return err;
}

int again_end(struct again *a, u64 now_ns, snapshot_record *give, void *arg)
{
	int err = finish(a, now_ns, give, arg);

	a->at = 0;
	return err ? err : finish(a, now_ns, give, arg);
}
