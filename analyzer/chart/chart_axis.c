/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_axis.c - scales: positions of values, and the ticks that gnuplot draws. */
#include <math.h>
#include "analyzer.h"
#include "chart_parts.h"

double axis_at(const struct axis *a, double v)
{
	double share = a->log ? log(fmax(v, a->low) / a->low) / log(a->high / a->low) :
				(v - a->low) / (a->high - a->low);

	return a->from + (a->to - a->from) * fmin(1, fmax(0, share));
}

/* Steps of a logarithmic scale: decades, and of bytes, whose units are powers of 1024, powers
 * of 4. */
static double log_step(enum unit unit)
{
	return unit == UNIT_BYTES ? 4 : 10;
}

void axis_decades(struct axis *a, double low, double high, enum unit unit)
{
	double by = log(log_step(unit));

	a->low = exp(by * floor(log(low) / by + 1e-9));
	a->high = exp(by * ceil(log(fmax(high, low)) / by - 1e-9));
	if (a->high <= a->low)
		a->high = a->low * log_step(unit);
}

/* Calls back with each tick. */
static void each_tick(const struct axis *a, enum unit unit, int count,
		      void (*call)(void *arg, double v), void *arg)
{
	double step = unit_step(a->high - a->low, count, unit), v, by = log_step(unit);
	int skip, i;

	if (a->log) {
		skip = fmax(1, ceil(log(a->high / a->low) / log(by) / fmax(1, count)));
		for (v = a->low, i = 0; v <= a->high * 1.001; v *= by, i++)
			if (i % skip == 0)
				call(arg, v);
		return;
	}
	/* one tick is no scale */
	while (floor(a->high / step) - ceil(a->low / step) < 1 && count++ < 20)
		step = unit_step(a->high - a->low, count, unit);
	for (v = step * ceil(a->low / step - 1e-9); v <= a->high + step * 1e-6; v += step)
		call(arg, fabs(v) < step / 2 ? 0 : v);
}

struct ticks {
	struct picture *p;
	enum unit unit;
	const struct axis *axis;
	bool upright, first;
	double widest, last;
};

static void measure_tick(void *arg, double v)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];

	t->widest = fmax(t->widest, word_width(t->p, DIM, unit_text(buf, v, t->unit)));
}

/* Leaves out a number that has no room next to the one before it. */
static void write_tick(void *arg, double v)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];
	double at = axis_at(t->axis, v), half = word_width(t->p, DIM, unit_text(buf, v, t->unit)) / 2;
	bool fits = t->upright || t->first || at - half > t->last;

	/* gnuplot takes the text of a tick for a format */
	fprintf(t->p->script, "%s\"%s%s\" %.9g", t->first ? "" : ", ", fits ? buf : "",
		fits && t->unit == UNIT_PERCENT ? "%" : "", v);
	t->first = false;
	t->last = fits ? at + half + 0.4 * t->p->font : t->last;
}

double axis_widest(const struct picture *p, const struct axis *a, enum unit unit, int count)
{
	struct ticks t = { (struct picture *)p, unit };

	each_tick(a, unit, count, measure_tick, &t);
	return t.widest;
}

void put_axis(struct picture *p, const char *axis, const struct axis *a, enum unit unit, int count)
{
	struct ticks t = { p, unit, a, *axis == 'y', true };

	/* a tick is in its range however it was rounded */
	fprintf(p->script, "set %srange [%.9g:%.9g]\n", axis, a->log ? a->low * 0.999999 : a->low,
		a->log ? a->high * 1.000001 : a->high);
	if (a->log)
		fprintf(p->script, "set logscale %s\n", axis);
	fprintf(p->script, "set %stics nomirror out scale 0.4%s font small tc rgb \"#555555\" (",
		axis, *axis == 'y' ? "" : " offset 0,lift");
	each_tick(a, unit, count, write_tick, &t);
	fprintf(p->script, ")\nset grid %stics lt 1 lw thick*0.7 dt solid lc rgb \"#e2e2e2\"\n", axis);
}
