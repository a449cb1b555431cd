/* SPDX-License-Identifier: GPL-3.0-only */
/* parse.c - the full parser: any line that is one JSON object.
 *
 * cJSON reads the structure, but it keeps numbers in doubles, takes invalid UTF-8 and raw control
 * characters, ends strings at an escaped NUL and refuses lone surrogates. So it gets a tame copy of
 * the line, in which all tokens were checked and numbers are strings of their digits: "#123" is a
 * number, "$text" a string. Integers are converted from those digits.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "scan.h"
#include "utf8.h"

static int refuse(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct line *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(l->why, sizeof(l->why), format, args);
	va_end(args);
	return -EINVAL;
}

static int cut(struct line *l)
{
	l->cut = true;
	return refuse(l, "ends in the middle of a record");
}

/* The next byte of the copy. */
struct tamer {
	const char *p, *end;
	char *out;
	unsigned int objects, members;
	struct line *l;
};

/* More keys than any record has: such a line is refused before it fills the memory. */
#define MEMBERS_MAX 256

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void digits(struct tamer *t)
{
	while (t->p < t->end && is_digit(*t->p))
		t->p++;
}

/* number = [ minus ] int [ frac ] [ exp ] of RFC 8259. The column refuses numbers that are too
 * large or not integers. */
static int tame_number(struct tamer *t)
{
	const char *start = t->p;

	if (*t->p == '-')
		t->p++;
	if (t->p == t->end)
		return cut(t->l);
	if (!is_digit(*t->p))
		return refuse(t->l, "has a minus without a number");
	if (*t->p == '0' && t->p + 1 < t->end && is_digit(t->p[1]))
		return refuse(t->l, "has a number with a leading zero");
	digits(t);
	if (t->p < t->end && *t->p == '.') {
		t->p++;
		if (t->p < t->end && !is_digit(*t->p))
			return refuse(t->l, "has a malformed number");
		digits(t);
	}
	if (t->p < t->end && (*t->p == 'e' || *t->p == 'E')) {
		t->p++;
		if (t->p < t->end && (*t->p == '+' || *t->p == '-'))
			t->p++;
		if (t->p < t->end && !is_digit(*t->p))
			return refuse(t->l, "has a malformed number");
		digits(t);
	}
	if (t->p == t->end)
		return cut(t->l);
	t->out = stpcpy(t->out, "\"#");
	t->out = mempcpy(t->out, start, t->p - start);
	*t->out++ = '"';
	return 0;
}

/* Returns the value of four hexadecimal digits after "\u"; -1 when there are none. */
static int hex4(const char *p, const char *end)
{
	int v = 0, i;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (i = 2; i < 6; i++) {
		char c = p[i] | 0x20;

		if (!is_digit(p[i]) && (c < 'a' || c > 'f'))
			return -1;
		v = v << 4 | (is_digit(p[i]) ? p[i] - '0' : c - 'a' + 10);
	}
	return v;
}

static int tame_escape(struct tamer *t)
{
	int c, low;
	size_t n;

	if (t->end - t->p < 2)
		return cut(t->l);
	if (t->p[1] != 'u') {
		if (!strchr("\"\\/bfnrt", t->p[1]) || !t->p[1])
			return refuse(t->l, "has an unknown escape");
		t->out = mempcpy(t->out, t->p, 2);
		t->p += 2;
		return 0;
	}
	c = hex4(t->p, t->end);
	if (c < 0)
		return t->end - t->p < 6 ? cut(t->l) : refuse(t->l, "has a malformed Unicode escape");
	if (!c)
		return refuse(t->l, "has a NUL in a string");
	if (c >= 0xdc80 && c <= 0xdcff) { /* a byte that is not UTF-8 */
		*t->out++ = c & 0xff;
		t->p += 6;
		return 0;
	}
	low = hex4(t->p + 6, t->end);
	if (c >= 0xd800 && c <= 0xdfff && (c > 0xdbff || low < 0xdc00 || low > 0xdfff))
		return refuse(t->l, "has half a surrogate pair");
	n = c >= 0xd800 && c <= 0xdbff ? 12 : 6;
	t->out = mempcpy(t->out, t->p, n);
	t->p += n;
	return 0;
}

static int tame_string(struct tamer *t)
{
	t->out = stpcpy(t->out, "\"$");
	for (t->p++; t->p < t->end && *t->p != '"';) {
		size_t n;
		long code;

		if (*t->p == '\\') {
			if (tame_escape(t))
				return -EINVAL;
			continue;
		}
		if ((unsigned char)*t->p < 0x20)
			return refuse(t->l, *t->p ? "has a raw control character in a string" : "has a NUL byte");
		n = utf8_next(t->p, t->end - t->p, &code);
		if (code < 0)
			return refuse(t->l, "has a string that is not UTF-8");
		t->out = mempcpy(t->out, t->p, n);
		t->p += n;
	}
	if (t->p == t->end)
		return cut(t->l);
	t->p++;
	*t->out++ = '"';
	return 0;
}

/* Copies true, false or null, which must be a whole word. */
static int tame_word(struct tamer *t)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t i, left = t->end - t->p;

	for (i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if (left >= n && !memcmp(t->p, words[i], n)) {
			t->out = mempcpy(t->out, words[i], n);
			t->p += n;
			return 0;
		}
		if (left < n && !memcmp(t->p, words[i], left))
			return cut(t->l);
	}
	return refuse(t->l, *t->p ? "is not JSON" : "has a NUL byte");
}

static int tame_token(struct tamer *t)
{
	if (*t->p == '"')
		return tame_string(t);
	if (*t->p == '-' || is_digit(*t->p))
		return tame_number(t);
	if (*t->p == '[' || (*t->p == '{' && t->objects++))
		return refuse(t->l, "is not one flat JSON object");
	if (*t->p == ',' && ++t->members == MEMBERS_MAX)
		return refuse(t->l, "has too many keys");
	if (!*t->p || !strchr("{}]:, \t\r", *t->p))
		return tame_word(t);
	t->l->closed |= *t->p == '}';
	*t->out++ = *t->p++;
	return 0;
}

/* A number grows by three bytes, and at least one byte separates it from the next. */
static int tame(const char *p, const char *end, struct line *l)
{
	size_t size = 3 * (end - p) + 16;
	struct tamer t = { .p = p, .end = end, .l = l };

	while (t.p < end && strchr(" \t\r", *t.p) && *t.p)
		t.p++;
	if (t.p == end || *t.p != '{')
		return refuse(l, "is not a JSON object");
	if (l->tame_size < size) {
		free(l->tame);
		l->tame = malloc(size);
		l->tame_size = l->tame ? size : 0;
	}
	if (!l->tame) {
		refuse(l, "is too long for the memory there is");
		return -ENOMEM;
	}
	t.out = l->tame;
	while (t.p < end)
		if (tame_token(&t))
			return -EINVAL;
	*t.out = 0;
	return 0;
}

static bool is_text(const cJSON *v)
{
	return cJSON_IsString(v) && *v->valuestring == '$';
}

/* Converts decimal digits to 64 bits, exactly. */
static int parse_u64(const char *s, u64 *out)
{
	u64 v = 0;

	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return -ERANGE;
	*out = v;
	return *s ? -EINVAL : 0;
}

static int get_integer(struct line *l, const struct column *c, const cJSON *v, u64 *out)
{
	const char *text;
	bool minus;
	u64 max;
	int err;

	if (!cJSON_IsString(v) || *v->valuestring != '#')
		return refuse(l, "has a '%s' that is not a number", c->name);
	text = v->valuestring + 1;
	minus = *text == '-';
	err = parse_u64(text + minus, out);
	max = c->type == TYPE_I64 ? (u64)INT64_MAX + minus : ~0ULL >> (64 - 8 * c->size);
	if (err == -EINVAL || (minus && c->type != TYPE_I64))
		return refuse(l, "has a '%s' that is not %s integer: %.40s", c->name,
			      c->type == TYPE_I64 ? "an" : "a non-negative", text);
	if (err || *out > max)
		return refuse(l, "has a '%s' beyond %u bits: %.40s", c->name, 8 * c->size, text);
	if (minus)
		*out = -*out;
	return 0;
}

static int get_name(struct line *l, const struct column *c, const cJSON *v, u64 *out)
{
	const struct dict *d = dict_of(c->type);
	char padded[DICT_NAME_MAX + 8] = "";
	size_t n;
	int i;

	if (!is_text(v))
		return refuse(l, "has a '%s' that is not a name", c->name);
	n = strlen(v->valuestring + 1);
	if (n < DICT_NAME_MAX)
		memcpy(padded, v->valuestring + 1, n);
	i = n < DICT_NAME_MAX ? dict_find(d, padded, n) : -1;
	if (i < 0)
		return refuse(l, "has a %s that this version does not know: '%.40s'", c->name,
			      v->valuestring + 1);
	*out = i;
	return 0;
}

static int get_device(struct line *l, const struct column *c, const cJSON *v, u64 *out)
{
	u32 dev;

	if (!is_text(v) || dev_parse(v->valuestring + 1, &dev))
		return refuse(l, "has a '%s' that is not a device number \"major:minor\"", c->name);
	*out = dev;
	return 0;
}

static void put_number(const struct column *c, void *rec, u64 v)
{
	/* through the type of the column, which is right for both byte orders */
	char *at = (char *)rec + c->offset;

	switch (c->size) {
	case 1:
		*(u8 *)at = v;
		break;
	case 2:
		*(u16 *)at = v;
		break;
	case 4:
		*(u32 *)at = v;
		break;
	default:
		*(u64 *)at = v;
	}
}

static int get_column(struct line *l, const struct column *c, const cJSON *v, void *rec)
{
	u64 number = 0;
	int err;

	switch (c->type) {
	case TYPE_STR:
		if (!is_text(v))
			return refuse(l, "has a '%s' that is not a string", c->name);
		*(const char **)((char *)rec + c->offset) = v->valuestring + 1;
		return 0;
	case TYPE_DEV:
		err = get_device(l, c, v, &number);
		break;
	case TYPE_U64:
	case TYPE_I64:
		err = get_integer(l, c, v, &number);
		break;
	default:
		err = get_name(l, c, v, &number);
	}
	put_number(c, rec, number);
	return err;
}

static int find_type(struct line *l, const cJSON *object)
{
	const cJSON *v, *t = NULL;

	cJSON_ArrayForEach(v, object) {
		if (*v->string != '$')
			return refuse(l, "has a key that is not a string");
		if (strcmp(v->string, "$t"))
			continue;
		if (t)
			return refuse(l, "has the key 't' twice");
		t = v;
	}
	if (!t || !is_text(t))
		return refuse(l, "has no type: a string with the key 't'");
	for (l->type = 0; l->type <= REC_EVENT; l->type++)
		if (!strcmp(table_of(l->type)->name, t->valuestring + 1))
			return 0;
	return refuse(l, "has a type that this version does not know: '%.40s'", t->valuestring + 1);
}

/* A run of a newer version may have keys that this version does not know: name the version. */
static int check_schema(struct line *l, const cJSON *object)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, "$schema");
	u64 schema;

	if (l->type != REC_run || !v || !cJSON_IsString(v) || *v->valuestring != '#')
		return 0;
	if (parse_u64(v->valuestring + 1, &schema) || schema <= IOT_SCHEMA)
		return 0;
	return refuse(l, "was written by a newer version of iot (format %llu, this is %u)",
		      (unsigned long long)schema, IOT_SCHEMA);
}

/* Returns the number of a key of event lines whose value other records have, or -1. The value must
 * be a string; it is ignored. */
static int find_derived(const struct line *l, const cJSON *v)
{
	static const char *const keys[] = { "$layer", "$system", "$comm", "$container", "$path",
		"$args" };
	size_t i;

	for (i = 0; l->type == REC_EVENT && i < N_OF(keys); i++)
		if (!strcmp(v->string, keys[i]))
			return i;
	return -1;
}

static int skip_derived(struct line *l, const cJSON *v, int i, unsigned int *derived)
{
	if (*derived >> i & 1)
		return refuse(l, "has the key '%s' twice", v->string + 1);
	*derived |= 1u << i;
	return is_text(v) || cJSON_IsNull(v) ? 0 :
	       refuse(l, "has a '%s' that is not a string", v->string + 1);
}

static int read_object(struct line *l, const cJSON *object)
{
	const struct table *t;
	unsigned int derived = 0;
	u64 seen = 0, given = 0;
	const cJSON *v;
	size_t k;
	int i;

	if (find_type(l, object) || check_schema(l, object))
		return -EINVAL;
	t = table_of(l->type);
	memset(&l->present, 0, t->size);
	cJSON_ArrayForEach(v, object) {
		if (!strcmp(v->string, "$t"))
			continue;
		i = find_derived(l, v);
		if (i >= 0) {
			if (skip_derived(l, v, i, &derived))
				return -EINVAL;
			continue;
		}
		i = table_find(t, v->string + 1);
		if (i < 0)
			return refuse(l, "has a key that this version does not know: '%.40s'", v->string + 1);
		if (seen >> i & 1)
			return refuse(l, "has the key '%s' twice", t->cols[i].name);
		seen |= 1ULL << i;
		if (cJSON_IsNull(v))
			continue;
		if (get_column(l, &t->cols[i], v, &l->present))
			return -EINVAL;
		given |= 1ULL << i;
	}
	for (k = 0; k < t->n; k++)
		if (!t->cols[k].optional && !(given >> k & 1))
			return refuse(l, "is a record '%s' without its '%s'", t->name, t->cols[k].name);
	if (l->type != REC_EVENT)
		l->present = given;
	return 0;
}

int parse_line(const char *p, const char *end, struct line *l)
{
	int err;

	l->cut = l->closed = false;
	cJSON_Delete(l->keep);
	l->keep = NULL;
	err = tame(p, end, l);
	if (err)
		return err;
	errno = 0;
	l->keep = cJSON_ParseWithLengthOpts(l->tame, strlen(l->tame) + 1, NULL, true);
	if (!l->keep && errno == ENOMEM)
		return refuse(l, "cannot be read: no memory");
	if (!l->keep)
		return l->closed ? refuse(l, "is not JSON") : cut(l);
	return read_object(l, l->keep);
}

void line_free(struct line *l)
{
	cJSON_Delete(l->keep);
	free(l->tame);
}
