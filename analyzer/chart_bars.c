/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_bars.c - bars that lie: names have room at their left, amounts at their right. */
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"

#define SMALL 0.9  /* of the font: what stands at bars and ticks */

/* What the items of one bar sum to, where each begins, and what is written behind it. */
struct bar {
	double from, end;
	bool there, absent, ranged;
	const char *label;
};

static struct bar bar_of(const struct chart *c, int panel, int row, int bar)
{
	struct bar b = { .from = INFINITY };
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->panel != panel || it->row != row || it->bar != bar)
			continue;
		b.there = true;
		b.absent |= it->absent;
		b.label = it->label ?: b.label;
		b.ranged |= it->ranged;
		if (it->ranged)
			b.end = fmax(b.end, fmax(it->low, it->high));
		else if (!it->absent)
			b.end += it->value;
	}
	return b;
}

struct range chart_values(const struct chart *c, int panel)
{
	struct range r = { INFINITY, 0 };
	int p, row, bar, i;

	for (p = 0; c->kind == BARS && p < c->panel.n; p++)
		for (row = 0; (p == panel || !c->own) && row < c->row.n; row++)
			for (bar = 0; bar < c->bar.n; bar++)
				r.high = fmax(r.high, bar_of(c, p, row, bar).end);
	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];
		double low = it->ranged && it->low > 0 ? it->low : it->value;

		if (it->absent || (c->own && it->panel != panel))
			continue;
		if (low > 0)
			r.low = fmin(r.low, low);
		if (c->kind != BARS && it->over < 2)
			r.high = fmax(r.high, it->ranged ? it->high : it->value);
	}
	if (r.low > r.high)
		r.low = r.high > 0 ? r.high : 1;
	return r;
}

/* The rows of a panel, in the order of its own items; their number. `rows` has room for all. */
static int rows_of(const struct chart *c, int panel, int *rows)
{
	int i, k, n = 0;

	for (i = 0; i < c->items; i++) {
		if (c->item[i].panel != panel)
			continue;
		for (k = 0; k < n && rows[k] != c->item[i].row; k++)
			;
		if (k == n)
			rows[n++] = c->item[i].row;
	}
	return n;
}

static bool row_is_there(const struct chart *c, int panel, int row)
{
	int bar;

	for (bar = 0; bar < c->bar.n; bar++)
		if (bar_of(c, panel, row, bar).there)
			return true;
	return false;
}

static int bars_in(const struct chart *c, int panel, int row)
{
	int bar, n = 0;

	for (bar = 0; bar < c->bar.n; bar++)
		n += bar_of(c, panel, row, bar).there;
	return n;
}

double bars_height(const struct chart *c, int panel, double font)
{
	double h = *c->panel.name[panel] ? 1.7 * font : 0.4 * font;
	int row;

	for (row = 0; row < c->row.n; row++)
		if (row_is_there(c, panel, row))
			h += bars_in(c, panel, row) * 1.3 * font + 0.5 * font;
	return h + 1.7 * font + (c->axis ? 1.4 * font : 0);
}

static const char *bar_label(char *buf, const struct chart *c, const struct bar *b)
{
	return b->label ?: b->absent && !(b->end > 0) ? "n/a" : unit_text(buf, b->end, c->unit);
}

struct columns {
	double names, bars, labels;
};

/* How much room names and labels take. */
static struct columns measure(const struct chart *c, int panel, const struct frame *f)
{
	struct columns w = { 0 };
	char buf[UNIT_TEXT];
	int row, bar;

	for (row = 0; row < c->row.n; row++) {
		if (!row_is_there(c, panel, row))
			continue;
		w.names = fmax(w.names, pen_width(c->row.name[row], f->font, false));
		for (bar = 0; bar < c->bar.n; bar++) {
			struct bar b = bar_of(c, panel, row, bar);

			if (b.there)
				w.labels = fmax(w.labels, pen_width(bar_label(buf, c, &b), SMALL * f->font, false));
		}
	}
	for (bar = 0; bar < c->bar.n; bar++)
		w.bars = fmax(w.bars, pen_width(c->bar.name[bar], SMALL * f->font, false));
	w.names = fmin(w.names, fmax(0.36 * f->w, fmin(0.5 * f->w, 13 * f->font))); /* of small panels more: two or three words */
	w.bars = fmin(w.bars, 0.2 * f->w);
	w.labels = fmin(w.labels, 0.3 * f->w);
	return w;
}

/* low: of a logarithmic one; base: where a linear one begins, 0 or less. */
struct scale {
	double x0, x1, low, base, high;
	bool log;
	double *rule;            /* how far the dashed rule is drawn; NULL: there is none */
};

static double at(const struct scale *s, double v)
{
	if (!s->log)
		return s->x0 + (s->x1 - s->x0) * (fmax(v, s->base) - s->base) / (s->high - s->base);
	return s->x0 + (s->x1 - s->x0) * fmin(1, fmax(0, log10(fmax(v, s->low) / s->low) / log10(s->high / s->low)));
}

static void draw_tick(struct frame *f, const struct scale *s, double v, enum unit unit, double top, double bottom, double *last)
{
	char buf[UNIT_TEXT];
	double x = at(s, v), half = pen_width(unit_text(buf, v, unit), SMALL * f->font, false) / 2;

	pen_rule(f->pen, x, top, x, bottom, GRID, 0.7, false);
	if (x - half < *last || x + half > f->x + f->w)
		return;
	pen_text(f->pen, x, bottom + 1.15 * f->font, MIDDLE, SMALL * f->font, DIM, false, buf);
	*last = x + half + 0.6 * f->font;
}

static void draw_ticks(const struct chart *c, struct frame *f, const struct scale *s, double top, double bottom)
{
	int count = fmax(1, (s->x1 - s->x0) / (5.5 * f->font));
	double step = unit_step(s->high - s->base, count, c->unit), v, last = f->x;

	/* one tick is no scale */
	while (floor(s->high / step) - ceil(s->base / step) < 1 && count++ < 20)
		step = unit_step(s->high - s->base, count, c->unit);
	if (s->log) {
		for (v = s->low; v <= s->high * 1.001; v *= 10)
			draw_tick(f, s, v, c->unit, top, bottom, &last);
		return;
	}
	for (v = step * ceil(s->base / step); v <= s->high * 1.001; v += step)
		draw_tick(f, s, fabs(v) < step / 2 ? 0 : v, c->unit, top, bottom, &last);
}

/* What a bar is, behind it; the dashed rule has a gap there. */
static void draw_label(const struct chart *c, struct frame *f, const struct scale *s, const struct bar *b, double y)
{
	char buf[UNIT_TEXT];
	const char *label = bar_label(buf, c, b);
	double x = fmax(at(s, b->end), s->x0) + 0.4 * f->font, rule = at(s, c->rule);

	if (s->rule && rule > x - 1 && rule < x + pen_width(label, SMALL * f->font, false) + 1) {
		pen_rule(f->pen, rule, *s->rule, rule, y, LINE, 1, true);
		*s->rule = y + 1.1 * f->font;
	}
	pen_text(f->pen, x, y + 0.85 * f->font, START, SMALL * f->font, INK, false, label);
}

static void draw_bar(const struct chart *c, int panel, int row, int bar, struct frame *f, const struct scale *s, double y)
{
	double h = 1.1 * f->font, sum = s->log ? s->low : 0, x0, x1;
	struct bar b = bar_of(c, panel, row, bar);
	int part, i;

	for (part = 0; part < c->part.n; part++) {
		double low = sum;

		for (i = 0; i < c->items; i++) {
			const struct item *it = &c->item[i];

			if (it->panel != panel || it->row != row || it->bar != bar || it->part != part || it->absent)
				continue;
			x0 = at(s, it->ranged ? fmin(it->low, it->high) : sum);
			x1 = at(s, it->ranged ? fmax(it->low, it->high) : s->log ? it->value : sum + it->value);
			/* a step of a waterfall is seen beside millions of bytes */
			if (it->ranged && it->high != it->low && x1 - x0 < 1.2)
				x1 = x0 + 1.2;
			if (!it->ranged)
				sum += it->value;
			if (x1 - x0 > 0.02)
				pen_rect(f->pen, x0, y, x1 - x0, h, c->paint[part]);
			if (it->marked)
				pen_rule(f->pen, at(s, it->value), y, at(s, it->value), y + h, INK, 2.5, false);
		}
		if (sum > low && part && low > 0 && !s->log)
			pen_rule(f->pen, at(s, low), y, at(s, low), y + h, PAPER, 0.6, false);
	}
	draw_label(c, f, s, &b, y);
}

static double draw_row(const struct chart *c, int panel, int row, struct frame *f, const struct scale *s, const struct columns *w, double y)
{
	auto_free char *name = pen_fit(c->row.name[row], w->names, f->font, false);
	double high = bars_in(c, panel, row) * 1.3 * f->font;
	int bar;

	pen_text(f->pen, f->x + w->names, y + high / 2 + 0.28 * f->font, END, f->font, INK, false, name ?: "");
	for (bar = 0; bar < c->bar.n; bar++) {
		auto_free char *small = pen_fit(c->bar.name[bar], w->bars, SMALL * f->font, false);

		if (!bar_of(c, panel, row, bar).there)
			continue;
		if (w->bars > 0)
			pen_text(f->pen, s->x0 - 0.5 * f->font, y + 0.85 * f->font, END, SMALL * f->font, DIM, false, small ?: "");
		draw_bar(c, panel, row, bar, f, s, y);
		y += 1.3 * f->font;
	}
	return y + 0.5 * f->font;
}

void bars_draw(const struct chart *c, int panel, struct frame f)
{
	struct columns w = measure(c, panel, &f);
	struct range r = chart_values(c, panel);
	struct scale s = {
		.x0 = f.x + w.names + 0.6 * f.font + (w.bars > 0 ? w.bars + 0.5 * f.font : 0), .x1 = f.x + f.w - w.labels - 0.8 * f.font,
		.low = pow(10, floor(log10(r.low))), .high = r.high > 0 ? r.high : 1, .log = c->log,
	};
	auto_free char *title = pen_fit(c->panel.name[panel], f.w, f.font, true), *axis = NULL;
	double y = f.y, top, ruled, bottom = f.y + bars_height(c, panel, f.font) - 1.7 * f.font - (c->axis ? 1.4 * f.font : 0);
	auto_free int *rows = calloc(c->row.n + 1, sizeof(*rows));
	int i, n;

	for (i = 0; i < c->items && !s.log; i++)
		if (c->item[i].ranged && !c->item[i].absent && c->item[i].panel == panel)
			s.base = fmin(s.base, fmin(c->item[i].low, c->item[i].high));
	if (s.log && s.high <= s.low)
		s.high = s.low * 10;
	if (*c->panel.name[panel])
		pen_text(f.pen, f.x, y + f.font, START, f.font, INK, true, title ?: "");
	y += *c->panel.name[panel] ? 1.7 * f.font : 0.4 * f.font;
	top = y - 0.3 * f.font;
	draw_ticks(c, &f, &s, top, bottom);
	ruled = top;
	if (c->rule > 0 && at(&s, c->rule) <= s.x1 && (!s.log || c->rule >= s.low))
		s.rule = &ruled;
	for (i = 0, n = rows ? rows_of(c, panel, rows) : 0; i < n; i++)
		y = draw_row(c, panel, rows[i], &f, &s, &w, y);
	if (s.rule)
		pen_rule(f.pen, at(&s, c->rule), ruled, at(&s, c->rule), bottom, LINE, 1, true);
	pen_rule(f.pen, s.log ? s.x0 : at(&s, 0), top, s.log ? s.x0 : at(&s, 0), bottom, LINE, 0.8, false);
	axis = c->axis ? pen_fit(c->axis, f.w, SMALL * f.font, false) : NULL;
	/* below the bars, or where it ends with the picture */
	if (axis)
		pen_text(f.pen, fmin(s.x0, f.x + f.w - pen_width(axis, SMALL * f.font, false)), bottom + 2.55 * f.font, START, SMALL * f.font, DIM, false, axis);
}
