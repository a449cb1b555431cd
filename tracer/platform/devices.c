// SPDX-License-Identifier: GPL-3.0-only
/* devices.c - device records from /sys/dev/block and /proc/self/mountinfo. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/major.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "ask.h"
#include "devices.h"
#include "mounts.h"
#include "tracer.h"

#define FIELD_MAX 4096

struct known {
	u32 dev;
	bool mounted, listed;
	u64 sec;                /* second of the last look */
};

struct mounted {
	char fs[64], options[FIELD_MAX], at[FIELD_MAX];
};

struct devices {
	struct known *known;
	size_t n, room;
	struct rec_device rec;
	struct mounted mount;
	char name[64];
};

int devices_new(struct devices **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : fail(ENOMEM, "devices");
}

void devices_free(struct devices *d)
{
	if (d)
		free(d->known);
	free(d);
}

struct wanted {
	u32 dev;
	struct mounted *to;
};

static bool is_of_device(void *arg, const struct mount *m)
{
	const struct wanted *w = arg;

	if (m->dev != w->dev)
		return false;
	snprintf(w->to->at, sizeof(w->to->at), "%s", m->at);
	snprintf(w->to->fs, sizeof(w->to->fs), "%s", m->fs);
	snprintf(w->to->options, sizeof(w->to->options), "%s", m->options);
	return true;
}

/* Finds a device among the mounts: the first line with its number. */
static bool find_mount(u32 dev, struct mounted *m)
{
	return mounts_find_ours(is_of_device, &(struct wanted){ dev, m });
}

const char *devices_mount(struct devices *d, u32 dev)
{
	return find_mount(dev, &d->mount) ? d->mount.at : NULL;
}

bool devices_mount_is_remote(const struct devices *d)
{
	return mounts_is_remote(d->mount.fs);
}

/* Path of a file in the /sys directory of a block device. */
static const char *sys_path(u32 dev, const char *file, char buf[128])
{
	snprintf(buf, 128, "/sys/dev/block/%u:%u/%s", dev >> 20, dev & 0xfffff, file);
	return buf;
}

static bool sys_has(u32 dev, const char *file)
{
	char path[128];

	return !access(sys_path(dev, file, path), F_OK);
}

static int sys_number(u32 dev, const char *file, u64 *out)
{
	char path[128], text[64];

	return read_line(sys_path(dev, file, path), text, sizeof(text)) < 0 ? -ENOENT :
		parse_number(text, out);
}

static int sys_dev(u32 dev, const char *file, u32 *out)
{
	char path[128], text[64];

	return read_line(sys_path(dev, file, path), text, sizeof(text)) < 0 ? -ENOENT :
		dev_parse(text, out);
}

/* Types of devices, recognised by a file in /sys, most specific first. To add a type: a row. */
static const struct {
	const char *file, *type;
	bool leaf;
} types[] = {
	{ "partition", "partition", false },
	{ "dm/uuid", "dm", false },
	{ "md/level", "md", false },
	{ "mm_stat", "zram", false },
	/* of a disk behind bcache, too, which has requests */
	{ "bcache/dev", "bcache", false },
	{ "", "disk", true },
};

static const char *type_of(u32 dev, bool *leaf)
{
	size_t i = 0;

	if (dev >> 20 == LOOP_MAJOR && !sys_has(dev, "partition")) {
		*leaf = true;
		return "loop";
	}
	while (*types[i].file && (!sys_has(dev, types[i].file) ||
				  (!strcmp(types[i].type, "bcache") && sys_has(dev, "mq"))))
		i++;
	/* the programs never see a driver without request queues complete a request: no total can
	 * hold its bytes */
	*leaf = types[i].leaf && sys_has(dev, "mq");
	return types[i].type;
}

const char *devices_type(u32 dev)
{
	bool leaf;

	return type_of(dev, &leaf);
}

/* Location of a loop device's file, found in a helper. */
struct backing {
	/* number of its file system's device; of a member device, where the file system has no
	 * number of its own */
	u32 dev;
	u32 bottom;             /* one of the enumerators below */
};

enum below { BELOW_DEVICE, BELOW_NOTHING, BELOW_UNKNOWN };

struct holder {
	const char *file;
	size_t len;             /* length of the longest mount point so far that holds the file */
	struct backing *b;
};

/* Classifies what is below a mount: file systems in memory have no device, and remote ones have no
 * device on this machine. */
static void look_below(const struct mount *m, struct backing *b)
{
	struct stat s;

	*b = (struct backing){ m->dev, BELOW_UNKNOWN };
	if (m->dev >> 20) {
		b->bottom = BELOW_DEVICE;
	} else if (!strcmp(m->fs, "tmpfs") || !strcmp(m->fs, "ramfs") ||
	    !strcmp(m->fs, "hugetlbfs") || mounts_is_remote(m->fs)) {
		b->bottom = BELOW_NOTHING;
	} else if (*m->source == '/' && !stat(m->source, &s) && S_ISBLK(s.st_mode)) {
		b->dev = major(s.st_rdev) << 20 | minor(s.st_rdev);
		b->bottom = BELOW_DEVICE;
	}
}

/* Takes the last mount of the longest mount point. */
static bool holds_file(void *arg, const struct mount *m)
{
	struct holder *h = arg;
	size_t len = strcmp(m->at, "/") ? strlen(m->at) : 0;

	if (len < h->len || strncmp(m->at, h->file, len) || h->file[len] != '/')
		return false;
	h->len = len;
	look_below(m, h->b);
	return false;
}

static bool is_mount_of(void *arg, const struct mount *m)
{
	struct backing *b = arg;

	if (m->dev != b->dev)
		return false;
	look_below(m, b);
	return true;
}

/* Answers for a loop device, or for a file system that has a number of its own. */
static ssize_t answer_backing(void *arg, const void *question, size_t len, void *answer,
	size_t room)
{
	static const char deleted[] = " (deleted)";
	char path[128], file[FIELD_MAX], *end;
	struct backing *b = answer;
	struct stat s;
	u32 dev;

	if (len != sizeof(dev) || room < sizeof(*b))
		return -EINVAL;
	memcpy(&dev, question, len);
	if (!(dev >> 20)) {
		*b = (struct backing){ dev, BELOW_UNKNOWN };
		return mounts_find_ours(is_mount_of, b) && b->bottom == BELOW_DEVICE ?
			(ssize_t)sizeof(*b) : -ENOENT;
	}
	if (read_line(sys_path(dev, "loop/backing_file", path), file, sizeof(file)) <= 0)
		return -ENOENT;
	end = strlen(file) > strlen(deleted) ? file + strlen(file) - strlen(deleted) : file;
	if (stat(file, &s) && strcmp(end, deleted)) /* the file may be in another mount namespace */
		return -ENOENT;
	*b = (struct backing){ 0, BELOW_UNKNOWN };
	mounts_find_ours(holds_file, &(struct holder){ .file = file, .b = b });
	return sizeof(*b);
}

void devices_serve(void)
{
	ask_serve(ASK_BACKING, answer_backing, NULL);
}

static bool backing_of(u32 dev, struct backing *b)
{
	return ask(ASK_BACKING, (struct ask_about){ 0 }, &dev, sizeof(dev), b,
		sizeof(*b)) == sizeof(*b);
}

/* Names the device below. */
static void set_below(struct rec_device *r, u32 dev)
{
	struct backing b = { .bottom = BELOW_UNKNOWN };
	u32 parent;

	if (strcmp(r->type, "loop")) {
		if (!strcmp(r->type, "partition") && !sys_dev(dev, "../dev", &parent))
			rec_set(r, device, parent, parent);
		rec_set(r, device, bottom, r->leaf);
		return;
	}
	if (backing_of(dev, &b))
		rec_set(r, device, parent, b.dev);
	if (b.bottom != BELOW_UNKNOWN)
		rec_set(r, device, bottom, b.bottom == BELOW_NOTHING);
}

static void describe_block(struct devices *d, u32 dev)
{
	struct rec_device *r = &d->rec;
	char path[128], target[512];
	ssize_t len;
	bool leaf;
	u64 n;

	sys_path(dev, "", path);
	path[strlen(path) - 1] = '\0';
	len = readlink(path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(d->name, sizeof(d->name), "%.63s", strrchr(target, '/') ?
		strrchr(target, '/') + 1 : target);
	r->name = d->name;
	r->type = type_of(dev, &leaf);
	r->leaf = leaf;
	set_below(r, dev);
	if (!sys_number(dev, "queue/rotational", &n) || !sys_number(dev, "../queue/rotational", &n))
		rec_set(r, device, rotational, n);
	if (!sys_number(dev, "size", &n))
		rec_set(r, device, size, n * 512);
}

/* Fills the record. mounted: d->mount says where. */
static const struct rec_device *describe(struct devices *d, u32 dev, bool block, bool mounted)
{
	struct rec_device *r = &d->rec;

	*r = (struct rec_device){ .dev = dev, .type = "fs" };
	if (block)
		describe_block(d, dev);
	if (mounted) {
		r->fs = d->mount.fs;
		r->options = d->mount.options;
		r->mount = d->mount.at;
	}
	return r;
}

static struct known *find_known(struct devices *d, u32 dev)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->known[i].dev == dev)
			return &d->known[i];
	return NULL;
}

bool devices_known(struct devices *d, u32 dev)
{
	const struct known *k = find_known(d, dev);

	return k && k->listed;
}

const struct rec_device *devices_learn(struct devices *d, u32 dev, u64 sec)
{
	struct known *k = find_known(d, dev);
	bool block;

	if (!dev || (k && (k->mounted || k->sec == sec)))
		return NULL;
	block = dev >> 20 && sys_has(dev, "dev");
	if (!k) {
		if (grow((void **)&d->known, d->n, &d->room, sizeof(*d->known)))
			return NULL;
		k = &d->known[d->n++];
		*k = (struct known){ .dev = dev };
	}
	k->sec = sec;
	k->mounted = find_mount(dev, &d->mount);
	if (!k->mounted && (k->listed || !block))
		return NULL;
	k->listed = true;
	return describe(d, dev, block, k->mounted);
}

const struct rec_device *devices_again(struct devices *d, u32 dev)
{
	return describe(d, dev, dev >> 20 && sys_has(dev, "dev"), find_mount(dev, &d->mount));
}

/* Calls back with each device number in a directory of /sys. */
static void each_in(const char *folder, void (*call)(void *arg, u32 below), void *arg)
{
	char file[600], name[64];
	DIR *dir = opendir(folder);
	struct dirent *e;
	u32 below;

	while (dir && (e = readdir(dir))) {
		snprintf(file, sizeof(file), "%.400s/%.128s/dev", folder, e->d_name);
		if (e->d_name[0] != '.' && read_line(file, name, sizeof(name)) >= 0 &&
		    !dev_parse(name, &below))
			call(arg, below);
	}
	if (dir)
		closedir(dir);
}

struct levels {
	struct rec_level rec;
	void (*level)(void *arg, const struct rec_level *);
	void *arg;
};

struct member {
	u32 dev;
	bool found;
};

static void is_member(void *arg, u32 dev)
{
	struct member *m = arg;

	m->found |= m->dev == dev;
}

/* Calls back with each device of the btrfs file system that contains `dev`. */
static void each_of_btrfs(u32 dev, void (*call)(void *arg, u32 below), void *arg)
{
	static const char all[] = "/sys/fs/btrfs";
	DIR *dir = opendir(all);
	char folder[400] = "";
	struct member m = { dev };
	struct dirent *e;

	while (dir && !m.found && (e = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%s/%.128s/devices", all, e->d_name);
		each_in(folder, is_member, &m);
	}
	if (dir)
		closedir(dir);
	if (m.found)
		each_in(folder, call, arg);
	else
		call(arg, dev);
}

static void give_level(void *arg, u32 below)
{
	struct levels *l = arg;

	l->rec.below = below;
	l->level(l->arg, &l->rec);
}

/* First line of a file in /sys, which names a level or how it is made; NULL: none. */
static const char *sys_text(u32 dev, const char *file, char text[FIELD_MAX])
{
	char path[128];

	return read_line(sys_path(dev, file, path), text, FIELD_MAX) > 0 ? text : NULL;
}

void devices_levels(u32 dev, void (*level)(void *arg, const struct rec_level *), void *arg)
{
	char how[FIELD_MAX], name[FIELD_MAX], dm[FIELD_MAX + 4], path[128];
	struct levels l = { { .dev = dev }, level, arg };
	struct backing b;
	bool leaf;
	u32 disk;

	if (!(dev >> 20)) {
		l.rec.how = "btrfs";
		if (backing_of(dev, &b))
			each_of_btrfs(b.dev, give_level, &l);
		return;
	}
	l.rec.how = type_of(dev, &leaf);
	if (!strcmp(l.rec.how, "partition")) {
		if (!sys_dev(dev, "../dev", &disk))
			give_level(&l, disk);
		return;
	}
	if (!strcmp(l.rec.how, "loop")) {
		l.rec.name = sys_text(dev, "loop/backing_file", name);
		if (l.rec.name && backing_of(dev, &b))
			give_level(&l, b.dev);
		return;
	}
	if (!strcmp(l.rec.how, "md"))
		l.rec.how = sys_text(dev, "md/level", how) ?: l.rec.how;
	if (!strcmp(l.rec.how, "dm")) {
		l.rec.name = sys_text(dev, "dm/name", name);
		if (sys_text(dev, "dm/uuid", how) && how[strcspn(how, "-")]) {
			how[strcspn(how, "-")] = '\0';
			snprintf(dm, sizeof(dm), "dm %s", how);
			l.rec.how = dm;
		}
	}
	each_in(sys_path(dev, "slaves", path), give_level, &l);
}

int devices_holder(u32 dev, u32 *logical)
{
	char path[128], file[300], name[FIELD_MAX];
	DIR *dir = opendir(sys_path(dev, "holders", path));
	struct dirent *e;
	int err = -ENOENT;

	while (dir && err && (e = readdir(dir))) {
		snprintf(file, sizeof(file), "holders/%s/dev", e->d_name);
		snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/%s", dev >> 20, dev & 0xfffff,
			file);
		if (e->d_name[0] != '.' && read_line(name, file, sizeof(file)) >= 0)
			err = dev_parse(file, logical);
	}
	if (dir)
		closedir(dir);
	return err;
}

u32 devices_cached(u32 dev, u32 logical)
{
	u64 own, above;

	if (!sys_has(dev, "bcache/dev") || sys_number(dev, "size", &own) ||
	    sys_number(logical, "size", &above) || own < above || own - above >= ~0u)
		return 0;
	return own - above + 1;
}

void devices_list(void (*device)(void *arg, u32 dev), void *arg)
{
	DIR *dir = opendir("/sys/dev/block");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		u64 size;
		u32 dev;

		if (!dev_parse(e->d_name, &dev) && !sys_number(dev, "size", &size) && size)
			device(arg, dev);
	}
	if (dir)
		closedir(dir);
}

#define DEPTH_MAX 16            /* levels of stacked devices */

/* Search for a disk below a device. */
struct lies_on {
	u32 disk;
	unsigned int depth;
	bool found;
	void (*device)(void *arg, u32 dev);
	void *arg;
};

static void look_at_level(void *arg, const struct rec_level *l)
{
	struct lies_on *w = arg;

	w->found |= l->below == w->disk;
	if (w->found || w->depth == DEPTH_MAX)
		return;
	w->depth++;
	devices_levels(l->below, look_at_level, w);
	w->depth--;
}

static void give_if_on(void *arg, u32 dev)
{
	struct lies_on *w = arg;

	w->found = false;
	devices_levels(dev, look_at_level, w);
	if (w->found)
		w->device(w->arg, dev);
}

static bool give_mount_if_on(void *arg, const struct mount *m)
{
	if (!(m->dev >> 20) && !strcmp(m->fs, "btrfs"))
		give_if_on(arg, m->dev);
	return false;
}

void devices_on(u32 disk, void (*device)(void *arg, u32 dev), void *arg)
{
	struct lies_on w = { .disk = disk, .device = device, .arg = arg };

	devices_list(give_if_on, &w);
	mounts_find_ours(give_mount_if_on, &w);
}
