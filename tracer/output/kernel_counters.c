// SPDX-License-Identifier: GPL-3.0-only
/* kernel_counters.c - /sys/block counters, ext4's session_write_kbytes, /proc/PID/io and /proc/meminfo.
 *
 * The gate and a counter cannot be used at one instant, and a disk need not wait for us. So the programs count what completes
 * while the gate is closed: what the kernel counted between its two readings is what was recorded and that.
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
#include "ask.h"
#include "names.h"
#include "procfs.h"
#include "tracer.h"
#include "kernel_counters.h"

/* Columns of /sys/block/NAME/stat, counted from 0; sectors have 512 bytes whatever the disk says. */
static const struct {
	int column;
	u64 unit;
	const char *what;
	bool write;
} columns[] = {
	{ 2, 512, "read_bytes", false },
	{ 6, 512, "write_bytes", true },
	{ 0, 1, "reads", false },
	{ 4, 1, "writes", true },
	{ 11, 1, "discards", true },
	{ 15, 1, "flushes", true },
};
#define IN_FLIGHT 8
#define MAX_COLUMNS 20
#define IO_AT_ONCE 256          /* processes whose accounts are asked for together */
#define MIN_READINGS 4          /* of one counter, */
#define MIN_BUSY_READINGS 50    /* where none was of one instant */
#define MAX_READINGS 200
#define PAUSE_NS 200000         /* between them */
#define PATIENCE_NS (NSEC / 2)  /* with all disks that are too busy to be read between two requests */
#define CALM_NS (20 * NSEC / 1000) /* a request that our programs saw complete is in the counters of the kernel by then */

/* Bytes that completed while the gate was closed, just before and just after a reading: the same unless the disk is faster
 * than we read. */
struct around {
	bool known;
	struct iot_outside before, after;
};

struct counter {
	char source[128];
	const char *what;
	u32 dev;
	u64 object;     /* inode number of its folder: another one when it was made again under the same name */
	u64 value;
	bool around_known;
	u64 before, after; /* struct around, of the bytes that this counts */
	bool in_flight_known;
	u64 in_flight, unseen;
	bool traced_known;
	u64 traced;     /* what the programs counted of a partition or a volume */
	bool uncounted; /* the kernel was told not to count */
	bool twice;     /* it may count each byte twice: for a volume of dm, and for the array of md in it */
};

struct counters {
	const struct probes *probes;
	bool end;
	u64 since_ns;   /* CLOCK_MONOTONIC: before then something may have moved */
	u64 until_ns;   /* a disk that has not come to rest by then is busy, */
	u64 patience_ns; /* and is not waited for any more */
	struct counter *c;
	size_t n, room;
};

struct io {
	u32 pid;
	bool given;
	u64 start, rchar, wchar;
};

struct kernel_counters {
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

static bool same_counts(const u64 *a, const u64 *b, int n)
{
	bool same = true;

	for (size_t i = 0; i < N_OF(columns); i++)
		same &= columns[i].column >= n || a[columns[i].column] == b[columns[i].column];
	return same;
}

/* Bytes that our programs saw complete while the gate was closed, and the kernel has not counted, but for a constant. */
typedef s64 lag_of(const struct iot_outside *seen, const u64 *counted);

static s64 lag_of_disk(const struct iot_outside *seen, const u64 *counted)
{
	return seen->read + seen->write - (counted[2] + counted[6]) * 512;
}

static s64 lag_of_ext4(const struct iot_outside *seen, const u64 *counted)
{
	return seen->write - counted[0] * 1024;
}

/* Reads the numbers of a counter once; returns how many. *whole: no request of its disk completed meanwhile, and all that had were
 * counted: the reading and what our programs saw are of one instant. What takes long, to look for requests, stands only where it must
 * between the first and the last look: the busier the disk, the shorter it has to be. */
static int read_once(const struct probes *p, u32 disk, const char *path, u64 v[MAX_COLUMNS], struct around *a, bool *whole)
{
	u64 again[MAX_COLUMNS];
	char line[512];
	bool settled;
	int n;

	a->known = probes_outside(p, disk, &a->before);
	settled = !probes_unsettled(p, disk);
	n = read_line(path, line, sizeof(line)) < 0 ? 0 : numbers(line, v);
	if (!a->known || !n) {
		*whole = true;
		return n;
	}
	probes_outside(p, disk, &a->after);
	*whole = settled && !memcmp(&a->before, &a->after, sizeof(a->before)) && read_line(path, line, sizeof(line)) >= 0 &&
		 numbers(line, again) == n && same_counts(v, again, n) && !probes_unsettled(p, disk);
	return n;
}

/* How much a reading that is of no instant misses, in bytes, but for a constant: to compare readings of one disk. What completed between the
 * looks before and after it may be counted already, which makes the lag too small by that: so a reading without is preferred. */
static s64 lag_between(lag_of *lag, const struct around *a, const u64 *counted)
{
	return 2 * lag(&a->after, counted) - lag(&a->before, counted);
}

/* Reads the numbers of a counter of a disk between two of its requests; returns how many.
 *
 * The kernel calls our programs before it counts, and the processor can be taken away in between, for longer than we wait. Of requests that our
 * programs know, that is seen; and where nothing has moved for a while, of all. A disk that is never idle is read until one reading is of
 * one instant; where none is, the reading counts in which least is missing, and what can be is a bound. */
static int read_between(struct counters *list, u32 disk, const char *path, lag_of *lag, u64 v[MAX_COLUMNS], struct around *a)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	u64 now[MAX_COLUMNS] = { 0 }, at, moved_ns;
	struct around around = {};
	bool whole, best_whole = false;
	s64 best = 0;
	int n = 0;

	for (int i = 0; i < MAX_READINGS; i++, nanosleep(&pause, NULL)) {
		at = clock_now(CLOCK_MONOTONIC);
		n = read_once(list->probes, disk, path, now, &around, &whole);
		moved_ns = around.before.last_ns > list->since_ns ? around.before.last_ns : list->since_ns;
		if (!i || whole > best_whole || (whole == best_whole && n && lag_between(lag, &around, now) < best)) {
			best_whole = whole;
			best = n ? lag_between(lag, &around, now) : 0;
			memcpy(v, now, sizeof(now));
			*a = around;
		}
		if (!around.known || !n || (whole && at >= moved_ns + CALM_NS))
			break;
		if (best_whole ? i >= MIN_READINGS && at >= list->until_ns : i >= MIN_BUSY_READINGS && at >= list->patience_ns)
			break;
	}
	return n;
}

/* What a counter of bytes says of the edges of the recording. */
static void set_edge(struct counter *c, const struct around *a, bool write)
{
	c->around_known = a->known;
	c->before = write ? a->before.write : a->before.read;
	c->after = write ? a->after.write : a->after.read;
	c->unseen = write ? a->after.unseen_write : a->after.unseen_read;
}

/* Requests of a disk that were cut off by the end. */
static void set_in_flight(const struct probes *p, struct counter *c, bool write)
{
	u64 read, written;

	c->in_flight_known = probes_in_flight(p, c->dev, &read, &written);
	if (c->in_flight_known)
		c->in_flight = write ? written : read;
}

/* Is the kernel told not to count what this device does? Partitions have the file of their disk. */
static bool uncounted(const char *name)
{
	char path[512], line[32];

	snprintf(path, sizeof(path), "/sys/class/block/%.100s/queue/iostats", name);
	if (read_line(path, line, sizeof(line)) < 0)
		snprintf(path, sizeof(path), "/sys/class/block/%.100s/../queue/iostats", name);
	return read_line(path, line, sizeof(line)) >= 0 && line[0] == '0';
}

/* Are the bytes of this device in aggregates? Those of a partition are with its disk's; a volume has no requests. */
static bool has_requests(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/block/%.100s/mq", name);
	return !access(path, F_OK);
}

/* A disk that was never used is left out at both ends. */
static void read_disk(struct counters *list, const char *name)
{
	struct counter c = {};
	struct around a = {};
	char folder[300];
	u64 v[MAX_COLUMNS], used = 0;
	int n;

	snprintf(folder, sizeof(folder), "/sys/block/%s", name);
	snprintf(c.source, sizeof(c.source), "/sys/block/%.100s/stat", name);
	if (!folder_dev(folder, &c.dev, &c.object))
		return;
	n = read_between(list, c.dev, c.source, lag_of_disk, v, &a);
	c.uncounted = uncounted(name);
	used = c.uncounted;
	for (int i = 0; i < n; i++)
		used |= v[i];
	for (size_t i = 0; used && i < N_OF(columns); i++) {
		if (columns[i].column >= n)
			continue;
		c.what = columns[i].what;
		c.value = v[columns[i].column] * columns[i].unit;
		c.around_known = c.in_flight_known = false;
		if (columns[i].unit > 1) {
			set_edge(&c, &a, columns[i].write);
			if (list->end)
				set_in_flight(list->probes, &c, columns[i].write);
		}
		add(list, &c);
	}
}

static void read_ext4(struct counters *list, const char *name)
{
	struct counter c = { .what = "session_write_bytes" };
	struct around a = {};
	u64 v[MAX_COLUMNS], object;
	char folder[300];
	struct stat s;

	snprintf(c.source, sizeof(c.source), "/sys/fs/ext4/%.90s/session_write_kbytes", name);
	snprintf(folder, sizeof(folder), "/sys/class/block/%s", name);
	if (stat(c.source, &s) || !folder_dev(folder, &c.dev, &object) || read_between(list, c.dev, c.source, lag_of_ext4, v, &a) != 1)
		return;
	c.object = s.st_ino; /* of this mount */
	c.value = v[0] * 1024;
	set_edge(&c, &a, true);
	c.uncounted = uncounted(name);
	c.traced_known = a.known && !has_requests(name);
	c.traced = a.after.inside_write;
	c.twice = a.known && a.after.silent;
	add(list, &c);
}

static void read_counters(struct counters *list)
{
	list->until_ns = clock_now(CLOCK_MONOTONIC) + 2 * CALM_NS;
	list->patience_ns = list->until_ns + PATIENCE_NS;
	list->since_ns = clock_now(CLOCK_MONOTONIC); /* our programs came, or the gate was closed, just now */
	each_entry("/sys/block", read_disk, list);
	each_entry("/sys/fs/ext4", read_ext4, list);
}

static int account_of(u32 pid, struct io *io)
{
	unsigned long long rchar, wchar;
	struct procfs_stat s;
	char text[512];

	if (procfs_read(pid, "io", text, sizeof(text)) < 0 || sscanf(text, "rchar: %llu wchar: %llu", &rchar, &wchar) != 2 ||
	    procfs_stat(pid, &s))
		return -ENOENT;
	*io = (struct io){ .pid = pid, .start = s.start_ticks, .rchar = rchar, .wchar = wchar };
	return 0;
}

/* In a helper: whoever runs another program at this moment may be waited for (exec_update_lock). */
static ssize_t answer_account(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const u32 *pid = question;
	struct io *io = answer;
	size_t n = len / sizeof(*pid);

	if (len % sizeof(*pid) || room < n * sizeof(*io))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!account_of(pid[i], io))
			io++;
	return (char *)io - (char *)answer;
}

static int read_io(u32 pid, struct io *io)
{
	ssize_t n = ask(ASK_ACCOUNT, (struct ask_about){ .pid = pid }, &pid, sizeof(pid), io, sizeof(*io));

	io->given = false;
	return n == sizeof(*io) && io->pid == pid ? 0 : -ENOENT;
}

void kernel_counters_serve(void)
{
	ask_serve(ASK_ACCOUNT, answer_account, NULL);
}

/* Processes that are asked for at once. */
struct those {
	struct kernel_counters *counters;
	u32 pid[IO_AT_ONCE];
	size_t n;
};

static void keep_io(struct kernel_counters *t, const struct io *io)
{
	if (grow((void **)&t->io, t->n_io, &t->room_io, sizeof(*t->io)))
		return;
	t->io[t->n_io] = *io;
	t->io[t->n_io++].given = false;
}

/* Where one of them keeps a helper waiting, each is asked for. */
static void read_those(struct those *those)
{
	static struct io io[IO_AT_ONCE];
	ssize_t n = ask(ASK_ACCOUNT, (struct ask_about){ 0 }, those->pid, those->n * sizeof(*those->pid), io, sizeof(io));

	for (size_t i = 0; n >= 0 && i < n / sizeof(*io); i++)
		keep_io(those->counters, &io[i]);
	for (size_t i = 0; n == -EBUSY && i < those->n; i++)
		if (!read_io(those->pid[i], io))
			keep_io(those->counters, io);
	those->n = 0;
}

static void begin_process(void *arg, u32 pid, u32 ppid)
{
	struct those *those = arg;

	those->pid[those->n++] = pid;
	if (those->n == IO_AT_ONCE)
		read_those(those);
}

int kernel_counters_begin(struct kernel_counters **out, const struct probes *probes)
{
	struct those those = { .n = 0 };
	struct kernel_counters *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return fail(ENOMEM, "counters");
	t->begin.probes = t->end.probes = probes;
	t->end.end = true;
	those.counters = t;
	procfs_list(begin_process, &those);
	read_those(&those);
	kernel_counters_wait_idle(NSEC / 20);
	read_counters(&t->begin);
	return 0;
}

int kernel_counters_end(struct kernel_counters *t)
{
	t->end.n = 0;
	read_counters(&t->end);
	return 0;
}

static const struct counter *find(const struct counters *list, const struct counter *like)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->c[i].what == like->what && !strcmp(list->c[i].source, like->source))
			return &list->c[i];
	return NULL;
}

/* Of the bytes between two readings, those that completed while the gate was closed. */
static void give_edge(const struct counter *begin, const struct counter *end, struct rec_truth *r)
{
	u64 before = begin ? begin->before : 0, after = begin ? begin->after : 0, most = end->after - before;

	if (end->around_known && (!begin || begin->around_known)) {
		rec_set(r, truth, outside, end->before > after ? end->before - after : 0);
		if (r->outside != most)
			rec_set(r, truth, outside_max, most);
	}
	if (end->in_flight_known) {
		rec_set(r, truth, under_way, end->in_flight);
		rec_set(r, truth, unseen, end->unseen);
	}
}

/* Was the kernel told not to count what this counts? dm of 6.1 says so of each of its volumes and counts all the same: where the switch
 * was off from the start to the end, and the counter of a device without requests has moved, nobody looks at the switch. */
static bool is_uncounted(const struct counter *begin, const struct counter *end)
{
	bool ignored = begin && begin->uncounted && end->uncounted && end->traced_known && end->value != begin->value;

	return !ignored && (end->uncounted || (begin && begin->uncounted));
}

void kernel_counters_devices(const struct kernel_counters *t, void (*give)(void *arg, const struct rec_truth *), void *arg)
{
	for (size_t i = 0; i < t->end.n; i++) {
		const struct counter *end = &t->end.c[i], *begin = find(&t->begin, end);
		struct rec_truth r = { .source = end->source, .what = end->what, .end_value = end->value };

		/* made again under the same name: what the first one counted is lost, unless it had not counted anything */
		if (begin && begin->object != end->object && begin->value)
			continue;
		r.begin_value = begin ? begin->value : 0;
		rec_set(&r, truth, dev, end->dev);
		if (end->traced_known)
			rec_set(&r, truth, traced, end->traced - (begin ? begin->traced : 0));
		if (is_uncounted(begin, end) || end->twice)
			rec_set(&r, truth, uncounted, end->twice ? 2 : 1);
		give_edge(begin, end, &r);
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

void kernel_counters_process(struct kernel_counters *t, u32 pid, void (*give)(void *arg, const struct rec_truth *), void *arg)
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
static void requests(u64 *done, u64 *in_flight)
{
	DIR *d = opendir("/sys/block");
	struct dirent *e;

	*done = *in_flight = 0;
	while (d && (e = readdir(d))) {
		char path[512], line[512];
		u64 v[MAX_COLUMNS];

		snprintf(path, sizeof(path), "/sys/block/%s/stat", e->d_name);
		if (e->d_name[0] == '.' || read_line(path, line, sizeof(line)) < 0 || numbers(line, v) <= IN_FLIGHT)
			continue;
		*done += v[0] + v[4];
		*in_flight += v[IN_FLIGHT];
	}
	if (d)
		closedir(d);
}

void kernel_counters_wait_idle(u64 limit_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	u64 until = clock_now(CLOCK_MONOTONIC) + limit_ns, before, done, in_flight;

	requests(&before, &in_flight);
	while (clock_now(CLOCK_MONOTONIC) < until) {
		nanosleep(&pause, NULL);
		requests(&done, &in_flight);
		if (done == before && !in_flight)
			return;
		before = done;
	}
}

int kernel_counters_dirty(u64 *bytes)
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

void kernel_counters_free(struct kernel_counters *t)
{
	if (!t)
		return;
	free(t->begin.c);
	free(t->end.c);
	free(t->io);
	free(t);
}
