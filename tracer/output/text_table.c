// SPDX-License-Identifier: GPL-3.0-only
/* text_table.c - lines of the older table. */
#include <ctype.h>
#include <stdio.h>
#include "text_parts.h"

void text_table_header(struct text *t)
{
	t->n += sprintf(t->buf + t->n, "%-23s %-8s %-12s %-8s %-8s %-15s %-8s %-12s %-7s %s\n",
			"TIME", "SYSTEM", "EVENT_TYPE", "PID", "TID", "COMM", "SIZE", "OFFSET", "LAT(us)",
			"RET");
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

static void put_type(struct text *t, u8 kind, const char *op, size_t width)
{
	size_t from = t->n;

	put_text(t, text_layers[text_kinds[kind].layer].upper, 0);
	t->buf[t->n++] = '_';
	put_upper(t, op ? op : text_kinds[kind].dir == 'r' ? "read" :
		text_kinds[kind].dir == 'w' ? "write" : text_kinds[kind].name);
	pad(t, from, width);
}

void text_table_event(struct text *t, const struct iot_event *e)
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
	put_type(t, e->kind, text_opcode(t, e), 12);
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
	t->buf[t->n++] = '\n';
}
