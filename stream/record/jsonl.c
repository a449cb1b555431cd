/* SPDX-License-Identifier: GPL-3.0-only */
/* jsonl.c - the sink that writes JSON Lines.
 *
 * Most lines are events, so their writer is straight-line code expanded from fields.def (25 million
 * lines a second on one core). The writer of the other records walks their table.
 */
#include <endian.h>
#include <errno.h>
#include "args.h"
#include "out.h"
#include "table.h"
#include "utf8.h"
#include "wake.h"

#define BUFFER_BYTES (256 << 10) /* small enough to be written while it is in the CPU's cache */
/* more than 22 fields with keys and 20 digits, and numbers in words, without names */
#define EVENT_MAX (1024 + ARGS_ROOM)
#define NAME_ROOM 64            /* a dictionary value with its key; a kind also has its layer */

/* The first fields of an event say when and where. The fields from TAIL_AT on say who did what to
 * which file, and are mostly the same as in a recent event: their text is cached. All bits of these
 * fields are the key of the cache, so that an entry never becomes invalid. */
enum {
	TAIL_AT = offsetof(struct iot_event, size),
	TAIL_BYTES = 0
#define FIELD(type, name, presence, unit, doc) \
	+ (offsetof(struct iot_event, name) >= TAIL_AT ? sizeof(type) : 0)
#include "fields.def"
	,
	TAIL_WORDS = (TAIL_BYTES + 7) / 8,
};

#define TOLD_MAX (1 << 26)      /* processes and files with larger ids have no names cached */
#define TAILS_BITS 9
#define TAIL_USUAL 128          /* most tails are shorter */
#define TAIL_ROOM 256           /* longer tails are not cached */

struct tail {
	u64 key[TAIL_WORDS];
	u32 len;                /* 0: none yet */
	char text[TAIL_ROOM];
};

/* Texts that event lines add for the id of a process or file, ready to copy: `,"system":"etcd"`.
 * NULL: none. Equal texts of recent ids are shared, since a process most often has the names of the
 * one that it was forked from. */
struct told {
	char **text;
	size_t n, kept;
	char **keep;            /* to be freed */
};

struct jsonl {
	struct sink sink;
	bool wide;
	u32 whole;              /* layers that the run recorded whole, bits 1 << LAYER_x */
	struct told process, file;
	int fd, err;
	char *buf, *p;
	size_t size;
	struct wake wake;
	struct tail tails[1 << TAILS_BITS];
};

/* A dictionary entry ready to copy: `,"kind":"pwrite64"`. */
struct entry {
	char text[NAME_ROOM];
	u8 len;
};

static struct entry kind_word[KIND_MAX], cause_word[CAUSE_MAX], how_word[HOW_MAX],
	sub_word[SUB_MAX], component_word[COMPONENT_MAX], carrier_word[CARRIER_MAX];

static void words_make(struct entry *w, const struct dict *d)
{
	unsigned int i;

	for (i = 0; i < d->words->n; i++) {
		char *end = stpcpy(stpcpy(stpcpy(w[i].text, ",\""), d->words->table), "\":\"");

		w[i].len = stpcpy(stpcpy(end, d->row[i].name), "\"") - w[i].text;
	}
}

/* Appends the layer to the name of each kind, so that readers of JSON Lines need no kinds.def. */
static void words_add_layers(void)
{
	for (size_t i = 0; i < dictionary[WORDS_KIND].n; i++) {
		const char *layer = dictionary[WORDS_LAYER].row[dictionary[WORDS_KIND].row[i].layer].name;
		struct entry *w = &kind_word[i];

		w->len = stpcpy(stpcpy(stpcpy(w->text + w->len, ",\"layer\":\""), layer), "\"") - w->text;
	}
}

static int flush(struct jsonl *j)
{
	int err = j->err ? 0 : out_write(j->fd, j->buf, j->p - j->buf);

	if (!err && !j->err)
		wake_wrote(&j->wake, j->fd, j->p - j->buf);
	if (err && err != -EPIPE) /* EPIPE: the reader has what it wanted, no message */
		fail_as(err, 0, "%s: cannot write: %s", j->sink.name, out_error(err));
	j->err = j->err ? j->err : err;
	j->p = j->buf;
	return j->err;
}

/* Makes room for a line of at most n bytes. */
static int room(struct jsonl *j, size_t n)
{
	char *bigger;

	if (j->err)
		return j->err;
	if (n <= j->size - (j->p - j->buf))
		return 0;
	if (flush(j))
		return j->err;
	if (n <= j->size)
		return 0;
	bigger = realloc(j->buf, n);
	if (!bigger)
		return j->err = fail_as(-ENOMEM, 0, "%s: no memory for a line of %zu bytes", j->sink.name, n);
	j->buf = j->p = bigger;
	j->size = n;
	return 0;
}

/* Splits groups of digits with values below base^2 in two: the high half stays, the low half is put
 * `shift` bits above it. */
#define SPLIT(x, high, base, shift) \
	(((u64)(x) << (shift)) - (u64)(high) * (((u64)(base) << (shift)) - 1))

/* Returns the eight digits of v < 10^8 as numbers, the first one in the lowest byte. Each step
 * halves all groups of digits at once. */
static inline u64 eight_digits(u32 v)
{
	u64 fours = SPLIT(v, v / 10000, 10000, 32);
	u64 twos = SPLIT(fours, fours * 10486 >> 20 & 0x0000007f0000007f, 100, 16);

	return SPLIT(twos, twos * 103 >> 10 & 0x000f000f000f000f, 10, 8);
}

/* Writes eight digits without the first skip_bits / 8. The buffer needs room for all eight. */
static inline char *put_digits(char *p, u64 digits, unsigned int skip_bits)
{
	digits = htole64((digits | 0x3030303030303030) >> skip_bits);
	memcpy(p, &digits, sizeof(digits));
	return p + 8 - skip_bits / 8;
}

static inline char *put_small(char *p, u32 v)
{
	u64 digits = eight_digits(v);

	return put_digits(p, digits, __builtin_ctzll(digits | 1ULL << 56) & ~7u);
}

#define TEN_TO_8 100000000u

static inline __attribute__((always_inline)) char *put_u64(char *p, u64 v)
{
	u64 high = v / TEN_TO_8;

	if (v < TEN_TO_8)
		return put_small(p, v);
	if (high < TEN_TO_8)
		p = put_small(p, high);
	else
		p = put_digits(put_small(p, high / TEN_TO_8), eight_digits(high % TEN_TO_8), 0);
	return put_digits(p, eight_digits(v % TEN_TO_8), 0);
}

static inline char *put_dev(char *p, u32 dev)
{
	*p++ = '"';
	p = put_u64(p, dev >> 20);
	*p++ = ':';
	p = put_u64(p, dev & 0xfffff);
	*p++ = '"';
	return p;
}

/* Copies a fixed length, which is cheaper than the exact length; the buffer has room for it. */
static inline char *put_word(char *p, const struct entry *w)
{
	memcpy(p, w->text, NAME_ROOM);
	return p + w->len;
}

static inline __attribute__((always_inline)) char *
put_field(char *p, const char *key, size_t key_len, enum col_type type, u64 v)
{
	switch (type) {
	case TYPE_KIND:
		return put_word(p, &kind_word[v]);
	case TYPE_CAUSE:
		return put_word(p, &cause_word[v]);
	case TYPE_HOW:
		return put_word(p, &how_word[v]);
	case TYPE_SUB:
		return put_word(p, &sub_word[v]);
	case TYPE_COMPONENT:
		return put_word(p, &component_word[v]);
	case TYPE_CARRIER:
		return put_word(p, &carrier_word[v]);
	default:
		memcpy(p, key, key_len);
		p += key_len;
		return type == TYPE_DEV ? put_dev(p, v) : put_u64(p, v);
	}
}

#define SKIP_REQ(v) false
#define SKIP_OPT(v) (!(v))
#define SKIP_ZERO(v) (!(v))

#define PUT(type, name, presence) \
	if (!SKIP_##presence(e->name)) \
		p = put_field(p, ",\"" #name "\":", sizeof(",\"" #name "\":") - 1, field_type(#name), e->name)

static const char *told_of(const struct told *t, u32 id)
{
	return id < t->n ? t->text[id] : NULL;
}

static char *put_told(char *p, const struct told *t, u32 id)
{
	const char *text = told_of(t, id);

	return text ? stpcpy(p, text) : p;
}

static size_t told_len(const struct told *t, u32 id)
{
	const char *text = told_of(t, id);

	return text ? strlen(text) : 0;
}

/* Writes the fields from TAIL_AT on, and the names of the owner and the file. */
static __attribute__((noinline)) char *
put_tail(const struct jsonl *j, char *p, const struct iot_event *e)
{
#define FIELD(type, name, presence, unit, doc) \
	if (offsetof(struct iot_event, name) >= TAIL_AT) \
		PUT(type, name, presence);
#include "fields.def"
	if (j->whole && args_recorded(e->kind, j->whole))
		p = args_json(p, e);
	p = put_told(p, &j->process, e->owner);
	if (j->wide)
		p = put_told(p, &j->file, e->file);
	memcpy(p, "}\n", 2);
	return p + 2;
}

static inline void tail_key(u64 *key, const struct iot_event *e)
{
	const char *from = (const char *)e + TAIL_AT;

#pragma GCC unroll 8
	for (size_t i = 0; i < TAIL_WORDS; i++) /* the last two overlap */
		memcpy(&key[i], from + (i < TAIL_WORDS - 1 ? i * sizeof(u64) : TAIL_BYTES - sizeof(u64)),
		       sizeof(u64));
}

/* Returns the slot in the cache for the tail of these fields. */
static inline struct tail *tail_at(struct jsonl *j, const u64 *key)
{
	u64 h = 0;

#pragma GCC unroll 8
	for (size_t i = 0; i < TAIL_WORDS; i++)
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15;
	return &j->tails[h >> (64 - TAILS_BITS)];
}

static inline bool tail_is(const struct tail *t, const u64 *key)
{
	u64 differs = !t->len;

#pragma GCC unroll 8
	for (size_t i = 0; i < TAIL_WORDS; i++)
		differs |= t->key[i] ^ key[i];
	return !differs;
}

/* Have all numbers of the event a name? Events that have a number without one are not cached. */
static bool is_known(const struct iot_event *e)
{
	return e->kind < KIND_MAX && e->cause < CAUSE_MAX && e->how < HOW_MAX && e->sub < SUB_MAX &&
	       e->component < COMPONENT_MAX && e->carrier < CARRIER_MAX;
}

/* Makes room for these names behind the line so far; *p moves when the buffer had to be flushed.
 * Names are at most 4 KiB, and six times that when they are escaped. */
static __attribute__((noinline)) bool has_room(struct jsonl *j, char **p, const struct iot_event *e)
{
	size_t more = told_len(&j->process, e->owner) + (j->wide ? told_len(&j->file, e->file) : 0);
	size_t len = *p - j->p;
	char head[EVENT_MAX];

	if (j->buf + j->size - *p >= (ptrdiff_t)(EVENT_MAX + more))
		return true;
	memcpy(head, j->p, len);
	if (flush(j) || j->size < 2 * EVENT_MAX + more)
		return false;
	memcpy(j->p, head, len);
	*p = j->p + len;
	return true;
}

/* Writes an event. Returns the end, or NULL when it cannot be written. */
static inline char *put_event(struct jsonl *j, char *p, const struct iot_event *e)
{
	static const char head[] = "{\"t\":\"event\"";
	u64 key[TAIL_WORDS];
	struct tail *t;
	char *end;

	memcpy(p, head, sizeof(head) - 1);
	p += sizeof(head) - 1;
#define FIELD(type, name, presence, unit, doc) \
	if (offsetof(struct iot_event, name) < TAIL_AT) \
		PUT(type, name, presence);
#include "fields.def"
	tail_key(key, e);
	t = tail_at(j, key);
	if (tail_is(t, key)) {
		memcpy(p, t->text, TAIL_USUAL); /* cheaper than the exact length; there is room for it */
		if (t->len > TAIL_USUAL)
			memcpy(p + TAIL_USUAL, t->text + TAIL_USUAL, TAIL_ROOM - TAIL_USUAL);
		return p + t->len;
	}
	if (!is_known(e))
		return NULL;
	if (!has_room(j, &p, e))
		return NULL;
	end = put_tail(j, p, e);
	if ((size_t)(end - p) > TAIL_ROOM)
		return end;
	memcpy(t->key, key, sizeof(key));
	memcpy(t->text, p, end - p);
	t->len = end - p;
	return end;
}

static int jsonl_events(struct sink *sink, const struct iot_event *e, size_t n)
{
	struct jsonl *j = (struct jsonl *)sink;
	char *end;

	if (j->err)
		return j->err;
	for (; n; e++, n--) {
		if (j->buf + j->size - j->p < EVENT_MAX && flush(j))
			return j->err;
		end = put_event(j, j->p, e);
		if (!end && j->err)
			return j->err;
		if (!end)
			return j->err = fail_as(-EINVAL, 0,
				"%s: an event with numbers that have no name (kind %u, cause %u, how %u, sub %u, component %u)",
						    sink->name, e->kind, e->cause, e->how, e->sub, e->component);
		j->p = end;
	}
	return 0;
}

static char *put_text(char *p, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + strlen(text);

	*p++ = '"';
	while (s < end) {
		long code = *s;
		size_t n = *s < 0x80 ? 1 : utf8_next((const char *)s, end - s, &code);

		if (code < 0) { /* not UTF-8: escaped like Python's surrogateescape */
			p = utf8_json(p, 0xdc00 | *s++);
			continue;
		}
		if (utf8_is_control(code) || (code >= 0x80 && utf8_is_tricky(code))) {
			p = utf8_json(p, code);
			s += n;
			continue;
		}
		if (*s == '"' || *s == '\\')
			*p++ = '\\';
		memcpy(p, s, n);
		p += n;
		s += n;
	}
	*p++ = '"';
	return p;
}

static char *put_column(char *p, const struct column *c, const void *rec)
{
	const struct dict *d = dict_of(c->type);
	u64 v;

	if (c->type == TYPE_STR)
		return put_text(p, *(const char *const *)((const char *)rec + c->offset));
	v = col_number(c, rec);
	if (d)
		return stpcpy(stpcpy(stpcpy(p, "\""), d->row[v].name), "\"");
	if (c->type == TYPE_DEV)
		return put_dev(p, v);
	if (c->type == TYPE_I64 && (s64)v < 0) {
		*p++ = '-';
		v = -v;
	}
	return put_u64(p, v);
}

/* Upper bound of the length of a line, or 0 when the record cannot be written. */
static size_t line_bound(struct jsonl *j, const struct table *t, const void *rec)
{
	size_t i, n = 64;

	for (i = 0; i < t->n; i++) {
		const struct column *c = &t->cols[i];
		const struct dict *d = dict_of(c->type);

		if (!col_present(t, rec, i) && !c->optional)
			return fail_as(0, 0, "%s: a record '%s' without its '%s'", j->sink.name, t->name, c->name);
		if (d && col_number(c, rec) >= d->words->n)
			return fail_as(0, 0, "%s: a record '%s' with a %s that has no name: %u",
				       j->sink.name, t->name, c->name,
				       (unsigned int)col_number(c, rec));
		n += strlen(c->name) + 64;
		if (c->type == TYPE_STR && col_present(t, rec, i))
			n += 6 * strlen(*(const char *const *)((const char *)rec + c->offset));
	}
	return n;
}

/* Keeps a text of n bytes for an id. The cache of tails holds texts of before, and is emptied. */
static int tell(struct jsonl *j, struct told *t, u64 id, const char *text, size_t n)
{
	const char *before;
	char *mine = NULL, **more;
	size_t i;

	if (id > TOLD_MAX || (!n && id >= t->n))
		return 0;
	before = told_of(t, id);
	if (before ? strlen(before) == n && !memcmp(before, text, n) : !n)
		return 0;
	if (id >= t->n) {
		size_t size = id + id / 2 + 64;

		if (!(more = reallocarray(t->text, size, sizeof(*more))))
			return -ENOMEM;
		memset(more + t->n, 0, (size - t->n) * sizeof(*more));
		t->text = more;
		t->n = size;
	}
	for (i = t->kept; n && !mine && i > 0 && t->kept - i < 16; i--)
		if (strlen(t->keep[i - 1]) == n && !memcmp(t->keep[i - 1], text, n))
			mine = t->keep[i - 1];
	if (n && !mine) {
		more = reallocarray(t->keep, t->kept + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->keep = more;
		mine = strndup(text, n);
		if (!mine)
			return -ENOMEM;
		t->keep[t->kept++] = mine;
	}
	t->text[id] = mine;
	for (i = 0; i < N_OF(j->tails); i++)
		j->tails[i].len = 0;
	return 0;
}

/* Keeps the names of a process or file that event lines, like view v_event, have. */
static int tell_record(struct jsonl *j, enum rec_type type, const void *rec)
{
	const struct { const char *key, *column; bool wide; } keys[] = {
		{ "system", "system", false }, { "comm", "comm", true },
		{ "container", "container", true }, { "path", "path", true },
	};
	const struct table *t = table_of(type);
	char *from = j->p, *p = j->p; /* the buffer has room for the line, which has each of these */
	u64 id = type == REC_process ? ((const struct rec_process *)rec)->id :
				       ((const struct rec_file *)rec)->id;
	size_t i;

	for (i = 0; i < N_OF(keys); i++) {
		int c = keys[i].wide && !j->wide ? -1 : table_find(t, keys[i].column);

		if (c < 0 || t->cols[c].type != TYPE_STR || !col_present(t, rec, c))
			continue;
		p = stpcpy(stpcpy(stpcpy(p, ",\""), keys[i].key), "\":");
		p = put_column(p, &t->cols[c], rec);
	}
	*p = '\0';
	return tell(j, type == REC_process ? &j->process : &j->file, id, from, p - from);
}

static void told_free(struct told *t)
{
	while (t->kept)
		free(t->keep[--t->kept]);
	free(t->keep);
	free(t->text);
}

static int jsonl_record(struct sink *sink, enum rec_type type, const void *rec)
{
	struct jsonl *j = (struct jsonl *)sink;
	const struct table *t = table_of(type);
	size_t i, n = line_bound(j, t, rec);

	if (!n)
		return j->err = -EINVAL;
	if (type == REC_run)
		j->whole = args_layers(((const struct rec_run *)rec)->whole);
	if ((type == REC_process || (type == REC_file && j->wide)) && !room(j, n) &&
	    tell_record(j, type, rec))
		return j->err = fail_as(-ENOMEM, 0, "%s: no memory for names", j->sink.name);
	if (room(j, n))
		return j->err;
	j->p = stpcpy(stpcpy(stpcpy(j->p, "{\"t\":\""), t->name), "\"");
	for (i = 0; i < t->n; i++) {
		if (!col_present(t, rec, i))
			continue;
		j->p = stpcpy(stpcpy(stpcpy(j->p, ",\""), t->cols[i].name), "\":");
		j->p = put_column(j->p, &t->cols[i], rec);
	}
	j->p = stpcpy(j->p, "}\n");
	return 0;
}

static int jsonl_commit(struct sink *sink)
{
	return flush((struct jsonl *)sink);
}

static int jsonl_close(struct sink *sink, bool complete)
{
	struct jsonl *j = (struct jsonl *)sink;
	int err = flush(j);

	wake_end(&j->wake);
	told_free(&j->process);
	told_free(&j->file);
	free(j->buf);
	free((void *)j->sink.name);
	free(j);
	return err;
}

static int make(struct sink **out, int fd, const char *name, bool wide)
{
	struct jsonl *j = calloc(1, sizeof(*j));

	*out = NULL;
	if (j) {
		j->buf = j->p = malloc(BUFFER_BYTES);
		j->sink.name = strdup(name);
	}
	if (!j || !j->buf || !j->sink.name) {
		if (j)
			free(j->buf);
		free(j);
		return fail_as(-ENOMEM, 0, "%s: no memory for its buffer", name);
	}
	words_make(kind_word, dict_of(TYPE_KIND));
	words_add_layers();
	words_make(cause_word, dict_of(TYPE_CAUSE));
	words_make(how_word, dict_of(TYPE_HOW));
	words_make(sub_word, dict_of(TYPE_SUB));
	words_make(component_word, dict_of(TYPE_COMPONENT));
	words_make(carrier_word, dict_of(TYPE_CARRIER));
	j->size = BUFFER_BYTES;
	j->fd = fd;
	j->wide = wide;
	j->sink.record = jsonl_record;
	j->sink.events = jsonl_events;
	j->sink.commit = jsonl_commit;
	j->sink.close = jsonl_close;
	*out = &j->sink;
	return 0;
}

int sink_jsonl(struct sink **out, int fd, const char *name)
{
	return make(out, fd, name, false);
}

int sink_jsonl_wide(struct sink **out, int fd, const char *name)
{
	return make(out, fd, name, true);
}
