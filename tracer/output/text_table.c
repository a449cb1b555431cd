// SPDX-License-Identifier: GPL-3.0-only
/* text_table.c - lines of the older table. */
#include <ctype.h>
#include <stdio.h>
#include "text_parts.h"

void text_table_header(struct text *t)
{
	t->n += sprintf(t->buf + t->n, "%-23s %-8s %-12s %-8s %-8s %-15s %-8s %-12s %-7s %s\n",
			"TIME", "SYSTEM", "EVENT_TYPE", "PID", "TID", "COMM", "SIZE", "OFFSET",
			"LAT(us)", "RET");
}

/* Appends blanks up to column `width` counted from `from`. */
static void pad(struct text *t, size_t from, size_t width)
{
	while (t->n - from < width)
		put_blank(t);
	put_blank(t);
}

static void put_left(struct text *t, u64 v, size_t width)
{
	size_t from = t->n;

	put_number(t, v, 0);
	pad(t, from, width);
}

static void put_upper(struct text *t, const char *s)
{
	while (*s)
		t->buf[t->n++] = toupper((unsigned char)*s++);
}

/* Appends a type: the layer, and the operation without the name of the layer before it. Calls and
 * requests that move bytes are all called read and write. */
static void put_type(struct text *t, u8 layer, u8 kind, const char *op, size_t width)
{
	const struct text_kind *k = &text_kinds[kind];
	size_t from = t->n, len = strlen(text_layers[layer].name);
	bool plain = layer == LAYER_SYSCALL || layer == LAYER_URING || layer == LAYER_STORAGE;

	put_text(t, text_layers[layer].upper, 0);
	t->buf[t->n++] = '_';
	if (plain && !op && (k->dir == 'r' || k->dir == 'w'))
		op = k->dir == 'r' ? "read" : "write";
	if (layer == LAYER_STORAGE && !op)
		op = k->dir == 's' ? "sync" : "meta";
	if (!op)
		op = !strncmp(k->name, text_layers[layer].name, len) && k->name[len] == '_' ?
			k->name + len + 1 : k->name;
	put_upper(t, op);
	pad(t, from, width);
}

/* Appends the columns; the caller ends the line. */
static void put_row(struct text *t, const struct iot_event *e, u8 layer, u8 kind)
{
	u64 ns = t->last_ns + t->wall_ns;
	const struct who *w = text_who(&t->names, e->owner ? e->owner : e->task);
	size_t from = t->n;

	put_text(t, text_clock(t, ns), 0);
	t->buf[t->n++] = '.';
	put_digits(t, ns, 9);
	pad(t, from, 23);
	put_text(t, w->system, 8);
	put_blank(t);
	put_type(t, layer, kind, layer == LAYER_URING ? text_opcode(t, e) : NULL, 12);
	put_left(t, w->pid, 8);
	put_left(t, e->tid, 8);
	put_text(t, w->comm, 15);
	put_blank(t);
	put_left(t, e->size, 8);
	put_left(t, e->offset, 12);
	from = t->n;
	put_us(t, e->dur_ns, 3);
	pad(t, from, 7);
	if (e->err)
		t->buf[t->n++] = '-';
	put_number(t, e->err ? e->err : e->bytes, 0);
}

static void end_row(struct text *t, const struct iot_event *e)
{
	text_put_detail(t, e);
	t->buf[t->n++] = '\n';
}

/* Appends what the VFS does for a call, where no probe measures it. */
static void put_vfs(struct text *t, const struct iot_event *e)
{
	char dir = text_kinds[e->kind].dir;
	struct iot_event v = *e;
	size_t n = 0;
	u8 vfs;

	if (text_on_file(e) && !t->vfs_measured && (dir == 'r' || dir == 'w')) {
		put_row(t, e, LAYER_VFS, dir == 'r' ? KIND_VFS_READ : KIND_VFS_WRITE);
		end_row(t, e);
	}
	v.bytes = 0;
	while ((vfs = text_implied(t, e, &n)) != KIND_NONE) {
		put_row(t, &v, LAYER_VFS, vfs);
		end_row(t, e);
	}
}

static void put_storage(struct text *t, const struct iot_event *e)
{
	const char *component = text_service(t, e);

	if (!component)
		return;
	put_row(t, e, LAYER_STORAGE, e->kind);
	put_blank(t);
	put_text(t, component, 0);
	end_row(t, e);
}

void text_table_event(struct text *t, const struct iot_event *e)
{
	u8 layer = text_kinds[e->kind].layer;

	put_row(t, e, layer, e->kind);
	end_row(t, e);
	if (layer != LAYER_SYSCALL && layer != LAYER_URING)
		return;
	put_vfs(t, e);
	put_storage(t, e);
}
