/* SPDX-License-Identifier: GPL-3.0-only */
/* text.c - escaping for each place that text goes to. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text.h"

#define PLOT_CHARS 200

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

/* Characters that reorder the text around them, or are invisible (Unicode TR36). */
static bool is_tricky(long code)
{
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) ||
	       code == 0xfeff || code == 0x61c;
}

static bool is_control(long code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/* Writes the longest form of one character, at most 12 bytes, and returns its end. */
static char *put_terminal(char *out, const char *p, size_t n, long code)
{
	if (code == '\n')
		return stpcpy(out, "\\n");
	if (code == '\t')
		return stpcpy(out, "\\t");
	if (code == '\\')
		return stpcpy(out, "\\\\");
	if (code < 0 || (is_control(code) && code < 0x80))
		return out + sprintf(out, "\\x%02x", (unsigned char)*p);
	if (is_control(code) || is_tricky(code))
		return out + sprintf(out, "\\u{%lx}", code);
	memcpy(out, p, n);
	return out + n;
}

static char *put_tsv(char *out, const char *p, size_t n, long code)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";
	const char *hit = code > 0 && code < 0x80 ? strchr(from, code) : NULL;

	if (!code)
		return stpcpy(out, "\\0");
	if (hit)
		return out + sprintf(out, "\\%c", to[hit - from]);
	memcpy(out, p, n);
	return out + n;
}

static char *put_plot(char *out, const char *p, size_t n, long code)
{
	if (code < 0 || is_control(code) || is_tricky(code))
		return stpcpy(out, "?");
	if (code == '"' || code == '\\' || code == '`')
		return stpcpy(out, "'");
	memcpy(out, p, n);
	return out + n;
}

static char *put_json(char *out, const char *p, size_t n, long code)
{
	if (code < 0)
		return out + sprintf(out, "\\udc%02x", (unsigned char)*p);
	if (code == '"' || code == '\\')
		return out + sprintf(out, "\\%c", (int)code);
	if (is_control(code) || is_tricky(code))
		return out + sprintf(out, "\\u%04lx", code);
	memcpy(out, p, n);
	return out + n;
}

typedef char *put_char(char *out, const char *p, size_t n, long code);

static char *map_text(const char *text, size_t len, put_char *put, size_t most)
{
	char *buf = malloc(len * 12 + 16), *out = buf;
	size_t n, chars = 0;
	long code;

	if (!buf)
		return NULL;
	for (; len; text += n, len -= n) {
		if (chars++ == most) {
			out = stpcpy(out, "...");
			break;
		}
		n = utf8_next(text, len, &code);
		out = put(out, text, n, code);
	}
	*out = '\0';
	return buf;
}

char *text_terminal(const char *text, size_t len)
{
	return map_text(text, len, put_terminal, -1);
}

char *text_tsv(const char *text, size_t len)
{
	return map_text(text, len, put_tsv, -1);
}

char *text_plot(const char *text, size_t len)
{
	return map_text(text, len, put_plot, PLOT_CHARS);
}

char *text_json(const char *text, size_t len)
{
	char *inner = map_text(text, len, put_json, -1), *all = NULL;

	if (inner && asprintf(&all, "\"%s\"", inner) < 0)
		all = NULL;
	free(inner);
	return all;
}

char *text_csv(const char *text, size_t len)
{
	char *buf = malloc(len * 2 + 8), *out = buf;
	bool formula = len && strchr("=+-@\t\r", *text) && *text;
	bool quote = false;
	size_t i;

	if (!buf)
		return NULL;
	for (i = 0; i < len; i++)
		quote |= text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
	if (quote)
		*out++ = '"';
	if (formula)
		*out++ = '\'';
	for (i = 0; i < len; i++) {
		if (text[i] == '"')
			*out++ = '"';
		*out++ = text[i] ? text[i] : '?'; /* a NUL ends the field for most readers */
	}
	if (quote)
		*out++ = '"';
	*out = '\0';
	return buf;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}
