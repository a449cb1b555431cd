// SPDX-License-Identifier: GPL-3.0-only
/* kernel_counters.c - reads /sys/block counters, ext4's session_write_kbytes, /proc/PID/io and
 * /proc/meminfo.
 *
 * The gate cannot open or close at the very instant of a reading, and a busy disk does not pause
 * for either. The programs therefore also count what completes while the gate is closed: the
 * difference of two readings equals the recorded bytes plus these.
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
#include "ask.h"
#include "names.h"
#include "procfs.h"
#include "tracer.h"
#include "kernel_counters.h"

/* Columns of /sys/block/NAME/stat, counted from 0. A sector is 512 bytes on every disk. */
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
#define IO_AT_ONCE 256          /* processes asked for in one question */
#define MIN_READINGS 4          /* readings of one counter, at least */
#define MIN_BUSY_READINGS 50    /* readings at least, where none was taken between two requests */
#define MAX_READINGS 200
#define PAUSE_NS 200000         /* between two readings */
#define PATIENCE_NS (NSEC / 2)  /* for all disks together that are never idle */
#define CALM_NS (20 * NSEC / 1000) /* until the kernel has counted a request seen complete */

/* Bytes that completed while the gate was closed, as counted just before and just after a reading.
 * The two are equal unless a request completed during the reading. */
struct around {
	bool known;
	struct iot_outside before, after;
};

struct counter {
	char source[128];
	const char *what;
	u32 dev;
	/* inode of the counter's directory; another one when the object was created again under its
	 * name */
	u64 object;
	u64 value;
	bool around_known;
	u64 before, after; /* of struct around, for the bytes that this counter counts */
	bool in_flight_known;
	u64 in_flight, unseen;
	bool traced_known;
	u64 traced;     /* bytes of a partition or logical device as the programs counted them */
	bool uncounted; /* counting is switched off (queue/iostats) */
	/* the kernel may count each byte twice: for a dm device, and for the md array inside it */
	bool twice;
};

struct counters {
	const struct probes *probes;
	bool end;
	u64 since_ns;   /* CLOCK_MONOTONIC: completions before it may still be uncounted */
	u64 until_ns;   /* a disk that is not idle by then is busy, */
	u64 patience_ns; /* and is not waited for after that */
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

/* Parses the numbers of a line. Returns how many there are. */
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

/* Calls back for every entry of a directory whose name has no leading dot. */
static void each_entry(const char *folder, void (*entry)(struct counters *, const char *name),
	struct counters *list)
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

/* Bytes that the programs saw complete while the gate was closed minus those that the kernel has
 * counted, up to a constant. */
typedef s64 lag_of(const struct iot_outside *seen, const u64 *counted);

static s64 lag_of_disk(const struct iot_outside *seen, const u64 *counted)
{
	return seen->read + seen->write - (counted[2] + counted[6]) * 512;
}

static s64 lag_of_ext4(const struct iot_outside *seen, const u64 *counted)
{
	return seen->write - counted[0] * 1024;
}

/* Reads the numbers of a counter once. Returns how many there are. *whole: no request of the disk
 * completed during the reading, and the kernel had counted all earlier ones, so that the reading
 * and the programs' counts belong to one instant. The walk over the table of requests is slow; it
 * is kept out of the interval where it can be, since a busy disk needs a short interval. */
static int read_once(const struct probes *p, u32 disk, const char *path, u64 v[MAX_COLUMNS],
	struct around *a, bool *whole)
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
	*whole = settled && !memcmp(&a->before, &a->after, sizeof(a->before)) &&
		read_line(path, line, sizeof(line)) >= 0 &&
		numbers(line, again) == n && same_counts(v, again, n) &&
		!probes_unsettled(p, disk);
	return n;
}

/* Bytes that a reading without a single instant misses, up to a constant, to compare readings of
 * one disk. Requests that complete between the looks before and after it may be counted already,
 * which makes the lag too small by their bytes: a reading without such requests is preferred. */
static s64 lag_between(lag_of *lag, const struct around *a, const u64 *counted)
{
	return 2 * lag(&a->after, counted) - lag(&a->before, counted);
}

/* Reads the numbers of a disk's counter between two of its requests. Returns how many there are.
 *
 * The kernel calls the programs before it counts a request, and may be preempted in between for
 * longer than anyone waits. This is visible for requests in the programs' table, and certain for
 * all once nothing has completed for CALM_NS. A disk that is never idle is read until one reading
 * belongs to an instant; where none does, the reading that misses least is taken, and the bytes
 * that it can miss become a bound.
 */
static int read_between(struct counters *list, u32 disk, const char *path, lag_of *lag,
	u64 v[MAX_COLUMNS], struct around *a)
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
		moved_ns = around.before.last_ns > list->since_ns ? around.before.last_ns :
			list->since_ns;
		if (!i || whole > best_whole ||
		    (whole == best_whole && n && lag_between(lag, &around, now) < best)) {
			best_whole = whole;
			best = n ? lag_between(lag, &around, now) : 0;
			memcpy(v, now, sizeof(now));
			*a = around;
		}
		if (!around.known || !n || (whole && at >= moved_ns + CALM_NS))
			break;
		if (best_whole ? i >= MIN_READINGS && at >= list->until_ns :
		    i >= MIN_BUSY_READINGS && at >= list->patience_ns)
			break;
	}
	return n;
}

/* Sets the parts of a counter that lie outside the recording. */
static void set_edge(struct counter *c, const struct around *a, bool write)
{
	c->around_known = a->known;
	c->before = write ? a->before.write : a->before.read;
	c->after = write ? a->after.write : a->after.read;
	c->unseen = write ? a->after.unseen_write : a->after.unseen_read;
}

/* Sets the bytes of requests that were in flight when the gate closed. */
static void set_in_flight(const struct probes *p, struct counter *c, bool write)
{
	u64 read, written;

	c->in_flight_known = probes_in_flight(p, c->dev, &read, &written);
	if (c->in_flight_known)
		c->in_flight = write ? written : read;
}

/* True when counting is switched off for a device. A partition shares the file of its disk. */
static bool uncounted(const char *name)
{
	char path[512], line[32];

	snprintf(path, sizeof(path), "/sys/class/block/%.100s/queue/iostats", name);
	if (read_line(path, line, sizeof(line)) < 0)
		snprintf(path, sizeof(path), "/sys/class/block/%.100s/../queue/iostats", name);
	return read_line(path, line, sizeof(line)) >= 0 && line[0] == '0';
}

/* True when aggregates hold the bytes of a device. Those of a partition are in the aggregates of
 * its disk, and a logical device (dm, md) has no requests. */
static bool has_requests(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/block/%.100s/mq", name);
	return !access(path, F_OK);
}

/* An unused disk is left out at both ends. */
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
	if (stat(c.source, &s) || !folder_dev(folder, &c.dev, &object) ||
	    read_between(list, c.dev, c.source, lag_of_ext4, v, &a) != 1)
		return;
	c.object = s.st_ino; /* identifies this mount */
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
	/* the programs were attached, or the gate closed, just now */
	list->since_ns = clock_now(CLOCK_MONOTONIC);
	each_entry("/sys/block", read_disk, list);
	each_entry("/sys/fs/ext4", read_ext4, list);
}

static int account_of(u32 pid, struct io *io)
{
	unsigned long long rchar, wchar;
	struct procfs_stat s;
	char text[512];

	if (procfs_read(pid, "io", text, sizeof(text)) < 0 ||
	    sscanf(text, "rchar: %llu wchar: %llu", &rchar, &wchar) != 2 ||
	    procfs_stat(pid, &s))
		return -ENOENT;
	*io = (struct io){ .pid = pid, .start = s.start_ticks, .rchar = rchar, .wchar = wchar };
	return 0;
}

/* Runs in a helper: reading /proc/PID/io waits for exec_update_lock while the process executes
 * another program. */
static ssize_t answer_account(void *arg, const void *question, size_t len, void *answer,
	size_t room)
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
	ssize_t n = ask(ASK_ACCOUNT, (struct ask_about){ .pid = pid }, &pid, sizeof(pid), io,
		sizeof(*io));

	io->given = false;
	return n == sizeof(*io) && io->pid == pid ? 0 : -ENOENT;
}

void kernel_counters_serve(void)
{
	ask_serve(ASK_ACCOUNT, answer_account, NULL);
}

/* Processes of one question. */
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

/* Asks for all of them in one question, and for each on its own if one keeps the helper waiting. */
static void read_those(struct those *those)
{
	static struct io io[IO_AT_ONCE];
	ssize_t n = ask(ASK_ACCOUNT, (struct ask_about){ 0 }, those->pid,
		those->n * sizeof(*those->pid), io, sizeof(io));

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
	struct kernel_counters *t = calloc(1, sizeof(*t));
	struct those those = { .counters = t };

	*out = t;
	if (!t)
		return fail(ENOMEM, "counters");
	t->begin.probes = t->end.probes = probes;
	t->end.end = true;
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

/* Sets the bytes between two readings that completed while the gate was closed. */
static void give_edge(const struct counter *begin, const struct counter *end, struct rec_truth *r)
{
	u64 before = begin ? begin->before : 0, after = begin ? begin->after : 0,
		most = end->after - before;

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

/* True when the kernel did not count this object. dm of 6.1 reports queue/iostats 0 for each of its
 * devices and counts anyway. So the switch is ignored when it was off at both ends and the counter
 * of a device without requests moved all the same. */
static bool is_uncounted(const struct counter *begin, const struct counter *end)
{
	bool ignored = begin && begin->uncounted && end->uncounted && end->traced_known &&
		end->value != begin->value;

	return !ignored && (end->uncounted || (begin && begin->uncounted));
}

void kernel_counters_devices(const struct kernel_counters *t,
	void (*give)(void *arg, const struct rec_truth *), void *arg)
{
	for (size_t i = 0; i < t->end.n; i++) {
		const struct counter *end = &t->end.c[i], *begin = find(&t->begin, end);
		struct rec_truth r = { .source = end->source, .what = end->what,
			.end_value = end->value };

		/* created again under its name: the counts of the first object are lost, unless
		 * they were 0 */
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

static void give_io(u32 pid, const char *what, u64 begin, u64 end,
	void (*give)(void *, const struct rec_truth *), void *arg)
{
	char source[64];
	struct rec_truth r = { .source = source, .what = what, .begin_value = begin,
		.end_value = end };

	snprintf(source, sizeof(source), "/proc/%u/io", pid);
	rec_set(&r, truth, pid, pid);
	give(arg, &r);
}

void kernel_counters_process(struct kernel_counters *t, u32 pid,
	void (*give)(void *arg, const struct rec_truth *), void *arg)
{
	struct io now;

	for (size_t i = 0; i < t->n_io; i++) {
		struct io *then = &t->io[i];

		if (then->pid != pid || then->given || read_io(pid, &now) ||
		    now.start != then->start)
			continue;
		then->given = true;
		give_io(pid, "rchar", then->rchar, now.rchar, give, arg);
		give_io(pid, "wchar", then->wchar, now.wchar, give, arg);
		return;
	}
}

/* Sums completed requests, and requests in flight, over all disks. */
static void requests(u64 *done, u64 *in_flight)
{
	DIR *d = opendir("/sys/block");
	struct dirent *e;

	*done = *in_flight = 0;
	while (d && (e = readdir(d))) {
		char path[512], line[512];
		u64 v[MAX_COLUMNS];

		snprintf(path, sizeof(path), "/sys/block/%s/stat", e->d_name);
		if (e->d_name[0] == '.' || read_line(path, line, sizeof(line)) < 0 ||
		    numbers(line, v) <= IN_FLIGHT)
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

	line = read_file("/proc/meminfo", text, sizeof(text)) < 0 ? NULL : strstr(text, "\nDirty:");
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
