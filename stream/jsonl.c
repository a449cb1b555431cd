/* SPDX-License-Identifier: GPL-3.0-only */
/* jsonl.c - the sink that writes JSON Lines.
 *
 * Events are by far the most lines, so their writer is straight-line code expanded from fields.def (8 million lines a second
 * of one core); the other records are written by walking their table.
 */
#include <errno.h>
#include "out.h"
#include "table.h"
#include "utf8.h"

#define BUFFER_BYTES (1 << 20)
#define EVENT_MAX 1024          /* more than the longest event line: 19 fields, keys and 20 digits each */
#define NAME_ROOM 48            /* a dictionary value as it stands in the line */

struct jsonl {
	struct sink sink;
	int fd, err;
	char *buf, *p;
	size_t size;
};

/* A dictionary entry ready to copy: `,"kind":"pwrite64"`. */
struct word {
	char text[NAME_ROOM];
	u8 len;
};

static struct word kind_word[KIND_MAX], cause_word[CAUSE_MAX], how_word[HOW_MAX], sub_word[SUB_MAX], component_word[COMPONENT_MAX];

static void words_make(struct word *w, const struct dict *d)
{
	unsigned int i;

	for (i = 0; i < d->n; i++) {
		char *end = stpcpy(stpcpy(stpcpy(w[i].text, ",\""), d->what), "\":\"");

		w[i].len = stpcpy(stpcpy(end, d->names[i]), "\"") - w[i].text;
	}
}

static int flush(struct jsonl *j)
{
	int err = j->err ? 0 : out_write(j->fd, j->buf, j->p - j->buf);

	if (err && err != -EPIPE) /* then the reader has what it wanted: no message */
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

static const char digit_pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static inline unsigned int digits_of(u64 v)
{
	static const u64 power[] = { 0, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
				     1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL, 10000000000000ULL,
				     100000000000000ULL, 1000000000000000ULL, 10000000000000000ULL, 100000000000000000ULL,
				     1000000000000000000ULL, 10000000000000000000ULL };
	unsigned int bits = 64 - __builtin_clzll(v | 1), guess = bits * 1233 >> 12;

	return guess + (v >= power[guess]);
}

static inline char *put_u64(char *p, u64 v)
{
	unsigned int n = digits_of(v + !v);
	char *end = p + n, *q = end;

	for (; v >= 100; v /= 100)
		memcpy(q -= 2, digit_pairs + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(q - 2, digit_pairs + v * 2, 2);
	else
		q[-1] = '0' + v;
	return end;
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

/* A fixed copy is cheaper than one of the right length; the line has room for it. */
static inline char *put_word(char *p, const struct word *w)
{
	memcpy(p, w->text, NAME_ROOM);
	return p + w->len;
}

static inline __attribute__((always_inline)) char *put_field(char *p, const char *key, size_t key_len, enum col_type type, u64 v)
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
	default:
		memcpy(p, key, key_len);
		p += key_len;
		return type == TYPE_DEV ? put_dev(p, v) : put_u64(p, v);
	}
}

#define SKIP_REQ(v) false
#define SKIP_OPT(v) (!(v))
#define SKIP_ZERO(v) (!(v))

static inline char *put_event(char *p, const struct iot_event *e)
{
	static const char head[] = "{\"t\":\"event\"";

	memcpy(p, head, sizeof(head) - 1);
	p += sizeof(head) - 1;
#define FIELD(type, name, presence, unit, doc) \
	if (!SKIP_##presence(e->name)) \
		p = put_field(p, ",\"" #name "\":", sizeof(",\"" #name "\":") - 1, field_type(#name), e->name);
#include "fields.def"
	memcpy(p, "}\n", 2);
	return p + 2;
}

static int jsonl_events(struct sink *sink, const struct iot_event *e, size_t n)
{
	struct jsonl *j = (struct jsonl *)sink;

	for (; n; e++, n--) {
		if (room(j, EVENT_MAX))
			return j->err;
		if (e->kind >= KIND_MAX || e->cause >= CAUSE_MAX || e->how >= HOW_MAX || e->sub >= SUB_MAX || e->component >= COMPONENT_MAX)
			return j->err = fail_as(-EINVAL, 0, "%s: an event with numbers that have no name (kind %u, cause %u, how %u, sub %u, component %u)",
						    sink->name, e->kind, e->cause, e->how, e->sub, e->component);
		j->p = put_event(j->p, e);
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

		if (code < 0) { /* not UTF-8: as Python's surrogateescape */
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
		return stpcpy(stpcpy(stpcpy(p, "\""), d->names[v]), "\"");
	if (c->type == TYPE_DEV)
		return put_dev(p, v);
	if (c->type == TYPE_I64 && (s64)v < 0) {
		*p++ = '-';
		v = -v;
	}
	return put_u64(p, v);
}

/* Upper bound of the line, or 0 when the record cannot be written. */
static size_t line_bound(struct jsonl *j, const struct table *t, const void *rec)
{
	size_t i, n = 64;

	for (i = 0; i < t->n; i++) {
		const struct column *c = &t->cols[i];
		const struct dict *d = dict_of(c->type);

		if (!col_present(t, rec, i) && !c->optional)
			return fail_as(0, 0, "%s: a record '%s' without its '%s'", j->sink.name, t->name, c->name);
		if (d && col_number(c, rec) >= d->n)
			return fail_as(0, 0, "%s: a record '%s' with a %s that has no name: %u", j->sink.name, t->name, c->name,
					   (unsigned int)col_number(c, rec));
		n += strlen(c->name) + 64;
		if (c->type == TYPE_STR && col_present(t, rec, i))
			n += 6 * strlen(*(const char *const *)((const char *)rec + c->offset));
	}
	return n;
}

static int jsonl_record(struct sink *sink, enum rec_type type, const void *rec)
{
	struct jsonl *j = (struct jsonl *)sink;
	const struct table *t = table_of(type);
	size_t i, n = line_bound(j, t, rec);

	if (!n)
		return j->err = -EINVAL;
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

	free(j->buf);
	free((void *)j->sink.name);
	free(j);
	return err;
}

int sink_jsonl(struct sink **out, int fd, const char *name)
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
	words_make(cause_word, dict_of(TYPE_CAUSE));
	words_make(how_word, dict_of(TYPE_HOW));
	words_make(sub_word, dict_of(TYPE_SUB));
	words_make(component_word, dict_of(TYPE_COMPONENT));
	j->size = BUFFER_BYTES;
	j->fd = fd;
	j->sink.record = jsonl_record;
	j->sink.events = jsonl_events;
	j->sink.commit = jsonl_commit;
	j->sink.close = jsonl_close;
	*out = &j->sink;
	return 0;
}
