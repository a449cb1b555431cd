/* SPDX-License-Identifier: GPL-3.0-only */
/* utf8.c - characters of names, and escapes for those that do more than being read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "utf8.h"

size_t utf8_next(const char *p, size_t len, long *code)
{
	static const long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char c = *p;
	size_t n = c < 0x80 ? 1 : c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0, i;

	*code = -1;
	if (n == 1)
		*code = c;
	if (n < 2 || n > len || c >= 0xf5)
		return 1;
	*code = c & (0xff >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*code = -1;
			return 1;
		}
		*code = *code << 6 | (p[i] & 0x3f);
	}
	if (*code >= least[n] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff))
		return n;
	*code = -1;
	return 1;
}

bool utf8_is_control(long code)
{
	return (code >= 0 && code < 0x20) || (code >= 0x7f && code <= 0x9f);
}

/* To add characters: a row. */
static const struct { long first, last; } tricky[] = {
	{ 0xad, 0xad },         /* soft hyphen */
	{ 0x34f, 0x34f },       /* combining grapheme joiner */
	{ 0x61c, 0x61c },       /* Arabic letter mark */
	{ 0x115f, 0x1160 },     /* Hangul fillers */
	{ 0x17b4, 0x17b5 },     /* Khmer vowels without a form */
	{ 0x180b, 0x180f },     /* Mongolian selectors and separator */
	{ 0x200b, 0x200f },     /* zero width, direction marks */
	{ 0x2028, 0x202e },     /* line and paragraph ends, embeddings, overrides */
	{ 0x2060, 0x206f },     /* joiners, isolates, deprecated formats */
	{ 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },     /* variation selectors */
	{ 0xfeff, 0xfeff },     /* byte order mark */
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },     /* interlinear annotation */
	{ 0xe0000, 0xe0fff },   /* tags */
};

bool utf8_is_tricky(long code)
{
	size_t i;

	for (i = 0; i < sizeof(tricky) / sizeof(*tricky); i++)
		if (code >= tricky[i].first && code <= tricky[i].last)
			return true;
	return false;
}

char *utf8_escape(char *out, const char *p, size_t n, long code)
{
	if (code == '\n')
		return stpcpy(out, "\\n");
	if (code == '\t')
		return stpcpy(out, "\\t");
	if (code == '\\')
		return stpcpy(out, "\\\\");
	if (code < 0 || (utf8_is_control(code) && code < 0x80))
		return out + sprintf(out, "\\x%02x", (unsigned char)*p);
	if (utf8_is_control(code) || utf8_is_tricky(code))
		return out + sprintf(out, "\\u{%lx}", code);
	memcpy(out, p, n);
	return out + n;
}

char *utf8_json(char *out, long code)
{
	if (code > 0xffff)
		return out + sprintf(out, "\\u%04lx\\u%04lx", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
	return out + sprintf(out, "\\u%04lx", code);
}

char *utf8_put(char *out, const char *text, size_t len)
{
	size_t n;
	long code;

	for (*out = '\0'; len; text += n, len -= n) {
		n = utf8_next(text, len, &code);
		out = utf8_escape(out, text, n, code);
		*out = '\0';
	}
	return out;
}

char *utf8_plain(const char *text, size_t len)
{
	char *plain = malloc(UTF8_PLAIN_MAX(len));

	if (plain)
		utf8_put(plain, text, len);
	return plain;
}
