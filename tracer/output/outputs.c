// SPDX-License-Identifier: GPL-3.0-only
/* outputs.c - opens the outputs, gives every record to all of them, and prints a report when there
 * are none.
 *
 * To add a format: a row in `makers`, and its name in options.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "errands.h"
#include "out.h"
#include "outputs.h"
#include "place.h"
#include "program.h"
#include "stop.h"
#include "text.h"

struct branch {
	struct sink *sink;      /* NULL after it failed */
	const char *name;
	int fd;                 /* -1: the sink has its own descriptor */
	bool store;
	/* place of a file that was created; dir -1: the file existed, or belongs to a store */
	struct place at;
	struct stat made; /* identity of the created file: its name may be another file's by now */
};

struct tee {
	struct sink sink;
	struct branch branches[MAX_OUTPUTS];
	size_t n, live;
	int err;                /* the first error */
};

static int make_text(struct sink **out, int fd, const char *name)
{
	return sink_text(out, fd, name, TEXT_TRACE);
}

static int make_table(struct sink **out, int fd, const char *name)
{
	return sink_text(out, fd, name, TEXT_TABLE);
}

static int (*const makers[])(struct sink **out, int fd, const char *name) = {
	[FORMAT_TEXT] = make_text,
	[FORMAT_TABLE] = make_table,
	[FORMAT_JSONL] = sink_jsonl,
	[FORMAT_JSONL_WIDE] = sink_jsonl_wide,
};

static void close_branch(struct tee *t, struct branch *b)
{
	if (b->fd > STDERR_FILENO && close(b->fd) && !t->err)
		t->err = fail(errno, "cannot write %s", b->name);
	b->fd = -1;
}

/* Ends one failed output alone, so that its reader sees the end. The error is returned when that
 * output is closed, or when no output is left. */
static void tee_drop(struct tee *t, struct branch *b, int err)
{
	b->sink->close(b->sink, false);
	b->sink = NULL;
	t->live--;
	if (!t->err)
		t->err = err;
	close_branch(t, b);
}

/* Evaluates `call` for every sink `s` that still works. The result is the first error when none
 * does. */
#define TEE(tee, s, call) ({ \
	struct tee *t_ = (struct tee *)(tee); \
	for (struct branch *b_ = t_->branches; b_ < t_->branches + t_->n; b_++) { \
		struct sink *s = b_->sink; \
		int err_ = s ? (call) : 0; \
		if (err_) \
			tee_drop(t_, b_, err_); \
	} \
	t_->live ? 0 : t_->err; \
})

static int tee_record(struct sink *tee, enum rec_type type, const void *rec)
{
	return TEE(tee, s, s->record(s, type, rec));
}

static int tee_events(struct sink *tee, const struct iot_event *e, size_t n)
{
	return TEE(tee, s, s->events(s, e, n));
}

static int tee_commit(struct sink *tee)
{
	return TEE(tee, s, s->commit(s));
}

static int tee_close(struct sink *s, bool complete)
{
	struct tee *t = (struct tee *)s;
	int err;

	for (size_t i = 0; i < t->n; i++) {
		struct branch *b = &t->branches[i];

		err = b->sink ? b->sink->close(b->sink, complete) : 0;
		t->err = t->err ? t->err : err;
		close_branch(t, b);
		place_leave(&b->at);
	}
	err = t->err;
	free(t);
	return err;
}

/* An existing file is overwritten, unless it has several links: somebody may have linked it
 * here. */
static int open_file(const char *path, struct place *at, struct stat *s)
{
	int fd = output_open(path, O_WRONLY, at);

	if (fd < 0)
		return fd;
	if (!fstat(fd, s) && S_ISREG(s->st_mode) && s->st_nlink > 1) {
		close(fd);
		return fail(EPERM, "%s has other names (hard links): will not write over it", path);
	}
	if (!S_ISREG(s->st_mode))
		/* this open file description is not shared */
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

static int open_branch(struct branch *b, const struct output *out)
{
	bool standard = !strcmp(out->path, "-");

	b->name = standard ? "standard output" : out->path;
	b->store = out->format == FORMAT_STORE;
	if (b->store)
		return sink_store(&b->sink, out->path);
	b->fd = standard ? out_own(STDOUT_FILENO) : open_file(out->path, &b->at, &b->made);
	if (b->fd >= 0)
		out_enlarge(b->fd);
	return b->fd < 0 ? b->fd : makers[out->format](&b->sink, b->fd, b->name);
}

/* Finds a program in the directory of iot-trace, else in the search path, and opens it as *fd.
 * does: its task, for the message. Returns its path, to be freed; NULL after a message when there
 * is none. */
static char *find_program(const char *name, const char *does, int *fd)
{
	char path[PATH_MAX + 64], *found;
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	bool shared;

	if (n > 0) {
		path[n] = '\0';
		strcpy(strrchr(path, '/') + 1, name);
		*fd = program_open(path, &shared);
		if (*fd >= 0)
			return strdup(path);
	}
	*fd = program_find(name, &found);
	if (*fd >= 0)
		return found;
	if (*fd == -EPERM)
		fail(0, "%s: " PROGRAM_REFUSED, found);
	else
		fail(-*fd,
			"cannot find %s, which %s (give another output to do without)",
			name, does);
	free(found);
	return NULL;
}

#define TEMPORARY "run.sqlite"

static int open_temporary(struct outputs *o, struct branch *b)
{
	const char *tmp = secure_getenv("TMPDIR");
	struct output out = { NULL, FORMAT_STORE };

	o->analyzer = find_program("iot-analyze", "says what happened", &o->analyzer_fd);
	if (!o->analyzer)
		return -ENOENT;
	if (asprintf(&o->folder, "%s/iot-XXXXXX", tmp && *tmp == '/' ? tmp : "/var/tmp") < 0)
		return fail(ENOMEM, "temporary store");
	if (!mkdtemp(o->folder)) {
		int err = fail(errno,
			"cannot make a temporary folder %s (TMPDIR names another place)",
			o->folder);

		free(o->folder);
		o->folder = NULL;
		return err;
	}
	o->folder_fd = open(o->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (o->folder_fd < 0)
		return fail(errno, "cannot enter the temporary folder %s", o->folder);
	if (asprintf(&o->store, "%s/" TEMPORARY, o->folder) < 0)
		return fail(ENOMEM, "temporary store");
	out.path = o->store;
	o->has_store = true;
	return open_branch(b, &out);
}

/* The helpers have another current directory. */
static int absolute(char **out, const char *path)
{
	auto_free char *here = *path == '/' ? NULL : getcwd(NULL, 0);

	if (*path != '/' && !here)
		return fail(errno, "cannot find the current directory");
	return asprintf(out, "%s%s%s", here ?: "", here ? "/" : "", path) < 0 ?
		fail(ENOMEM, "%s", path) : 0;
}

/* Opens the store in a folder of CSV streams. */
static int open_streams(struct outputs *o, struct branch *b, const char *folder)
{
	struct output out = { NULL, FORMAT_STORE };
	int err;

	if (!o->analyzer)
		o->analyzer = find_program("iot-analyze", "writes CSV streams", &o->analyzer_fd);
	if (!o->analyzer)
		return -ENOENT;
	o->streams_made = !mkdir(folder, 0700);
	if (!o->streams_made && errno != EEXIST)
		return fail(errno, "cannot make the folder %s", folder);
	err = absolute(&o->streams, folder);
	if (err)
		return err;
	if (asprintf(&o->streams_store, "%s" TEMPORARY, o->streams) < 0)
		return fail(ENOMEM, "CSV streams");
	out.path = o->streams_store;
	o->has_store = true;
	return open_branch(b, &out);
}

int outputs_open(struct outputs *o, const struct options *opts)
{
	struct tee *t = calloc(1, sizeof(*t));
	int err;

	*o = (struct outputs){ .folder_fd = -1, .analyzer_fd = -1 };
	if (!t)
		return fail(ENOMEM, "outputs");
	for (size_t i = 0; i < MAX_OUTPUTS; i++)
		t->branches[i] = (struct branch){ .fd = -1, .at = { .dir = -1 } };
	t->sink = (struct sink){ "outputs", tee_record, tee_events, tee_commit, tee_close };
	o->sink = &t->sink;
	if (!opts->n_outputs) {
		err = open_temporary(o, &t->branches[0]);
		t->n = t->live = 1;
		return err;
	}
	while (t->n < opts->n_outputs) {
		const struct output *out = &opts->outputs[t->n];

		o->standard |= !strcmp(out->path, "-");
		o->has_store |= out->format == FORMAT_STORE;
		err = out->format == FORMAT_STREAMS ?
			open_streams(o, &t->branches[t->n], out->path) :
			open_branch(&t->branches[t->n], out);
		t->n++;
		if (err)
			return err;
		t->live++;
	}
	return 0;
}

int outputs_begin(struct outputs *o)
{
	struct tee *t = (struct tee *)o->sink;
	struct stat s;

	for (size_t i = 0; i < t->n; i++) {
		struct branch *b = &t->branches[i];

		if (b->fd > STDERR_FILENO && !fstat(b->fd, &s) && S_ISREG(s.st_mode) &&
		    ftruncate(b->fd, 0))
			return fail(errno, "cannot empty %s", b->name);
	}
	return 0;
}

static int remove_beside(int dir, const char *name, int flags)
{
	int err = errand_remove(dir, name);

	errno = -err;
	return err ? -1 : 0;
}

int outputs_confine(struct outputs *o)
{
	struct tee *t = (struct tee *)o->sink;
	int err = 0;

	store_unlink = remove_beside;
	for (size_t i = 0; i < t->n && !err; i++)
		if (t->branches[i].store && t->branches[i].sink)
			err = store_confine(t->branches[i].sink);
	return err;
}

int outputs_close(struct outputs *o, bool complete)
{
	int err = o->sink ? o->sink->close(o->sink, complete) : 0;

	o->sink = NULL;
	return err;
}

/* Only a file that this run created is removed. */
static void remove_made(const struct branch *b)
{
	struct stat s;

	if (b->at.dir >= 0 && !fstatat(b->at.dir, b->at.name, &s, AT_SYMLINK_NOFOLLOW) &&
	    s.st_dev == b->made.st_dev && s.st_ino == b->made.st_ino)
		unlinkat(b->at.dir, b->at.name, 0);
}

void outputs_undo(struct outputs *o)
{
	struct tee *t = (struct tee *)o->sink;

	for (size_t i = 0; t && i < t->n; i++) {
		struct branch *b = &t->branches[i];

		if (b->store && b->sink)
			store_unmake(b->sink);
		remove_made(b);
	}
	outputs_close(o, false);
	if (o->streams_made)
		rmdir(o->streams); /* fails unless it is empty */
}

/* A signal during the printing ends the printing too: the reader may have stopped reading. */
int outputs_report(struct outputs *o)
{
	int before = stop_asked(), err = errand_report();

	while (!err && (err = errand_report_over()) == -EAGAIN) {
		err = 0;
		stop_wait(NSEC / 20);
		if (!stop_again() && stop_asked() == before)
			continue;
		errand_report_end();
		return -EINTR;
	}
	return err;
}

bool outputs_store(const struct outputs *o, size_t i, int *dir, const char **name)
{
	const struct tee *t = (const struct tee *)o->sink;

	if (!t || i >= t->n)
		return false;
	*dir = -1;
	*name = t->branches[i].store && t->branches[i].sink ?
		store_place(t->branches[i].sink, dir) : NULL;
	return true;
}

void outputs_tidy(const struct outputs *o)
{
	static const char *const names[] = { TEMPORARY, TEMPORARY "-wal", TEMPORARY "-shm" };

	for (size_t i = 0; o->store && i < N_OF(names); i++)
		unlinkat(o->folder_fd, names[i], 0);
	if (o->folder)
		rmdir(o->folder); /* fails unless it is empty; its owner does not matter */
}

void outputs_free(struct outputs *o)
{
	outputs_close(o, false);
	if (o->folder && errand_tidy())
		outputs_tidy(o);
	if (o->folder && o->folder_fd >= 0)
		close(o->folder_fd);
	if (o->analyzer && o->analyzer_fd >= 0)
		close(o->analyzer_fd);
	free(o->folder);
	free(o->store);
	free(o->streams);
	free(o->streams_store);
	free(o->analyzer);
	*o = (struct outputs){};
}
