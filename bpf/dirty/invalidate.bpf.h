/* SPDX-License-Identifier: GPL-3.0-only */
/* invalidate.bpf.h - dirty bytes of a file that are dropped before they are written: truncation,
 * holes, eviction. Used by the objects of file systems.
 */
#ifndef IOT_INVALIDATE_BPF_H
#define IOT_INVALIDATE_BPF_H

#include "aggregate.bpf.h"
#include "device.bpf.h"
#include "file_event.bpf.h"

/* True when the dirty ledger needs the event although the filters exclude the process: a selected
 * process has dirtied the file. */
static __always_inline bool invalidation_wanted(struct inode *i, u32 owner)
{
	struct writer *w = cfg.events && (owner == PROC_OTHER || !owner) ? writer_find(i) : NULL;

	return w && (w->many || w->first >= PROC_FIRST);
}

static __always_inline int invalidate_record(struct inode *i, u8 kind, u64 off, u64 size)
{
	struct task_ctx *c = ctx_find();
	struct iot_cell_key k = {};
	u8 how;

	k.owner = owner_top(owner_current(c, &how));
	k.dev = FOLLOW(i, i_sb, s_dev);
	k.kind = kind;
	k.how = how;
	k.sub = SUB_FT_REG;
	if (kind != KIND_FS_EVICT)
		/* a writer that waited for this dirties again what was dropped */
		submission_begins(0, 0);
	if (!dev_wanted(k.dev))
		return 0;
	count_apart(&k, 1, 0, 0, false);
	if (!wants_event(k.owner) && !invalidation_wanted(i, k.owner))
		return 0;
	file_event(&k, i, off, size, 0);
	return 0;
}

#endif
