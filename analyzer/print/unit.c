/* SPDX-License-Identifier: GPL-3.0-only */
/* unit.c - numbers as people read them. */
#include <math.h>
#include <stdio.h>
#include "unit.h"

const char *const unit_names[] = { "bytes", "count", "us", "s", "ratio", "percent", NULL };

/* By enum unit: what one unit is less than the next, and their names. */
static const struct { double by; const char *names[8]; } scales[] = {
	[UNIT_BYTES] = { 1024, { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" } },
	[UNIT_COUNT] = { 1000, { "", " k", " M", " G", " T", " P", " E" } },
	[UNIT_US] = { 1000, { " ns", " µs", " ms", " s", " ks" } },
	[UNIT_S] = { 1000, { " s", " ks", " Ms" } },
	[UNIT_RATIO] = { 0, { "" } },
	[UNIT_PERCENT] = { 0, { " %" } },
};

/* Divides by the unit that makes the value readable; its name. */
static const char *scale(double *value, enum unit unit)
{
	double magnitude = fabs(unit == UNIT_US ? *value *= 1000 : *value);
	int i;

	for (i = 0; scales[unit].by && magnitude >= (i ? 999.5 : scales[unit].by - 0.5) &&
		    scales[unit].names[i + 1];
	     i++) {
		magnitude /= scales[unit].by;
		*value /= scales[unit].by;
	}
	return scales[unit].names[i];
}

const char *unit_text(char *buf, double value, enum unit unit)
{
	const char *name;

	if (unit == UNIT_S && value && fabs(value) < 0.9995) {
		value *= 1e6;
		unit = UNIT_US;
	}
	name = scale(&value, unit);
	if (fabs(value) >= 999.5 && fabs(value) < 1e9)
		snprintf(buf, UNIT_TEXT, "%.0f%s", value, name);
	else
		snprintf(buf, UNIT_TEXT, "%.3g%s", value, name);
	return buf;
}

double unit_step(double most, int count, enum unit unit)
{
	double value = most, by, step, ten;

	if (!(most > 0))
		return 1;
	scale(&value, unit);
	by = (unit == UNIT_US ? most * 1000 : most) / value;
	step = value / (count > 0 ? count : 1);
	ten = pow(10, floor(log10(step)));
	if (unit == UNIT_BYTES &&
	    step < 1) /* 256 MiB, not 205: a fifth of a unit is round in none below it */
		return exp2(ceil(log2(step))) * by;
	step = step <= ten ? ten : step <= 2 * ten ? 2 * ten : step <= 5 * ten ? 5 * ten : 10 * ten;
	if (unit == UNIT_COUNT && step * by < 1)
		return 1;
	return step * by / (unit == UNIT_US ? 1000 : 1);
}
