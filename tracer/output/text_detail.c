// SPDX-License-Identifier: GPL-3.0-only
/* text_detail.c - the end of a line, of layers that are traced whole: error, flags and modes in
 * words, ports, pages, paths.
 */
#include <stdio.h>
#include "args.h"
#include "text_parts.h"

#define PAGE_BYTES 4096

/* Appends words of a table that the program has. Words of layers in them are in lower case, for
 * grep. */
static void put_words(struct text *t, const char *words)
{
	size_t from = t->n + 1;

	put_blank(t);
	put_text(t, words, 0);
	t->buf[t->n] = '\0';
	text_hide_layers(t->buf + from);
}

static void put_arguments(struct text *t, const struct iot_event *e)
{
	char words[ARGS_ROOM];

	if (e->err)
		put_words(t, strerrorname_np(e->err) ?: "error");
	if (args_recorded(e->kind, t->whole) && args_text(e, words))
		put_words(t, words);
}

/* Appends the kernel's reason of a drop. A retransmission has that of its earlier copy: 0 where no
 * drop of it was seen. */
static void put_reason(struct text *t, const struct iot_event *e)
{
	if (t->drops[e->op] && (e->kind == KIND_NET_DROP || (e->kind == KIND_RETRANSMIT && e->op)))
		put_words(t, t->drops[e->op]);
}

/* Appends the two ports of an operation on a socket of TCP or UDP. */
static void put_ports(struct text *t, const struct iot_event *e)
{
	if (!(u32)e->offset)
		return;
	put_blank(t);
	put_number(t, e->offset >> 16 & 0xffff, 0);
	put_text(t, "->", 0);
	put_number(t, e->offset & 0xffff, 0);
}

/* Appends the first page of an event of the page cache, and how many there are. */
static void put_pages(struct text *t, const struct iot_event *e)
{
	put_text(t, " page ", 0);
	put_number(t, e->offset / PAGE_BYTES, 0);
	put_text(t, " pages ", 0);
	put_number(t, ((e->size ?: e->bytes) + PAGE_BYTES - 1) / PAGE_BYTES, 0);
}

static void put_paths(struct text *t, const char *const text[TEXT_PATHS])
{
	static const char *const before[TEXT_PATHS] = { " ", " -> ", " attribute " };

	for (size_t i = 0; i < TEXT_PATHS; i++) {
		if (!text[i])
			continue;
		put_text(t, before[i], 0);
		put_text(t, text[i], 0);
	}
}

void text_put_detail(struct text *t, const struct iot_event *e)
{
	u8 layer = text_kinds[e->kind].layer;

	if (!t->whole)
		return;
	if (t->whole & (1u << layer | (layer == LAYER_SYSCALL ? 1u << LAYER_VFS : 0)))
		put_arguments(t, e);
	if (layer == LAYER_NET && t->whole >> LAYER_NET & 1) {
		put_reason(t, e);
		put_ports(t, e);
	}
	if (layer == LAYER_CACHE && t->whole >> LAYER_CACHE & 1)
		put_pages(t, e);
	put_paths(t, t->path);
}
