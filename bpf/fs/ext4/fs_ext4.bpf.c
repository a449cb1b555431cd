// SPDX-License-Identifier: GPL-3.0-only
/* fs_ext4.bpf.c - ext4 and its journal: shares of transactions, commits, fsync() and what it waits
 * for, dirty bytes that are dropped. The types of ext4 may be in a module, so this is an object of
 * its own. The verifier assumes that arguments of a module's tracepoints may be NULL, so each is
 * checked.
 */
#include "owner.bpf.h"
#include "task_op.bpf.h"
#include "ext4_invalidate.bpf.h"
#include "hooks.bpf.h"
#include "ext4_inode.bpf.h"
#include "journal.bpf.h"
#include "journal_credit.bpf.h"
#include "sync_write.bpf.h"
#include "program_copies.bpf.h"
#include "transaction.bpf.h"
#include "uring_now.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct transaction_s {
	u32 t_tid;
};

struct journal_s {
	struct buffer_head *j_sb_buffer;
	struct transaction_s *j_running_transaction, *j_committing_transaction;
	struct block_device *j_fs_dev;
	void *j_private;
};

struct ext4_super_block {
	u32 s_first_data_block;
};

struct ext4_sb_info {
	unsigned long s_desc_size, s_blocks_per_group, s_itb_per_group, s_gdb_count,
		s_desc_per_block;
	u32 s_groups_count;
	struct buffer_head *s_sbh;
	struct ext4_super_block *s_es;
	struct buffer_head **s_group_desc;
	unsigned int s_log_groups_per_flex;
};

struct writeback_control {
	long long range_start, range_end; /* bytes, the last one included */
};

struct ext4_inode_info {
	struct inode vfs_inode;
	struct work_struct i_rsv_conversion_work;
};

#pragma clang attribute pop

/* The device of the file system of a journal. */
static __always_inline u64 journal_bdev(struct journal_s *j)
{
	return (u64)MODULE_AT(j, struct journal_s, j_fs_dev);
}

static __always_inline u32 journal_dev(struct journal_s *j)
{
	return NUMBER_AT(journal_bdev(j), struct block_device, bd_dev);
}

static __always_inline u32 transaction_number(u64 t)
{
	return MODULE_AT(t, struct transaction_s, t_tid);
}

static __always_inline u64 block_of(u64 buffer)
{
	return NUMBER_AT(buffer, struct buffer_head, b_blocknr);
}

/* Reads the locations of a file system's structures. Done at each commit: resizing moves them. */
static __noinline int geometry_read(struct journal_s *j, struct journal *g)
{
	u64 sb, sbi;

	if (!j || !g)
		return 0;
	sb = (u64)MODULE_AT(j, struct journal_s, j_private);
	g->block_bits = NUMBER_AT(sb, struct super_block, s_blocksize_bits);
	g->super_block = block_of((u64)MODULE_AT(j, struct journal_s, j_sb_buffer));
	if (NUMBER_AT(sb, struct super_block, s_magic) != EXT4_SUPER_MAGIC)
		return 0; /* jbd2 is used by ocfs2, too */
	sbi = POINTER_AT(sb, struct super_block, s_fs_info);
	g->group_desc = (u64)MODULE_AT(sbi, struct ext4_sb_info, s_group_desc);
	g->blocks_per_group = MODULE_AT(sbi, struct ext4_sb_info, s_blocks_per_group);
	g->inode_table_blocks = MODULE_AT(sbi, struct ext4_sb_info, s_itb_per_group);
	g->desc_blocks = MODULE_AT(sbi, struct ext4_sb_info, s_gdb_count);
	g->desc_per_block = MODULE_AT(sbi, struct ext4_sb_info, s_desc_per_block);
	g->desc_size = MODULE_AT(sbi, struct ext4_sb_info, s_desc_size);
	g->groups = MODULE_AT(sbi, struct ext4_sb_info, s_groups_count);
	g->flex = 1U << (MODULE_AT(sbi, struct ext4_sb_info, s_log_groups_per_flex) & 31);
	g->first_data_block = MODULE_AT((u64)MODULE_AT(sbi, struct ext4_sb_info, s_es),
					struct ext4_super_block, s_first_data_block);
	g->fs_super = block_of((u64)MODULE_AT(sbi, struct ext4_sb_info, s_sbh));
	return 0;
}

/* The journal of a device, made or updated. */
static __always_inline struct journal *journal_see(struct journal_s *j, u32 dev)
{
	struct journal g = {}, *old = journal_of(dev);

	if (old) {
		geometry_read(j, old);
		return old;
	}
	geometry_read(j, &g);
	if (bpf_map_update_elem(&journals, &dev, &g, BPF_ANY))
		lose(LOSS_TXN_TABLE);
	return journal_of(dev);
}

SEC("tp_btf/jbd2_start_commit")
int PROBE(ext4__commit_begin, struct journal_s *j, struct transaction_s *t)
{
	struct task_ctx *c;
	struct journal *g;
	struct txn *x;
	u64 owner;
	u32 dev;

	if (!j || !t || !gate_open())
		return 0;
	dev = journal_dev(j);
	owner = txn_owner(dev, transaction_number((u64)t));
	c = ctx_make();
	if (c) {
		c->behalf = BEHALF_TXN;
		c->behalf_id = owner;
	}
	g = journal_see(j, dev);
	if (g)
		g->last_txn = owner;
	x = txn_find(owner);
	if (x)
		x->commit_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void commit_event(struct task_ctx *c, const struct txn *x,
					 const struct iot_cell_key *k, u64 now)
{
	struct iot_ring_event *r;

	if (!wants_event(k->owner))
		return;
	r = event_reserve(LOSS_EVENT_FS);
	if (!r)
		return;
	event_fill(&r->e, proc_running(c), k);
	r->e.how = HOW_TRANSACTION; /* also without an owner */
	r->e.ts_ns = x->commit_ns;
	r->e.tid = current_thread();
	r->e.dur_ns = now - x->commit_ns;
	r->e.size = x->journal_bytes;
	event_submit(r);
}

SEC("tp_btf/jbd2_end_commit")
int PROBE(ext4__commit_end, struct journal_s *j, struct transaction_s *t)
{
	struct task_ctx *c = ctx_find();
	u64 now = bpf_ktime_get_ns(), owner;
	struct iot_cell_key k = {};
	struct journal *g;
	struct txn *x;
	u32 dev;

	if (!j || !c || c->behalf != BEHALF_TXN)
		return 0;
	owner = c->behalf_id;
	c->behalf = BEHALF_NONE;
	dev = journal_dev(j);
	x = txn_find(owner);
	g = journal_of(dev);
	if (x)
		x->ended = 1;
	if (!x || !x->commit_ns || !gate_open())
		return 0;
	if (g) {
		g->commit_begin = x->commit_ns;
		g->commit_end = now;
	}
	k.owner = x->top & ~OWNER_LOOP;
	k.dev = disk_at(journal_bdev(j));
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_COMMIT;
	k.cause = cause_of(x->top, CAUSE_JOURNAL);
	k.how = x->top ? HOW_TRANSACTION : HOW_NONE;
	count_apart(&k, 1, 0, now - x->commit_ns, false);
	commit_event(c, x, &k, now);
	return 0;
}

/* Notes an inode that the handle in progress changes. */
static __always_inline int handle_about(struct inode *i)
{
	struct task_ctx *c = i && gate_open() ? ctx_make() : NULL;

	if (c && c->handle_inode != (u64)i)
		c->handle_inode = journal_about(c->handle_inode, i);
	return 0;
}

SEC("tp_btf/ext4_mark_inode_dirty")
int PROBE(ext4__mark, struct inode *i)
{
	return handle_about(i);
}

/* ext4_journal_start_inode: attributes change without ext4_mark_inode_dirty. Since 6.3. */
SEC("tp_btf/ext4_journal_start_inode")
int PROBE(ext4__start, struct inode *i)
{
	return handle_about(i);
}

static __always_inline void handle_credit(const struct task_ctx *c, struct inode *i, u32 dev,
					  u32 owner, u32 dirtied)
{
	struct iot_put_key k = { .owner = owner, .blocks = 1 };

	if (i && inode_dev(i) != dev)
		i = NULL; /* of a file system without a journal */
	k.dev = i ? disk_below(i) : dev;
	k.call = journal_call();
	journal_credit_add(c, &k, dev, i, 1, dirtied, dirtied ?: 1);
}

/* jbd2_handle_stats: a handle ended, and its process dirtied so many blocks of the transaction. A
 * handle that joined only blocks which others had dirtied counts as one block. */
SEC("tp_btf/jbd2_handle_stats")
int PROBE(ext4__handle, u32 dev, u32 tid, unsigned int type, unsigned int line, int interval,
	  int sync, int requested,
	     int dirtied)
{
	struct task_ctx *c = ctx_find();
	u64 owner, about = 0;
	u8 how;

	if (c) { /* also a handle without owner has ended */
		about = c->handle_inode;
		c->handle_inode = 0;
	}
	/* before the run only the tracer is traced: its outputs may be committed during the run */
	if (!gate_open() && current_task()->tgid != cfg.self_pid)
		return 0;
	owner = owner_current(c, &how);
	if (owner & OWNER_TXN)
		return 0; /* the commit's own handles */
	if (!owner)
		/* a kernel thread without known owner: what it joins is charged to the others */
		return 0;
	txn_add(txn_owner(dev, tid), owner, dirtied > 0 ? dirtied : 1);
	handle_credit(c, (struct inode *)about, dev, owner, dirtied > 0 ? dirtied : 0);
	return 0;
}

/* jbd2_write_superblock: the journal's superblock is written before or between commits, by any task
 * that moves the log's tail. block.bpf.c recognises it by its location; here its transaction is
 * noted. */
SEC("tp_btf/jbd2_write_superblock")
int PROBE(ext4__journal_super, struct journal_s *j)
{
	struct journal *g;
	u64 owner, t;
	u32 dev;

	if (!j || !gate_open())
		return 0;
	dev = journal_dev(j);
	g = journal_see(j, dev);
	t = (u64)MODULE_AT(j, struct journal_s, j_committing_transaction);
	if (!t)
		t = (u64)MODULE_AT(j, struct journal_s, j_running_transaction);
	owner = t ? txn_owner(dev, transaction_number(t)) : 0;
	/* in a transaction that has just begun no handle has ended: the one before it moved the
	 * tail */
	if (g && owner && txn_find(owner))
		g->last_txn = owner;
	return 0;
}

SEC("tp_btf/jbd2_checkpoint")
int PROBE(ext4__checkpoint, struct journal_s *j, int result)
{
	struct iot_cell_key k = {};
	u8 how;

	if (!j || !gate_open())
		return 0;
	k.owner = owner_top(owner_current(ctx_find(), &how));
	k.dev = disk_at(journal_bdev(j));
	if (!dev_wanted(k.dev))
		return 0;
	k.kind = KIND_CHECKPOINT;
	k.cause = CAUSE_METADATA;
	k.how = how;
	count_apart(&k, 1, 0, 0, result < 0);
	return 0;
}

/* ---- fsync(), and what it waits for ---- */

SEC("tp_btf/ext4_sync_file_enter")
int PROBE(ext4__sync_begin, struct file *f, int datasync)
{
	struct task_ctx *c;

	if (!f || !gate_open())
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	c->sync.dev = inode_dev((struct inode *)POINTER_AT(f, struct file, f_inode));
	c->sync.flush_ns = 0;
	c->sync.ns = bpf_ktime_get_ns();
	return 0;
}

_Static_assert(KIND_FS_SYNC_DATA == KIND_FS_SYNC + 1 && KIND_FS_SYNC_COMMIT == KIND_FS_SYNC + 2 &&
	       KIND_FS_SYNC_FLUSH == KIND_FS_SYNC + 3, "the parts of a sync are numbered in order");

/* Finds the aggregate of a part of a sync of process `owner`. It is kept where the process is one
 * that can be looked up once, as in op_record(). */
static __noinline u32 sync_cell(struct task_ctx *c, u32 owner, u32 part)
{
	struct iot_cell_key k = { .owner = owner, .how = HOW_EXACT };
	u32 n, cell;

	if (!c)
		return IOT_NO_CELL;
	k.dev = c->sync.dev;
	k.kind = KIND_FS_SYNC + part;
	cell = cell_find(&k);
	n = INDEX(part, SYNC_PARTS);
	c->sync.cell[n] = k.owner == owner ? cell : IOT_NO_CELL;
	return cell;
}

/* Counts a part of a sync, which took ns. */
static __always_inline void sync_count(struct task_ctx *c, u32 owner, u32 part, u64 ns, bool error)
{
	u32 cell = c->sync.cell[part];

	if (cell == IOT_NO_CELL)
		cell = sync_cell(c, owner, part);
	cell_add(cell, 1, 0, 0, ns, error);
	hist_add(owner, KIND_FS_SYNC + part, SUB_NONE, ns);
}

SEC("tp_btf/ext4_sync_file_exit")
int PROBE(ext4__sync_end, struct inode *i, int ret)
{
	struct task_ctx *c = ctx_find();
	u64 begin, now, from, to, commit = 0, flush;
	struct journal *g;
	u32 owner;

	if (!c || !c->sync.ns)
		return 0;
	begin = c->sync.ns;
	c->sync.ns = 0;
	if (!i || !gate_open())
		return 0;
	now = bpf_ktime_get_ns();
	flush = c->sync.flush_ns > begin ? now - c->sync.flush_ns : 0;
	g = journal_of(c->sync.dev);
	if (g && g->commit_end > begin) {
		from = g->commit_begin > begin ? g->commit_begin : begin;
		to = g->commit_end < now ? g->commit_end : now;
		commit = to > from ? to - from : 0;
	}
	if (commit + flush > now - begin)
		flush = now - begin - commit;
	if (!dev_wanted(c->sync.dev))
		return 0;
	owner = proc_current(c);
	if (c->sync.owner != owner || c->sync.counted != c->sync.dev || !owner) {
		for (int n = 0; n < SYNC_PARTS; n++)
			c->sync.cell[n] = IOT_NO_CELL;
		c->sync.owner = owner;
		c->sync.counted = c->sync.dev;
	}
	sync_count(c, owner, 0, now - begin, ret < 0);
	if (now - begin - commit - flush)
		sync_count(c, owner, 1, now - begin - commit - flush, false);
	if (commit)
		sync_count(c, owner, 2, commit, false);
	if (flush)
		sync_count(c, owner, 3, flush, false);
	return 0;
}

/* The range that was dirtied so far in the call in progress. */
static __always_inline const struct fresh *fresh_of_call(const struct task_ctx *c)
{
	struct task_struct *t = current_task();
	struct thread *th = thread_of(t->pid);

	return th && th->task == (u64)t && th->fresh.inode ? &th->fresh : &c->fresh;
}

/* True when a direct write fell back to the page cache. It first has dirty pages of others written
 * back, which stay theirs. If one of them stays in the cache (a page beyond the end, begun by a
 * failed call), it falls back to the cache, and has that written back in turn: by then it has
 * dirtied pages. */
static __always_inline bool direct_fell_back(struct task_ctx *c, u64 inode, u64 request)
{
	const struct fresh *f = request ? &c->fresh : fresh_of_call(c);
	u64 fresh = f == &c->fresh && c->fresh_ns ? c->fresh_sum : f->inode == inode ? f->bytes : 0,
		before = c->direct.fresh;
	bool again = c->direct.request == request;

	c->direct.request = request;
	c->direct.fresh = fresh;
	if (!again || fresh <= before)
		return false;
	direct_falls(c);
	return true;
}

/* The length of the request of an io_submit() that has `bytes` from byte `from` on written back; 0:
 * it writes nothing there through the cache. */
static __noinline u64 aio_written(struct task_ctx *c, u64 inode, u64 from, u64 bytes)
{
	struct aio_search s = { .inode = inode, .from = from, .least = bytes, .what = AIO_BEGINS };

	if (!c)
		return 0;
	s.first = c->aio.now;
	if (!aio_search(&s)) {
		s.what = AIO_DIRECT;
		if (!aio_search(&s) || !direct_fell_back(c, inode, s.address))
			return 0;
	}
	c->aio.now = s.found;
	aio_copied(s.address);
	return s.t.len;
}

/* True when what the current thread has written back may be what its call in progress wrote. A call
 * such as fsync() writes nothing itself. */
static __always_inline bool writes_back_own(void)
{
	struct task_struct *t = CURRENT_TASK;
	const struct pt_regs *regs = regs_of(t);

	if (is_worker(t))
		return true;
	if (!regs_in_call(regs) || regs_nr(regs) >= IOT_MAX_SYSCALL)
		return false;
	return call_row(regs_nr(regs))->write ||
	       call_row(regs_nr(regs))->shape == SHAPE_AIO_SUBMIT;
}

/* ext4_writepages: a call with O_SYNC or RWF_DSYNC submits what it wrote before it returns, and the
 * range that is written back is what it copied. */
SEC("tp_btf/ext4_writepages")
int PROBE(ext4__writepages, struct inode *i, struct writeback_control *wbc)
{
	struct uring_io io = {};
	struct task_ctx *c;
	u64 from, to, len, inode;

	/* extents are converted after their pages were written */
	work_inode_note(FN_EXT4_CONVERT,
			(s64)bpf_core_field_offset(struct ext4_inode_info, vfs_inode) -
			(s64)bpf_core_field_offset(struct ext4_inode_info, i_rsv_conversion_work));
	if (!i || !wbc || !gate_open() || current_task()->flags & PF_KTHREAD || only_syncs())
		return 0;
	c = ctx_make();
	if (!c || c->behalf == BEHALF_FASTCOMMIT) /* of any file, and any dirty page of its range */
		return 0;
	if (!c->uring.req && !writes_back_own())
		return 0;
	from = wbc->range_start;
	to = wbc->range_end;
	/* the inode itself, as a number */
	inode = POINTER_AT(POINTER_AT(i, struct inode, i_mapping), struct address_space, host);
	if (uring_current(c, &io, inode_number(i))) {
		if (!io.write || io.host != inode ||
		    (io.direct && !direct_fell_back(c, inode, io.req)))
			return 0;
		len = io.len;
	} else if (c->call && c->shape == SHAPE_AIO_SUBMIT) {
		len = aio_written(c, inode, from, to - from + 1);
	} else if (!c->call || !c->write || c->target.inode != inode ||
		   (c->target.direct && !direct_fell_back(c, inode, 0))) {
		return 0;
	} else {
		len = c->target.len;
	}
	if (to < from || to - from >= len)
		return 0;
	if (io.req && !io.direct)
		uring_copied(io.req);
	return page_owner_overwrite(inode, from, to - from + 1, proc_current(c));
}

/* ---- contexts ---- */

SEC("tp_btf/ext4_fc_commit_start")
int PROBE(ext4__fastcommit_begin, struct super_block *sb)
{
	struct task_ctx *c;

	if (!sb || !gate_open())
		return 0;
	c = ctx_make();
	if (c && c->behalf == BEHALF_NONE)
		c->behalf = BEHALF_FASTCOMMIT;
	return 0;
}

SEC("tp_btf/ext4_fc_commit_stop")
int PROBE(ext4__fastcommit_end, struct super_block *sb)
{
	struct task_ctx *c = ctx_find();

	if (c && c->behalf == BEHALF_FASTCOMMIT)
		c->behalf = BEHALF_NONE;
	return 0;
}
