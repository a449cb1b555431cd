/* SPDX-License-Identifier: GPL-3.0-only */
/* path.bpf.h - a path is made name by name, from the leaf upwards. */
#ifndef IOT_PATH_BPF_H
#define IOT_PATH_BPF_H

#include "record.bpf.h"

/* An empty path of a file, to be filled and submitted; NULL: no room. */
static __always_inline struct iot_path *path_new(u32 id, const struct file_key *k, u32 user)
{
	struct iot_path *p = bpf_ringbuf_reserve(&names, sizeof(*p), 0);

	if (!p)
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

/* The name of one component behind those that are there. Not 0: there is no more room, or no name. */
static __always_inline long path_add(struct iot_path *out, struct dentry *d)
{
	u64 len = out->len;
	long got;

	if (len >= IOT_PATH_MAX)
		return 1;
	len = INDEX(len, IOT_PATH_MAX); /* the verifier of 6.1 forgets the bound above when the register was spilled */
	got = bpf_probe_read_kernel_str(&out->buf[len], IOT_NAME_MAX + 1, BPF_CORE_READ(d, d_name.name));
	if (got <= 0)
		return 1;
	out->len = len + got;
	out->parts++;
	return 0;
}

#endif
