// SPDX-License-Identifier: GPL-3.0-only
/* text.c - events as lines that grep and awk can take apart; iot-trace(8) documents both styles.
 *
 * A line is dated by when its operation ended, because that is when it is known. Processors deliver slightly out of
 * order, so lines wait 100 ms and are sorted; one that comes later still gets the time of the line before it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "text.h"
#include "tracer.h"

#define HOLD_NS (NSEC / 10)
#define MAX_HELD 65536
#define BUFFER (256u << 10)
#define LINE_MAX_BYTES 512
#define BLOCK_BYTES 4096ull

static const struct {
	const char *name, *text;
	u8 layer;
	char dir;
} kinds[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = { name, text, LAYER_##layer, dir },
#include "kinds.def"
};

static const struct {
	const char *name, *text;
} layers[] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = { name, text },
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

/* Words in brackets for kinds whose direction does not say enough. */
static const struct {
	u8 kind;
	const char *tag;
} tags[] = {
	{ KIND_BLK_FLUSH, "FLUSH" },
	{ KIND_BLK_DISCARD, "DISCARD" },
	{ KIND_BLK_ZEROES, "ZEROES" },
};

struct held {
	u64 end_ns;
	u32 nr;
	struct iot_event e;
};

struct who {
	u32 pid;
	char comm[IOT_COMM_LEN + 1], system[24];
};

struct text {
	struct sink sink;
	int fd;
	char *name;
	enum text_style style;
	u64 wall_ns, start_ns, last_ns;
	bool vfs_measured;
	struct held *held;
	size_t n_held;
	u32 nr;
	u64 sorted_ns;          /* when lines were last written */
	struct who *who;        /* by process id */
	size_t room_who;
	u32 *stacked;           /* devices whose bytes are those of another one */
	size_t n_stacked, room_stacked;
	time_t second;
	char clock[16];         /* HH:MM:SS of that second */
	char *buf;
	size_t n;
};

static int text_flush(struct text *t)
{
	size_t done = 0;
	ssize_t n;

	while (done < t->n) {
		n = write(t->fd, t->buf + done, t->n - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			return -EPIPE;
		if (n < 0)
			return fail(errno, "cannot write %s", t->name);
		done += n;
	}
	t->n = 0;
	return 0;
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

/* Words that stand in the column of layers stand nowhere else: `grep -c OS` must count lines of one layer. */
static void hide_words(char *s)
{
	for (size_t i = LAYER_NONE + 1; i < N_OF(layers); i++)
		for (char *p = s; (p = strstr(p, layers[i].text)); )
			for (size_t j = strlen(layers[i].text); j; j--, p++)
				*p = tolower((unsigned char)*p);
}

static void clean(char *to, size_t size, const char *from)
{
	size_t n;

	for (n = 0; from[n] && n < size - 1; n++)
		to[n] = from[n] > ' ' && from[n] < 127 ? from[n] : '_';
	to[n] = '\0';
	hide_words(to);
}

static int learn_process(struct text *t, const struct rec_process *r)
{
	struct who *w;

	while (r->id >= t->room_who) {
		size_t old = t->room_who;

		if (grow((void **)&t->who, t->room_who, &t->room_who, sizeof(*t->who)))
			return fail(ENOMEM, "processes of %s", t->name);
		memset(t->who + old, 0, (t->room_who - old) * sizeof(*t->who));
	}
	w = &t->who[r->id];
	w->pid = r->pid;
	clean(w->comm, sizeof(w->comm), *r->comm ? r->comm : "_");
	clean(w->system, sizeof(w->system), r->system ? r->system : "-");
	return 0;
}

static int learn_device(struct text *t, const struct rec_device *r)
{
	if (r->leaf || !(r->dev >> 20))
		return 0;
	if (grow((void **)&t->stacked, t->n_stacked, &t->room_stacked, sizeof(*t->stacked)))
		return fail(ENOMEM, "devices of %s", t->name);
	t->stacked[t->n_stacked++] = r->dev;
	return 0;
}

static void put_header(struct text *t)
{
	if (t->style == TEXT_TABLE) {
		t->n += sprintf(t->buf + t->n, "%-23s %-8s %-12s %-8s %-8s %-15s %-8s %-12s %-7s %s\n", "TIME", "SYSTEM", "EVENT_TYPE",
				"PID", "TID", "COMM", "SIZE", "OFFSET", "LAT(us)", "RET");
		return;
	}
	t->n += sprintf(t->buf + t->n, "%-16s %-12s %-25s %7s %7s %8s %-15s %s\n", "TIME", "LAYER", "EVENT", "SIZE", "ALIGNED",
			"LAT(\u03bcs)", "COMM", "FLAGS");
	memset(t->buf + t->n, '=', 72);
	t->n += 72;
	t->buf[t->n++] = '\n';
}

static const struct who *who_is(const struct text *t, u32 id)
{
	static struct who unnamed;

	if (id < t->room_who && t->who[id].comm[0])
		return &t->who[id];
	snprintf(unnamed.comm, sizeof(unnamed.comm), "process_%u", id % 10000000);
	strcpy(unnamed.system, "-");
	if (!id || id == PROC_OTHER)
		strcpy(unnamed.comm, id ? "other" : "unattributed");
	return &unnamed;
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

static void put_flags(char *to, size_t size, const struct iot_event *e, u32 bits)
{
	char sep = ' ';
	size_t n = snprintf(to, size, "[%s]", tag_of(e->kind));

	for (size_t i = 0; i < N_OF(flags); i++)
		if (bits & flags[i].bit && n < size) {
			n += snprintf(to + n, size - n, "%c%s", sep, flags[i].name);
			sep = '|';
		}
	if (e->cause && e->cause < CAUSE_MAX && n < size)
		snprintf(to + n, size - n, " %s", causes[e->cause]);
}

/* Bytes of the blocks that a range of a file touches. */
static u64 aligned(const struct iot_event *e)
{
	u64 from = e->offset & ~(BLOCK_BYTES - 1), to = (e->offset + e->bytes + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);

	return e->bytes ? to - from : 0;
}

static void put_line(struct text *t, const struct iot_event *e, const char *layer, const char *event, u64 size_aligned, u32 bits)
{
	u64 ns = t->last_ns + t->wall_ns;
	char text[128];

	put_flags(text, sizeof(text), e, bits);
	t->n += sprintf(t->buf + t->n, "%s.%03llu %-12s %-25s %7llu %7llu %8.2f %-15s %s\n", clock_text(t, ns),
			(unsigned long long)(ns % NSEC / 1000000), layer, event, (unsigned long long)e->bytes,
			(unsigned long long)size_aligned, e->dur_ns / 1000.0, who_is(t, e->owner ? e->owner : e->task)->comm, text);
}

static bool on_file(const struct iot_event *e)
{
	return e->sub == SUB_FT_REG || e->sub == SUB_FT_BLK;
}

/* A system call, and the pass through the VFS that it implies where no probe measures that. */
static void put_call(struct text *t, const struct iot_event *e)
{
	char dir = kinds[e->kind].dir;
	bool bytes = dir == 'r' || dir == 'w';

	if (!on_file(e) && (bytes || e->sub != SUB_NONE))
		return;
	put_line(t, e, "APPLICATION", kinds[e->kind].text, e->bytes, e->flags);
	if (bytes && !t->vfs_measured)
		put_line(t, e, "OS", dir == 'r' ? "VFS_READ" : "VFS_WRITE", aligned(e), e->flags | FLAG_DERIVED);
}

static bool is_leaf(const struct text *t, u32 dev)
{
	for (size_t i = 0; i < t->n_stacked; i++)
		if (t->stacked[i] == dev)
			return false;
	return true;
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
		put_line(t, e, "FILESYSTEM", kinds[e->kind].text, e->bytes, e->flags);
		break;
	case LAYER_BLOCK: /* the same bytes again below a loop device, or above a disk, are no device bytes */
		if (e->cause != CAUSE_LOOPBACK && is_leaf(t, e->dev))
			put_line(t, e, "DEVICE", kinds[e->kind].text, e->bytes, e->flags);
		break;
	case LAYER_NET:
		put_line(t, e, "NETWORK", kinds[e->kind].text, e->bytes, e->flags);
		break;
	default: /* the page cache moves no bytes of its own */
		break;
	}
}

static void upper(char *to, size_t size, const char *from)
{
	size_t n;

	for (n = 0; from[n] && n < size - 1; n++)
		to[n] = toupper((unsigned char)from[n]);
	to[n] = '\0';
}

static void put_table(struct text *t, const struct iot_event *e)
{
	u64 ns = t->last_ns + t->wall_ns;
	const struct who *w = who_is(t, e->owner ? e->owner : e->task);
	char dir = kinds[e->kind].dir, what[48], type[64], when[40];

	upper(what, sizeof(what), dir == 'r' ? "read" : dir == 'w' ? "write" : kinds[e->kind].name);
	upper(type, sizeof(type), layers[kinds[e->kind].layer].name);
	strcat(strcat(type, "_"), what);
	snprintf(when, sizeof(when), "%s.%09llu", clock_text(t, ns), (unsigned long long)(ns % NSEC));
	t->n += sprintf(t->buf + t->n, "%-23s %-8s %-12s %-8u %-8u %-15s %-8llu %-12llu %-7.2f %lld\n", when, w->system, type, w->pid,
			e->tid, w->comm, (unsigned long long)e->size, (unsigned long long)e->offset, e->dur_ns / 1000.0,
			e->err ? -(long long)e->err : (long long)e->bytes);
}

static int by_end(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

/* Writes what ended at `until_ns` or before. */
static int release(struct text *t, u64 until_ns)
{
	size_t i;
	int err;

	qsort(t->held, t->n_held, sizeof(*t->held), by_end);
	for (i = 0; i < t->n_held && t->held[i].end_ns <= until_ns; i++) {
		const struct iot_event *e = &t->held[i].e;

		if (t->held[i].end_ns > t->last_ns)
			t->last_ns = t->held[i].end_ns;
		if (t->style == TEXT_TABLE)
			put_table(t, e);
		else
			put_trace(t, e);
		if (t->n + 2 * LINE_MAX_BYTES < BUFFER)
			continue;
		err = text_flush(t);
		if (err)
			return err;
	}
	t->n_held -= i;
	memmove(t->held, t->held + i, t->n_held * sizeof(*t->held));
	return 0;
}

static int release_old(struct text *t, bool now)
{
	u64 since = clock_now(CLOCK_MONOTONIC) - t->start_ns;

	if (!now && since < t->sorted_ns + HOLD_NS)
		return 0;
	t->sorted_ns = since;
	return release(t, since > HOLD_NS ? since - HOLD_NS : 0);
}

static int text_events(struct sink *s, const struct iot_event *e, size_t n)
{
	struct text *t = (struct text *)s;
	int err;

	for (size_t i = 0; i < n; i++) {
		if (e[i].kind >= KIND_MAX)
			continue;
		if (t->n_held == MAX_HELD) { /* a flood: what is older than the middle goes early */
			qsort(t->held, t->n_held, sizeof(*t->held), by_end);
			err = release(t, t->held[MAX_HELD / 2].end_ns);
			if (err)
				return err;
		}
		t->held[t->n_held++] = (struct held){ e[i].ts_ns + e[i].dur_ns, t->nr++, e[i] };
	}
	return release_old(t, false);
}

static int text_record(struct sink *s, enum rec_type type, const void *rec)
{
	struct text *t = (struct text *)s;
	const struct rec_run *run = rec;

	switch (type) {
	case REC_run:
		t->wall_ns = run->wall_ns;
		t->start_ns = run->boot_ns;
		t->vfs_measured = strstr(run->layers, layers[LAYER_VFS].name);
		put_header(t);
		return 0;
	case REC_process:
		return learn_process(t, rec);
	case REC_device:
		return learn_device(t, rec);
	default:
		return 0;
	}
}

static int text_commit(struct sink *s)
{
	struct text *t = (struct text *)s;
	int err = release_old(t, true);

	return err ? err : text_flush(t);
}

static int text_close(struct sink *s, bool complete)
{
	struct text *t = (struct text *)s;
	int err = complete ? release(t, ~0ull) : 0;

	if (!err && complete)
		err = text_flush(t);
	free(t->held);
	free(t->who);
	free(t->stacked);
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
	t->held = calloc(MAX_HELD, sizeof(*t->held));
	t->buf = malloc(BUFFER);
	t->sink = (struct sink){ t->name, text_record, text_events, text_commit, text_close };
	*out = &t->sink;
	if (t->name && t->held && t->buf)
		return 0;
	text_close(&t->sink, false);
	*out = NULL;
	return fail(ENOMEM, "%s", name);
}
