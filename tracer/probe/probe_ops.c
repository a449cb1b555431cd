// SPDX-License-Identifier: GPL-3.0-only
/* probe_ops.c - names of the numbers in column `op`, as the running kernel's types have them.
 *
 * To add numbers of another kind: an OPS_x, a row here, and its scope in describe_ops().
 */
#include <stdlib.h>
#include <string.h>
#include "probe_parts.h"

#define MOST_PREFIXES 2

/* Prefixes are taken off; a name with none of them is no name of a number. */
static const struct {
	const char *type, *prefix[MOST_PREFIXES], *last;
} enums[OPS_MAX] = {
	[OPS_URING] = { "io_uring_op", { "IORING_OP_" }, "LAST" },
	[OPS_DROP] = { "skb_drop_reason", { "SKB_DROP_REASON_", "SKB_" }, "MAX" },
};

static const char *plain_name(size_t which, const char *name)
{
	for (size_t i = 0; i < MOST_PREFIXES && enums[which].prefix[i]; i++) {
		size_t len = strlen(enums[which].prefix[i]);

		if (!strncmp(name, enums[which].prefix[i], len))
			return strcmp(name + len, enums[which].last) ? name + len : NULL;
	}
	return NULL;
}

static void read_enum(struct probes *p, size_t which)
{
	int id = btf__find_by_name_kind(p->vmlinux, enums[which].type, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(p->vmlinux, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(p->vmlinux, btf_enum(t)[i].name_off);
		const char *plain = plain_name(which, name);
		u32 op = btf_enum(t)[i].val;

		if (plain && op < N_OF(p->ops[which]) && !p->ops[which][op])
			p->ops[which][op] = strdup(plain);
	}
}

void ops_read(struct probes *p)
{
	for (size_t i = 0; i < OPS_MAX; i++)
		read_enum(p, i);
}

void ops_free(struct probes *p)
{
	for (size_t i = 0; i < OPS_MAX; i++)
		for (size_t op = 0; op < N_OF(p->ops[i]); op++)
			free(p->ops[i][op]);
}

const char *probes_op(const struct probes *p, enum probe_ops which, u32 op)
{
	return op < N_OF(p->ops[which]) ? p->ops[which][op] : NULL;
}
