/* SPDX-License-Identifier: GPL-3.0-only */
/* chart.h - pictures: charts that reports declare, laid out so that no label leaves the canvas or
 * covers another.
 *
 * A statement of a report is drawn when its comments say how, in addition to "-- plot: WORD":
 *   -- chart: bars | lines | areas | points | cells | flow | note
 *   -- heading: TEXT         above it; without one it belongs to the chart above
 *   -- axis: TEXT            subject of the values
 *   -- unit: bytes | count | us | s | ratio | percent
 *   -- across: TEXT          subject of x                (lines, areas, points, cells)
 *   -- across unit: UNIT     unit of x
 *   -- log: values across    logarithmic scales (bars are dots there)
 *   -- rule: N               a dashed line at that value
 *   -- own: yes              each panel has its own scale
 *   -- fold: no              rows that do not fit are named, not added up
 *   -- key: no               the names of rows explain the colours
 *   -- rows: N               at most that many, in each size
 * Columns that it reads: panel, row (a name next to the bars), bar (number of the bar of a row),
 * part (has a colour, see palette.def; a word before a colon may name the colour, "fs journal:
 * commit" is painted as "fs journal"), value, or low and high (a bar that floats; with a value too,
 * a line with a dot there; the range of a point; the height of a cell, whose value is its shade), x,
 * bin (width of x: of areas and cells), line (1: a line over the areas; 2: marks at their edge),
 * label. A flow goes from part by way of row to bar. A note has one column, a line a row.
 */
#ifndef IOT_ANALYZER_CHART_H
#define IOT_ANALYZER_CHART_H

#include "answer.h"

/* Size and style of a picture. */
struct look {
	double width, height;    /* CSS pixels; height 0: what it needs */
	double most;             /* no higher than that; 0: as high as it needs */
	double font, zoom;       /* size of text; bitmap pixels per CSS pixel */
	const char *title;       /* in place of the report's; NULL: that */
	bool no_head;            /* without the title and the lines about the run */
	bool grey;               /* greys and patterns, dashes for lines */
};

/* "column", "page", "screen" or "WIDTHxHEIGHT". 0, or -EINVAL. */
int look_size(struct look *look, const char *text);

/* EXIT_USAGE, with one line on stderr: what look_size() takes. */
int fail_size(const char *text);

/* Has the report a chart? */
bool chart_has(const struct answer *a);

/* Has one of them anything to draw? */
bool chart_has_rows(const struct answer *a);

/* Writes all charts of the answer as a script for gnuplot and the data that it reads from NAME.dat:
 * NAME is of letters, digits, _ and -. `style` is the text of reports/chart.gp. Returns 0 or an exit
 * status: EXIT_DATA when there is nothing to draw. */
int chart_draw(const struct answer *a, const struct look *look, const char *name,
	       const char *style, FILE *data, FILE *script);

#endif
