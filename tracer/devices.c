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
	u64 sec;                /* when it was looked at last */
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

/* Looks for a device among the mounts: the first line that names it. */
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

/* Path of a file of a block device in /sys. */
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

	return read_line(sys_path(dev, file, path), text, sizeof(text)) < 0 ? -ENOENT : parse_number(text, out);
}

static int sys_dev(u32 dev, const char *file, u32 *out)
{
	char path[128], text[64];

	return read_line(sys_path(dev, file, path), text, sizeof(text)) < 0 ? -ENOENT : dev_parse(text, out);
}

/* How a type is recognised by a file in /sys, most special first. To add a type: a row. */
static const struct {
	const char *file, *type;
	bool leaf;
} types[] = {
	{ "partition", "partition", false },
	{ "dm/uuid", "dm", false },
	{ "md/level", "md", false },
	{ "mm_stat", "zram", false },
	{ "", "disk", true },
};

static const char *type_of(u32 dev, bool *leaf)
{
	size_t i = 0;

	if (dev >> 20 == LOOP_MAJOR && !sys_has(dev, "partition")) {
		*leaf = true;
		return "loop";
	}
	while (*types[i].file && !sys_has(dev, types[i].file))
		i++;
	/* a driver without request queues is never seen completing a request: nothing of it can be in a total */
	*leaf = types[i].leaf && sys_has(dev, "mq");
	return types[i].type;
}

/* In a helper: the device of the file system that holds a loop device's file. */
static ssize_t answer_backing(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	char path[128], file[FIELD_MAX];
	struct stat s;
	u32 dev;

	if (len != sizeof(dev) || room < sizeof(dev))
		return -EINVAL;
	memcpy(&dev, question, len);
	if (read_line(sys_path(dev, "loop/backing_file", path), file, sizeof(file)) <= 0 || stat(file, &s))
		return -ENOENT;
	dev = major(s.st_dev) << 20 | minor(s.st_dev);
	memcpy(answer, &dev, sizeof(dev));
	return sizeof(dev);
}

void devices_serve(void)
{
	ask_serve(ASK_BACKING, answer_backing, NULL);
}

/* The disk of a partition; the device of the file system that holds a loop device's file. */
static int parent_of(u32 dev, const char *type, u32 *parent)
{
	if (!strcmp(type, "partition"))
		return sys_dev(dev, "../dev", parent);
	if (strcmp(type, "loop"))
		return -ENOENT;
	return ask(ASK_BACKING, (struct ask_about){ 0 }, &dev, sizeof(dev), parent, sizeof(*parent)) == sizeof(*parent) ? 0 : -ENOENT;
}

static void describe_block(struct devices *d, u32 dev)
{
	struct rec_device *r = &d->rec;
	char path[128], target[512];
	ssize_t len;
	bool leaf;
	u64 n;
	u32 parent;

	sys_path(dev, "", path);
	path[strlen(path) - 1] = '\0';
	len = readlink(path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(d->name, sizeof(d->name), "%.63s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	r->name = d->name;
	r->type = type_of(dev, &leaf);
	r->leaf = leaf;
	if (!parent_of(dev, r->type, &parent))
		rec_set(r, device, parent, parent);
	if (!sys_number(dev, "queue/rotational", &n) || !sys_number(dev, "../queue/rotational", &n))
		rec_set(r, device, rotational, n);
	if (!sys_number(dev, "size", &n))
		rec_set(r, device, size, n * 512);
}

/* mounted: d->mount says where. */
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

int devices_holder(u32 dev, u32 *volume)
{
	char path[128], file[300], name[FIELD_MAX];
	DIR *dir = opendir(sys_path(dev, "holders", path));
	struct dirent *e;
	int err = -ENOENT;

	while (dir && err && (e = readdir(dir))) {
		snprintf(file, sizeof(file), "holders/%s/dev", e->d_name);
		snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/%s", dev >> 20, dev & 0xfffff, file);
		if (e->d_name[0] != '.' && read_line(name, file, sizeof(file)) >= 0)
			err = dev_parse(file, volume);
	}
	if (dir)
		closedir(dir);
	return err;
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
