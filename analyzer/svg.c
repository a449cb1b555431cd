/* SPDX-License-Identifier: GPL-3.0-only */
/* svg.c - the strokes of a picture. */
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "svg.h"
#include "text.h"
#include "utf8.h"

/* Advance widths of DejaVu Sans from blank to ~, in thousandths of its size. */
static const short widths[] = {
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
	636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
	575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
	611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
	278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
};

/* Dashes and names of hatches by enum hatch; a pattern is 6 x 6. */
static const struct { const char *dash, *strokes; } hatches[HATCHES] = {
	[PLAIN] = { NULL, NULL },
	[RISING] = { "6 2", "M-1 1L1 -1M0 6L6 0M5 7L7 5" },
	[FALLING] = { "2 2", "M-1 5L1 7M0 0L6 6M5 -1L7 1" },
	[LEVEL] = { "6 2 2 2", "M0 1.5H6M0 4.5H6" },
	[UPRIGHT] = { "9 3", "M1.5 0V6M4.5 0V6" },
	[CROSSED] = { "4 1 1 1 1 1", "M0 0L6 6M0 6L6 0" },
	[DOTTED] = { "1 2", "M1 1h1.4M4 4h1.4" },
	[CHECKED] = { "3 3", "M0 3H6M3 0V6" },
};

static double char_width(long code)
{
	if (code >= ' ' && code <= '~')
		return widths[code - ' '] / 1000.0;
	if (code >= 0x300 && code < 0x370)
		return 0;
	return code < 0x250 ? 0.7 : code < 0x1100 ? 0.85 : code == 0x2026 ? 1.0 : 1.05;
}

/* Bold is at most 15 % wider. */
double svg_width(const char *plain, double size, bool bold)
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

/* How many bytes of the text fit from its begin, whole characters. */
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

static size_t tail_bytes(const char *p, double room, double size, bool bold)
{
	size_t at = 0, n, len = strlen(p);
	long code;

	while (at < len && svg_width(p + at, size, bold) > room) {
		n = utf8_next(p + at, len - at, &code);
		at += n;
	}
	return at;
}

char *svg_fit(const char *plain, double room, double size, bool bold)
{
	double dots = char_width(0x2026) * size * (bold ? 1.15 : 1), half = (room - dots) / 2;
	char *cut = NULL;

	if (svg_width(plain, size, bold) <= room)
		return strdup(plain);
	if (half < 0)
		return strdup("");
	if (asprintf(&cut, "%.*s…%s", (int)head_bytes(plain, half, size, bold), plain, plain + tail_bytes(plain, half, size, bold)) < 0)
		return NULL;
	return cut;
}

void svg_text(struct svg *s, double x, double y, enum anchor anchor, double size, const char *class, bool bold, const char *plain)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	auto_free char *safe = text_entities(plain);
	double width = svg_width(plain, size, bold);

	if (!safe || !*safe)
		return;
	fprintf(s->f, "<text class=\"%s\" fill=\"%s\" x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\" text-anchor=\"%s\"%s textLength=\"%.2f\" "
		"lengthAdjust=\"spacingAndGlyphs\">%s</text>\n", class, !strcmp(class, "dim") ? "#555555" : "#111111", x, y, size,
		anchors[anchor], bold ? " font-weight=\"bold\"" : "", width, safe);
}

/* Number of the pattern for the paint, or -1: a plain colour. */
static int pattern_of(struct svg *s, struct paint p)
{
	int i;

	for (i = 0; i < s->patterns; i++)
		if (s->hatched[i].colour == p.colour && s->hatched[i].hatch == p.hatch)
			return i;
	if (p.hatch == PLAIN || s->patterns == (int)N_OF(s->hatched))
		return -1;
	s->hatched[s->patterns] = p;
	return s->patterns++;
}

static void put_fill(struct svg *s, struct paint p)
{
	int n = pattern_of(s, p);

	if (n < 0)
		fprintf(s->f, "fill=\"#%06x\"", p.colour);
	else
		fprintf(s->f, "fill=\"url(#%s-p%d)\"", s->id, n);
}

void svg_rect(struct svg *s, double x, double y, double w, double h, struct paint p)
{
	fprintf(s->f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ", x, y, w, h);
	put_fill(s, p);
	fprintf(s->f, "/>\n");
}

void svg_rule(struct svg *s, double x1, double y1, double x2, double y2, const char *class, double width, const char *dash)
{
	fprintf(s->f, "<path class=\"%s\" d=\"M%.2f %.2fL%.2f %.2f\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.2f\"%s%s%s/>\n", class, x1, y1, x2, y2,
		!strcmp(class, "grid") ? "#dddddd" : "#555555", width, dash ? " stroke-dasharray=\"" : "", dash ?: "", dash ? "\"" : "");
}

void svg_path(struct svg *s, const char *d, struct paint p, double width)
{
	const char *dash = hatches[p.hatch].dash;

	fprintf(s->f, "<path class=\"curve\" d=\"%s\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.2f\"%s%s%s/>\n", d, p.colour, width,
		dash ? " stroke-dasharray=\"" : "", dash ?: "", dash ? "\"" : "");
}

void svg_area(struct svg *s, const char *d, struct paint p)
{
	fprintf(s->f, "<path d=\"%s\" ", d);
	put_fill(s, p);
	fprintf(s->f, "/>\n");
}

/* Marks by number, -1 to 1 around the point: square, disc, up, diamond, down, cross, plus, bar. */
static const char *const marks[HATCHES] = {
	"M-.8-.8H.8V.8H-.8Z", "M-1 0A1 1 0 0 0 1 0A1 1 0 0 0-1 0Z", "M-1 .8L0-1L1 .8Z", "M0-1.2L1.2 0L0 1.2L-1.2 0Z",
	"M-1-.8L0 1L1-.8Z", "M-1-.7L-.7-1L0-.3L.7-1L1-.7L.3 0L1 .7L.7 1L0 .3L-.7 1L-1 .7L-.3 0Z",
	"M-1-.25H-.25V-1H.25V-.25H1V.25H.25V1H-.25V.25H-1Z", "M-1-.4H1V.4H-1Z",
};

void svg_mark(struct svg *s, double x, double y, double r, struct paint p)
{
	fprintf(s->f, "<path d=\"%s\" transform=\"translate(%.2f %.2f) scale(%.2f)\" fill=\"#%06x\"/>\n", marks[p.hatch], x, y, r, p.colour);
}

void svg_defs(struct svg *s)
{
	int i;

	if (!s->patterns)
		return;
	fprintf(s->f, "<defs>\n");
	for (i = 0; i < s->patterns; i++) {
		struct paint p = s->hatched[i];
		uint32_t c = p.colour;
		int light = (c >> 16) * 3 + (c >> 8 & 255) * 6 + (c & 255) > 1275;

		fprintf(s->f, "<pattern id=\"%s-p%d\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 0H6V6H0Z\" fill=\"#%06x\"/>"
			"<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.6\" stroke-width=\"1.1\"/></pattern>\n", s->id, i, c,
			hatches[p.hatch].strokes, light ? "#000000" : "#ffffff");
	}
	fprintf(s->f, "</defs>\n");
}
