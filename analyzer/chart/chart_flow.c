/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_flow.c - a flow from parts by way of rows to bars (owner, carrier, device): a band for
 * each item, in the colour of its part. */
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"

enum { COLUMNS = 3, WAYS = 64 };

/* A name of a column: what flows through it, where it is, and how far bands have used it up on
 * either side. two: the amount stands below the name. */
struct node {
	double amount, y, h, in, out;
	bool two;
};

static const struct names *names_of(const struct chart *c, int column)
{
	return column == 0 ? &c->part : column == 1 ? &c->row : &c->bar;
}

static int name_of(const struct item *it, int column)
{
	return column == 0 ? it->part : column == 1 ? it->row : it->bar;
}

/* A name with its amount. NULL without memory. */
static char *label_of(struct picture *p, const char *name, double amount, enum unit unit)
{
	char buf[UNIT_TEXT], *label = NULL;

	if (asprintf(&label, "%s %s", name, unit_text(buf, amount, unit)) < 0)
		label = NULL;
	p->failed |= !label;
	return label;
}

/* Sums up what flows through the names of a column, and sets which of them have their amount in a
 * line of its own: where both are wider than `room`. Returns the width of the widest line. */
static double sum_nodes(struct picture *p, const struct chart *c, int column, struct node *node,
			double room)
{
	double widest = 0;
	char buf[UNIT_TEXT];
	int i;

	for (i = 0; i < c->items; i++)
		node[name_of(&c->item[i], column)].amount += c->item[i].absent ? 0 : c->item[i].value;
	for (i = 0; i < names_of(c, column)->n && i < WAYS; i++) {
		const char *name = names_of(c, column)->name[i];
		auto_free char *label = label_of(p, name, node[i].amount, c->unit);
		double w = word_width(p, NAME, label ?: "");

		node[i].two = w > room;
		if (node[i].two)
			w = fmax(word_width(p, NAME, name),
				 word_width(p, NAME, unit_text(buf, node[i].amount, c->unit)));
		widest = fmax(widest, w);
	}
	return fmin(widest, room);
}

/* Names below each other, none nearer to the next than its lines of text. Returns where they
 * end. */
static double place_nodes(const struct picture *p, const struct chart *c, int column,
			  struct node *node, double scale, double y)
{
	int i;

	for (i = 0; i < names_of(c, column)->n && i < WAYS; i++) {
		double least = (node[i].two ? 2.5 : 1.5) * p->font;

		node[i].h = fmax(node[i].amount * scale, 0.8);
		node[i].y = node[i].in = node[i].out = y + fmax(0, (least - node[i].h) / 2);
		y += fmax(node[i].h, least) + 0.5 * p->font;
	}
	return y;
}

/* A band between two places: curves that begin and end level. */
static void put_band(struct picture *p, double x0, double y0, double x1, double y1, double h)
{
	double t, y;
	int i;

	for (i = 0; i <= 24; i++) {
		t = i / 24.0;
		y = y0 + (y1 - y0) * t * t * (3 - 2 * t);
		fprintf(p->data, "%.2f\t%.2f\t%.2f\n", x0 + (x1 - x0) * t, y, y + fmax(h, 1));
	}
	fputc('\n', p->data);
}

/* The bands of one part, a block of data. */
static void put_bands(struct picture *p, const struct chart *c, int part,
		      struct node node[COLUMNS][WAYS], const double *x, double scale)
{
	int i, column, pattern;

	put_clause(
		p,
		"using 1:2:3 notitle with filledcurves fc rgb \"#%06x\" fs transparent solid 0.5 noborder",
		p->look->grey ? paint_grey(part, &pattern) & 0xe0e0e0 : c->colour[part]);
	for (column = 0; column < 2; column++) {
		for (i = 0; i < c->items; i++) {
			const struct item *it = &c->item[i];
			struct node *from = &node[column][name_of(it, column)],
				    *to = &node[column + 1][name_of(it, column + 1)];
			double h = it->value * scale;

			if (it->part != part || it->absent)
				continue;
			put_band(p, x[column] + 0.5 * p->font, from->out, x[column + 1] - 0.5 * p->font, to->in, h);
			from->out += h;
			to->in += h;
		}
	}
	end_block(p);
}

static void put_label(struct picture *p, int column, double x, double y, double room,
		      const char *text)
{
	if (column == 1)
		put_veiled(p, x + 0.7 * p->font, y, room, text);
	else
		put_fit(p, column ? LABEL : NAME, x + (column ? 0.7 : -0.7) * p->font, y, room, text);
}

static void put_nodes(struct picture *p, const struct chart *c, int column,
		      const struct node *node, double x, double room)
{
	const struct names *n = names_of(c, column);
	char buf[UNIT_TEXT];
	int i;

	put_clause(p,
		   "using 1:2:3:4:5:6 notitle with boxxyerror fc rgb \"#404040\" fs solid noborder");
	for (i = 0; i < n->n && i < WAYS; i++) {
		auto_free char *label = label_of(p, n->name[i], node[i].amount, c->unit);
		double y = node[i].y + node[i].h / 2;

		fprintf(p->data, "%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", x, y, x - 0.35 * p->font,
			x + 0.35 * p->font, node[i].y, node[i].y + node[i].h);
		if (node[i].two) {
			put_label(p, column, x, y - 0.55 * p->font, room, n->name[i]);
			put_label(p, column, x, y + 0.55 * p->font, room,
				  unit_text(buf, node[i].amount, c->unit));
		} else {
			put_label(p, column, x, y, room, label ?: "");
		}
	}
	end_block(p);
}

double flow_put(struct picture *p, const struct chart *c)
{
	struct node node[COLUMNS][WAYS] = { 0 };
	double most = fmin(16 * p->font, 0.27 * (p->width - 2 * p->margin)),
	       top = p->y + 0.3 * p->font, sum = 0, scale, end = top;
	double x[COLUMNS];
	int i;

	for (i = 0; i < c->items; i++)
		sum += c->item[i].absent ? 0 : c->item[i].value;
	scale = sum > 0 ? (15 * p->font + p->stretch) / sum : 0;
	x[0] = p->margin + sum_nodes(p, c, 0, node[0], most) + 0.7 * p->font;
	x[2] = p->width - p->margin - sum_nodes(p, c, 2, node[2], most) - 0.7 * p->font;
	x[1] = (x[0] + x[2]) / 2;
	sum_nodes(p, c, 1, node[1], x[2] - x[1] - 1.2 * p->font);
	for (i = 0; i < COLUMNS; i++)
		end = fmax(end, place_nodes(p, c, i, node[i], scale, top));
	put_area(p, (struct area){ 0, 0, p->width, end }, 0);
	fprintf(p->script, "set xrange [0:%.2f]; set yrange [%.2f:0]\n", p->width, end);
	for (i = 0; i < c->part.n; i++)
		put_bands(p, c, i, node, x, scale);
	for (i = 0; i < COLUMNS; i++)
		put_nodes(p, c, i, node[i], x[i], i == 1 ? x[2] - x[1] - 1.2 * p->font : most);
	end_plot(p);
	p->plots++;
	return end - p->y + 0.3 * p->font;
}
