/* SPDX-License-Identifier: GPL-3.0-only */
/* path.bpf.h - paths of files, built name by name from the leaf upwards.
 */
#ifndef IOT_PATH_BPF_H
#define IOT_PATH_BPF_H

#include "file_table.bpf.h"
#include "process.bpf.h"
#include "program_copies.bpf.h"

/* Programs that send paths: those of calls, and those of journal credits. A path is built here and
 * sent at its true length: files that are created quickly would fill the ring with space that few
 * of them need. `type` is 0 while no program builds a path. */
enum { PATH_OF_CALL, PATH_OF_PUT, PATHS };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOT_COPIES_MOST * PATHS);
	__type(key, u32);
	__type(value, struct iot_path);
} path_rooms SEC(".maps");

/* An empty path of a file, to be filled, and sent by path_end(); NULL: a program that was preempted
 * is building one on this processor. */
static __always_inline struct iot_path *path_new(u32 n, u32 id, const struct file_key *k, u32 user)
{
	struct iot_path *p;

	n += copy_working() * PATHS;
	p = bpf_map_lookup_elem(&path_rooms, &n);
	if (!p || (REDUCED ? p->type : __sync_val_compare_and_swap(&p->type, 0, RING_PATH)))
		/* kernels with the legacy objects lack compare-and-swap, and do not preempt a
		 * program */
		return NULL;
	p->type = RING_PATH;
	p->file = id;
	p->dev = k->dev;
	p->gen = k->gen;
	p->ino = k->ino;
	p->parts = p->len = p->whole = 0;
	p->block = 0;
	p->node = 0;
	p->user = user;
	p->writes = 0;
	return p;
}

/* Sends a path with the names that it has. Returns 0, or an error when there is no room. */
static __always_inline long path_end(struct iot_path *p)
{
	u64 len = p->len;
	long err;

	if (len > sizeof(p->buf))
		len = sizeof(p->buf);
	err = bpf_ringbuf_output(&names, p, offsetof(struct iot_path, buf) + len, BPF_RB_NO_WAKEUP);
	p->type = 0;
	return err;
}

/* Appends the name of one component. Not 0: there is no more room, or no name. */
static __always_inline long path_add(struct iot_path *out, struct dentry *d)
{
	u64 len = out->len;
	long got;

	if (len >= IOT_PATH_MAX)
		return 1;
	/* the verifier of 6.1 forgets the bound above when the register was spilled */
	len = INDEX(len, IOT_PATH_MAX);
	got = bpf_probe_read_kernel_str(&out->buf[len], IOT_NAME_MAX + 1,
					BPF_CORE_READ(d, d_name.name));
	if (got <= 0)
		return 1;
	out->len = len + got;
	out->parts++;
	return 0;
}

#endif
