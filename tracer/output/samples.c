// SPDX-License-Identifier: GPL-3.0-only
/* samples.c - samples of processes: /proc/PID/stat and /proc/PID/io, read by a helper, since the
 * tracer may not read the I/O of others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ask.h"
#include "clean.h"
#include "clock.h"
#include "fail.h"
#include "file.h"
#include "procfs.h"
#include "samples.h"

#define PROCESSES_MAX 4096

/* One reading, as the helper answers. */
struct reading {
	u32 pid, threads;
	u64 start_ticks, user_ticks, system_ticks, pages, read_bytes, write_bytes;
	char state;
	bool has_io;
};

struct sampled {
	u32 id, pid, exec_no;
	u64 start_ns;
};

struct samples {
	struct sampled *list;
	size_t n, room;
	u64 every_ns, next_ns, left_out;
};

/* Fields of stat by their numbers in proc(5), behind the name. */
static bool parse_stat(const char *text, struct reading *r)
{
	const char *end = strrchr(text, ')');
	unsigned long long user, system, start;
	long long pages;

	if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d"
			   " %*d %*d %u %*d %llu %*u %lld",
			   &r->state, &user, &system, &r->threads, &start, &pages) != 6 ||
	    pages < 0)
		return false;
	r->user_ticks = user;
	r->system_ticks = system;
	r->start_ticks = start;
	r->pages = pages;
	return true;
}

static bool parse_io(const char *text, struct reading *r)
{
	const char *read = strstr(text, "\nread_bytes: "), *write = strstr(text, "\nwrite_bytes: ");

	if (!read || !write)
		return false;
	r->read_bytes = strtoull(strchr(read, ' '), NULL, 10);
	r->write_bytes = strtoull(strchr(write, ' '), NULL, 10);
	return true;
}

static ssize_t answer_sample(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	char path[PROCFS_PATH], text[2048];
	struct reading *r = answer;
	u32 pid;

	if (len != sizeof(pid) || room < sizeof(*r))
		return -EINVAL;
	memcpy(&pid, question, len);
	*r = (struct reading){ .pid = pid };
	if (read_file(procfs_path(path, pid, "stat"), text, sizeof(text)) <= 0 ||
	    !parse_stat(text, r))
		return -ESRCH;
	r->has_io = read_file(procfs_path(path, pid, "io"), text, sizeof(text)) > 0 &&
		parse_io(text, r);
	return sizeof(*r);
}

void samples_serve(void)
{
	ask_serve(ASK_SAMPLE, answer_sample, NULL);
}

int samples_new(struct samples **out, u64 every_ns)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "samples of processes");
	(*out)->every_ns = (*out)->next_ns = every_ns;
	return 0;
}

void samples_free(struct samples *s)
{
	if (s)
		free(s->list);
	free(s);
}

static void give_reading(const struct sampled *p, const struct reading *r, u64 now_ns,
	samples_give *give, void *arg)
{
	const u64 tick_ns = NSEC / sysconf(_SC_CLK_TCK);
	char state[2] = { r->state };
	struct rec_process_sample rec = { .ts_ns = now_ns, .owner = p->id, .state = state,
		.threads = r->threads, .rss_bytes = r->pages * sysconf(_SC_PAGESIZE),
		.user_ns = r->user_ticks * tick_ns, .system_ns = r->system_ticks * tick_ns };

	if (r->has_io) {
		rec_set(&rec, process_sample, read_bytes, r->read_bytes);
		rec_set(&rec, process_sample, write_bytes, r->write_bytes);
	}
	give(arg, &rec);
}

/* Returns false when the process has ended; an answer that did not come in time is no end. */
static bool sample_one(const struct sampled *p, u64 now_ns, samples_give *give, void *arg)
{
	struct reading r;
	ssize_t n = ask(ASK_SAMPLE, (struct ask_about){ .pid = p->pid }, &p->pid, sizeof(p->pid),
		&r, sizeof(r));

	if (n == -EBUSY)
		return true;
	if (n != sizeof(r) || r.pid != p->pid || !procfs_began(r.start_ticks, p->start_ns))
		return false;
	give_reading(p, &r, now_ns, give, arg);
	return true;
}

/* Is it a later program of that pid? Each execve() makes another process.id. */
static bool is_later(const struct iot_proc *proc, const struct sampled *p)
{
	return proc->start_ns != p->start_ns ? proc->start_ns > p->start_ns :
		proc->exec_no > p->exec_no;
}

/* Returns the place of a process in the list; NULL: it has none, or a later program has it. */
static struct sampled *place_of(struct samples *s, const struct iot_proc *proc)
{
	size_t i = 0;

	while (i < s->n && s->list[i].pid != proc->pid)
		i++;
	if (i < s->n)
		return is_later(proc, &s->list[i]) ? &s->list[i] : NULL;
	if (s->n == PROCESSES_MAX || grow((void **)&s->list, s->n, &s->room, sizeof(*s->list))) {
		s->left_out++;
		return NULL;
	}
	return &s->list[s->n++];
}

void samples_add(struct samples *s, const struct iot_proc *proc, u64 now_ns, samples_give *give,
	void *arg)
{
	struct sampled *p;

	if (!proc->pid || proc->flags & (PROC_KTHREAD | PROC_EXITED))
		return;
	p = place_of(s, proc);
	if (!p)
		return;
	*p = (struct sampled){ proc->id, proc->pid, proc->exec_no, proc->start_ns };
	sample_one(p, now_ns, give, arg);
}

void samples_take(struct samples *s, u64 now_ns, bool end, samples_give *give, void *arg)
{
	size_t kept = 0;

	if (!end && now_ns < s->next_ns)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (sample_one(&s->list[i], now_ns, give, arg))
			s->list[kept++] = s->list[i];
	s->n = kept;
	while (s->next_ns <= now_ns)
		s->next_ns += s->every_ns;
}

u64 samples_left_out(const struct samples *s)
{
	return s->left_out;
}
