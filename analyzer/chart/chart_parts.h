/* SPDX-License-Identifier: GPL-3.0-only */
/* chart_parts.h - one chart in memory, and the picture that it becomes a part of. */
#ifndef IOT_ANALYZER_CHART_PARTS_H
#define IOT_ANALYZER_CHART_PARTS_H

#include "chart.h"
#include "paint.h"
#include "unit.h"

enum chart_kind { BARS, LINES, AREAS, POINTS, CELLS, FLOW, NOTE, NO_CHART };

struct names {
	char **name;
	int n;
};

struct item {
	int panel, row, bar, part;
	double x, value, low, high;
	bool absent, ranged, marked; /* marked: `value` is a point in its range */
	int over;                /* column `line` */
	char *label;
};

struct chart {
	enum chart_kind kind;
	char *heading, *axis, *across;
	enum unit unit, across_unit;
	bool log, across_log, own, fold, key;
	double rule, bin;        /* rule 0: none */
	struct names panel, row, bar, part, note;
	uint32_t *colour;        /* of each part */
	struct item *item;
	int items;
};

/* Most rows, panels and parts that a chart may have. */
struct room { int rows, panels, parts; };

/* Reads one statement. 0 or -ENOMEM. Free with chart_free(). */
int chart_read(struct chart *c, const struct grid *t, struct room room);
void chart_free(struct chart *c);
enum chart_kind chart_kind(const struct grid *t);

/* Styles of text. VEIL is no text: rectangles under the text of the styles behind it. */
enum style {
	TITLE, HEADING, PANEL,
	VEIL, DIM, DIM_MIDDLE, NAME, BAR, LABEL, ON_LIGHT, ON_DARK, STYLES
};

/* A picture in the making: lengths in units of the canvas, y grows downwards. */
struct picture {
	const struct answer *a;
	const struct look *look;
	struct chart chart[8];
	int charts;
	double width, y, margin, font, stretch;
	int columns;             /* panels of a whole line */
	bool shared;             /* all panels have the same bars: their names stand there once a line */
	int plots;               /* lines of panels that may be higher */
	FILE *script, *data, *word[STYLES];
	char *script_text, *data_text, *words[STYLES];
	int blocks, clauses;     /* of data; of the plot that is being written */
	bool failed;             /* no memory */
};

/* The rectangle of a plot, in units of the canvas. */
struct area { double x, y, w, h; };

/* Writes text around a place: y is its middle. */
void put_word(struct picture *p, enum style style, double x, double y, const char *plain);
double word_width(const struct picture *p, enum style style, const char *plain);

/* A word cut to its room. */
void put_fit(struct picture *p, enum style style, double x, double y, double room,
	     const char *plain);

/* A word of style LABEL, cut to its room, that lines or bands would strike through: a veil is put
 * under it. */
void put_veiled(struct picture *p, double x, double y, double room, const char *plain);

/* The next clause of "plot": its data follow, up to end_block(). end_plot() ends the command. */
void put_clause(struct picture *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void end_block(struct picture *p);
void end_plot(struct picture *p);

/* Fill and line of a part, as words of gnuplot; `buf` has LOOK_TEXT bytes, and is returned. */
#define LOOK_TEXT 96
const char *fill_of(char *buf, const struct picture *p, const struct chart *c, int part);
const char *stroke_of(char *buf, const struct picture *p, const struct chart *c, int part);

/* Puts the panels `first` to `first + n - 1` next to each other. Returns the height. */
double bars_put(struct picture *p, const struct chart *c, int first, int n);
double xy_put(struct picture *p, const struct chart *c, int first, int n, double plot);
double flow_put(struct picture *p, const struct chart *c);

/* True where each part has the name of its bar, row or panel: then no key is needed. */
bool bars_name_parts(const struct chart *c);

/* Number of panels of bars that fit next to each other with whole names; may be 0. Sets p->shared. */
int bars_columns(struct picture *p, const struct chart *c);

/* An axis of a plot: from a value to a place on the canvas. */
struct axis {
	double from, to, low, high;
	bool log;
};
double axis_at(const struct axis *a, double v);

/* Sets range, scale and ticks of an axis; at most `count` ticks.. */
void put_axis(struct picture *p, const char *name, const struct axis *a, enum unit unit, int count);
double axis_widest(const struct picture *p, const struct axis *a, enum unit unit, int count);

/* The axis around a range, with whole decades where it is logarithmic. */
void axis_decades(struct axis *a, double low, double high, enum unit unit);

/* Begins a plot: where it is, and which sides have a line (as of "set border"). */
void put_area(struct picture *p, struct area a, int border);

#endif
