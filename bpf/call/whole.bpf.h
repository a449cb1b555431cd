/* SPDX-License-Identifier: GPL-3.0-only */
/* whole.bpf.h - calls where layer vfs is traced whole: their flags and modes, the file behind a
 * memory area, and paths. Elsewhere the verifier removes all of it: the configuration is constant.
 *
 * Paths are read when the call returns. The kernel has read them before, so that they are in memory
 * unless they were swapped out since; then the record says that they could not be read.
 */
#ifndef IOT_WHOLE_BPF_H
#define IOT_WHOLE_BPF_H

#include "file.bpf.h"
#include "op.bpf.h"
#include "vm_area.bpf.h"

#define VFS_WHOLE (!REDUCED && cfg.whole >> LAYER_VFS & 1)
/* Paths of calls, or of requests of io_uring. */
#define PATHS_WHOLE (!REDUCED && cfg.whole & (1 << LAYER_VFS | 1 << LAYER_URING))

#ifndef AT_REMOVEDIR
#define AT_REMOVEDIR 0x200
#endif

#ifndef IOT_REDUCED

#include <linux/fcntl.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef F_SETLK
#define F_SETLK 6
#define F_SETLKW 7
#endif
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

const volatile struct iot_args call_args[IOT_MAX_SYSCALL] = {};

static __always_inline const volatile struct iot_args *args_of(u64 nr)
{
	return &call_args[INDEX(nr, IOT_MAX_SYSCALL)];
}

/* The path that is being built on a processor; `type` is 0 while none is. Created only where layer
 * vfs or uring is whole. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct iot_call_path);
} call_paths SEC(".maps");

static __always_inline bool is_munmap(u64 nr)
{
	return args_of(nr)->special == SPECIAL_MUNMAP;
}

/* The argument in register `n`, counted from 1; 0: none. */
static __always_inline u64 argument(const struct task_ctx *c, u8 n)
{
	return n ? ((const u64 *)&c->regs)[INDEX(n, 8)] : 0;
}

/* True when fcntl() locks or unlocks. */
static __always_inline bool is_lock(u64 command)
{
	return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
	       command == F_OFD_SETLKW;
}

/* True for calls of the table that record nothing. */
static __always_inline bool is_idle(u64 nr, const struct pt_regs *regs)
{
	return args_of(nr)->special == SPECIAL_FCNTL && !is_lock(regs_arg1(regs));
}

static __always_inline void see_none(struct task_ctx *c)
{
	c->seen.inode = 0;
	c->seen.type = SUB_NONE;
	c->seen.dev = c->seen.file = 0;
}

/* Fills in the context's file from a descriptor; none: no type. */
__noinline int whole_fd(struct task_ctx *c, s32 fd)
{
	struct file *f;

	if (!VFS_WHOLE || !c)
		return 0;
	f = fd < 0 ? NULL : file_of(fd);
	if (!f) {
		see_none(c);
		return 0;
	}
	file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
	return 1;
}

/* Fills in the context's file, and the offset there, from an address in a memory area. */
__noinline int whole_area(struct task_ctx *c, u64 address)
{
	struct file *f;
	u64 area;

	if (!VFS_WHOLE || !c)
		return 0;
	see_none(c);
	area = HAS_MAPLE_TREE ?
	       area_in(c, POINTER_AT(current_task(), struct task_struct, mm), address) : 0;
	f = area ? (struct file *)POINTER_AT(area, struct vm_area_struct, vm_file) : NULL;
	if (!f)
		return 0;
	file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
	c->whole_offset = address - NUMBER_AT(area, struct vm_area_struct, vm_start) +
		NUMBER_AT(area, struct vm_area_struct, vm_pgoff) * PAGE_SIZE;
	return 1;
}

/* munmap() begins: the area is gone at the exit. */
static __always_inline void munmap_begins(u64 address)
{
	struct task_ctx *c = ctx_make();

	if (c)
		whole_area(c, address);
}

/* Appends the folder that a relative path begins at. */
static __always_inline void path_base(struct iot_call_path *p, struct path_walk *w, s32 fd)
{
	struct task_struct *t = current_task();
	struct file *f;

	if (fd == AT_FDCWD) {
		w->d = BPF_CORE_READ(t, fs, pwd.dentry);
		w->m = mount_of(BPF_CORE_READ(t, fs, pwd.mnt));
	} else {
		f = fd < 0 ? NULL : file_of(fd);
		if (!f)
			return;
		w->d = BPF_CORE_READ(f, f_path.dentry);
		w->m = mount_of(BPF_CORE_READ(f, f_path.mnt));
	}
	w->root = BPF_CORE_READ(t, fs, root.dentry);
	w->root_mount = mount_of(BPF_CORE_READ(t, fs, root.mnt));
	w->out = &p->base;
	bpf_loop(2 * IOT_PATH_PARTS, path_part, w, 0);
}

/* Reads the text of a path, which a call has in memory of the process, and a request in that of the
 * kernel. As bpf_probe_read_user_str(). */
static __always_inline long text_read(struct iot_call_path *p, u64 len, u64 text, u32 what)
{
	char *to = (char *)p + offsetof(struct iot_call_path, base.buf) + len;

	return what & PATH_KERNEL ?
	       bpf_probe_read_kernel_str(to, IOT_CALL_PATH_MAX, (void *)text) :
	       bpf_probe_read_user_str(to, IOT_CALL_PATH_MAX, (void *)text);
}

/* The first byte of a text; below 0: it is not in memory. */
static __always_inline s32 text_first(u64 text, u32 what)
{
	char first = 0;
	long err = what & PATH_KERNEL ? bpf_probe_read_kernel(&first, 1, (void *)text) :
				       bpf_probe_read_user(&first, 1, (void *)text);

	return err ? -1 : (u8)first;
}

/* Sends one path of the call in the context, or of the request that is submitted, or the name of an
 * attribute. text: its address, 0: only the folder. what: bits of enum iot_path_what. */
__noinline int whole_send(struct task_ctx *c, u64 text, s32 fd, u32 what)
{
	struct path_walk w = {};
	struct iot_call_path *p;
	u32 zero = 0;
	u64 len;
	long got = 0;
	s32 first = text ? text_first(text, what) : 0;

	/* kernels up to 6.7 verify this function where nobody calls it; the map is not there then */
	if (!PATHS_WHOLE || !cfg.events || !c)
		return 0;
	p = bpf_map_lookup_elem(&call_paths, &zero);
	if (!p || __sync_val_compare_and_swap(&p->type, 0, RING_CALL_PATH)) {
		lose(LOSS_EVENT_PATH);
		return 0;
	}
	p->tid = current_thread();
	p->ts_ns = c->op.ts_ns;
	p->base.user = c->proc;
	p->base.parts = p->base.len = p->base.whole = 0;
	if (first < 0)
		what |= PATH_UNREAD;
	if (!(what & PATH_UNREAD) && !(what & (PATH_PLAIN | PATH_NAME)) && first != '/') {
		what |= PATH_RELATIVE;
		path_base(p, &w, fd);
	}
	len = INDEX(p->base.len, 2 * IOT_PATH_MAX);
	if (text && !(what & PATH_UNREAD))
		got = text_read(p, len, text, what);
	if (got < 0) {
		what |= PATH_UNREAD;
		got = 0;
	}
	p->what = what;
	p->len = got;
	len = INDEX(len + got, 8192);
	if (bpf_ringbuf_output(&ring, p, offsetof(struct iot_call_path, base.buf) + len,
			       BPF_RB_NO_WAKEUP))
		lose(LOSS_EVENT_PATH);
	p->type = 0;
	return 0;
}

/* close() of a folder begins: its path is sent now, since the descriptor is gone at the exit. */
__noinline int folder_closes(s32 fd, u64 now)
{
	struct task_ctx *c = VFS_WHOLE && cfg.events ? ctx_find() : NULL;

	if (!c || c->seen.type != SUB_FT_DIR || !wants_event(proc_current(c)))
		return 0;
	c->op.ts_ns = now;
	return whole_send(c, 0, fd, PATH_FIRST | PATH_LAST);
}

/* Sends the paths of the call in the context. */
__noinline int whole_paths(struct task_ctx *c)
{
	const volatile struct iot_args *a;

	if (!VFS_WHOLE || !c)
		return 0;
	a = args_of(c->regs.nr);
	if (a->special == SPECIAL_CHDIR && !c->op.ret)
		return whole_send(c, 0, AT_FDCWD, PATH_FIRST | PATH_LAST);
	if (c->whole_by_fd || !a->path) {
		s32 fd = argument(c, a->fd ?: a->at);

		if (c->seen.type == SUB_FT_DIR && (a->fd || a->at))
			whole_send(c, 0, fd, PATH_FIRST | (a->name ? 0 : PATH_LAST));
		else if (!a->name)
			return 0;
	} else {
		whole_send(c, argument(c, a->path), a->at ? (s32)argument(c, a->at) : AT_FDCWD,
			   PATH_FIRST | (a->special == SPECIAL_SYMLINK ? PATH_PLAIN : 0) |
			   (a->path2 || a->name ? 0 : PATH_LAST));
	}
	if (a->path2)
		whole_send(c, argument(c, a->path2), a->at2 ? (s32)argument(c, a->at2) : AT_FDCWD,
			   PATH_SECOND | PATH_LAST);
	if (a->name)
		whole_send(c, argument(c, a->name), AT_FDCWD, PATH_NAME | PATH_LAST);
	return 0;
}

/* True when a call was given a descriptor in place of a path. */
static __always_inline bool is_by_fd(const struct task_ctx *c, const volatile struct iot_args *a)
{
	u64 text = argument(c, a->path);
	char first = 0;

	if (!a->empty)
		return false;
	if (!text)
		return true; /* utimensat() without a path */
	return c->op.arg & AT_EMPTY_PATH && !bpf_probe_read_user(&first, 1, (void *)text) && !first;
}

/* The lock that fcntl() was given, in the words of flock(). */
static __always_inline void whole_lock(struct task_ctx *c)
{
	struct {
		u16 type, whence;
		u32 pad;
		s64 start, len;
	} lock = {};

	c->op.op = c->regs.arg[1];
	if (bpf_probe_read_user(&lock, sizeof(lock), (void *)c->regs.arg[2]))
		return;
	c->op.arg = lock.type == 0 ? 1 : lock.type == 1 ? 2 : 8; /* LOCK_SH, LOCK_EX, LOCK_UN */
	c->op.offset = lock.start;
	c->op.size = lock.len;
}

/* Fills in what the table of arguments says of the finished call in the context. */
__noinline int whole_call(struct task_ctx *c)
{
	const volatile struct iot_args *a;

	if (!VFS_WHOLE || !c)
		return 0;
	a = args_of(c->regs.nr);
	c->op.arg = argument(c, a->arg);
	c->op.op = argument(c, a->op);
	if (a->offset)
		c->op.offset = argument(c, a->offset);
	if (a->size)
		c->op.size = argument(c, a->size);
	c->whole_by_fd = is_by_fd(c, a);
	if (a->special == SPECIAL_MUNMAP) {
		if (c->op.dur_ns)
			c->op.offset = c->whole_offset; /* resolved at the entry */
		else
			see_none(c);
		return 0;
	}
	if (a->area) {
		c->whole_offset = 0;
		if (a->special == SPECIAL_MREMAP && c->op.ret > 0)
			whole_area(c, c->op.ret);
		else
			whole_area(c, argument(c, a->area));
		c->op.offset = c->whole_offset;
	} else if (a->fd || c->whole_by_fd) {
		whole_fd(c, argument(c, a->fd ?: a->at));
	} else if (call_row(c->regs.nr)->shape == SHAPE_WHOLE) {
		see_none(c);
	}
	switch (a->special) {
	case SPECIAL_CREAT:
		c->op.arg = O_CREAT | O_WRONLY | O_TRUNC;
		break;
	case SPECIAL_OPENAT2: /* struct open_how begins with its flags */
		bpf_probe_read_user(&c->op.arg, sizeof(c->op.arg), (void *)c->regs.arg[2]);
		break;
	case SPECIAL_READAHEAD:
		c->op.op = 1;
		break;
	case SPECIAL_FCNTL:
		whole_lock(c);
		break;
	case SPECIAL_BYTES:
		c->op.write = MOVES_FROM_FILE;
		break;
	case SPECIAL_MREMAP:
		if (c->op.ret > 0)
			c->op.ret = 0;
		break;
	}
	return 0;
}

#else

static __always_inline int whole_call(struct task_ctx *c) { return 0; }
static __always_inline int whole_paths(struct task_ctx *c) { return 0; }
static __always_inline int whole_area(struct task_ctx *c, u64 address) { return 0; }
static __always_inline bool is_idle(u64 nr, const struct pt_regs *regs) { return false; }
static __always_inline bool is_munmap(u64 nr) { return false; }
static __always_inline int folder_closes(s32 fd, u64 now) { return 0; }
static __always_inline void munmap_begins(u64 address) {}

#endif

#endif
