/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_bars.c - horizontal bars, with their names to the left and their amounts to the right. On a
 * logarithmic scale, which has no zero where a bar could begin, an amount is drawn as a dot. An
 * interval is drawn as a line with a dot. */
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"

/* One bar: the sum of its items (or where they end), and its label. */
struct bar {
	double end;
	bool there, absent, ranged;
	const char *label;
};

static struct bar bar_of(const struct chart *c, int panel, int row, int bar)
{
	struct bar b = { 0 };
	const struct item *it;

	for (it = c->item; it < c->item + c->items; it++) {
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

static const char *label_of(char *buf, const struct chart *c, const struct bar *b)
{
	return b->label ?: b->absent && !(b->end > 0) ? "n/a" : unit_text(buf, b->end, c->unit);
}

bool bars_name_parts(const struct chart *c)
{
	int i;

	for (i = 0; i < c->items; i++) {
		const char *part = c->part.name[c->item[i].part];

		if (strcmp(part, c->bar.name[c->item[i].bar]) && strcmp(part, c->row.name[c->item[i].row]) &&
		    strcmp(part, c->panel.name[c->item[i].panel]))
			return false;
	}
	return true;
}

/* The place of a bar in its panel. y: its middle, counted from the top of the panel. */
struct slot { int row, bar; double y; };

/* Fills in the bars of a panel, in the order of the chart's items, and returns their number n.
 * slot[n].y is the height of the panel. */
static int slots_of(const struct picture *p, const struct chart *c, int panel, struct slot *slot)
{
	double y = 0;
	int i, k, bar, n = 0;

	for (i = 0; i < c->items; i++) {
		int row = c->item[i].row;

		for (k = 0; k < n && slot[k].row != row; k++)
			;
		if (c->item[i].panel != panel || k < n)
			continue;
		y += n ? 0.5 * p->font : 0.25 * p->font;
		for (bar = 0; bar < c->bar.n; bar++) {
			if (!bar_of(c, panel, row, bar).there)
				continue;
			slot[n++] = (struct slot){ row, bar, y + 0.65 * p->font };
			y += 1.3 * p->font;
		}
	}
	slot[n].y = y + 0.25 * p->font;
	return n;
}

static bool same_rows(const struct slot *a, const struct slot *b, int n)
{
	for (; n && a->row == b->row && a->bar == b->bar; n--, a++, b++)
		;
	return !n;
}

/* Widths of the text at a panel: names of rows, names of bars, amounts. */
struct widths { double names, bars, labels; };

static struct widths measure(const struct picture *p, const struct chart *c, int panel,
			     const struct slot *slot, int n, double w)
{
	struct widths r = { 0 };
	char buf[UNIT_TEXT];

	for (; n--; slot++) {
		struct bar b = bar_of(c, panel, slot->row, slot->bar);

		r.names = fmax(r.names, word_width(p, NAME, c->row.name[slot->row]));
		r.bars = fmax(r.bars, word_width(p, BAR, c->bar.name[slot->bar]));
		r.labels = fmax(r.labels, word_width(p, LABEL, label_of(buf, c, &b)));
	}
	r.names = fmin(r.names, fmax(0.36 * w, fmin(0.5 * w, 13 * p->font)));
	r.bars = fmin(r.bars, 0.25 * w);
	r.labels = fmin(r.labels, 0.35 * w) + 0.8 * p->font;
	return r;
}

/* The widest texts of a panel and of those above and below it in its column: their plots begin and
 * end at one place. */
static struct widths column_widths(const struct picture *p, const struct chart *c, int panel,
				   double w)
{
	auto_free struct slot *slot = calloc((size_t)c->items + 2, sizeof(*slot));
	struct widths most = { 0 };
	int i;

	for (i = panel % p->columns; slot && i < c->panel.n; i += p->columns) {
		struct widths b = measure(p, c, i, slot, slots_of(p, c, i, slot), w);

		most.names = fmax(most.names, b.names);
		most.bars = fmax(most.bars, b.bars);
		most.labels = fmax(most.labels, b.labels);
	}
	return most;
}

/* The scale of a panel. All panels share one, unless the chart gives each its own. */
static struct axis scale_of(const struct chart *c, int panel)
{
	struct axis a = { .log = c->log, .high = 0 };
	double least = INFINITY;
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];
		struct bar b = bar_of(c, it->panel, it->row, it->bar);

		if (it->absent || (c->own && it->panel != panel))
			continue;
		a.high = fmax(a.high, b.end);
		a.low = it->ranged ? fmin(a.low, fmin(it->low, it->high)) : a.low;
		least = b.end > 0 ? fmin(least, b.end) : least;
	}
	if (a.high <= a.low)
		a.high = a.low + 1;
	if (c->log)
		axis_decades(&a, isfinite(least) ? least : 1, a.high, c->unit);
	return a;
}

static bool is_dark(const struct picture *p, const struct chart *c, int part)
{
	uint32_t u = c->colour[part];

	return !p->look->grey && (u >> 16) * 3 + (u >> 8 & 255) * 6 + (u & 255) < 1300;
}

static bool is_in(const struct item *it, int panel, const struct slot *slot)
{
	return it->panel == panel && it->row == slot->row && it->bar == slot->bar && !it->absent;
}

/* The last item of a bar that belongs to the part, or NULL. */
static const struct item *item_of(const struct chart *c, int panel, const struct slot *slot,
				  int part)
{
	int i;

	for (i = c->items; i--;)
		if (is_in(&c->item[i], panel, slot) && c->item[i].part == part)
			return &c->item[i];
	return NULL;
}

/* Finds where a part of a bar begins and ends, as values on the scale. It begins at the sum of the
 * parts before it. A floating part, such as a step of a waterfall, has a begin and end of its own.
 * False: the bar has no such part. */
static bool span_of(const struct chart *c, int panel, const struct slot *slot, int part,
		    double *low, double *end)
{
	const struct item *it = item_of(c, panel, slot, part);
	int i;

	if (it && it->ranged) {
		*low = fmin(it->low, it->high);
		*end = fmax(it->low, it->high);
		return *end > *low;
	}
	for (i = 0, *low = *end = 0; i < c->items; i++) {
		if (!is_in(&c->item[i], panel, slot))
			continue;
		*low += c->item[i].part < part ? c->item[i].value : 0;
		*end += c->item[i].part <= part ? c->item[i].value : 0;
	}
	return *end > *low;
}

/* Draws one part of each bar as a rectangle, with the name of the part where that fits in. */
static void put_part(struct picture *p, const struct chart *c, int panel, int part,
		     const struct slot *slot, int n, const struct axis *a, double top)
{
	double high = 0.55 * p->font, low, end, x0, x1;
	bool named = c->key && !p->look->grey && !bars_name_parts(c);
	char look[LOOK_TEXT];
	int k, begun = 0;

	for (k = 0; k < n; k++) {
		if (!span_of(c, panel, &slot[k], part, &low, &end))
			continue;
		/* a small step of a waterfall is drawn wide enough to be seen */
		if (item_of(c, panel, &slot[k], part)->ranged)
			end = fmax(end, low + 1.2 * (a->high - a->low) / (a->to - a->from));
		x0 = axis_at(a, low);
		x1 = axis_at(a, end);
		if (!begun++)
			put_clause(p, "using 1:2:3:4:5:6 notitle with boxxyerror %s", fill_of(look, p, c, part));
		fprintf(p->data, "%.9g\t%.2f\t%.9g\t%.9g\t%.2f\t%.2f\n", low, slot[k].y, low, end,
			slot[k].y - high, slot[k].y + high);
		if (named &&
		    x1 - x0 > word_width(p, ON_DARK, c->part.name[part]) + 0.8 * p->font &&
		    !(c->rule > low && c->rule < end))
			put_word(p, is_dark(p, c, part) ? ON_DARK : ON_LIGHT, (x0 + x1) / 2,
				 top + slot[k].y, c->part.name[part]);
	}
	if (begun)
		end_block(p);
}

/* Draws one part of each bar as a dot on a line. The line crosses the plot on a logarithmic scale;
 * for an interval it goes from the interval's one end to the other. */
static void put_dots(struct picture *p, const struct chart *c, int panel, int part,
		     const struct slot *slot, int n, const struct axis *a)
{
	char look[LOOK_TEXT];
	int dots, k, begun;

	for (dots = 0; dots < 2; dots++) {
		for (k = begun = 0; k < n; k++) {
			const struct item *it = item_of(c, panel, &slot[k], part);
			double low = it && it->marked ? it->low : a->low, high = it && it->marked ? it->high : a->high;

			if (!it)
				continue;
			if (!begun++ && dots)
				put_clause(p, "using 1:2 notitle with circles %s", fill_of(look, p, c, part));
			else if (begun == 1 && !dots)
				put_clause(
					p,
					"using 1:2:3:(0) notitle with vectors nohead lw thick*%s",
					it->marked ? "1.8 " : "0.8 lc rgb \"#e2e2e2\"");
			if (begun == 1 && !dots && it->marked)
				fputs(stroke_of(look, p, c, part), p->script);
			fprintf(p->data, "%.9g\t%.2f\t%.9g\n",
				dots ? (it->marked ?
						it->value :
						bar_of(c, panel, slot[k].row, slot[k].bar).end) :
				       low,
				slot[k].y, high - low);
		}
		if (begun)
			end_block(p);
	}
}

/* Draws the dashed vertical line of `-- rule: N`. */
static void put_rule(struct picture *p, double at, double high)
{
	put_clause(p, "using 1:2 notitle with lines lw thick dt (3*dash,2*dash) lc rgb \"#555555\"");
	fprintf(p->data, "%.9g\t0\n%.9g\t%.2f\n", at, at, high);
	end_block(p);
}

/* Writes names and amounts. An amount through which the dashed rule would go is written to the
 * right of the rule. */
static void put_texts(struct picture *p, const struct chart *c, int panel, const struct slot *slot,
		      int n, const struct axis *a, double top, double names, struct widths b)
{
	char buf[UNIT_TEXT];
	double rule = axis_at(a, c->rule), first, x;
	int k, next;

	for (k = 0; k < n; k = next) {
		for (next = k; next < n && slot[next].row == slot[k].row; next++) {
			struct bar bar = bar_of(c, panel, slot[next].row, slot[next].bar);
			const char *label = label_of(buf, c, &bar);

			x = axis_at(a, bar.end) + (c->log || bar.ranged ? 0.7 : 0.4) * p->font;
			if (c->rule > a->low && c->rule <= a->high && rule > x - 2 &&
			    rule < x + word_width(p, LABEL, label) + 2)
				x = rule + 0.4 * p->font;
			if (c->log)
				put_veiled(p, x, top + slot[next].y, b.labels, label);
			else
				put_fit(p, LABEL, x, top + slot[next].y, b.labels, label);
			if (names)
				put_fit(p, BAR, a->from - 0.5 * p->font, top + slot[next].y,
					b.bars, c->bar.name[slot[next].bar]);
		}
		first = (slot[k].y + slot[next - 1].y) / 2;
		if (names)
			put_fit(p, NAME, names, top + first, b.names, c->row.name[slot[k].row]);
	}
}

static void put_panel(struct picture *p, const struct chart *c, int panel, const struct slot *slot,
		      int n, struct area plot, double names, struct widths b)
{
	struct axis a = scale_of(c, panel);
	double left = names ? names - b.names : plot.x;
	int part;

	a.from = plot.x;
	a.to = plot.x + plot.w;
	if (*c->panel.name[panel])
		put_fit(p, PANEL, left, plot.y - 0.8 * p->font, plot.x + plot.w + b.labels - left,
			c->panel.name[panel]);
	put_area(p, plot, c->log ? 3 : 2);
	fprintf(p->script, "set yrange [%.2f:0]\n", plot.h);
	put_axis(p, "x", &a, c->unit, fmax(1, plot.w / (5.2 * p->font)));
	if (c->rule > a.low && c->rule <= a.high)
		put_rule(p, c->rule, plot.h);
	for (part = 0; part < c->part.n; part++) {
		if (c->log || (c->items && c->item[0].marked))
			put_dots(p, c, panel, part, slot, n, &a);
		else
			put_part(p, c, panel, part, slot, n, &a, plot.y);
	}
	end_plot(p);
	put_texts(p, c, panel, slot, n, &a, plot.y, names, b);
}

/* True when all panels have the same bars, so that one column of names is enough for all. */
static bool is_shared(const struct picture *p, const struct chart *c, struct slot *slot,
		      size_t room)
{
	int n = slots_of(p, c, 0, slot), i;

	for (i = 1; i < c->panel.n; i++)
		if (slots_of(p, c, i, slot + room) != n || !same_rows(slot, slot + room, n))
			return false;
	return true;
}

int bars_columns(struct picture *p, const struct chart *c)
{
	double width = p->width - 2 * p->margin, most = 0, labels = 0, plot;
	size_t room = (size_t)c->items + 2;
	auto_free struct slot *slot = calloc(2 * room, sizeof(*slot));
	int i;

	p->shared = slot && c->panel.n > 1 && is_shared(p, c, slot, room);
	for (i = 0; slot && i < c->panel.n; i++) {
		struct widths b = measure(p, c, i, slot, slots_of(p, c, i, slot), width);

		most = fmax(most, b.names + b.bars);
		labels = fmax(labels, b.labels);
	}
	plot = labels + (p->shared ? 7 : 10) * p->font;
	return p->shared ? (width - most) / plot : width / (most + plot);
}

double bars_put(struct picture *p, const struct chart *c, int first, int n)
{
	double gap = 1.2 * p->font,
	       w = (p->width - 2 * p->margin - (p->columns - 1) * gap) / p->columns, x = p->margin,
	       high = 0, shared, middle = p->width / 2;
	double top = p->y + 1.6 * p->font * (c->panel.n > 1 || *c->panel.name[first]);
	auto_free struct slot *slot = calloc((size_t)(c->items + 2) * n, sizeof(*slot));
	struct widths b[8];
	int i, slots[8];
	bool share = p->shared && p->columns > 1;

	p->failed |= !slot;
	if (!slot)
		return 0;
	for (i = 0; i < n; i++) {
		struct slot *of = slot + (size_t)i * (c->items + 2);

		slots[i] = slots_of(p, c, first + i, of);
		high = fmax(high, of[slots[i]].y);
		b[i] = column_widths(p, c, first + i, fmax(w, 0.55 * p->width));
	}
	/* panels that share their names have them once, to the left of the first */
	shared = share ? b[0].names + b[0].bars + 1.2 * p->font : 0;
	for (i = 0; i < n; i++) {
		bool named = !share || !i;
		double names = named ? b[i].names + (b[i].bars ? b[i].bars + 0.5 * p->font : 0) +
					       0.6 * p->font :
				       0.3 * p->font,
		       inner;

		w = share ? (p->width - 2 * p->margin - (p->columns - 1) * gap - shared) /
					    p->columns +
				    (i ? 0 : shared) :
			    w;
		inner = w - names - b[i].labels;
		put_panel(p, c, first + i, slot + (size_t)i * (c->items + 2), slots[i],
			  (struct area){ x + names, top, inner, high }, named ? x + b[i].names : 0,
			  b[i]);
		middle = n == 1 ? x + names + inner / 2 : middle;
		x += w + gap;
	}
	high += top - p->y + 1.9 * p->font;
	if (c->axis && first + n >= c->panel.n)
		put_fit(p, DIM_MIDDLE, middle, p->y + high + 0.7 * p->font, p->width - 2 * p->margin, c->axis);
	return high + (c->axis && first + n >= c->panel.n ? 1.7 * p->font : 0.3 * p->font);
}
