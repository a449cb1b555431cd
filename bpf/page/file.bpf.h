/* SPDX-License-Identifier: GPL-3.0-only */
/* file.bpf.h - the type, id and path of a file, looked up once and kept in the thread's context;
 * and writes through the page cache. For every object that sees operations on files.
 */
#ifndef IOT_FILE_BPF_H
#define IOT_FILE_BPF_H

#include "device.bpf.h"
#include "owner.bpf.h"
#include "path.bpf.h"

#define O_ACCMODE 3
#define MAX_PATHS 8           /* paths that are sent for one file */

/* File systems whose regular files are no storage: operations on them are no file I/O (METRICS
 * section 4). */
static __always_inline bool is_pseudo(u64 magic)
{
	switch (magic) {
	case PROC_SUPER_MAGIC:
	case 0x62656572: /* sysfs */
	case 0x74726163: /* tracefs */
	case 0x64626720: /* debugfs */
	case 0x27e0eb:   /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0xcafe4a11: /* bpf */
	case 0x73636673: /* securityfs */
	case 0x62656570: /* configfs */
	case 0x50495045: /* pipefs */
	case 0x09041934: /* anonymous inodes */
		return true;
	}
	return false;
}

#define NAME_MEM 0x006d656d    /* "mem", a name that no other file of /proc has */

/* True for /proc/PID/mem. */
static __always_inline bool is_process_memory(struct file *f)
{
	u64 name = POINTER_AT(POINTER_AT(f, struct file, f_path.dentry), struct dentry,
			      d_name.name);
	u32 four = 0;

	if (!is_on((struct inode *)POINTER_AT(f, struct file, f_inode), PROC_SUPER_MAGIC))
		return false;
	bpf_probe_read_kernel(&four, sizeof(four), (void *)name);
	return four == NAME_MEM;
}

static __always_inline u8 type_of(u16 mode, u64 magic)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return is_pseudo(magic) ? SUB_FT_PSEUDO : SUB_FT_REG;
	case S_IFBLK:
		return SUB_FT_BLK;
	case S_IFDIR:
		return SUB_FT_DIR;
	case S_IFSOCK:
		return SUB_FT_SOCK;
	case S_IFIFO:
		return SUB_FT_PIPE;
	case S_IFCHR:
		return SUB_FT_CHR;
	}
	return SUB_FT_OTHER;
}

/* The type of a socket: those of this host have one of their own. */
static __always_inline u8 socket_type(struct file *f)
{
	struct socket *s = BPF_CORE_READ(f, private_data);

	return BPF_CORE_READ(s, sk, __sk_common.skc_family) == AF_UNIX ? SUB_NET_UNIX : SUB_FT_SOCK;
}

static __always_inline bool is_storage(u8 type)
{
	return type == SUB_FT_REG || type == SUB_FT_BLK;
}

/* True when a file is not on the disk that --dev names: operations on it are not counted. Files of
 * no file system have no disk. */
static __always_inline bool is_off_disk(u8 type, u32 dev)
{
	return cfg.dev && (is_storage(type) || type == SUB_FT_DIR) && !dev_wanted(dev);
}

struct path_walk {
	struct iot_path *out;
	struct dentry *d, *root;    /* root of the process, where its paths begin */
	struct mount *m, *root_mount;
};

static __always_inline struct mount *mount_of(struct vfsmount *m)
{
	return (struct mount *)((u64)m - bpf_core_field_offset(struct mount, mnt));
}

/* Adds one component of a path, from the leaf upwards, across mounts. */
static long path_part(u32 n, struct path_walk *w)
{
	struct dentry *d = w->d, *up, *root;
	struct mount *m = w->m, *above;

	if (!d || !m)
		return 1;
	if (d == w->root && m == w->root_mount) {
		w->out->whole = PATH_WHOLE;
		return 1;
	}
	up = BPF_CORE_READ(d, d_parent);
	root = BPF_CORE_READ(m, mnt.mnt_root);
	if (d == root) {
		above = BPF_CORE_READ(m, mnt_parent);
		if (above == m) {
			w->out->whole = PATH_WHOLE_OUTSIDE;
			return 1;
		}
		w->d = BPF_CORE_READ(m, mnt_mountpoint);
		w->m = above;
		return 0;
	}
	if (d == up || path_add(w->out, d))
		return 1;
	w->d = up;
	return 0;
}

/* A number that distinguishes names: from the hash and the directory. A rename changes both in
 * place. */
static __always_inline u32 name_mark(struct dentry *d)
{
	return (BPF_CORE_READ(d, d_name.hash) ^ (u32)((u64)BPF_CORE_READ(d, d_parent) >> 6)) | 1;
}

/* Sends the path of a file, once for each name: again after a rename, but not forever when it has
 * two names. */
static __noinline int path_send(struct file *f, struct inode *i, u32 id, u32 user, u32 block)
{
	struct task_struct *t = current_task();
	struct path_walk w = {};
	struct file_entry *e;
	struct file_key k = {};
	u32 mark;

	if (!f || !i)
		return 0;
	k.dev = inode_dev(i);
	k.ino = inode_number(i);
	k.gen = inode_generation(i);
	e = bpf_map_lookup_elem(&files, &k);
	mark = name_mark(BPF_CORE_READ(f, f_path.dentry));
	if (!e || e->named == mark || e->sent >= MAX_PATHS)
		return 0;
	w.out = path_new(PATH_OF_CALL, id, &k, user);
	if (!w.out) {
		lose(LOSS_EVENT_OTHER);
		return 0;
	}
	w.out->block = block;
	w.out->node = (inode_mode(i) & S_IFMT) == S_IFBLK;
	w.out->writes = !!(BPF_CORE_READ(f, f_flags) & O_ACCMODE);
	w.d = BPF_CORE_READ(f, f_path.dentry);
	w.m = mount_of(BPF_CORE_READ(f, f_path.mnt));
	w.root = BPF_CORE_READ(t, fs, root.dentry);
	w.root_mount = mount_of(BPF_CORE_READ(t, fs, root.mnt));
	bpf_loop(2 * IOT_PATH_PARTS, path_part, &w, 0);
	if (path_end(w.out)) {
		lose(LOSS_EVENT_OTHER);
		return 0;
	}
	e->named = mark;
	e->sent++;
	return 0;
}

/* Notes whether the context's file is on the disk of --dev. The file system may be new, or its
 * number reused. btrfs has no device here (fs_btrfs.bpf.c). */
static __always_inline void seen_place(const struct task_ctx *c, struct super_block *sb)
{
	u64 bdev = POINTER_AT(sb, struct super_block, s_bdev);

	if (c->seen.type == SUB_FT_BLK)
		bdev = c->seen.host - bpf_core_field_offset(struct bdev_inode, vfs_inode);
	else if (NUMBER_AT(sb, struct super_block, s_magic) == BTRFS_MAGIC)
		return;
	on_disk_note(c->seen.dev, bdev && dev_wanted(disk_at(bdev)));
}

/* Looks up everything about a file that is another than last time. The file of an overlay is the
 * one below, with the path that the process used. It may change at each write, so it is looked up
 * each time. */
__noinline int file_change(struct task_ctx *c, u64 file, u64 inode, u64 ino)
{
	struct file *f = (struct file *)file, *real;
	struct inode *i = (struct inode *)inode;
	struct super_block *sb;

	if (!c || !f)
		return 0;
	real = real_file(f);
	if (real != f)
		i = (struct inode *)POINTER_AT(real, struct file, f_inode);
	sb = BPF_CORE_READ(i, i_sb);
	c->seen.inode = real == f ? inode : 0;
	c->seen.ino = ino;
	c->seen.gen = inode_generation((struct inode *)inode);
	c->seen.host = (u64)data_inode(f);
	c->seen.dev = BPF_CORE_READ(sb, s_dev);
	c->seen.type = type_of(inode_mode(i), BPF_CORE_READ(sb, s_magic));
	c->seen.block = block_bytes(f);
	c->seen.file = 0;
	if (c->seen.type == SUB_FT_BLK)
		c->seen.dev = BPF_CORE_READ(i, i_rdev);
	if (cfg.dev && !REDUCED)
		seen_place(c, sb);
	if (is_storage(c->seen.type)) {
		u32 proc = proc_current(c);

		c->seen.file = file_number_of(i, false);
		if (proc >= PROC_FIRST) /* paths are not sent for excluded processes */
			path_send(f, i, c->seen.file, proc, c->seen.block);
	} else if (!REDUCED && c->seen.type == SUB_FT_SOCK) {
		c->seen.type = socket_type(f);
	}
	return 0;
}

#ifdef IOT_REDUCED
__by_numbers int file_changed(u64 file, u64 inode, u64 ino)
{
	return file_change(ctx_find(), file, inode, ino);
}
#define file_change(c, file, inode, ino) file_changed(file, inode, ino)
#endif

/* Fills in the context's file from a struct file. Looks at the inode only when it is another
 * one. */
static __always_inline void file_see(struct task_ctx *c, struct file *f, struct inode *i)
{
	u64 ino = NUMBER_AT(i, struct inode, i_ino);

	if (c->seen.inode != (u64)i || c->seen.ino != ino || c->seen.gen != inode_generation(i))
		file_change(c, (u64)f, (u64)i, ino);
}

/* Process `proc` wrote bytes [off, off + len) through the page cache. Pages were claimed when they
 * were dirtied; those that were dirty already are claimed here. device: file.id of the node of a
 * block device, 0 for a file. */
static __always_inline int wrote(struct inode *i, u32 device, u64 off, u64 len, u32 proc)
{
	struct writer *w;

	if (!i || !cfg.claims)
		return 0;
	if (device) {
		page_owner_set((u64)i, off, len, proc | OWNER_DATA, false);
		return device_name(i, device);
	}
	w = writer_find(i);
	if (w ? (cfg.light || !w->many) && w->first == proc : !is_dirty(i))
		return 0;
	return page_owner_set((u64)i, off, len, proc, false);
}

#endif
