/* SPDX-License-Identifier: GPL-3.0-only */
/* xfs_force.bpf.h - log forces of XFS: who asks for them, and why. Used by fs_xfs.bpf.c.
 *
 * The tracepoint has the address that the force was called from. The function at that address
 * determines the reason, or that a call wants it, and then the call in progress does.
 */
#ifndef IOT_XFS_FORCE_BPF_H
#define IOT_XFS_FORCE_BPF_H

#include "program_copies.bpf.h"
#include "transaction.bpf.h"
#include "uring_now.bpf.h"
#include "workqueue.h"
#include "xfs.h"

/* Prefixes of the names of functions that force the log for one reason; the first match counts.
 * Compilers inline functions, so callers of callers are here, too. To add one: a row. */
#define FORCERS(ROW) \
	ROW("xfs_log_force_inode", SUB_NONE)         /* for a call */ \
	ROW("xfs_log_force", FORCE_AGAIN) \
	ROW("xlog_cil_force", FORCE_AGAIN) \
	ROW("xfs_log_worker", SUB_FORCE_WORKER) \
	ROW("xfsaild", SUB_FORCE_AIL) \
	ROW("xlog_cil_flush", SUB_FORCE_AIL)         /* its second force, if nothing waits to be logged; often a tail call, then from xfsaild */ \
	ROW("xfs_fs_sync_fs", SUB_FORCE_SYNC) \
	ROW("xfs_unmount", SUB_FORCE_UMOUNT) \
	ROW("xfs_log_quiesce", SUB_FORCE_UMOUNT) \
	ROW("xfs_log_unmount", SUB_FORCE_UMOUNT) \
	ROW("xfs_log_cover", SUB_FORCE_UMOUNT) \
	ROW("__xfs_trans_commit", SUB_FORCE_TRANSACTION) \
	ROW("xfs_trans_commit", SUB_FORCE_TRANSACTION) \
	ROW("xfs_extent_busy", SUB_FORCE_PINNED) \
	ROW("xfs_buf_", SUB_FORCE_PINNED) \
	ROW("xfs_iunpin", SUB_FORCE_PINNED) \
	ROW("xfs_iflush", SUB_FORCE_PINNED) \
	ROW("xfs_qm_dq", SUB_FORCE_PINNED)

#define FORCE_AGAIN 255        /* the same force, reported once more further down */
#define FORCER_NAME 64         /* bytes of a name, with the name of its module */

struct forcer {
	char name[FORCER_NAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES);
	__type(key, u32);
	__type(value, struct forcer);
} xfs_forcers SEC(".maps");

/* A cache of reasons by return address, in a hash: the low 48 bits of the address, 1, and the
 * reason. Looking up a name takes a microsecond. Entries stay valid: a module whose tracepoint is
 * used stays loaded. */
#define RECENT_FORCERS 64
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_FORCERS);
	__type(key, u32);
	__type(value, u64);
} recent_forcers SEC(".maps");

/* The reason by the name of the function at an address; SUB_NONE: the name does not determine
 * it. */
static __noinline u32 force_by_name(u64 address)
{
	static const char format[] = "%ps";
	u32 copy = copy_working();
	u64 in = address - 1;  /* a return address may be the begin of the next function */
	struct forcer *f = bpf_map_lookup_elem(&xfs_forcers, &copy);

	if (!f || bpf_snprintf(f->name, sizeof(f->name), format, &in, sizeof(in)) < 0)
		return SUB_NONE;
#define SAYS(begin, sub) \
	if (!bpf_strncmp(f->name, sizeof(begin) - 1, begin)) \
		return sub;
	FORCERS(SAYS)
#undef SAYS
	return SUB_NONE;
}

static __always_inline u32 force_by_function(u64 address)
{
	u32 at = (u32)address * 0x9e3779b1 >> 26, why;
	u64 *recent = bpf_map_lookup_elem(&recent_forcers, &at), word = address << 16 | 1 << 8, was;

	if (!recent)
		return force_by_name(address);
	was = *(volatile u64 *)recent;
	if ((was & ~0xffULL) == word)
		return (u8)was;
	why = force_by_name(address);
	*(volatile u64 *)recent = word | (u8)why;
	return why;
}

/* The function that a kworker executes. */
static __always_inline u32 worker_function(struct task_struct *t)
{
	struct kthread *k = (struct kthread *)POINTER_AT(t, struct task_struct, worker_private);
	struct worker *w = t->flags & PF_WQ_WORKER ? FOLLOW(k, data) : NULL;

	return w ? function_of((u64)FOLLOW(w, current_func)) : FN_NONE;
}

/* The reason by the io_uring request that the current thread executes. */
static __always_inline u32 force_by_request(struct task_struct *t)
{
	u64 req = t->flags & PF_IO_WORKER ? uring_worker_request(t) : 0;
	struct task_ctx *c = req ? NULL : ctx_find();
	u8 opcode;

	if (c)
		req = uring_inline(c);
	if (!req)
		return SUB_FORCE_OTHER;
	opcode = NUMBER_AT(req, struct io_kiocb, opcode);
	if (uring_kind(opcode) == KIND_URING_WRITE || opcode == IORING_OP_FALLOCATE)
		return SUB_FORCE_WRITE;
	return uring_kind(opcode) == KIND_URING_FSYNC ? SUB_FORCE_FSYNC : SUB_FORCE_OTHER;
}

/* The reason by the operation of the current thread: a sync of the file system, a synchronous
 * write, or a requested one. */
static __noinline u32 force_by_call(void)
{
	struct task_struct *t = current_task();
	const volatile struct iot_syscall *row;
	const struct pt_regs *regs;
	u64 nr;

	if (t->flags & PF_KTHREAD)
		/* else fsync of libaio */
		return worker_function(t) == FN_DIRECT_ENDED ? SUB_FORCE_WRITE : SUB_FORCE_FSYNC;
	if (is_worker(t))
		return force_by_request(t);
	regs = current_regs();
	nr = regs_nr(regs);
	if (!regs_in_call(regs) || task_is_compat(t) || nr >= IOT_MAX_SYSCALL)
		return force_by_request(t);
	row = call_row(nr);
	switch (row->kind) {
	case KIND_FSYNC:
	case KIND_FDATASYNC:
	case KIND_MSYNC:
		return SUB_FORCE_FSYNC;
	case KIND_SYNC:
	case KIND_SYNCFS:
		return SUB_FORCE_SYNC;
	}
	return row->write || row->kind == KIND_FALLOCATE ||
	       row->shape == SHAPE_AIO_SUBMIT ? SUB_FORCE_WRITE : force_by_request(t);
}

/* The owner is the process that asks. A kernel thread asks on behalf of the processes with a share
 * in the checkpoint. */
SEC("tp_btf/xfs_log_force")
int PROBE(xfs__force, struct xfs_mount *mp, s64 sequence, unsigned long from)
{
	struct iot_cell_key k = { .kind = KIND_LOG_FORCE, .cause = CAUSE_JOURNAL };
	struct xlog *log;
	u64 owner;
	u32 why;
	u8 how;

	if (!mp || !gate_open())
		return 0;
	why = force_by_function(from);
	if (why == FORCE_AGAIN)
		return 0;
	k.sub = why ?: force_by_call();
	owner = owner_current(ctx_find(), &how);
	if (!owner || owner & OWNER_TXN) {
		log = FOLLOW(mp, m_log);
		if (!sequence)
			sequence = FOLLOW(log, l_cilp, xc_ctx, sequence);
		owner = owner_top(txn_owner(FOLLOW(mp, m_super, s_dev), sequence));
		how = owner ? HOW_TRANSACTION : HOW_NONE;
	}
	k.owner = owner_top(owner);
	k.how = how;
	k.dev = FOLLOW(mp, m_super, s_bdev, bd_disk, part0, bd_dev);
	if (!dev_wanted(k.dev))
		return 0;
	count_apart(&k, 1, 0, 0, false);
	return 0;
}

#endif
