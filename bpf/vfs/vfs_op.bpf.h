/* SPDX-License-Identifier: GPL-3.0-only */
/* vfs_op.bpf.h - operations of the VFS from the entry of a function to its return: who is served,
 * the file, latency, errors, bytes.
 *
 * The entry puts a frame on a stack that each thread has, and the return takes it off: an operation
 * is counted when both were seen. A mechanism can miss a return (a kretprobe without a free
 * instance, a program that was already running). Its frame is found when the thread enters a
 * function at a higher address of its kernel stack, or ends, and is a loss. So is a return without
 * a frame, but for the first one of a thread, whose entry may have been before the run.
 */
#ifndef IOT_VFS_OP_BPF_H
#define IOT_VFS_OP_BPF_H

#include "arch.h"
#include "aggregate.bpf.h"
#include "file.bpf.h"
#include "vfs.h"

#define VFS_DEPTH 8            /* operations of one thread inside each other; a power of two */
#define EAGAIN 11
#define EIOCBQUEUED 529        /* include/linux/errno.h: the operation goes on without its caller */
#define IOCB_DIRECT (1 << 17)  /* include/linux/fs.h, since 5.10 */
#define MAX_ERRNO 4095

struct vfs_frame {
	u64 sp;                /* address in the kernel stack when the function was entered */
	u64 ns, offset, size;
	u64 kiocb;             /* struct kiocb; 0: none */
	u32 owner, dev, file, tid;
	u32 flags;
	/* kind KIND_NONE: not counted */
	u8 function, kind, from, cause, how, sub;
	u8 asked;              /* 1: a system call or a request asked for it */
	u8 inner;              /* 1: a part of the operation below it on the stack */
	u8 async;              /* 1: it may end after its function has returned */
	u8 pad[3];
};

struct vfs_task {
	u32 depth, pad;
	struct vfs_frame at[VFS_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vfs_task);
} vfs_tasks SEC(".maps");

/* Operations that may end after their function has returned, by struct kiocb. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct vfs_frame);
} vfs_asyncs SEC(".maps");

static __always_inline bool vfs_moves(u8 kind)
{
	return kind == KIND_VFS_READ || kind == KIND_VFS_WRITE;
}

/* sendfile() and splice(): the reads and writes inside are those that the call asked for. */
static __always_inline bool vfs_transfers(u8 kind)
{
	return kind == KIND_VFS_SENDFILE || kind == KIND_VFS_SPLICE;
}

static __always_inline void vfs_lose(u32 n)
{
	for (u32 i = 0; i < VFS_DEPTH && i < n; i++)
		if (gate_open())
			lose(LOSS_VFS_MISSED);
}

/* True for the frame of a function that cannot be in progress when another one is entered: a caller
 * has its frame at a higher address, or at the same if it ends with a jump to the other. */
static __always_inline bool vfs_is_stale(const struct vfs_frame *f, u8 function, u64 sp)
{
	return f->sp < sp || (f->sp == sp && f->function == function);
}

/* Takes such frames off the stack. */
static __always_inline void vfs_drop_stale(struct vfs_task *v, u8 function, u64 sp)
{
	u32 depth = v->depth;

	for (u32 i = 0; i < VFS_DEPTH; i++)
		if (depth && vfs_is_stale(&v->at[INDEX(depth - 1, VFS_DEPTH)], function, sp))
			depth--;
	vfs_lose(v->depth - depth);
	v->depth = depth;
}

/* True when a system call or a request of io_uring or libaio asked for an operation: not a kernel
 * thread, a core dump, an exec, the end of a thread, or another operation. A worker of an io_uring
 * that ends last closes the files of its process. async: of the kind of kiocb that only requests
 * have. */
static __always_inline bool vfs_is_asked(struct task_struct *t, u8 kind, u8 above, bool async)
{
	const volatile struct iot_syscall *row;
	const struct pt_regs *regs;

	if (TASK(t, flags) & (PF_KTHREAD | PF_DUMPCORE | PF_EXITING))
		return false;
	if (above && !(vfs_transfers(above) && vfs_moves(kind)))
		return false;
	if (is_worker(t) || async)
		return true;
	regs = current_regs();
	if (!regs_in_call(regs))
		return false;
	row = call_row(regs_nr(regs));
	if (kind == KIND_VFS_CLOSE)
		return row->kind == KIND_CLOSE || row->shape == SHAPE_URING;
	return row->shape != SHAPE_EXEC;
}

/* True inside msync(2), which writes back by the fsync of the file system. */
static __always_inline bool vfs_in_msync(struct task_struct *t)
{
	return !(TASK(t, flags) & PF_KTHREAD) && !is_worker(t) && regs_in_call(current_regs()) &&
	       call_row(regs_nr(current_regs()))->kind == KIND_MSYNC;
}

/* Fills in the file and its device; returns its type. used: not only looked up by its name, which
 * gives no file a number: there may be a million in a folder. */
static __always_inline u8 vfs_inode(struct vfs_frame *f, u64 inode, bool used)
{
	struct inode *i = (struct inode *)inode;
	u64 sb = POINTER_AT(i, struct inode, i_sb);
	u8 type = type_of(inode_mode(i), NUMBER_AT(sb, struct super_block, s_magic));

	f->dev = type == SUB_FT_BLK ? NUMBER_AT(i, struct inode, i_rdev) :
		 NUMBER_AT(sb, struct super_block, s_dev);
	if (is_storage(type))
		f->file = used ? file_number_at(inode, true) : file_known_at(inode);
	return type;
}

/* A name that is made has no file yet. */
static __always_inline void vfs_dentry(struct vfs_frame *f, u64 dentry)
{
	u64 sb = dentry ? POINTER_AT(dentry, struct dentry, d_sb) : 0;
	u64 inode = sb ? POINTER_AT(dentry, struct dentry, d_inode) : 0;

	if (inode)
		vfs_inode(f, inode, false);
	if (sb)
		f->dev = NUMBER_AT(sb, struct super_block, s_dev);
}

/* Fills in what a frame's file is; object: as enum vfs_from says. False: no operation. */
static __always_inline bool vfs_file(struct vfs_frame *f, u64 object, u64 iter)
{
	switch (f->from) {
	case VFS_FROM_KIOCB:
		f->kiocb = object;
		f->offset = NUMBER_AT(object, struct kiocb, ki_pos);
		f->size = NUMBER_AT(iter, struct iov_iter, count);
		f->async = !!POINTER_AT(object, struct kiocb, ki_complete);
		f->flags = NUMBER_AT(object, struct kiocb, ki_flags) & IOCB_DIRECT ?
			FLAG_DIRECT : 0;
		object = POINTER_AT(object, struct kiocb, ki_filp);
		/* fall through */
	case VFS_FROM_FILE:
		if (!object)
			return false;
		f->sub = vfs_inode(f, POINTER_AT(object, struct file, f_inode), true);
		return !vfs_moves(f->kind) || is_storage(f->sub);
	case VFS_FROM_PATH:
	case VFS_FROM_VOID_PATH:
		object = POINTER_AT(object, struct path, dentry);
		/* fall through */
	case VFS_FROM_DENTRY:
		vfs_dentry(f, object);
	}
	return true;
}

/* Global: verified once. */
__noinline int vfs_describe(struct vfs_frame *f, u64 object, u64 iter, u32 above)
{
	struct task_struct *t = current_task();
	struct task_ctx *c = ctx_make();
	u8 how = HOW_NONE;
	u64 owner;
	u32 marked;

	if (!f || !c)
		return 0;
	if (!vfs_file(f, object, iter)) {
		f->kind = KIND_NONE;
		return 0;
	}
	if (f->kind == KIND_VFS_FSYNC && vfs_in_msync(t))
		f->kind = KIND_VFS_MSYNC;
	owner = owner_current(c, &how);
	marked = owner_marked(owner);
	f->owner = marked & ~OWNER_LOOP;
	f->how = how;
	f->cause = marked & OWNER_LOOP ? CAUSE_LOOPBACK : CAUSE_NONE;
	f->tid = current_thread();
	f->asked = vfs_is_asked(t, f->kind, above, f->async);
	if (f->owner == PROC_SELF)
		f->kind = KIND_NONE;
	return 0;
}

/* A function is entered. what: VFS_WHAT() of it; sp: an address in the thread's kernel stack, which
 * is lower for a function that another one calls. */
__noinline int vfs_begin(u64 what, u64 object, u64 iter, u64 sp)
{
	struct vfs_frame *f, *below = NULL;
	struct vfs_task *v;
	u32 depth;

	if (TASK(current_task(), tgid) == cfg.self_pid)
		return 0;
	v = bpf_task_storage_get(&vfs_tasks, bpf_get_current_task_btf(), 0,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!v) {
		lose(LOSS_TASK_STORAGE);
		return 0;
	}
	vfs_drop_stale(v, VFS_FUNCTION_OF(what), sp);
	depth = v->depth;
	if (depth >= VFS_DEPTH) /* its return is the loss */
		return 0;
	f = &v->at[INDEX(depth, VFS_DEPTH)];
	__builtin_memset(f, 0, sizeof(*f));
	f->sp = sp;
	f->function = VFS_FUNCTION_OF(what);
	f->from = VFS_FROM_OF(what);
	v->depth = depth + 1;
	if (depth)
		below = &v->at[INDEX(depth - 1, VFS_DEPTH)];
	if (below && f->from == VFS_FROM_KIOCB && below->kiocb == object) {
		f->kiocb = object;
		f->inner = 1;
		return 0;
	}
	if (!gate_open())
		return 0;
	f->kind = VFS_KIND_OF(what);
	vfs_describe(f, object, iter, below ? below->kind ?: KIND_VFS_OPEN : KIND_NONE);
	f->ns = bpf_ktime_get_ns();
	if (f->async && f->kind && bpf_map_update_elem(&vfs_asyncs, &f->kiocb, f, BPF_ANY))
		lose(LOSS_VFS_TABLE);
	return 0;
}

static __always_inline void vfs_event(const struct vfs_frame *f, const struct iot_cell_key *k,
				      u64 bytes, u64 dur_ns, u32 err)
{
	struct iot_ring_event *r = event_reserve(LOSS_EVENT_VFS);

	if (!r)
		return;
	event_fill(&r->e, f->how == HOW_EXACT ? f->owner : proc_running(ctx_find()), k);
	r->e.ts_ns = f->ns;
	r->e.dur_ns = dur_ns;
	r->e.tid = f->tid;
	r->e.file = f->file;
	r->e.offset = f->offset;
	r->e.size = f->size;
	r->e.bytes = bytes;
	r->e.flags = f->flags;
	r->e.err = err;
	if (vfs_moves(f->kind) && !err && bytes < f->size)
		r->e.flags |= FLAG_SHORT;
	event_submit(r);
}

/* Counts an operation. ret: bytes, or a negative errno. Global: verified once. */
__noinline int vfs_count(struct vfs_frame *f, s64 ret)
{
	struct iot_cell_key k = {};
	u64 bytes = 0, dur_ns = 0;
	u32 err = 0;

	if (!f || (cfg.dev && f->dev && !dev_wanted(f->dev)))
		return 0;
	if (ret < 0)
		err = -ret;
	else if (vfs_moves(f->kind) || vfs_transfers(f->kind))
		bytes = ret;
	/* what is closed, and how long that takes, comes after file_close_fd() */
	if (cfg.latency && !(f->from == VFS_FROM_RETURN && f->kind == KIND_VFS_CLOSE))
		dur_ns = bpf_ktime_get_ns() - f->ns;
	k.owner = f->owner;
	k.dev = f->dev;
	k.kind = f->kind;
	k.cause = f->cause;
	k.how = f->how;
	k.sub = f->asked ? f->sub : SUB_KERNEL;
	k.flags = f->flags & FLAG_DIRECT;
	count_apart(&k, 1, bytes, dur_ns, err);
	if (wants_event(f->owner))
		vfs_event(f, &k, bytes, dur_ns, err);
	if (!vfs_moves(f->kind) || !(f->flags & FLAG_DIRECT))
		return 0;
	k.kind = f->kind == KIND_VFS_READ ? KIND_VFS_DIO_READ : KIND_VFS_DIO_WRITE;
	count_apart(&k, 1, bytes, dur_ns, err);
	return 0;
}

/* Takes the frame of a function off the stack, and those above it, whose returns were missed. NULL:
 * its entry was not seen. */
static __always_inline struct vfs_frame *vfs_pop(struct vfs_task *v, u8 function)
{
	u32 found = 0;

	for (u32 i = 0; i < VFS_DEPTH; i++)
		if (i < v->depth && v->at[i].function == function)
			found = i + 1;
	if (!found)
		return NULL;
	vfs_lose(v->depth - found);
	v->depth = found - 1;
	return &v->at[INDEX(found - 1, VFS_DEPTH)];
}

/* A number of bytes, an address, or a negative errno. An int is returned in half of a register. */
static __always_inline s64 vfs_result(u64 ret)
{
	s32 half = ret;

	return ret >> 32 == 0 && half < 0 && half >= -MAX_ERRNO ? half : (s64)ret;
}

static __always_inline bool vfs_failed(s64 ret)
{
	return ret < 0 && ret >= -MAX_ERRNO;
}

/* Fills in the file that a function returned. False: it returned none, and no error. */
static __always_inline bool vfs_returned(struct vfs_frame *f, s64 ret)
{
	if (f->from != VFS_FROM_RETURN || vfs_failed(ret))
		return true;
	if (ret)
		f->sub = vfs_inode(f, POINTER_AT(ret, struct file, f_inode), true);
	return ret;
}

/* A function returns. */
__noinline int vfs_end(u64 what, u64 value)
{
	struct vfs_task *v = bpf_task_storage_get(&vfs_tasks, bpf_get_current_task_btf(), 0, 0);
	struct vfs_frame *f = v ? vfs_pop(v, VFS_FUNCTION_OF(what)) : NULL;
	s64 ret = vfs_result(value);
	u64 kiocb;

	if (v && !f)
		vfs_lose(1);
	if (f && (f->from == VFS_FROM_VOID || f->from == VFS_FROM_VOID_PATH))
		ret = 0;
	if (!f || f->inner || !f->kind || (f->async && ret == -EIOCBQUEUED))
		return 0;
	kiocb = f->kiocb;
	if (f->async)
		bpf_map_delete_elem(&vfs_asyncs, &kiocb);
	/* a request that would have to wait is tried again in another way */
	if (!gate_open() || (f->async && ret == -EAGAIN) || !vfs_returned(f, ret))
		return 0;
	if (kiocb && ret > 0) /* an append begins where the file ended */
		f->offset = NUMBER_AT(kiocb, struct kiocb, ki_pos) - ret;
	vfs_count(f, ret < 0 && !vfs_failed(ret) ? 0 : ret);
	return 0;
}

/* A thread ends. */
__noinline int vfs_leave(void)
{
	struct vfs_task *v = bpf_task_storage_get(&vfs_tasks, bpf_get_current_task_btf(), 0, 0);

	if (v) {
		vfs_lose(v->depth);
		v->depth = 0;
	}
	return 0;
}

/* An operation that went on without its caller ends. Requests that did not are completed by the
 * same functions: they are not in the table any longer. */
__noinline int vfs_complete(u64 kiocb, u64 value)
{
	struct vfs_frame *f = bpf_map_lookup_elem(&vfs_asyncs, &kiocb), done;

	if (!f)
		return 0;
	done = *f;
	if (!bpf_map_delete_elem(&vfs_asyncs, &kiocb) && gate_open())
		vfs_count(&done, vfs_result(value));
	return 0;
}

#endif
