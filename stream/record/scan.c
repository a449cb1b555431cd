/* SPDX-License-Identifier: GPL-3.0-only */
/* scan.c - the fast scanner: event lines as iot itself writes them.
 *
 * Straight-line code expanded from fields.def. It has no errors: lines that it does not expect are
 * left to parse.c, so that odd lines have one answer. It must never accept a line that parse.c
 * would refuse or read differently.
 */
#include "scan.h"

/* At most 19 digits, which cannot overflow; no leading zero. */
static inline __attribute__((always_inline)) const char *get_u64(const char *p, u64 max, u64 *out)
{
	const char *start = p;
	u64 v = (u8)(*p++ - '0');

	if (v > 9)
		return NULL;
	if (v)
		for (; (u8)(*p - '0') <= 9; p++)
			v = v * 10 + (u8)(*p - '0');
	*out = v;
	return p - start <= 19 && v <= max ? p : NULL;
}

static inline const char *get_dev(const char *p, u64 *out)
{
	u64 major, minor;

	if (*p++ != '"')
		return NULL;
	p = get_u64(p, 0xfff, &major);
	if (!p || *p++ != ':')
		return NULL;
	p = get_u64(p, 0xfffff, &minor);
	if (!p || *p++ != '"')
		return NULL;
	*out = major << 20 | minor;
	return p;
}

/* The length of a name up to its quote. The search ends because the line ends in '\n'. */
static inline const char *get_name(const char *p, const struct dict *d, u64 *out)
{
	const char *start = p + 1;
	int i;

	if (*p++ != '"')
		return NULL;
	while (*p != '"' && *p != '\n' && p - start < DICT_NAME_MAX)
		p++;
	if (*p != '"')
		return NULL;
	i = dict_find(d, start, p - start);
	*out = i;
	return i < 0 ? NULL : p + 1;
}

static inline __attribute__((always_inline)) const char *
get_field(const char *p, enum col_type type, u64 max, u64 *out)
{
	if (type == TYPE_DEV)
		return get_dev(p, out);
	if (type == TYPE_U64)
		return get_u64(p, max, out);
	return get_name(p, dict_of(type), out);
}

/* Skips a string whose value another record has: plain ASCII without escapes, others are for
 * parse.c. */
static inline const char *skip_text(const char *p)
{
	for (; *p != '"'; p++)
		if (*p == '\\' || (unsigned char)*p - 0x20u >= 0x5f)
			return NULL;
	return p + 1;
}

/* Skips a key and its string if they are at p; NULL: the line is for parse.c. */
#define SKIP(p, key) \
	((p) && !memcmp(p, ",\"" key "\":\"", sizeof(",\"" key "\":\"") - 1) ? \
	 skip_text((p) + sizeof(",\"" key "\":\"") - 1) : (p))

#define MAX_OF(field) (~0ULL >> (64 - 8 * sizeof(field)))

bool scan_event(const char *p, const char *end, struct iot_event *e)
{
	static const char head[] = "{\"t\":\"event\"";
	u64 v;

	if (end - p < (ptrdiff_t)sizeof(head) || memcmp(p, head, sizeof(head) - 1))
		return false;
	p += sizeof(head) - 1;
	memset(e, 0, sizeof(*e));
#define ABSENT_REQ return false
#define ABSENT_OPT (void)0
#define ABSENT_ZERO (void)0
#define FIELD(type, name, presence, unit, doc) \
	if (!memcmp(p, ",\"" #name "\":", sizeof(",\"" #name "\":") - 1)) { \
		p = get_field(p + sizeof(",\"" #name "\":") - 1, field_type(#name), MAX_OF(e->name), &v); \
		if (!p) \
			return false; \
		e->name = v; \
		if (field_type(#name) == TYPE_KIND && !(p = SKIP(p, "layer"))) \
			return false; \
	} else { \
		ABSENT_##presence; \
	}
#include "fields.def"
	p = SKIP(p, "args");
	p = SKIP(p, "system");
	p = SKIP(p, "comm");
	p = SKIP(p, "container");
	p = SKIP(p, "path");
	return p && p[0] == '}' && p + 1 == end;
}
