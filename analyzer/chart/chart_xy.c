/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_xy.c - lines, points, stacked areas and maps of cells over a number. */
#include <errno.h>
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"

/* The sum of the stacked parts at each place of x, in the order of x. */
struct stack { double x, sum; };

static int by_x(const void *a, const void *b)
{
	double x = ((const struct stack *)a)->x, y = ((const struct stack *)b)->x;

	return (x > y) - (x < y);
}

static struct stack *stack_at(struct stack *s, int n, double x)
{
	struct stack key = { x, 0 };

	return bsearch(&key, s, n, sizeof(*s), by_x);
}

/* The places of the areas of a panel. A place without anything is one where they come down to 0.
 * Allocated. */
static struct stack *stack_make(const struct chart *c, int panel, int *n)
{
	struct stack *s = calloc(2 * (size_t)c->items + 2, sizeof(*s));
	int i, all = 0, k;

	for (i = *n = 0; s && i < c->items; i++) {
		if (c->item[i].panel != panel || c->item[i].over || c->item[i].absent)
			continue;
		s[all++].x = c->item[i].x;
		s[all++].x = c->item[i].x + c->bin;
	}
	if (s)
		qsort(s, all, sizeof(*s), by_x);
	for (i = k = 0; i < all; i++)
		if (!k || s[i].x > s[k - 1].x + c->bin * 1e-3)
			s[k++].x = s[i].x;
	*n = k;
	return s;
}

/* The scale of values of a panel, or of all. */
static struct axis values_of(const struct chart *c, int panel)
{
	struct axis a = { .log = c->log };
	double least = INFINITY;
	int i, k, n, of;

	for (of = 0; c->kind == AREAS && of < c->panel.n; of++) {
		auto_free struct stack *s = c->own && of != panel ? NULL : stack_make(c, of, &n);

		for (i = 0; s && i < c->items; i++) {
			struct stack *at = stack_at(s, n, c->item[i].x);

			if (at && c->item[i].panel == of && !c->item[i].over && !c->item[i].absent)
				at->sum += c->item[i].value;
		}
		for (k = 0; s && k < n; k++)
			a.high = fmax(a.high, s[k].sum);
	}
	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->absent || (c->own && it->panel != panel) || it->over > 1)
			continue;
		a.high = fmax(a.high, it->ranged ? it->high : it->value);
		least = it->value > 0 || (it->ranged && it->low > 0) ?
				fmin(least, it->ranged && it->low > 0 ? it->low : it->value) :
				least;
	}
	if (c->log && c->rule > 0) {
		least = fmin(least, c->rule);
		a.high = fmax(a.high, c->rule);
	}
	/* far above all that is drawn it would take their place */
	if (c->rule > a.high && c->rule <= 2 * a.high)
		a.high = c->rule;
	if (c->log)
		axis_decades(&a, isfinite(least) ? least : 1, a.high, c->unit);
	else
		a.high = a.high > 0 ? a.high * 1.04 : 1;
	return a;
}

static struct axis across_of(const struct chart *c)
{
	double low = INFINITY, high = -INFINITY, wide = c->kind == AREAS || c->kind == CELLS ? c->bin : 0;
	struct axis a = { .log = c->across_log };
	int i;

	for (i = 0; i < c->items; i++) {
		if (c->item[i].absent || (c->across_log && !(c->item[i].x > 0)))
			continue;
		low = fmin(low, c->item[i].x);
		high = fmax(high, c->item[i].x + wide);
	}
	a.low = low > high ? 1 : low;
	a.high = low > high ? 10 : high > low ? high : low + 1;
	if (a.log)
		axis_decades(&a, a.low, a.high, c->across_unit);
	return a;
}

/* Is the item part of that curve? */
static bool is_of(const struct chart *c, const struct item *it, int panel, int part, int over)
{
	return it->panel == panel && it->part == part && it->over == over && !it->absent &&
	       !(c->log && !(it->value > 0));
}

/* Areas from the uppermost on, each from 0 to what it and all parts before it sum to: no seam
 * between them. */
static void put_areas(struct picture *p, const struct chart *c, int panel)
{
	char look[LOOK_TEXT];
	int n, part, i, k;

	for (part = c->part.n; part--;) {
		auto_free struct stack *s = stack_make(c, panel, &n);
		double any = 0;

		for (i = 0; s && i < c->items; i++) {
			const struct item *it = &c->item[i];
			struct stack *at = it->panel == panel && it->part <= part && !it->over &&
							   !it->absent ?
						   stack_at(s, n, it->x) :
						   NULL;

			if (at)
				at->sum += it->value;
			any += at && it->part == part ? it->value : 0;
		}
		if (!(any > 0))
			continue;
		put_clause(p, "using 1:2 notitle with fillsteps %s", fill_of(look, p, c, part));
		for (k = 0; k < n; k++)
			fprintf(p->data, "%.9g\t%.9g\n", s[k].x, s[k].sum);
		end_block(p);
	}
}

/* Lines and their ranges, lines over areas, and marks, of one part. */
static void put_curve(struct picture *p, const struct chart *c, int panel, int part)
{
	static const struct {
		enum chart_kind kind;
		int over;
		bool range;
		const char *with;
		bool line;
	} ways[] = {
		{ LINES, 0, true, "using 1:2:(0):3 notitle with vectors nohead lw thick %s",
		  true },
		{ LINES, 0, false, "using 1:2 notitle with lines lw thick*2 %s", true },
		{ LINES, 0, false, "using 1:2 notitle with circles %s", false },
		{ POINTS, 0, false, "using 1:2 notitle with circles %s", false },
		{ AREAS, 1, false, "using 1:2 notitle with steps lw thick*3 lc rgb \"#ffffff\"",
		  true },
		{ AREAS, 1, false, "using 1:2 notitle with steps lw thick*1.8 %s", true },
		{ AREAS, 2, false, "using 1:2 notitle with circles %s", false },
	};
	char look[LOOK_TEXT];
	size_t w;
	int i, begun = 0, n;

	for (w = 0; w < N_OF(ways); w++) {
		/* few points are seen as such */
		if (c->kind == LINES && !ways[w].line && begun > 12)
			break;
		for (i = begun = n = 0; i < c->items && ways[w].kind == c->kind; i++) {
			const struct item *it = &c->item[i];

			if (!is_of(c, it, panel, part, ways[w].over) || (ways[w].range && !it->ranged))
				continue;
			if (!begun++)
				put_clause(p, ways[w].with, (ways[w].line ? stroke_of : fill_of)(look, p, c, part));
			if (ways[w].range)
				fprintf(p->data, "%.9g\t%.9g\t%.9g\n", it->x, it->low, it->high - it->low);
			else
				fprintf(p->data, "%.9g\t%.9g\n", it->x, it->value);
			n = i;
		}
		/* the last step is as wide as the others */
		if (begun && ways[w].kind == AREAS && ways[w].over == 1)
			fprintf(p->data, "%.9g\t%.9g\n", c->item[n].x + c->bin, c->item[n].value);
		if (begun)
			end_block(p);
	}
}

/* A map: each item is a rectangle from x to x + bin, from low to high, as dark as its value. */
static void put_cells(struct picture *p, const struct chart *c, int panel)
{
	int i, begun = 0;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->panel != panel || !it->marked)
			continue;
		if (!begun++)
			put_clause(p, "using 1:2:3:4:5:6:7 notitle with boxxyerror fc palette fs solid noborder");
		fprintf(p->data, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n", it->x, it->low,
			it->x, it->x + c->bin, it->low, it->high, it->value);
	}
	if (begun)
		end_block(p);
}

/* The scale of a map's colours: gnuplot's own box, above all panels. */
static void put_colours(struct picture *p, const struct chart *c)
{
	struct axis a = { .log = true, .low = INFINITY, .high = 0 };
	double w = fmin(0.5 * p->width, 26 * p->font);
	int i;

	for (i = 0; i < c->items; i++) {
		if (!c->item[i].marked)
			continue;
		a.low = fmin(a.low, c->item[i].value);
		a.high = fmax(a.high, c->item[i].value);
	}
	axis_decades(&a, fmax(a.low, 1), a.high, c->unit);
	a.to = w;
	put_axis(p, "cb", &a, c->unit, w / (5 * p->font));
	if (p->look->grey)
		fputs("set palette defined (0 \"#d8d8d8\", 1 \"#101010\")\n", p->script);
	fprintf(p->script,
		"set colorbox horizontal user origin screen X(%.2f), screen Y(%.2f) size screen X(%.2f), screen %.2f*unit/height noborder\n",
		p->margin + p->font, p->y + 1.1 * p->font, w, 0.8 * p->font);
}

double xy_put(struct picture *p, const struct chart *c, int first, int n, double plot)
{
	double gap = 1.2 * p->font,
	       w = (p->width - 2 * p->margin - (p->columns - 1) * gap) / p->columns, widest = 0,
	       top = p->y, bottom;
	bool names = c->panel.n > 1 || *c->panel.name[first], last = first + n >= c->panel.n;
	int i, part, count = fmax(2, plot / (2.4 * p->font));
	struct axis across = across_of(c);

	top += c->kind == CELLS && !first ? 3.6 * p->font : 0;
	if (c->axis && !first)
		put_fit(p, DIM, p->margin, (top += 1.4 * p->font) - 0.7 * p->font,
			p->width - 2 * p->margin, c->axis);
	top += (names ? 1.5 : 0.5) * p->font;
	bottom = top + plot;
	/* plots below each other begin at one place */
	for (i = 0; i < c->panel.n; i++) {
		struct axis y = values_of(c, i);

		widest = fmax(widest, axis_widest(p, &y, c->unit, count));
	}
	for (i = 0; i < n; i++) {
		double x = p->margin + i * (w + gap);
		struct area a = { x + widest + 0.8 * p->font, top, w - widest - 2.2 * p->font, plot };
		struct axis y = values_of(c, first + i);

		if (names)
			put_fit(p, PANEL, a.x, top - 0.75 * p->font, w - (a.x - x), c->panel.name[first + i]);
		put_area(p, a, 3);
		across.from = a.x;
		across.to = a.x + a.w;
		y.to = plot;
		put_axis(p, "x", &across, c->across_unit, fmax(1, a.w / (5.5 * p->font)));
		put_axis(p, "y", &y, c->unit, count);
		if (c->kind == CELLS && !first && !i)
			put_colours(p, c);
		if (c->rule > 0 && c->rule <= y.high) {
			put_clause(p, "using 1:2 notitle with lines lw thick dt (3*dash,2*dash) lc rgb \"#555555\"");
			fprintf(p->data, "%.9g\t%.9g\n%.9g\t%.9g\n", across.low, c->rule, across.high, c->rule);
			end_block(p);
		}
		if (c->kind == AREAS)
			put_areas(p, c, first + i);
		if (c->kind == CELLS)
			put_cells(p, c, first + i);
		for (part = 0; part < c->part.n && c->kind != CELLS; part++)
			put_curve(p, c, first + i, part);
		end_plot(p);
	}
	if (c->across && last)
		put_fit(p, DIM_MIDDLE,
			p->width / 2 + (p->columns == 1 ? (widest - 1.4 * p->font) / 2 : 0),
			bottom + 2.6 * p->font, p->width - 2 * p->margin, c->across);
	return bottom - p->y + (c->across && last ? 3.5 : 2.1) * p->font;
}
