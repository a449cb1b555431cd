/* SPDX-License-Identifier: GPL-3.0-only */
/* text_parts.h - the sink of text.c, and the pieces that lines of both styles are made of: without
 * printf(3), which is too slow for a million events a second. The buffer has room for the lines of
 * one event (release_one()).
 */
#ifndef IOT_TRACER_TEXT_PARTS_H
#define IOT_TRACER_TEXT_PARTS_H

#include <string.h>
#include <time.h>
#include "text.h"
#include "text_names.h"
#include "text_paths.h"
#include "tracer.h"

/* Events are held in slots. The order is kept in an array of its own, so that sorting moves only
 * small elements. */
struct held {
	u64 end_ns;
	u32 slot;
};

struct text {
	struct sink sink;
	int fd;
	char *name;
	enum text_style style;
	u64 wall_ns, start_ns, last_ns;
	bool vfs_measured;
	u32 whole;              /* layers that the run recorded whole, bits 1 << LAYER_x */
	char *uring_ops[256];   /* names of opcodes, where layer uring is whole; else NULL */
	char *drops[256];       /* names of reasons of drops, where layer net is whole; else NULL */
	struct iot_event *slots;
	u32 *free_slots;
	struct held *held;      /* by time; the first n_done were written */
	size_t n_held, n_done;
	struct text_names names;
	bool has_paths;         /* lines end with them */
	struct text_paths paths;
	const char *path[TEXT_PATHS]; /* of the event that is written */
	time_t second;
	char clock[16];         /* HH:MM:SS of the second formatted last */
	char *buf;
	size_t n;
};

/* Names of a kind of event. */
struct text_kind {
	const char *name, *text;
	u8 layer;
	char dir;
};

struct text_layer {
	const char *name, *text, *upper; /* upper: the type of the table style */
};

extern const struct text_kind text_kinds[KIND_MAX];
extern const struct text_layer text_layers[LAYER_MAX];

/* The clock of a moment, HH:MM:SS. Lives until the next call. */
const char *text_clock(struct text *, u64 ns);

/* The opcode of a request of io_uring; NULL: of another kind, or the layer is not traced whole. */
const char *text_opcode(const struct text *, const struct iot_event *);

/* True for calls on regular files and block devices. */
static inline bool text_on_file(const struct iot_event *e)
{
	return e->sub == SUB_FT_REG || e->sub == SUB_FT_BLK;
}

/* The component that a call of a storage system is about; NULL: none, or of no system. */
const char *text_service(const struct text *, const struct iot_event *);

/* True for calls on files and on names, not on pipes, sockets and the like. */
bool text_has_file(const struct iot_event *);

/* The operation of the VFS that a call implies beside a read or a write; KIND_NONE: none. n: 0, and
 * more after an answer. */
u8 text_implied(const struct text *, const struct iot_event *, size_t *n);

/* Appends what a line of a layer that is traced whole has at its end. */
void text_put_detail(struct text *, const struct iot_event *);

/* Append the header of a style, and the lines of an event. */
void text_trace_header(struct text *);
void text_trace_event(struct text *, const struct iot_event *);
void text_table_header(struct text *);
void text_table_event(struct text *, const struct iot_event *);

static inline void put_text(struct text *t, const char *s, size_t width)
{
	size_t len = strlen(s);

	memcpy(t->buf + t->n, s, len);
	t->n += len;
	for (; len < width; len++)
		t->buf[t->n++] = ' ';
}

static inline void put_number(struct text *t, u64 v, size_t width)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = '0' + v % 10;
	while (v /= 10);
	for (; width > n; width--)
		t->buf[t->n++] = ' ';
	while (n)
		t->buf[t->n++] = digits[--n];
}

/* Appends the last `n` digits with leading zeros. */
static inline void put_digits(struct text *t, u64 v, size_t n)
{
	for (size_t i = n; i; i--, v /= 10)
		t->buf[t->n + i - 1] = '0' + v % 10;
	t->n += n;
}

/* Appends nanoseconds as microseconds with two decimals; "-" for 0, which was not timed. */
static inline void put_us(struct text *t, u64 ns, size_t width)
{
	u64 hundredths = (ns + 5) / 10;

	for (; !ns && width > 1; width--)
		t->buf[t->n++] = ' ';
	if (!ns) {
		t->buf[t->n++] = '-';
		return;
	}
	put_number(t, hundredths / 100, width - 3);
	t->buf[t->n++] = '.';
	put_digits(t, hundredths % 100, 2);
}

static inline void put_blank(struct text *t)
{
	t->buf[t->n++] = ' ';
}

#endif
