// SPDX-License-Identifier: GPL-3.0-only
/* text_trace.c - lines of the text trace of working_trace.sh: columns for awk, flags in words. */
#include <stdio.h>
#include "text_parts.h"

#define BLOCK_BYTES 4096ull

static const char *const causes[] = {
#define CAUSE(sym, name, doc) [CAUSE_##sym] = name,
#include "kinds.def"
};

static const struct {
	u32 bit;
	const char *name;
} flags[] = {
#define FLAG(sym, bit, name, doc) { 1u << bit, name },
#include "kinds.def"
};

/* Words in brackets for kinds that read and write alone do not describe. */
static const struct {
	u8 kind;
	const char *tag;
} tags[] = {
	{ KIND_BLK_FLUSH, "FLUSH" },
	{ KIND_BLK_DISCARD, "DISCARD" },
	{ KIND_BLK_ZEROES, "ZEROES" },
};

static const char *tag_of(u8 kind)
{
	for (size_t i = 0; i < N_OF(tags); i++)
		if (tags[i].kind == kind)
			return tags[i].tag;
	switch (text_kinds[kind].dir) {
	case 'r':
		return "READ";
	case 'w':
		return "WRITE";
	case 's':
		return "SYNC";
	case 'm':
		return "META";
	default:
		return "OTHER";
	}
}

void text_trace_header(struct text *t)
{
	t->n += sprintf(t->buf + t->n, "%-16s %-12s %-25s %7s %7s %8s %-15s %s\n", "TIME", "LAYER",
			"EVENT", "SIZE", "ALIGNED", "LAT(\u03bcs)", "COMM", "FLAGS");
	memset(t->buf + t->n, '=', 72);
	t->n += 72;
	t->buf[t->n++] = '\n';
}

static void put_flags(struct text *t, const struct iot_event *e, u32 bits)
{
	char sep = ' ';

	t->buf[t->n++] = '[';
	put_text(t, tag_of(e->kind), 0);
	t->buf[t->n++] = ']';
	for (size_t i = 0; bits && i < N_OF(flags); i++) {
		if (!(bits & flags[i].bit))
			continue;
		t->buf[t->n++] = sep;
		put_text(t, flags[i].name, 0);
		bits &= ~flags[i].bit;
		sep = '|';
	}
	if (!e->cause || e->cause >= CAUSE_MAX)
		return;
	put_blank(t);
	put_text(t, causes[e->cause], 0);
}

/* Bytes of the blocks that the range touches. */
static u64 aligned(const struct iot_event *e)
{
	u64 from = e->offset & ~(BLOCK_BYTES - 1),
		to = (e->offset + e->bytes + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);

	return e->bytes ? to - from : 0;
}

/* Appends the columns; the caller ends the line. */
static void put_columns(struct text *t, const struct iot_event *e, const char *layer,
	const char *event, u64 size_aligned)
{
	u64 ns = t->last_ns + t->wall_ns;

	put_text(t, text_clock(t, ns), 0);
	t->buf[t->n++] = '.';
	put_digits(t, ns / 1000000, 3);
	put_blank(t);
	put_text(t, layer, 12);
	put_blank(t);
	put_text(t, event, 25);
	put_blank(t);
	put_number(t, e->bytes, 7);
	put_blank(t);
	put_number(t, size_aligned, 7);
	put_blank(t);
	put_us(t, e->dur_ns, 8);
	put_blank(t);
	put_text(t, text_who(&t->names, e->owner ? e->owner : e->task)->comm, 15);
	put_blank(t);
}

static void put_line(struct text *t, const struct iot_event *e, const char *layer,
	const char *event, u64 size_aligned, u32 bits)
{
	put_columns(t, e, layer, event, size_aligned);
	put_flags(t, e, bits);
	text_put_detail(t, e);
	t->buf[t->n++] = '\n';
}

/* Appends a block request and the thread that issued it, which is often not its owner. */
static void put_request(struct text *t, const struct iot_event *e)
{
	put_columns(t, e, "DEVICE", text_kinds[e->kind].text, e->bytes);
	put_flags(t, e, e->flags);
	if (e->tid) {
		put_text(t, " by ", 0);
		put_number(t, e->tid, 0);
	}
	t->buf[t->n++] = '\n';
}

/* Appends the storage system's view of a call: its bytes again, on a line of layer STORAGE_SVC. */
static void put_service(struct text *t, const struct iot_event *e)
{
	const char *component = text_service(t, e);
	char dir = text_kinds[e->kind].dir;

	if (!component)
		return;
	put_columns(t, e, text_layers[LAYER_STORAGE].text, dir == 'r' ? "SVC_READ" : dir == 'w' ?
		"SVC_WRITE" : dir == 's' ? "SVC_SYNC" : "SVC_META", e->bytes);
	put_flags(t, e, 0);
	put_blank(t);
	put_text(t, text_who(&t->names, e->owner ? e->owner : e->task)->system, 0);
	put_blank(t);
	put_text(t, component, 0);
	text_put_detail(t, e);
	t->buf[t->n++] = '\n';
}

/* Appends the operations of the VFS beside reads and writes that a call implies. They have no
 * bytes: these are on the line of the read or write. */
static void put_implied(struct text *t, const struct iot_event *e)
{
	struct iot_event v = *e;
	size_t n = 0;
	u8 vfs;

	v.bytes = 0;
	while ((vfs = text_implied(t, e, &n)) != KIND_NONE)
		put_line(t, &v, "OS", text_kinds[vfs].text, 0, e->flags | FLAG_DERIVED);
}

/* True when a call has a line: bytes count on regular files and block devices alone. */
static bool has_line(const struct text *t, const struct iot_event *e)
{
	char dir = text_kinds[e->kind].dir;

	if (text_on_file(e) || text_opcode(t, e))
		return true;
	if (dir == 'r' || dir == 'w')
		return false;
	return e->sub == SUB_NONE || t->whole >> LAYER_VFS & 1;
}

/* Appends a system call, and the pass through the VFS that it implies where no probe measures the
 * VFS. */
static void put_call(struct text *t, const struct iot_event *e)
{
	char dir = text_kinds[e->kind].dir;
	bool bytes = dir == 'r' || dir == 'w';
	const char *op = text_opcode(t, e);
	struct iot_event none = *e;
	char event[64];

	if (!has_line(t, e))
		return;
	if (op)
		snprintf(event, sizeof(event), "APP_URING_%s", op);
	if (op)
		text_hide_layers(event + strlen("APP_"));
	if (!text_on_file(e) && !op)
		none.bytes = 0;
	put_line(t, &none, "APPLICATION", op ? event : text_kinds[e->kind].text, none.bytes,
		 e->flags);
	if (bytes && text_on_file(e) && !t->vfs_measured)
		put_line(t, e, "OS", dir == 'r' ? "VFS_READ" : "VFS_WRITE", aligned(e),
			e->flags | FLAG_DERIVED);
	put_implied(t, e);
	put_service(t, e);
}

/* Appends an event of the page cache: its pages in bytes. */
static void put_cache(struct text *t, const struct iot_event *e)
{
	struct iot_event pages = *e;

	pages.bytes = e->size ?: e->bytes;
	put_line(t, &pages, "OS", text_kinds[e->kind].text, aligned(&pages), e->flags);
}

void text_trace_event(struct text *t, const struct iot_event *e)
{
	switch (text_kinds[e->kind].layer) {
	case LAYER_SYSCALL:
	case LAYER_URING:
		put_call(t, e);
		break;
	case LAYER_VFS:
		put_line(t, e, "OS", text_kinds[e->kind].text, aligned(e), e->flags);
		break;
	case LAYER_FS:
		if (IOT_BELOW_LOOP >> e->cause & 1)
			break;
		put_line(t, e, "FILESYSTEM", text_kinds[e->kind].text, e->bytes, e->flags);
		break;
	/* bytes repeated below a loop device or above a disk are not device bytes */
	case LAYER_BLOCK:
		if (!(IOT_BELOW_LOOP >> e->cause & 1) && text_is_leaf(&t->names, e->dev))
			put_request(t, e);
		break;
	case LAYER_NET:
		put_line(t, e, "NETWORK", text_kinds[e->kind].text, e->bytes, e->flags);
		break;
	/* the page cache moves no bytes of its own: it has lines where it is traced whole */
	case LAYER_CACHE:
		if (t->whole >> LAYER_CACHE & 1)
			put_cache(t, e);
		break;
	default:
		break;
	}
}
