/* SPDX-License-Identifier: GPL-3.0-only */
/* file_table.bpf.h - the ids of files.
 */
#ifndef IOT_FILE_TABLE_BPF_H
#define IOT_FILE_TABLE_BPF_H

#include "task.bpf.h"

struct file_key {
	u32 dev, gen;
	u64 ino;
};

struct file_entry {
	u32 id;
	u32 named;             /* name_mark() of its name when the path was sent; 0: never */
	u32 sent, pad;         /* how often the path was sent */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct file_key);
	__type(value, struct file_entry);
} files SEC(".maps");

#endif
