// SPDX-License-Identifier: GPL-3.0-only
/* group_io.c - reads the I/O counters that the kernel keeps by control group, at both ends of a
 * run.
 *
 * io.stat has, by device, the bytes and requests charged to a group and its descendants since the
 * group was created; blk_cgroup_bio_start() adds a bio when it is submitted. The counters vanish
 * with their group: nothing is known of a group that is removed before the end. The blkio
 * controller of version 1 has no such file: its counters do not know writeback, and since Linux
 * 6.10 they count nothing unless a limit is set.
 */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "group_io.h"
#include "hash.h"
#include "mounts.h"
#include "tracer.h"

#define IO_STAT "io.stat"
#define GROUPS_READ 4096        /* groups read at the start: one takes about 10 us */
/* root group of version 2: a process there that reports another path is in a group of version 1 */
#define ROOT_ID 1
#define FILE_MAX 65536          /* bytes of one io.stat */

enum side { READ, WRITTEN, DISCARDED, SIDES };
static const char *const side_names[SIDES] = { "rbytes", "wbytes", "dbytes" };

struct charged {
	u32 dev;
	u64 bytes[SIDES];
};

struct reading {
	u64 id;                 /* of the group; 0: it did not exist */
	int err;                /* of reading its io.stat */
	struct charged *dev;    /* owned by this struct */
	size_t n;
};

struct group {
	u64 key;                /* hash of the path */
	UT_hash_handle hh;
	char *path;
	struct reading begin, end;
	u64 seen;               /* version 2 id of the group that a process was seen in */
	bool wanted, again;     /* again: processes were in several groups of this path */
};

struct group_io {
	/* mount point of version 2; "": not mounted, or without the io controller */
	char at[PATH_MAX];
	bool cut, ended;        /* cut: not all groups were read at the start */
	struct group *groups;
};

static bool has_io(void *arg, const struct mount *m)
{
	struct group_io *g = arg;
	char path[PATH_MAX + 32], words[1024];

	if (strcmp(m->fs, "cgroup2") || strlen(m->at) >= sizeof(g->at))
		return false;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", m->at);
	if (read_line(path, words, sizeof(words)) < 0 ||
	    (strncmp(words, "io", 2) && !strstr(words, " io")))
		return false;
	strcpy(g->at, m->at);
	return true;
}

/* --- reading --- */

static struct charged *device_of(struct reading *r, u32 dev)
{
	struct charged *more;

	for (size_t i = 0; i < r->n; i++)
		if (r->dev[i].dev == dev)
			return &r->dev[i];
	more = reallocarray(r->dev, r->n + 1, sizeof(*more));
	if (!more) {
		r->err = ENOMEM;
		return NULL;
	}
	r->dev = more;
	more += r->n++;
	*more = (struct charged){ .dev = dev };
	return more;
}

/* Parses "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6". */
static void take_numbers(struct charged *c, const char *rest)
{
	char word[16];

	for (int side = 0; side < SIDES; side++) {
		const char *at;

		snprintf(word, sizeof(word), "%s=", side_names[side]);
		at = strstr(rest, word);
		if (at)
			c->bytes[side] = strtoull(at + strlen(word), NULL, 10);
	}
}

static void take_line(struct reading *r, const char *line)
{
	size_t len = strcspn(line, " ");
	struct charged *c;
	char number[32];
	u32 dev;

	snprintf(number, sizeof(number), "%.*s", (int)len, line);
	if (!line[len] || dev_parse(number, &dev) || !(c = device_of(r, dev)))
		return;
	take_numbers(c, line + len);
}

static void read_group(const struct group_io *g, const char *path, struct reading *r)
{
	static char text[FILE_MAX];
	char name[2 * PATH_MAX];
	char *rest = text, *line;
	struct stat s;
	ssize_t n;

	snprintf(name, sizeof(name), "%s%s", g->at, path);
	if (stat(name, &s))
		return;
	r->id = s.st_ino;
	snprintf(name, sizeof(name), "%s%s/" IO_STAT, g->at, path);
	n = read_file(name, text, sizeof(text));
	r->err = n < 0 ? -n : n + 1 == sizeof(text) ? EFBIG : 0;
	while (n >= 0 && (line = strsep(&rest, "\n")))
		take_line(r, line);
}

/* --- groups --- */

static struct group *find(const struct group_io *g, const char *path, size_t len, u64 *key)
{
	struct group *one;

	*key = hash_bytes(HASH_START, path, len);
	HASH_FIND(hh, g->groups, key, sizeof(*key), one);
	return one;
}

static struct group *make(struct group_io *g, const char *path, size_t len)
{
	u64 key;
	struct group *one = find(g, path, len, &key);

	if (one || !(one = calloc(1, sizeof(*one))))
		return one;
	one->key = key;
	one->path = strndup(path, len);
	if (one->path) {
		HASH_PUT(g->groups, key, sizeof(one->key), one);
		return one;
	}
	free(one);
	return NULL;
}

static void read_groups(struct group_io *g)
{
	char *const roots[] = { g->at, NULL };
	/* kernfs counts subdirectories in the link count of a directory, so that fts(3) need not
	 * stat its files */
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR | FTS_NOSTAT, NULL);
	size_t root = strlen(g->at);
	FTSENT *e;

	while (walk && (e = fts_read(walk))) {
		const char *path = e->fts_path + root;
		struct group *one;

		if (e->fts_info != FTS_D || !*path || strlen(path) >= PATH_MAX)
			continue;
		g->cut = HASH_COUNT(g->groups) >= GROUPS_READ;
		if (g->cut)
			break;
		one = make(g, path, strlen(path));
		if (one)
			read_group(g, path, &one->begin);
	}
	if (walk)
		fts_close(walk);
}

int group_io_begin(struct group_io **out)
{
	struct group_io *g = calloc(1, sizeof(*g));

	*out = g;
	if (!g)
		return fail(ENOMEM, "counters of control groups");
	if (mounts_find_ours(has_io, g))
		read_groups(g);
	return 0;
}

static void want(struct group_io *g, const char *path, size_t len, u64 id)
{
	struct group *one = make(g, path, len);

	if (!one)
		return;
	if (!one->wanted && g->ended && g->at[0])
		read_group(g, one->path, &one->end);
	one->wanted = true;
	one->again |= id && one->seen && one->seen != id;
	one->seen = id ?: one->seen;
}

void group_io_about(struct group_io *g, const char *path, u64 id)
{
	size_t len = strlen(path);

	if (len < 2 || (id == ROOT_ID && g->at[0]))
		return;
	for (want(g, path, len, id); len; len--)
		if (path[len] == '/')
			want(g, path, len, 0);
}

void group_io_end(struct group_io *g)
{
	struct group *one, *next;

	g->ended = true;
	HASH_ITER(hh, g->groups, one, next)
		if (one->wanted && g->at[0])
			read_group(g, one->path, &one->end);
}

/* --- records --- */

static const char *why_none(const struct group_io *g, const struct group *one)
{
	if (!g->at[0])
		return "version 2 of control groups, which has io.stat, is not mounted here with controller io";
	if (!one->end.id)
		return "the control group was removed before the end of the run: the one above has what was charged to it";
	if (one->again || (one->begin.id && one->begin.id != one->end.id) ||
	    (one->seen && one->seen != one->end.id))
		return "the control group was removed and made again in the run: the counters are those of the last one";
	if (one->end.err == ENOENT)
		return "controller io is not on for it (cgroup.subtree_control of the group above)";
	if (one->end.err)
		return "its counters may not be read";
	if (g->cut && !one->begin.id)
		return "there are more control groups than were read at the start of the run";
	return NULL;
}

static u64 charged_then(const struct reading *r, u32 dev, int side)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->dev[i].dev == dev)
			return r->dev[i].bytes[side];
	return 0;
}

static void give_group(const struct group_io *g, const struct group *one,
	void (*give)(void *, const struct rec_truth *), void *arg)
{
	char source[2 * PATH_MAX];
	struct rec_truth r = { .source = source, .cgroup = one->path, .absent = why_none(g, one) };

	snprintf(source, sizeof(source), "%s%s/" IO_STAT, g->at, one->path);
	if (r.absent || !one->end.n) {
		r.what = r.absent ? IO_STAT : side_names[WRITTEN];
		give(arg, &r);
		return;
	}
	for (size_t i = 0; i < one->end.n; i++) {
		const struct charged *c = &one->end.dev[i];

		rec_set(&r, truth, dev, c->dev);
		for (int side = 0; side < SIDES; side++) {
			r.what = side_names[side];
			r.begin_value = charged_then(&one->begin, c->dev, side);
			r.end_value = c->bytes[side];
			give(arg, &r);
		}
	}
}

void group_io_give(const struct group_io *g, void (*give)(void *arg, const struct rec_truth *),
	void *arg)
{
	struct group *one, *next;

	HASH_ITER(hh, g->groups, one, next)
		if (one->wanted)
			give_group(g, one, give, arg);
}

void group_io_free(struct group_io *g)
{
	struct group *one, *next;

	if (!g)
		return;
	HASH_ITER(hh, g->groups, one, next) {
		HASH_DEL(g->groups, one);
		free(one->path);
		free(one->begin.dev);
		free(one->end.dev);
		free(one);
	}
	free(g);
}
