/* SPDX-License-Identifier: GPL-3.0-only */
/* chart.c - a picture: its head, then charts one below the other, each with its key and its panels. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"
#include "report.h"
#include "text.h"

#define CHARTS_MAX 8

/* A column of a paper is 85 mm wide, a page 178 mm; 96 pixels are an inch. Bitmaps of both have 300 dots an inch. */
static const struct { const char *name; struct look look; } sizes[] = {
	{ "column", { .width = 321, .font = 8.5, .zoom = 3.125 } },
	{ "page", { .width = 673, .font = 9.5, .zoom = 3.125 } },
	{ "screen", { .width = 1200, .font = 13, .zoom = 1 } },
};

int look_size(struct look *look, const char *text)
{
	unsigned width, height;
	char end;
	size_t i;

	for (i = 0; i < N_OF(sizes); i++) {
		if (!strcmp(sizes[i].name, text)) {
			look->width = sizes[i].look.width;
			look->height = 0;
			look->font = sizes[i].look.font;
			look->zoom = sizes[i].look.zoom;
			return 0;
		}
	}
	if (sscanf(text, "%5ux%5u%c", &width, &height, &end) != 2 || width < 200 || height < 100 || width > 20000 || height > 20000)
		return -EINVAL;
	look->width = width;
	look->height = height;
	look->font = width < 500 ? 8.5 : width < 1000 ? 10 : 13;
	look->zoom = 1;
	return 0;
}

int fail_size(const char *text)
{
	return fail_as(EXIT_USAGE, 0, "--size: '%s' is neither column, page or screen, nor WIDTHxHEIGHT in pixels (200x100 to 20000x20000)", text);
}

bool chart_has(const struct answer *a)
{
	int i;

	for (i = 0; i < a->tables; i++)
		if (chart_kind(&a->table[i]) != NO_CHART)
			return true;
	return false;
}

bool chart_has_rows(const struct answer *a)
{
	int i;

	for (i = 0; i < a->tables; i++)
		if (chart_kind(&a->table[i]) < NOTE && a->table[i].rows)
			return true;
	return false;
}

struct picture {
	const struct answer *a;
	const struct look *look;
	struct chart chart[CHARTS_MAX];
	int charts;
	struct pen pen;
	double width, y, margin, font;
	double stretch;          /* what each row of plots may be higher */
	int plots;               /* rows of plots: those that can be stretched */
};

/* Text in as many lines as it needs, at words; a word that is longer than a line is cut in the middle. */
static void put_lines(struct picture *p, const char *plain, double size, enum ink ink, bool bold)
{
	double room = p->width - 2 * p->margin;
	auto_free char *left = strdup(plain);
	char *at = left, *end, *fits;

	while (at && *at) {
		for (fits = end = at; *end; fits = end) {
			char keep;

			end += strspn(end, " ");
			end += strcspn(end, " ");
			keep = *end;
			*end = '\0';
			if (pen_width(at, size, bold) > room || end - at > TEXT_PLOT_CHARS) {
				*end = keep;
				break;
			}
			*end = keep;
		}
		if (fits == at)
			fits = at + strcspn(at, " ");
		auto_free char *line = strndup(at, fits - at);
		auto_free char *cut = line ? pen_fit(line, room, size, bold) : NULL;

		p->y += 1.35 * size;
		pen_text(&p->pen, p->margin, p->y - 0.3 * size, START, size, ink, bold, cut ?: "");
		at = fits + strspn(fits, " ");
	}
}

static void put_head(struct picture *p)
{
	int col = grid_find(&p->a->picture, "line");
	size_t row;

	if (p->look->no_head)
		return;
	auto_free char *title = text_terminal(p->look->title ?: p->a->title, strlen(p->look->title ?: p->a->title));

	put_lines(p, title ?: "", 1.3 * p->font, INK, true);
	for (row = 0; col >= 0 && row < p->a->picture.rows; row++) {
		auto_free char *line = cell_string(grid_cell(&p->a->picture, row, col), "", text_terminal);

		put_lines(p, line ?: "", 0.9 * p->font, DIM, false);
	}
	p->y += 0.4 * p->font;
}

/* Is the key of a chart the one that the chart above has? */
static bool same_parts(const struct chart *a, const struct chart *b)
{
	int i;

	if (a->part.n != b->part.n || (a->kind == BARS || a->kind == AREAS) != (b->kind == BARS || b->kind == AREAS))
		return false;
	for (i = 0; i < a->part.n; i++)
		if (strcmp(a->part.name[i], b->part.name[i]))
			return false;
	return true;
}

/* How a part looks: what it is drawn as in this chart. */
static void put_swatch(struct picture *p, const struct chart *c, int part, double x, double y)
{
	bool line = c->kind == LINES, mark = c->kind == POINTS;
	char d[96];
	int i;

	for (i = 0; c->kind == AREAS && i < c->items; i++) {
		if (c->item[i].part == part && c->item[i].over) {
			line = c->item[i].over == 1;
			mark = !line;
			break;
		}
	}
	if (!line && !mark)
		pen_rect(&p->pen, x, y - 0.8 * p->font, 1.4 * p->font, p->font, c->paint[part]);
	if (line) {
		snprintf(d, sizeof(d), "M%.1f %.1fH%.1f", x, y - 0.3 * p->font, x + 1.4 * p->font);
		pen_path(&p->pen, d, c->paint[part], 1.8);
	}
	if (mark || c->kind == LINES)
		pen_mark(&p->pen, x + 0.7 * p->font, y - 0.3 * p->font, (mark ? 0.42 : 0.28) * p->font, c->paint[part]);
}

static void put_key(struct picture *p, const struct chart *c)
{
	double x = p->margin, right = p->width - p->margin;
	int i, shown = 0;

	for (i = 0; i < c->part.n; i++) {
		auto_free char *name = pen_fit(c->part.name[i], right - p->margin - 2 * p->font, 0.9 * p->font, false);
		double w = 2 * p->font + pen_width(name ?: "", 0.9 * p->font, false);

		if (!*c->part.name[i])
			continue;
		if (!shown++)
			p->y += 1.5 * p->font;
		if (x > p->margin && x + w > right) {
			x = p->margin;
			p->y += 1.4 * p->font;
		}
		put_swatch(p, c, i, x, p->y - 0.4 * p->font);
		pen_text(&p->pen, x + 1.8 * p->font, p->y - 0.4 * p->font, START, 0.9 * p->font, INK, false, name ?: "");
		x += w + 1.2 * p->font;
	}
	p->y += shown ? 0.3 * p->font : 0;
}

/* Panels of a row: as many as their least width allows. */
static int columns_of(const struct picture *p, const struct chart *c)
{
	double least = (c->kind == BARS ? 34 : 30) * p->font;
	int n = (p->width - 2 * p->margin) / least;

	return n < 1 ? 1 : n > c->panel.n ? c->panel.n : n > 3 ? 3 : n;
}

static double plot_height(const struct picture *p, double width)
{
	return fmin(fmax(0.5 * width, 9 * p->font), 17 * p->font) + p->stretch;
}

static void put_panels(struct picture *p, const struct chart *c)
{
	int n = columns_of(p, c), i, k;
	double gap = 2 * p->font, w = (p->width - 2 * p->margin - (n - 1) * gap) / n, high, plot = plot_height(p, w);

	for (i = 0; i < c->panel.n; i += n) {
		for (k = i, high = 0; k < i + n && k < c->panel.n; k++) {
			struct frame f = { &p->pen, p->margin + (k - i) * (w + gap), p->y, w, plot, p->font };

			high = fmax(high, c->kind == BARS ? bars_height(c, k, p->font) : xy_height(c, plot, p->font));
			(c->kind == BARS ? bars_draw : xy_draw)(c, k, f);
		}
		p->y += high + 0.5 * p->font;
		p->plots += c->kind != BARS;
	}
}

static void put_chart(struct picture *p, int number)
{
	const struct chart *c = &p->chart[number];
	int i;

	if (c->items && c->heading) {
		p->y += number ? 0.6 * p->font : 0;
		put_lines(p, c->heading, p->font, INK, true);
	}
	if (c->items && c->key && (!number || !same_parts(c, &p->chart[number - 1])))
		put_key(p, c);
	if (c->items)
		put_panels(p, c);
	for (i = 0; i < c->note.n; i++)
		put_lines(p, c->note.name[i], 0.9 * p->font, DIM, false);
}

/* All strokes; only then the height is known. */
static void put_body(struct picture *p)
{
	int i;

	pen_free(&p->pen);
	p->y = p->margin = 0.8 * p->font;
	p->plots = 0;
	put_head(p);
	for (i = 0; i < p->charts; i++)
		put_chart(p, i);
	p->y += p->margin;
}

/* A given height is kept: plots grow to it, or everything is drawn on a larger canvas and made smaller. */
static void fit_body(struct picture *p)
{
	double want = p->look->height / p->look->width, grow;

	put_body(p);
	while (want > 0 && p->y > p->width * want && p->width < 20 * p->look->width) {
		p->width *= 1.08;
		put_body(p);
	}
	grow = want > 0 && p->plots ? (p->width * want - p->y) / p->plots : 0;
	if (grow > 1) {
		p->stretch = grow;
		put_body(p);
	}
	if (want > 0)
		p->y = fmax(p->y, p->width * want);
}

static int read_charts(struct picture *p)
{
	bool column = p->look->width < 500;
	int i, err, items = 0;

	for (i = 0; i < p->a->tables && p->charts < CHARTS_MAX; i++) {
		if (chart_kind(&p->a->table[i]) == NO_CHART)
			continue;
		err = chart_read(&p->chart[p->charts++], &p->a->table[i], column ? 10 : 14, column ? 4 : 6, column ? 9 : 14);
		if (err)
			return fail_as(EXIT_DATA, ENOMEM, "%s", p->a->name);
		items += p->chart[p->charts - 1].items;
	}
	return items ? 0 : fail_as(EXIT_DATA, 0, "nothing to draw: report '%s' has no rows for this run", p->a->name);
}

int chart_draw(const struct answer *a, const struct look *look, const char *name, const char *style, FILE *data, FILE *script)
{
	struct picture p = { .a = a, .look = look, .width = look->width, .font = look->font };
	int err = read_charts(&p);
	char id[64], *dash;

	if (!err) {
		fit_body(&p);
		snprintf(id, sizeof(id), "%s", name); /* gnuplot takes letters, digits and _ */
		for (; (dash = strchr(id, '-'));)
			*dash = '_';
		fprintf(script, "picture = \"%s\"; id = \"%s\"; width = %.1f; height = %.1f; zoom = %.3f; across = %.2f\n%s", name, id, look->width,
			ceil(p.y * look->width / p.width - 1e-6), look->zoom, p.width, style);
		err = pen_write(&p.pen, data, script) ? fail_as(EXIT_DATA, ENOMEM, "%s", a->name) : 0;
	}
	pen_free(&p.pen);
	while (p.charts)
		chart_free(&p.chart[--p.charts]);
	return err;
}
