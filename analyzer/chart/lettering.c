/* SPDX-License-Identifier: GPL-3.0-only */
/* lettering.c - text in the metrics of DejaVu Sans. */
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "lettering.h"
#include "text.h"
#include "utf8.h"

/* Advance widths of the characters from space to ~ in DejaVu Sans, in thousandths of the size. */
static const short widths[] = {
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
	636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
	575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
	611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
	278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

/* True for characters that both DejaVu Sans and DejaVu Sans Bold certainly have. */
static bool font_has(long code)
{
	static const struct { long from, to;
	} ranges[] = {
		{ ' ', '~' },       { 0xa0, 0x2e9 },    { 0x300, 0x34f },   { 0x391, 0x3a1 },
		{ 0x3a3, 0x3ce },   { 0x400, 0x45f },   { 0x1e00, 0x1efb }, { 0x2010, 0x2027 },
		{ 0x2032, 0x205e }, { 0x2190, 0x22d7 }, { 0x2500, 0x25ff }, { 0xfffd, 0xfffd },
	};
	size_t i;

	for (i = 0; i < N_OF(ranges); i++)
		if (code >= ranges[i].from && code <= ranges[i].to)
			return true;
	return false;
}

/* The width of a character as a fraction of the size, or more than that. Beyond ASCII each letter
 * of DejaVu Sans counts as wide as the widest, but the µ of units; combining marks take no room. A
 * character that only another font has may be wider than the size. */
static double char_width(long code)
{
	if (code >= ' ' && code <= '~')
		return widths[code - ' '] / 1000.0;
	if (!font_has(code))
		return 1.25;
	if (code >= 0x300 && code < 0x350)
		return 0;
	return code == 0x2026 ? 1.0 : code == 0xb5 ? 0.65 : 1.1;
}

/* DejaVu Sans Bold is at most 15 % wider. */
double lettering_width(const char *plain, double size, bool bold)
{
	size_t len = strlen(plain), n;
	double w = 0;
	long code;

	for (; len; plain += n, len -= n) {
		n = utf8_next(plain, len, &code);
		w += char_width(code);
	}
	return w * size * (bold ? 1.15 : 1);
}

/* Number of bytes at the begin of a text that fit into `room`, in whole characters. */
static size_t head_bytes(const char *p, double room, double size, bool bold)
{
	size_t len = strlen(p), at = 0, n;
	double w = 0;
	long code;

	for (; at < len; at += n) {
		n = utf8_next(p + at, len - at, &code);
		w += char_width(code) * size * (bold ? 1.15 : 1);
		if (w > room)
			break;
	}
	return at;
}

/* Offset of the longest end of a text that fits into `room`, in whole characters. */
static size_t tail_bytes(const char *p, double room, double size, bool bold)
{
	size_t at = 0, n, len = strlen(p);
	long code;

	while (at < len && lettering_width(p + at, size, bold) > room) {
		n = utf8_next(p + at, len - at, &code);
		at += n;
	}
	return at;
}

char *lettering_fit(const char *plain, double room, double size, bool bold)
{
	double dots = char_width(0x2026) * size * (bold ? 1.15 : 1), half = (room - dots) / 2;
	char *cut = NULL;

	if (lettering_width(plain, size, bold) <= room)
		return strdup(plain);
	if (half < 0)
		return strdup("");
	if (asprintf(&cut, "%.*s…%s", (int)head_bytes(plain, half, size, bold), plain,
		     plain + tail_bytes(plain, half, size, bold)) < 0)
		return NULL;
	return cut;
}

/* Returns a copy of the text, to be freed, with U+FFFD for each character that the font lacks. */
static char *with_font(const char *plain)
{
	size_t len = strlen(plain), n;
	char *buf = malloc(3 * len + 1), *out = buf;
	long code;

	for (; buf && len; plain += n, len -= n) {
		n = utf8_next(plain, len, &code);
		out = font_has(code) ? mempcpy(out, plain, n) : stpcpy(out, "\ufffd");
	}
	if (buf)
		*out = '\0';
	return buf;
}

void lettering_put(FILE *data, const char *plain)
{
	auto_free char *cell = text_plot_plain(plain), *safe = with_font(plain);
	auto_free char *drawn = safe ? text_plot_plain(safe) : NULL;

	fprintf(data, "%s\t%s", cell && *cell ? cell : "\" \"", drawn && *drawn ? drawn : "\" \"");
}
