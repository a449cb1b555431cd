// SPDX-License-Identifier: GPL-3.0-only
/* text.c - events as lines for grep and awk; iot-trace(8) documents both styles.
 *
 * A line carries the time at which its operation ended. Processors deliver slightly out of order,
 * so lines wait 100 ms and are sorted; a later one gets the time of the line before it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "out.h"
#include "text.h"
#include "text_names.h"
#include "tracer.h"

#define HOLD_NS (NSEC / 10)
#define MAX_HELD 65536
#define BUFFER (256u << 10)
#define LINE_MAX_BYTES 512
#define BLOCK_BYTES 4096ull
#define OP_NAME_MAX 32

static const struct {
	const char *name, *text;
	u8 layer;
	char dir;
} kinds[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = { name, text, LAYER_##layer, dir },
#include "kinds.def"
};

static const struct {
	const char *name, *text, *upper; /* upper: the type of the table style */
} layers[] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = { name, text, #sym },
#include "kinds.def"
};

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
	bool uring_whole;
	char *uring_ops[256];   /* names of opcodes, where uring_whole; else NULL */
	struct iot_event *slots;
	u32 *free_slots;
	struct held *held;      /* by time; the first n_done were written */
	size_t n_held, n_done;
	struct text_names names;
	time_t second;
	char clock[16];         /* HH:MM:SS of the second formatted last */
	char *buf;
	size_t n;
};

static int text_flush(struct text *t)
{
	int err = out_write(t->fd, t->buf, t->n);

	t->n = 0;
	if (err && err != -EPIPE)
		fail(0, "cannot write %s: %s", t->name, out_error(err));
	return err;
}

static const char *clock_text(struct text *t, u64 ns)
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

static void put_header(struct text *t)
{
	if (t->style == TEXT_TABLE) {
		t->n += sprintf(t->buf + t->n,
			"%-23s %-8s %-12s %-8s %-8s %-15s %-8s %-12s %-7s %s\n", "TIME", "SYSTEM",
			"EVENT_TYPE",
				"PID", "TID", "COMM", "SIZE", "OFFSET", "LAT(us)", "RET");
		return;
	}
	t->n += sprintf(t->buf + t->n, "%-16s %-12s %-25s %7s %7s %8s %-15s %s\n", "TIME", "LAYER",
		"EVENT", "SIZE", "ALIGNED",
			"LAT(\u03bcs)", "COMM", "FLAGS");
	memset(t->buf + t->n, '=', 72);
	t->n += 72;
	t->buf[t->n++] = '\n';
}

static const char *tag_of(u8 kind)
{
	for (size_t i = 0; i < N_OF(tags); i++)
		if (tags[i].kind == kind)
			return tags[i].tag;
	switch (kinds[kind].dir) {
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

/* --- lines, without printf(3), which is too slow for a million events a second --- */

static void put_text(struct text *t, const char *s, size_t width)
{
	size_t len = strlen(s);

	memcpy(t->buf + t->n, s, len);
	t->n += len;
	for (; len < width; len++)
		t->buf[t->n++] = ' ';
}

static void put_number(struct text *t, u64 v, size_t width)
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
static void put_digits(struct text *t, u64 v, size_t n)
{
	for (size_t i = n; i; i--, v /= 10)
		t->buf[t->n + i - 1] = '0' + v % 10;
	t->n += n;
}

/* Appends nanoseconds as microseconds with two decimals; "-" for 0, which was not timed. */
static void put_us(struct text *t, u64 ns, size_t width)
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

static void put_blank(struct text *t)
{
	t->buf[t->n++] = ' ';
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

	put_text(t, clock_text(t, ns), 0);
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
	t->buf[t->n++] = '\n';
}

/* Appends a block request and the thread that issued it, which is often not its owner. */
static void put_request(struct text *t, const struct iot_event *e)
{
	put_columns(t, e, "DEVICE", kinds[e->kind].text, e->bytes);
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
	const char *system = text_who(&t->names, e->owner ? e->owner : e->task)->system,
		*component = text_component(&t->names, e->file, e->component);
	char dir = kinds[e->kind].dir;

	if (*system == '-' || !component)
		return;
	put_columns(t, e, layers[LAYER_STORAGE].text, dir == 'r' ? "SVC_READ" : dir == 'w' ?
		"SVC_WRITE" : dir == 's' ? "SVC_SYNC" : "SVC_META", e->bytes);
	put_flags(t, e, 0);
	put_blank(t);
	put_text(t, system, 0);
	put_blank(t);
	put_text(t, component, 0);
	t->buf[t->n++] = '\n';
}

/* The opcode of a request of io_uring; NULL: of another kind, or the layer is not traced whole. */
static const char *opcode(const struct text *t, const struct iot_event *e)
{
	return kinds[e->kind].layer == LAYER_URING ? t->uring_ops[e->op] : NULL;
}

static bool on_file(const struct iot_event *e)
{
	return e->sub == SUB_FT_REG || e->sub == SUB_FT_BLK;
}

/* Appends a system call, and the pass through the VFS that it implies where no probe measures the
 * VFS. */
static void put_call(struct text *t, const struct iot_event *e)
{
	char dir = kinds[e->kind].dir;
	bool bytes = dir == 'r' || dir == 'w';
	const char *op = opcode(t, e);
	char event[64];

	if (!on_file(e) && (bytes || e->sub != SUB_NONE) && !op)
		return;
	if (op)
		snprintf(event, sizeof(event), "APP_URING_%s", op);
	put_line(t, e, "APPLICATION", op ? event : kinds[e->kind].text, e->bytes, e->flags);
	if (op && !on_file(e))
		return;
	if (bytes && !t->vfs_measured)
		put_line(t, e, "OS", dir == 'r' ? "VFS_READ" : "VFS_WRITE", aligned(e),
			e->flags | FLAG_DERIVED);
	put_service(t, e);
}

static void put_trace(struct text *t, const struct iot_event *e)
{
	switch (kinds[e->kind].layer) {
	case LAYER_SYSCALL:
	case LAYER_URING:
		put_call(t, e);
		break;
	case LAYER_VFS:
		put_line(t, e, "OS", kinds[e->kind].text, aligned(e), e->flags);
		break;
	case LAYER_FS:
		if (IOT_BELOW_LOOP >> e->cause & 1)
			break;
		put_line(t, e, "FILESYSTEM", kinds[e->kind].text, e->bytes, e->flags);
		break;
	/* bytes repeated below a loop device or above a disk are not device bytes */
	case LAYER_BLOCK:
		if (!(IOT_BELOW_LOOP >> e->cause & 1) && text_is_leaf(&t->names, e->dev))
			put_request(t, e);
		break;
	case LAYER_NET:
		put_line(t, e, "NETWORK", kinds[e->kind].text, e->bytes, e->flags);
		break;
	default: /* the page cache moves no bytes of its own */
		break;
	}
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

	put_text(t, layers[kinds[kind].layer].upper, 0);
	t->buf[t->n++] = '_';
	put_upper(t, op ? op : kinds[kind].dir == 'r' ? "read" : kinds[kind].dir == 'w' ? "write" :
		kinds[kind].name);
	pad(t, from, width);
}

static void put_table(struct text *t, const struct iot_event *e)
{
	u64 ns = t->last_ns + t->wall_ns;
	const struct who *w = text_who(&t->names, e->owner ? e->owner : e->task);
	size_t from = t->n;

	put_text(t, clock_text(t, ns), 0);
	t->buf[t->n++] = '.';
	put_digits(t, ns, 9);
	pad(t, from, 23);
	put_text(t, w->system, 8);
	put_blank(t);
	put_type(t, e->kind, opcode(t, e), 12);
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

/* Writes the oldest event. */
static int release_one(struct text *t)
{
	const struct held *h = &t->held[t->n_done++];

	if (h->end_ns > t->last_ns)
		t->last_ns = h->end_ns;
	if (t->style == TEXT_TABLE)
		put_table(t, &t->slots[h->slot]);
	else
		put_trace(t, &t->slots[h->slot]);
	t->free_slots[MAX_HELD - (t->n_held - t->n_done) - 1] = h->slot;
	return t->n + 3 * LINE_MAX_BYTES < BUFFER ? 0 : text_flush(t);
}

/* Writes events that ended at `until_ns` or before. */
static int release(struct text *t, u64 until_ns)
{
	int err = 0;

	while (!err && t->n_done < t->n_held && t->held[t->n_done].end_ns <= until_ns)
		err = release_one(t);
	return err;
}

static int release_old(struct text *t)
{
	u64 since = clock_now(CLOCK_MONOTONIC) - t->start_ns;

	return release(t, since > HOLD_NS ? since - HOLD_NS : 0);
}

/* The new event is nearly always the newest, so the insertion from the end is short. */
static void hold(struct text *t, const struct iot_event *e)
{
	u64 end_ns = e->ts_ns + e->dur_ns;
	size_t i;
	u32 slot;

	if (t->n_held == 2 * MAX_HELD) {
		t->n_held -= t->n_done;
		memmove(t->held, t->held + t->n_done, t->n_held * sizeof(*t->held));
		t->n_done = 0;
	}
	slot = t->free_slots[MAX_HELD - (t->n_held - t->n_done) - 1];
	t->slots[slot] = *e;
	for (i = t->n_held++; i > t->n_done && t->held[i - 1].end_ns > end_ns; i--)
		t->held[i] = t->held[i - 1];
	t->held[i] = (struct held){ end_ns, slot };
}

static int text_events(struct sink *s, const struct iot_event *e, size_t n)
{
	struct text *t = (struct text *)s;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (e[i].kind >= KIND_MAX)
			continue;
		/* flood: the oldest event is written early */
		if (t->n_held - t->n_done == MAX_HELD)
			err = release_one(t);
		hold(t, &e[i]);
	}
	return err ? err : release_old(t);
}

static int text_record(struct sink *s, enum rec_type type, const void *rec)
{
	struct text *t = (struct text *)s;
	const struct rec_run *run = rec;
	const struct rec_op_name *name = rec;

	switch (type) {
	case REC_run:
		t->wall_ns = run->wall_ns;
		t->start_ns = run->boot_ns;
		t->uring_whole = run->whole && strstr(run->whole, layers[LAYER_URING].name);
		t->vfs_measured = strstr(run->layers, layers[LAYER_VFS].name);
		put_header(t);
		return 0;
	case REC_op_name:
		if (t->uring_whole && name->op < N_OF(t->uring_ops))
			t->uring_ops[name->op] = strndup(name->name, OP_NAME_MAX);
		return 0;
	default:
		return text_learn(&t->names, type, rec);
	}
}

static int text_commit(struct sink *s)
{
	struct text *t = (struct text *)s;
	int err = release_old(t);

	return err ? err : text_flush(t);
}

static int text_close(struct sink *s, bool complete)
{
	struct text *t = (struct text *)s;
	int err = complete ? release(t, ~0ull) : 0;

	if (!err && complete)
		err = text_flush(t);
	free(t->slots);
	free(t->free_slots);
	free(t->held);
	text_names_free(&t->names);
	for (size_t i = 0; i < N_OF(t->uring_ops); i++)
		free(t->uring_ops[i]);
	free(t->buf);
	free(t->name);
	free(t);
	return err;
}

int sink_text(struct sink **out, int fd, const char *name, enum text_style style)
{
	struct text *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return fail(ENOMEM, "%s", name);
	t->fd = fd;
	t->style = style;
	t->second = -1;
	t->name = strdup(name);
	t->names.output = t->name;
	t->slots = calloc(MAX_HELD, sizeof(*t->slots));
	t->free_slots = calloc(MAX_HELD, sizeof(*t->free_slots));
	t->held = calloc(2 * MAX_HELD, sizeof(*t->held));
	t->buf = malloc(BUFFER);
	t->sink = (struct sink){ t->name, text_record, text_events, text_commit, text_close };
	*out = &t->sink;
	for (u32 i = 0; t->free_slots && i < MAX_HELD; i++)
		t->free_slots[i] = i;
	if (t->name && t->slots && t->free_slots && t->held && t->buf)
		return 0;
	text_close(&t->sink, false);
	*out = NULL;
	return fail(ENOMEM, "%s", name);
}
