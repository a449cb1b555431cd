// SPDX-License-Identifier: GPL-3.0-only
/* probe_ops.c - names of the numbers in column `op`, as the running kernel's types have them. */
#include <stdlib.h>
#include <string.h>
#include "probe_parts.h"

#define OP_ENUM "io_uring_op"
#define OP_PREFIX "IORING_OP_"
#define OP_LAST "IORING_OP_LAST"

void ops_read(struct probes *p)
{
	int id = btf__find_by_name_kind(p->vmlinux, OP_ENUM, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(p->vmlinux, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(p->vmlinux, btf_enum(t)[i].name_off);
		u32 op = btf_enum(t)[i].val;

		if (op < N_OF(p->uring_ops) && !p->uring_ops[op] && strcmp(name, OP_LAST) &&
		    !strncmp(name, OP_PREFIX, strlen(OP_PREFIX)))
			p->uring_ops[op] = strdup(name + strlen(OP_PREFIX));
	}
}

void ops_free(struct probes *p)
{
	for (size_t i = 0; i < N_OF(p->uring_ops); i++)
		free(p->uring_ops[i]);
}

const char *probes_uring_op(const struct probes *p, u32 op)
{
	return op < N_OF(p->uring_ops) ? p->uring_ops[op] : NULL;
}
