/* SPDX-License-Identifier: GPL-3.0-only */
/* stream.c - the tables as data: columns, dictionaries, device numbers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "out.h"
#include "table.h"
#include "utf8.h"

#define TYPE_(type) TYPE_##type
#define IS_OPTIONAL_REQ false
#define IS_OPTIONAL_OPT true
#define IS_OPTIONAL_ZERO true
#define IS_OPTIONAL_KEY false
#define IS_OPTIONAL_OPT_KEY true
#define IS_OPTIONAL_MAX false
#define IS_ZERO_REQ false
#define IS_ZERO_OPT false
#define IS_ZERO_ZERO true
#define TOTAL_REQ TOTAL_SUM
#define TOTAL_OPT TOTAL_SUM
#define TOTAL_OPT_KEY TOTAL_KEY

/* One function for each record: only a block can give the struct of the record one name for all
 * columns. */
#define RECORD(record, text) \
	static const struct table *table_##record(void) \
	{ \
		typedef struct rec_##record self; \
		static const char name[] = #record, about[] = text; \
		static const struct column cols[] = {
#define COL(name, type, presence, unit, doc) \
	{ #name, unit, doc, TYPE_(type), sizeof(col_##type), IS_OPTIONAL_##presence, \
	  offsetof(self, name), false, TOTAL_##presence },
#define END(record) \
		}; \
		static const struct table t = { name, about, cols, sizeof(cols) / sizeof(*cols), sizeof(self) }; \
		_Static_assert(sizeof(cols) / sizeof(*cols) <= 64, "`present` has 64 bits"); \
		return &t; \
	}
#include "records.def"

static const struct table *table_event(void)
{
	static struct column cols[] = {
#define FIELD(type, name, presence, unit, doc) \
	{ #name, unit, doc, 0, sizeof(type), IS_OPTIONAL_##presence, offsetof(struct iot_event, name), \
	  IS_ZERO_##presence },
#include "fields.def"
	};
	static const struct table t = { "event", "one operation; only in runs that recorded events", cols,
					sizeof(cols) / sizeof(*cols), sizeof(struct iot_event) };
	size_t i;

	for (i = 0; i < t.n; i++)
		cols[i].type = field_type(cols[i].name);
	return &t;
}

const struct table *table_of(unsigned int type)
{
	static const struct table *(*const tables[])(void) = {
#define RECORD(name, doc) table_##name,
#include "records.def"
		table_event,
	};

	return tables[type]();
}

int table_find(const struct table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (!strcmp(t->cols[i].name, name))
			return i;
	return -1;
}

/* Returns the bit of the column at a byte offset. */
static u64 rec_bit(enum rec_type type, size_t off)
{
	const struct table *t = table_of(type);
	u64 bit = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->cols[i].offset == off)
			bit = 1ULL << i;
	return bit;
}

void rec_mark(void *rec, enum rec_type type, size_t off)
{
	*(u64 *)rec |= rec_bit(type, off);
}

void rec_unmark(void *rec, enum rec_type type, size_t off)
{
	*(u64 *)rec &= ~rec_bit(type, off);
}

void rec_each(enum rec_type type, const void *rec,
	      void (*column)(void *arg, const char *name, bool present, const char *text, u64 number),
	      void *arg)
{
	const struct table *t = table_of(type);
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct column *c = &t->cols[i];
		bool present = col_present(t, rec, i), is_text = c->type == TYPE_STR;

		column(arg, c->name, present,
		       is_text && present ? *(const char *const *)((const char *)rec + c->offset) : NULL,
		       is_text || !present ? 0 : col_number(c, rec));
	}
}

u8 component_number(const char *name)
{
	for (u8 i = 1; name && i < COMPONENT_MAX; i++)
		if (!strcmp(dictionary[WORDS_COMPONENT].row[i].name, name))
			return i;
	return 0;
}

/* Slots hold numbers of one byte, and a table that is nearly full is slow. */
_Static_assert(KIND_MAX < 200 && CAUSE_MAX < 200 && HOW_MAX < 200 && SUB_MAX < 200 &&
	       COMPONENT_MAX < 200 && CARRIER_MAX < 200, "struct dict is too small");

static void dict_fill(struct dict *d)
{
	unsigned int i, h;

	for (i = 0; i < d->words->n; i++) {
		char name[DICT_NAME_MAX] = "";

		d->len[i] = snprintf(name, sizeof(name), "%s", d->row[i].name);
		for (h = dict_hash(name, d->len[i]); d->slot[h & 255]; h++)
			;
		d->slot[h & 255] = i + 1;
	}
}

struct dict stream_dicts[TYPE_CARRIER + 1];

__attribute__((constructor)) static void dicts_fill(void)
{
	static const u8 dictionary_of[] = {
		[TYPE_KIND] = WORDS_KIND, [TYPE_CAUSE] = WORDS_CAUSE, [TYPE_HOW] = WORDS_HOW,
		[TYPE_SUB] = WORDS_SUB, [TYPE_COMPONENT] = WORDS_COMPONENT, [TYPE_CARRIER] = WORDS_CARRIER,
	};

	for (size_t i = TYPE_KIND; i <= TYPE_CARRIER; i++) {
		stream_dicts[i].words = &dictionary[dictionary_of[i]];
		stream_dicts[i].row = dictionary[dictionary_of[i]].row;
		dict_fill(&stream_dicts[i]);
	}
}

/* Device numbers are the kernel's: 12 bits major, 20 bits minor. */
const char *dev_text(u32 dev, char buf[24])
{
	snprintf(buf, 24, "%u:%u", dev >> 20, dev & 0xfffff);
	return buf;
}

/* Reads digits without sign, blanks or leading zeros. Returns NULL when there are none or the
 * number is above max. */
static const char *dev_part(const char *p, u32 max, u32 *out)
{
	u32 v = 0;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (*p - '0');
		if (v > max)
			return NULL;
	}
	*out = v;
	return p;
}

int dev_parse(const char *text, u32 *dev)
{
	u32 major, minor;
	const char *p = dev_part(text, 0xfff, &major);

	if (!p || *p != ':')
		return -EINVAL;
	p = dev_part(p + 1, 0xfffff, &minor);
	if (!p || *p)
		return -EINVAL;
	*dev = major << 20 | minor;
	return 0;
}
