// SPDX-License-Identifier: GPL-3.0-only
/* text_parts.c - names of kinds and layers for lines, and what a call means to the VFS and to a
 * storage system.
 */
#include "text_parts.h"

const struct text_kind text_kinds[KIND_MAX] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = { name, text, LAYER_##layer, dir },
#include "kinds.def"
};

const struct text_layer text_layers[LAYER_MAX] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = { name, text, #sym },
#include "kinds.def"
};

const char *text_clock(struct text *t, u64 ns)
{
	time_t second = ns / NSEC;
	struct tm tm;

	if (second != t->second) {
		localtime_r(&second, &tm);
		strftime(t->clock, sizeof(t->clock), "%H:%M:%S", &tm);
		t->second = second;
	}
	return t->clock;
}

const char *text_opcode(const struct text *t, const struct iot_event *e)
{
	return text_kinds[e->kind].layer == LAYER_URING ? t->uring_ops[e->op] : NULL;
}

bool text_has_file(const struct iot_event *e)
{
	return e->sub != SUB_FT_SOCK && e->sub != SUB_NET_UNIX && e->sub != SUB_FT_PIPE &&
	       e->sub != SUB_FT_CHR && e->sub != SUB_FT_PSEUDO && e->sub != SUB_FT_OTHER;
}

const char *text_service(const struct text *t, const struct iot_event *e)
{
	const struct text_kind *k = &text_kinds[e->kind];

	if (!text_on_file(e) && (e->sub != SUB_NONE || k->layer != LAYER_SYSCALL || k->dir == 'r' ||
	    k->dir == 'w'))
		return NULL;
	if (*text_who(&t->names, e->owner ? e->owner : e->task)->system == '-')
		return NULL;
	return text_component(&t->names, e->file, e->component);
}

static const struct {
	u8 kind, vfs;
	short op;               /* only with this number in `op`; -1: any */
	u32 flag;               /* only with this flag; 0: any */
	u8 file;                /* as in operations.def */
} implied[] = {
#define FLAG_NONE 0
#define IMPLIES(kind, vfs, op, flag, file) { KIND_##kind, KIND_##vfs, op, FLAG_##flag, file },
#include "operations.def"
};

static bool is_implied_by(const struct iot_event *e, u8 file)
{
	switch (file) {
	case 1:
		return text_has_file(e);
	case 2:
		return e->sub == SUB_FT_DIR;
	case 3:
		return e->sub != SUB_FT_DIR;
	default:
		return true;
	}
}

u8 text_implied(const struct text *t, const struct iot_event *e, size_t *n)
{
	while (!t->vfs_measured && t->whole >> LAYER_VFS & 1 && *n < N_OF(implied)) {
		size_t i = (*n)++;

		if (implied[i].kind == e->kind && implied[i].vfs != KIND_VFS_READ &&
		    implied[i].vfs != KIND_VFS_WRITE &&
		    (implied[i].op < 0 || implied[i].op == e->op) &&
		    (e->flags & implied[i].flag) == implied[i].flag &&
		    is_implied_by(e, implied[i].file))
			return implied[i].vfs;
	}
	return KIND_NONE;
}
