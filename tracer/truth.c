// SPDX-License-Identifier: GPL-3.0-only
/* truth.c - /sys/block counters, ext4's session_write_kbytes, /proc/PID/io and /proc/meminfo.
 *
 * To add a counter of disks: a row in `columns`.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "names.h"
#include "tracer.h"
#include "truth.h"

/* Columns of /sys/block/NAME/stat, counted from 0; sectors have 512 bytes whatever the disk says. */
static const struct {
	int column;
	u64 unit;
	const char *what;
} columns[] = {
	{ 2, 512, "read_bytes" },
	{ 6, 512, "write_bytes" },
	{ 0, 1, "reads" },
	{ 4, 1, "writes" },
	{ 11, 1, "discards" },
	{ 15, 1, "flushes" },
};
#define IN_FLIGHT 8
#define MAX_COLUMNS 20

struct counter {
	char source[128];
	const char *what;
	u32 dev;
	u64 object;     /* inode number of its folder: another one when it was made again under the same name */
	u64 value;
};

struct counters {
	struct counter *c;
	size_t n, room;
};

struct io {
	u32 pid;
	bool given;
	u64 start, rchar, wchar;
};

struct truth {
	struct counters begin, end;
	struct io *io;
	size_t n_io, room_io;
};

static void add(struct counters *list, const struct counter *c)
{
	if (!grow((void **)&list->c, list->n, &list->room, sizeof(*c)))
		list->c[list->n++] = *c;
}

/* Numbers of a line; returns how many. */
static int numbers(const char *line, u64 out[MAX_COLUMNS])
{
	char *end;
	int n;

	for (n = 0; n < MAX_COLUMNS; n++, line = end) {
		out[n] = strtoull(line, &end, 10);
		if (end == line)
			break;
	}
	return n;
}

static bool folder_dev(const char *folder, u32 *dev, u64 *object)
{
	char path[512], text[32];
	struct stat s;

	snprintf(path, sizeof(path), "%s/dev", folder);
	if (stat(folder, &s) || read_line(path, text, sizeof(text)) < 0 || dev_parse(text, dev))
		return false;
	*object = s.st_ino;
	return true;
}

/* Calls back for every entry of a folder that has no dot in front. */
static void each_entry(const char *folder, void (*entry)(struct counters *, const char *name), struct counters *list)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			entry(list, e->d_name);
	if (d)
		closedir(d);
}

/* A disk that was never used is left out at both ends. */
static void read_disk(struct counters *list, const char *name)
{
	struct counter c = {};
	char folder[300], line[512];
	u64 v[MAX_COLUMNS], used = 0;
	int n;

	snprintf(folder, sizeof(folder), "/sys/block/%s", name);
	snprintf(c.source, sizeof(c.source), "/sys/block/%.100s/stat", name);
	if (!folder_dev(folder, &c.dev, &c.object) || read_line(c.source, line, sizeof(line)) < 0)
		return;
	n = numbers(line, v);
	for (int i = 0; i < n; i++)
		used |= v[i];
	for (size_t i = 0; used && i < N_OF(columns); i++) {
		if (columns[i].column >= n)
			continue;
		c.what = columns[i].what;
		c.value = v[columns[i].column] * columns[i].unit;
		add(list, &c);
	}
}

static void read_ext4(struct counters *list, const char *name)
{
	struct counter c = { .what = "session_write_bytes" };
	char folder[300], line[64];
	struct stat s;
	u64 object;

	snprintf(c.source, sizeof(c.source), "/sys/fs/ext4/%.90s/session_write_kbytes", name);
	snprintf(folder, sizeof(folder), "/sys/class/block/%s", name);
	if (stat(c.source, &s) || read_line(c.source, line, sizeof(line)) < 0 || !folder_dev(folder, &c.dev, &object) ||
	    parse_number(line, &c.value))
		return;
	c.object = s.st_ino; /* of this mount */
	c.value *= 1024;
	add(list, &c);
}

static void read_counters(struct counters *list)
{
	each_entry("/sys/block", read_disk, list);
	each_entry("/sys/fs/ext4", read_ext4, list);
}

static int read_io(u32 pid, struct io *io)
{
	unsigned long long rchar, wchar;
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%u/io", pid);
	if (read_file(path, text, sizeof(text)) < 0 || sscanf(text, "rchar: %llu wchar: %llu", &rchar, &wchar) != 2)
		return -ENOENT;
	*io = (struct io){ .pid = pid, .start = process_start_ticks(pid), .rchar = rchar, .wchar = wchar };
	return io->start ? 0 : -ENOENT;
}

static void begin_process(void *arg, u32 pid, u32 ppid)
{
	struct truth *t = arg;

	if (!grow((void **)&t->io, t->n_io, &t->room_io, sizeof(*t->io)) && !read_io(pid, &t->io[t->n_io]))
		t->n_io++;
}

int truth_begin(struct truth **out)
{
	struct truth *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return fail(ENOMEM, "counters");
	processes_list(begin_process, t);
	truth_calm(NSEC / 20);
	read_counters(&t->begin);
	return 0;
}

int truth_end(struct truth *t)
{
	t->end.n = 0;
	read_counters(&t->end);
	return 0;
}

static struct counter *find(struct counters *list, const struct counter *like)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->c[i].what == like->what && !strcmp(list->c[i].source, like->source))
			return &list->c[i];
	return NULL;
}

/* Another reading for the disks of which `recorded` says what is wanted. */
static void read_again(struct counters *list, bool wanted, bool (*recorded)(void *arg, u32 dev), void *arg)
{
	struct counters now = {};

	read_counters(&now);
	for (size_t i = 0; i < now.n; i++) {
		struct counter *c = find(list, &now.c[i]);

		if (strncmp(now.c[i].source, "/sys/block/", 11) || recorded(arg, now.c[i].dev) != wanted)
			continue;
		if (c)
			*c = now.c[i];
		else
			add(list, &now.c[i]);
	}
	free(now.c);
}

void truth_opened(struct truth *t, bool (*recorded)(void *arg, u32 dev), void *arg)
{
	read_again(&t->begin, false, recorded, arg);
}

void truth_closed(struct truth *t, bool (*recorded)(void *arg, u32 dev), void *arg)
{
	read_again(&t->end, true, recorded, arg);
}

void truth_devices(struct truth *t, void (*give)(void *arg, const struct rec_truth *), void *arg)
{
	for (size_t i = 0; i < t->end.n; i++) {
		const struct counter *end = &t->end.c[i], *begin = find(&t->begin, end);
		struct rec_truth r = { .source = end->source, .what = end->what, .end_value = end->value };

		/* made again under the same name: what the first one counted is lost, unless it had not counted anything */
		if (begin && begin->object != end->object && begin->value)
			continue;
		r.begin_value = begin ? begin->value : 0;
		rec_set(&r, truth, dev, end->dev);
		give(arg, &r);
	}
}

static void give_io(u32 pid, const char *what, u64 begin, u64 end, void (*give)(void *, const struct rec_truth *), void *arg)
{
	char source[64];
	struct rec_truth r = { .source = source, .what = what, .begin_value = begin, .end_value = end };

	snprintf(source, sizeof(source), "/proc/%u/io", pid);
	rec_set(&r, truth, pid, pid);
	give(arg, &r);
}

void truth_process(struct truth *t, u32 pid, void (*give)(void *arg, const struct rec_truth *), void *arg)
{
	struct io now;

	for (size_t i = 0; i < t->n_io; i++) {
		struct io *then = &t->io[i];

		if (then->pid != pid || then->given || read_io(pid, &now) || now.start != then->start)
			continue;
		then->given = true;
		give_io(pid, "rchar", then->rchar, now.rchar, give, arg);
		give_io(pid, "wchar", then->wchar, now.wchar, give, arg);
		return;
	}
}

/* Sum of all completed requests, and of those under way, of all disks. */
static void requests(u64 *done, u64 *under_way)
{
	DIR *d = opendir("/sys/block");
	struct dirent *e;

	*done = *under_way = 0;
	while (d && (e = readdir(d))) {
		char path[512], line[512];
		u64 v[MAX_COLUMNS];

		snprintf(path, sizeof(path), "/sys/block/%s/stat", e->d_name);
		if (e->d_name[0] == '.' || read_line(path, line, sizeof(line)) < 0 || numbers(line, v) <= IN_FLIGHT)
			continue;
		*done += v[0] + v[4];
		*under_way += v[IN_FLIGHT];
	}
	if (d)
		closedir(d);
}

void truth_calm(u64 limit_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	u64 until = clock_now(CLOCK_MONOTONIC) + limit_ns, before, done, under_way;

	requests(&before, &under_way);
	while (clock_now(CLOCK_MONOTONIC) < until) {
		nanosleep(&pause, NULL);
		requests(&done, &under_way);
		if (done == before && !under_way)
			return;
		before = done;
	}
}

int truth_dirty(u64 *bytes)
{
	char text[4096], *line;

	if (read_file("/proc/meminfo", text, sizeof(text)) < 0)
		return -ENOENT;
	line = strstr(text, "\nDirty:");
	if (!line)
		return -ENOENT;
	*bytes = strtoull(line + 7, NULL, 10) * 1024;
	return 0;
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	free(t->begin.c);
	free(t->end.c);
	free(t->io);
	free(t);
}
