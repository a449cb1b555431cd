/* SPDX-License-Identifier: GPL-3.0-only */
/* text.c - escapes of text for each format. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "memory.h"
#include "text.h"
#include "utf8.h"

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


static char *put_json(char *out, const char *p, size_t n, long code)
{
	if (code < 0)
		return utf8_json(out, 0xdc00 | (unsigned char)*p);
	if (code == '"' || code == '\\')
		return out + sprintf(out, "\\%c", (int)code);
	if (utf8_is_control(code) || utf8_is_tricky(code))
		return utf8_json(out, code);
	memcpy(out, p, n);
	return out + n;
}

typedef char *put_char(char *out, const char *p, size_t n, long code);

static char *map_text(const char *text, size_t len, put_char *put)
{
	char *buf = malloc(len * UTF8_ESCAPE_MAX + UTF8_ESCAPE_MAX), *out = buf;
	size_t n;
	long code;

	if (!buf)
		return NULL;
	for (; len; text += n, len -= n) {
		n = utf8_next(text, len, &code);
		out = put(out, text, n, code);
	}
	*out = '\0';
	return buf;
}

char *text_terminal(const char *text, size_t len)
{
	return utf8_plain(text, len);
}

char *text_tsv(const char *text, size_t len)
{
	return map_text(text, len, put_tsv);
}

/* The last byte of U+FFFE or U+FFFF, which become U+FFFD. */
static bool is_no_character(const char *from, const char *p)
{
	return p - from > 1 && !memcmp(p - 2, "\xef\xbf", 2) && (*p & 0xbe) == 0xbe;
}

/* gnuplot takes a backslash of data for an escape and a quote for the end of a cell, and writes
 * ]]> into its SVG, where XML does not allow it: a character without width (U+2060) goes in
 * between. XML does not allow U+FFFE and U+FFFF either. */
static char *put_plot(char *out, const char *from, const char *p)
{
	if (*p == '\\')
		return stpcpy(out, "\\\\");
	if (*p == '"')
		return stpcpy(out, "\\042");
	if (*p == '>' && p - from > 1 && !memcmp(p - 2, "]]", 2))
		out = stpcpy(out, "\u2060");
	*out++ = is_no_character(from, p) ? '\xbd' : *p;
	return out;
}

/* gnuplot takes # for a comment and NaN for a missing value, and drops leading blanks, unless they
 * stand in quotes. */
static bool needs_quotes(const char *plain)
{
	return *plain == '#' || *plain == ' ' || !strcasecmp(plain, "NaN");
}

char *text_plot_plain(const char *plain)
{
	char *buf = malloc(4 * TEXT_PLOT_CHARS + 16), *out = buf;
	bool quotes = needs_quotes(plain);
	const char *p = plain;
	size_t chars = 0;

	if (buf && quotes)
		*out++ = '"';
	for (; buf && *p; p++) {
		if ((*p & 0xc0) != 0x80 && chars++ == TEXT_PLOT_CHARS) {
			out = stpcpy(out, "...");
			break;
		}
		out = put_plot(out, plain, p);
	}
	if (buf)
		strcpy(out, quotes ? "\"" : "");
	return buf;
}

char *text_plot(const char *text, size_t len)
{
	auto_free char *plain = utf8_plain(text, len < TEXT_PLOT_CHARS * 4 ? len : TEXT_PLOT_CHARS * 4);

	return plain ? text_plot_plain(plain) : NULL;
}

char *text_json(const char *text, size_t len)
{
	char *inner = map_text(text, len, put_json), *all = NULL;

	if (inner && asprintf(&all, "\"%s\"", inner) < 0)
		all = NULL;
	free(inner);
	return all;
}

/* Does a spreadsheet take the cell for a formula? The last four characters are the wide forms of
 * the first four. */
static bool is_formula(const char *text, size_t len)
{
	static const char *const begins[] = { "=",  "+",      "-",      "@",      "\t",
					      "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20" };
	size_t i;

	for (i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (len >= strlen(begins[i]) && !memcmp(text, begins[i], strlen(begins[i])))
			return true;
	return false;
}

char *text_csv(const char *text, size_t len)
{
	char *buf = malloc(len * 2 + 8), *out = buf;
	bool formula = is_formula(text, len);
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

char *text_entities(const char *plain)
{
	static const struct { char c; const char *entity; } entities[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&apos;" },
	};
	char *buf = malloc(6 * strlen(plain) + 1), *out = buf;
	const char *p;
	size_t i;

	for (p = plain; buf && *p; p++) {
		for (i = 0; i < sizeof(entities) / sizeof(*entities) && entities[i].c != *p; i++)
			;
		if (i < sizeof(entities) / sizeof(*entities))
			out = stpcpy(out, entities[i].entity);
		else /* U+FFFE and U+FFFF are no characters of XML: U+FFFD */
			*out++ = is_no_character(plain, p) ? '\xbd' : *p;
	}
	if (buf)
		*out = '\0';
	return buf;
}

char *text_xml(const char *text, size_t len)
{
	auto_free char *plain = text_terminal(text, len);

	return plain ? text_entities(plain) : NULL;
}

#define LAST_LETTER 0x17f        /* of Latin Extended-A */

/* Each character of `special`, one byte, is written as the text in its place. */
struct escapes {
	const char *special;
	const char *const *text; /* NULL: a backslash in front */
	unsigned last;           /* code points above it are written as \u{HEX}; 0: none are */
};

static const char *const latex_texts[] = { "\\&",
					   "\\%",
					   "\\$",
					   "\\#",
					   "\\_",
					   "\\{",
					   "\\}",
					   "\\textasciitilde{}",
					   "\\textasciicircum{}",
					   "\\textbackslash{}",
					   "\\textless{}",
					   "\\textgreater{}",
					   "\\textbar{}",
					   "\\textquotedbl{}",
					   "\\textasciigrave{}",
					   "{[}",
					   "{]}",
					   "{*}",
					   "{-}" };
/* [ and * would belong to the \\ that ends the row before; -- would be one dash */
static const struct escapes latex = { "&%$#_{}~^\\<>|\"`[]*-", latex_texts, LAST_LETTER };
static const struct escapes markdown = { "\\`*_{}[]<>&|~$#!", NULL, 0 };

/* The text is valid UTF-8 without control characters: text_terminal() made it. */
static char *escape(const char *text, size_t len, const struct escapes *e)
{
	auto_free char *plain = text_terminal(text, len);
	char *out = NULL;
	FILE *f = plain ? memory_open(&out, NULL) : NULL;
	const char *p, *at;

	if (!f)
		return NULL;
	for (p = plain; *p; p++) {
		unsigned lead = (unsigned char)*p, code = lead < 0xe0 ? lead & 0x1f :
							  lead < 0xf0 ? lead & 0xf :
									lead & 7;

		at = strchr(e->special, *p);
		if (at && e->text)
			fputs(e->text[at - e->special], f);
		else if (at)
			fprintf(f, "\\%c", *p);
		else if (lead < 0x80 || !e->last)
			fputc(*p, f);
		if (at || lead < 0x80 || !e->last)
			continue;
		for (at = p; (at[1] & 0xc0) == 0x80; at++)
			code = code << 6 | (at[1] & 0x3f);
		if (code <= e->last)
			fwrite(p, 1, at + 1 - p, f);
		else
			fprintf(f, "\\textbackslash{}u\\{%x\\}", code);
		p = at;
	}
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

char *text_latex(const char *text, size_t len)
{
	return escape(text, len, &latex);
}

char *text_markdown(const char *text, size_t len)
{
	return escape(text, len, &markdown);
}
