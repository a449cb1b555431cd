// SPDX-License-Identifier: GPL-3.0-only
/* ask.c - asks helpers, with time limits. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ask.h"
#include "clean.h"
#include "clock.h"
#include "mounts.h"
#include "procfs.h"

#define WAIT_NS (NSEC / 10)     /* limit for one answer, */
#define SECOND_NS (NSEC * 3 / 10) /* and for all answers of one second, */
#define SWIFT_NS (NSEC / 500)   /* in which answers faster than this do not count */
#define LIMIT_NS (2 * NSEC)     /* a helper that takes longer is killed */
#define STUCK 64                /* objects that are remembered */
#define LATE 16                 /* late answers that are kept */
#define LATE_NS (5 * NSEC)      /* for so long */

struct head {
	uint32_t seq, what;
	int32_t result;         /* of an answer: its length, or a negative errno */
};

struct question {
	enum ask what;
	size_t len;
	void *bytes;
};

/* Objects that keep a helper waiting, or did until it was killed. */
struct object {
	uint32_t pid;
	uint64_t start_ticks;   /* of that process */
	char *mount;            /* where the file system is mounted; NULL: not known */
};

static struct helper {
	int fd;
	bool made;
	uint32_t seq;           /* of its current question; 0 none */
	uint64_t since_ns;
	struct question question;
	struct object object;
} helpers[ASK_HELPERS];

static struct late {
	struct question question;
	uint64_t ns;
	ssize_t result;
	void *bytes;
} lates[LATE];

static struct { ask_answer *answer; void *arg; } served[ASK_KINDS];
static struct object stuck[STUCK];
static size_t n_late, n_stuck;
static uint64_t given_up, window_ns, spent_ns;
static bool asking;
static enum ask_patience patience;
static int control_fd = -1;
static uint32_t last_seq;
static ssize_t job_result;      /* of a job that was answered in this process, in `message` */
static char message[sizeof(struct head) + ASK_ROOM];

void (*ask_on_given_up)(uint32_t pid, const char *path);

void ask_serve(enum ask what, ask_answer *answer, void *arg)
{
	served[what].answer = answer;
	served[what].arg = arg;
}

static ssize_t answer_here(uint32_t what, const void *question, size_t len, void *answer,
			   size_t room)
{
	if (what >= ASK_KINDS || !served[what].answer)
		return -ENOSYS;
	return served[what].answer(served[what].arg, question, len, answer, room);
}

/* --- objects --- */

struct longest {
	const char *path;
	char *at;
};

static bool lies_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (path[len] == '/' || !path[len] || len == 1);
}

static bool is_longer(void *arg, const struct mount *m)
{
	struct longest *l = arg;

	if (!lies_below(l->path, m->at) || (l->at && strlen(m->at) < strlen(l->at)))
		return false;
	free(l->at);
	l->at = strdup(m->at);
	return false;
}

static struct object object_of(struct ask_about of)
{
	struct longest l = { of.path, NULL };
	struct procfs_stat s;

	if (of.pid)
		return (struct object){ .pid = of.pid,
					.start_ticks = procfs_stat(of.pid, &s) ? 0 : s.start_ticks };
	if (of.path)
		mounts_find_ours(is_longer, &l);
	return (struct object){ .mount = l.at };
}

static bool is_about(const struct object *o, struct ask_about of)
{
	struct procfs_stat s;

	if (of.pid)
		return o->pid == of.pid && !procfs_stat(of.pid, &s) && s.start_ticks == o->start_ticks;
	return of.path && o->mount && lies_below(of.path, o->mount) &&
	       (o->mount[1] || !strcmp(of.path, o->mount));
}

/* Does an object keep a helper waiting, or was a helper killed for it? */
static bool is_stuck(struct ask_about of)
{
	for (size_t i = 0; i < n_stuck && i < STUCK; i++)
		if (is_about(&stuck[i], of))
			return true;
	for (size_t i = 0; i < ASK_LOOKERS; i++)
		if (helpers[i].seq && is_about(&helpers[i].object, of))
			return true;
	return false;
}

/* --- helpers --- */

static void order(unsigned int helper, int what)
{
	struct ask_order o = { what, helper };

	if (send(control_fd, &o, sizeof(o), MSG_NOSIGNAL) < 0)
		helpers[helper].made = false; /* no helpers can be made any more: questions stay unanswered */
}

static void forget_question(struct helper *h)
{
	free(h->question.bytes);
	free(h->object.mount);
	h->question = (struct question){ 0 };
	h->object = (struct object){ 0 };
	h->seq = 0;
}

static void free_late(struct late *l)
{
	free(l->question.bytes);
	free(l->bytes);
	*l = (struct late){ .question.bytes = NULL };
}

static void keep_late(struct helper *h, const struct head *a)
{
	struct late *l = &lates[n_late++ % LATE];

	free_late(l);
	*l = (struct late){ .question = h->question, .ns = clock_now(CLOCK_MONOTONIC),
			    .result = a->result };
	h->question.bytes = NULL;
	l->bytes = a->result > 0 ? malloc(a->result) : NULL;
	if (l->bytes)
		memcpy(l->bytes, a + 1, a->result);
}

/* Receives the answer to the current question into `message`. Returns false when there is none yet.
 * Answers of a helper that was killed before are ignored. */
static bool take_answer(struct helper *h)
{
	const struct head *a = (struct head *)message;
	ssize_t n;

	while ((n = recv(h->fd, message, sizeof(message), MSG_DONTWAIT)) >= 0) {
		if (!n)
			return false;
		if ((size_t)n >= sizeof(*a) && a->seq == h->seq && a->result <= n - (ssize_t)sizeof(*a))
			return true;
	}
	return false;
}

static void give_up(struct helper *h)
{
	struct object *o = &stuck[n_stuck++ % STUCK];

	order(h - helpers, ASK_KILL);
	h->made = false;
	given_up++;
	if (ask_on_given_up)
		ask_on_given_up(h->object.pid, h->object.mount);
	free(o->mount);
	*o = h->object;
	h->object.mount = NULL;
	forget_question(h);
}

void ask_second(void)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	for (size_t i = 0; asking && i < ASK_LOOKERS; i++) {
		struct helper *h = &helpers[i];

		if (!h->seq)
			continue;
		if (take_answer(h)) {
			keep_late(h, (struct head *)message);
			forget_question(h);
		} else if (now - h->since_ns >= LIMIT_NS) {
			give_up(h);
		}
	}
}

uint64_t ask_given_up(void)
{
	return given_up;
}

static bool begin(struct helper *h, enum ask what, const void *question, size_t len)
{
	struct head *q = (struct head *)message;

	if (!h->made) {
		h->made = true;
		order(h - helpers, ASK_MAKE);
	}
	*q = (struct head){ .seq = ++last_seq ?: ++last_seq, .what = what };
	memcpy(q + 1, question, len);
	if (send(h->fd, message, sizeof(*q) + len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return false;
	h->seq = q->seq;
	h->since_ns = clock_now(CLOCK_MONOTONIC);
	return true;
}

/* --- questions --- */

static struct late *find_late(enum ask what, const void *question, size_t len)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	for (struct late *l = lates; l < lates + LATE; l++)
		if (l->question.bytes && l->question.what == what && l->question.len == len &&
		    now - l->ns < LATE_NS &&
		    !memcmp(l->question.bytes, question, len))
			return l;
	return NULL;
}

static ssize_t copy_answer(ssize_t result, const void *bytes, void *answer, size_t room)
{
	if (result > 0 && ((size_t)result > room || !bytes))
		return -EMSGSIZE;
	if (result > 0)
		memcpy(answer, bytes, result);
	return result;
}

/* Returns the limit for the next answer: longest for the first answer of a second. */
static uint64_t patience_ns(void)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC), left;

	if (patience != ASK_IN_PASSING)
		return patience == ASK_IN_TURN ? LIMIT_NS : 5 * WAIT_NS;
	if (now - window_ns >= NSEC) {
		window_ns = now;
		spent_ns = 0;
	}
	left = spent_ns < SECOND_NS ? SECOND_NS - spent_ns : 0;
	return left < SWIFT_NS ? SWIFT_NS : left < WAIT_NS ? left : WAIT_NS;
}

static bool wait_answer(struct helper *h)
{
	uint64_t limit = patience_ns(), waited = 0;
	bool there = false;

	while (!there && waited < limit) {
		struct pollfd p = { .fd = h->fd, .events = POLLIN };
		struct timespec t = { .tv_sec = (limit - waited) / NSEC, .tv_nsec = (limit - waited) % NSEC };

		if (ppoll(&p, 1, &t, NULL) < 0 || p.revents & (POLLERR | POLLHUP))
			break;
		there = take_answer(h);
		waited = clock_now(CLOCK_MONOTONIC) - h->since_ns;
	}
	if (waited > SWIFT_NS)
		spent_ns += waited;
	return there;
}

/* Leaves the question with the helper, whose answer may come later. */
static void leave(struct helper *h, enum ask what, struct ask_about of, const void *question,
		  size_t len)
{
	h->object = object_of(of);
	h->question = (struct question){ what, len, malloc(len + 1) };
	if (h->question.bytes)
		memcpy(h->question.bytes, question, len);
	if (patience == ASK_IN_TURN)
		give_up(h);
}

/* Returns a helper without a question; NULL: all have one. *busy: some have one. */
static struct helper *idle_helper(bool *busy)
{
	struct helper *idle = NULL;

	*busy = false;
	for (size_t i = ASK_LOOKERS; i-- > 0;) {
		*busy |= helpers[i].seq;
		idle = helpers[i].seq ? idle : &helpers[i];
	}
	return idle;
}

ssize_t ask(enum ask what, struct ask_about of, const void *question, size_t len, void *answer,
	    size_t room)
{
	const struct head *a = (struct head *)message;
	struct helper *h;
	struct late *late;
	ssize_t result;
	bool busy;

	if (!asking)
		return answer_here(what, question, len, answer, room);
	h = idle_helper(&busy);
	if (busy) {
		ask_second();
		h = idle_helper(&busy);
	}
	if (!h || len > ASK_ROOM || is_stuck(of))
		return -EBUSY;
	late = n_late ? find_late(what, question, len) : NULL;
	if (late) {
		result = copy_answer(late->result, late->bytes, answer, room);
		free_late(late);
		return result;
	}
	if (!begin(h, what, question, len))
		return -EBUSY;
	if (!wait_answer(h)) {
		leave(h, what, of, question, len);
		return -EBUSY;
	}
	result = copy_answer(a->result, a + 1, answer, room);
	forget_question(h);
	return result;
}

/* --- questions that take long --- */

int ask_job(enum ask_worker worker, enum ask what, const void *question, size_t len)
{
	if (len > ASK_ROOM)
		return -EMSGSIZE;
	if (!asking)
		job_result = answer_here(what, question, len, message, sizeof(message));
	return !asking || begin(&helpers[worker], what, question, len) ? 0 : -EPIPE;
}

ssize_t ask_job_answer(enum ask_worker worker, void *answer, size_t room)
{
	const struct head *a = (struct head *)message;
	struct helper *h = &helpers[worker];
	struct pollfd p = { .fd = h->fd };
	ssize_t result;

	if (!asking)
		return copy_answer(job_result, message, answer, room);
	if (!h->seq)
		return -EPIPE;
	if (!take_answer(h))
		return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP) ? -EPIPE : -EAGAIN;
	result = copy_answer(a->result, a + 1, answer, room);
	forget_question(h);
	return result;
}

void ask_job_end(enum ask_worker worker)
{
	struct helper *h = &helpers[worker];

	if (!h->seq)
		return;
	order(worker, ASK_KILL);
	h->made = false;
	forget_question(h);
}

ssize_t ask_and_wait(enum ask_worker worker, enum ask what, const void *question, size_t len,
		     void *answer, size_t room)
{
	ssize_t n = ask_job(worker, what, question, len);
	struct pollfd p = { .fd = helpers[worker].fd, .events = POLLIN };

	if (n)
		return n;
	n = ask_job_answer(worker, answer, room);
	if (n == -EAGAIN && poll(&p, 1, LIMIT_NS / (NSEC / 1000)) > 0)
		n = ask_job_answer(worker, answer, room);
	ask_job_end(worker);
	return n;
}

void ask_patience(enum ask_patience now)
{
	patience = now;
}

void ask_begin(int control, const int fds[ASK_HELPERS])
{
	control_fd = control;
	for (size_t i = 0; i < ASK_HELPERS; i++)
		helpers[i].fd = fds[i];
	asking = true;
}

void ask_end(void)
{
	for (size_t i = 0; asking && i < ASK_HELPERS; i++) {
		forget_question(&helpers[i]);
		close(helpers[i].fd);
	}
	for (size_t i = 0; i < LATE; i++)
		free_late(&lates[i]);
	for (size_t i = 0; i < STUCK; i++)
		free(stuck[i].mount);
	if (asking)
		close(control_fd);
	asking = false;
}

void ask_work(int fd)
{
	struct head *m = (struct head *)message;
	static char question[ASK_ROOM];
	ssize_t n;

	while ((n = recv(fd, message, sizeof(message), 0)) >= (ssize_t)sizeof(*m)) {
		size_t len = n - sizeof(*m);

		memcpy(question, m + 1, len);
		m->result = answer_here(m->what, question, len, m + 1, ASK_ROOM);
		if (send(fd, message, sizeof(*m) + (m->result > 0 ? m->result : 0), MSG_NOSIGNAL) < 0)
			return;
	}
}
