// SPDX-License-Identifier: GPL-3.0-only
/* machine_mounts.c - facts about mounted file systems: type, device, options, features.
 *
 * No file system of another machine is asked anything: it may not answer. Features of ext4 are in
 * its superblock, which the kernel keeps in memory; XFS tells its own by ioctl(2), btrfs and f2fs
 * in /sys.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "machine_parts.h"
#include "mounts.h"

#define MOUNTS_MAX 128
#define VALUE_MAX 4096

/* Types without files of users. */
static const char passed_over[] =
	" proc sysfs cgroup cgroup2 devpts mqueue securityfs debugfs tracefs bpf configfs pstore"
	" hugetlbfs autofs binfmt_misc rpc_pipefs fusectl nsfs efivarfs selinuxfs devtmpfs smackfs"
	" fuse.gvfsd-fuse fuse.portal fuse.lxcfs ";

/* A comma separated list. */
struct list {
	char text[VALUE_MAX];
	size_t len;
};

static void list_add(struct list *l, const char *word)
{
	if (l->len + strlen(word) + 2 < sizeof(l->text))
		l->len += sprintf(l->text + l->len, "%s%s", l->len ? "," : "", word);
}

/* A bit, and the name that the tools of the file system give it. */
struct bit {
	u32 bit;
	const char *name;
};

static void list_bits(struct list *l, u32 bits, const struct bit *names, size_t n)
{
	for (const struct bit *b = names; b < names + n; b++)
		if (bits & b->bit)
			list_add(l, b->name);
}

/* --- ext4 --- */

/* Offsets of struct ext4_super_block, all little-endian. */
enum {
	EXT4_LOG_BLOCK = 0x18, EXT4_MAGIC = 0x38, EXT4_INODE_BYTES = 0x58, EXT4_COMPAT = 0x5c,
	EXT4_INCOMPAT = 0x60, EXT4_RO_COMPAT = 0x64, EXT4_JOURNAL_DEV = 0xe4,
	EXT4_BACKUP_TYPE = 0xfd,
	EXT4_JOURNAL_SIZE = 0x148, /* s_jnl_blocks[15] and [16]: its high half, its low half */
	EXT4_BYTES = 1024, EXT4_AT = 1024
};

static const struct bit ext4_compat[] = {
	{ 0x4, "has_journal" }, { 0x8, "ext_attr" }, { 0x10, "resize_inode" },
	{ 0x20, "dir_index" }, { 0x200, "sparse_super2" }, { 0x400, "fast_commit" },
	{ 0x800, "stable_inodes" }, { 0x1000, "orphan_file" },
};
static const struct bit ext4_incompat[] = {
	{ 0x2, "filetype" }, { 0x4, "needs_recovery" }, { 0x8, "journal_dev" },
	{ 0x10, "meta_bg" }, { 0x40, "extent" }, { 0x80, "64bit" }, { 0x100, "mmp" },
	{ 0x200, "flex_bg" }, { 0x400, "ea_inode" }, { 0x1000, "dirdata" },
	{ 0x2000, "metadata_csum_seed" }, { 0x4000, "large_dir" }, { 0x8000, "inline_data" },
	{ 0x10000, "encrypt" }, { 0x20000, "casefold" },
};
static const struct bit ext4_ro_compat[] = {
	{ 0x1, "sparse_super" }, { 0x2, "large_file" }, { 0x8, "huge_file" },
	{ 0x10, "uninit_bg" }, { 0x20, "dir_nlink" }, { 0x40, "extra_isize" }, { 0x100, "quota" },
	{ 0x200, "bigalloc" }, { 0x400, "metadata_csum" }, { 0x1000, "read-only" },
	{ 0x2000, "project" }, { 0x8000, "verity" }, { 0x10000, "orphan_present" },
};

static u32 word_at(const u8 *block, size_t at)
{
	return block[at] | block[at + 1] << 8 | block[at + 2] << 16 | (u32)block[at + 3] << 24;
}

/* Opens the node of a block device, if it is that of the number. */
static int open_node(const char *name, u32 dev)
{
	char path[PATH_MAX];
	struct stat s;
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	if (stat(path, &s) || !S_ISBLK(s.st_mode) || s.st_rdev != makedev(dev >> 20, dev & 0xfffff))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the superblock alone */
	return fd;
}

static void put_ext4_block(const struct machine_part *p, const u8 *s)
{
	u32 compat = word_at(s, EXT4_COMPAT), high = word_at(s, EXT4_JOURNAL_SIZE);
	struct list l = { 0 };

	list_bits(&l, compat, ext4_compat, N_OF(ext4_compat));
	list_bits(&l, word_at(s, EXT4_INCOMPAT), ext4_incompat, N_OF(ext4_incompat));
	list_bits(&l, word_at(s, EXT4_RO_COMPAT), ext4_ro_compat, N_OF(ext4_ro_compat));
	machine_fact(p, "features", l.text);
	if (word_at(s, EXT4_LOG_BLOCK) < 16)
		machine_number(p, "block_bytes", 1024u << word_at(s, EXT4_LOG_BLOCK));
	machine_number(p, "inode_bytes", word_at(s, EXT4_INODE_BYTES) & 0xffff);
	if (!(compat & 0x4))
		machine_fact(p, "journal", "none");
	else
		machine_fact(p, "journal", word_at(s, EXT4_JOURNAL_DEV) ? "external" : "internal");
	if (compat & 0x4 && s[EXT4_BACKUP_TYPE] == 1)
		machine_number(p, "journal_bytes",
			(u64)high << 32 | word_at(s, EXT4_JOURNAL_SIZE + 4));
}

static void put_ext4(const struct machine_part *p, const struct mount *m, const char *device)
{
	u8 block[EXT4_BYTES];
	auto_close int fd = open_node(device, m->dev);

	if (fd < 0 || pread(fd, block, sizeof(block), EXT4_AT) != sizeof(block) ||
	    (word_at(block, EXT4_MAGIC) & 0xffff) != 0xef53)
		return;
	put_ext4_block(p, block);
}

/* --- XFS --- */

/* struct xfs_fsop_geom_v1 of XFS_IOC_FSGEOMETRY_V1, which every kernel has. */
struct xfs_geometry {
	u32 block_bytes, rt_extent_blocks, ag_blocks, ag_count, log_blocks, sector_bytes,
		inode_bytes, inode_percent;
	u64 data_blocks, rt_blocks, rt_extents, log_start;
	u8 uuid[16];
	u32 stripe_unit, stripe_width;
	s32 version;
	u32 flags, log_sector_bytes, rt_sector_bytes, dir_block_bytes;
};
#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)

/* XFS_FSOP_GEOM_FLAGS_*, by the names of xfs_info(8). */
static const struct bit xfs_flags[] = {
	{ 1u << 0, "attr" }, { 1u << 2, "quota" }, { 1u << 10, "attr2" },
	{ 1u << 14, "lazy-count" }, { 1u << 15, "crc" }, { 1u << 16, "ftype" },
	{ 1u << 17, "finobt" }, { 1u << 18, "sparse" }, { 1u << 19, "rmapbt" },
	{ 1u << 20, "reflink" }, { 1u << 21, "bigtime" }, { 1u << 22, "inobtcount" },
	{ 1u << 23, "nrext64" }, { 1u << 24, "exchange" }, { 1u << 25, "parent" },
	{ 1u << 26, "metadir" },
};

static void put_xfs(const struct machine_part *p, const struct mount *m, const char *device)
{
	auto_close int fd = open(m->at, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOATIME);
	struct xfs_geometry g;
	struct list l = { 0 };
	struct stat s;

	/* another file system may be mounted over it */
	if (fd < 0 || fstat(fd, &s) || s.st_dev != makedev(m->dev >> 20, m->dev & 0xfffff) ||
	    ioctl(fd, XFS_GEOMETRY, &g))
		return;
	list_bits(&l, g.flags, xfs_flags, N_OF(xfs_flags));
	machine_fact(p, "features", l.text);
	machine_number(p, "block_bytes", g.block_bytes);
	machine_number(p, "sector_bytes", g.sector_bytes);
	machine_number(p, "inode_bytes", g.inode_bytes);
	machine_number(p, "directory_block_bytes", g.dir_block_bytes);
	machine_number(p, "allocation_groups", g.ag_count);
	machine_fact(p, "journal", g.log_start ? "internal" : "external");
	machine_number(p, "journal_bytes", (u64)g.log_blocks * g.block_bytes);
	if (g.rt_blocks)
		machine_number(p, "realtime_bytes", g.rt_blocks * g.block_bytes);
}

/* --- btrfs --- */

/* Writes the names of files of a folder that say 1. */
static void put_features(const struct machine_part *p, const char *folder)
{
	char path[PATH_MAX], says[8];
	DIR *dir = opendir(folder);
	struct list l = { 0 };
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%.1000s/%s", folder, e->d_name);
		if (e->d_name[0] != '.' && read_line(path, says, sizeof(says)) > 0 &&
		    !strcmp(says, "1"))
			list_add(&l, e->d_name);
	}
	if (dir)
		closedir(dir);
	machine_fact(p, "features", l.text);
}

/* Writes the profile of data or metadata: the folder that is called like one. */
static void put_profile(const struct machine_part *p, const char *folder, const char *key,
			const char *what)
{
	static const char *const profiles[] = { "single", "dup", "raid0", "raid1", "raid1c3",
		"raid1c4", "raid10", "raid5", "raid6" };
	struct list l = { 0 };
	char path[PATH_MAX];

	for (size_t i = 0; i < N_OF(profiles); i++) {
		snprintf(path, sizeof(path), "%s/allocation/%s/%s", folder, what, profiles[i]);
		if (!access(path, F_OK))
			list_add(&l, profiles[i]);
	}
	machine_fact(p, key, l.text);
}

static void put_btrfs_folder(const struct machine_part *p, const char *folder)
{
	static const struct machine_file files[] = {
		{ "block_bytes", "sectorsize" }, { "node_bytes", "nodesize" },
		{ "checksum", "checksum" }, { "devices", "devices", FORM_FOLDER },
	};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.1000s/features", folder);
	put_features(p, path);
	put_profile(p, folder, "data_profile", "data");
	put_profile(p, folder, "metadata_profile", "metadata");
	machine_files(p, folder, files, N_OF(files));
}

/* The folder of a btrfs file system is called by its UUID: the one that has the device. */
static void put_btrfs(const struct machine_part *p, const struct mount *m, const char *device)
{
	static const char all[] = "/sys/fs/btrfs";
	char folder[512], path[PATH_MAX];
	DIR *dir = opendir(all);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		snprintf(folder, sizeof(folder), "%s/%s", all, e->d_name);
		snprintf(path, sizeof(path), "%s/devices/%s", folder, device);
		found = e->d_name[0] != '.' && !access(path, F_OK);
	}
	if (dir)
		closedir(dir);
	if (found)
		put_btrfs_folder(p, folder);
}

static void put_f2fs(const struct machine_part *p, const struct mount *m, const char *device)
{
	static const struct machine_file files[] = { { "features", "features" } };
	char folder[512];

	snprintf(folder, sizeof(folder), "/sys/fs/f2fs/%s", device);
	machine_files(p, folder, files, N_OF(files));
}

/* --- all of them --- */

/* Types that say more. To add one: a row. */
static const struct {
	const char *type;
	void (*put)(const struct machine_part *, const struct mount *, const char *device);
} types[] = {
	{ "ext4", put_ext4 }, { "ext3", put_ext4 }, { "ext2", put_ext4 }, { "xfs", put_xfs },
	{ "btrfs", put_btrfs }, { "f2fs", put_f2fs },
};

/* The mounts that are described, with strings of their own. */
struct kept {
	struct mount mount[MOUNTS_MAX];
	size_t n, left_out;
};

static bool has_files(const struct mount *m)
{
	char word[80];

	snprintf(word, sizeof(word), " %.70s ", m->fs);
	return !strstr(passed_over, word) && strncmp(m->at, "/sys/", 5);
}

static void forget_mount(struct mount *m)
{
	free((char *)m->at);
	free((char *)m->fs);
	free((char *)m->source);
	free((char *)m->flags);
	free((char *)m->options);
}

/* Keeps the first mount of each file system; of several at one place the last, which covers the
 * others. */
static bool keep_mount(void *arg, const struct mount *m)
{
	struct kept *k = arg;
	size_t i = 0;

	if (!has_files(m))
		return false;
	while (i < k->n && strcmp(k->mount[i].at, m->at)) {
		if (k->mount[i].dev == m->dev)
			return false;
		i++;
	}
	if (i == MOUNTS_MAX) {
		k->left_out++;
		return false;
	}
	if (i < k->n)
		forget_mount(&k->mount[i]);
	k->mount[i] = (struct mount){ m->dev, NULL, strdup(m->at), strdup(m->flags),
		strdup(m->fs), strdup(m->source), strdup(m->options) };
	k->n += i == k->n;
	if (k->mount[i].at && k->mount[i].flags && k->mount[i].fs && k->mount[i].source &&
	    k->mount[i].options)
		return false;
	forget_mount(&k->mount[i]);
	k->mount[i] = k->mount[--k->n];
	return true;
}

/* Finds the kernel's name of the block device that a file system is mounted from; "": none. */
static void device_of(const struct mount *m, char name[256])
{
	char path[PATH_MAX], target[PATH_MAX];
	u32 dev = m->dev;
	struct stat s;
	ssize_t n;

	name[0] = '\0';
	if (!(dev >> 20) && !mounts_is_remote(m->fs) && *m->source == '/' &&
	    !stat(m->source, &s) && S_ISBLK(s.st_mode))
		dev = major(s.st_rdev) << 20 | minor(s.st_rdev);
	if (!(dev >> 20))
		return;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	if (strrchr(target, '/'))
		snprintf(name, 256, "%.255s", strrchr(target, '/') + 1);
}

/* ext4 lists all options that are in force, one a line; mountinfo leaves out those by default. */
static void put_options(const struct machine_part *p, const struct mount *m, const char *device)
{
	char path[512], text[VALUE_MAX];

	snprintf(path, sizeof(path), "/proc/fs/ext4/%s/options", device);
	if (!*device || strcmp(m->fs, "ext4") || read_file(path, text, sizeof(text)) <= 0) {
		machine_fact(p, "options", m->options);
		return;
	}
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = at[1] ? ',' : '\0';
	machine_fact(p, "options", text);
}

static void put_mount(FILE *to, const struct mount *m)
{
	struct machine_part p = { to, "fs", m->at };
	char device[256];

	device_of(m, device);
	machine_fact(&p, "type", m->fs);
	machine_fact(&p, "device", *device ? device : m->source);
	machine_fact(&p, "mount_options", m->flags);
	put_options(&p, m, device);
	for (size_t i = 0; *device && i < N_OF(types); i++)
		if (!strcmp(m->fs, types[i].type))
			types[i].put(&p, m, device);
}

void machine_mounts(FILE *to)
{
	auto_free struct kept *k = calloc(1, sizeof(*k));

	if (!k)
		return;
	mounts_find_ours(keep_mount, k);
	for (size_t i = 0; i < k->n; i++) {
		put_mount(to, &k->mount[i]);
		forget_mount(&k->mount[i]);
	}
	machine_left_out(to, "fs", k->left_out);
}
