/* SPDX-License-Identifier: GPL-3.0-only */
/* pen.c - the strokes of a picture.
 *
 * The script holds numbers, colours and our own words. Texts are cells of the data and nothing else: gnuplot runs back-ticks of a script.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "memory.h"
#include "pen.h"
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

/* By enum hatch: the dash of a line, in its own units, and the fill patterns of gnuplot that make the hatch. */
static const struct { const char *dash; int patterns[2]; } hatches[HATCHES] = {
	[PLAIN] = { NULL, { 0 } },
	[RISING] = { "6,2", { 4 } },
	[FALLING] = { "2,2", { 5 } },
	[STEEP] = { "6,2,2,2", { 6 } },
	[SHEER] = { "9,3", { 7 } },
	[CROSSED] = { "4,1,1,1,1,1", { 1 } },
	[FINE] = { "1,2", { 2 } },
	[CHECKED] = { "3,3", { 6, 7 } },
};

static const uint32_t inks[] = { [INK] = 0x111111, [DIM] = 0x555555, [LINE] = 0x555555, [GRID] = 0xdddddd, [PAPER] = 0xffffff };

/* What is drawn first is below. */
enum layer { BELOW, FILLS, BETWEEN, LINES_OVER, CURVES, MARKS, TEXTS, LAYERS };

/* look: clauses of plot without their data, a line each. */
struct pen_block {
	struct pen_block *next;
	enum layer layer;
	char *look, *data;
	FILE *f;
};

/* What DejaVu Sans and its bold have, for sure. */
static bool font_has(long code)
{
	static const struct { long from, to; } ranges[] = {
		{ ' ', '~' }, { 0xa0, 0x2e9 }, { 0x300, 0x34f }, { 0x391, 0x3a1 }, { 0x3a3, 0x3ce }, { 0x400, 0x45f }, { 0x1e00, 0x1efb },
		{ 0x2010, 0x2027 }, { 0x2032, 0x205e }, { 0x2190, 0x22d7 }, { 0x2500, 0x25ff }, { 0xfffd, 0xfffd },
	};
	size_t i;

	for (i = 0; i < N_OF(ranges); i++)
		if (code >= ranges[i].from && code <= ranges[i].to)
			return true;
	return false;
}

/* Never less than it is: of other letters the widest, and what another font has may be wider than high. */
static double char_width(long code)
{
	if (code >= ' ' && code <= '~')
		return widths[code - ' '] / 1000.0;
	if (!font_has(code))
		return 1.25;
	if (code >= 0x300 && code < 0x350)
		return 0;
	return code == 0x2026 ? 1.0 : 1.1;
}

/* Bold is at most 15 % wider. */
double pen_width(const char *plain, double size, bool bold)
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

	while (at < len && pen_width(p + at, size, bold) > room) {
		n = utf8_next(p + at, len - at, &code);
		at += n;
	}
	return at;
}

char *pen_fit(const char *plain, double room, double size, bool bold)
{
	double dots = char_width(0x2026) * size * (bold ? 1.15 : 1), half = (room - dots) / 2;
	char *cut = NULL;

	if (pen_width(plain, size, bold) <= room)
		return strdup(plain);
	if (half < 0)
		return strdup("");
	if (asprintf(&cut, "%.*s…%s", (int)head_bytes(plain, half, size, bold), plain, plain + tail_bytes(plain, half, size, bold)) < 0)
		return NULL;
	return cut;
}

/* The block of a look, to write to; NULL without memory. */
static FILE *block_of(struct pen *p, enum layer layer, const char *look)
{
	struct pen_block *b, **end = &p->first;

	for (; (b = *end); end = &b->next)
		if (b->layer == layer && b->look && !strcmp(b->look, look))
			return b->f;
	b = calloc(1, sizeof(*b));
	p->failed |= !b;
	if (!b)
		return NULL;
	*end = b;
	b->layer = layer;
	b->look = strdup(look);
	b->f = memory_open(&b->data, NULL);
	p->failed |= !b->look || !b->f;
	return p->failed ? NULL : b->f;
}

/* The text with U+FFFD for what the font does not have. Allocated. */
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

void pen_text(struct pen *p, double x, double y, enum anchor anchor, double size, enum ink ink, bool bold, const char *plain)
{
	static const char *const anchors[] = { "left", "center", "right" };
	auto_free char *cell = text_plot_plain(plain), *safe = with_font(plain), *drawn = safe ? text_plot_plain(safe) : NULL;
	char look[160];
	FILE *f;

	p->failed |= !cell || !drawn;
	if (!cell || !drawn || !*plain)
		return;
	snprintf(look, sizeof(look), "using 1:(baseline($2,%.2f)):words notitle with labels %s noenhanced font %s(%.2f) tc rgb \"#%06x\"\n", size,
		 anchors[anchor], bold ? "bold" : "face", size, inks[ink]);
	f = block_of(p, TEXTS, look);
	if (f)
		fprintf(f, "%.2f\t%.2f\t%s\t%s\n", x, y, cell, drawn);
}

/* A hatch lies over its colour: six tenths of black in it, or of white in what is dark. */
static uint32_t hatch_colour(uint32_t c)
{
	uint32_t to = (c >> 16) * 3 + (c >> 8 & 255) * 6 + (c & 255) > 1275 ? 0 : 153;

	return (to + (c >> 16) * 2 / 5) << 16 | (to + (c >> 8 & 255) * 2 / 5) << 8 | (to + (c & 255) * 2 / 5);
}

/* Where to write areas of that paint. */
static FILE *fill_of(struct pen *p, enum layer layer, struct paint paint, bool hatched)
{
	uint32_t c = paint.colour;
	char look[400];
	int i, len;

	len = snprintf(look, sizeof(look), "using 1:2 notitle with filledcurves closed fc rgb \"#%06x\" fs solid noborder\n", c);
	for (i = 0; hatched && i < 2 && hatches[paint.hatch].patterns[i]; i++)
		len += snprintf(look + len, sizeof(look) - len, "using 1:2 notitle with filledcurves closed fc rgb \"#%06x\" fs transparent pattern %d noborder\n",
				hatch_colour(c), hatches[paint.hatch].patterns[i]);
	return block_of(p, layer, look);
}

static void put_shape(FILE *f, const double (*at)[2], int n, double x, double y, double r)
{
	int i;

	for (i = 0; f && i < n; i++)
		fprintf(f, "%.2f\t%.2f\n", x + r * at[i][0], y + r * at[i][1]);
	if (f)
		fputs("\n", f);
}

void pen_rect(struct pen *p, double x, double y, double w, double h, struct paint paint)
{
	const double corners[][2] = { { 0, 0 }, { w, 0 }, { w, h }, { 0, h }, { 0, 0 } };

	put_shape(fill_of(p, FILLS, paint, true), corners, N_OF(corners), x, y, 1);
}

static FILE *line_of(struct pen *p, enum layer layer, uint32_t colour, double width, const char *dash)
{
	char look[240], dt[100] = "solid", *end = dt;
	const char *d;

	if (dash) {
		end = stpcpy(dt, "(");
		for (d = dash; *d && end - dt < 80; d++)
			end += sprintf(end, *d == ',' ? "*dash," : "%c", *d);
		strcpy(end, "*dash)");
	}
	snprintf(look, sizeof(look), "using 1:2 notitle with lines lw thick*%.2f dt %s lc rgb \"#%06x\"\n", width, dt, colour);
	return block_of(p, layer, look);
}

void pen_rule(struct pen *p, double x1, double y1, double x2, double y2, enum ink ink, double width, bool dashed)
{
	FILE *f = line_of(p, ink == GRID ? BELOW : ink == PAPER ? BETWEEN : LINES_OVER, inks[ink], width, dashed ? "3,2" : NULL);

	if (f)
		fprintf(f, "%.2f\t%.2f\n%.2f\t%.2f\n\n", x1, y1, x2, y2);
}

/* The points of M, L, H and V; Z is what areas do anyway. */
static void put_path(FILE *f, const char *d)
{
	double x = 0, y = 0;
	bool begun = false;
	char *end, what;

	while (f && *d && *d != 'Z') {
		what = *d++;
		if (what != 'V') {
			x = strtod(d, &end);
			d = end;
		}
		if (what != 'H') {
			y = strtod(d, &end);
			d = end;
		}
		if (what == 'M' && begun)
			fputs("\n", f);
		fprintf(f, "%.2f\t%.2f\n", x, y);
		begun = true;
	}
	if (f)
		fputs("\n", f);
}

void pen_path(struct pen *p, const char *d, struct paint paint, double width)
{
	put_path(line_of(p, CURVES, paint.colour, width, hatches[paint.hatch].dash), d);
}

void pen_area(struct pen *p, const char *d, struct paint paint)
{
	put_path(fill_of(p, FILLS, paint, true), d);
}

/* Marks by number, -1 to 1 around the point: square, disc, up, diamond, down, cross, plus, bar. */
static const struct { int n; double at[16][2]; } marks[HATCHES] = {
	{ 5, { { -0.8, -0.8 }, { 0.8, -0.8 }, { 0.8, 0.8 }, { -0.8, 0.8 }, { -0.8, -0.8 } } },
	{ 0, { { 0 } } },
	{ 4, { { -1, 0.8 }, { 0, -1 }, { 1, 0.8 }, { -1, 0.8 } } },
	{ 5, { { 0, -1.2 }, { 1.2, 0 }, { 0, 1.2 }, { -1.2, 0 }, { 0, -1.2 } } },
	{ 4, { { -1, -0.8 }, { 0, 1 }, { 1, -0.8 }, { -1, -0.8 } } },
	{ 13, { { -1, -0.7 }, { -0.7, -1 }, { 0, -0.3 }, { 0.7, -1 }, { 1, -0.7 }, { 0.3, 0 }, { 1, 0.7 }, { 0.7, 1 }, { 0, 0.3 }, { -0.7, 1 },
		{ -1, 0.7 }, { -0.3, 0 }, { -1, -0.7 } } },
	{ 13, { { -1, -0.25 }, { -0.25, -0.25 }, { -0.25, -1 }, { 0.25, -1 }, { 0.25, -0.25 }, { 1, -0.25 }, { 1, 0.25 }, { 0.25, 0.25 },
		{ 0.25, 1 }, { -0.25, 1 }, { -0.25, 0.25 }, { -1, 0.25 }, { -1, -0.25 } } },
	{ 5, { { -1, -0.4 }, { 1, -0.4 }, { 1, 0.4 }, { -1, 0.4 }, { -1, -0.4 } } },
};

void pen_mark(struct pen *p, double x, double y, double r, struct paint paint)
{
	FILE *f = fill_of(p, MARKS, paint, false);
	double disc[17][2];
	int i;

	for (i = 0; i < (int)N_OF(disc); i++) {
		disc[i][0] = cos(2 * M_PI * i / (N_OF(disc) - 1));
		disc[i][1] = sin(2 * M_PI * i / (N_OF(disc) - 1));
	}
	if (marks[paint.hatch].n)
		put_shape(f, marks[paint.hatch].at, marks[paint.hatch].n, x, y, r);
	else
		put_shape(f, disc, N_OF(disc), x, y, r);
}

/* A block ends with one line that is empty or with none: two more end it for gnuplot, three are as good. */
static void write_block(const struct pen_block *b, int number, FILE *data, FILE *script)
{
	const char *look, *end;

	fprintf(data, "%s\n\n", b->data);
	for (look = b->look; *look; look = end + 1) {
		end = strchrnul(look, '\n');
		fprintf(script, "%sdata index %d %.*s", number || look != b->look ? ", \\\n     " : "plot ", number, (int)(end - look), look);
	}
}

int pen_write(struct pen *p, FILE *data, FILE *script)
{
	int layer, number = 0;
	struct pen_block *b;

	for (b = p->first; b; b = b->next) {
		p->failed |= b->f && fclose(b->f);
		b->f = NULL;
	}
	for (layer = 0; !p->failed && layer < LAYERS; layer++)
		for (b = p->first; b; b = b->next)
			if ((int)b->layer == layer)
				write_block(b, number++, data, script);
	fputs("\n", script);
	return p->failed ? -ENOMEM : 0;
}

void pen_free(struct pen *p)
{
	struct pen_block *b;

	while ((b = p->first)) {
		p->first = b->next;
		if (b->f)
			fclose(b->f);
		free(b->data);
		free(b->look);
		free(b);
	}
	*p = (struct pen){ 0 };
}
