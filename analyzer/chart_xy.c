/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_xy.c - lines, points, stacked areas and maps of cells over a number. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"
#include "memory.h"

#define SMALL 0.9

/* From a value to a place on the canvas; `from` may be below `to` or above it. */
struct axis {
	double from, to, low, high;
	bool log;
};

static double at(const struct axis *a, double v)
{
	double share = a->log ? log10(fmax(v, a->low) / a->low) / log10(a->high / a->low) : (v - a->low) / (a->high - a->low);

	return a->from + (a->to - a->from) * fmin(1, fmax(0, share));
}

struct range chart_across(const struct chart *c)
{
	struct range r = { INFINITY, -INFINITY };
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->absent || (c->across_log && !(it->x > 0)))
			continue;
		r.low = fmin(r.low, it->x);
		r.high = fmax(r.high, it->x + (c->kind == AREAS || c->kind == CELLS ? c->bin : 0));
	}
	return r.low > r.high ? (struct range){ 1, 10 } : r;
}

/* Steps of a logarithmic scale: decades, and of bytes, whose units are powers of 1024, what is round in those. */
static double log_step(enum unit unit)
{
	return unit == UNIT_BYTES ? 4 : 10;
}

/* The steps around a range. */
static void decades(struct axis *a, struct range r, enum unit unit)
{
	double by = log(log_step(unit));

	a->low = exp(by * floor(log(r.low) / by + 1e-9));
	a->high = exp(by * ceil(log(fmax(r.high, r.low)) / by - 1e-9));
	if (a->high <= a->low)
		a->high = a->low * log_step(unit);
}

static struct axis value_axis(const struct chart *c, int panel)
{
	struct range r = chart_values(c, panel);
	struct axis a = { .low = 0, .high = r.high > 0 ? r.high * 1.04 : 1, .log = c->log };
	int i, part;

	if (c->kind == AREAS) {
		auto_free double *sum = calloc(c->items + 1, sizeof(*sum));

		/* rows are in the order of x: one sum a panel and x */
		for (i = part = 0; sum && i < c->items; i++) {
			if (i && (c->item[i].x != c->item[i - 1].x || c->item[i].panel != c->item[i - 1].panel))
				part++;
			if (!c->item[i].over && !c->item[i].absent && (!c->own || c->item[i].panel == panel))
				sum[part] += c->item[i].value;
		}
		for (i = 0; sum && i <= part; i++)
			a.high = fmax(a.high, sum[i] * 1.04);
	}
	if (c->unit == UNIT_PERCENT)
		a.high = fmax(100, fmin(a.high, 103));
	if (c->rule > 0 && c->log) {
		r.low = fmin(r.low, c->rule);
		r.high = fmax(r.high, c->rule);
	}
	/* far above all that is drawn it would take their place */
	if (c->rule > a.high && c->rule <= 2 * a.high && !c->log)
		a.high = 1.03 * c->rule;
	if (c->log)
		decades(&a, r, c->unit);
	return a;
}

double xy_height(const struct chart *c, double plot, double font)
{
	return (c->panel.n > 1 || *c->panel.name[0] ? 1.5 * font : 0) + (c->axis ? 1.5 * font : 0) + 0.5 * font + plot + 1.6 * font +
	       (c->across ? 1.4 * font : 0);
}

/* Calls back with the place and the text of each tick that has room, `apart` away from the one before. */
static void each_tick(const struct axis *a, enum unit unit, int count, void (*call)(void *arg, double v, double place), void *arg)
{
	double step = unit_step(a->high - (a->low < 0 ? a->low : 0), count, unit), v;
	int skip = a->log ? fmax(1, ceil(log(a->high / a->low) / log(log_step(unit)) / count)) : 0, i = 0;

	if (a->log) {
		for (v = a->low; v <= a->high * 1.001; v *= log_step(unit), i++)
			if (i % skip == 0)
				call(arg, v, at(a, v));
		return;
	}
	for (v = fabs(ceil(a->low / step - 1e-9)) * step; v <= a->high * 1.0001; v += step)
		call(arg, v, at(a, v));
}

struct ticks {
	const struct chart *c;
	struct frame *f;
	double x0, x1, y0, y1, last;
	double widest;
};

static void measure_tick(void *arg, double v, double place)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];

	t->widest = fmax(t->widest, pen_width(unit_text(buf, v, t->c->unit), SMALL * t->f->font, false));
}

static void value_tick(void *arg, double v, double place)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];

	pen_rule(t->f->pen, t->x0, place, t->x1, place, GRID, 0.7, false);
	pen_text(t->f->pen, t->x0 - 0.4 * t->f->font, place + 0.32 * t->f->font, END, SMALL * t->f->font, DIM, false, unit_text(buf, v, t->c->unit));
}

static void across_tick(void *arg, double v, double place)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];
	double half = pen_width(unit_text(buf, v, t->c->across_unit), SMALL * t->f->font, false) / 2;

	pen_rule(t->f->pen, place, t->y1, place, t->y0, GRID, 0.7, false);
	if (place - half < t->last || place + half > t->f->x + t->f->w)
		return;
	pen_text(t->f->pen, place, t->y0 + 1.2 * t->f->font, MIDDLE, SMALL * t->f->font, DIM, false, buf);
	t->last = place + half + 0.5 * t->f->font;
}

/* Is there a step without anything behind that one? */
static bool gap_after(const struct chart *c, const double *xs, int i, int n)
{
	return i + 1 < n && xs[i + 1] > xs[i] + c->bin * 1.001;
}

/* The steps of one part, on what the parts before it sum to; `base` grows by them. xs: the places, n of them. */
static void draw_area(const struct chart *c, int panel, int part, struct frame *f, const struct axis *x, const struct axis *y, double *base,
		      const double *xs, int n)
{
	char *d = NULL;
	FILE *out = memory_open(&d, NULL);
	auto_free double *value = calloc(n + 1, sizeof(*value));
	double sum = 0;
	int i, k = 0;

	for (i = 0; value && i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->panel != panel || it->part != part || it->over || it->absent)
			continue;
		while (k < n - 1 && xs[k] < it->x)
			k++;
		value[k] += it->value;
		sum += it->value;
	}
	for (i = 0; out && value && i < n; i++) {
		fprintf(out, "%c%.1f %.1fH%.1f", i ? 'L' : 'M', at(x, xs[i]), at(y, base[i] + value[i]), at(x, xs[i] + c->bin));
		if (gap_after(c, xs, i, n))
			fprintf(out, "V%.1fH%.1f", at(y, 0), at(x, xs[i + 1]));
	}
	for (i = n; out && value && i--;) {
		if (gap_after(c, xs, i, n))
			fprintf(out, "V%.1fH%.1f", at(y, 0), at(x, xs[i] + c->bin));
		fprintf(out, "L%.1f %.1fH%.1f", at(x, xs[i] + c->bin), at(y, base[i]), at(x, xs[i]));
	}
	for (i = 0; value && i < n; i++)
		base[i] += value[i];
	if (out && !fclose(out) && sum > 0) {
		auto_free char *closed = NULL;

		if (asprintf(&closed, "%sZ", d) > 0)
			pen_area(f->pen, closed, c->paint[part]);
	}
	free(d);
}

/* The places of x of a chart, ascending, without repetition. */
static double *places(const struct chart *c, int panel, int *n)
{
	double *xs = calloc(c->items + 1, sizeof(*xs));
	int i;

	for (*n = i = 0; xs && i < c->items; i++)
		if (c->item[i].panel == panel && !c->item[i].over && !c->item[i].absent && (!*n || c->item[i].x > xs[*n - 1]))
			xs[(*n)++] = c->item[i].x;
	return xs;
}

static void draw_areas(const struct chart *c, int panel, struct frame *f, const struct axis *x, const struct axis *y)
{
	int n = 0, part;
	auto_free double *xs = places(c, panel, &n), *base = calloc(n + 1, sizeof(*base));

	for (part = 0; xs && base && part < c->part.n; part++)
		draw_area(c, panel, part, f, x, y, base, xs, n);
}

/* Curves, one a part; on areas only those that say so. */
static void draw_curve(const struct chart *c, int panel, int part, struct frame *f, const struct axis *x, const struct axis *y)
{
	char *d = NULL;
	FILE *out = memory_open(&d, NULL);
	bool steps = c->kind == AREAS || c->steps, pen = false;
	double last = 0;
	int i, n = 0;

	for (i = 0; out && i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->panel != panel || it->part != part || (c->kind == AREAS && it->over != 1) || it->over > 1)
			continue;
		if (it->absent) {
			pen = false;
			continue;
		}
		if (pen && steps)
			fprintf(out, "L%.1f %.1f", at(x, it->x), at(y, last));
		fprintf(out, "%c%.1f %.1f", pen ? 'L' : 'M', at(x, it->x), at(y, it->value));
		if (c->kind == AREAS)
			fprintf(out, "H%.1f", at(x, it->x + c->bin));
		last = it->value;
		pen = true;
		n++;
	}
	if (out && !fclose(out) && n)
		pen_path(f->pen, d, c->paint[part], c->kind == AREAS ? 1.4 : 1.8);
	free(d);
}

/* Marks of the points of a part: not on every one of many. */
static void draw_marks(const struct chart *c, int panel, int part, struct frame *f, const struct axis *x, const struct axis *y)
{
	double last = -INFINITY, px, py;
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->panel != panel || it->part != part || it->absent || (c->kind == AREAS && it->over < 2))
			continue;
		px = at(x, it->x + (c->kind == AREAS ? c->bin / 2 : 0));
		py = it->over > 1 ? y->to + (it->over - 1.5) * 0.9 * f->font : at(y, it->value);
		if (it->ranged && c->kind != AREAS)
			pen_rule(f->pen, px, at(y, it->low), px, at(y, it->high), LINE, 1, false);
		if (c->kind != POINTS && fabs(px - last) < 1.1 * f->font)
			continue;
		pen_mark(f->pen, px, py, (c->kind == POINTS ? 0.42 : 0.28) * f->font, c->paint[part]);
		last = px;
	}
}

/* A map: each item is a rectangle from x to x + bin, from low to high. */
static void draw_cells(const struct chart *c, int panel, struct frame *f, const struct axis *x, const struct axis *y)
{
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];
		double left = at(x, it->x), top = at(y, it->high);

		if (it->panel == panel && it->ranged)
			pen_rect(f->pen, left, top, at(x, it->x + c->bin) - left, fmax(at(y, it->low) - top, 0.5), c->paint[it->part]);
	}
}

void xy_draw(const struct chart *c, int panel, struct frame f)
{
	struct range across = chart_across(c);
	struct axis x = { .low = across.low, .high = across.high > across.low ? across.high : across.low + 1, .log = c->across_log }, y = value_axis(c, panel);
	auto_free char *title = pen_fit(c->panel.name[panel], f.w, f.font, true), *axis = pen_fit(c->axis ?: "", f.w, SMALL * f.font, false), *below = NULL;
	struct ticks t = { .c = c, .f = &f };
	double top = f.y, room;
	int part, count = fmax(2, f.h / (2.4 * f.font));

	if (c->panel.n > 1 || *c->panel.name[0])
		pen_text(f.pen, f.x, (top += 1.5 * f.font) - 0.45 * f.font, START, f.font, INK, true, title ?: "");
	if (c->axis)
		pen_text(f.pen, f.x, (top += 1.5 * f.font) - 0.45 * f.font, START, SMALL * f.font, DIM, false, axis ?: "");
	if (c->across_log)
		decades(&x, across, c->across_unit);
	each_tick(&y, c->unit, count, measure_tick, &t);
	x.from = t.x0 = f.x + t.widest + 0.6 * f.font;
	x.to = t.x1 = f.x + f.w - 0.8 * f.font;
	y.to = t.y1 = top + 0.5 * f.font;
	y.from = t.y0 = y.to + f.h;
	t.last = f.x;
	each_tick(&y, c->unit, count, value_tick, &t);
	room = x.log ? 4.5 * f.font : 5.5 * f.font;
	each_tick(&x, c->across_unit, fmax(1, (t.x1 - t.x0) / room), across_tick, &t);
	if (c->rule > 0 && c->rule <= y.high)
		pen_rule(f.pen, t.x0, at(&y, c->rule), t.x1, at(&y, c->rule), LINE, 1, true);
	if (c->kind == AREAS)
		draw_areas(c, panel, &f, &x, &y);
	if (c->kind == CELLS)
		draw_cells(c, panel, &f, &x, &y);
	for (part = 0; part < c->part.n && c->kind != POINTS && c->kind != CELLS; part++)
		draw_curve(c, panel, part, &f, &x, &y);
	for (part = 0; part < c->part.n && c->kind != CELLS; part++)
		draw_marks(c, panel, part, &f, &x, &y);
	pen_rule(f.pen, t.x0, t.y1, t.x0, t.y0, LINE, 0.8, false);
	pen_rule(f.pen, t.x0, t.y0, t.x1, t.y0, LINE, 0.8, false);
	below = c->across ? pen_fit(c->across, t.x1 - t.x0, SMALL * f.font, false) : NULL;
	if (below)
		pen_text(f.pen, t.x0, t.y0 + 2.6 * f.font, START, SMALL * f.font, DIM, false, below);
}
