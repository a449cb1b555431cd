// SPDX-License-Identifier: GPL-3.0-only
/* file_owner.bpf.c - --light: notes the owner of a file when one of its folios is dirtied. Attached
 * in place of the programs of bpf/dirty/. A call that overwrites what is dirty is noted when it
 * returns (wrote() in file.bpf.h).
 */
#include "file.bpf.h"
#include "single_writer.bpf.h"
#include "task_op.bpf.h"
#include "program_copies.bpf.h"

/* writeback_dirty_folio is called before the folio is marked in the page cache of its file: if
 * that has marks, other folios are dirty or under writeback. A call that writes through the node of
 * a block device dirties file contents; all other pages of a device are structures. */
SEC("tp_btf/writeback_dirty_folio")
int PROBE(file__dirtied, struct folio *f, struct address_space *m)
{
	struct task_struct *t = current_task();
	struct task_ctx *c;
	struct inode *i;
	u64 owner;
	u8 how;

	if (!m || !gate_open())
		return 0;
	i = (struct inode *)POINTER_AT(m, struct address_space, host);
	if (!i || is_single_writer(thread_of(t->pid), t, (u64)i))
		return 0;
	if (inode_number(i) == BTRFS_TREES_INODE && is_on(i, BTRFS_MAGIC))
		return 0; /* the inode of its trees, no file */
	c = ctx_make();
	if (!c)
		return 0;
	if (is_blockdev(i)) {
		range_look(c);
		if (c->call && c->write && c->target.inode == (u64)i)
			owner = proc_current(c) | OWNER_DATA;
		else
			owner = owner_current(c, &how);
		return page_owner_set((u64)i, 0, 1, owner, !is_dirty(i));
	}
	if (c->behalf == BEHALF_LOOP || is_put_back(c, task_op_now(t), i))
		return 0; /* noted when the loop request was issued */
	owner = owner_current(c, &how);
	if ((owner & OWNER_TXN) || (!owner && t->flags & PF_WQ_WORKER && is_on(i, BTRFS_MAGIC)))
		return 0; /* btrfs redirties what its writeback could not write */
	page_owner_set((u64)i, 0, 1, owner, !is_dirty(i));
	if (c->proc == owner && c->behalf == BEHALF_NONE && !(owner >> 32) && !is_worker(t) &&
	    !(t->flags & PF_KTHREAD))
		single_writer_learn(t, i, owner, 0);
	return 0;
}
