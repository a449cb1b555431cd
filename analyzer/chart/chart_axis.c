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

/* Calls back with each tick. A logarithmic scale has one at each of its steps. */
static void each_tick(const struct axis *a, enum unit unit, int count,
		      void (*call)(void *arg, double v), void *arg)
{
	double step = unit_step(a->high - a->low, count, unit), v, by = log_step(unit);

	if (a->log) {
		for (v = a->low; v <= a->high * 1.001; v *= by)
			call(arg, v);
		return;
	}
	/* one tick is no scale */
	while (floor(a->high / step) - ceil(a->low / step) < 1 && count++ < 20)
		step = unit_step(a->high - a->low, count, unit);
	for (v = step * ceil(a->low / step - 1e-9); v <= a->high + step * 1e-6; v += step)
		call(arg, fabs(v) < step / 2 ? 0 : v);
}

/* The ticks of an axis: how many digits follow the point where a number has that unit, so that all
 * of one unit have as many, and which of a logarithmic scale have a number: each `nth`. */
struct ticks {
	struct picture *p;
	enum unit unit;
	const struct axis *axis;
	bool upright;
	struct digits {
		char unit[8];
		int n;
	} digits[8];
	int units, nth, number; /* number: of the tick, from 0 */
	double widest, last, wide; /* last: where the last number ends; wide: half of the one before */
};

/* The entry of the unit behind a number, new where there was none. */
static struct digits *digits_of(struct ticks *t, const char *unit)
{
	int i;

	for (i = 0; i < t->units && strcmp(t->digits[i].unit, unit); i++)
		;
	if (i == t->units && i < (int)N_OF(t->digits))
		snprintf(t->digits[t->units++].unit, sizeof(t->digits[i].unit), "%.7s", unit);
	return &t->digits[i < (int)N_OF(t->digits) ? i : 0];
}

/* Digits behind the point of a number, and where the number ends. */
static int digits_in(const char *text, size_t *end)
{
	const char *point = strchr(text, '.');

	*end = strspn(text, "-.0123456789");
	return point ? (int)(text + *end - point - 1) : 0;
}

static void count_digits(void *arg, double v)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];
	size_t end;
	int n = digits_in(unit_text(buf, v, t->unit), &end);
	struct digits *d = digits_of(t, buf + end);

	d->n = n > d->n ? n : d->n;
}

/* The text of a tick. Decades have the digits that they need. */
static const char *tick_text(struct ticks *t, char buf[UNIT_TEXT], double v)
{
	char unit[UNIT_TEXT];
	size_t end;
	int n = digits_in(unit_text(buf, v, t->unit), &end), want;

	snprintf(unit, sizeof(unit), "%s", buf + end);
	want = t->axis->log ? n : digits_of(t, unit)->n;
	if (want > n)
		snprintf(buf + end, UNIT_TEXT - end, "%s%.*s%.8s", n ? "" : ".", want - n, "000000", unit);
	return buf;
}

static void measure_tick(void *arg, double v)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];
	double w = word_width(t->p, DIM, tick_text(t, buf, v));

	t->widest = fmax(t->widest, w);
	t->wide = fmax(t->wide, t->number++ ? (w + t->last) / 2 : 0);
	t->last = w;
}

/* Leaves out a number that has no room next to the one before it. */
static void write_tick(void *arg, double v)
{
	struct ticks *t = arg;
	char buf[UNIT_TEXT];
	double at = axis_at(t->axis, v), half = word_width(t->p, DIM, tick_text(t, buf, v)) / 2;
	bool fits = t->number % t->nth == 0 && (t->upright || !t->number || at - half > t->last);

	/* gnuplot takes the text of a tick for a format */
	fprintf(t->p->script, "%s\"%s%s\" %.9g", t->number ? ", " : "", fits ? buf : "",
		fits && t->unit == UNIT_PERCENT ? "%" : "", v);
	t->number++;
	t->last = fits ? at + half + 0.3 * t->p->font : t->last;
}

static struct ticks ticks_of(const struct picture *p, const struct axis *a, enum unit unit,
			     int count, bool upright)
{
	struct ticks t = { .p = (struct picture *)p, .unit = unit, .axis = a, .upright = upright };

	each_tick(a, unit, count, count_digits, &t);
	each_tick(a, unit, count, measure_tick, &t);
	return t;
}

double axis_widest(const struct picture *p, const struct axis *a, enum unit unit, int count)
{
	return ticks_of(p, a, unit, count, true).widest;
}

/* Each such number of a logarithmic scale is written, so that none lies on the next: all where they
 * have room. */
static int each_nth(const struct ticks *t)
{
	const struct axis *a = t->axis;
	double steps = a->log ? log(a->high / a->low) / log(log_step(t->unit)) : 1,
	       room = fabs(a->to - a->from) / fmax(1, steps),
	       need = t->upright ? 1.3 * t->p->font : t->wide + 0.31 * t->p->font;

	return a->log && room > 0 ? ceil(need / room) : 1;
}

void put_axis(struct picture *p, const char *axis, const struct axis *a, enum unit unit, int count)
{
	struct ticks t = ticks_of(p, a, unit, count, *axis == 'y');

	/* a tick is in its range however it was rounded */
	fprintf(p->script, "set %srange [%.9g:%.9g]\n", axis, a->log ? a->low * 0.999999 : a->low,
		a->log ? a->high * 1.000001 : a->high);
	if (a->log)
		fprintf(p->script, "set logscale %s\n", axis);
	fprintf(p->script, "set %stics nomirror out scale 0.4%s font small tc rgb \"#555555\" (",
		axis, *axis == 'y' ? "" : " offset 0,lift");
	t.nth = each_nth(&t);
	t.number = 0;
	each_tick(a, unit, count, write_tick, &t);
	fprintf(p->script, ")\nset grid %stics lt 1 lw thick*0.7 dt solid lc rgb \"#e2e2e2\"\n", axis);
}
