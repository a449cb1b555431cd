/* SPDX-License-Identifier: GPL-3.0-only */
/* path.bpf.h - a path is made name by name, from the leaf upwards. */
#ifndef IOT_PATH_BPF_H
#define IOT_PATH_BPF_H

#include "record.bpf.h"

/* The name of one component behind those that are there. Not 0: there is no more room, or no name. */
static __always_inline long path_add(struct iot_path *out, struct dentry *d)
{
	u64 len = out->len;
	long got;

	if (len >= IOT_PATH_MAX)
		return 1;
	/* 6.1's verifier forgets the bound above when the register was spilled: said again, where the compiler cannot see */
	asm volatile("%0 &= 1023" : "+r"(len));
	got = bpf_probe_read_kernel_str(&out->buf[len], IOT_NAME_MAX + 1, BPF_CORE_READ(d, d_name.name));
	if (got <= 0)
		return 1;
	out->len = len + got;
	out->parts++;
	return 0;
}

#endif
