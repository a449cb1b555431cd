/* SPDX-License-Identifier: GPL-3.0-only */
/* file_event.bpf.h - events of file systems that name a range of a file.
 */
#ifndef IOT_FILE_EVENT_BPF_H
#define IOT_FILE_EVENT_BPF_H

#include "owner.bpf.h"

/* Sends the event of what was counted under a key, about bytes [off, off + size) of a file, of
 * which `bytes` move. */
static __always_inline void file_event(const struct iot_cell_key *k, struct inode *i, u64 off,
				       u64 size, u64 bytes)
{
	struct iot_ring_event *r = event_reserve(LOSS_EVENT_FS);

	if (!r)
		return;
	event_fill(&r->e, proc_running(ctx_find()), k);
	r->e.ts_ns = bpf_ktime_get_ns();
	r->e.tid = current_thread();
	r->e.file = file_number_at(inode_itself(i), true);
	r->e.offset = off;
	r->e.size = size;
	r->e.bytes = bytes;
	event_submit(r);
}

static __always_inline bool is_regular(struct inode *i)
{
	return (FOLLOW(i, i_mode) & S_IFMT) == S_IFREG;
}

#endif
