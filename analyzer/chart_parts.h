/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_parts.h - one chart in memory, and what draws it. */
#ifndef IOT_ANALYZER_CHART_PARTS_H
#define IOT_ANALYZER_CHART_PARTS_H

#include "chart.h"
#include "pen.h"
#include "unit.h"

enum chart_kind { BARS, LINES, AREAS, POINTS, CELLS, NOTE, NO_CHART };

struct names {
	char **name;
	int n;
};

struct item {
	int panel, row, bar, part;
	double x, value, low, high;
	bool absent, ranged, marked; /* marked: `value` is a line in its range */
	int over;                /* column `line` */
	char *label;
};

struct chart {
	enum chart_kind kind;
	char *heading, *axis, *across;
	enum unit unit, across_unit;
	bool log, across_log, own, fold, steps, key;
	double rule, bin;        /* rule 0: none */
	struct names panel, row, bar, part, note;
	struct paint *paint;     /* of each part */
	struct item *item;
	int items;
};

/* Where a panel is drawn, and how large text is. */
struct frame {
	struct pen *pen;
	double x, y, w, h;       /* h: of the plot inside, for lines, areas and points */
	double font;
};

/* Reads one statement. `rows` and `panels`: how many there is room for. 0 or -ENOMEM. Free with chart_free(). */
int chart_read(struct chart *c, const struct grid *t, int rows, int panels, int parts);
void chart_free(struct chart *c);
enum chart_kind chart_kind(const struct grid *t);

/* The largest value that a panel shows, or all do where they share a scale; and the smallest above 0. */
struct range { double low, high; };
struct range chart_values(const struct chart *c, int panel);
struct range chart_across(const struct chart *c);

/* How high a panel is, and drawing it there. */
double bars_height(const struct chart *c, int panel, double font);
void bars_draw(const struct chart *c, int panel, struct frame f);
double xy_height(const struct chart *c, double plot, double font);
void xy_draw(const struct chart *c, int panel, struct frame f);

#endif
